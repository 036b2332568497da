//! Each option of the log by itself, and all of them at once.

use super::{check_all, put_all};
use crate::harness::hooked::{HookedLogs, LogHook};
use crate::harness::{DIR, open_all, tiny, tiny_on};
use std::path::Path;
use std::sync::{Arc, Mutex};
use whitewater::{DBCompressionType, WriteOptions};

/// Whether each extension of a log was to be initialized.
#[derive(Debug, Default)]
struct Asked(Mutex<Vec<bool>>);

impl LogHook for Asked {
    fn initializing(&self, on: bool) {
        self.0.lock().unwrap().push(on);
    }
}

#[test]
fn logs_are_initialized_while_writes_are_synced_one_by_one() {
    let asked = Arc::new(Asked::default());
    let mut o = tiny_on(HookedLogs::new(asked.clone()));
    o.set_write_buffer_size(1 << 20); // 64 KiB at a time
    let db = open_all(&o, Path::new(DIR)).unwrap();
    let mut synced = WriteOptions::default();
    synced.set_sync(true);
    let unsynced = WriteOptions::default();
    let write = |n: u32, options: &WriteOptions| {
        asked.0.lock().unwrap().clear();
        for i in 0..n {
            db.put_opt(format!("{i}"), [b'v'; 1_000], options).unwrap();
        }
        asked.0.lock().unwrap().clone()
    };
    assert_eq!(*asked.0.lock().unwrap(), [false], "nothing is known yet");
    assert_eq!(write(200, &synced), [true; 3]);
    assert!(!write(200, &unsynced).last().unwrap());
    assert!(write(200, &synced).last().unwrap());
    drop(db);
    assert_eq!(
        open_all(&o, Path::new(DIR)).unwrap().get("199").unwrap(),
        Some(vec![b'v'; 1_000])
    );
}

#[test]
fn options_that_the_log_has_do_not_disturb_one_another() {
    let dir = tempfile::tempdir().unwrap();
    let mut o = tiny();
    o.set_manual_wal_flush(true);
    o.set_wal_compression_type(DBCompressionType::Zstd);
    o.set_recycle_log_file_num(2);
    o.set_wal_bytes_per_sync(4 << 10);
    o.set_track_and_verify_wals_in_manifest(true);
    for round in 0..3u32 {
        let db = open_all(&o, dir.path()).unwrap();
        check_all(&db, 0..round * 1_000);
        put_all(&db, round * 1_000..(round + 1) * 1_000);
        db.flush_wal(true).unwrap();
        assert!(o.get_track_and_verify_wals_in_manifest());
    }
    check_all(&open_all(&o, dir.path()).unwrap(), 0..3_000);
}
