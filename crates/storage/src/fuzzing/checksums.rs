//! Corrects the checksums of damaged files, so that the damage gets past them.

use crate::blob::format::{FOOTER_LEN, HEADER_LEN, RECORD_HEADER_LEN};
use crate::checksum::{mask_crc, masked_crc32c};
use crate::filename::{self, FileType};
use crate::sst::fuzzing::without_checksums;
use crate::wal::fuzzing::refit;

/// Corrects the checksums of a file; `name` says what file it is. Tables get a footer without block
/// checksums, if possible.
pub fn fit_checksums(name: &str, bytes: &mut [u8]) {
    match filename::parse(name) {
        Some(FileType::Wal(_) | FileType::Manifest(_)) => refit(bytes),
        Some(FileType::Table(_)) => without_checksums(bytes),
        Some(FileType::Blob(_)) => fit_blobs(bytes),
        _ => {}
    }
}

/// Replaces the end of `bytes` by the checksum of the bytes before.
fn seal(bytes: &mut [u8]) {
    if let Some((body, sum)) = bytes.split_last_chunk_mut::<4>() {
        *sum = masked_crc32c(body).to_le_bytes();
    }
}

fn fit_blobs(bytes: &mut [u8]) {
    let (header, footer) = (HEADER_LEN as usize, FOOTER_LEN as usize);
    if bytes.len() < header + footer {
        return;
    }
    let (first, rest) = bytes.split_at_mut(header);
    seal(first);
    let (mut rest, last) = rest.split_at_mut(rest.len() - footer);
    seal(last);
    while let Some((head, body)) = rest.split_at_mut_checked(RECORD_HEADER_LEN as usize) {
        let number = |at: usize| {
            let bytes = head[at..].first_chunk().copied().unwrap_or_default();
            usize::try_from(u64::from_le_bytes(bytes)).unwrap_or(usize::MAX)
        };
        let len = number(0).saturating_add(number(8));
        let Some((content, next)) = body.split_at_mut_checked(len) else {
            return;
        };
        seal(&mut head[..28]);
        head[28..].copy_from_slice(&mask_crc(crc32c::crc32c(content)).to_le_bytes());
        rest = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blob::format::{BlobFooter, RecordHeader};
    use crate::fs::{Fs, mem::MemFs, read_file};
    use crate::fuzzing::InMemory;
    use crate::wal::{LogReader, LogWriter, ReadOutcome};
    use std::path::Path;

    #[test]
    fn a_changed_log_is_read_again() {
        let fs = MemFs::new();
        let path = Path::new("/000007.log");
        for recyclable in [false, true] {
            let mut writer = LogWriter::new(fs.create(path).unwrap(), 7, recyclable);
            let long = vec![b'x'; 70_000];
            for record in [&b"one"[..], &long, b"three"] {
                writer.add_record(&[record]).unwrap();
            }
            writer.sync().unwrap();
            let mut bytes = read_file(&fs, path, 1 << 20).unwrap();
            let at = bytes.windows(5).rposition(|w| w == b"three").unwrap();
            bytes[at] = b'T';
            bytes[40_000] = b'y';
            fit_checksums("000007.log", &mut bytes);
            let mut reader = LogReader::new(Box::new(InMemory::new(&bytes)), 7);
            let (mut record, mut read) = (Vec::new(), Vec::new());
            while reader.read_record(&mut record).unwrap() == ReadOutcome::Record {
                read.push(record.clone());
            }
            assert_eq!(read.len(), 3, "recyclable: {recyclable}");
            assert!(read[1].contains(&b'y'));
            assert_eq!(read[2], b"Three");
        }
    }

    #[test]
    fn a_changed_blob_file_is_in_order_again() {
        let header = RecordHeader::of(b"key", b"value");
        let mut bytes = vec![1; HEADER_LEN as usize];
        bytes.extend(header.encode());
        bytes.extend(b"keyValue");
        bytes.extend([0; FOOTER_LEN as usize]);
        let at = bytes.len() - FOOTER_LEN as usize;
        bytes[at..].copy_from_slice(&BlobFooter { count: 1 }.encode());
        bytes[at + 4] = 9;
        fit_checksums("000007.blob", &mut bytes);
        assert_eq!(BlobFooter::decode(&bytes[at..]).unwrap().count, 9);
        let record = &bytes[HEADER_LEN as usize..][..RECORD_HEADER_LEN as usize];
        let record = RecordHeader::decode(record).unwrap();
        assert!(record.fits(b"key", b"Value"));
    }
}
