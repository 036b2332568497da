//! Merges in column families with and without a merge operator.

use whitewater::{
    Cache, ColumnFamilyDescriptor, CompactOptions, DB, Error, ErrorKind, GetMergeOperandsOptions,
    IteratorMode, MergeOperands, Options, ReadOptions, WriteBatch,
};

fn append(_: &[u8], existing: Option<&[u8]>, operands: &MergeOperands) -> Option<Vec<u8>> {
    let mut value = existing.unwrap_or_default().to_vec();
    operands.iter().for_each(|o| value.extend_from_slice(o));
    Some(value)
}

fn without() -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options
}

fn with() -> Options {
    let mut options = without();
    options.set_merge_operator_associative("append", append);
    options
}

fn text<T>(outcome: Result<T, Error>) -> String {
    outcome.err().expect("an error").to_string()
}

const SINGLE: &str = "Not implemented: Provide a merge_operator when opening DB";
const IN_BATCH: &str =
    "Invalid argument: Merge requires `ColumnFamilyOptions::merge_operator != nullptr`";

#[test]
fn a_merge_that_nobody_could_read_is_refused_and_nothing_is_written() {
    let dir = tempfile::tempdir().unwrap();
    // One family has an operator, and the others none.
    let families = [
        ("default", without()),
        ("apart", without()),
        ("sums", with()),
    ];
    let families = families.map(|(name, o)| ColumnFamilyDescriptor::new(name, o));
    let db = DB::open_cf_descriptors(&without(), dir.path(), families).unwrap();
    let [apart, sums] = ["apart", "sums"].map(|name| db.cf_handle(name).unwrap());
    db.put("k", "v").unwrap();
    let before = db.latest_sequence_number();
    assert_eq!(text(db.merge("k", "m")), SINGLE);
    assert_eq!(text(db.merge_cf(&apart, "k", "m")), SINGLE);
    let error = db.merge("k", "m").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotSupported);
    let mut batch = WriteBatch::default();
    batch.put("other", "v");
    batch.merge_cf(&sums, "k", "m");
    batch.merge_cf(&apart, "k", "m");
    assert_eq!(text(db.write(batch)), IN_BATCH);
    assert_eq!(db.latest_sequence_number(), before);
    assert_eq!(db.get("other").unwrap(), None);
    // The family with an operator is not affected, nor are later writes.
    db.merge_cf(&sums, "k", "m").unwrap();
    db.put("other", "v").unwrap();
    let seen = db.iterator(IteratorMode::Start).map(|e| e.unwrap().0);
    assert_eq!(
        seen.collect::<Vec<_>>(),
        [b"k".to_vec(), b"other".to_vec()].map(Box::from)
    );
    let sum = db.get_cf(&sums, "k").unwrap();
    assert_eq!(sum.as_deref(), Some(&b"m"[..]));
}

#[test]
fn a_merge_with_a_time_to_live_is_refused_as_the_batch_that_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let ttl = std::time::Duration::from_secs(1000);
    let db = DB::open_with_ttl(&without(), dir.path(), ttl).unwrap();
    assert_eq!(text(db.merge("k", "m")), IN_BATCH);
    assert_eq!(db.get("k").unwrap(), None);
}

/// A closed database with operands in the log, in tables and in two families.
fn operands_on_disk() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let families = ["default", "apart"].map(|name| ColumnFamilyDescriptor::new(name, with()));
    let db = DB::open_cf_descriptors(&with(), dir.path(), families).unwrap();
    let apart = db.cf_handle("apart").unwrap();
    db.put("flushed", "a").unwrap();
    db.flush().unwrap();
    db.merge("flushed", "b").unwrap();
    db.merge_cf(&apart, "elsewhere", "x").unwrap();
    db.flush().unwrap();
    db.flush_cf(&apart).unwrap();
    db.merge("flushed", "c").unwrap();
    db.merge("logged", "d").unwrap();
    db.put("plain", "p").unwrap();
    dir
}

#[test]
fn what_was_merged_before_outlives_an_opening_without_operator() {
    let dir = operands_on_disk();
    {
        let db = DB::open_cf(&without(), dir.path(), ["default", "apart"]).unwrap();
        assert_eq!(db.get("plain").unwrap().as_deref(), Some(&b"p"[..]));
        assert_eq!(text(db.merge("logged", "e")), SINGLE);
        // Flushes and compactions keep operands that they cannot apply.
        db.flush().unwrap();
        let mut all = CompactOptions::default();
        all.set_bottommost_level_compaction(whitewater::BottommostLevelCompaction::Force);
        db.compact_range_opt(None::<&[u8]>, None::<&[u8]>, &all);
        let tables = db.live_files().unwrap();
        assert!(
            tables
                .iter()
                .all(|t| t.level > 0 || t.column_family_name == "apart")
        );
        assert!(db.get("logged").is_err());
    }
    let families = ["default", "apart"].map(|name| ColumnFamilyDescriptor::new(name, with()));
    let db = DB::open_cf_descriptors(&with(), dir.path(), families).unwrap();
    for (key, value) in [("flushed", "abc"), ("logged", "d"), ("plain", "p")] {
        assert_eq!(
            db.get(key).unwrap().as_deref(),
            Some(value.as_bytes()),
            "{key}"
        );
    }
    let apart = db.cf_handle("apart").unwrap();
    let found = db.get_cf(&apart, "elsewhere").unwrap();
    assert_eq!(found.as_deref(), Some(&b"x"[..]));
}

#[test]
fn reads_of_operands_without_operator_name_key_family_and_remedy() {
    let dir = operands_on_disk();
    let db = DB::open_cf(&without(), dir.path(), ["default", "apart"]).unwrap();
    let apart = db.cf_handle("apart").unwrap();
    let mut iter = db.iterator_cf(&apart, IteratorMode::Start);
    let mut backward = db.iterator_cf(&apart, IteratorMode::End);
    for error in [
        db.get_cf(&apart, "elsewhere").unwrap_err(),
        db.multi_get_cf([(&apart, "elsewhere")])
            .remove(0)
            .unwrap_err(),
        iter.next().unwrap().unwrap_err(),
        backward.next().unwrap().unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        let text = error.to_string();
        for part in [
            "merge_operator",
            "`elsewhere`",
            "column family apart",
            "open the column family",
        ] {
            assert!(text.contains(part), "{text}");
        }
    }
}

#[test]
fn a_job_whose_merge_operator_fails_names_key_family_and_operator() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = without();
    options.set_merge_operator("refuses", |_, _, _| None, |_, _, _| None);
    let families = [ColumnFamilyDescriptor::new("apart", options)];
    let db = DB::open_cf_descriptors(&without(), dir.path(), families).unwrap();
    let apart = db.cf_handle("apart").unwrap();
    db.put_cf(&apart, "k", "v").unwrap();
    db.merge_cf(&apart, "k", "m").unwrap();
    let error = db.flush_cf(&apart).unwrap_err().to_string();
    let parts = [
        "Merge operator failed",
        "refuses",
        "`k`",
        "column family apart",
    ];
    assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    // The caller knows the key, so the error has only RocksDB's text.
    assert_eq!(
        text(db.get_cf(&apart, "k")),
        "Corruption: Merge operator failed"
    );
    let error = text(db.iterator_cf(&apart, IteratorMode::Start).next().unwrap());
    assert!(parts.iter().all(|part| error.contains(part)), "{error}");
}

fn operands(db: &DB, key: &str, options: &GetMergeOperandsOptions) -> Vec<String> {
    let found = db.get_merge_operands(key, options).unwrap();
    let text = found
        .iter()
        .map(|o| String::from_utf8_lossy(o).into_owned());
    text.collect()
}

#[test]
fn operands_are_read_without_being_merged() {
    let dir = tempfile::tempdir().unwrap();
    let db = DB::open(&with(), dir.path()).unwrap();
    db.put("value", "v").unwrap();
    db.put_entity("entity", [("", "d"), ("x", "y")]).unwrap();
    db.flush().unwrap();
    for key in ["value", "entity", "bare", "deleted"] {
        db.merge(key, "1").unwrap();
    }
    db.delete("deleted").unwrap();
    db.flush().unwrap();
    for key in ["value", "entity", "bare", "deleted"] {
        db.merge(key, "2").unwrap();
    }
    db.put("plain", "p").unwrap();
    let snapshot = db.snapshot();
    db.merge("bare", "3").unwrap();
    let all = GetMergeOperandsOptions::default();
    assert_eq!(operands(&db, "value", &all), ["v", "1", "2"]);
    assert_eq!(operands(&db, "entity", &all), ["d", "1", "2"]);
    assert_eq!(operands(&db, "bare", &all), ["1", "2", "3"]);
    assert_eq!(operands(&db, "deleted", &all), ["2"]);
    assert_eq!(operands(&db, "plain", &all), ["p"]);
    assert!(operands(&db, "none", &all).is_empty());
    let mut then = ReadOptions::default();
    then.set_snapshot(&snapshot);
    let found = db.get_merge_operands_opt("bare", &all, &then).unwrap();
    assert_eq!(found.len(), 2);
    // A limit that is exceeded; a limit that is not.
    let mut two = GetMergeOperandsOptions::default();
    two.set_expected_max_number_of_operands(2);
    let error = db.get_merge_operands("bare", &two).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Incomplete);
    assert!(error.to_string().contains("3 merge operands"), "{error}");
    assert_eq!(operands(&db, "plain", &two), ["p"]);
    // The newest ones, of memtables and of tables.
    let mut newest = GetMergeOperandsOptions::default();
    newest.set_continue_cb(|operand| operand != b"2");
    assert_eq!(operands(&db, "bare", &newest), ["2", "3"]);
    assert_eq!(operands(&db, "value", &newest), ["2"]);
    newest.set_continue_cb(|operand| operand != b"1");
    assert_eq!(operands(&db, "value", &newest), ["1", "2"]);
    assert_eq!(operands(&db, "plain", &newest), ["p"]);
}

#[test]
fn operands_without_an_operator_are_an_error_and_a_panic_of_the_caller_is_one() {
    let dir = tempfile::tempdir().unwrap();
    let db = DB::open(&with(), dir.path()).unwrap();
    db.merge("k", "1").unwrap();
    let mut panics = GetMergeOperandsOptions::default();
    panics.set_continue_cb(|_| panic!("no"));
    let error = db.get_merge_operands("k", &panics).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Aborted);
    drop(db);
    let db = DB::open_for_read_only(&without(), dir.path(), false).unwrap();
    let all = GetMergeOperandsOptions::default();
    let error = db.get_merge_operands("k", &all).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}

/// A look-up that its caller ended kept the part of the row that it had seen as the whole of it.
#[test]
fn operands_that_were_not_wanted_are_there_for_others_beside_a_row_cache() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = with();
    options.set_row_cache(&Cache::new_lru_cache(1 << 20));
    let db = DB::open(&options, dir.path()).unwrap();
    db.put("k", "v").unwrap();
    // Keep what is written apart, in one table.
    let first = db.snapshot();
    db.merge("k", "1").unwrap();
    let second = db.snapshot();
    db.merge("k", "2").unwrap();
    db.flush().unwrap();
    let mut newest = GetMergeOperandsOptions::default();
    newest.set_continue_cb(|_| false);
    assert_eq!(operands(&db, "k", &newest), ["2"]);
    assert_eq!(db.get("k").unwrap().as_deref(), Some(&b"v12"[..]));
    let all = GetMergeOperandsOptions::default();
    assert_eq!(operands(&db, "k", &all), ["v", "1", "2"]);
    assert_eq!(operands(&db, "k", &newest), ["2"]);
    drop((first, second));
}
