//! Databases opened only to be read, alone and while another engine writes.

use crate::harness::{DIR, Db, set_memtable, tiny_on};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use whitewater::fs::mem::MemFs;
use whitewater::fs::{FileLock, Fs, WritableFile};
use whitewater::{
    ColumnFamilyDescriptor, DB, DBRecoveryMode, Error, ErrorKind, FlushOptions, IteratorMode,
    Options, ReadOptions, WriteBatch,
};
use whitewater_storage::delegate_fs;

/// Refuses everything that would change a file or a directory.
#[derive(Debug)]
struct Unwritable(MemFs);

fn refuse<T>(what: &str, path: &Path) -> Result<T, Error> {
    panic!("{what} of {}", path.display())
}

impl Fs for Unwritable {
    delegate_fs!(0: open_random, open_sequential, exists, file_size, list);

    fn create(&self, path: &Path) -> Result<Box<dyn WritableFile>, Error> {
        refuse("create", path)
    }
    fn open_append(&self, path: &Path) -> Result<Box<dyn WritableFile>, Error> {
        refuse("open_append", path)
    }
    fn reuse(&self, old: &Path, _: &Path) -> Result<Box<dyn WritableFile>, Error> {
        refuse("reuse", old)
    }
    fn create_dir_all(&self, path: &Path) -> Result<(), Error> {
        refuse("create_dir_all", path)
    }
    fn remove(&self, path: &Path) -> Result<(), Error> {
        refuse("remove", path)
    }
    fn remove_dir(&self, path: &Path) -> Result<(), Error> {
        refuse("remove_dir", path)
    }
    fn rename(&self, from: &Path, _: &Path) -> Result<(), Error> {
        refuse("rename", from)
    }
    fn link(&self, from: &Path, _: &Path) -> Result<(), Error> {
        refuse("link", from)
    }
    fn sync_dir(&self, path: &Path) -> Result<(), Error> {
        refuse("sync_dir", path)
    }
    fn lock(&self, path: &Path) -> Result<Box<dyn FileLock>, Error> {
        refuse("lock", path)
    }
}

fn content(db: &Db) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let all = db.iterator(IteratorMode::Start);
    all.map(|kv| kv.map(|(k, v)| (k.into(), v.into())).unwrap())
        .collect()
}

fn families(o: &Options) -> [ColumnFamilyDescriptor; 2] {
    ["default", "other"].map(|name| ColumnFamilyDescriptor::new(name, o.clone()))
}

/// A database that is left open, with tables, a log that fills several memtables, range tombstones
/// and two column families.
fn filled(fs: &MemFs) -> Db {
    let o = tiny_on(fs.clone());
    let db = Db::open_cf_descriptors(&o, DIR, families(&o)).unwrap();
    let other = db.cf_handle("other").unwrap();
    for i in 0..500 {
        db.put(format!("k{i:04}"), format!("old{i}")).unwrap();
    }
    db.flush().unwrap();
    db.delete_range_cf(&db.cf_handle("default").unwrap(), "k0100", "k0200")
        .unwrap();
    for i in 0..500 {
        db.put_cf(&other, format!("o{i:04}"), "x".repeat(200))
            .unwrap();
    }
    db.merge("k0003", "more").unwrap();
    drop(other);
    db
}

#[test]
fn nothing_is_written_and_everything_is_read() {
    let fs = MemFs::new();
    let writer = filled(&fs);
    let before = content(&writer);
    assert_eq!(before.len(), 400);
    let o = tiny_on(Unwritable(fs.clone()));
    let open = || Db::open_cf_descriptors_read_only(&o, DIR, families(&o), false);
    let both = [(); 2].map(|()| open().unwrap());
    for reader in &both {
        assert_eq!(content(reader), before);
        assert_eq!(
            reader.get("k0003").unwrap().as_deref(),
            Some(&b"old3,more"[..])
        );
        let other = reader.cf_handle("other").unwrap();
        let found = reader.iterator_cf(&other, IteratorMode::End).count();
        assert_eq!(found, 500);
        assert_eq!(
            reader.latest_sequence_number(),
            writer.latest_sequence_number()
        );
        assert_eq!(
            reader.get_db_identity().unwrap(),
            writer.get_db_identity().unwrap()
        );
        let files = reader.property_int_value("rocksdb.num-files-at-level0");
        assert!(files.unwrap().is_some());
        let snapshot = reader.snapshot();
        assert_eq!(
            snapshot.get("k0000").unwrap().as_deref(),
            Some(&b"old0"[..])
        );
    }
    // Later writes do not show, and compactions take nothing away.
    writer.put("k0000", "new").unwrap();
    writer.delete("k0001").unwrap();
    writer.compact_range(None::<&[u8]>, None::<&[u8]>);
    for reader in &both {
        assert_eq!(content(reader), before);
    }
    drop(both);
    let later = Db::open_for_read_only(&o, DIR, false).unwrap();
    assert_eq!(later.get("k0000").unwrap().as_deref(), Some(&b"new"[..]));
    assert_eq!(later.get("k0001").unwrap(), None);
}

#[test]
fn a_part_of_the_column_families_will_do() {
    let fs = MemFs::new();
    drop(filled(&fs));
    let o = tiny_on(Unwritable(fs.clone()));
    let db = Db::open_for_read_only(&o, DIR, false).unwrap();
    assert_eq!(content(&db).len(), 400);
    assert!(db.cf_handle("other").is_none());
    let e = Db::open_cf_with_opts_for_read_only(&o, DIR, [("none", o.clone())], false);
    let e = e.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidArgument);
    assert!(
        e.to_string().contains("Column family not found: none"),
        "{e}"
    );
}

#[test]
fn whatever_changes_the_database_is_refused() {
    let fs = MemFs::new();
    drop(filled(&fs));
    let mut o = tiny_on(Unwritable(fs.clone()));
    // These would stop writers if they got that far.
    o.set_level_zero_slowdown_writes_trigger(1);
    o.set_level_zero_stop_writes_trigger(1);
    let cf = ColumnFamilyDescriptor::new("other", o.clone());
    let db = Db::open_cf_descriptors_read_only(&o, DIR, [cf], false).unwrap();
    let other = db.cf_handle("other").unwrap();
    let mut batch = WriteBatch::default();
    batch.put_cf(&other, "a", "b");
    let mut wait = FlushOptions::default();
    wait.set_wait(true);
    for (what, outcome) in [
        ("put", db.put("a", "b")),
        ("delete", db.delete("a")),
        ("merge", db.merge("a", "b")),
        ("put_cf", db.put_cf(&other, "a", "b")),
        ("delete_range", db.delete_range_cf(&other, "a", "b")),
        ("write", db.write(batch)),
        ("empty write", db.write(WriteBatch::default())),
        ("unlogged", db.write_without_wal(WriteBatch::default())),
        ("flush", db.flush()),
        ("flush_cfs", db.flush_cfs_opt(&[&other], &wait)),
        ("flush_wal", db.flush_wal(false)),
        ("sync_wal", db.flush_wal(true)),
        ("create_cf", db.create_cf("new", &o)),
        ("drop_cf", db.drop_cf("other")),
        ("resume", db.resume()),
        ("set_options", db.set_options(&[("ttl", "9")])),
        (
            "set_db_options",
            db.set_db_options(&[("max_background_jobs", "9")]),
        ),
        ("delete files", db.delete_file_in_range("a", "z")),
        (
            "compact",
            db.try_compact_range_opt(None::<&[u8]>, None::<&[u8]>, &Default::default()),
        ),
        ("updates", db.get_updates_since(1).map(drop)),
    ] {
        let e = outcome.expect_err(what);
        assert_eq!(e.kind(), ErrorKind::NotSupported, "{what}");
        let text = "Not supported operation in read only mode.";
        assert!(e.to_string().contains(text), "{what}: {e}");
    }
    assert_eq!(db.get("a").unwrap(), None);
}

#[test]
fn a_database_must_be_there_and_may_have_to_be_flushed() {
    let fs = MemFs::new();
    let o = tiny_on(fs.clone());
    let e = Db::open_for_read_only(&o, DIR, false).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::IOError);
    assert!(!fs.exists(Path::new(DIR)).unwrap());
    drop(filled(&fs));
    let e = Db::open_for_read_only(&o, DIR, true).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Corruption);
    assert!(e.to_string().contains("a WAL file already exists"), "{e}");
    let logs = fs.list(Path::new(DIR)).unwrap();
    for name in logs.iter().filter(|name| name.ends_with(".log")) {
        fs.remove(&Path::new(DIR).join(name)).unwrap();
    }
    let db = Db::open_for_read_only(&o, DIR, true).unwrap();
    assert_eq!(db.get("k0499").unwrap().as_deref(), Some(&b"old499"[..]));
}

#[test]
fn damage_in_a_log_is_met_by_the_recovery_mode() {
    let fs = MemFs::new();
    let mut o = tiny_on(fs.clone());
    {
        let db = Db::open(&o, DIR).unwrap();
        for i in 0..10 {
            db.put(format!("{i}"), "v").unwrap();
        }
    }
    let name = fs.list(Path::new(DIR)).unwrap();
    let name = name.iter().find(|n| n.ends_with(".log")).unwrap();
    let path = Path::new(DIR).join(name);
    let mut bytes = fs
        .open_random(&path)
        .unwrap()
        .read_at(0, 200)
        .unwrap()
        .to_vec();
    bytes[120] ^= 1;
    fs.create(&path).unwrap().append(&bytes).unwrap();
    o.set_wal_recovery_mode(DBRecoveryMode::AbsoluteConsistency);
    let e = Db::open_for_read_only(&o, DIR, false).unwrap_err();
    assert_eq!((e.kind(), e.file()), (ErrorKind::Corruption, Some(&*path)));
    o.set_wal_recovery_mode(DBRecoveryMode::PointInTime);
    let db = Db::open_for_read_only(&o, DIR, false).unwrap();
    let found = content(&db);
    assert!((1..10).contains(&found.len()), "{found:?}");
}

#[test]
fn every_memtable_can_be_filled_from_logs() {
    for name in crate::harness::MEMTABLES {
        let fs = MemFs::new();
        let writer = filled(&fs);
        let mut o = tiny_on(fs.clone());
        set_memtable(&mut o, name);
        o.set_max_open_files(3);
        let reader = Db::open_for_read_only(&o, DIR, false).unwrap();
        let mut total = ReadOptions::default();
        total.set_total_order_seek(true);
        let all = reader.iterator_opt(IteratorMode::Start, total);
        let all: BTreeMap<Vec<u8>, Vec<u8>> = all
            .map(|kv| kv.map(|(k, v)| (k.into(), v.into())).unwrap())
            .collect();
        assert_eq!(all, content(&writer), "{name}");
    }
}

/// Readers open the database while a writer writes, flushes, compacts and rolls its manifest. Each
/// finds everything that was acknowledged before it opened, and nothing later without what came
/// before that.
#[test]
fn what_is_read_beside_a_writer_is_a_prefix() {
    let fs = MemFs::new();
    let mut o = tiny_on(fs.clone());
    o.set_max_manifest_file_size(2000);
    o.set_level_zero_file_num_compaction_trigger(2);
    let writer = Db::open(&o, DIR).unwrap();
    let (acknowledged, done) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|s| {
        s.spawn(|| {
            for i in 1..=4000u64 {
                writer
                    .put(format!("k{:02}", i % 50), i.to_be_bytes())
                    .unwrap();
                acknowledged.store(i, Ordering::Release);
                if i % 100 == 0 {
                    writer.flush().unwrap();
                }
            }
            done.store(true, Ordering::Release);
        });
        let mut opened = 0;
        while !done.load(Ordering::Acquire) || opened == 0 {
            let at_least = acknowledged.load(Ordering::Acquire);
            let reader = match Db::open_for_read_only(&o, DIR, false) {
                Ok(reader) => reader,
                Err(e) if e.kind() == ErrorKind::TryAgain => continue,
                Err(e) => panic!("{e}"),
            };
            opened += 1;
            let found = content(&reader);
            let number = |v: &Vec<u8>| u64::from_be_bytes(v[..].try_into().unwrap());
            let last = found.values().map(number).max().unwrap_or(0);
            assert!(last >= at_least, "{last} of {at_least}");
            for (key, value) in &found {
                let key: u64 = String::from_utf8_lossy(&key[1..]).parse().unwrap();
                let expected = last - (last + 50 - key) % 50;
                assert_eq!(number(value), expected, "k{key} at {last}");
            }
        }
    });
}

#[test]
#[cfg(unix)]
fn a_directory_without_write_permission_will_do() {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let db = DB::open_default(&path).unwrap();
    db.put("a", "1").unwrap();
    drop(db);
    let names = || {
        let entries = std::fs::read_dir(&path).unwrap();
        let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = names();
    std::fs::set_permissions(&path, Permissions::from_mode(0o555)).unwrap();
    let reader = DB::open_for_read_only(&Options::default(), &path, false).unwrap();
    assert_eq!(reader.get("a").unwrap().as_deref(), Some(&b"1"[..]));
    drop(reader);
    std::fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    assert_eq!(names(), before);
}
