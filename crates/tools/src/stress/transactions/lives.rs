//! Power cuts, failing file systems and load.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use whitewater::WritePolicy;
use whitewater::fs::Fs;
use whitewater::fs::fault::FaultFs;
use whitewater::fs::mem::MemFs;
use whitewater::fs::os::OsFs;
use whitewater_concurrent::system;

use super::bank::{BankOptions, Db, Policies, audited, protocols};
use super::ledger::{Kept, Ledger};
use super::teller::{Context, Journal, Teller, names};
use crate::stress::args::Args;
use crate::stress::worker::{Stop, run_threads};
use crate::stress::{faults, script, simulate, store};

/// How often one database is opened.
const LIVES: u64 = 4;
/// The number of cuts in each life.
const CUTS: u64 = 4;

/// What a death left, and what is known of it.
struct Left {
    memory: MemFs,
    ledger: Ledger,
    policies: Policies,
}

impl Left {
    fn new(policies: Policies) -> Left {
        Left {
            memory: MemFs::new(),
            ledger: Ledger::default(),
            policies,
        }
    }

    /// Opens what is left after a death, checks it against the knowledge just `before`, and
    /// sometimes decides what is prepared.
    fn look(
        &mut self,
        before: &Ledger,
        kept: Kept,
        life: u64,
        rng: &mut StdRng,
    ) -> Result<(), String> {
        let options = BankOptions::draw(rng, self.policies);
        let fail = |e: String| format!("opened after a death with {options:?}: {e}");
        let fs = simulate::observed(&self.memory);
        let dir = Path::new(store::DIR);
        let db = options.open(dir, &fs).map_err(|e| fail(e.to_string()))?;
        let books = audited(&db).map_err(fail)?;
        self.ledger
            .settle_all(before, kept, &names(&db), &books)
            .map_err(fail)?;
        if rng.random_bool(0.5) {
            return Ok(());
        }
        let journal = Journal::new(self.ledger.clone(), false);
        let context = Context {
            db: &db,
            dir,
            fs: &fs,
            options: &options,
            journal: &journal,
            faulty: false,
            life,
        };
        said(context.take_over(rng)).map_err(fail)?;
        // It is closed, so nothing is lost.
        let mut now = journal.ledger().clone();
        let before = now.clone();
        let books = audited(&db).map_err(fail)?;
        let settled = now.settle_all(&before, Kept::Memory, &names(&db), &books);
        settled.map_err(fail)?;
        self.ledger = now;
        Ok(())
    }
}

fn said<T>(result: Result<T, Stop>) -> Result<T, String> {
    result.map_err(|stop| match stop {
        Stop::Wrong(what) => what,
        Stop::NoListener => "the reader of the journal is gone".to_owned(),
    })
}

/// Runs one round of power cuts. Returns how many there were.
///
/// # Errors
/// What went wrong, and under which options.
pub fn power_cuts(args: &Args, round: u64) -> Result<u64, String> {
    let mut rng = StdRng::seed_from_u64(args.seed.wrapping_add(round) ^ 0x7478_6375);
    let mut left = Left::new(Policies::of(args.seed, round));
    for life in 0..LIVES {
        let options = BankOptions::draw(&mut rng, left.policies);
        script::log(|| format!("opening with {options:?}"));
        let lived = life_until_cut(args, &options, &left, life, &mut rng);
        left = lived.map_err(|what| format!("life {life}: {what}\nwith {options:?}"))?;
    }
    Ok(LIVES * CUTS)
}

fn life_until_cut(
    args: &Args,
    options: &BankOptions,
    from: &Left,
    life: u64,
    rng: &mut StdRng,
) -> Result<Left, String> {
    let fs = simulate::observed(&from.memory);
    let dir = Path::new(store::DIR);
    let db = options
        .open(dir, &fs)
        .map_err(|e| format!("opening: {e}"))?;
    let journal = Journal::new(from.ledger.clone(), false);
    let context = Context {
        db: &db,
        dir,
        fs: &fs,
        options,
        journal: &journal,
        faulty: false,
        life,
    };
    said(context.take_over(rng))?;
    let longest = if simulate::is_on() { 3_000 } else { 40_000 };
    let (seed, over) = (rng.random(), AtomicBool::new(false));
    let work = |thread| -> Result<(), Stop> {
        let mut teller = Teller::new(&context, thread, seed);
        let mut steps = 0;
        while !over.load(Relaxed) {
            if args.ops == 0 || steps < args.ops {
                teller.step()?;
            } else {
                system::sleep(Duration::from_micros(100));
            }
            steps += 1;
        }
        Ok(())
    };
    let cuts = || -> Result<Left, String> {
        let mut last = Err("no cut".to_owned());
        for _ in 0..CUTS {
            system::sleep(Duration::from_micros(rng.random_range(0..longest)));
            let keep = *[0.0, 0.3, 0.9, 1.0].choose(rng).expect("some");
            let before = journal.ledger().clone();
            let memory = from.memory.crash_clone(keep, rng.random());
            let ledger = journal.ledger().clone();
            let kept = if keep == 1.0 {
                Kept::Process
            } else {
                Kept::Disk
            };
            script::log(|| format!("cut that keeps {keep}"));
            let mut left = Left {
                memory,
                ledger,
                policies: from.policies,
            };
            let looked = left.look(&before, kept, life, rng);
            last = looked
                .map(|()| left)
                .map_err(|e| format!("cut that kept {keep}, {e}"));
            if last.is_err() {
                break;
            }
        }
        over.store(true, Relaxed);
        last
    };
    run_threads(args.threads, work, cuts)?.1
}

/// Runs one round of failing file systems. Returns how many failures were injected.
///
/// # Errors
/// What went wrong, and under which options.
pub fn failures(args: &Args, round: u64) -> Result<u64, String> {
    let mut rng = StdRng::seed_from_u64(args.seed.wrapping_add(round) ^ 0x7478_6661);
    let mut left = Left::new(Policies::of(args.seed, round));
    let mut injected = 0;
    for life in 0..LIVES {
        let mut options = BankOptions::draw(&mut rng, left.policies);
        options.manual_wal_flush = false;
        let rules = faults::rules(&mut rng);
        let said = format!("{rules:?}, {options:?}");
        script::log(|| format!("opening with {said}"));
        let memory = simulate::observed(&left.memory);
        let fs = FaultFs::new(memory);
        let lived = life_with_failures(args, &options, &fs, &left.ledger, life, || {
            faults::add(&fs, &rules);
            rng.random()
        });
        left.ledger = lived.map_err(|what| format!("life {life}: {what}\nwith {said}"))?;
        injected += fs.injected().len() as u64;
        left.memory = left.memory.after_kill();
        let before = left.ledger.clone();
        left.look(&before, Kept::Process, life, &mut rng)
            .map_err(|what| format!("life {life}, after failures: {what}\nwith {said}"))?;
    }
    Ok(injected)
}

fn life_with_failures(
    args: &Args,
    options: &BankOptions,
    faulty: &FaultFs,
    from: &Ledger,
    life: u64,
    begin: impl FnOnce() -> u64,
) -> Result<Ledger, String> {
    let fs: Arc<dyn Fs> = Arc::new(faulty.clone());
    let dir = Path::new(store::DIR);
    let db = options
        .open(dir, &fs)
        .map_err(|e| format!("opening: {e}"))?;
    let journal = Journal::new(from.clone(), false);
    let context = |faulty| Context {
        db: &db,
        dir,
        fs: &fs,
        options,
        journal: &journal,
        faulty,
        life,
    };
    let (failing, sound) = (context(true), context(false));
    let seed = begin();
    let mut rng = StdRng::seed_from_u64(seed);
    said(failing.take_over(&mut rng))?;
    let ops = simulate::ops(args);
    let work = |thread| -> Result<(), Stop> {
        let mut teller = Teller::new(&failing, thread, seed);
        (0..ops).try_for_each(|_| teller.step())
    };
    run_threads(args.threads, work, || ())?;
    faulty.clear_rules();
    let quiet = |e| format!("once nothing fails: {e}");
    check_quiet(sound.db, &journal.ledger()).map_err(quiet)?;
    let ledger = journal.ledger().clone();
    Ok(ledger)
}

/// Checks a database that nobody works on.
fn check_quiet(db: &Db, ledger: &Ledger) -> Result<(), String> {
    let books = audited(db)?;
    let mut now = ledger.clone();
    now.settle_all(ledger, Kept::Memory, &names(db), &books)
}

/// Measures each write policy with each commit protocol, all for the same time, on files in
/// `dir`.
///
/// # Errors
/// What went wrong.
pub fn load(args: &Args, dir: &Path) -> Result<(), String> {
    let fs: Arc<dyn Fs> = Arc::new(OsFs);
    let policies = [WritePolicy::WriteCommitted, WritePolicy::WritePrepared];
    let both = policies.into_iter();
    let all = both.flat_map(|policy| protocols(policy).iter().map(move |one| (policy, *one)));
    let all: Vec<_> = all.collect();
    let mut rng = StdRng::seed_from_u64(args.seed);
    for &(policy, protocol) in &all {
        let options = BankOptions::draw(&mut rng, Policies::Committed).with(policy, protocol);
        let db_dir = dir.join(format!("{policy:?}{protocol:?}"));
        let fail = |e: String| format!("load with {options:?}: {e}");
        let db = options
            .open(&db_dir, &fs)
            .map_err(|e| fail(e.to_string()))?;
        let journal = Journal::new(Ledger::default(), false);
        let context = Context {
            db: &db,
            dir: &db_dir,
            fs: &fs,
            options: &options,
            journal: &journal,
            faulty: false,
            life: 0,
        };
        let (seed, begun) = (rng.random(), Instant::now());
        let time = Duration::from_millis(args.seconds * 1000 / all.len() as u64);
        let work = |thread| -> Result<(), Stop> {
            let mut teller = Teller::new(&context, thread, seed);
            while begun.elapsed() < time {
                teller.step()?;
            }
            Ok(())
        };
        run_threads(args.threads, work, || ()).map_err(fail)?;
        check_quiet(&db, &journal.ledger()).map_err(fail)?;
        let acked = journal.ledger().acked();
        println!("{policy}, {protocol:?}: {acked} writes acknowledged, nothing wrong");
        drop(db);
        std::fs::remove_dir_all(&db_dir).map_err(|e| format!("{}: {e}", db_dir.display()))?;
    }
    Ok(())
}
