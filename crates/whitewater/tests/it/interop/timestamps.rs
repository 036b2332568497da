//! A database whose keys have timestamps, with merges and range deletions, that both engines write
//! in turn.
//!
//! Flushes and compactions of RocksDB 11.8.1 drop merge operands that a newer range deletion covers,
//! although readers before it still see them. So RocksDB flushes only where it is one or the other.

use super::java;
use crate::content::{Content, hex};
use crate::timestamps::{Model, add_merge_operator};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::fmt::Write;
use std::path::Path;
use whitewater::{ColumnFamilyDescriptor, DB, Options, ReadOptions, WriteBatch};
use whitewater_storage::batch::Batch;
use whitewater_storage::key::ValueType;

/// What there is besides puts and deletions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kinds {
    Merges,
    Ranges,
    Both,
}

struct Writer {
    kinds: Kinds,
    rng: StdRng,
    model: Model,
    now: u32,
}

impl Writer {
    fn key(&mut self) -> Vec<u8> {
        format!("k{:02}", self.rng.random_range(0..12)).into_bytes()
    }

    /// A batch that is about to be written.
    fn batch(&mut self) -> Batch {
        let mut batch = Batch::default();
        for _ in 0..self.rng.random_range(1..4) {
            self.now += self.rng.random_range(0..2);
            let (key, now) = (self.key(), self.now);
            let stamped = |key: &[u8]| [key, &u64::from(now).to_le_bytes()].concat();
            let value = vec![b'v'; self.rng.random_range(0..50)];
            let (ty, value) = match self.rng.random_range(0..10) {
                0..4 => {
                    self.model.write(&key, now, Some(value.clone()));
                    (ValueType::Value, value)
                }
                4..7 if self.kinds != Kinds::Ranges => {
                    self.model.merge(&key, now, &value);
                    (ValueType::Merge, value)
                }
                9 if self.kinds != Kinds::Merges => {
                    let end = [&self.key()[..], b"0"].concat();
                    if end <= key {
                        continue;
                    }
                    self.model.delete_range(&key, &end, now);
                    (ValueType::RangeDeletion, stamped(&end))
                }
                _ => {
                    self.model.write(&key, now, None);
                    (ValueType::Deletion, Vec::new())
                }
            };
            batch.push(0, ty, &stamped(&key), &value);
        }
        batch
    }

    /// The content at a time.
    fn at(&self, time: u32) -> Content {
        let pairs = self.model.at(time).into_iter();
        let pairs = pairs.map(|(key, _, value)| (key, value)).collect();
        Content::from([("default".to_owned(), pairs)])
    }
}

fn open(path: &Path) -> DB {
    let mut o = Options::default();
    o.create_if_missing(true);
    o.set_u64_timestamp_comparator();
    add_merge_operator(&mut o);
    let default = ColumnFamilyDescriptor::new("default", o.clone());
    DB::open_cf_descriptors(&o, path, [default]).expect("opens")
}

fn check(db: &DB, writer: &Writer) {
    for time in 0..writer.now + 2 {
        let mut read = ReadOptions::default();
        read.set_timestamp(u64::from(time).to_le_bytes());
        let expected = &writer.at(time)["default"];
        for n in 0..12 {
            let key = format!("k{n:02}").into_bytes();
            let found = db.get_opt(&key, &read).expect("reads");
            assert_eq!(found.as_ref(), expected.get(&key), "at {time}");
        }
        let all = db.iterator_opt(whitewater::IteratorMode::Start, read);
        let all = all.map(|item| item.expect("reads"));
        assert!(
            all.eq(expected
                .iter()
                .map(|(k, v)| (k.as_slice().into(), v.as_slice().into()))),
            "at {time}"
        );
    }
}

fn write_here(path: &Path, writer: &mut Writer) {
    let db = open(path);
    check(&db, writer);
    for _ in 0..30 {
        let batch = writer.batch();
        db.write(WriteBatch::from_data(batch.bytes()))
            .expect("writes");
        if writer.rng.random_bool(0.1) {
            db.flush().expect("flushes");
        }
    }
    // RocksDB would take the keys of the log for keys without timestamps.
    db.flush().expect("flushes");
    if writer.rng.random() {
        db.compact_range(None::<&[u8]>, None::<&[u8]>);
    }
    check(&db, writer);
}

fn write_there(jar: &str, path: &Path, writer: &mut Writer) {
    let (mut steps, mut expected) = (String::new(), Vec::new());
    let mut show = |steps: &mut String, writer: &mut Writer| {
        let time = writer.rng.random_range(0..writer.now + 2);
        writeln!(steps, "show {time}").expect("a string takes it");
        expected.push((time, writer.at(time)));
    };
    for _ in 0..10 {
        show(&mut steps, writer);
    }
    for _ in 0..30 {
        let batch = writer.batch();
        let bytes = hex(batch.bytes());
        writeln!(steps, "write {bytes}").expect("a string takes it");
        match writer.rng.random_range(0..20) {
            0 | 1 if writer.kinds != Kinds::Both => steps.push_str("flush\n"),
            2 if writer.kinds != Kinds::Both => steps.push_str("compact\n"),
            _ => show(&mut steps, writer),
        }
    }
    let shown = java::stamped(jar, path, &steps);
    assert_eq!(shown.len(), expected.len());
    for (n, (shown, (time, expected))) in shown.iter().zip(&expected).enumerate() {
        assert_eq!(shown, expected, "RocksDB at {time}, {n} of\n{steps}");
    }
}

#[test]
fn merges_and_range_deletions_with_timestamps_mean_the_same_in_both() {
    let Some(jar) = java::jar() else { return };
    for (seed, kinds) in (0..).zip([Kinds::Merges, Kinds::Ranges, Kinds::Both]) {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("db");
        let mut writer = Writer {
            kinds,
            rng: StdRng::seed_from_u64(seed),
            model: Model::ascending(),
            now: 1,
        };
        for _ in 0..3 {
            write_here(&path, &mut writer);
            write_there(&jar, &path, &mut writer);
        }
        check(&open(&path), &writer);
    }
}
