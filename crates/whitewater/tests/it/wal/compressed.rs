//! Logs whose records are compressed.

use super::{after_kill, check_all, logs, put_all};
use crate::harness::{DIR, open_all, tiny, tiny_on};
use crate::interop::tools;
use rand::rngs::StdRng;
use rand::{RngCore, SeedableRng};
use std::path::Path;
use std::thread;
use whitewater::fs::Fs;
use whitewater::fs::mem::MemFs;
use whitewater::fs::os::OsFs;
use whitewater::{CommitProtocol, DBCompressionType, WriteBatch};

/// Bytes that do not compress.
fn noise(len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    StdRng::seed_from_u64(7).fill_bytes(&mut bytes);
    bytes
}

#[test]
fn compressed_logs_are_read_back() {
    for protocol in [CommitProtocol::Ordered, CommitProtocol::Grouped] {
        for recycle in [0, 2] {
            let fs = MemFs::new();
            let mut o = tiny_on(fs.clone());
            o.set_commit_protocol(protocol);
            o.set_recycle_log_file_num(recycle);
            o.set_wal_compression_type(DBCompressionType::Zstd);
            let db = open_all(&o, Path::new(DIR)).unwrap();
            put_all(&db, 0..100);
            db.flush().unwrap();
            put_all(&db, 100..200);
            db.flush().unwrap();
            put_all(&db, 200..300);
            db.put("large", vec![b'x'; 60_000]).unwrap();
            // The last log is no longer than its records, which are compressed.
            let killed = after_kill(&o, &fs);
            check_all(&killed, 0..300);
            assert_eq!(killed.get("large").unwrap(), Some(vec![b'x'; 60_000]));
            drop(db);
            let last = Path::new(DIR).join(logs(&fs, DIR).pop().unwrap());
            assert!(fs.file_size(&last).unwrap() < 12_000);

            // A frame that fills whole blocks of the log.
            let db = open_all(&o, Path::new(DIR)).unwrap();
            db.put("noise", noise(150_000)).unwrap();
            let killed = after_kill(&o, &fs);
            assert_eq!(killed.get("noise").unwrap(), Some(noise(150_000)));
            drop(db);
            let last = Path::new(DIR).join(logs(&fs, DIR).pop().unwrap());
            assert!(fs.file_size(&last).unwrap() > 150_000);

            // And by a database that writes plain records.
            o.set_wal_compression_type(DBCompressionType::None);
            let db = open_all(&o, Path::new(DIR)).unwrap();
            check_all(&db, 0..300);
            put_all(&db, 300..310);
            drop(db);
            check_all(&open_all(&o, Path::new(DIR)).unwrap(), 0..310);
        }
    }
}

/// Only zstd has a streaming form in RocksDB.
#[test]
fn logs_are_not_compressed_with_a_codec_that_logs_do_not_have() {
    let fs = MemFs::new();
    let mut o = tiny_on(fs.clone());
    o.set_wal_compression_type(DBCompressionType::Lz4);
    let db = open_all(&o, Path::new(DIR)).unwrap();
    db.put("large", vec![b'x'; 60_000]).unwrap();
    let killed = after_kill(&o, &fs);
    assert_eq!(killed.get("large").unwrap(), Some(vec![b'x'; 60_000]));
    drop(db);
    let last = Path::new(DIR).join(logs(&fs, DIR).pop().unwrap());
    assert!(fs.file_size(&last).unwrap() > 60_000);
}

#[test]
fn rocksdb_reads_compressed_logs() {
    if !tools::available() {
        return;
    }
    for protocol in [CommitProtocol::Ordered, CommitProtocol::Grouped] {
        let dir = tempfile::tempdir().unwrap();
        let mut o = tiny();
        o.set_write_buffer_size(64 << 20);
        o.set_commit_protocol(protocol);
        o.set_wal_compression_type(DBCompressionType::Zstd);
        let db = open_all(&o, dir.path()).unwrap();
        thread::scope(|scope| {
            for w in 0..3u32 {
                let db = &db;
                scope.spawn(move || put_all(db, w * 500..w * 500 + 500));
            }
        });
        // A frame of several blocks of its own, but of less than one block of the log. RocksDB 7.8
        // takes a fragment at the place in its block where the previous one was for the rest of
        // that one, and loses its content.
        let mut large = noise(20_000);
        large.resize(300_000, b'x');
        db.put("large", &large).unwrap();
        db.delete("k00000").unwrap();
        let mut batch = WriteBatch::default();
        batch.put("x", "1");
        batch.put("y", "2");
        db.write(batch).unwrap();
        let last = db.latest_sequence_number();
        drop(db);

        let log = logs(&OsFs, dir.path().to_str().unwrap()).pop().unwrap();
        let file = format!("--walfile={}", dir.path().join(log).display());
        let dump = tools::run("/usr/bin/ldb", &["dump_wal", &file, "--header"]);
        let counts: u64 = dump
            .lines()
            .filter_map(|line| line.split(',').nth(1)?.parse::<u64>().ok())
            .sum();
        assert_eq!(counts, last, "{dump}");
        // And it recovers from them.
        let scan = tools::ldb(dir.path(), &["scan", "--max_keys=3"]);
        assert!(scan.contains("k00001"), "{scan}");
        assert!(
            scan.contains("k00002") && !scan.contains("k00000"),
            "{scan}"
        );
        let got = tools::ldb(dir.path(), &["get", "large", "--value_hex"]);
        assert_eq!(got.trim().len(), 2 + 2 * large.len());
        assert_eq!(tools::ldb(dir.path(), &["get", "y"]).trim(), "2");
    }
}
