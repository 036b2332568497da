//! Targets for blob files, and for entries that refer to them.

use super::InMemory;
use crate::blob::format::{HEADER_LEN, RECORD_HEADER_LEN, RecordHeader};
use crate::blob::{BlobFileReader, BlobFileWriter, BlobIndex, BlobPlace, for_each_reference};
use crate::entity::{self, ColumnValue};
use crate::fs::Fs;
use crate::fs::mem::MemFs;
use crate::key::ValueType;
use crate::sst::CompressionType;
use bytes::Bytes;
use std::path::Path;
use std::sync::Arc;

/// A blob file: reads every record that the headers lead to, with every compression, and writes
/// them again.
pub fn blob_file(data: &[u8]) {
    let Ok(reader) = BlobFileReader::open(Arc::new(InMemory::new(data))) else {
        return;
    };
    let mut records = Vec::new();
    let (_, bytes) = reader.totals().expect("checked when it was opened");
    assert!(bytes <= data.len() as u64);
    let mut at = HEADER_LEN as usize;
    while let Some(header) = data.get(at..at + RECORD_HEADER_LEN as usize) {
        let body = at + RECORD_HEADER_LEN as usize;
        let Ok(header) = RecordHeader::decode(header) else {
            break;
        };
        let key_len = usize::try_from(header.key_len).unwrap_or(usize::MAX);
        let Some(key) = data.get(body..).and_then(|rest| rest.get(..key_len)) else {
            break;
        };
        let mut place = BlobPlace {
            file: 1,
            offset: (body + key_len) as u64,
            size: header.value_len,
            compression: 0,
        };
        for compression in 0..=8 {
            place.compression = compression;
            if let (Ok(value), 0) = (reader.get(key, &place), compression) {
                assert_eq!(value.len() as u64, header.value_len);
                records.push((key, value));
            }
        }
        let end = place.offset.checked_add(header.value_len);
        match end.and_then(|end| usize::try_from(end).ok()) {
            Some(end) => at = end,
            None => break,
        }
    }
    write_again(&records);
}

/// Writes a file of `records` and reads them back.
fn write_again(records: &[(&[u8], Bytes)]) {
    let fs = MemFs::new();
    let path = Path::new("/000001.blob");
    let file = fs.create(path).expect("in memory");
    let mut writer = BlobFileWriter::new(file, 1, 0, CompressionType::None).expect("in memory");
    let mut places = Vec::new();
    for (key, value) in records {
        places.push(writer.add(key, value).expect("in memory"));
    }
    let meta = writer.finish().expect("in memory");
    let reader = BlobFileReader::open(fs.open_random(path).expect("there")).expect("complete");
    assert_eq!(reader.totals(), Ok((meta.count, meta.bytes)));
    for ((key, value), place) in records.iter().zip(&places) {
        assert_eq!(reader.get(key, place).as_ref(), Ok(value));
    }
}

/// A blob index, without a file.
pub fn blob_index(data: &[u8]) {
    let Ok(BlobIndex::At(place)) = BlobIndex::decode(data) else {
        return;
    };
    let mut again = Vec::new();
    place.encode(&mut again);
    assert_eq!(BlobIndex::place(&again), Ok(place));
}

/// A wide-column entity.
pub fn entity(data: &[u8]) {
    let within = |value: &ColumnValue| {
        let (ColumnValue::Inline(range) | ColumnValue::Blob(range)) = value;
        assert!(range.start <= range.end && range.end <= data.len());
    };
    let default = entity::default_column(data);
    if let Ok(Some(value)) = &default {
        within(value);
    }
    let mut references = 0;
    let ty = ValueType::WideColumnEntity as u8;
    let _ = for_each_reference(ty, data, &mut |_| references += 1);
    let Ok(columns) = entity::columns(data) else {
        return;
    };
    assert!(references <= columns.len());
    columns.iter().for_each(|c| within(&c.value));
    let first = columns.first().filter(|c| c.name.is_empty());
    assert_eq!(default, Ok(first.map(|c| c.value.clone())));
    let inline = columns.iter().map(|c| match &c.value {
        ColumnValue::Inline(range) => Some((c.name, &data[range.clone()])),
        ColumnValue::Blob(_) => None,
    });
    let Some(inline) = inline.collect::<Option<Vec<_>>>() else {
        return;
    };
    let again = entity::encode(&inline);
    let columns = entity::columns(&again).expect("just encoded");
    let values = columns.iter().map(|c| match &c.value {
        ColumnValue::Inline(range) => (c.name, &again[range.clone()]),
        ColumnValue::Blob(_) => panic!("nothing of it is in a blob file"),
    });
    assert_eq!(values.collect::<Vec<_>>(), inline);
}
