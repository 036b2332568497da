//! Tables made by one engine and ingested by the other, and checkpoints.

use super::tools;
use whitewater::checkpoint::Checkpoint;
use whitewater::{DB, DBCompressionType, IngestExternalFileOptions, Options, SstFileWriter};

fn options() -> Options {
    let mut o = Options::default();
    o.create_if_missing(true);
    o.set_compression_type(DBCompressionType::Zstd);
    o
}

#[test]
fn rocksdb_ingests_what_is_made_here() {
    if !tools::available() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (db, file) = (dir.path().join("db"), dir.path().join("made.sst"));
    let o = options();
    {
        let db = DB::open(&o, &db).unwrap();
        db.put("k0001", "old").unwrap();
        db.put("k0500", "old").unwrap();
        db.put("z", "kept").unwrap();
    }
    let mut writer = SstFileWriter::create(&o);
    writer.open(&file).unwrap();
    for i in 0..1_000 {
        match i {
            500 => writer.delete(format!("k{i:04}")).unwrap(),
            _ => writer.put(format!("k{i:04}"), format!("new {i}")).unwrap(),
        }
    }
    writer.finish().unwrap();
    let flag = format!("--file={}", tools::path(&file));
    tools::run("/usr/bin/sst_dump", &[&flag, "--command=verify"]);
    tools::ldb(&db, &["ingest_extern_sst", tools::path(&file)]);
    let check = |db: &DB| {
        assert_eq!(db.get("k0001").unwrap().as_deref(), Some(&b"new 1"[..]));
        assert_eq!(db.get("k0999").unwrap().as_deref(), Some(&b"new 999"[..]));
        assert_eq!(db.get("k0500").unwrap(), None);
        assert_eq!(db.get("z").unwrap().as_deref(), Some(&b"kept"[..]));
    };
    let found = tools::scan(&db);
    assert_eq!(found["default"].len(), 1_000);
    let db = DB::open(&o, &db).unwrap();
    check(&db);
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    check(&db);
}

#[test]
fn what_rocksdb_makes_is_ingested_here() {
    if !tools::available() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let theirs = dir.path().join("theirs");
    let (path, file) = (dir.path().join("db"), dir.path().join("made.sst"));
    let o = options();
    {
        let db = DB::open(&o, &theirs).unwrap();
        for i in 0..500 {
            db.put(format!("k{i:04}"), format!("theirs {i}")).unwrap();
        }
    }
    // `write_extern_sst` reads entries from standard input; a shell gives it those of `scan`, which
    // is over by then: it reads a log that the other deletes.
    let command = format!(
        "/usr/bin/ldb --db={0} scan | sed 's/ : / ==> /' >{2} && \
         /usr/bin/ldb --db={0} write_extern_sst {1} <{2}",
        tools::path(&theirs),
        tools::path(&file),
        tools::path(&dir.path().join("entries"))
    );
    tools::run("/bin/sh", &["-c", &command]);
    let db = DB::open(&o, &path).unwrap();
    db.put("k0007", "old").unwrap();
    let snapshot = db.snapshot();
    let mut opts = IngestExternalFileOptions::default();
    opts.set_move_files(true);
    db.ingest_external_file_opts(&opts, vec![&file]).unwrap();
    assert!(!file.exists());
    assert_eq!(db.get("k0007").unwrap().as_deref(), Some(&b"theirs 7"[..]));
    assert_eq!(
        db.get("k0499").unwrap().as_deref(),
        Some(&b"theirs 499"[..])
    );
    assert_eq!(snapshot.get("k0007").unwrap().as_deref(), Some(&b"old"[..]));
    assert_eq!(snapshot.get("k0499").unwrap(), None);
    drop(snapshot);
    let copy = dir.path().join("copy");
    let checkpoint = Checkpoint::new(&db).unwrap();
    checkpoint
        .create_checkpoint_with_log_size(&copy, u64::MAX)
        .unwrap();
    drop(db);
    for db in [path, copy] {
        tools::check(&db);
        let found = tools::scan(&db);
        assert_eq!(found["default"].len(), 500);
        assert_eq!(found["default"][&b"k0007"[..]], b"theirs 7");
    }
}
