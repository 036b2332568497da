//! Reads beside writes that are in memtables and undecided. Their ranges are entered by hand.
//!
//! Here: what is shown by each kind of read, from each kind of memtable and from tables;
//! `beginnings` of reads beside decisions, `conflicts` with undecided writes, a `model` of
//! random writes, decisions and reads.

mod beginnings;
mod conflicts;
mod model;

use crate::api::db::EngineHandle;
use crate::column_family::ColumnFamilyData;
use crate::db::Engine;
use crate::listener::FlushReason;
use crate::options::read::{ReadSpec, WriteSpec};
use crate::options::write_policy::WritePolicy;
use crate::read::db_iter::DbIter;
use crate::read::testing::Append;
use crate::{BlockBasedOptions, MemtableFactory, Options, SliceTransform};
use bytes::Bytes;
use std::sync::Arc;
use whitewater_concurrent::undecided::{NumberRange, Undecided};
use whitewater_storage::fs::mem::MemFs;
use whitewater_storage::key::{SequenceNumber, ValueType};

const KINDS: [MemtableFactory; 5] = [
    MemtableFactory::SkipList,
    MemtableFactory::Art,
    MemtableFactory::Vector,
    MemtableFactory::HashSkipList {
        bucket_count: 64,
        height: 4,
        branching_factor: 4,
    },
    MemtableFactory::HashLinkList { bucket_count: 64 },
];

/// A database in which writes may be undecided, with the column families `default` and `other`.
struct Db(EngineHandle);

impl Db {
    fn open(kind: &MemtableFactory) -> Self {
        let mut table = BlockBasedOptions::default();
        table.set_block_size(100);
        let mut options = Options::default();
        options.create_if_missing(true);
        options.create_missing_column_families(true);
        options.set_fs(Arc::new(MemFs::new()));
        options.set_memtable_factory(*kind);
        options.set_prefix_extractor(SliceTransform::create_fixed_prefix(1));
        options.set_block_based_table_factory(&table);
        options.set_disable_auto_compactions(true);
        let mut db = options.db_options().unwrap();
        db.write_policy = WritePolicy::WritePrepared;
        let mut cf = options.cf_options().unwrap();
        cf.merge_operator = Some(Arc::new(Append));
        let families = ["default", "other"].map(|name| (name.to_string(), cf.clone()));
        let engine = Engine::open("/db".as_ref(), db, families.into());
        Db(EngineHandle(engine.unwrap()))
    }

    fn engine(&self) -> &Arc<Engine> {
        &self.0.0
    }

    fn cf(&self) -> &Arc<ColumnFamilyData> {
        self.engine().default_cf()
    }

    fn undecided(&self) -> &Undecided {
        self.engine().commit.undecided.as_ref().unwrap()
    }

    fn next_number(&self) -> SequenceNumber {
        self.engine().latest_sequence_number() + 1
    }

    fn write(&self, ty: ValueType, key: &str, value: &str) -> SequenceNumber {
        let spec = WriteSpec::default();
        let (key, value) = (key.as_bytes(), value.as_bytes());
        self.engine().write_one(0, ty, key, value, &spec).unwrap();
        self.engine().latest_sequence_number()
    }

    fn put(&self, key: &str, value: &str) -> SequenceNumber {
        self.write(ValueType::Value, key, value)
    }

    /// Writes an entry that is not decided. Returns its number.
    fn undecided_write(&self, ty: ValueType, key: &str, value: &str) -> SequenceNumber {
        let number = self.next_number();
        self.undecided().enter([range(number)]);
        assert_eq!(self.write(ty, key, value), number);
        number
    }

    fn undecided_put(&self, key: &str, value: &str) -> SequenceNumber {
        self.undecided_write(ValueType::Value, key, value)
    }

    fn now(&self) -> ReadSpec {
        ReadSpec {
            total_order_seek: true,
            ..ReadSpec::default()
        }
    }

    /// A read at a snapshot that is taken now.
    fn snapshot(&self) -> ReadSpec {
        ReadSpec {
            snapshot: Some(Arc::new(self.engine().snapshot())),
            ..self.now()
        }
    }

    fn get(&self, key: &str, spec: &ReadSpec) -> Option<String> {
        let found = self
            .engine()
            .get::<Bytes>(self.cf(), key.as_bytes(), spec)
            .unwrap();
        found.map(|value| text(&value))
    }

    /// The value of `key`, which all kinds of reads agree on.
    fn value(&self, key: &str, spec: &ReadSpec) -> Option<String> {
        let found = self.get(key, spec);
        let many = self
            .engine()
            .multi_get::<Bytes>(&[(self.cf(), key.as_bytes())], spec);
        let many = many.into_iter().map(|value| value.unwrap());
        let many: Vec<_> = many.map(|value| value.map(|v| text(&v))).collect();
        assert_eq!(many, std::slice::from_ref(&found), "{key}");
        let (may_exist, value) = self.engine().key_may_exist(self.cf(), key.as_bytes(), spec);
        assert!(may_exist || found.is_none(), "{key}");
        assert!(value.is_none() || value.map(|v| text(&v)) == found, "{key}");
        for total_order_seek in [true, false] {
            let spec = ReadSpec {
                total_order_seek,
                ..spec.clone()
            };
            let mut it = self.iter(&spec);
            for seek in [DbIter::seek, DbIter::seek_for_prev] {
                seek(&mut it, key.as_bytes());
                assert_eq!(it.status(), Ok(()));
                let here = it.key().filter(|k| *k == key.as_bytes());
                let here = here.and(it.value()).map(text);
                assert_eq!(here, found, "{key}");
            }
        }
        found
    }

    fn iter(&self, spec: &ReadSpec) -> DbIter {
        self.engine().iter(self.cf(), spec)
    }

    /// All keys and values, which both directions agree on.
    fn all(&self, spec: &ReadSpec) -> Vec<(String, String)> {
        let mut it = self.iter(spec);
        let forward = walk(&mut it, true);
        let mut backward = walk(&mut it, false);
        backward.reverse();
        assert_eq!(forward, backward);
        forward
    }

    fn flush(&self) {
        self.engine()
            .flush_all(FlushReason::ManualFlush, true)
            .unwrap();
    }
}

fn range(number: SequenceNumber) -> NumberRange {
    NumberRange {
        first: number,
        last: number,
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn walk(it: &mut DbIter, forward: bool) -> Vec<(String, String)> {
    let mut all = Vec::new();
    if forward {
        it.seek_to_first();
    } else {
        it.seek_to_last();
    }
    while let (Some(key), Some(value)) = (it.key(), it.value()) {
        all.push((text(key), text(value)));
        if forward { it.next() } else { it.prev() }
    }
    assert_eq!(it.status(), Ok(()));
    all
}

fn pairs(all: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(key, value): &(&str, &str)| (key.to_string(), value.to_string());
    all.iter().map(owned).collect()
}

fn some(value: &str) -> Option<String> {
    Some(value.to_string())
}

#[test]
fn what_is_undecided_is_shown_once_it_is_decided() {
    for kind in &KINDS {
        let db = Db::open(kind);
        db.put("a", "1");
        db.put("b", "1");
        let put = db.undecided_put("a", "2");
        let first = db.undecided_put("a0", "2");
        let deletion = db.undecided_write(ValueType::Deletion, "b", "");
        assert_eq!(db.value("a", &db.now()), some("1"));
        assert_eq!(db.value("a0", &db.now()), None);
        assert_eq!(db.value("b", &db.now()), some("1"));
        assert_eq!(db.all(&db.now()), pairs(&[("a", "1"), ("b", "1")]));
        db.undecided().decide([put, first]);
        assert_eq!(db.value("a", &db.now()), some("2"));
        let two = pairs(&[("a", "2"), ("a0", "2"), ("b", "1")]);
        assert_eq!(db.all(&db.now()), two);
        db.undecided().decide([deletion]);
        assert_eq!(db.value("b", &db.now()), None);
        assert_eq!(db.all(&db.now()), two[..2]);
    }
}

#[test]
fn undecided_operands_are_left_out_and_lower_ones_count() {
    for kind in &KINDS {
        let db = Db::open(kind);
        let mut undecided = Vec::new();
        for (n, operand) in ["1", "2", "3", "4", "5"].into_iter().enumerate() {
            match n % 2 {
                0 => drop(db.write(ValueType::Merge, "k", operand)),
                _ => undecided.push(db.undecided_write(ValueType::Merge, "k", operand)),
            }
        }
        // A base that is undecided is no base.
        undecided.push(db.undecided_put("k", "6"));
        db.write(ValueType::Merge, "k", "7");
        assert_eq!(db.value("k", &db.now()), some("1,3,5,7"));
        assert_eq!(db.all(&db.now()), pairs(&[("k", "1,3,5,7")]));
        db.undecided().decide([undecided[1]]);
        assert_eq!(db.value("k", &db.now()), some("1,3,4,5,7"));
        db.undecided().decide([undecided[2]]);
        assert_eq!(db.value("k", &db.now()), some("6,7"));
    }
}

#[test]
fn a_snapshot_keeps_what_was_undecided_when_it_was_taken() {
    for kind in &KINDS {
        let db = Db::open(kind);
        db.put("k", "1");
        let two = db.undecided_put("k", "2");
        let three = db.undecided_put("k", "3");
        let none = db.snapshot();
        db.undecided().decide([two]);
        let one = db.snapshot();
        db.undecided().decide([three]);
        let both = db.snapshot();
        // Numbers that become undecided later are above all of these.
        db.undecided_put("k", "4");
        for (spec, value) in [(&none, "1"), (&one, "2"), (&both, "3"), (&db.now(), "3")] {
            assert_eq!(db.value("k", spec), some(value));
            assert_eq!(db.all(spec), pairs(&[("k", value)]));
        }
    }
}

#[test]
fn an_iterator_keeps_what_was_undecided_when_it_was_made() {
    for kind in &KINDS {
        let db = Db::open(kind);
        let mut numbers = Vec::new();
        for key in ["a", "b", "c"] {
            db.put(key, "1");
            numbers.push(db.undecided_put(key, "2"));
        }
        let mut it = db.iter(&db.now());
        it.seek(b"b");
        db.undecided().decide(numbers);
        let old = pairs(&[("a", "1"), ("b", "1"), ("c", "1")]);
        assert_eq!(it.value(), Some(&b"1"[..]));
        assert_eq!(
            walk(&mut it, false),
            [&old[2], &old[1], &old[0]].map(Clone::clone)
        );
        assert_eq!(walk(&mut it, true), old);
        assert_eq!(
            db.all(&db.now()),
            pairs(&[("a", "2"), ("b", "2"), ("c", "2")])
        );
    }
}

/// More versions than are passed one by one, undecided ones and such above the point.
#[test]
fn long_runs_of_undecided_versions_are_passed_in_both_directions() {
    for kind in &KINDS {
        let db = Db::open(kind);
        for key in ["a", "b", "c"] {
            db.put(key, "old");
            db.put(key, "1");
        }
        let undecided: Vec<_> = (0..60)
            .map(|n| db.undecided_put("b", &n.to_string()))
            .collect();
        let above = db.snapshot();
        for n in 0..20 {
            db.put("b", &n.to_string());
        }
        let old = pairs(&[("a", "1"), ("b", "1"), ("c", "1")]);
        assert_eq!(db.value("b", &above), some("1"));
        assert_eq!(db.all(&above), old);
        assert_eq!(db.value("b", &db.now()), some("19"));
        // Visible and undecided versions in turns.
        for n in 0..40 {
            db.put("c", &n.to_string());
            db.undecided_put("c", "no");
        }
        db.undecided_write(ValueType::Deletion, "c", "");
        let new = pairs(&[("a", "1"), ("b", "19"), ("c", "39")]);
        assert_eq!(db.all(&db.now()), new);
        assert_eq!(db.value("c", &db.now()), some("39"));
        db.undecided().decide(undecided);
        assert_eq!(db.all(&above), old);
        assert_eq!(db.all(&db.now()), new);
    }
}

#[test]
fn several_families_are_read_at_one_point() {
    let db = Db::open(&KINDS[1]);
    let other = db.engine().column_families().pop().unwrap();
    assert_eq!((other.id, &other.name[..]), (1, "other"));
    let spec = WriteSpec::default();
    let mut firsts = Vec::new();
    for value in ["1", "2"] {
        for cf in [0, 1] {
            let number = db.next_number();
            if value == "2" {
                db.undecided().enter([range(number)]);
                firsts.push(number);
            }
            let (ty, value) = (ValueType::Value, value.as_bytes());
            db.engine().write_one(cf, ty, b"k", value, &spec).unwrap();
        }
    }
    let both = |spec: &ReadSpec| {
        let found = db
            .engine()
            .multi_get::<Bytes>(&[(&other, b"k"), (db.cf(), b"k")], spec);
        let found = found.into_iter().map(|v| text(&v.unwrap().unwrap()));
        found.collect::<Vec<_>>()
    };
    let before = db.snapshot();
    assert_eq!(both(&db.now()), ["1", "1"]);
    db.undecided().decide(firsts);
    assert_eq!(both(&db.now()), ["2", "2"]);
    assert_eq!(both(&before), ["1", "1"]);
    assert_eq!(db.engine().snapshots.count(), 1, "reads keep no snapshot");
}

/// Snapshots keep every version, so that tables have all of them, in blocks of a few entries.
#[test]
fn undecided_versions_in_tables_are_passed_over_across_blocks() {
    for flushes in [1, 5] {
        let db = Db::open(&KINDS[1]);
        let mut snapshots = Vec::new();
        let mut undecided = Vec::new();
        for n in 0..60 {
            let value = format!("{n:040}");
            match n % 3 {
                0 => drop(db.put("k", &value)),
                _ => undecided.push(db.undecided_put("k", &value)),
            }
            db.put("j", &value);
            db.put("l", &value);
            snapshots.push((db.snapshot(), format!("{:040}", n - n % 3)));
            if n % (60 / flushes) == 60 / flushes - 1 {
                db.flush();
            }
        }
        for (n, (spec, value)) in snapshots.iter().enumerate() {
            assert_eq!(db.value("k", spec).as_ref(), Some(value), "{n}");
            let neighbour = &format!("{n:040}")[..];
            let all = pairs(&[("j", neighbour), ("k", value), ("l", neighbour)]);
            assert_eq!(db.all(spec), all, "{n}");
        }
        db.undecided().decide(undecided);
        assert_eq!(db.value("k", &db.now()), some(&format!("{:040}", 59)));
    }
}
