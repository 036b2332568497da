//! The process is killed, or the power is cut, at each operation of the file system, and each
//! transaction is what it has to be at the next opening, and it is decided there for good.

use super::recovery::{get, keeping, names};
use super::{PROTOCOLS, logs, options, prepare, puts};
use crate::db::Engine;
use crate::db::two_phase::PreparedSection;
use crate::listener::FlushReason;
use crate::options::read::{ReadSpec, WriteSpec};
use crate::options::write_policy::WritePolicy;
use crate::{CommitProtocol, DB, DBRecoveryMode, Options, Point};
use bytes::Bytes;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use whitewater_storage::batch::Batch;
use whitewater_storage::filename;
use whitewater_storage::fs::fault::{FaultFs, FaultOp, OpSet, PathMatch, Rule};
use whitewater_storage::fs::mem::MemFs;
use whitewater_storage::fs::{Fs, read_file};
use whitewater_storage::key::ValueType;
use whitewater_storage::wal::RecoveryMode;

/// How far a transaction is. A state ending in `ing` may turn out either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Preparing,
    Prepared,
    Committing,
    Committed,
    RollingBack,
    RolledBack,
}

/// The states of the transactions at one moment, by name.
type States = BTreeMap<&'static str, State>;

const MODES: [RecoveryMode; 2] = [
    RecoveryMode::PointInTime,
    RecoveryMode::TolerateCorruptedTailRecords,
];

/// One image in so many is checked.
const EVERY: usize = 8;

/// How a database is opened.
#[derive(Debug, Clone, Copy)]
struct How {
    protocol: CommitProtocol,
    policy: WritePolicy,
    mode: RecoveryMode,
}

/// Each protocol with each policy, and the modes in turn.
fn all() -> impl Iterator<Item = How> {
    let policies = [WritePolicy::WriteCommitted, WritePolicy::WritePrepared];
    let of = |policy| PROTOCOLS.map(|protocol| (protocol, policy));
    let both = policies.into_iter().flat_map(of);
    let modes = MODES.into_iter().cycle();
    both.zip(modes).map(|((protocol, policy), mode)| How {
        protocol,
        policy,
        mode,
    })
}

/// What the files were at one moment.
struct Image {
    what: String,
    fs: MemFs,
    states: States,
}

/// A database that is killed at each operation.
struct Run {
    how: How,
    faulty: FaultFs,
    engine: Arc<Engine>,
    states: Arc<Mutex<States>>,
    images: Arc<Mutex<Vec<Image>>>,
    /// Holds up the next writer that has its place until another one is logged behind it.
    armed: Arc<AtomicBool>,
    behind: Arc<AtomicBool>,
}

fn open(
    fs: Arc<dyn Fs>,
    how: How,
    at_points: impl Fn(Point, u64) + Send + Sync + 'static,
) -> whitewater_storage::Result<Arc<Engine>> {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options.set_fs(fs);
    options.set_commit_protocol(how.protocol);
    options.set_write_policy(how.policy);
    options.set_failpoints(at_points);
    let mut db = options.db_options()?;
    db.allow_2pc = true;
    db.wal_recovery_mode = how.mode;
    let families = ["default", "other"];
    let families = families.map(|name| (name.to_owned(), options.cf_options().unwrap()));
    Engine::open(Path::new("/db"), db, families.into())
}

const SYNCED: WriteSpec = WriteSpec {
    sync: true,
    disable_wal: false,
    no_slowdown: false,
    low_pri: false,
    ignore_missing_column_families: false,
    insert_hint: false,
    protection_bytes_per_key: 0,
};

/// A batch that puts `name` in both families.
fn entries(name: &str) -> Batch {
    let mut batch = puts(&[name]);
    batch.push(1, ValueType::Value, name.as_bytes(), name.as_bytes());
    batch
}

impl Run {
    fn new(how: How) -> Run {
        let mem = MemFs::new();
        let faulty = FaultFs::new(Arc::new(mem.clone()));
        let [armed, behind]: [Arc<AtomicBool>; 2] = Default::default();
        let (trap, logged) = (armed.clone(), Arc::clone(&behind));
        let at_points = move |point, _| match point {
            Point::Reserved if trap.swap(false, Ordering::SeqCst) => {
                while !logged.swap(false, Ordering::SeqCst) {
                    thread::yield_now();
                }
            }
            Point::Appended => logged.store(true, Ordering::SeqCst),
            _ => {}
        };
        let engine = open(Arc::new(faulty.clone()), how, at_points).unwrap();
        let run = Run {
            how,
            faulty,
            engine,
            states: Arc::default(),
            images: Arc::default(),
            armed,
            behind,
        };
        let (states, images) = (run.states.clone(), run.images.clone());
        run.faulty.set_observer(Arc::new(move |op, path| {
            if path.ends_with("LOG") {
                return;
            }
            // Held meanwhile: nothing is acknowledged between the states and the image.
            let states = states.lock();
            let mut images = images.lock();
            let at = images.len() as u64;
            let cut = if at.is_multiple_of(2) {
                mem.after_kill()
            } else {
                mem.crash_clone(0.5, at)
            };
            images.push(Image {
                what: format!("{at}: {op:?} of {}", path.display()),
                fs: cut,
                states: states.clone(),
            });
        }));
        run
    }

    fn set(&self, name: &'static str, state: State) {
        self.states.lock().insert(name, state);
    }

    /// Prepares a transaction that puts its name in both families.
    fn prepare(&self, name: &'static str) -> PreparedSection {
        self.set(name, State::Preparing);
        let section = (self.engine).prepare_section(name.as_bytes(), &entries(name), &SYNCED);
        let section = section.unwrap();
        self.set(name, State::Prepared);
        section
    }

    fn commit(&self, name: &'static str, section: &PreparedSection) {
        self.set(name, State::Committing);
        self.engine.commit_section(section, None, &SYNCED).unwrap();
        self.set(name, State::Committed);
    }

    fn roll_back(&self, name: &'static str, section: &PreparedSection) {
        self.set(name, State::RollingBack);
        self.engine.rollback_section(section, &SYNCED).unwrap();
        self.set(name, State::RolledBack);
    }

    fn put(&self) {
        for cf in [0, 1] {
            let done = self
                .engine
                .write_one(cf, ValueType::Value, b"k", b"v", &SYNCED);
            done.unwrap();
        }
    }

    fn flush(&self, cf: u32) {
        let family = &self.engine.column_families()[cf as usize];
        self.engine
            .flush(std::slice::from_ref(family), FlushReason::ManualFlush, true)
            .unwrap();
    }

    /// Runs `step` and, once it has its place in the log, a write that is logged behind it.
    fn behind<T: Send>(&self, step: impl FnOnce() -> T + Send) -> T {
        self.behind.store(false, Ordering::SeqCst);
        self.armed.store(true, Ordering::SeqCst);
        thread::scope(|s| {
            let held = s.spawn(step);
            while self.armed.load(Ordering::SeqCst) {
                thread::yield_now();
            }
            let behind = (self.engine).write_one(0, ValueType::Value, b"behind", b"v", &SYNCED);
            assert!(behind.is_err());
            held.join().unwrap()
        })
    }

    /// Checks all images so far.
    fn check(&self) {
        let images = std::mem::take(&mut *self.images.lock());
        assert!(images.len() > 20, "{} images", images.len());
        // Openings take a while. Each protocol begins with another image.
        let chosen = images
            .iter()
            .skip(self.how.protocol as usize)
            .step_by(EVERY);
        for (at, image) in chosen.enumerate() {
            let what = format!("{:?}, {}", self.how, image.what);
            if at % 8 == 4 {
                self.check_openings(image, &what);
            }
            self.check_image(image, &what);
        }
        self.engine.close();
    }

    /// The opening of `image` is killed at each of its operations, too.
    fn check_openings(&self, image: &Image, what: &str) {
        let (mem, images) = (image.fs.after_kill(), Arc::new(Mutex::new(Vec::new())));
        let faulty = FaultFs::new(Arc::new(mem.clone()));
        let taken = images.clone();
        faulty.set_observer(Arc::new(move |_, path: &Path| {
            if !path.ends_with("LOG") {
                taken.lock().push(mem.after_kill());
            }
        }));
        let open = |fs: Arc<dyn Fs>| open(fs, self.how, |_, _| ());
        let engine = open(Arc::new(faulty)).unwrap_or_else(|e| panic!("{what}: {e}"));
        let first = found(&engine, image, what);
        engine.close();
        for (at, fs) in images.lock().drain(..).enumerate() {
            let what = format!("{what}, opening killed at {at}");
            let engine = open(Arc::new(fs)).unwrap_or_else(|e| panic!("{what}: {e}"));
            assert_eq!(found(&engine, image, &what), first, "{what}");
            engine.close();
        }
    }

    fn check_image(&self, image: &Image, what: &str) {
        let fs = Arc::new(image.fs.clone());
        let open = || open(fs.clone(), self.how, |_, _| ());
        let engine = open().unwrap_or_else(|e| panic!("{what}: {e}"));
        let first = found(&engine, image, what);
        for section in engine.prepared_sections() {
            engine.commit_section(&section, None, &SYNCED).unwrap();
        }
        engine.close();
        drop(engine);
        let engine = open().unwrap_or_else(|e| panic!("{what}, decided: {e}"));
        for (name, (prepared, _)) in &first {
            let now = (false, *prepared || is_there(&engine, name, what));
            let is_there = is_there(&engine, name, what);
            assert_eq!((false, is_there), now, "{what}: {name}, decided");
        }
        assert!(engine.prepared_sections().is_empty(), "{what}: decided");
        engine.close();
    }
}

/// Whether each transaction is prepared and whether it is committed, both checked against
/// the states of `image`.
fn found(engine: &Engine, image: &Image, what: &str) -> BTreeMap<&'static str, (bool, bool)> {
    let sections = engine.prepared_sections();
    let names: Vec<_> = sections.iter().map(|s| s.name().to_vec()).collect();
    let found = image.states.iter().map(|(name, state)| {
        let prepared = names.contains(&name.as_bytes().to_vec());
        let committed = is_there(engine, name, what);
        let right = match state {
            State::Preparing | State::RollingBack => !committed,
            State::Prepared => prepared && !committed,
            State::Committing => prepared != committed,
            State::Committed => committed && !prepared,
            State::RolledBack => !committed && !prepared,
        };
        assert!(
            right,
            "{what}: {name} is {state:?}: {prepared}, {committed}"
        );
        (*name, (prepared, committed))
    });
    let found: BTreeMap<_, _> = found.collect();
    let known = found.values().filter(|(prepared, _)| *prepared).count();
    assert_eq!(known, names.len(), "{what}: {names:?}");
    found
}

/// Whether the entries of `name` are there: in both families, or in none.
fn is_there(engine: &Engine, name: &str, what: &str) -> bool {
    let families = engine.column_families();
    let there = families.iter().map(|cf| {
        let found = engine.get::<Bytes>(cf, name.as_bytes(), &ReadSpec::default());
        found.unwrap().is_some()
    });
    let there: Vec<bool> = there.collect();
    assert!(
        there.windows(2).all(|pair| pair[0] == pair[1]),
        "{what}: {name} in part: {there:?}"
    );
    there[0]
}

/// Sections are decided in the log that has them and in later ones, before and after flushes
/// of either family.
#[test]
fn a_killed_process_leaves_each_transaction_prepared_or_decided() {
    for how in all() {
        let run = Run::new(how);
        run.put();
        let a = run.prepare("a");
        let b = run.prepare("b");
        run.put();
        run.flush(0);
        let c = run.prepare("c");
        run.commit("a", &a);
        run.flush(1);
        run.roll_back("b", &b);
        run.put();
        run.flush(0);
        let d = run.prepare("d");
        run.commit("c", &c);
        run.put();
        run.flush(1);
        run.flush(0);
        run.prepare("e");
        run.put();
        run.commit("d", &d);
        run.flush(0);
        run.check();
    }
}

/// A commit, a rollback and a prepare fail, and the process is killed before, in and after the
/// resumption from each.
#[test]
fn a_process_killed_in_a_resumption_leaves_each_transaction_prepared_or_decided() {
    for how in all() {
        fail_and_resume(how, FaultOp::Append, false);
    }
    for how in all().filter(|how| how.protocol == CommitProtocol::Ordered) {
        fail_and_resume(how, FaultOp::Sync, false);
    }
}

/// The record of a failed step is a hole in the log, with the whole record of a later write
/// behind it.
#[test]
fn a_hole_before_a_resumption_does_not_hide_prepared_sections() {
    for how in all().filter(|how| how.protocol == CommitProtocol::Ordered) {
        for mode in MODES {
            fail_and_resume(How { mode, ..how }, FaultOp::Append, true);
        }
    }
}

fn fail_and_resume(how: How, op: FaultOp, hole: bool) {
    let run = Run::new(how);
    let run = &run;
    run.put();
    let a = &run.prepare("a");
    let b = &run.prepare("b");
    run.flush(0);
    run.prepare("c");
    for name in ["a", "b", "d"] {
        let step = move || match name {
            "a" => {
                run.set("a", State::Committing);
                run.engine.commit_section(a, None, &SYNCED)
            }
            "b" => {
                run.set("b", State::RollingBack);
                run.engine.rollback_section(b, &SYNCED)
            }
            name => {
                run.set("d", State::Preparing);
                let section = (run.engine).prepare_section(b"d", &entries(name), &SYNCED);
                section.map(drop)
            }
        };
        // The write behind the hole is logged first.
        let rule = run.faulty.add_rule(Rule {
            path: PathMatch::EndsWith(".log".into()),
            ..Rule::nth(OpSet::of(&[op]), if hole { 2 } else { 1 })
        });
        let failed = if hole { run.behind(step) } else { step() };
        failed.unwrap_err();
        run.faulty.remove_rule(rule);
        run.engine.resume().unwrap();
        // The failed one is as before.
        match name {
            "d" => run.set("d", State::RolledBack),
            name => run.set(name, State::Prepared),
        }
        run.put();
    }
    run.commit("a", a);
    run.flush(0);
    run.roll_back("b", b);
    run.flush(1);
    run.check();
}

/// The files of a killed process that had prepared x, put k, had a place in the log for a write
/// that it did not finish, and had written another record behind that.
fn with_hole() -> MemFs {
    let fs = MemFs::new();
    let db = DB::open(&options(&fs, CommitProtocol::Ordered), "/db").unwrap();
    drop(prepare(db.engine(), "x", &["x"]));
    db.put("k", "1").unwrap();
    let written = || db.engine().commit.generations.load().end().unwrap().offset as usize;
    let from = written();
    db.put("unfinished", "1").unwrap();
    let to = written();
    db.put("behind", "1").unwrap();
    let path = filename::wal(Path::new("/db"), logs(&fs)[0]);
    let killed = fs.crash_clone(1.0, 1);
    let mut bytes = read_file(&killed, &path, u64::MAX).unwrap();
    bytes[from..to].fill(0);
    killed.create(&path).unwrap().append(&bytes).unwrap();
    killed
}

/// The log of the killed opening has x once more, behind the hole.
#[test]
fn an_opening_that_is_killed_after_a_hole_can_be_repeated() {
    let fs = with_hole();
    for n in 1.. {
        let mem = fs.crash_clone(1.0, 1);
        let faulty = FaultFs::new(Arc::new(mem.clone()));
        faulty.add_rule(Rule::nth(OpSet::WRITES, n));
        let mut options = keeping(&mem);
        options.set_wal_recovery_mode(DBRecoveryMode::TolerateCorruptedTailRecords);
        options.set_fs(Arc::new(faulty.clone()));
        drop(DB::open(&options, "/db"));
        let injected = !faulty.injected().is_empty();
        let mem = mem.crash_clone(1.0, n);
        options.set_fs(Arc::new(mem.clone()));
        let db = DB::open(&options, "/db").unwrap_or_else(|e| panic!("write {n}: {e}"));
        assert_eq!(names(&db), ["x"], "write {n}");
        assert_eq!(get(&db, "k").as_deref(), Some("1"), "write {n}");
        if !injected {
            break;
        }
    }
}
