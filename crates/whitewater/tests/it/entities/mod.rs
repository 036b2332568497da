//! Wide-column entities, written and read.
//!
//! * `model`: random operations beside a map. `transactions`: in both kinds of them, and in
//!   batches that can be read. `filters`: compaction filters.

mod filters;
mod model;
mod transactions;

use crate::content::{self, unhex};
use crate::fixtures::{Fixture, directory};
use serde_json::Value;
use whitewater::{
    AttributeGroup, CommitProtocol, DB, Error, ErrorKind, IteratorMode, MemtableFactory,
    MergeOperands, Options, SstFileWriter, WideColumn, WideColumns, WriteBatch, WriteOptions,
};

type Pair<'a> = (&'a str, &'a str);

fn append(_: &[u8], existing: Option<&[u8]>, operands: &MergeOperands) -> Option<Vec<u8>> {
    let mut value = existing.unwrap_or_default().to_vec();
    operands.iter().for_each(|o| value.extend_from_slice(o));
    Some(value)
}

fn options() -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options.set_merge_operator_associative("append", append);
    options
}

/// The columns as text.
fn pairs(columns: &WideColumns) -> Vec<(String, String)> {
    columns.iter().map(pair).collect()
}

fn pair(column: WideColumn<'_>) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(column.name), text(column.value))
}

fn found(columns: Result<Option<WideColumns>, Error>) -> Option<Vec<(String, String)>> {
    columns.unwrap().as_ref().map(pairs)
}

fn some(columns: &[Pair<'_>]) -> Option<Vec<(String, String)>> {
    let owned = |(name, value): &Pair<'_>| (name.to_string(), value.to_string());
    Some(columns.iter().map(owned).collect())
}

fn compact(db: &DB) {
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
}

/// Whatever shows the database: look-ups, iterators both ways.
fn check(db: &DB, expected: &[(&str, &[Pair<'_>])]) {
    let mut iterator = db.raw_iterator();
    iterator.seek_to_first();
    for (key, columns) in expected {
        let default = columns.iter().find(|(name, _)| name.is_empty());
        let value = default.map_or("", |(_, value)| value);
        assert_eq!(found(db.get_entity(key)), some(columns), "{key}");
        assert_eq!(db.get(key).unwrap().as_deref(), Some(value.as_bytes()));
        let pinned = db.get_pinned_entity(key).unwrap().unwrap();
        assert_eq!(pinned.len(), columns.len());
        assert_eq!(iterator.item(), Some((key.as_bytes(), value.as_bytes())));
        let shown = iterator.columns().unwrap().into_iter().map(pair).collect();
        assert_eq!(Some::<Vec<_>>(shown), some(columns), "{key}");
        iterator.next();
    }
    assert_eq!((iterator.valid(), iterator.columns()), (false, None));
    iterator.status().unwrap();
    iterator.seek_to_last();
    for (key, columns) in expected.iter().rev() {
        assert_eq!(iterator.key(), Some(key.as_bytes()));
        let shown = iterator.columns().unwrap().into_iter().map(pair).collect();
        assert_eq!(Some::<Vec<_>>(shown), some(columns), "{key} backward");
        iterator.prev();
    }
    iterator.status().unwrap();
    let keys: Vec<&str> = expected.iter().map(|(key, _)| *key).collect();
    let many = db.multi_get_entity(&keys).into_iter().map(found);
    let expected = expected.iter().map(|(_, columns)| some(columns));
    assert_eq!(many.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
}

#[test]
fn entities_are_read_from_logs_memtables_and_tables() {
    let dir = tempfile::tempdir().unwrap();
    let expected: [(&str, &[Pair<'_>]); 4] = [
        ("a", &[("", "default"), ("born", "1815"), ("name", "ada")]),
        ("b", &[("name", "eve")]),
        ("c", &[]),
        ("d", &[("", "plain")]),
    ];
    let db = DB::open(&options(), dir.path()).unwrap();
    db.put("b", "to be replaced").unwrap();
    db.put_entity("d", [("name", "to be replaced")]).unwrap();
    let any_order = [("name", "ada"), ("", "default"), ("born", "1815")];
    db.put_entity("a", any_order).unwrap();
    let mut batch = WriteBatch::default();
    batch.put_entity("b", &[("name", "eve")]);
    batch.put_entity("c", None::<WideColumn<'_>>);
    batch.put("d", "plain");
    db.write(batch).unwrap();
    check(&db, &expected);
    drop(db);
    let db = DB::open(&options(), dir.path()).unwrap();
    check(&db, &expected);
    db.flush().unwrap();
    check(&db, &expected);
    compact(&db);
    check(&db, &expected);
    assert_eq!(found(db.get_entity("e")), None);
    db.delete("a").unwrap();
    assert_eq!(found(db.get_entity("a")), None);
    let snapshot = db.snapshot();
    db.put_entity("b", [("other", "1")]).unwrap();
    let mut then = whitewater::ReadOptions::default();
    then.set_snapshot(&snapshot);
    assert_eq!(
        found(db.get_entity_opt("b", &then)),
        some(&[("name", "eve")])
    );
    assert_eq!(found(db.get_entity("b")), some(&[("other", "1")]));
}

#[test]
fn two_columns_of_one_name_are_refused_and_nothing_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let db = DB::open(&options(), dir.path()).unwrap();
    let twice = [("a", "1"), ("b", "2"), ("a", "3")];
    let is_refused = |outcome: Result<(), Error>| {
        let error = outcome.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption);
        assert_eq!(error.to_string(), "Corruption: Wide columns out of order");
    };
    is_refused(db.put_entity("k", twice));
    let mut batch = WriteBatch::default();
    batch.put("other", "1");
    batch.put_entity("k", twice);
    is_refused(db.write(batch));
    assert_eq!(db.iterator(IteratorMode::Start).count(), 0);
    db.put_entity("k", [("a", "1")]).unwrap();
    assert_eq!(found(db.get_entity("k")), some(&[("a", "1")]));
}

/// Bytes of a batch are not trusted: they would be in the log, and fail at every recovery or read.
#[test]
fn a_batch_with_damaged_entities_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let db = DB::open(&options(), dir.path()).unwrap();
    let mut good = WriteBatch::default();
    good.put_entity("k", [("a", "1"), ("b", "2")]);
    let at = good.data().len() - 8;
    assert_eq!(good.data()[at - 1..at + 1], [2, 1], "the count of columns");
    for (place, byte, kind) in [
        (at - 2, 3, ErrorKind::NotSupported),
        (at - 1, 9, ErrorKind::Corruption),
        (at + 1, b'c', ErrorKind::Corruption),
    ] {
        let mut data = good.data().to_vec();
        data[place] = byte;
        let error = db.write(WriteBatch::from_data(&data)).unwrap_err();
        assert_eq!(error.kind(), kind, "{place}: {error}");
    }
    assert_eq!(db.iterator(IteratorMode::Start).count(), 0);
    db.write(WriteBatch::from_data(good.data())).unwrap();
    assert_eq!(found(db.get_entity("k")), some(&[("a", "1"), ("b", "2")]));
}

#[test]
fn a_merge_changes_the_default_column_and_keeps_the_others() {
    for successive in [0, 2] {
        let dir = tempfile::tempdir().unwrap();
        let mut options = options();
        options.set_max_successive_merges(successive);
        let db = DB::open(&options, dir.path()).unwrap();
        db.put_entity("a", [("", "1"), ("x", "x")]).unwrap();
        db.put_entity("b", [("x", "x")]).unwrap();
        db.put("c", "1").unwrap();
        for operand in ["2", "3", "4"] {
            for key in ["a", "b", "c"] {
                db.merge(key, operand).unwrap();
            }
        }
        let expected: [(&str, &[Pair<'_>]); 3] = [
            ("a", &[("", "1234"), ("x", "x")]),
            ("b", &[("", "234"), ("x", "x")]),
            ("c", &[("", "1234")]),
        ];
        check(&db, &expected);
        db.flush().unwrap();
        check(&db, &expected);
        compact(&db);
        check(&db, &expected);
        for key in ["a", "b", "c"] {
            db.merge(key, "5").unwrap();
        }
        check(
            &db,
            &[
                ("a", &[("", "12345"), ("x", "x")]),
                ("b", &[("", "2345"), ("x", "x")]),
                ("c", &[("", "12345")]),
            ],
        );
    }
}

#[test]
fn groups_of_attributes_are_written_as_one() {
    let dir = tempfile::tempdir().unwrap();
    let db = DB::open_cf(&options(), dir.path(), ["hot", "cold"]).unwrap();
    let [hot, cold] = ["hot", "cold"].map(|name| db.cf_handle(name).unwrap());
    let error = db.put_attribute_groups("k", &[]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    let groups = [
        AttributeGroup::new(&hot, [("visits", "1")]),
        AttributeGroup::new(&cold, [("b", "2"), ("a", "1")]),
    ];
    db.put_attribute_groups("k", &groups).unwrap();
    assert_eq!(db.latest_sequence_number(), 2);
    let all = db.get_attribute_groups("k", [&cold, &hot]);
    let all: Vec<_> = all.into_iter().map(found).collect();
    assert_eq!(
        all,
        [some(&[("a", "1"), ("b", "2")]), some(&[("visits", "1")])]
    );
    assert_eq!(found(db.get_entity_cf(&cold, "k")), all[0]);
    let many = db.multi_get_entity_cf([(&hot, "k"), (&hot, "none")]);
    let many: Vec<_> = many.into_iter().map(found).collect();
    assert_eq!(many, [some(&[("visits", "1")]), None]);
    let twice = [
        AttributeGroup::new(&hot, [("visits", "2")]),
        AttributeGroup::new(&cold, [("a", "1"), ("a", "2")]),
    ];
    db.put_attribute_groups("k", &twice).unwrap_err();
    assert_eq!(found(db.get_entity_cf(&hot, "k")), some(&[("visits", "1")]));
}

#[test]
fn entities_are_refused_beside_times_to_live_and_timestamps() {
    let dir = tempfile::tempdir().unwrap();
    let ttl = std::time::Duration::from_secs(1000);
    let db = DB::open_with_ttl(&options(), dir.path(), ttl).unwrap();
    let error = db.put_entity("k", [("a", "1")]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotSupported);
    db.put("k", "v").unwrap();
    assert_eq!(found(db.get_entity("k")), some(&[("", "v")]));
    drop(db);
    let dir = tempfile::tempdir().unwrap();
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_u64_timestamp_comparator();
    let db = DB::open(&options, dir.path()).unwrap();
    let mut batch = WriteBatch::default();
    batch.put_entity("k", [("a", "1")]);
    for error in [db.put_entity("k", [("a", "1")]), db.write(batch)] {
        assert_eq!(error.unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
}

/// As in RocksDB, whatever the size of their columns.
#[test]
fn entities_stay_out_of_blob_files() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = options();
    options.set_enable_blob_files(true);
    options.set_min_blob_size(10);
    let db = DB::open(&options, dir.path()).unwrap();
    let large = "v".repeat(1000);
    db.put_entity("a", [("x", &large)]).unwrap();
    db.flush().unwrap();
    let blobs = |db: &DB| db.property_int_value("rocksdb.num-blob-files").unwrap();
    assert_eq!(blobs(&db), Some(0));
    db.put("b", &large).unwrap();
    db.flush().unwrap();
    assert_eq!(blobs(&db), Some(1));
    check(&db, &[("a", &[("x", &large)]), ("b", &[("", &large)])]);
}

#[test]
fn checksums_protect_entities_in_every_commit_protocol() {
    for protocol in [
        CommitProtocol::Ordered,
        CommitProtocol::Grouped,
        CommitProtocol::Pipelined,
        CommitProtocol::Unordered,
    ] {
        let dir = tempfile::tempdir().unwrap();
        let mut options = options();
        options.set_commit_protocol(protocol);
        options.set_memtable_protection_bytes_per_key(8);
        let db = DB::open(&options, dir.path()).unwrap();
        let mut protected = WriteOptions::default();
        protected.set_protection_bytes_per_key(8);
        db.put_entity_opt("a", [("x", "1")], &protected).unwrap();
        let mut batch = WriteBatch::with_protection(0, 8).unwrap();
        batch.put_entity("b", [("x", "2")]);
        db.write(batch).unwrap();
        db.put_entity("c", [("x", "3")]).unwrap();
        let expected: [(&str, &[Pair<'_>]); 3] = [
            ("a", &[("x", "1")]),
            ("b", &[("x", "2")]),
            ("c", &[("x", "3")]),
        ];
        check(&db, &expected);
        db.flush().unwrap();
        check(&db, &expected);
    }
}

#[test]
fn values_are_not_updated_in_place_over_entities() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = options();
    options.set_inplace_update_support(true);
    options.set_allow_concurrent_memtable_write(false);
    options.set_commit_protocol(CommitProtocol::Grouped);
    options.set_memtable_factory(MemtableFactory::SkipList);
    let db = DB::open(&options, dir.path()).unwrap();
    db.put("k", "a long value").unwrap();
    db.put_entity("k", [("x", "1")]).unwrap();
    check(&db, &[("k", &[("x", "1")])]);
    db.put("k", "v").unwrap();
    check(&db, &[("k", &[("", "v")])]);
    db.put("k", "w").unwrap();
    db.put_entity("k", [("x", "2")]).unwrap();
    db.flush().unwrap();
    check(&db, &[("k", &[("x", "2")])]);
}

#[test]
fn tables_made_outside_take_entities() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("outside.sst");
    let options = options();
    let mut writer = SstFileWriter::create(&options);
    writer.open(&path).unwrap();
    writer.put_entity("a", [("y", "2"), ("x", "1")]).unwrap();
    let twice = writer.put_entity("b", [("x", "1"), ("x", "2")]);
    assert_eq!(twice.unwrap_err().kind(), ErrorKind::Corruption);
    writer.put("b", "v").unwrap();
    writer.finish().unwrap();
    let db = DB::open(&options, dir.path().join("db")).unwrap();
    db.put_entity("a", [("x", "old")]).unwrap();
    db.ingest_external_file(vec![&path]).unwrap();
    check(
        &db,
        &[("a", &[("x", "1"), ("y", "2")]), ("b", &[("", "v")])],
    );
}

#[test]
fn entities_are_read_by_followers_and_readers() {
    let dir = tempfile::tempdir().unwrap();
    let (path, second) = (dir.path().join("db"), dir.path().join("second"));
    let db = DB::open(&options(), &path).unwrap();
    db.put_entity("a", [("x", "1")]).unwrap();
    let expected: [(&str, &[Pair<'_>]); 1] = [("a", &[("x", "1")])];
    let reader = DB::open_for_read_only(&options(), &path, false).unwrap();
    check(&reader, &expected);
    let error = reader.put_entity("a", [("x", "1")]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotSupported);
    let follower = DB::open_as_secondary(&options(), &path, &second).unwrap();
    check(&follower, &expected);
    db.put_entity("a", [("x", "2")]).unwrap();
    db.flush().unwrap();
    follower.try_catch_up_with_primary().unwrap();
    check(&follower, &[("a", &[("x", "2")])]);
}

/// A database of RocksDB 10.4.
#[test]
fn columns_that_rocksdb_has_written_are_read() {
    let fixture = Fixture::load("wide_blob_ingest");
    let json = directory().join("wide_blob_ingest.json");
    let json: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    let text = |v: &Value| unhex(v.as_str().unwrap());
    let db = fixture.open();
    let cf = content::cf(&db, "wide");
    let mut iterator = db.raw_iterator_cf(&cf);
    iterator.seek_to_first();
    let entities = json["wide_entities"].as_object().unwrap();
    assert!(!entities.is_empty());
    for (key, columns) in entities {
        let key = unhex(key);
        let columns = columns.as_array().unwrap().iter();
        let columns: Vec<_> = columns.map(|c| (text(&c[0]), text(&c[1]))).collect();
        let expected: Vec<WideColumn<'_>> = columns.iter().map(Into::into).collect();
        let found = db.get_entity_cf(&cf, &key).unwrap().unwrap();
        assert_eq!(found.iter().collect::<Vec<_>>(), expected);
        iterator.seek(&key);
        assert_eq!(iterator.key(), Some(&key[..]));
        assert_eq!(iterator.columns().unwrap(), expected);
    }
}
