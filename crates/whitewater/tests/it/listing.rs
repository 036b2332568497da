//! Lists of files: what a copy of them is, and what they say.

use crate::harness::{DIR, Db, open_all, tiny_on, until};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use whitewater::fs::Fs;
use whitewater::fs::fault::{FaultFs, FaultOp};
use whitewater::fs::mem::MemFs;
use whitewater::{
    DB, FileChecksum, IteratorMode, LiveFileType, LiveFilesStorageInfoOptions, Options, WalFile,
    WalFileType,
};

const COPY: &str = "/data/copy";

fn content(db: &Db) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let all = db.iterator(IteratorMode::Start).map(Result::unwrap);
    all.map(|(k, v)| (k.to_vec(), v.to_vec())).collect()
}

fn fill(db: &Db, round: u8) {
    for i in 0..1_500u32 {
        db.put(i.to_be_bytes(), [round; 50]).unwrap();
    }
}

/// Copies the files of a list by its rules.
fn copy(fs: &MemFs, files: &[whitewater::LiveFileStorageInfo]) {
    fs.create_dir_all(Path::new(COPY)).unwrap();
    for info in files {
        let from = info.directory.join(&info.relative_filename);
        let content = if info.replacement_contents.is_empty() {
            let source = fs.open_random(&from).unwrap();
            let len = source.len().unwrap();
            assert!(
                info.trim_to_size || len == info.size,
                "{info:?}, {len} bytes"
            );
            source.read_at(0, info.size as usize).unwrap().to_vec()
        } else {
            info.replacement_contents.clone()
        };
        assert_eq!(content.len() as u64, info.size, "{info:?}");
        let mut file = fs
            .create(&Path::new(COPY).join(&info.relative_filename))
            .unwrap();
        file.append(&content).unwrap();
        file.sync().unwrap();
    }
}

/// Later writes, flushes and manifests do not get into the copy.
#[test]
fn a_copy_of_the_listed_files_is_the_database_of_that_moment() {
    for wal_size_for_flush in [0, u64::MAX] {
        let fs = MemFs::new();
        let mut o = tiny_on(fs.clone());
        o.set_enable_blob_files(true);
        o.set_min_blob_size(45);
        let db = open_all(&o, Path::new(DIR)).unwrap();
        fill(&db, 1);
        db.flush().unwrap();
        db.put(b"short", b"1").unwrap();
        let then = content(&db);
        db.disable_file_deletions().unwrap();
        let mut how = LiveFilesStorageInfoOptions::default();
        how.set_wal_size_for_flush(wal_size_for_flush);
        let files = db.get_live_files_storage_info(&how).unwrap();
        fill(&db, 2);
        db.flush().unwrap();
        db.compact_range(None::<&[u8]>, None::<&[u8]>);
        copy(&fs, &files);
        db.enable_file_deletions().unwrap();
        let kinds: Vec<_> = files.iter().map(|f| f.file_type).collect();
        for kind in [
            LiveFileType::Table,
            LiveFileType::Blob,
            LiveFileType::Descriptor,
            LiveFileType::Current,
            LiveFileType::Options,
        ] {
            assert!(kinds.contains(&kind), "no {kind:?}");
        }
        let logged = files.iter().filter(|f| f.file_type == LiveFileType::Wal);
        let logged: u64 = logged.map(|f| f.size).sum();
        assert_eq!(logged > 0, wal_size_for_flush > 0);
        let copied = open_all(&o, Path::new(COPY)).unwrap();
        assert_eq!(content(&copied), then);
        assert_ne!(content(&db), then);
    }
}

#[test]
fn a_replaced_manifest_stays_while_file_deletions_are_disabled() {
    let fs = MemFs::new();
    let mut o = tiny_on(fs.clone());
    // Each write of the manifest begins a new one. Flushes alone write it.
    o.set_max_manifest_file_size(1);
    o.set_disable_auto_compactions(true);
    let db = open_all(&o, Path::new(DIR)).unwrap();
    let manifests = || {
        let mut names = fs.list(Path::new(DIR)).unwrap();
        names.retain(|name| name.starts_with("MANIFEST-"));
        names
    };
    let flush = |value: &[u8]| {
        db.put(b"k", value).unwrap();
        db.flush().unwrap();
    };
    flush(b"1");
    assert_eq!(manifests().len(), 1);
    db.disable_file_deletions().unwrap();
    db.disable_file_deletions().unwrap();
    let (listed, _) = db.get_live_files(true).unwrap();
    for value in [b"2", b"3"] {
        flush(value);
        let missing = |name: &&String| !fs.exists(&Path::new(DIR).join(&name[1..])).unwrap();
        assert_eq!(listed.iter().find(missing), None);
        db.enable_file_deletions().unwrap();
    }
    assert_eq!(manifests().len(), 1);
    flush(b"4");
    assert_eq!(manifests().len(), 1);
}

#[test]
fn the_names_of_live_files_are_those_of_the_directory() {
    let fs = MemFs::new();
    let o = tiny_on(fs.clone());
    let db = open_all(&o, Path::new(DIR)).unwrap();
    fill(&db, 1);
    // The lists are compared with each other, and with the directory: the flush that comes with the
    // first one causes no compaction beside the others.
    db.wait_for_compact(&Default::default()).unwrap();
    db.set_options(&[("disable_auto_compactions", "true")])
        .unwrap();
    let (names, manifest_size) = db.get_live_files(true).unwrap();
    let exist = |name: &String| fs.exists(&Path::new(DIR).join(&name[1..])).unwrap();
    assert!(names.iter().all(exist), "{names:?}");
    let manifest = names.iter().find(|n| n.starts_with("/MANIFEST-")).unwrap();
    let path = Path::new(DIR).join(&manifest[1..]);
    assert_eq!(fs.file_size(&path).unwrap(), manifest_size);
    let tables = |name: &&String| name.ends_with(".sst");
    let listed: BTreeSet<_> = names.iter().filter(tables).cloned().collect();
    let live = db.live_files().unwrap();
    assert_eq!(listed, live.iter().map(|f| f.name.clone()).collect());

    let metadata = db.get_live_files_metadata().unwrap();
    assert_eq!(metadata.len(), live.len());
    for (more, less) in metadata.iter().zip(&live) {
        assert_eq!((&more.name, more.level), (&less.name, less.level));
        assert_eq!(Some(&more.smallestkey), less.start_key.as_ref());
        assert_eq!(Some(&more.largestkey), less.end_key.as_ref());
        assert_eq!(more.size, less.size as u64);
        assert_eq!(more.num_entries, less.num_entries);
        assert!(more.smallest.starts_with(&more.smallestkey) && more.epoch_number > 0);
        assert!(more.largest_seqno <= db.latest_sequence_number());
        assert_eq!(fs.file_size(&more.path()).unwrap(), more.size);
    }
    assert_eq!(db.get_db_session_id().len(), 20);
}

#[test]
fn logs_are_listed_with_the_archived_ones_first() {
    let fs = MemFs::new();
    let mut o = tiny_on(fs.clone());
    o.set_wal_ttl_seconds(3_600);
    let db = open_all(&o, Path::new(DIR)).unwrap();
    db.put(b"a", b"1").unwrap();
    db.flush().unwrap();
    db.put(b"b", b"1").unwrap();
    db.flush().unwrap();
    db.put(b"c", b"1").unwrap();
    // Logs are archived after the flush that they have waited for.
    let archived = |logs: &[WalFile]| -> Vec<u64> {
        let archived = logs
            .iter()
            .filter(|log| log.file_type == WalFileType::Archived);
        archived.map(|log| log.start_sequence).collect()
    };
    until("logs are archived", || {
        archived(&db.get_sorted_wal_files().unwrap()).len() == 2
    });
    let logs = db.get_sorted_wal_files().unwrap();
    assert!(logs.is_sorted_by_key(|log| log.log_number), "{logs:?}");
    assert_eq!(archived(&logs), [1, 2], "{logs:?}");
    let (last, older) = logs.split_last().unwrap();
    let size = |log: &WalFile| {
        let path = Path::new(DIR).join(&log.path_name[1..]);
        fs.file_size(&path).unwrap()
    };
    for log in older {
        assert_eq!(size(log), log.size_file_bytes, "{log:?}");
    }
    // Room that was allocated for later writes does not count.
    assert!(
        (1..100).contains(&last.size_file_bytes) && size(last) > 100,
        "{last:?}"
    );
    let current = db.get_current_wal_file().unwrap();
    assert_eq!(logs.last(), Some(&current));
    assert_eq!(current.start_sequence, 3);
    assert_eq!(current.file_type, WalFileType::Alive);
}

#[test]
fn checksums_and_times_of_tables_are_those_of_the_manifest() {
    let fs = MemFs::new();
    let mut o = tiny_on(fs.clone());
    let db = open_all(&o, Path::new(DIR)).unwrap();
    assert_eq!(db.get_creation_time_of_oldest_file(), u64::MAX);
    assert!(db.get_live_files_checksum_info().is_empty());
    db.put(b"a", b"1").unwrap();
    db.flush().unwrap();
    assert!(db.get_creation_time_of_oldest_file() > 1_700_000_000);
    assert!(db.get_creation_time_of_oldest_file() < u64::MAX);
    drop(db);
    o.set_file_checksum(FileChecksum::Crc32c);
    let db = open_all(&o, Path::new(DIR)).unwrap();
    db.put(b"b", b"1").unwrap();
    db.flush().unwrap();
    let sums = db.get_live_files_checksum_info();
    assert!(sums.is_sorted_by_key(|sum| sum.file_number));
    let known: Vec<_> = sums.iter().map(|sum| sum.checksum.len()).collect();
    assert_eq!(known, [0, 4]);
    assert_eq!(sums[1].func_name, "FileChecksumCrc32c");
    let mut how = LiveFilesStorageInfoOptions::default();
    how.set_include_checksum_info(true);
    let files = db.get_live_files_storage_info(&how).unwrap();
    let with_sum = |n: u64| files.iter().find(|f| f.file_number == n).unwrap();
    for sum in &sums {
        assert_eq!(with_sum(sum.file_number).file_checksum, sum.checksum);
    }
}

#[test]
fn a_table_with_older_entries_elsewhere_is_not_deleted_by_its_name() {
    let mut o = tiny_on(MemFs::new());
    o.set_disable_auto_compactions(true);
    let db = open_all(&o, Path::new(DIR)).unwrap();
    let names = |db: &Db| {
        let files = db.live_files().unwrap();
        files.into_iter().map(|f| f.name).collect::<BTreeSet<_>>()
    };
    for value in ["blue", "white"] {
        db.put("river", value).unwrap();
        db.flush().unwrap();
    }
    let flushed: Vec<_> = names(&db).into_iter().collect();
    let [older, newer] = &flushed[..] else {
        panic!("{flushed:?}");
    };
    let refused = db.delete_file(newer).unwrap_err();
    let text = "Invalid argument: File in level 0, but not oldest";
    assert_eq!(refused.to_string(), text);
    db.delete_file(older).unwrap();
    assert_eq!(db.get("river").unwrap().as_deref(), Some(&b"white"[..]));
    let absent = db.delete_file(older).unwrap_err();
    assert_eq!(absent.to_string(), "Invalid argument: File not found");
    assert!(db.delete_file("CURRENT").is_err(), "it is no table");

    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    db.put("river", "green").unwrap();
    db.flush().unwrap();
    let above = names(&db).into_iter().next_back().unwrap();
    let refused = db.delete_file(&above).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "Invalid argument: File not in last level"
    );
}

/// A log that gets another name after it was opened looks damaged to its reader: at its beginning
/// is the first record of the next log.
#[test]
fn a_log_that_is_recycled_while_logs_are_listed_is_left_out() {
    let faults = FaultFs::new(Arc::new(MemFs::new()));
    let mut o = Options::default();
    o.create_if_missing(true);
    o.set_recycle_log_file_num(1);
    o.set_fs(Arc::new(faults.clone()));
    let db = Arc::new(DB::open(&o, "/db").unwrap());
    fn put(db: &DB) {
        db.put("key", [7; 1000]).unwrap();
    }
    (0..9).for_each(|_| put(&db));
    // A flush has ended before its log is kept for reuse.
    let flush = || {
        db.flush().unwrap();
        db.wait_for_compact(&Default::default()).unwrap();
    };
    // Not the first log of the database, whose first number is known.
    flush();
    (0..9).for_each(|_| put(&db));
    let logs = db.get_sorted_wal_files().unwrap();
    let log = logs.last().unwrap().log_number;
    let path = Path::new("/db").join(format!("{log:06}.log"));
    flush();
    let recycle = {
        let (db, faults, path) = (Arc::downgrade(&db), faults.clone(), path.clone());
        move || {
            let db = db.upgrade().unwrap();
            while faults.exists(&path).unwrap() {
                db.flush().unwrap();
                put(&db);
            }
        }
    };
    let once = Mutex::new(Some(recycle));
    let opened = AtomicBool::new(false);
    faults.set_observer(Arc::new(move |op, of: &Path| {
        if of != path {
            return;
        }
        if op == FaultOp::OpenRandom {
            opened.store(true, Ordering::Relaxed);
        } else if opened.load(Ordering::Relaxed) {
            let recycle = once.lock().unwrap().take();
            if let Some(recycle) = recycle {
                std::thread::spawn(recycle).join().unwrap();
            }
        }
    }));
    let listed = db.get_sorted_wal_files().unwrap();
    assert!(listed.iter().all(|one| one.log_number > log), "{listed:?}");
}
