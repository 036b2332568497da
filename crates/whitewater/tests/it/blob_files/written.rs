//! What goes into blob files, and that it comes back.

use super::{
    FRAME, RECORD_HEADER, blob_files, compact, content, delete_range, large, open, options,
    property, state,
};
use crate::harness::{DIR, Db, append, until};
use std::path::Path;
use whitewater::backup::{BackupEngine, BackupEngineOptions, RestoreOptions};
use whitewater::fs::Fs;
use whitewater::fs::mem::MemFs;
use whitewater::{
    DBCompressionType, Env, ErrorKind, FileChecksum, IngestExternalFileOptions, Options,
    TransactionDB, TransactionDBOptions, TransactionOptions, WriteBatch, WriteOptions, WritePolicy,
};

/// Large values and small ones under alternating keys.
fn pairs() -> Vec<(Vec<u8>, Vec<u8>)> {
    let value = |i: u8| match i % 2 {
        0 => large(i, 100 + usize::from(i) * 20),
        _ => vec![i; usize::from(i) % 99],
    };
    (0..60u8)
        .map(|i| (format!("key{i:02}").into_bytes(), value(i)))
        .collect()
}

#[test]
fn values_come_back_with_every_compression() {
    for compression in [
        DBCompressionType::None,
        DBCompressionType::Snappy,
        DBCompressionType::Zlib,
        DBCompressionType::Bz2,
        DBCompressionType::Lz4,
        DBCompressionType::Lz4hc,
        DBCompressionType::Zstd,
    ] {
        let fs = MemFs::new();
        let mut o = options(&fs);
        o.set_blob_compression_type(compression);
        let db = open(&o);
        let pairs = pairs();
        for (key, value) in &pairs {
            db.put(key, value).unwrap();
        }
        assert!(content(&db) == pairs, "in memory");
        db.flush().unwrap();
        assert!(content(&db) == pairs, "{compression:?}");
        let (files, size, garbage) = state(&db);
        assert_eq!((files, garbage), (1, 0));
        let path = Path::new(DIR).join(&blob_files(&fs)[0]);
        assert_eq!(fs.file_size(&path), Ok(size));
        let large = pairs.iter().filter(|(_, v)| v.len() >= 100);
        let records = large.map(|(k, v)| RECORD_HEADER + (k.len() + v.len()) as u64);
        let raw = FRAME + records.sum::<u64>();
        if compression == DBCompressionType::None {
            assert_eq!(size, raw);
        } else {
            assert!(size < raw, "{compression:?}");
        }
        compact(&db);
        assert_eq!(state(&db), (1, size, 0), "references are copied");
        drop(db);
        assert!(content(&open(&o)) == pairs, "reopened");
        // The options say nothing about reading.
        o.set_enable_blob_files(false);
        o.set_blob_compression_type(DBCompressionType::None);
        let db = open(&o);
        assert!(content(&db) == pairs);
        compact(&db);
        assert!(content(&db) == pairs);
        assert_eq!(state(&db), (1, size, 0));
    }
}

#[test]
fn the_smallest_size_decides() {
    let fs = MemFs::new();
    let db = open(&options(&fs));
    db.put("below", large(1, 99)).unwrap();
    db.flush().unwrap();
    assert_eq!(state(&db).0, 0);
    assert_eq!(blob_files(&fs), [""; 0], "no empty file is made");
    db.put("at", large(2, 100)).unwrap();
    db.flush().unwrap();
    assert_eq!(state(&db), (1, FRAME + RECORD_HEADER + 2 + 100, 0));
    // An empty value is smaller than any reference.
    db.set_options(&[("min_blob_size", "0")]).unwrap();
    db.put("empty", b"").unwrap();
    db.flush().unwrap();
    assert_eq!(state(&db).0, 1);
    db.put("one", b"1").unwrap();
    db.flush().unwrap();
    assert_eq!(state(&db).0, 2);
    assert_eq!(content(&db).len(), 4);
}

#[test]
fn files_end_at_their_size() {
    let fs = MemFs::new();
    let mut o = options(&fs);
    o.set_blob_file_size(1000);
    let db = open(&o);
    for i in 0..10u8 {
        db.put([i], large(i, 400)).unwrap();
    }
    db.flush().unwrap();
    // Header and records: 30 + 3 * 433 is the first size of at least 1000.
    assert_eq!(state(&db).0, 4);
    let sizes: Vec<u64> = (blob_files(&fs).iter())
        .map(|name| fs.file_size(&Path::new(DIR).join(name)).unwrap())
        .collect();
    assert_eq!(
        sizes,
        [3, 3, 3, 1].map(|n| FRAME + n * (RECORD_HEADER + 401))
    );
    assert_eq!(content(&db).len(), 10);
}

#[test]
fn options_change_while_the_database_is_open() {
    let fs = MemFs::new();
    let mut o = options(&fs);
    o.set_enable_blob_files(false);
    let db = open(&o);
    db.put("a", large(1, 500)).unwrap();
    db.flush().unwrap();
    assert_eq!(state(&db).0, 0);
    db.set_options(&[("enable_blob_files", "true")]).unwrap();
    db.put("b", large(2, 500)).unwrap();
    db.flush().unwrap();
    assert_eq!(state(&db).0, 1);
    // A compaction extracts what is in tables.
    compact(&db);
    assert_eq!(state(&db).0, 2);
    // Tables of higher levels keep their values.
    db.set_options(&[
        ("blob_file_starting_level", "1"),
        ("blob_compression_type", "kZSTD"),
    ])
    .unwrap();
    db.put("c", large(3, 500)).unwrap();
    db.flush().unwrap();
    assert_eq!(state(&db).0, 2);
    compact(&db);
    assert_eq!(state(&db).0, 3);
    let found: Vec<_> = content(&db).into_iter().map(|(_, v)| v).collect();
    assert!(found == [large(1, 500), large(2, 500), large(3, 500)]);
    let e = db.set_options(&[("blob_garbage_collection_age_cutoff", "1.5")]);
    assert_eq!(e.unwrap_err().kind(), ErrorKind::InvalidArgument);
}

#[test]
fn a_recovery_writes_blob_files_too() {
    let fs = MemFs::new();
    let o = options(&fs);
    let db = open(&o);
    for (key, value) in pairs() {
        db.put(key, value).unwrap();
    }
    drop(db);
    assert_eq!(blob_files(&fs).len(), 0);
    let db = open(&o);
    assert_eq!(state(&db).0, 1);
    assert!(content(&db) == pairs());
}

#[test]
fn merges_and_deletions_know_values_in_blob_files() {
    let fs = MemFs::new();
    let mut o = options(&fs);
    o.set_merge_operator_associative("append", append);
    let db = open(&o);
    for key in ["merged", "gone", "gone once", "range 1", "range 2", "stays"] {
        db.put(key, large(1, 300)).unwrap();
    }
    db.flush().unwrap();
    db.merge("merged", large(2, 200)).unwrap();
    db.delete("gone").unwrap();
    let mut batch = WriteBatch::default();
    batch.single_delete("gone once");
    db.write(batch).unwrap();
    delete_range(&db, "range", "range:");
    let joined = [large(1, 300), b",".to_vec(), large(2, 200)].concat();
    let expected = [
        (b"merged".to_vec(), joined),
        (b"stays".to_vec(), large(1, 300)),
    ];
    let check = |what: &str| assert!(content(&db) == expected, "{what}");
    check("in memory");
    db.flush().unwrap();
    check("flushed");
    compact(&db);
    check("compacted");
    // The result of the merge is in a file of its own.
    let dropped = ["merged", "gone", "gone once", "range 1", "range 2"];
    let sizes = dropped.map(|key| RECORD_HEADER + key.len() as u64 + 300);
    assert_eq!((state(&db).0, state(&db).2), (2, sizes.iter().sum()));
}

/// Undecided values move into blob files like others, and out of them, and nothing is seen of them.
#[test]
fn undecided_values_stay_undecided() {
    let fs = MemFs::new();
    let mut o = options(&fs);
    o.set_enable_blob_gc(true);
    o.set_blob_gc_age_cutoff(1.0);
    o.set_disable_auto_compactions(false);
    o.set_level_zero_file_num_compaction_trigger(2);
    let mut txn_options = TransactionDBOptions::default();
    txn_options.set_write_policy(WritePolicy::WritePrepared);
    let db: TransactionDB = TransactionDB::open(&o, &txn_options, DIR).unwrap();
    // Two tables of level 0 whose keys are on both sides of all others.
    let compact = || {
        let before = blob_files(&fs);
        for _ in 0..2 {
            db.put("0", large(9, 300)).unwrap();
            db.put("z", large(9, 300)).unwrap();
            db.flush().unwrap();
        }
        until("files are collected", || {
            blob_files(&fs).iter().all(|name| !before.contains(name))
        });
    };
    for key in ["a", "b"] {
        db.put(key, large(1, 300)).unwrap();
    }
    let prepare = |name: &str, key: &str| {
        let txn = db.transaction_opt(&WriteOptions::default(), &TransactionOptions::default());
        txn.set_name(name.as_bytes()).unwrap();
        txn.put(key, large(2, 400)).unwrap();
        txn.prepare().unwrap();
        txn
    };
    let (one, two) = (prepare("one", "a"), prepare("two", "b"));
    let seen = || ["a", "b"].map(|key| db.get(key).unwrap().unwrap());
    db.flush().unwrap();
    assert!(seen() == [large(1, 300), large(1, 300)]);
    compact();
    assert!(seen() == [large(1, 300), large(1, 300)], "moved");
    one.commit().unwrap();
    two.rollback().unwrap();
    assert!(seen() == [large(2, 400), large(1, 300)], "decided");
    compact();
    assert!(seen() == [large(2, 400), large(1, 300)], "compacted");
}

#[test]
fn tables_that_refer_to_blob_files_are_not_ingested() {
    let dir = tempfile::tempdir().unwrap();
    let mut o = Options::default();
    o.create_if_missing(true);
    o.set_enable_blob_files(true);
    let path = |name: &str| dir.path().join(name);
    let db = whitewater::DB::open(&o, path("from")).unwrap();
    db.put("a", large(1, 300)).unwrap();
    db.flush().unwrap();
    let table = &db.live_files().unwrap()[0];
    let table = path("from").join(table.name.trim_start_matches('/'));
    let to = whitewater::DB::open(&o, path("to")).unwrap();
    let ingest = IngestExternalFileOptions::default();
    let e = to.ingest_external_file_opts(&ingest, vec![table]);
    assert!(e.is_err(), "it would refer to nothing");
    assert_eq!(to.get("a"), Ok(None));
}

#[test]
fn a_checkpoint_has_the_blob_files() {
    let dir = tempfile::tempdir().unwrap();
    let mut o = Options::default();
    o.create_if_missing(true);
    o.set_enable_blob_files(true);
    let db = whitewater::DB::open(&o, dir.path().join("db")).unwrap();
    db.put("a", large(1, 300)).unwrap();
    db.flush().unwrap();
    let copy = dir.path().join("copy");
    let checkpoint = whitewater::checkpoint::Checkpoint::new(&db).unwrap();
    checkpoint.create_checkpoint(&copy).unwrap();
    drop(checkpoint);
    drop(db);
    whitewater::DB::destroy(&o, dir.path().join("db")).unwrap();
    assert!(
        !dir.path().join("db").exists(),
        "blob files go with the database"
    );
    let copy = whitewater::DB::open(&o, copy).unwrap();
    assert_eq!(copy.get("a"), Ok(Some(large(1, 300))));
}

/// A secondary instance reads the blob files that it learns of.
#[test]
fn a_secondary_instance_follows() {
    let fs = MemFs::new();
    let o = options(&fs);
    let db = open(&o);
    let secondary = Db::open_as_secondary(&o, DIR, "/data/own").unwrap();
    for tag in 1..4 {
        db.put("a", large(tag, 300)).unwrap();
        db.flush().unwrap();
        compact(&db);
        secondary.try_catch_up_with_primary().unwrap();
        assert_eq!(state(&secondary).0, 1);
        assert!(secondary.get("a").unwrap() == Some(large(tag, 300)));
    }
    let e = secondary.put("a", "b").unwrap_err();
    assert_eq!(e.kind(), ErrorKind::NotSupported);
}

/// Backups share blob files, and keep those that the database has collected since.
#[test]
fn backups_have_the_blob_files() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let mut o = Options::default();
    o.create_if_missing(true);
    o.set_enable_blob_files(true);
    o.set_enable_blob_gc(true);
    o.set_blob_gc_age_cutoff(1.0);
    let db = whitewater::DB::open(&o, path("db")).unwrap();
    let backups = BackupEngineOptions::new(path("backups")).unwrap();
    let mut backups = BackupEngine::open(&backups, &Env::new().unwrap()).unwrap();
    for (key, tag) in [("a", 1), ("b", 2)] {
        db.put(key, large(tag, 3_000)).unwrap();
        backups.create_new_backup_flush(&db, true).unwrap();
    }
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    drop(db);
    for (id, found) in [(1, [true, false]), (2, [true, true])] {
        backups.verify_backup_with_checksum(id).unwrap();
        let to = path(&format!("restored{id}"));
        let options = RestoreOptions::default();
        backups.restore_from_backup(&to, &to, &options, id).unwrap();
        let db = whitewater::DB::open(&o, &to).unwrap();
        assert_eq!(
            db.property_int_value("rocksdb.num-blob-files"),
            Ok(Some(id.into()))
        );
        for ((key, tag), is_there) in [("a", 1), ("b", 2)].into_iter().zip(found) {
            assert!(db.get(key).unwrap() == is_there.then(|| large(tag, 3_000)));
        }
    }
}

#[test]
fn the_manifest_has_checksums_of_blob_files() {
    let fs = MemFs::new();
    let mut o = options(&fs);
    o.set_file_checksum(FileChecksum::Crc32c);
    let db = open(&o);
    db.put("a", large(1, 300)).unwrap();
    db.flush().unwrap();
    drop(db);
    let path = Path::new(DIR).join(&blob_files(&fs)[0]);
    let sum = whitewater_storage::file_checksum::of(&fs, &path).unwrap();
    let mut names = fs.list(Path::new(DIR)).unwrap();
    names.retain(|name| name.starts_with("MANIFEST"));
    let manifest = fs.open_random(&Path::new(DIR).join(&names[0])).unwrap();
    let len = usize::try_from(manifest.len().unwrap()).unwrap();
    let bytes = manifest.read_at(0, len).unwrap();
    let expected = [&[18][..], b"FileChecksumCrc32c", &[4], &sum].concat();
    // Tables have theirs in another form.
    let found = bytes.windows(expected.len()).any(|w| w == expected);
    assert!(found, "of the blob file");
    assert_eq!(property(&open(&o), "num-blob-files"), 1);
}
