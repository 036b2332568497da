//! Fuzz targets: one function per decoder of bytes from a disk.
//!
//! A target decodes arbitrary bytes and checks what must hold for all bytes: there is no panic,
//! every walk ends, and decoded values survive being encoded and decoded again. The fuzzer's own
//! crate is `fuzz/`. In each test run, `tests/it/fuzz.rs` runs every target over the stored
//! corpora. [`seeds`] splits files into initial inputs. `blob`: targets for blob files. `written`:
//! targets whose inputs say what is written, to be read back. `checksums`: corrects checksums, so
//! that damage gets past them.

mod blob;
mod checksums;
pub mod seeds;
mod written;

pub use checksums::fit_checksums;

use crate::backup::{Meta, Schema};
use crate::batch::replay::{ReplayedEntry, ReplayedSection, ReplayedSections, Replays};
use crate::batch::{self, Batch, Numbering, Op};
use crate::fs::{RandomAccessFile, SequentialFile};
use crate::key::{MAX_SEQUENCE, SequenceNumber, ValueType, seek_key, user_key};
use crate::manifest::{ManifestReader, VersionEdit};
use crate::sst::fuzzing as sst;
use crate::sst::{Table, TableReadOptions, TableReaderOptions};
use crate::wal::{LogReader, ReadOutcome};
use crate::{Error, Result};
use bytes::Bytes;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A decoder with its checks.
pub type Target = fn(&[u8]);

/// Every target by name; `fuzz/corpus/` has a folder for each.
pub const TARGETS: &[(&str, Target)] = &[
    ("wal", wal),
    ("batch", write_batch),
    ("manifest", manifest),
    ("edit", edit),
    ("blob_file", blob::blob_file),
    ("blob_index", blob::blob_index),
    ("entity", blob::entity),
    ("footer", sst::footer),
    ("block", sst::block),
    ("properties", sst::properties),
    ("filter", sst::filter),
    ("compressed", sst::compressed),
    ("table", table),
    ("backup_meta", backup_meta),
    ("blob_writing", written::blob_writing),
    ("plain_table", written::plain_table),
    ("cuckoo_table", written::cuckoo_table),
];

/// Runs one target.
///
/// # Panics
/// If a check fails, or there is no target called `name`.
pub fn run(name: &str, data: &[u8]) {
    run_of(TARGETS, name, data);
}

/// Runs the target called `name` of `targets`.
///
/// # Panics
/// If a check fails, or there is no such target.
pub fn run_of(targets: &[(&str, Target)], name: &str, data: &[u8]) {
    match targets.iter().find(|(known, _)| *known == name) {
        Some((_, target)) => target(data),
        None => panic!("no fuzz target {name}"),
    }
}

/// Runs each of `targets` over its folder in `corpora`.
///
/// # Panics
/// If a check fails, naming the input, or if a folder has no inputs.
pub fn replay(corpora: &Path, targets: &[(&str, Target)]) {
    for (name, target) in targets {
        let inputs = files(&corpora.join(name));
        assert!(!inputs.is_empty(), "no corpus of {name}");
        for path in inputs {
            let input = std::fs::read(&path).expect("readable");
            if std::panic::catch_unwind(|| target(&input)).is_err() {
                panic!("{name}: {}", path.display());
            }
        }
    }
}

/// The files in the folder `dir`, by name.
///
/// # Panics
/// If it cannot be read.
pub fn files(dir: &Path) -> Vec<PathBuf> {
    let mut out: Vec<PathBuf> = match std::fs::read_dir(dir) {
        Ok(entries) => entries.map(|e| e.expect("readable").path()).collect(),
        Err(e) => panic!("{}: {e}", dir.display()),
    };
    out.sort();
    out
}

/// The most entries visited in one direction, because a table may repeat a block many times.
const MAX_ENTRIES: usize = 20_000;

/// A log: four bytes with its number, then the file.
pub fn wal(data: &[u8]) {
    let Some((number, data)) = data.split_first_chunk::<4>() else {
        return;
    };
    let len = data.len() as u64;
    let mut reader = LogReader::new(
        Box::new(InMemory::new(data)),
        u32::from_le_bytes(*number).into(),
    );
    let mut record = Vec::new();
    let (mut end, mut damages) = (0, 0);
    loop {
        match reader.read_record(&mut record) {
            Ok(ReadOutcome::Record) => {
                assert!(reader.record_offset() < reader.record_end());
                assert!(end < reader.record_end() && reader.record_end() <= len);
                end = reader.record_end();
                walk_batch(&record);
            }
            Ok(ReadOutcome::Corrupt(e)) => {
                assert!(e.offset().is_some_and(|at| at <= len), "{e}");
                damages += 1;
                assert!(damages <= len, "damage is passed");
            }
            Ok(ReadOutcome::Eof) | Err(_) => return,
            Ok(ReadOutcome::TornTail { offset, bytes }) => {
                assert_eq!(offset + bytes, len);
                return;
            }
        }
    }
}

/// A write batch.
pub fn write_batch(data: &[u8]) {
    walk_batch(data);
    let Ok(batch) = Batch::from_bytes(data.to_vec()) else {
        return;
    };
    let mut again = Batch::default();
    let mut entries = 0;
    for op in batch.ops() {
        match op.expect("checked") {
            Op::Entry {
                ty: ValueType::DeletionWithTimestamp,
                ..
            } => return,
            op => {
                entries += u32::from(matches!(op, Op::Entry { .. }));
                again.push_op(&op);
            }
        }
    }
    assert_eq!(batch.count(), entries);
    assert!(again.ops().eq(batch.ops()));
    assert_eq!(batch::check(again.bytes()), Ok(()));
    for numbering in [Numbering::PerEntry, Numbering::PerBatch] {
        let mut walk = numbering.walk(data);
        let first = walk.next_number();
        while let Some(Ok((_, number))) = walk.next() {
            assert!(number >= first && number <= walk.next_number());
        }
    }
    replay_batch(data, batch.count());
}

/// Replays a batch twice, as records that follow each other: what the first prepares, the second
/// may commit.
fn replay_batch(data: &[u8], count: u32) {
    for numbering in [Numbering::PerEntry, Numbering::PerBatch] {
        let mut sections = ReplayedSections::new(numbering);
        let mut found = Numbers::default();
        for log in 1..3 {
            sections.begin(log, 0, true);
            found = Numbers::default();
            if sections.replay(data, &mut found).is_err() {
                break;
            }
        }
        let most = u64::from(count) * 2;
        let ranges = sections.undecided();
        assert!(ranges.iter().all(|(first, last)| first <= last));
        let prepared = sections.take_outstanding();
        let prepared = prepared.values().map(ReplayedSection::count);
        assert!(prepared.sum::<u64>() <= most);
        assert!(found.0.is_sorted(), "entries in the order of their numbers");
    }
}

/// The numbers of the entries that were replayed.
#[derive(Default)]
struct Numbers(Vec<SequenceNumber>);

impl Replays for Numbers {
    fn timestamp_size(&self, cf: u32) -> usize {
        cf as usize % 3
    }

    fn insert(&mut self, entry: ReplayedEntry<'_>) -> Result<()> {
        self.0.push(entry.number);
        Ok(())
    }
}

/// Decodes the operations of a batch up to the first bad one.
fn walk_batch(data: &[u8]) {
    let mut left = data.len() + 1;
    for op in batch::ops(data) {
        assert!(left > 0, "every operation takes bytes");
        left -= 1;
        if op.is_err() {
            return;
        }
    }
}

/// A manifest file.
pub fn manifest(data: &[u8]) {
    let mut reader = ManifestReader::new(Box::new(InMemory::new(data)));
    let mut end = 0;
    while let Ok(Some(group)) = reader.next() {
        assert!(!group.is_empty());
        assert!(end < reader.offset() && reader.offset() <= data.len() as u64);
        end = reader.offset();
    }
    assert!(
        matches!(reader.next(), Ok(None)),
        "nothing comes after an end"
    );
}

/// One edit of a manifest.
pub fn edit(data: &[u8]) {
    let Ok(edit) = VersionEdit::decode(data) else {
        return;
    };
    let again = VersionEdit::decode(&edit.encode());
    assert_eq!(again.as_ref(), Ok(&edit));
}

/// A whole table. If the footer allows it, blocks are read without checksums, so that damage gets
/// past them.
pub fn table(data: &[u8]) {
    let mut bytes = data.to_vec();
    sst::without_checksums(&mut bytes);
    let len = bytes.len() as u64;
    let options = reader_options();
    let Ok(table) = Table::open(Arc::new(InMemory::new(&bytes)), len, options) else {
        return;
    };
    let table = Arc::new(table);
    let _ = table.verify();
    let mut iter = table.iter(TableReadOptions::default());
    let mut keys = Vec::new();
    iter.seek_to_first();
    while iter.valid() && keys.len() < MAX_ENTRIES {
        keys.push(iter.key().to_vec());
        iter.next();
    }
    iter.seek_to_last();
    let mut backward = 0;
    while iter.valid() && backward < MAX_ENTRIES {
        backward += 1;
        iter.prev();
    }
    for key in keys.iter().step_by(1 + keys.len() / 64) {
        let user = user_key(key);
        let lookup = seek_key(user, MAX_SEQUENCE);
        let _ = table.get(&lookup, TableReadOptions::default(), &mut |_, _| Ok(true));
        let _ = table.may_contain(user);
        let _ = table.approximate_offset_of(key);
        iter.seek(key);
        if iter.valid() {
            iter.next();
        }
        iter.seek_for_prev(key);
        if iter.valid() {
            iter.prev();
        }
    }
}

/// The options for opening fuzzed tables.
pub(crate) fn reader_options() -> TableReaderOptions {
    TableReaderOptions {
        file_number: 1,
        ..TableReaderOptions::default()
    }
}

/// Bytes as a file.
#[derive(Debug)]
pub(crate) struct InMemory {
    bytes: Bytes,
    at: usize,
}

impl InMemory {
    pub(crate) fn new(data: &[u8]) -> Self {
        InMemory {
            bytes: Bytes::copy_from_slice(data),
            at: 0,
        }
    }
}

impl SequentialFile for InMemory {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize> {
        let rest = &self.bytes[self.at..];
        let n = rest.len().min(buf.len());
        buf[..n].copy_from_slice(&rest[..n]);
        self.at += n;
        Ok(n)
    }
    fn path(&self) -> &Path {
        Path::new("fuzzed")
    }
}

impl RandomAccessFile for InMemory {
    fn read_at(&self, offset: u64, len: usize) -> Result<Bytes> {
        let end = offset.checked_add(len as u64);
        match end.filter(|&end| end <= self.bytes.len() as u64) {
            Some(end) => Ok(self.bytes.slice(offset as usize..end as usize)),
            None => Err(Error::corruption_in(
                Path::new("fuzzed"),
                offset,
                "the file ends before",
            )),
        }
    }
    fn len(&self) -> Result<u64> {
        Ok(self.bytes.len() as u64)
    }
    fn path(&self) -> &Path {
        Path::new("fuzzed")
    }
}

/// The metadata of a backup.
pub fn backup_meta(data: &[u8]) {
    let Ok(mut meta) = Meta::decode(data) else {
        return;
    };
    // What is left out of a backup is read and not written.
    meta.excluded.clear();
    let again = Meta::decode(meta.encode().as_bytes());
    // A file without a checksum can only be told in the later schema.
    let has_checksums = meta.files.iter().all(|file| file.crc.is_some());
    assert!(has_checksums || meta.schema == Schema::Two);
    assert_eq!(again.as_ref(), Ok(&meta));
}
