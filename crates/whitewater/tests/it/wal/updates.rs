//! Updates since a number, from old and new logs, while writers write.

use super::{archiving, await_logs, put_all, updates};
use crate::harness::hold::{HOLD, gated};
use crate::harness::{DIR, open_all, tiny_on, watched};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use whitewater::fs::mem::MemFs;
use whitewater::fs::os::OsFs;
use whitewater::statistics::Ticker;
use whitewater::{
    CommitProtocol, DBCompressionType, ErrorKind, IteratorMode, Options, WriteBatch, WriteOptions,
};

#[test]
fn updates_come_from_archived_and_live_logs_in_order() {
    let fs = MemFs::new();
    let mut o = archiving(fs);
    o.enable_statistics();
    let db = open_all(&o, Path::new(DIR)).unwrap();
    assert_eq!(updates(&db, 0), []);
    assert_eq!(o.get_ticker_count(Ticker::GetUpdatesSinceCalls), 1);
    assert!(!db.get_updates_since(0).unwrap().valid());
    put_all(&db, 0..3);
    db.flush().unwrap();
    let mut batch = WriteBatch::default();
    batch.put("a", "1");
    batch.put("b", "2");
    db.write(batch).unwrap();
    db.write_without_wal(WriteBatch::default()).unwrap();
    let mut unlogged = WriteBatch::default();
    unlogged.put("unlogged", "1");
    db.write_without_wal(unlogged).unwrap();
    let mut note = WriteBatch::default();
    note.put_log_data("a note");
    db.write(note).unwrap();
    db.delete("a").unwrap();

    let text = |since| {
        let line = |(number, keys): (u64, Vec<String>)| format!("{number}:{}", keys.join(","));
        let lines: Vec<_> = updates(&db, since).into_iter().map(line).collect();
        lines.join(" ")
    };
    assert_eq!(text(0), "1:k00000 2:k00001 3:k00002 4:a,b 7: 8:-a");
    assert_eq!(text(3), "4:a,b 7: 8:-a");
    // As in the `rocksdb` crate, a batch counts by its first number.
    assert_eq!(text(4), "7: 8:-a");
    assert_eq!(text(6), "7: 8:-a");
    assert_eq!(text(8), "");
    let at_the_end = db.get_updates_since(8).unwrap();
    assert!(at_the_end.valid(), "the batch asked for is there");
    at_the_end.status().unwrap();
    let e = db.get_updates_since(9).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::NotFound);
    assert!(e.to_string().contains("not yet written"), "{e}");

    // An iterator outlives the logs that it reads.
    let mut iter = db.get_updates_since(0).unwrap();
    assert_eq!(iter.next().unwrap().unwrap().0, 1);
    drop(db);
    assert_eq!(iter.count(), 5);
}

#[test]
fn a_log_deleted_under_an_iterator_is_an_error_unless_it_is_open() {
    let fs = MemFs::new();
    let db = open_all(&tiny_on(fs.clone()), Path::new(DIR)).unwrap();
    put_all(&db, 0..10);
    let mut first = db.get_updates_since(0).unwrap();
    assert_eq!(first.next().unwrap().unwrap().0, 1);
    db.flush().unwrap();
    // The log that it reads is deleted but open, and the next one exists.
    await_logs(&fs, DIR, 1);
    put_all(&db, 10..12);
    let mut second = db.get_updates_since(10).unwrap();
    let numbers: Vec<u64> = first.by_ref().map(|u| u.unwrap().0).collect();
    assert_eq!(numbers, (2..=12).collect::<Vec<_>>());
    first.status().unwrap();

    // Here it does not.
    assert_eq!(second.next().unwrap().unwrap().0, 11);
    let mut third = db.get_updates_since(10).unwrap();
    db.flush().unwrap();
    put_all(&db, 12..14);
    db.flush().unwrap();
    await_logs(&fs, DIR, 1);
    put_all(&db, 14..15);
    assert_eq!(third.next().unwrap().unwrap().0, 11);
    assert_eq!(third.next().unwrap().unwrap().0, 12);
    let e = third.next().unwrap().unwrap_err();
    assert_eq!(e.kind(), ErrorKind::NotFound);
    assert!(e.to_string().contains("Gap in sequence numbers"), "{e}");
    assert!(!third.valid());
    assert_eq!(third.status().unwrap_err().kind(), ErrorKind::NotFound);
    assert!(third.next().is_none());
}

#[test]
fn a_log_recycled_under_an_iterator_ends_it_with_an_error() {
    let fs = MemFs::new();
    let mut o = tiny_on(fs.clone());
    o.set_recycle_log_file_num(1);
    let db = open_all(&o, Path::new(DIR)).unwrap();
    let value = vec![b'v'; 20_000];
    for i in 0..3 {
        db.put(format!("k{i}"), &value).unwrap();
    }
    let mut iter = db.get_updates_since(0).unwrap();
    assert_eq!(iter.next().unwrap().unwrap().0, 1);
    for round in 0..4 {
        db.put(format!("r{round}"), &value).unwrap();
        db.flush().unwrap();
        await_logs(&fs, DIR, 2);
    }
    let mut last = 1;
    let failure = iter.by_ref().find_map(|update| match update {
        Ok((number, _)) => {
            assert_eq!(number, last + 1, "nothing is passed over");
            last = number;
            None
        }
        Err(e) => Some(e),
    });
    assert!(last < 7);
    let failure = failure.expect("the rest is gone");
    assert!(
        matches!(failure.kind(), ErrorKind::NotFound | ErrorKind::Corruption),
        "{failure}"
    );
}

#[test]
fn what_is_not_visible_is_not_shown() {
    watched("a writer held up", 60, || {
        let fs = gated();
        let db = open_all(&archiving(fs.clone()), Path::new(DIR)).unwrap();
        put_all(&db, 0..3);
        thread::scope(|scope| {
            scope.spawn(|| db.put("held", HOLD).unwrap());
            fs.hook.await_writer();
            let before = db.latest_sequence_number();
            scope.spawn(|| put_all(&db, 3..4));
            scope.spawn(|| put_all(&db, 4..5));
            // They log their writes soon, behind the hole.
            for _ in 0..50 {
                assert_eq!(updates(&db, 0).len(), 3);
                thread::sleep(Duration::from_millis(1));
            }
            assert_eq!(db.latest_sequence_number(), before);
            fs.hook.open();
        });
        // A leader may have logged the two as one batch.
        let operations: usize = updates(&db, 0).iter().map(|(_, ops)| ops.len()).sum();
        assert_eq!(operations, 6);
    });
}

/// Eight writers, logged and not, while other threads flush and one reads updates.
fn read_beside_writers(options: &Options, dir: &Path, unlogged: bool) {
    const WRITERS: u32 = 8;
    const WRITES: u32 = 1_500;
    let db = open_all(options, dir).unwrap();
    let done = AtomicBool::new(false);
    let mut seen: Vec<(u64, Vec<String>)> = Vec::new();
    thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|w| {
                let db = &db;
                scope.spawn(move || {
                    let mut without = WriteOptions::default();
                    without.disable_wal(true);
                    let mut synced = WriteOptions::default();
                    synced.set_sync(true);
                    for n in 0..WRITES {
                        let key = format!("{w}-{n}");
                        let value = vec![b'x'; (n * 7 % 300) as usize];
                        match n % 50 {
                            3 if unlogged => db.put_opt(format!("not-{key}"), &value, &without),
                            7 => db.put_opt(&key, &value, &synced),
                            _ => db.put(&key, &value),
                        }
                        .unwrap();
                    }
                })
            })
            .collect();
        let flusher = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                db.flush().unwrap();
                thread::sleep(Duration::from_millis(5));
            }
        });
        let mut since = 0;
        while writers.iter().any(|w| !w.is_finished()) {
            let visible = db.latest_sequence_number();
            let new = updates(&db, since);
            if let Some((last, keys)) = new.last() {
                since = last + keys.len().max(1) as u64 - 1;
            }
            assert!(unlogged || since >= visible, "{since} of {visible}");
            seen.extend(new);
        }
        done.store(true, Ordering::Relaxed);
        flusher.join().unwrap();
        seen.extend(updates(&db, since));
    });
    assert!(seen.is_sorted_by(|a, b| a.0 + a.1.len() as u64 <= b.0));
    let all = updates(&db, 0);
    let differ = (0..seen.len().max(all.len())).find(|i| seen.get(*i) != all.get(*i));
    let differ = differ.map(|i| (i, seen.get(i), all.get(i), seen.len(), all.len()));
    assert_eq!(differ, None, "in pieces as in one");
    let mut next = BTreeMap::new();
    for key in seen.iter().flat_map(|(_, keys)| keys) {
        let (w, n) = key.split_once('-').unwrap();
        let n: u32 = n.parse().unwrap();
        let expected = next.entry(w.to_owned()).or_insert(0u32);
        if unlogged && *expected % 50 == 3 {
            *expected += 1;
        }
        assert_eq!(n, *expected, "writer {w}");
        *expected += 1;
    }
    assert_eq!(next.len() as u32, WRITERS);
    assert!(next.values().all(|n| *n == WRITES), "{next:?}");
}

#[test]
fn updates_beside_writers_in_memory() {
    for unlogged in [false, true] {
        watched("updates beside writers", 240, move || {
            read_beside_writers(&archiving(MemFs::new()), Path::new(DIR), unlogged);
        });
    }
}

#[test]
fn updates_beside_writers_on_the_real_file_system() {
    for (protocol, packed) in [
        (CommitProtocol::Ordered, false),
        (CommitProtocol::Ordered, true),
        (CommitProtocol::Grouped, true),
        (CommitProtocol::Pipelined, true),
        (CommitProtocol::Unordered, false),
    ] {
        watched("updates beside writers", 240, move || {
            let dir = tempfile::tempdir().unwrap();
            let mut o = archiving(OsFs);
            o.set_commit_protocol(protocol);
            o.set_wal_bytes_per_sync(16 << 10);
            if packed {
                o.set_wal_compression_type(DBCompressionType::Zstd);
            }
            read_beside_writers(&o, dir.path(), false);
        });
    }
}

#[test]
fn updates_with_manual_flushes() {
    watched("updates beside writers", 240, || {
        let mut o = archiving(MemFs::new());
        o.set_manual_wal_flush(true);
        read_beside_writers(&o, Path::new(DIR), false);
    });
}

/// A change of the files records the last number, including numbers of writes that were not synced.
/// After a power cut no later write gets such a number, and readers of the logs go on behind it.
#[test]
fn numbers_that_a_power_cut_took_are_not_used_again() {
    let fs = MemFs::new();
    let mut o = archiving(fs.clone());
    o.set_disable_auto_compactions(true);
    let db = open_all(&o, Path::new(DIR)).unwrap();
    put_all(&db, 0..10);
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    put_all(&db, 10..20);
    db.delete_file_in_range("k00000", "k00009").unwrap();
    let left = fs.crash_clone(0.0, 1);
    drop(db);
    o.set_fs(Arc::new(left));
    let db = open_all(&o, Path::new(DIR)).unwrap();
    assert_eq!(db.iterator(IteratorMode::Start).count(), 0);
    assert_eq!(db.latest_sequence_number(), 20);
    put_all(&db, 20..22);
    let read = updates(&db, 0);
    let numbers: Vec<u64> = read.iter().map(|(n, _)| *n).collect();
    assert_eq!(numbers, (1..=10).chain(21..=22).collect::<Vec<_>>());
    assert_eq!(read[10].1, ["k00020"]);
}
