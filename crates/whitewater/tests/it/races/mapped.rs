//! Logs written through a mapping and by system calls are the same.

use crate::content::copy_dir;
use crate::harness::parallel::{FAMILIES, batch, check, names};
use crate::harness::{open_named, protocols, tiny};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::path::Path;
use std::thread;
use whitewater::fs::os::OsFs;
use whitewater::fs::{Fs, SharedAccess};
use whitewater::{CommitProtocol, Options, WalAccess, WriteBatch, WriteOptions};

const BOTH: [WalAccess; 2] = [WalAccess::Mapped, WalAccess::Positioned];

/// A directory on whose file system logs can be mapped.
fn mappable() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let probe = dir.path().join("probe");
    match OsFs.open_shared(&probe, None, SharedAccess::Mapped.into()) {
        Ok(_) => dir,
        Err(_) => tempfile::tempdir_in("/dev/shm").expect("a temporary directory"),
    }
}

fn options(protocol: CommitProtocol, access: WalAccess, recycled: usize) -> Options {
    let mut options = tiny();
    options.set_commit_protocol(protocol);
    options.set_wal_access(access);
    options.set_recycle_log_file_num(recycled);
    options
}

/// The logs of a database, by name.
fn logs(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(dir)
        .expect("listed")
        .map(|e| e.expect("listed"));
    let name = |e: std::fs::DirEntry| e.file_name().into_string().expect("ASCII");
    let mut names: Vec<String> = entries.map(name).collect();
    names.retain(|name| name.ends_with(".log"));
    names.sort();
    let read = |name: String| {
        let bytes = std::fs::read(dir.join(&name)).expect("readable");
        (name, bytes)
    };
    names.into_iter().map(read).collect()
}

/// One writer, so that the order is the same. The files are equal to the byte.
#[test]
fn the_same_writes_make_the_same_logs() {
    for protocol in protocols() {
        for recycled in [0, 2] {
            let [mapped, positioned] = BOTH.map(|access| {
                let dir = mappable();
                let mut options = options(protocol, access, recycled);
                options.set_write_buffer_size(4 << 20);
                let db = open_named(&options, dir.path(), &names()).expect("opens");
                let mut rng = StdRng::seed_from_u64(1);
                for n in 0..400u32 {
                    let mut batch = WriteBatch::default();
                    for family in FAMILIES {
                        let cf = db.cf_handle(family).expect("opened");
                        let len = match n % 100 {
                            50 => 150_000,
                            _ => rng.random_range(0..700),
                        };
                        batch.put_cf(&cf, n.to_be_bytes(), vec![n as u8; len]);
                    }
                    let mut options = WriteOptions::default();
                    options.set_sync(n % 37 == 0);
                    db.write_opt(batch, &options).expect("writes");
                    if n % 150 == 149 {
                        db.flush().expect("flushes");
                    }
                }
                logs(dir.path())
            });
            let names = |logs: &[(String, _)]| logs.iter().map(|l| l.0.clone()).collect::<Vec<_>>();
            assert_eq!(names(&mapped), names(&positioned), "{protocol}");
            assert!(mapped == positioned, "{protocol}, {recycled} recycled");
            assert!(mapped.iter().any(|(_, bytes)| bytes.len() > 400_000));
        }
    }
}

/// Many writers, switches of memtables and logs, and a kill: all batches are there, and each is
/// whole.
#[test]
fn the_same_batches_are_there_after_a_kill() {
    const WRITERS: usize = 8;
    for protocol in protocols() {
        for access in BOTH {
            for recycled in [0, 2] {
                let dir = mappable();
                let options = options(protocol, access, recycled);
                let db = &open_named(&options, dir.path(), &names()).expect("opens");
                thread::scope(|scope| {
                    for w in 0..WRITERS {
                        scope.spawn(move || {
                            for n in 1..=60 {
                                db.write(batch(db, w, n)).expect("writes");
                            }
                        });
                    }
                });
                db.wait_for_compact(&Default::default()).expect("settles");
                let left = mappable();
                copy_dir(dir.path(), left.path());
                let db = open_named(&options, left.path(), &names()).expect("opens");
                let found = check(&db, &[60; WRITERS]);
                assert_eq!(found, Ok(vec![60; WRITERS]), "{protocol}, {access:?}");
            }
        }
    }
}
