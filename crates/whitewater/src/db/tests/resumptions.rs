//! Resumptions beside failures that are reported at the same time: neither undoes what the
//! other has set.

use super::shown;
use crate::db::background::flush;
use crate::db::failure::Source;
use crate::options::read::ReadSpec;
use crate::snapshots::ReadPoint;
use crate::sync_points::Point;
use crate::write::stall::rate::DelayRate;
use crate::write::stall::{Demand, Pressure};
use crate::{CommitProtocol, DB, FlushOptions, Options, SstFileWriter};
use bytes::Bytes;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;
use std::{io, thread};
use whitewater_storage::fs::mem::MemFs;
use whitewater_storage::{Error, ErrorKind};

const ROUNDS: usize = 300;

/// Opens a database with archived logs whose next flush is held up. The returned function
/// lets the flush continue.
fn with_held_flush(atomic: bool) -> (Arc<DB>, MemFs, impl Fn()) {
    let fs = MemFs::new();
    let mut options = Options::default();
    options.create_if_missing(true);
    options.stay_stopped();
    options.set_fs(Arc::new(fs.clone()));
    options.set_commit_protocol(CommitProtocol::Ordered);
    options.set_wal_ttl_seconds(1_000_000);
    options.set_atomic_flush(atomic);
    let (held, go) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicBool::new(false)),
    );
    let (reached, may_go) = (held.clone(), go.clone());
    options.set_failpoints(move |point, _| {
        if point == Point::Flushing {
            reached.store(true, Ordering::SeqCst);
            while !may_go.load(Ordering::SeqCst) {
                thread::yield_now();
            }
        }
    });
    let db = Arc::new(DB::open(&options, "/db").unwrap());
    db.put("k", "before").unwrap();
    let mut now = FlushOptions::default();
    now.set_wait(false);
    db.flush_opt(&now).unwrap();
    while !held.load(Ordering::SeqCst) {
        thread::yield_now();
    }
    (db, fs, move || go.store(true, Ordering::SeqCst))
}

/// Runs `work` on another thread, and `meanwhile` while `work` keeps others from switching.
fn beside_switch(db: &Arc<DB>, work: impl FnOnce(&DB) + Send + 'static, meanwhile: impl FnOnce()) {
    let (tell, ended) = mpsc::channel();
    let mine = db.clone();
    thread::spawn(move || {
        work(&mine);
        drop(mine);
        tell.send(()).unwrap();
    });
    while !db.engine().commit.generations.is_switching() {
        thread::yield_now();
    }
    meanwhile();
    let hung = ended.recv_timeout(Duration::from_secs(600));
    assert!(hung.is_ok(), "it hangs, or has panicked");
}

/// The flush that a resumption waits for moves logs to the archive, and this waits for the
/// end of switches.
#[test]
fn a_resumption_does_not_wait_for_logs_to_be_archived() {
    let (db, _, go_on) = with_held_flush(false);
    let broken = Error::io("syncing", Path::new("/db/1.log"), &io::Error::other("EIO"));
    db.engine().report(Source::Log, &broken, "a test");
    beside_switch(&db, |db| db.resume().unwrap(), go_on);
    db.put("k", "after").unwrap();
    assert_eq!(db.get("k").unwrap().unwrap(), b"after");
}

/// An ingestion waits for flushes, too, and if flushes are atomic for any flush.
#[test]
fn an_ingestion_does_not_wait_for_logs_to_be_archived() {
    for atomic in [true, false] {
        let (db, fs, go_on) = with_held_flush(atomic);
        let mut options = Options::default();
        options.set_fs(Arc::new(fs));
        let mut writer = SstFileWriter::create(&options);
        writer.open("/table").unwrap();
        writer.put("k", "ingested").unwrap();
        writer.finish().unwrap();
        db.put("k", "again").unwrap();
        let ingest = |db: &DB| db.ingest_external_file(vec!["/table"]).unwrap();
        beside_switch(&db, ingest, go_on);
        assert_eq!(db.get("k").unwrap().unwrap(), b"ingested");
    }
}

/// Flush threads leave a column family alone while an ingestion enters it, and with atomic
/// flushes also those that are flushed together with it. The caller of the ingestion is
/// told if its flush fails; otherwise that would depend on which thread was first.
#[test]
fn flush_threads_leave_it_to_an_ingestion_what_to_flush() {
    let (mut db, _, go_on) = with_held_flush(false);
    let mine = Arc::get_mut(&mut db).expect("the only handle");
    mine.create_cf("other", &Options::default()).unwrap();
    let other = db.cf_handle("other").unwrap();
    db.put_cf(&other, "k", "v").unwrap();
    let mut now = FlushOptions::default();
    now.set_wait(false);
    db.flush_cf_opt(&other, &now).unwrap();
    let mut state = db.engine().state.lock();
    let id = state.cfs.values().map(|cf| cf.data.id).max();
    let id = id.expect("two families");
    let running = std::mem::take(&mut state.running_flushes);
    for (atomic, ingesting) in [(false, true), (true, true), (false, false), (true, false)] {
        state.cfs.get_mut(&id).expect("the family").ingesting = ingesting;
        let picked = flush::pick(&mut state, atomic);
        assert_eq!(picked.is_none(), ingesting, "atomic: {atomic}");
        if picked.is_some() {
            state.running_flushes -= 1;
            flush::end(&mut state, &[id], true);
        }
    }
    state.running_flushes = running;
    drop(state);
    go_on();
    db.flush_cf(&other).unwrap();
}

/// A reader has pinned its view and has not chosen its number when a write fails. The write
/// after the failed one is inserted already.
#[test]
fn a_view_pinned_before_a_failure_does_not_show_it() {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.stay_stopped();
    options.set_fs(Arc::new(MemFs::new()));
    options.set_commit_protocol(CommitProtocol::Ordered);
    let armed = Arc::new(AtomicBool::new(false));
    let behind = Arc::new(AtomicBool::new(false));
    let (trap, inserted) = (armed.clone(), behind.clone());
    options.set_failpoints(move |point, _| match point {
        Point::Reserved if trap.swap(false, Ordering::SeqCst) => {
            while !inserted.load(Ordering::SeqCst) {
                thread::yield_now();
            }
            panic!("planted panic");
        }
        Point::Waiting => inserted.store(true, Ordering::SeqCst),
        _ => {}
    });
    let db = &DB::open(&options, "/db").unwrap();
    let engine = db.engine();
    db.put("before", "1").unwrap();
    let family = engine.default_cf();
    let view = family.pin_owned();
    armed.store(true, Ordering::SeqCst);
    thread::scope(|scope| {
        let panics = scope.spawn(|| db.put("panics", "2"));
        while armed.load(Ordering::SeqCst) {
            thread::yield_now();
        }
        assert!(db.put("behind", "3").is_err());
        assert!(panics.join().is_err());
    });
    let frozen = db.latest_sequence_number();
    db.resume().unwrap();
    for n in 0..10 {
        db.put(format!("later {n}"), "4").unwrap();
    }
    // The entry is there, at a number that is visible now.
    let all = shown(&view.mem);
    assert!(all.iter().any(|(key, _)| key.starts_with(b"behind")));
    assert!(db.latest_sequence_number() > frozen + 10);
    let spec = ReadSpec::default();
    let seq = engine.sequence_in(&view, &spec);
    assert_eq!(seq, frozen);
    let point = ReadPoint::from(seq);
    let get = |key: &str| {
        let found = engine.get_in::<Bytes>(family, &view, key.as_bytes(), point.at(), &spec);
        found.unwrap().is_some()
    };
    let found = ["before", "panics", "behind", "later 3"].map(get);
    assert_eq!(found, [true, false, false, false]);
    let found = ["before", "panics", "behind", "later 3"].map(|key| db.get(key).unwrap().is_some());
    assert_eq!(found, [true, false, false, true]);
}

/// A hard failure is reported repeatedly, and ended repeatedly, while each write fills a
/// memtable.
#[test]
fn a_failure_that_is_over_leaves_nothing_behind() {
    for protocol in [CommitProtocol::Ordered, CommitProtocol::Pipelined] {
        let mut options = Options::default();
        options.create_if_missing(true);
        options.stay_stopped();
        options.set_fs(Arc::new(MemFs::new()));
        options.set_commit_protocol(protocol);
        options.set_write_buffer_size(64 << 10);
        options.set_level_zero_slowdown_writes_trigger(10_000);
        options.set_level_zero_stop_writes_trigger(10_000);
        let db = &DB::open(&options, "/db").unwrap();
        let engine = db.engine();
        let broken = Error::io("syncing", Path::new("/db/1.log"), &io::Error::other("EIO"));
        let over = AtomicBool::new(false);
        let resumed = thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let mut written = 0;
                while !over.load(Ordering::SeqCst) {
                    written += u32::from(db.put("k", [7; 100 << 10]).is_ok());
                }
                written
            });
            let resumer = scope.spawn(|| {
                let mut resumed = 0u32;
                while !over.load(Ordering::SeqCst) {
                    resumed += u32::from(db.resume().is_ok());
                }
                resumed
            });
            for round in 0..ROUNDS {
                engine.report(Source::Log, &broken, "a test");
                // Every third failure comes while the one before is being ended.
                while round % 3 != 0 && engine.state.lock().failure.stop().is_some() {
                    thread::yield_now();
                }
            }
            over.store(true, Ordering::SeqCst);
            assert!(writer.join().unwrap() > 0, "{protocol}");
            resumer.join().unwrap()
        });
        assert!(resumed as usize > ROUNDS / 3, "{protocol}: {resumed}");
        db.resume().unwrap();
        let full = engine.state.lock().cfs[&0].mem.is_full();
        let asked = engine.commit.wants_attention();
        assert!(
            asked || !full,
            "{protocol}: nobody switches a full memtable"
        );
        // Stalls take effect again.
        let mut demand = Demand {
            pressure: Pressure::Stopped,
            behind: false,
            rate: DelayRate::new(0),
            hopeless: None,
        };
        engine.commit.gate.set(demand.clone());
        let e = engine.commit.gate.pass(1, true).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Incomplete, "{protocol}");
        demand.pressure = Pressure::None;
        engine.commit.gate.set(demand);
        db.put("after", "all").unwrap();
        assert_eq!(db.get("after").unwrap().unwrap(), b"all");
    }
}
