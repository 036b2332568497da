//! One conformance suite for every commit protocol, over a fake environment: order,
//! visibility, atomicity, a failure at each step, switches and extensions of the log in
//! flight, more threads than cores.

use super::env::{
    AdmitEnv, CommitObserver, GenerationEnv, LargeBatchTurn, MemtableEnv, PrefixTurn, WalEnv,
};
use super::generation::{End, Generation, MAX_OFFSET, Reservation};
use super::group;
use super::request::{Write, WriteFlags};
use super::*;
use crate::memtable::operations::{Operations, SingleOp};
use crate::memtable::sections::SectionWrite;
use crate::perf_context::{self as perf, Step, StepTimer};
use arc_swap::{ArcSwap, Guard};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use whitewater_concurrent::group::GroupQueue;
use whitewater_concurrent::publish::Publication;
use whitewater_concurrent::single_flight::SingleFlight;
use whitewater_concurrent::system::{Condvar, Mutex, RwLock};
use whitewater_concurrent::undecided::{Undecided, UndecidedRanges};
use whitewater_concurrent::waiter::YieldPolicy;
use whitewater_storage::batch::{self, Batch, Op};
use whitewater_storage::fs::fault::{Fault, FaultFs, FaultOp, OpSet, PathMatch, Rule, When};
use whitewater_storage::fs::mem::MemFs;
use whitewater_storage::fs::{Fs, SharedOptions};
use whitewater_storage::key::{SequenceNumber, ValueType};
use whitewater_storage::wal::{LogReader, ReadOutcome, Segment};
use whitewater_storage::{Error, ErrorKind};

/// The protocols that keep every promise.
const STRICT: [CommitProtocol; 3] = [
    CommitProtocol::Ordered,
    CommitProtocol::Grouped,
    CommitProtocol::Pipelined,
];

/// All protocols, including the one that relaxes what other threads see.
const ALL: [CommitProtocol; 4] = [
    CommitProtocol::Ordered,
    CommitProtocol::Grouped,
    CommitProtocol::Pipelined,
    CommitProtocol::Unordered,
];

/// Where to fail.
#[derive(Debug, Default, Clone, Copy)]
struct Plan {
    /// The n-th log write, counting from 1.
    append: u64,
    /// The insert of this sequence number.
    insert: u64,
    /// Panic at the insert of this sequence number.
    panic: u64,
    /// Wait at the insert of this sequence number, until released.
    hold: u64,
    /// The n-th sync.
    sync: u64,
    /// The number of entries after which generations are switched; 0 is never.
    switch_every: u64,
    /// Bytes by which the log is extended.
    step: u64,
}

/// A visible number, and what was undecided then.
type Point = (SequenceNumber, Option<Arc<UndecidedRanges>>);

/// A log, a memtable and a visible number that check the invariants.
struct FakeEnv {
    plan: Plan,
    /// Visible entries may not be inserted yet.
    unordered: bool,
    /// Readers pass over what is undecided.
    undecided: Option<Undecided>,
    fs: FaultFs,
    generation: ArcSwap<Generation>,
    switching: RwLock<()>,
    prefix_turn: Mutex<PrefixTurn>,
    large_turn: Mutex<LargeBatchTurn>,
    extending: Mutex<()>,
    publication: Publication,
    durable: SingleFlight,
    /// The keys of inserted entries, by sequence number.
    inserted: Mutex<BTreeMap<SequenceNumber, Vec<u8>>>,
    failure: Mutex<Option<Error>>,
    appends: AtomicU64,
    syncs: AtomicU64,
    logs: AtomicU64,
    /// Writes that were located, and inserts of writes that were not.
    located: AtomicU64,
    unlocated: AtomicU64,
    /// Located writes whose deferred work was done.
    deferred: AtomicU64,
    /// Writes that waited to be admitted.
    admitted: AtomicU64,
    /// Threads that insert at this moment, and the most that ever did.
    inserting: AtomicU64,
    most_inserting: AtomicU64,
    most_grouped: AtomicU64,
    held: Hold,
}

/// Holds a writer at its insert.
#[derive(Default)]
struct Hold {
    /// Whether the writer has arrived, and whether it was released.
    state: Mutex<(bool, bool)>,
    changed: Condvar,
}

impl Hold {
    fn come(&self) {
        let mut state = self.state.lock();
        state.0 = true;
        self.changed.notify_all();
        self.changed.wait_while(&mut state, |state| !state.1);
    }
    /// Waits until the writer has arrived.
    fn await_writer(&self) {
        let mut state = self.state.lock();
        self.changed.wait_while(&mut state, |state| !state.0);
    }
    fn let_go(&self) {
        self.state.lock().1 = true;
        self.changed.notify_all();
    }
}

fn segment(fs: &dyn Fs, number: u64, step: u64) -> Result<Arc<Segment>> {
    let path = format!("{number:06}.log");
    let file = fs.open_shared(Path::new(&path), None, SharedOptions::default())?;
    let log = Segment::new(file, number, false);
    log.extend(step)?;
    Ok(Arc::new(log))
}

impl FakeEnv {
    fn new(plan: Plan, unordered: bool) -> Self {
        let plan = Plan {
            step: plan.step.max(64),
            ..plan
        };
        let fs = FaultFs::new(Arc::new(MemFs::new()));
        let start = End { last: 0, offset: 0 };
        let log = segment(&fs, 1, plan.step).unwrap();
        let first = Generation::new(MemtableMap::default(), log, 0, start);
        FakeEnv {
            plan,
            unordered,
            undecided: None,
            fs,
            generation: ArcSwap::from_pointee(first),
            switching: RwLock::new(()),
            prefix_turn: Mutex::default(),
            large_turn: Mutex::default(),
            extending: Mutex::new(()),
            publication: Publication::new(0, YieldPolicy::default()),
            durable: SingleFlight::new(0),
            inserted: Mutex::default(),
            failure: Mutex::default(),
            appends: AtomicU64::new(0),
            syncs: AtomicU64::new(0),
            located: AtomicU64::default(),
            unlocated: AtomicU64::default(),
            deferred: AtomicU64::default(),
            admitted: AtomicU64::default(),
            logs: AtomicU64::new(1),
            inserting: AtomicU64::new(0),
            most_inserting: AtomicU64::new(0),
            most_grouped: AtomicU64::new(0),
            held: Hold::default(),
        }
    }

    /// The keys that a reader at `sequence` sees now.
    fn seen_at(&self, sequence: SequenceNumber) -> Vec<String> {
        self.seen(&(sequence, None))
    }

    /// What a reader that begins now reads at.
    fn point(&self) -> Point {
        match &self.undecided {
            Some(undecided) => undecided.at(|| self.publication.visible()),
            None => (self.publication.visible(), None),
        }
    }

    /// The keys that a reader at `point` sees now.
    fn seen(&self, (sequence, undecided): &Point) -> Vec<String> {
        let counts = |number| !undecided.as_ref().is_some_and(|u| u.contains(number));
        let inserted = self.inserted.lock();
        let entries = inserted.range(..=*sequence);
        let keys = entries.filter(|(number, _)| counts(**number));
        keys.map(|(_, key)| String::from_utf8(key.clone()).unwrap())
            .collect()
    }

    /// Switches to another generation with a log of its own.
    fn switch(&self) -> Result<()> {
        let _one_at_a_time = self.switching.write();
        let log = segment(&self.fs, self.logs.load(SeqCst) + 1, self.plan.step)?;
        self.logs.fetch_add(1, SeqCst);
        let before = self.generation.load_full();
        let end = before.close().expect("switches follow one another");
        let next = End {
            last: end.last,
            offset: 0,
        };
        let next = Generation::new(MemtableMap::default(), log, 0, next);
        self.generation.store(Arc::new(next));
        Ok(())
    }

    /// All records, in the order of the logs.
    fn records(&self) -> Vec<Vec<u8>> {
        let mut records = Vec::new();
        for number in 1..=self.logs.load(SeqCst) {
            let path = format!("{number:06}.log");
            let file = self.fs.open_sequential(Path::new(&path)).unwrap();
            let mut reader = LogReader::new(file, number);
            let mut record = Vec::new();
            while let ReadOutcome::Record = reader.read_record(&mut record).unwrap() {
                records.push(record.clone());
            }
        }
        records
    }

    /// The keys in the logs with their sequence numbers, in the order of the logs.
    fn logged(&self) -> Vec<(SequenceNumber, Vec<u8>)> {
        let mut out = Vec::new();
        for record in self.records() {
            batch::check(&record).expect("whole batches are logged");
            let mut seq = batch::sequence(&record);
            for op in batch::ops(&record) {
                if let Op::Entry { key, .. } = op.unwrap() {
                    out.push((seq, key.to_vec()));
                    seq += 1;
                }
            }
        }
        out
    }
}

/// The keys of the entries of `batch`.
fn keys_of(batch: &Batch) -> Result<Vec<Vec<u8>>> {
    let keys = batch.ops().map(|op| match op? {
        Op::Entry { key, .. } => Ok(Some(key.to_vec())),
        _ => Ok(None),
    });
    keys.filter_map(Result::transpose).collect()
}

impl FakeEnv {
    fn insert_all(&self, write: &Write<'_>, first: SequenceNumber) -> Result<()> {
        if write.flags.reads_own_prefix {
            let before = self.inserted.lock().range(..first).count() as u64;
            assert_eq!(before, first - 1, "C7: all before it is inserted");
        }
        let keys: Vec<Vec<u8>> = match write.operations {
            Operations::Single(one) => vec![one.key.to_vec()],
            Operations::Batch(batch) => keys_of(batch)?,
            Operations::Section(write) => {
                let keys = write.inserted().map(keys_of);
                keys.collect::<Result<Vec<_>>>()?.concat()
            }
        };
        for (i, key) in keys.into_iter().enumerate() {
            let seq = first + i as u64;
            let visible = self.publication.visible();
            assert_eq!(seq <= visible, self.unordered, "C2: inserted, then visible");
            if seq == self.plan.hold {
                self.held.come();
            }
            if seq == self.plan.insert {
                return Err(Error::invalid("planted insert failure"));
            }
            assert_ne!(seq, self.plan.panic, "planted panic");
            let before = self.inserted.lock().insert(seq, key);
            assert_eq!(before, None, "each number is used once");
        }
        Ok(())
    }
}

impl CommitEnv for FakeEnv {
    fn publication(&self) -> &Publication {
        &self.publication
    }
    fn fail(&self, first: SequenceNumber, error: &Error) {
        self.failure.lock().get_or_insert_with(|| error.clone());
        self.publication.fail(first);
    }
    fn failure(&self) -> Error {
        let failure = self.failure.lock().clone();
        failure.unwrap_or_else(|| Error::invalid("an earlier write failed"))
    }
    fn prefix_turn(&self) -> &Mutex<PrefixTurn> {
        &self.prefix_turn
    }
    fn undecided(&self) -> Option<&Undecided> {
        self.undecided.as_ref()
    }
    fn note_section(&self, _: &Generation, _: &SectionWrite, _: SequenceNumber) -> Result<()> {
        unreachable!("the tests write batches")
    }
}

impl AdmitEnv for FakeEnv {
    fn may_stall(&self, flags: &WriteFlags) -> bool {
        flags.low_pri
    }
    fn await_admission(&self, _: usize, flags: &WriteFlags) -> Result<()> {
        if flags.no_slowdown {
            return Err(Error::new(ErrorKind::Incomplete, "stalled"));
        }
        self.admitted.fetch_add(1, SeqCst);
        Ok(())
    }
    fn large_batch_turn(&self) -> &Mutex<LargeBatchTurn> {
        &self.large_turn
    }
    fn commit_empty(&self, sync: bool) -> Result<()> {
        if sync {
            self.sync_wal(self.publication.visible())?;
        }
        Ok(())
    }
}

impl GenerationEnv for FakeEnv {
    fn enter(&self) -> Result<Guard<Arc<Generation>>> {
        if let Some(e) = &*self.failure.lock() {
            return Err(e.clone());
        }
        let generation = self.generation.load();
        let every = self.plan.switch_every;
        if every > 0
            && let Some(end) = generation.end()
            && end.last >= generation.base() + every
        {
            let due = self.switching.try_write().is_some();
            if due && self.generation.load().end() == Some(end) {
                self.switch()?;
            }
        }
        Ok(self.generation.load())
    }
    fn nothing_due(&self) -> bool {
        self.failure.lock().is_none()
    }
    fn await_switch(&self) {
        drop(self.switching.read());
    }
    fn replace_full(&self, full: Guard<Arc<Generation>>) -> Result<()> {
        drop(full);
        self.switch()
    }
}

impl WalEnv for FakeEnv {
    fn extend_wal(&self, generation: &Generation, upto: u64) -> Result<()> {
        let _one_at_a_time = self.extending.lock();
        generation.wal.extend(upto + self.plan.step)
    }
    fn extend_wal_ahead(&self, generation: &Generation, end: u64) {
        if end + self.plan.step / 2 > generation.wal.allocated()
            && let Some(_one_at_a_time) = self.extending.try_lock()
        {
            generation.wal.extend(end + self.plan.step).unwrap();
        }
    }
    fn append_wal(
        &self,
        generation: &Generation,
        reservation: &Reservation,
        parts: &[&[u8]],
    ) -> Result<()> {
        if self.appends.fetch_add(1, SeqCst) + 1 == self.plan.append {
            return Err(Error::invalid("planted log failure"));
        }
        generation.wal.put(reservation.at, parts)
    }
    fn sync_wal(&self, last: SequenceNumber) -> Result<()> {
        self.durable.run_until(last, || {
            if self.syncs.fetch_add(1, SeqCst) + 1 == self.plan.sync {
                let e = Error::invalid("planted sync failure");
                self.failure.lock().get_or_insert(e.clone());
                return Err(e);
            }
            Ok(self.publication.visible().max(last))
        })
    }
}

impl MemtableEnv for FakeEnv {
    type LeafHint<'k> = ();
    /// The generation it was located in, by its base.
    type Located = SequenceNumber;
    /// The first number, if the write was located, and whether it is synced.
    type Deferred = Option<(SequenceNumber, bool)>;

    fn locate(&self, generation: &Generation, _: &Write<'_>, _: Option<()>) -> Result<u64> {
        self.located.fetch_add(1, SeqCst);
        Ok(generation.base())
    }
    fn insert(
        &self,
        generation: &Generation,
        write: &Write<'_>,
        located: Option<SequenceNumber>,
        first: SequenceNumber,
        deferred: &mut Option<(SequenceNumber, bool)>,
    ) -> Result<()> {
        assert!(located.is_none_or(|base| base == generation.base()), "C6");
        self.unlocated
            .fetch_add(u64::from(located.is_none()), SeqCst);
        let inserting = self.inserting.fetch_add(1, SeqCst) + 1;
        self.most_inserting.fetch_max(inserting, SeqCst);
        let inserted = self.insert_all(write, first);
        self.inserting.fetch_sub(1, SeqCst);
        *deferred = located.map(|_| (first, write.flags.sync));
        inserted
    }
    fn run_deferred(&self, _: &Generation, deferred: &mut Option<(SequenceNumber, bool)>) {
        if let Some((first, synced)) = deferred.take() {
            assert_eq!(self.publication.visible() < first, synced, "who may wait?");
            self.deferred.fetch_add(1, SeqCst);
        }
    }
}

impl CommitObserver for FakeEnv {
    fn step(&self, step: Step) -> StepTimer<'_> {
        perf::step(None, step)
    }
    fn record_group(&self, writes: usize) {
        assert!(writes > 0);
        self.most_grouped.fetch_max(writes as u64, SeqCst);
    }
}

struct Db {
    env: FakeEnv,
    protocol: CommitProtocol,
    concurrent_inserts: bool,
    max_group_bytes: usize,
    queue: WriteQueue,
}

impl Db {
    fn new(protocol: CommitProtocol, plan: Plan) -> Self {
        Db {
            env: FakeEnv::new(plan, protocol == CommitProtocol::Unordered),
            protocol,
            concurrent_inserts: true,
            max_group_bytes: 1 << 20,
            queue: GroupQueue::new(YieldPolicy::default()),
        }
    }

    /// Unordered writes whose numbers are undecided until they are inserted.
    fn deciding(plan: Plan) -> Self {
        let mut db = Db::new(CommitProtocol::Unordered, plan);
        db.env.undecided = Some(Undecided::new());
        db
    }

    fn commit(&self, request: &WriteRequest) -> Result<()> {
        let committer = Committer {
            env: &self.env,
            protocol: self.protocol,
            queue: &self.queue,
            max_group_bytes: self.max_group_bytes,
            concurrent_inserts: self.concurrent_inserts,
        };
        // Every second write has prefetched from a generation some time ago.
        let looks = self.env.located.load(SeqCst).is_multiple_of(2);
        if self.protocol != CommitProtocol::Ordered || !looks {
            return committer.commit(request, None);
        }
        let prefetched = Prefetched {
            generation: self.env.generation.load(),
            hint: Some(()),
        };
        std::thread::yield_now();
        // A prefetched write of one entry has no batch.
        let keys = keys_of(request.logged())?;
        let mut write = request.write();
        if let [key] = &keys[..] {
            let op = SingleOp::new(0, ValueType::Value, key, b"v");
            write.operations = Operations::Single(op);
        }
        ordered::commit(&self.env, &write, Some(prefetched))
    }

    fn write(&self, keys: &[String], sync: bool, disable_wal: bool) -> Result<()> {
        let mut batch = Batch::default();
        for key in keys {
            batch.push(0, ValueType::Value, key.as_bytes(), b"v");
        }
        let flags = WriteFlags {
            sync,
            disable_wal,
            // Some writes read their own prefix.
            reads_own_prefix: keys.len() == 2 && !self.env.unordered,
            // Some wait before they are admitted.
            low_pri: keys.len() == 3,
            ..WriteFlags::default()
        };
        self.commit(&WriteRequest::new(batch, flags))
    }

    /// Runs writers. Returns the acknowledged keys, and whether each bypassed the log.
    fn run_writers(&self, threads: usize, per_thread: usize) -> Vec<(String, bool)> {
        let acked = Mutex::new(Vec::new());
        std::thread::scope(|s| {
            for t in 0..threads {
                let acked = &acked;
                s.spawn(move || {
                    for i in 0..per_thread {
                        let disable_wal = i % 7 == 3;
                        let sync = i % 5 == 0 && !disable_wal;
                        let keys: Vec<_> = (0..=i % 3).map(|n| format!("{t}-{i}-{n}")).collect();
                        if self.write(&keys, sync, disable_wal).is_ok() {
                            self.check_acknowledged(&keys, sync);
                            let keys = keys.into_iter().map(|k| (k, disable_wal));
                            acked.lock().extend(keys);
                        }
                    }
                });
            }
        });
        acked.into_inner()
    }

    /// C4: an acknowledged write is visible, as is everything before it, and with `sync`
    /// durable.
    fn check_acknowledged(&self, keys: &[String], sync: bool) {
        let visible = self.env.publication.visible();
        let inserted = self.env.inserted.lock();
        let seqs: Vec<u64> = keys
            .iter()
            .map(|key| {
                let mut mine = inserted.iter().filter(|(_, k)| **k == key.as_bytes());
                *mine.next().expect("inserted once acknowledged").0
            })
            .collect();
        let last = seqs.iter().copied().max().unwrap();
        assert_eq!(last - seqs[0], keys.len() as u64 - 1, "a batch is together");
        assert!(last <= visible, "C4: visible once acknowledged");
        let before = inserted.range(..=last).count() as u64;
        let whole = before == last || self.env.unordered;
        assert!(whole, "C2: with all that is before it");
        drop(inserted);
        assert!(!sync || self.env.durable.done() >= last);
    }

    /// Checks what holds for every run in which nothing failed.
    fn check_all(&self, acked: &[(String, bool)]) {
        let logged = self.env.logged();
        assert!(logged.is_sorted_by_key(|(seq, _)| *seq), "C1");
        let inserted = self.env.inserted.lock();
        assert_eq!(inserted.len(), acked.len());
        for (seq, key) in &logged {
            let kept = inserted.get(seq);
            assert_eq!(kept, Some(key), "the log and the memtable agree");
        }
        let in_log: std::collections::BTreeSet<_> = logged.into_iter().map(|(_, k)| k).collect();
        for (key, disable_wal) in acked {
            assert_eq!(in_log.contains(key.as_bytes()), !disable_wal, "{key}");
        }
        assert_eq!(self.env.publication.visible(), acked.len() as u64);
    }

    /// Checks what holds for every run in which something failed.
    fn check_failed(&self, acked: &[(String, bool)]) {
        assert!(self.env.failure.lock().is_some());
        let visible = self.env.publication.visible();
        assert_eq!(
            visible,
            acked.len() as u64,
            "exactly the acknowledged writes are visible"
        );
        assert!(self.write(&["late".to_owned()], false, false).is_err());
        assert_eq!(self.env.publication.visible(), visible, "C5");
    }
}

#[test]
fn log_order_is_sequence_order_and_holds_what_was_acknowledged() {
    for protocol in ALL {
        for threads in [1, 2, 8, 64] {
            let db = Db::new(protocol, Plan::default());
            let acked = db.run_writers(threads, 960 / threads);
            db.check_all(&acked);
            assert!(db.env.syncs.load(SeqCst) > 0);
        }
    }
}

#[test]
fn writers_go_on_over_switches_and_extensions_of_the_log() {
    for protocol in ALL {
        for switch_every in [1, 7, 100] {
            let plan = Plan {
                switch_every,
                ..Plan::default()
            };
            let db = Db::new(protocol, plan);
            let acked = db.run_writers(16, 60);
            db.check_all(&acked);
            assert!(db.env.logs.load(SeqCst) > 3, "{protocol}");
        }
    }
}

#[test]
fn inserts_one_by_one_keep_the_same_order() {
    for protocol in [CommitProtocol::Grouped, CommitProtocol::Pipelined] {
        let mut db = Db::new(protocol, Plan::default());
        db.concurrent_inserts = false;
        let acked = db.run_writers(8, 100);
        db.check_all(&acked);
        assert_eq!(db.env.most_inserting.load(SeqCst), 1, "{protocol}");
    }
}

/// A group has one batch where two would exceed the limit.
#[test]
fn groups_keep_to_their_bound_of_bytes() {
    for protocol in ALL {
        for (max_group_bytes, most) in [(1, 1), (1 << 20, 64)] {
            let mut db = Db::new(protocol, Plan::default());
            db.max_group_bytes = max_group_bytes;
            let acked = db.run_writers(64, 15);
            db.check_all(&acked);
            let grouped = db.env.most_grouped.load(SeqCst);
            assert!((1..=most).contains(&grouped), "{protocol}: {grouped}");
        }
    }
}

/// Whatever the option says, a group has few enough entries for the tail of a generation
/// and the header of a record.
#[test]
fn groups_have_a_bound_of_their_own() {
    let env = FakeEnv::new(Plan::default(), false);
    let leader = Leader {
        env: &env,
        max_group_bytes: usize::MAX,
    };
    let of_bytes = |bytes: usize| {
        let mut batch = Batch::default();
        batch.push(0, ValueType::Value, b"k", &vec![0; bytes]);
        WriteRequest::new(batch, WriteFlags::default())
    };
    let (large, small) = (of_bytes(1 << 20), of_bytes(10));
    let room = group::MAX_GROUP_BYTES - small.logged().bytes().len();
    assert!(leader.admits(&large, &small, room));
    assert!(!leader.admits(&large, &small, room + 1));
    assert!(!leader.admits(&large, &small, usize::MAX));
    // A larger batch is a group by itself.
    let huge = of_bytes(group::MAX_GROUP_BYTES);
    assert!(!leader.admits(&huge, &small, huge.logged().bytes().len()));
    // The limit for small leaders still applies.
    assert!(!leader.admits(&small, &large, small.logged().bytes().len()));
}

#[test]
fn after_a_failed_log_write_nothing_is_acknowledged_or_visible() {
    for protocol in ALL {
        for append in [1, 2, 17, 60] {
            let plan = Plan {
                append,
                ..Plan::default()
            };
            let db = Db::new(protocol, plan);
            let acked = db.run_writers(8, 100);
            db.check_failed(&acked);
        }
    }
}

#[test]
fn after_a_failed_insert_it_and_what_follows_fails() {
    for protocol in STRICT {
        for insert in [1, 5, 200] {
            let plan = Plan {
                insert,
                switch_every: insert % 3,
                ..Plan::default()
            };
            let db = Db::new(protocol, plan);
            let acked = db.run_writers(8, 100);
            assert!(db.env.publication.visible() < insert, "C5");
            db.check_failed(&acked);
        }
    }
}

/// Grouped and pipelined writers abort the process instead: other members of the group
/// point into the stack that unwinds.
#[test]
fn a_panic_after_the_reservation_fails_the_write_and_hangs_nobody() {
    for protocol in [CommitProtocol::Ordered, CommitProtocol::Unordered] {
        let plan = Plan {
            panic: 40,
            ..Plan::default()
        };
        let db = Db::new(protocol, plan);
        let panicked = AtomicU64::new(0);
        std::thread::scope(|s| {
            for t in 0..8 {
                let (db, panicked) = (&db, &panicked);
                s.spawn(move || {
                    for i in 0..20 {
                        let write = || db.write(&[format!("{t}-{i}")], false, false);
                        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(write));
                        panicked.fetch_add(u64::from(caught.is_err()), SeqCst);
                    }
                });
            }
        });
        assert_eq!(panicked.load(SeqCst), 1);
        let visible = db.env.publication.visible();
        if db.env.unordered {
            assert!(visible >= 40, "published before it was inserted");
            let pending = &db.env.generation.load().pending;
            assert!(pending.wait().is_err(), "nobody flushes what lacks it");
        } else {
            assert_eq!(visible, 39);
        }
        assert!(db.write(&["late".to_owned()], false, false).is_err());
    }
}

#[test]
fn a_failed_sync_is_told_to_whoever_asked_and_stops_writes() {
    for protocol in ALL {
        let plan = Plan {
            sync: 3,
            ..Plan::default()
        };
        let db = Db::new(protocol, plan);
        for i in 0..2 {
            db.write(&[format!("{i}")], true, false).unwrap();
        }
        let failed = db.write(&["2".to_owned()], true, false);
        assert!(failed.unwrap_err().to_string().contains("planted sync"));
        assert!(db.write(&["3".to_owned()], false, false).is_err());
        assert!(db.env.durable.done() < 3);
    }
}

/// A located entry takes memory of the memtable, which is not returned while a full disk
/// keeps the memtable from being flushed.
#[test]
fn writes_that_the_log_has_no_room_for_are_located_once() {
    let db = Db::new(CommitProtocol::Ordered, Plan::default());
    db.write(&["a".to_owned()], false, false).unwrap();
    db.env.fs.add_rule(Rule {
        ops: OpSet::of(&[FaultOp::Extend]),
        path: PathMatch::Any,
        when: When::Nth(1),
        fault: Fault::Enospc,
        sticky: true,
    });
    let large = ["b".repeat(1000)];
    for _ in 0..20 {
        let refused = db.write(&large, false, false).unwrap_err();
        assert!(refused.is_no_space(), "{refused}");
    }
    assert_eq!(db.env.located.load(SeqCst), 2, "and the one before");
    db.env.fs.clear_rules();
    for _ in 0..2 {
        db.write(&large, false, false).unwrap();
    }
    assert_eq!(db.env.located.load(SeqCst), 3, "there is room again");
    assert_eq!(db.env.publication.visible(), 3);
}

/// A large entry does not take its memory twice when the log has to be extended.
#[test]
fn a_write_that_extends_the_log_inserts_what_it_has_located() {
    let db = Db::new(CommitProtocol::Ordered, Plan::default());
    for size in [10, 1_000, 100_000] {
        db.write(&["k".repeat(size)], false, false).unwrap();
    }
    assert_eq!(db.env.located.load(SeqCst), 3);
    assert_eq!(db.env.unlocated.load(SeqCst), 0);
    assert_eq!(db.env.deferred.load(SeqCst), 3, "when they were visible");
}

/// The same where a new log is needed and cannot be created.
#[test]
fn writes_that_no_log_can_be_made_for_are_located_once() {
    let db = Db::new(CommitProtocol::Ordered, Plan::default());
    let first = db.env.generation.load().wal.clone();
    let end = End {
        last: 0,
        offset: MAX_OFFSET - 1,
    };
    let full = Generation::new(MemtableMap::default(), first, 0, end);
    db.env.generation.store(Arc::new(full));
    db.env.fs.add_rule(Rule {
        ops: OpSet::of(&[FaultOp::Create]),
        path: PathMatch::Any,
        when: When::Nth(1),
        fault: Fault::Enospc,
        sticky: true,
    });
    let keys = ["a".to_owned()];
    for _ in 0..20 {
        let refused = db.write(&keys, false, false).unwrap_err();
        assert!(refused.is_no_space(), "{refused}");
    }
    assert_eq!(db.env.located.load(SeqCst), 1);
    db.env.fs.clear_rules();
    for _ in 0..2 {
        db.write(&keys, false, false).unwrap();
    }
    assert_eq!(db.env.located.load(SeqCst), 2, "there is room again");
    assert_eq!(db.env.publication.visible(), 2);
}

/// The failure concerns the caller alone.
#[test]
fn a_write_that_is_not_admitted_takes_no_number() {
    for protocol in ALL {
        let db = Db::new(protocol, Plan::default());
        let mut batch = Batch::default();
        batch.push(0, ValueType::Value, b"a", b"v");
        let stalled = WriteFlags {
            low_pri: true,
            no_slowdown: true,
            ..WriteFlags::default()
        };
        let refused = db.commit(&WriteRequest::new(batch, stalled));
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Incomplete);
        db.write(&["b".to_owned()], false, false).unwrap();
        assert_eq!(db.env.publication.visible(), 1);
        assert_eq!(db.env.admitted.load(SeqCst), 0);
    }
}

#[test]
fn an_empty_batch_takes_no_number_and_syncs_if_asked() {
    for protocol in ALL {
        let db = Db::new(protocol, Plan::default());
        db.write(&["a".to_owned()], false, false).unwrap();
        for sync in [false, true] {
            let flags = WriteFlags {
                sync,
                ..WriteFlags::default()
            };
            let batch = Batch::default();
            db.commit(&WriteRequest::new(batch, flags)).unwrap();
            assert_eq!(db.env.durable.done() >= 1, sync, "{protocol}");
        }
        assert_eq!(db.env.publication.visible(), 1);
        assert_eq!(db.env.records().len(), 1);
    }
}

#[test]
fn a_batch_of_log_data_alone_keeps_its_place_in_the_log() {
    for protocol in ALL {
        let db = Db::new(protocol, Plan::default());
        db.write(&["a".to_owned()], false, false).unwrap();
        let mut batch = Batch::default();
        batch.push_log_data(b"for readers of the log");
        let flags = WriteFlags {
            sync: true,
            ..WriteFlags::default()
        };
        db.commit(&WriteRequest::new(batch, flags)).unwrap();
        db.write(&["b".to_owned()], false, false).unwrap();
        assert_eq!(db.env.records().len(), 3);
        let keys: Vec<_> = db.env.logged().into_iter().map(|(_, k)| k).collect();
        assert_eq!(keys, [b"a", b"b"]);
        assert_eq!(db.env.publication.visible(), 3, "one number for the data");
    }
}

impl Db {
    /// Calls `look` while a writer of `keys` is held at its insert. Then releases the
    /// writer, and returns its result.
    fn while_held(&self, keys: &[&str], look: impl FnOnce()) -> Result<()> {
        let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
        std::thread::scope(|s| {
            let writer = s.spawn(|| self.write(&keys, false, false));
            self.env.held.await_writer();
            look();
            self.env.held.let_go();
            writer.join().unwrap()
        })
    }
}

fn holding(protocol: CommitProtocol, hold: u64) -> Db {
    let plan = Plan {
        hold,
        ..Plan::default()
    };
    Db::new(protocol, plan)
}

/// Only unordered writes do this: two reads of one snapshot differ.
#[test]
fn a_snapshot_of_unordered_writes_changes() {
    let db = holding(CommitProtocol::Unordered, 1);
    let mut snapshot = 0;
    let written = db.while_held(&["a"], || {
        snapshot = db.env.publication.visible();
        assert_eq!(snapshot, 1, "published before it is inserted");
        assert!(db.env.seen_at(snapshot).is_empty());
        // Other writers do not wait for it, and read what they have written.
        db.write(&["b".to_owned()], true, false).unwrap();
        assert_eq!(db.env.seen_at(db.env.publication.visible()), ["b"]);
    });
    written.unwrap();
    assert_eq!(db.env.seen_at(snapshot), ["a"]);
}

/// Only unordered writes do this: a reader sees half a batch.
#[test]
fn half_a_batch_of_unordered_writes_is_seen() {
    let db = holding(CommitProtocol::Unordered, 2);
    let written = db.while_held(&["a", "b", "c"], || {
        let visible = db.env.publication.visible();
        assert_eq!(visible, 3);
        assert_eq!(db.env.seen_at(visible), ["a"]);
    });
    written.unwrap();
    assert_eq!(db.env.seen_at(3), ["a", "b", "c"]);
}

/// The strict protocols do neither, at the same moments.
#[test]
fn snapshots_stay_and_batches_are_whole_with_strict_protocols() {
    for protocol in STRICT {
        let db = holding(protocol, 2);
        let written = db.while_held(&["a", "b", "c"], || {
            let visible = db.env.publication.visible();
            assert_eq!(visible, 0, "{protocol}");
            assert!(db.env.seen_at(visible).is_empty());
        });
        written.unwrap();
        assert_eq!(db.env.publication.visible(), 3);
        assert_eq!(db.env.seen_at(3), ["a", "b", "c"]);
    }
}

/// A switch does not wait for writers, and a flush of the old generation can tell that it is
/// incomplete.
#[test]
fn pending_inserts_are_waited_for_by_generation() {
    let db = holding(CommitProtocol::Unordered, 1);
    let before = db.env.generation.load_full();
    std::thread::scope(|s| {
        let mut flush = None;
        let written = db.while_held(&["a"], || {
            db.env.switch().unwrap();
            assert!(!before.pending.is_settled());
            flush = Some(s.spawn(|| {
                before.pending.wait().unwrap();
                db.env.seen_at(1)
            }));
            db.write(&["b".to_owned()], false, false).unwrap();
            assert!(db.env.generation.load().pending.is_settled());
            assert!(!before.pending.is_settled());
        });
        written.unwrap();
        assert_eq!(flush.unwrap().join().unwrap(), ["a"]);
    });
}

#[test]
fn an_unordered_insert_that_fails_stops_writes_and_flushes() {
    let plan = Plan {
        insert: 2,
        ..Plan::default()
    };
    let db = Db::new(CommitProtocol::Unordered, plan);
    let keys = ["a", "b", "c"].map(str::to_owned);
    assert!(db.write(&keys, false, false).is_err());
    assert_eq!(db.env.publication.visible(), 3, "as it was logged");
    assert_eq!(db.env.seen_at(3), ["a"]);
    assert!(db.write(&["late".to_owned()], false, false).is_err());
    assert!(db.env.generation.load().pending.wait().is_err());
    assert_eq!(db.env.logged().len(), 3, "recovery finds all of it");
}

/// The point of pipelining: a group is appended and inserted while the previous group is
/// still being inserted. It becomes visible after the previous group all the same.
#[test]
fn a_group_is_logged_beside_the_inserts_of_the_one_before() {
    let db = holding(CommitProtocol::Pipelined, 1);
    std::thread::scope(|s| {
        let mut second = None;
        let written = db.while_held(&["a"], || {
            second = Some(s.spawn(|| db.write(&["b".to_owned()], true, false)));
            while db.env.inserted.lock().get(&2).is_none() {
                std::thread::yield_now();
            }
            assert_eq!(db.env.logged().len(), 2);
            assert_eq!(db.env.publication.visible(), 0, "C2");
            assert!(db.env.seen_at(0).is_empty());
        });
        written.unwrap();
        second.unwrap().join().unwrap().unwrap();
        assert_eq!(db.env.publication.visible(), 2);
    });
}

/// A batch under way is not seen at all, others are, and no snapshot changes.
#[test]
fn snapshots_of_unordered_writes_stay_if_numbers_are_undecided_until_inserted() {
    let plan = Plan {
        hold: 2,
        ..Plan::default()
    };
    let db = Db::deciding(plan);
    let mut snapshots = Vec::new();
    let written = db.while_held(&["a", "b", "c"], || {
        assert_eq!(db.env.publication.visible(), 3);
        snapshots.push((db.env.point(), vec![]));
        db.write(&["d".to_owned()], false, false).unwrap();
        snapshots.push((db.env.point(), vec!["d".to_owned()]));
        for (point, seen) in &snapshots {
            assert_eq!(db.env.seen(point), *seen);
        }
    });
    written.unwrap();
    assert_eq!(db.env.point(), (4, None));
    assert_eq!(db.env.seen_at(4), ["a", "b", "c", "d"]);
    for (point, seen) in snapshots {
        assert_eq!(db.env.seen(&point), seen);
    }
}

#[test]
fn nothing_is_undecided_once_all_unordered_writers_have_returned() {
    for switch_every in [0, 7] {
        let db = Db::deciding(Plan {
            switch_every,
            ..Plan::default()
        });
        let stop = AtomicU64::new(0);
        std::thread::scope(|s| {
            let reader = s.spawn(|| {
                let mut taken = Vec::new();
                while stop.load(SeqCst) == 0 {
                    let point = db.env.point();
                    let seen = db.env.seen(&point);
                    let key_of = |key: &String| key.rsplit_once('-').unwrap().0.to_owned();
                    for batch in seen.chunk_by(|a, b| key_of(a) == key_of(b)) {
                        let i: usize = key_of(&batch[0])
                            .split_once('-')
                            .unwrap()
                            .1
                            .parse()
                            .unwrap();
                        assert_eq!(batch.len(), i % 3 + 1, "a part of {batch:?}");
                    }
                    taken.push((point, seen));
                    std::thread::yield_now();
                }
                for (point, seen) in taken {
                    assert_eq!(db.env.seen(&point), seen, "a snapshot that changes");
                }
            });
            let acked = db.run_writers(8, 60);
            stop.store(1, SeqCst);
            reader.join().unwrap();
            db.check_all(&acked);
        });
        assert_eq!(db.env.undecided.as_ref().unwrap().now(), None);
    }
}

#[test]
fn nothing_of_an_unordered_insert_that_failed_is_seen_if_its_numbers_are_undecided() {
    let db = Db::deciding(Plan {
        insert: 2,
        ..Plan::default()
    });
    let keys = ["a", "b", "c"].map(str::to_owned);
    assert!(db.write(&keys, false, false).is_err());
    assert_eq!(db.env.publication.visible(), 3, "as it was logged");
    assert_eq!(db.env.seen_at(3), ["a"], "what is in the memtable");
    assert!(db.env.seen(&db.env.point()).is_empty());
    assert_eq!(db.env.logged().len(), 3, "recovery finds all of it");
}

/// What is never published is not undecided for ever, either.
#[test]
fn a_failed_log_write_leaves_no_undecided_numbers() {
    for append in [1, 17] {
        let db = Db::deciding(Plan {
            append,
            ..Plan::default()
        });
        let acked = db.run_writers(8, 40);
        db.check_failed(&acked);
        assert_eq!(db.env.undecided.as_ref().unwrap().now(), None);
    }
    // A write behind one that has a number and never comes to an end.
    let db = Db::deciding(Plan::default());
    assert!(db.env.generation.load().reserve(1, None).is_ok());
    assert!(db.write(&["a".to_owned()], false, false).is_err());
    assert_eq!(db.env.publication.visible(), 0);
    assert_eq!(db.env.undecided.as_ref().unwrap().now(), None);
}
