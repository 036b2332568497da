//! File systems that fail.
//!
//! A round opens a database in memory several times. While threads work on it, file system
//! operations fail or are slow at random. Calls may fail, but must not return wrong
//! results. When failures stop, reads must work again on the same database, and it must resume
//! by itself unless its options or the failure exclude that. In half of the lives no thread
//! resumes it meanwhile. The next opening must find all acknowledged writes, and every other write
//! completely or not at all.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use whitewater::fs::fault::{Fault, FaultFs, FaultOp, OpSet, PathMatch, Rule, When};
use whitewater::fs::mem::MemFs;
use whitewater::{ErrorKind, Severity, WriteBatch};
use whitewater_concurrent::system;

use super::args::Args;
use super::journal::NullJournal;
use super::key_model::{Shape, Slot, Version};
use super::model::Expected;
use super::random_options::RandomOptions;
use super::script;
use super::simulate;
use super::store::{self, Db};
use super::transient_families::TransientFamilies;
use super::worker::{Context, Ingests, Log, Operation, Stop, Worker, WorkerResult, run_threads};

/// How often one database is opened and killed.
const LIVES: u64 = 4;
/// How many attempts to open the database may fail.
const OPENINGS: usize = 5;
/// How long the database may take to resume, and how long to wait before looking again.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(5);

/// Runs one round. Returns how many failures were injected.
///
/// # Errors
/// What went wrong, and under which options.
pub fn round(args: &Args, round: u64) -> Result<u64, String> {
    let seed = args.seed.wrapping_add(round);
    let mut rng = StdRng::seed_from_u64(seed ^ 0x6661_756c);
    let mut life = Life {
        shape: simulate::shape(args, seed),
        memory: MemFs::new(),
        content: BTreeMap::new(),
        next: 0,
    };
    let mut injected = 0;
    for _ in 0..LIVES {
        let options = RandomOptions::new(rng.random());
        let rules = rules(&mut rng);
        let said = format!("{rules:?}, {options}");
        script::log(|| format!("opening with {said}"));
        let lived = life.live(args, &options, rules, &mut rng);
        injected += lived.map_err(|what| format!("{what}\nwith {said}"))?;
    }
    Ok(injected)
}

/// A database that is opened again and again.
struct Life {
    shape: Shape,
    memory: MemFs,
    content: BTreeMap<Slot, Version>,
    next: Version,
}

impl Life {
    fn live(
        &mut self,
        args: &Args,
        options: &RandomOptions,
        rules: Vec<Rule>,
        rng: &mut StdRng,
    ) -> Result<u64, String> {
        let faults = FaultFs::new(Arc::new(self.memory.clone()));
        let slow = Slow::draw(rng);
        simulate::observe(&faults, move |op| slow.wait(op));
        let from_the_start = rng.random_bool(0.3);
        if from_the_start {
            add(&faults, &rules);
        }
        let db = self.open(&faults, options)?;
        if !from_the_start {
            add(&faults, &rules);
        }
        let seed = rng.random();
        let transient = TransientFamilies::new(self.shape, &self.content, self.next);
        let log = draw_log(rng);
        let mut without = args.without.clone();
        without.extend(rng.random_bool(0.5).then_some(Operation::Resume));
        let context = |faulty| Context {
            db: &db,
            dir: Path::new(store::DIR),
            fs: Arc::new(faults.clone()),
            options,
            shape: self.shape,
            transient: &transient,
            journal: &NullJournal,
            faulty,
            ingests: Ingests::Anytime,
            log,
            without: &without,
        };
        let left = self.work(args, &context(true), &context(false), &faults, seed)?;
        if options.resumes() {
            await_resumption(&db)?;
        }
        let injected = faults.injected().len() as u64;
        // The process dies, and with it everything that only the process had.
        self.memory = self.memory.after_kill();
        drop(db);
        let (mut expected, highest) = transient.outcome();
        self.next = self.next.max(highest);
        for (thread, result) in (0..).zip(&left) {
            let shape = self.shape;
            expected.merge(&result.kept, |slot| shape.is_of(thread, slot));
            self.next = self.next.max(result.next);
        }
        let db = store::open(
            Path::new(store::DIR),
            simulate::observed(&self.memory),
            options,
            self.shape,
        );
        let db = db.map_err(|e| format!("opening after failures: {e}"))?;
        let after = |e| format!("after failures: {e}");
        self.content = store::check(&db, self.shape, &expected).map_err(after)?;
        let mut uncertain = left.iter().flat_map(|result| &result.uncertain);
        uncertain
            .try_for_each(|uncertain| uncertain.check(&self.content))
            .map_err(after)?;
        Ok(injected)
    }

    /// Opens the database, retrying as long as failures may be the cause.
    fn open(&self, faults: &FaultFs, options: &RandomOptions) -> Result<Db, String> {
        let open = || {
            store::open(
                Path::new(store::DIR),
                Arc::new(faults.clone()),
                options,
                self.shape,
            )
        };
        for _ in 0..OPENINGS {
            if let Ok(db) = open() {
                return Ok(db);
            }
        }
        faults.clear_rules();
        open().map_err(|e| format!("opening once nothing fails: {e}"))
    }

    /// Runs the threads, then stops the failures and checks what the threads know.
    fn work(
        &self,
        args: &Args,
        failing: &Context<'_>,
        sound: &Context<'_>,
        faults: &FaultFs,
        seed: u64,
    ) -> Result<Vec<WorkerResult>, String> {
        let work = |thread| -> Result<Worker<'_>, Stop> {
            let mine = Expected::exactly(&self.content);
            let mut worker = Worker::new(failing, thread, seed, mine, self.next)?;
            (0..simulate::ops(args)).try_for_each(|_| worker.step())?;
            Ok(worker)
        };
        let (workers, ()) = run_threads(args.threads, work, || ())?;
        faults.clear_rules();
        let ended = workers.into_iter().map(|worker| {
            let mut worker = worker.move_to(sound);
            worker
                .check_all()
                .map_err(|e| format!("once nothing fails: {e}"))?;
            Ok(worker.retire())
        });
        ended.collect()
    }
}

/// Waits until the database takes writes again, if a resumption is enough for that.
fn await_resumption(db: &Db) -> Result<(), String> {
    let mut left = PATIENCE;
    // A batch of nothing, which leaves the content as it is.
    while let Err(e) = db.write(WriteBatch::default()) {
        let severity = e.severity();
        if severity > Severity::HardError || e.kind() != ErrorKind::IOError {
            return Ok(());
        }
        left = left.saturating_sub(PAUSE);
        if left.is_zero() {
            return Err(format!("it does not resume by itself: {e}, {severity}"));
        }
        system::sleep(PAUSE);
    }
    Ok(())
}

/// How much of the writes is logged.
fn draw_log(rng: &mut StdRng) -> Log {
    if rng.random_bool(0.3) {
        Log::Mostly
    } else {
        Log::Always
    }
}

/// Operations that are slow at random.
struct Slow {
    ops: OpSet,
    chance: f64,
    time: Duration,
    rng: Mutex<StdRng>,
}

impl Slow {
    fn draw(rng: &mut StdRng) -> Slow {
        let kinds = [
            OpSet::of(&[FaultOp::Sync, FaultOp::SyncDir]),
            OpSet::of(&[FaultOp::Append, FaultOp::Create]),
            OpSet::READS,
            OpSet::ALL,
        ];
        Slow {
            ops: *kinds.choose(rng).expect("some"),
            chance: *[0.0, 0.0, 0.001, 0.01].choose(rng).expect("some"),
            time: Duration::from_micros(*[100, 3_000, 20_000].choose(rng).expect("some")),
            rng: Mutex::new(StdRng::seed_from_u64(rng.random())),
        }
    }

    /// Called before each operation; sleeps if the operation is to be slow.
    fn wait(&self, op: FaultOp) {
        let is_slow = self.ops.contains(op) && {
            let mut rng = self.rng.lock().unwrap_or_else(PoisonError::into_inner);
            rng.random_bool(self.chance)
        };
        if is_slow {
            system::sleep(self.time);
        }
    }
}

/// Makes operations fail by `rules`.
pub fn add(faults: &FaultFs, rules: &[Rule]) {
    for rule in rules {
        faults.add_rule(rule.clone());
    }
}

/// Random failures: one kind often, or a few kinds rarely.
pub fn rules(rng: &mut StdRng) -> Vec<Rule> {
    let kinds = [
        OpSet::WRITES,
        OpSet::READS,
        OpSet::ALL,
        OpSet::of(&[FaultOp::Sync, FaultOp::SyncDir]),
        OpSet::of(&[FaultOp::Append, FaultOp::Extend]),
        OpSet::of(&[FaultOp::Rename, FaultOp::Create, FaultOp::Remove]),
        OpSet::of(&[FaultOp::ReadAt]),
    ];
    let paths = ["", "", "", ".log", ".sst", "MANIFEST", "CURRENT", "OPTIONS"];
    let count = rng.random_range(1..=3);
    let rules = (0..count).map(|_| Rule {
        ops: *kinds.choose(rng).expect("some"),
        path: match *paths.choose(rng).expect("some") {
            "" => PathMatch::Any,
            part => PathMatch::Contains(part.to_owned()),
        },
        when: if rng.random_bool(0.5) {
            When::Nth(rng.random_range(1..2000))
        } else {
            When::Chance {
                probability: *[0.1, 0.01, 0.001].choose(rng).expect("some"),
                seed: rng.random(),
            }
        },
        fault: *[Fault::Eio, Fault::Enospc, Fault::ShortWrite]
            .choose(rng)
            .expect("some"),
        sticky: rng.random_bool(0.2),
    });
    rules.collect()
}
