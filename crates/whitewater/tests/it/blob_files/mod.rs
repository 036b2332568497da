//! Blob files that this engine writes.
//!
//! * `written`: what goes into them, and that it comes back;
//! * `garbage`: what compactions leave of them;
//! * `cached`: reads through the blob cache, and what statistics say;
//! * `failures`: faults, power cuts and what is left behind;
//! * `repaired`: repairs;
//! * `random`: random operations with random options, and an account of every byte.

mod cached;
mod failures;
mod garbage;
mod random;
mod repaired;
mod written;

use crate::harness::{DIR, Db, open_all, until};
use std::path::Path;
use whitewater::fs::Fs;
use whitewater::fs::mem::MemFs;
use whitewater::{BottommostLevelCompaction, CompactOptions, IteratorMode, Options};

/// What a record has besides its key and its value. Bytes.
const RECORD_HEADER: u64 = 32;

/// Header and footer of a blob file. Bytes.
const FRAME: u64 = 62;

/// Options of a database on `fs` that puts values of at least 100 bytes into blob files, and
/// compacts when it is told to.
fn options(fs: &MemFs) -> Options {
    let mut o = Options::default();
    o.create_if_missing(true);
    o.set_fs(std::sync::Arc::new(fs.clone()));
    o.set_enable_blob_files(true);
    o.set_min_blob_size(100);
    o.set_disable_auto_compactions(true);
    o
}

fn open(options: &Options) -> Db {
    open_all(options, Path::new(DIR)).expect("opens")
}

/// A value of `len` bytes that shrinks when it is compressed.
fn large(tag: u8, len: usize) -> Vec<u8> {
    (0..len).map(|i| tag ^ (i / 7) as u8).collect()
}

fn property(db: &Db, name: &str) -> u64 {
    let value = db.property_int_value(&format!("rocksdb.{name}"));
    value.expect("can be asked").expect("known")
}

/// The number of blob files, their size, and the size of the garbage in them.
fn state(db: &Db) -> (u64, u64, u64) {
    (
        property(db, "num-blob-files"),
        property(db, "live-blob-file-size"),
        property(db, "live-blob-file-garbage-size"),
    )
}

/// Rewrites all tables.
fn compact(db: &Db) {
    let mut options = CompactOptions::default();
    options.set_bottommost_level_compaction(BottommostLevelCompaction::Force);
    db.compact_range_opt(None::<&[u8]>, None::<&[u8]>, &options);
}

/// Deletes the keys from `from` on, up to but not including `to`.
fn delete_range<K: AsRef<[u8]>>(db: &Db, from: K, to: K) {
    let cf = db.cf_handle("default").expect("always there");
    db.delete_range_cf(&cf, from, to).expect("written");
}

/// The names of the blob files on `fs`.
fn blob_files(fs: &MemFs) -> Vec<String> {
    let mut names = fs.list(Path::new(DIR)).expect("there");
    names.retain(|name| name.ends_with(".blob"));
    names.sort();
    names
}

/// Waits until so many blob files are left: a background thread may hold one for a moment.
fn await_blob_files(fs: &MemFs, count: usize) {
    until("blob files are deleted", || blob_files(fs).len() == count);
}

/// The content of `db`, which is the same in every way to read.
fn content(db: &Db) -> Vec<(Vec<u8>, Vec<u8>)> {
    let scan = |mode| -> Vec<(Vec<u8>, Vec<u8>)> {
        let pairs = db.iterator(mode).map(|kv| kv.expect("can be read"));
        pairs.map(|(k, v)| (k.into(), v.into())).collect()
    };
    let forward = scan(IteratorMode::Start);
    let mut backward = scan(IteratorMode::End);
    backward.reverse();
    assert!(forward == backward);
    let keys: Vec<&[u8]> = forward.iter().map(|(k, _)| &k[..]).collect();
    for (found, (key, value)) in db.multi_get(&keys).into_iter().zip(&forward) {
        assert!(found.as_ref() == Ok(&Some(value.clone())));
        assert!(db.get(key).as_ref() == Ok(&Some(value.clone())));
        let pinned = db.get_pinned(key).expect("can be read").expect("there");
        assert!(&pinned[..] == value);
    }
    forward
}
