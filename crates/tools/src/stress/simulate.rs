//! Simulated rounds: threads run one at a time, so that a seed determines the run.
//!
//! The scheduler switches threads where the engine locks, waits or uses the file system.
//! Databases are small, and time is simulated: waiting takes none.

use std::sync::Arc;

use whitewater::fs::Fs;
use whitewater::fs::fault::{FaultFs, FaultOp};
use whitewater::fs::mem::MemFs;

use super::args::Args;
use super::key_model::Shape;
use super::random_options;

/// Checks that `args` can be simulated.
///
/// # Errors
/// What cannot be simulated.
pub fn check(args: &Args) -> Result<(), String> {
    if !args.simulate {
        return Ok(());
    }
    if args.kill || args.corrupt {
        return Err("--simulate works with --power-cut and --faults only".to_owned());
    }
    if cfg!(not(feature = "simulation")) {
        return Err("--simulate needs a build with --features simulation".to_owned());
    }
    Ok(())
}

/// The dimensions of a round's database.
pub fn shape(args: &Args, seed: u64) -> Shape {
    let shape = random_options::shape(seed, args.threads);
    if args.simulate {
        Shape {
            families: shape.families.min(2),
            keys: shape.keys.min(200),
            max_value: shape.max_value.min(2000),
            ..shape
        }
    } else {
        shape
    }
}

#[cfg(not(feature = "simulation"))]
pub use real::{is_on, observe, observed, round};
/// The number of operations of each thread in a round of `--faults`.
pub fn ops(args: &Args) -> u64 {
    match (args.ops, args.simulate) {
        (0, false) => 2000,
        (0, true) => 150,
        (ops, _) => ops,
    }
}

#[cfg(feature = "simulation")]
pub use simulated::{is_on, observe, observed, round};

#[cfg(feature = "simulation")]
mod simulated {
    use std::hash::{Hash, Hasher};

    use whitewater_concurrent::region;
    use whitewater_concurrent::system::{self, simulation};

    use super::{Arc, Args, FaultFs, FaultOp, Fs, MemFs};
    use crate::stress::script;

    /// Whether the calling thread is simulated.
    pub fn is_on() -> bool {
        system::is_simulated()
    }

    /// Runs a round, in a simulation if `args` says so.
    ///
    /// # Errors
    /// Those of the round.
    pub fn round(
        args: &Args,
        round: u64,
        of: fn(&Args, u64) -> Result<u64, String>,
    ) -> Result<u64, String> {
        if !args.simulate {
            return of(args, round);
        }
        // Otherwise the memory charged to a memtable would depend on earlier rounds.
        region::set_pool_limit(0);
        simulation::set_last_words(|| {
            for line in script::end() {
                eprintln!("{line}");
            }
        });
        let seed = args.seed.wrapping_add(round);
        let (outcome, report) = simulation::run(seed, || of(args, round));
        if args.fingerprints {
            println!("seed {seed}: {report:?}");
        }
        outcome
    }

    /// Makes the operations of `fs` switch points of the scheduler, and calls `before` at
    /// each.
    pub fn observe(fs: &FaultFs, before: impl Fn(FaultOp) + Send + Sync + 'static) {
        if !is_on() {
            fs.set_observer(Arc::new(move |op, _| before(op)));
        } else {
            fs.set_observer(Arc::new(move |op, path| {
                before(op);
                let mut hasher = std::hash::DefaultHasher::new();
                (op as u8, path).hash(&mut hasher);
                simulation::note(hasher.finish());
                simulation::point();
            }));
        }
    }

    /// A view of `memory` whose operations are switch points of the scheduler.
    pub fn observed(memory: &MemFs) -> Arc<dyn Fs> {
        if !is_on() {
            return Arc::new(memory.clone());
        }
        let fs = FaultFs::new(Arc::new(memory.clone()));
        observe(&fs, |_| ());
        Arc::new(fs)
    }
}

#[cfg(not(feature = "simulation"))]
mod real {
    use super::{Arc, Args, FaultFs, FaultOp, Fs, MemFs};

    /// Whether the calling thread is simulated.
    pub fn is_on() -> bool {
        false
    }

    /// Runs a round.
    ///
    /// # Errors
    /// Those of the round.
    pub fn round(
        args: &Args,
        round: u64,
        of: fn(&Args, u64) -> Result<u64, String>,
    ) -> Result<u64, String> {
        of(args, round)
    }

    /// Calls `before` at each operation of `fs`.
    pub fn observe(fs: &FaultFs, before: impl Fn(FaultOp) + Send + Sync + 'static) {
        fs.set_observer(Arc::new(move |op, _| before(op)));
    }

    /// A view of `memory`.
    pub fn observed(memory: &MemFs) -> Arc<dyn Fs> {
        Arc::new(memory.clone())
    }
}
