//! Shrinks a failing round: fewer threads, fewer operations, fewer kinds of operations.
//!
//! Only simulations are shrunk, because a simulated round that failed fails again. A
//! smaller round is another schedule, so each size is tried with several seeds.

use std::time::{Duration, Instant};

use super::Mode;
use super::args::Args;
use super::script;
use super::worker::Operation;

/// The time after which no other size is tried.
const PATIENCE: Duration = Duration::from_secs(120);

/// The number of seeds tried with each size.
const SEEDS: u64 = 12;

/// The number of lines of the log that are shown, from its end.
const SHOWN: usize = 200;

/// A failing round.
pub struct Failing {
    /// The arguments; the failing round is the first.
    pub args: Args,
    /// What went wrong.
    pub what: String,
    /// The log of its threads.
    pub script: Vec<String>,
}

/// Finds the smallest round that fails, starting from the round `round` of `args`.
pub fn smallest(args: &Args, mode: Mode, round: u64, what: String) -> Failing {
    let begun = Instant::now();
    let mut best = Args {
        seed: args.seed.wrapping_add(round),
        ..args.clone()
    };
    let mut what = what;
    while begun.elapsed() < PATIENCE {
        let mut smaller = smaller(&best).into_iter();
        let found = smaller.find_map(|args| failing_seed(args, mode, begun));
        let Some((args, now)) = found else { break };
        (best, what) = (args, now);
    }
    script::begin();
    let again = mode.round(&best, 0);
    let mut script = script::end();
    script.drain(..script.len().saturating_sub(SHOWN));
    if again.is_ok() {
        script = vec!["the failure is not deterministic".to_owned()];
    }
    Failing {
        args: best,
        what,
        script,
    }
}

/// The next smaller sizes, beginning with the largest step.
fn smaller(args: &Args) -> Vec<Args> {
    let mut all = Vec::new();
    let with_threads = |threads| Args {
        threads,
        ..args.clone()
    };
    let with_ops = |ops| Args {
        ops,
        ..args.clone()
    };
    if args.threads > 1 {
        all.extend([
            with_threads(args.threads / 2),
            with_threads(args.threads - 1),
        ]);
    }
    let most = if args.ops == 0 { 400 } else { args.ops };
    let fewer = [most / 4, most / 2, most * 7 / 8];
    all.extend(fewer.into_iter().filter(|ops| *ops > 0).map(with_ops));
    for operation in Operation::all().filter(|o| !args.without.contains(o)) {
        let mut fewer = args.clone();
        fewer.without.push(operation);
        all.push(fewer);
    }
    all
}

/// Finds a seed with which `args` fails, and what goes wrong then.
fn failing_seed(args: Args, mode: Mode, begun: Instant) -> Option<(Args, String)> {
    let seeds = (0..SEEDS).map(|more| args.seed.wrapping_add(more));
    let seeds = seeds.take_while(|_| begun.elapsed() < PATIENCE);
    for seed in seeds {
        let args = Args {
            seed,
            ..args.clone()
        };
        if let Err(what) = mode.round(&args, 0) {
            return Some((args, what));
        }
    }
    None
}
