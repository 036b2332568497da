//! One suite for every commit protocol, over a fake environment: order,
//! visibility, and a failure at each step.

use super::group::{self, Grouped, WriteGroup};
use super::*;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use whitewater_concurrent::group::GroupQueue;
use whitewater_concurrent::waiter::YieldPolicy;
use whitewater_storage::batch::{self, Op};
use whitewater_storage::key::ValueType;

/// A log, a memtable and a visible number that check the invariants.
#[derive(Default)]
struct FakeEnv {
    reserved: AtomicU64,
    visible: AtomicU64,
    log: Mutex<Vec<Vec<u8>>>,
    /// Sequence number to key.
    inserted: Mutex<BTreeMap<SequenceNumber, Vec<u8>>>,
    failure: Mutex<Option<Error>>,
    /// Fail the n-th log write, or the insert of the n-th sequence number.
    fail_log_at: u64,
    fail_insert_at: u64,
    log_writes: AtomicU64,
    synced: AtomicU64,
}

impl CommitEnv for FakeEnv {
    fn prepare(&self) -> Result<Arc<MemtableMap>> {
        match &*self.failure.lock() {
            Some(e) => Err(e.clone()),
            None => Ok(Arc::default()),
        }
    }
    fn reserve(&self, count: u64) -> SequenceNumber {
        self.reserved.fetch_add(count, Ordering::SeqCst) + 1
    }
    fn log(&self, parts: &[&[u8]], sync: bool) -> Result<()> {
        if self.log_writes.fetch_add(1, Ordering::SeqCst) + 1 == self.fail_log_at {
            return Err(Error::invalid("planted log failure"));
        }
        let record = parts.concat();
        batch::check(&record).expect("the leader logs whole batches");
        self.log.lock().push(record);
        self.synced.fetch_add(u64::from(sync), Ordering::SeqCst);
        Ok(())
    }
    fn apply(&self, _: &MemtableMap, request: &WriteRequest, first: SequenceNumber) -> Result<()> {
        for (i, op) in request.batch.ops().enumerate() {
            let Op::Entry { key, .. } = op? else { continue };
            let seq = first + i as u64;
            assert!(
                seq > self.visible.load(Ordering::SeqCst),
                "C2: not visible before inserted"
            );
            if seq == self.fail_insert_at {
                return Err(Error::invalid("planted insert failure"));
            }
            let before = self.inserted.lock().insert(seq, key.to_vec());
            assert_eq!(before, None, "each number is used once");
        }
        Ok(())
    }
    fn publish(&self, last: SequenceNumber) {
        let inserted = self.inserted.lock();
        let before = self.visible.load(Ordering::SeqCst);
        assert!(last >= before, "C1: publication never goes back");
        assert!(
            (before + 1..=last).all(|seq| inserted.contains_key(&seq)),
            "C2"
        );
        self.visible.store(last, Ordering::SeqCst);
    }
    fn fail(&self, error: &Error) {
        self.failure.lock().get_or_insert_with(|| error.clone());
    }
}

struct Db {
    env: FakeEnv,
    queue: GroupQueue<Request, Error, WriteGroup>,
}

impl Db {
    fn new(env: FakeEnv) -> Self {
        Db {
            env,
            queue: GroupQueue::new(YieldPolicy::default()),
        }
    }

    fn commit(&self, request: &Request) -> Result<()> {
        let steps = Grouped {
            env: &self.env,
            concurrent_inserts: true,
            max_group_bytes: 1 << 20,
        };
        group::commit(&self.queue, &steps, request)
    }

    fn write(&self, keys: &[String], sync: bool, disable_wal: bool) -> Result<()> {
        let mut batch = Batch::default();
        for key in keys {
            batch.push(0, ValueType::Value, key.as_bytes(), b"v");
        }
        self.commit(&Request::Write(WriteRequest {
            insert_hint: false,
            batch,
            sync,
            disable_wal,
            ignore_missing_cf: false,
        }))
    }
}

/// Runs 8 threads of writers; returns the keys that were acknowledged.
fn run_writers(db: &Db, per_thread: usize) -> Vec<(String, bool)> {
    let acked = Mutex::new(Vec::new());
    std::thread::scope(|s| {
        for t in 0..8 {
            let (db, acked) = (&db, &acked);
            s.spawn(move || {
                for i in 0..per_thread {
                    let disable_wal = i % 7 == 3;
                    let keys: Vec<String> = (0..=i % 3).map(|n| format!("{t}-{i}-{n}")).collect();
                    if db
                        .write(&keys, i % 5 == 0 && !disable_wal, disable_wal)
                        .is_ok()
                    {
                        let visible = db.env.visible.load(Ordering::SeqCst);
                        let inserted = db.env.inserted.lock();
                        let mine = inserted.iter().filter(|(_, k)| **k == keys[0].as_bytes());
                        let seq = mine.map(|(s, _)| *s).max();
                        drop(inserted);
                        assert!(
                            seq.is_some_and(|s| s <= visible),
                            "C4: visible once acknowledged"
                        );
                        acked
                            .lock()
                            .extend(keys.into_iter().map(|k| (k, disable_wal)));
                    }
                }
            });
        }
    });
    acked.into_inner()
}

fn logged_keys(env: &FakeEnv) -> Vec<(SequenceNumber, Vec<u8>)> {
    let mut out = Vec::new();
    for record in env.log.lock().iter() {
        let mut seq = batch::sequence(record);
        for op in batch::ops(record) {
            if let Op::Entry { key, .. } = op.unwrap() {
                out.push((seq, key.to_vec()));
                seq += 1;
            }
        }
    }
    out
}

#[test]
fn log_order_is_sequence_order_and_holds_what_was_acknowledged() {
    let db = Db::new(FakeEnv::default());
    let acked = run_writers(&db, 150);
    assert_eq!(acked.len(), 8 * 300);
    let logged = logged_keys(&db.env);
    assert!(logged.is_sorted_by_key(|(seq, _)| *seq), "C1");
    let inserted = db.env.inserted.lock();
    assert_eq!(inserted.len(), acked.len());
    for (seq, key) in &logged {
        assert_eq!(
            inserted.get(seq),
            Some(key),
            "the log and the memtable agree"
        );
    }
    let in_log: std::collections::BTreeSet<_> = logged.into_iter().map(|(_, k)| k).collect();
    for (key, disable_wal) in &acked {
        assert_eq!(in_log.contains(key.as_bytes()), !disable_wal, "{key}");
    }
    assert_eq!(db.env.visible.load(Ordering::SeqCst), acked.len() as u64);
    assert!(db.env.synced.load(Ordering::SeqCst) > 0);
}

#[test]
fn after_a_failed_log_write_nothing_is_acknowledged_or_visible() {
    for n in [1, 2, 17, 60] {
        let db = Db::new(FakeEnv {
            fail_log_at: n,
            ..FakeEnv::default()
        });
        let acked = run_writers(&db, 100);
        assert!(db.env.failure.lock().is_some());
        let visible = db.env.visible.load(Ordering::SeqCst);
        assert_eq!(
            visible,
            acked.len() as u64,
            "exactly the acknowledged writes are visible"
        );
        assert!(db.write(&["late".to_owned()], false, false).is_err());
        assert_eq!(db.env.visible.load(Ordering::SeqCst), visible, "C5");
    }
}

#[test]
fn after_a_failed_insert_the_whole_group_fails() {
    for seq in [1, 5, 200] {
        let db = Db::new(FakeEnv {
            fail_insert_at: seq,
            ..FakeEnv::default()
        });
        let acked = run_writers(&db, 100);
        let visible = db.env.visible.load(Ordering::SeqCst);
        assert!(visible < seq, "C5: nothing of the failed group is visible");
        assert_eq!(visible, acked.len() as u64);
        assert!(db.env.failure.lock().is_some());
    }
}

#[test]
fn barriers_run_between_groups() {
    let db = Db::new(FakeEnv::default());
    let barriers = Arc::new(AtomicU64::new(0));
    std::thread::scope(|s| {
        s.spawn(|| run_writers(&db, 100));
        for _ in 0..50 {
            let count = barriers.clone();
            let barrier: Barrier = Box::new(move || {
                count.fetch_add(1, Ordering::SeqCst);
                Ok(())
            });
            db.commit(&Request::Barrier(Mutex::new(Some(barrier))))
                .unwrap();
        }
    });
    assert_eq!(barriers.load(Ordering::SeqCst), 50);
    let failing: Barrier = Box::new(|| Err(Error::invalid("planted")));
    assert!(
        db.commit(&Request::Barrier(Mutex::new(Some(failing))))
            .is_err()
    );
    assert!(
        db.env.failure.lock().is_none(),
        "a failed barrier fails its caller only"
    );
}
