//! What a rollback restores.

use super::super::{PROTOCOLS, commit, id_of, logs, open_two, prepare, records, roll_back};
use super::{options, undecided};
use crate::options::read::WriteSpec;
use crate::{ColumnFamilyDescriptor, CommitProtocol, DB, MergeOperands};
use std::path::Path;
use whitewater_storage::batch::Batch;
use whitewater_storage::fs::Fs;
use whitewater_storage::fs::mem::MemFs;
use whitewater_storage::key::{MAX_SEQUENCE, ValueType, lookup_key, parse_internal_key};
use whitewater_storage::wal::LogWriter;
use whitewater_storage::{entity, filename};

fn append(_key: &[u8], existing: Option<&[u8]>, operands: &MergeOperands) -> Option<Vec<u8>> {
    let mut merged = existing.unwrap_or_default().to_vec();
    operands
        .iter()
        .for_each(|operand| merged.extend_from_slice(operand));
    Some(merged)
}

fn section_of(ops: &[(u32, ValueType, &str, &str)]) -> Batch {
    let mut batch = Batch::default();
    batch.push_noop();
    for (cf, ty, key, value) in ops {
        batch.push(*cf, *ty, key.as_bytes(), value.as_bytes());
    }
    batch
}

/// Each key once, whatever the section did with it: its value, the value that operands come to,
/// or a deletion.
#[test]
fn each_key_gets_what_it_read_as() {
    for protocol in PROTOCOLS {
        let fs = MemFs::new();
        let mut options = options(&fs, protocol);
        options.set_merge_operator_associative("append", append);
        let families = ["default", "other"];
        let families = families.map(|name| ColumnFamilyDescriptor::new(name, options.clone()));
        let db = DB::open_cf_descriptors(&options, "/db", families).unwrap();
        let engine = db.engine();
        let other = id_of(engine, "other");
        let other_cf = db.cf_handle("other").unwrap();
        db.put("value", "old").unwrap();
        db.merge("merged", "1").unwrap();
        db.merge("merged", "2").unwrap();
        db.put("gone", "old").unwrap();
        db.delete("gone").unwrap();
        db.put("in_table", "old").unwrap();
        db.put_cf(&other_cf, "value", "of other").unwrap();
        db.flush().unwrap();
        db.put("single", "old").unwrap();
        let batch = section_of(&[
            (0, ValueType::Value, "value", "new"),
            (0, ValueType::Deletion, "value", ""),
            (other, ValueType::Value, "value", "new"),
            (0, ValueType::Merge, "merged", "3"),
            (0, ValueType::Value, "gone", "new"),
            (0, ValueType::Merge, "never", "1"),
            (0, ValueType::Deletion, "in_table", ""),
            (0, ValueType::SingleDeletion, "single", ""),
        ]);
        let x = engine.prepare_section(b"x", &batch, &WriteSpec::default());
        let x = x.unwrap();
        roll_back(engine, &x);
        assert_eq!(undecided(engine), [], "{protocol}");
        let last = records(&fs).pop().unwrap();
        let undone = "Value(value) Value(value) Value(merged) Deletion(gone) Deletion(never) \
                      Value(in_table) Value(single) ROLLBACK(x)";
        assert!(
            last.ends_with(&format!(",7 {undone}")),
            "{protocol}: {last}"
        );
        let check = |what: &str| {
            for (key, value) in [
                ("value", Some("old")),
                ("merged", Some("12")),
                ("gone", None),
                ("never", None),
                ("in_table", Some("old")),
                ("single", Some("old")),
            ] {
                let found = db.get(key).unwrap();
                let value = value.map(str::as_bytes);
                assert_eq!(found.as_deref(), value, "{protocol}, {what}: {key}");
            }
            let found = db.get_cf(&other_cf, "value").unwrap();
            assert_eq!(found.as_deref(), Some(&b"of other"[..]), "{protocol}");
        };
        check("in memory");
        db.flush().unwrap();
        db.flush_cf(&other_cf).unwrap();
        check("in tables");
        db.compact_range(None::<&[u8]>, None::<&[u8]>);
        check("compacted");
    }
}

/// The operations of a family that was dropped since have no key to restore.
#[test]
fn a_dropped_family_is_passed_over() {
    for protocol in PROTOCOLS {
        let fs = MemFs::new();
        let db = open_two(&options(&fs, protocol));
        let engine = db.engine();
        let other = id_of(engine, "other");
        let batch = section_of(&[
            (other, ValueType::Value, "a", "1"),
            (0, ValueType::Value, "b", "2"),
        ]);
        let spec = WriteSpec::default();
        let x = engine.prepare_section(b"x", &batch, &spec).unwrap();
        let y = engine.prepare_section(
            b"y",
            &section_of(&[(other, ValueType::Value, "c", "1")]),
            &spec,
        );
        let y = y.unwrap();
        let family = engine.column_families().pop().unwrap();
        engine.drop_cf(&family).unwrap();
        roll_back(engine, &x);
        roll_back(engine, &y);
        let records = records(&fs);
        let end = &records[records.len() - 2..];
        assert!(
            end[0].ends_with(",1 Deletion(b) ROLLBACK(x)"),
            "{protocol}: {end:?}"
        );
        assert!(end[1].ends_with(",0 ROLLBACK(y)"), "{protocol}: {end:?}");
        assert_eq!(undecided(engine), [], "{protocol}");
        assert_eq!(db.get("b"), Ok(None), "{protocol}");
    }
}

/// Nothing is written to a family that was dropped. Who still has its handle does not see what was
/// rolled back, in a memtable or in a table, at a snapshot or without.
#[test]
fn a_dropped_family_shows_nothing_that_was_rolled_back() {
    for (flushes, snapshot_first) in [(false, false), (false, true), (true, false), (true, true)] {
        let what = format!("flushed: {flushes}, snapshot before: {snapshot_first}");
        let fs = MemFs::new();
        let db = open_two(&options(&fs, crate::CommitProtocol::Ordered));
        let engine = db.engine();
        let (other, handle) = (id_of(engine, "other"), db.cf_handle("other").unwrap());
        db.put_cf(&handle, "a", "old").unwrap();
        let batch = section_of(&[
            (other, ValueType::Value, "a", "1"),
            (other, ValueType::Value, "b", "1"),
            (0, ValueType::Value, "a", "1"),
        ]);
        let x = engine.prepare_section(b"x", &batch, &WriteSpec::default());
        let kept = [(other, ValueType::Value, "c", "1")];
        let y = engine.prepare_section(b"y", &section_of(&kept), &WriteSpec::default());
        if flushes {
            db.flush_cf(&handle).unwrap();
        }
        let early = snapshot_first.then(|| db.snapshot());
        let family = engine.column_families().pop().unwrap();
        engine.drop_cf(&family).unwrap();
        roll_back(engine, &x.unwrap());
        commit(engine, &y.unwrap());
        assert_eq!(undecided(engine), [], "{what}");
        let late = db.snapshot();
        let get = |key: &str| text(db.get_cf(&handle, key).unwrap());
        let seen = ["a", "b", "c"].map(get);
        let old = || Some("old".to_owned());
        assert_eq!(seen, [old(), None, Some("1".into())], "{what}");
        let seen = ["a", "b", "c"].map(|key| text(late.get_cf(&handle, key).unwrap()));
        assert_eq!(seen, [old(), None, Some("1".into())], "{what}");
        if let Some(early) = &early {
            let seen = ["a", "b", "c"].map(|key| text(early.get_cf(&handle, key).unwrap()));
            assert_eq!(seen, [old(), None, None], "{what}");
        }
        let all = db.iterator_cf(&handle, crate::IteratorMode::Start);
        let keys: Vec<_> = all.map(|entry| entry.unwrap().0).collect();
        assert_eq!(keys, [Box::from(*b"a"), Box::from(*b"c")], "{what}");
        let default = db.cf_handle("default").unwrap();
        let many = db.multi_get_cf([(&handle, "a"), (&handle, "b"), (&default, "a")]);
        let many: Vec<_> = many.into_iter().map(|found| text(found.unwrap())).collect();
        assert_eq!(many, [old(), None, None], "{what}");
    }
}

fn text(value: Option<Vec<u8>>) -> Option<String> {
    value.map(|value| String::from_utf8(value).unwrap())
}

/// A rollback that cannot read does not guess.
#[test]
fn a_rollback_that_cannot_read_leaves_the_section_prepared() {
    let fs = MemFs::new();
    let mut options = options(&fs, CommitProtocol::Ordered);
    options.set_merge_operator_associative("never", |_, _, _| None);
    let db = DB::open(&options, "/db").unwrap();
    let engine = db.engine();
    db.merge("k", "1").unwrap();
    let x = prepare(engine, "x", &["k"]);
    let range = undecided(engine);
    let spec = WriteSpec::default();
    engine.rollback_section(&x, &spec).unwrap_err();
    assert_eq!(undecided(engine), range);
    assert_eq!(engine.prepared_sections().len(), 1);
    db.put("other", "v").unwrap();
    super::super::commit(engine, &x);
    assert_eq!(db.get("k"), Ok(Some(b"k".into())));
}

/// What RocksDB has written as several columns is not reduced to the one that reads show.
#[test]
fn an_entity_gets_all_of_its_columns_back() {
    let fs = MemFs::new();
    let mut options = options(&fs, CommitProtocol::Ordered);
    options.set_merge_operator_associative("append", append);
    drop(DB::open(&options, "/db").unwrap());
    let columns: [(&[u8], &[u8]); 2] = [(b"", b"default"), (b"more", b"1")];
    let mut batch = Batch::default();
    for key in ["plain", "merged"] {
        let value = entity::encode(&columns);
        batch.push(0, ValueType::WideColumnEntity, key.as_bytes(), &value);
    }
    batch.push(0, ValueType::Merge, b"merged", b"+");
    batch.push_noop();
    let mut record = batch.bytes().to_vec();
    record[0] = 1; // the first number
    let number = logs(&fs).pop().unwrap() + 1;
    let file = fs.create(&filename::wal(Path::new("/db"), number)).unwrap();
    let mut writer = LogWriter::new(file, number, false);
    writer.add_record(&[&record]).unwrap();
    drop(writer);

    let db = DB::open(&options, "/db").unwrap();
    assert_eq!(db.get("merged"), Ok(Some(b"default+".into())));
    let x = prepare(db.engine(), "x", &["plain", "merged"]);
    roll_back(db.engine(), &x);
    let merged: [(&[u8], &[u8]); 2] = [(b"", b"default+"), (b"more", b"1")];
    for (key, columns) in [("plain", &columns), ("merged", &merged)] {
        let view = db.engine().default_cf().pin_owned();
        let mut newest = view.mem.iter();
        newest.seek(&lookup_key(key.as_bytes(), MAX_SEQUENCE));
        let ty = parse_internal_key(newest.key()).unwrap().ty;
        assert_eq!(ty, ValueType::WideColumnEntity, "{key}");
        assert_eq!(newest.value(), entity::encode(columns), "{key}");
    }
    assert_eq!(db.get("plain"), Ok(Some(b"default".into())));
    assert_eq!(db.get("merged"), Ok(Some(b"default+".into())));
}
