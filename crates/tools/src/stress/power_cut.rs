//! Power cuts.
//!
//! In each round, threads work on a database in memory while copies of its file system are
//! made, as a power cut might leave it: everything that was synced, and any part of the
//! rest. Each copy is opened. It must contain a prefix of all writes, in one order over all
//! threads and column families, that includes every write acknowledged as synced.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use whitewater::fs::mem::MemFs;
use whitewater_concurrent::system;

use super::args::Args;
use super::history::{History, Record, check_prefix, of_family, transient_after};
use super::journal::Outcome;
use super::key_model::{Shape, Slot, Version};
use super::model::Expected;
use super::random_options::RandomOptions;
use super::script;
use super::simulate;
use super::store;
use super::transient_families::TransientFamilies;
use super::worker::{Context, Ingests, Log, Stop, Worker, run_threads};

/// How often one database is opened.
const LIVES: u64 = 3;
/// The number of cuts after each opening.
const CUTS: u64 = 6;

/// Runs one round. Returns how many cuts were made.
///
/// # Errors
/// What went wrong, and under which options.
pub fn round(args: &Args, round: u64) -> Result<u64, String> {
    let seed = args.seed.wrapping_add(round);
    let mut rng = StdRng::seed_from_u64(seed ^ 0x6375_7473);
    let shape = simulate::shape(args, seed);
    let mut left = Left {
        memory: MemFs::new(),
        content: BTreeMap::new(),
    };
    let mut next = 0;
    for _ in 0..LIVES {
        let options = RandomOptions::new(rng.random());
        script::log(|| format!("opening with {options}"));
        let lived = live(args, &options, shape, &left, &mut next, &mut rng);
        left = lived.map_err(|what| format!("{what}\nwith {options}"))?;
    }
    Ok(LIVES * CUTS)
}

/// What a cut left, and its content.
struct Left {
    memory: MemFs,
    content: BTreeMap<Slot, Version>,
}

/// Continues from what the last cut left, until the next one. Returns what that left.
// Long: one life of a database, from one power cut to the next.
fn live(
    args: &Args,
    options: &RandomOptions,
    shape: Shape,
    from: &Left,
    next: &mut Version,
    rng: &mut StdRng,
) -> Result<Left, String> {
    let dir = Path::new(store::DIR);
    let fs = simulate::observed(&from.memory);
    let db = store::open(dir, Arc::clone(&fs), options, shape);
    let db = db.map_err(|e| format!("opening: {e}"))?;
    let history = History::new(shape);
    let log = if rng.random_bool(0.3) {
        Log::Never
    } else {
        Log::Always
    };
    let scope = match (log, options.is_atomic()) {
        (Log::Never, false) => PrefixScope::Families,
        (Log::Never, true) => PrefixScope::Flushes,
        _ => PrefixScope::Log,
    };
    let transient = TransientFamilies::new(shape, &from.content, *next);
    // Written by: this thread, when the cuts are done. Read by: the workers, which end soon
    // after. Publishes nothing.
    let over = AtomicBool::new(false);
    let context = Context {
        db: &db,
        dir,
        fs,
        options,
        shape,
        transient: &transient,
        journal: &history,
        faulty: false,
        // Ingested tables are durable at once, but the writes before them are not.
        ingests: match log {
            Log::Never => Ingests::Never,
            _ => Ingests::AfterSync,
        },
        log,
        without: &args.without,
    };
    let (seed, first) = (rng.random(), *next);
    // The longest time between cuts in microseconds. Simulated microseconds pass quickly.
    let longest = if simulate::is_on() { 3_000 } else { 60_000 };
    let work = |thread| -> Result<Version, Stop> {
        let mine = Expected::exactly(&from.content);
        let mut worker = Worker::new(&context, thread, seed, mine, first)?;
        let mut steps = 0;
        while !over.load(Relaxed) {
            match args.ops {
                0 => worker.step()?,
                most if steps < most => worker.step()?,
                // Cuts continue after a thread has done all its operations.
                _ => system::sleep(Duration::from_micros(100)),
            }
            steps += 1;
        }
        worker.check_all()?;
        Ok(worker.retire().next)
    };
    let cut = || -> Result<Vec<_>, String> {
        let cuts = (0..CUTS).map(|_| {
            system::sleep(Duration::from_micros(rng.random_range(0..longest)));
            let cut = Cut::make(&from.memory, &history, rng);
            script::log(|| format!("cut that keeps {}", cut.keep));
            cut.look(shape, from, scope, rng)
        });
        let cuts = cuts.collect();
        over.store(true, Relaxed);
        cuts
    };
    let (versions, cuts) = run_threads(shape.threads, work, cut)?;
    let (_, highest) = transient.outcome();
    *next = versions.into_iter().fold(highest, Version::max);
    Ok(cuts?.pop().expect("there are cuts"))
}

/// A cut, and the history up to it.
struct Cut {
    memory: MemFs,
    keep: f64,
    /// Everything that was synced before this time was synced before the cut.
    before: u64,
    records: Vec<Vec<Record>>,
}

impl Cut {
    fn make(memory: &MemFs, history: &History, rng: &mut StdRng) -> Cut {
        let keep = *[0.0, 0.3, 0.9, 1.0].choose(rng).expect("some");
        let before = history.now();
        let memory = memory.crash_clone(keep, rng.random());
        Cut {
            memory,
            keep,
            before,
            records: history.records(),
        }
    }

    /// Opens what the cut left and checks it.
    fn look(
        self,
        shape: Shape,
        from: &Left,
        scope: PrefixScope,
        rng: &mut StdRng,
    ) -> Result<Left, String> {
        let options = RandomOptions::new(rng.random());
        let fail = |e| format!("cut that kept {}, opened with {options}: {e}", self.keep);
        let fs = simulate::observed(&self.memory);
        let db = store::open(Path::new(store::DIR), fs, &options, shape);
        let db = db.map_err(|e| fail(e.to_string()))?;
        let expected = transient_after(&self.records, shape, &from.content, self.before);
        let content = store::everything(&db, shape, &expected).map_err(|e| fail(e.to_string()))?;
        self.check(shape, &from.content, &content, scope)
            .map_err(fail)?;
        drop(db);
        Ok(Left {
            memory: self.memory,
            content,
        })
    }
    /// Checks that prefixes in `scope` turn `first` into `last`.
    fn check(
        &self,
        shape: Shape,
        first: &BTreeMap<Slot, Version>,
        last: &BTreeMap<Slot, Version>,
        scope: PrefixScope,
    ) -> Result<(), String> {
        let of = |records: &[_], first: &_, last: &_, survives: &dyn Fn(Outcome) -> bool| {
            check_prefix(records, shape, first, last, self.before, survives)
        };
        match scope {
            // Nothing was lost, as if only the process had died.
            PrefixScope::Log if self.keep == 1.0 => of(&self.records, first, last, &|o| {
                matches!(o, Outcome::Acked | Outcome::Synced)
            }),
            PrefixScope::Log => of(&self.records, first, last, &|o| o == Outcome::Synced),
            PrefixScope::Flushes => {
                of(&self.records, first, last, &|o| o == Outcome::Flushed(None))
            }
            PrefixScope::Families => {
                let transient = last.iter().filter(|(slot, _)| slot.is_presence());
                let transient = transient.map(|(slot, count)| slot.transient_family(*count));
                let mut all = (0..shape.families).chain(transient);
                all.try_for_each(|number| {
                    let part = |all: &BTreeMap<Slot, Version>| {
                        let mut part = all.clone();
                        part.retain(|slot, _| slot.is_presence() || slot.family == number);
                        part
                    };
                    let records = of_family(&self.records, number);
                    of(&records, &part(first), &part(last), &|o| {
                        o == Outcome::Flushed(Some(number))
                    })
                    .map_err(|e| format!("family {number}: {e}"))
                })
            }
        }
    }
}

/// Within which scope a cut leaves a prefix.
#[derive(Debug, Clone, Copy)]
enum PrefixScope {
    /// All writes, since they are logged.
    Log,
    /// All writes, without a log, up to a flush of all column families.
    Flushes,
    /// The writes to each column family separately, up to its last flush.
    Families,
}
