//! The log's options and its lock: the archive, updates since a number, manual flushes,
//! compression, tracking, recycling, and what a killed process leaves.

mod archive;
mod compressed;
mod ends;
mod lock;
mod manual_flush;
mod options;
mod tracked;
mod updates;

use crate::harness::{DIR, Db, open_all, tiny_on};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use whitewater::fs::Fs;
use whitewater::fs::mem::MemFs;
use whitewater::{Options, WriteBatchIterator};

/// The names of the files in a directory that end with `.log`.
fn logs(fs: &dyn Fs, dir: &str) -> Vec<String> {
    let mut names = match fs.exists(Path::new(dir)).unwrap() {
        true => fs.list(Path::new(dir)).unwrap(),
        false => Vec::new(),
    };
    names.retain(|name| name.ends_with(".log"));
    names.sort();
    names
}

/// Options with an archive that keeps everything.
fn archiving(fs: impl Fs) -> Options {
    let mut o = tiny_on(fs);
    o.set_wal_ttl_seconds(1_000_000);
    o
}

/// Keys of puts as text, and those of deletions after a `-`.
#[derive(Default)]
struct Keys(Vec<String>);

impl WriteBatchIterator for Keys {
    fn put(&mut self, key: &[u8], _value: &[u8]) {
        self.0.push(String::from_utf8(key.to_vec()).unwrap());
    }
    fn delete(&mut self, key: &[u8]) {
        self.0.push(format!("-{}", String::from_utf8_lossy(key)));
    }
}

/// The number and the keys of each batch since `since`.
fn updates(db: &Db, since: u64) -> Vec<(u64, Vec<String>)> {
    let updates = db.get_updates_since(since).unwrap();
    updates
        .map(|update| {
            let (number, batch) = update.unwrap();
            let mut keys = Keys::default();
            batch.iterate(&mut keys);
            (number, keys.0)
        })
        .collect()
}

/// Waits until a directory has the given number of logs: a flush returns before it has moved or
/// deleted old ones.
fn await_logs(fs: &dyn Fs, dir: &str, count: usize) {
    let mut names = logs(fs, dir);
    for _ in 0..20_000 {
        if names.len() == count {
            break;
        }
        thread::sleep(Duration::from_millis(1));
        names = logs(fs, dir);
    }
    assert_eq!(names.len(), count, "{names:?}");
}

fn put_all(db: &Db, range: std::ops::Range<u32>) {
    for i in range {
        db.put(format!("k{i:05}"), format!("v{i}")).unwrap();
    }
}

fn check_all(db: &Db, range: std::ops::Range<u32>) {
    for i in range {
        let value = db.get(format!("k{i:05}")).unwrap();
        assert_eq!(value, Some(format!("v{i}").into_bytes()), "k{i:05}");
    }
}

/// The database as the death of the process leaves it.
fn after_kill(o: &Options, fs: &MemFs) -> Db {
    let mut o = o.clone();
    o.set_fs(Arc::new(fs.crash_clone(1.0, 0)));
    open_all(&o, Path::new(DIR)).unwrap()
}
