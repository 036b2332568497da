//! Handles of column families that are dropped, and names that are refused.

use super::*;

#[test]
fn handles_of_a_dropped_column_family_read_but_do_not_write() {
    let dir = dir();
    let db = Db::<MultiThreaded>::open_cf(&creating(), dir.path(), ["cf"]).unwrap();
    let cf = db.cf_handle("cf").unwrap();
    db.put_cf(&cf, "k", "v").unwrap();
    db.drop_cf("cf").unwrap();
    assert!(db.cf_handle("cf").is_none());
    assert_eq!(db.get_cf(&cf, "k").unwrap().as_deref(), Some(&b"v"[..]));
    let mut lenient = WriteOptions::default();
    lenient.set_ignore_missing_column_families(true);
    db.put_cf_opt(&cf, "k", "w", &lenient).unwrap();
    // A new column family of the same name is a different one.
    db.create_cf("cf", &Options::default()).unwrap();
    let new = db.cf_handle("cf").unwrap();
    assert_eq!(db.get_cf(&new, "k").unwrap(), None);
    fails(
        db.put_cf(&cf, "k", "w"),
        ErrorKind::InvalidArgument,
        "Invalid column family specified in write batch",
    );
}

/// Nothing else is flushed or dropped.
#[test]
fn files_of_a_dropped_column_family_go_with_its_last_handle() {
    for in_background in [false, true] {
        let dir = dir();
        let mut opts = creating();
        opts.set_avoid_unnecessary_blocking_io(in_background);
        let db = Db::<MultiThreaded>::open_cf(&opts, dir.path(), ["cf"]).unwrap();
        let cf = db.cf_handle("cf").unwrap();
        db.put_cf(&cf, "k", "v").unwrap();
        db.flush_cf(&cf).unwrap();
        // Until the flush has let go of the column family.
        db.wait_for_compact(&Default::default()).unwrap();
        let tables = || {
            let files = std::fs::read_dir(dir.path()).unwrap();
            let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
            names.filter(|name| name.ends_with(".sst")).count()
        };
        assert_eq!(tables(), 1);
        db.drop_cf("cf").unwrap();
        let another = cf.clone();
        drop(cf);
        let iterator = db.iterator_cf(&another, IteratorMode::Start);
        drop(another);
        assert_eq!(tables(), 1, "an iterator needs it");
        assert_eq!(iterator.count(), 1);
        if in_background {
            crate::harness::until("deletion", || tables() == 0);
        } else {
            assert_eq!(tables(), 0);
        }

        db.create_cf("cf", &Options::default()).unwrap();
        let cf = db.cf_handle("cf").unwrap();
        db.put_cf(&cf, "k", "v").unwrap();
        db.flush_cf(&cf).unwrap();
        db.wait_for_compact(&Default::default()).unwrap();
        db.drop_cf("cf").unwrap();
        assert_eq!(tables(), 1, "a handle needs it");
        drop(cf);
        if in_background {
            crate::harness::until("deletion", || tables() == 0);
        } else {
            assert_eq!(tables(), 0);
        }
    }
}

/// RocksDB refuses it, too: where names are optional, it stands for no name.
#[test]
fn a_column_family_has_a_name() {
    let dir = tempfile::tempdir().unwrap();
    let mut opts = Options::default();
    opts.create_if_missing(true);
    opts.create_missing_column_families(true);
    let e = DB::open_cf(&opts, dir.path(), [""]).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidArgument);
    #[cfg_attr(
        feature = "multi-threaded-cf",
        expect(unused_mut, reason = "only the single-threaded form needs it")
    )]
    let mut db = DB::open(&opts, dir.path()).unwrap();
    let e = db.create_cf("", &opts).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidArgument);
    assert!(e.to_string().contains("name"), "{e}");
}
