//! How large logs may become before memtables are flushed to free them.

use crate::harness::{DIR, Db, open_all, protocols, tiny_on, until};
use std::cell::Cell;
use std::path::Path;
use whitewater::fs::Fs;
use whitewater::fs::mem::MemFs;
use whitewater::{CommitProtocol, Options, WriteBatch};

const KIB: usize = 1024;

/// Bytes of all logs.
fn log_bytes(fs: &MemFs) -> u64 {
    let names = fs.list(Path::new(DIR)).unwrap();
    let logs = names.iter().filter(|name| name.ends_with(".log"));
    // One may be deleted by now.
    logs.filter_map(|name| fs.file_size(&Path::new(DIR).join(name)).ok())
        .sum()
}

/// Values that are overwritten in place fill a log, but no memtable.
fn overwriting(fs: &MemFs) -> Options {
    let mut o = tiny_on(fs.clone());
    o.set_allow_concurrent_memtable_write(false);
    o.set_commit_protocol(CommitProtocol::Grouped);
    o.set_inplace_update_support(true);
    o.set_write_buffer_size(64 * KIB);
    o.set_max_write_buffer_number(2);
    o
}

/// Overwrites one value `times` times, 4 MB altogether. Returns the largest size of the logs seen
/// meanwhile.
fn overwrite(db: &Db, fs: &MemFs) -> u64 {
    let mut most = 0;
    for n in 0..4_000u32 {
        db.put("key", [n as u8; KIB]).unwrap();
        if n % 16 == 0 {
            most = most.max(log_bytes(fs));
        }
    }
    most
}

/// The default: four times what memtables may hold.
#[test]
fn the_default_limit_holds_where_no_memtable_gets_full() {
    let fs = MemFs::new();
    let o = overwriting(&fs);
    let db = Db::open(&o, DIR).unwrap();
    let limit = 4 * 2 * 64 * KIB as u64;
    let most = overwrite(&db, &fs);
    assert!(most >= limit, "{most}: not before");
    // Writers may have been ahead of the flush. The next one looks again.
    until("old logs to go", || {
        db.put("key", "last").unwrap();
        log_bytes(&fs) <= 2 * limit
    });
    drop(db);
    let db = Db::open(&o, DIR).unwrap();
    assert_eq!(db.get("key").unwrap(), Some(b"last".to_vec()));
}

/// Batches that put nothing into memtables fill a log, too.
#[test]
fn the_default_limit_holds_for_log_data_alone() {
    for protocol in protocols() {
        for atomic in [false, true] {
            if atomic && protocol == CommitProtocol::Pipelined {
                continue; // refused
            }
            let fs = MemFs::new();
            let mut o = tiny_on(fs.clone());
            o.set_commit_protocol(protocol);
            o.set_atomic_flush(atomic);
            o.set_write_buffer_size(64 * KIB);
            o.set_max_write_buffer_number(2);
            let db = Db::open(&o, DIR).unwrap();
            // Its memtable is empty, as is the other one.
            db.create_cf("other", &o).unwrap();
            let limit = 2 * 4 * 2 * 64 * KIB as u64;
            let most = Cell::new(0);
            let write = || {
                let mut batch = WriteBatch::default();
                batch.put_log_data([7; 4 * KIB]);
                db.write(batch).unwrap();
                most.set(most.get().max(log_bytes(&fs)));
            };
            (0..1_000).for_each(|_| write());
            until("old logs to go", || {
                write();
                log_bytes(&fs) <= 2 * limit
            });
            assert!(most.get() >= limit, "{most:?}: not before");
            db.put("key", "value").unwrap();
            drop(db);
            let db = open_all(&o, Path::new(DIR)).unwrap();
            assert_eq!(db.get("key").unwrap(), Some(b"value".to_vec()));
        }
    }
}

/// When the limit changes, the present one applies.
#[test]
fn a_limit_that_is_lowered_holds_at_once() {
    let fs = MemFs::new();
    let mut o = overwriting(&fs);
    o.set_max_total_wal_size(100 << 20);
    let db = Db::open(&o, DIR).unwrap();
    assert!(overwrite(&db, &fs) >= 4_000 * KIB as u64, "below the limit");
    let change = |size: &str| db.set_db_options(&[("max_total_wal_size", size)]);
    change("300000").unwrap();
    until("old logs to go", || {
        db.put("key", "value").unwrap();
        log_bytes(&fs) <= 300_000
    });
    assert_eq!(db.get("key").unwrap(), Some(b"value".to_vec()));
}
