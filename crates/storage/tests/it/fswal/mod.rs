//! Tests of file systems, logs and manifests.

mod crash;
mod fault;
mod fixtures;
mod holes;
mod manifest;
mod mem;
mod os;
mod segment;
mod shared;
mod wal;

use std::path::Path;
use whitewater_storage::fs::Fs;
use whitewater_storage::fs::mem::MemFs;
use whitewater_storage::wal::{LogReader, LogWriter, ReadOutcome};

/// A path in a [`MemFs`], whose root always exists.
fn p(name: &str) -> &Path {
    Path::new(name)
}

/// The whole content of a file.
fn content(fs: &dyn Fs, path: &Path) -> Vec<u8> {
    whitewater_storage::fs::read_file(fs, path, u64::MAX).unwrap()
}

/// A new file system with one file.
fn fs_with(path: &Path, data: &[u8]) -> MemFs {
    let fs = MemFs::new();
    fs.create(path).unwrap().append(data).unwrap();
    fs
}

/// The bytes of a log of `records`.
fn log_of(records: &[Vec<u8>], log_number: u64, recyclable: bool) -> Vec<u8> {
    let fs = MemFs::new();
    let file = fs.create(p("/log")).unwrap();
    let mut writer = LogWriter::new(file, log_number, recyclable);
    for record in records {
        writer.add_record(&[record]).unwrap();
    }
    writer.close().unwrap();
    content(&fs, p("/log"))
}

/// The result of reading a log up to its end, across damage.
#[derive(Debug, Default, PartialEq)]
struct ReadBack {
    /// Records before the first damage.
    head: Vec<Vec<u8>>,
    /// All records.
    all: Vec<Vec<u8>>,
    /// Offsets of damage.
    corrupt: Vec<u64>,
    /// Where the torn tail starts.
    torn: Option<u64>,
    /// Where the bytes of the torn tail end.
    torn_end: Option<u64>,
}

fn read_log(fs: &dyn Fs, path: &Path, log_number: u64) -> ReadBack {
    let mut reader = LogReader::new(fs.open_sequential(path).unwrap(), log_number);
    let size = fs.file_size(path).unwrap();
    let mut out = ReadBack::default();
    let mut record = Vec::new();
    let mut last_end = 0;
    loop {
        match reader.read_record(&mut record).unwrap() {
            ReadOutcome::Record => {
                assert!(reader.record_offset() >= last_end);
                last_end = reader.record_end();
                assert!(last_end <= size);
                if out.corrupt.is_empty() {
                    out.head.push(record.clone());
                }
                out.all.push(record.clone());
            }
            ReadOutcome::Eof => break,
            ReadOutcome::TornTail { offset, bytes } => {
                assert!(offset + bytes <= size && bytes > 0);
                out.torn = Some(offset);
                out.torn_end = Some(offset + bytes);
            }
            ReadOutcome::Corrupt(e) => {
                assert_eq!(e.kind(), whitewater_storage::ErrorKind::Corruption);
                assert_eq!(e.file(), Some(path));
                out.corrupt.push(e.offset().unwrap());
            }
        }
    }
    // The end stays the end.
    assert_eq!(reader.read_record(&mut record).unwrap(), ReadOutcome::Eof);
    out
}

fn read_bytes(data: &[u8], log_number: u64) -> ReadBack {
    read_log(&fs_with(p("/log"), data), p("/log"), log_number)
}

/// Whether `some` is `all` with elements left out.
fn is_subsequence<T: PartialEq>(some: &[T], all: &[T]) -> bool {
    let mut all = all.iter();
    some.iter().all(|s| all.any(|a| a == s))
}
