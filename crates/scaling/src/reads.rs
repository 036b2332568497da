//! How reads scale, by the writes to shared lines that each kind of read was counted to make.
//!
//! `scripts/shared-lines` counts them: what one thread writes to lines that another one touches
//! when it reads the same. A read is modelled as its time with one thread, into which its visits
//! of shared lines are spread evenly. Everything else that readers share they only load, so that
//! each core keeps its copy; neither that nor memory bandwidth is modelled.

use crate::parameters::{ParameterError, Parameters};
use crate::predict::MACHINES;
use crate::sim::{NS, SECOND, Sim, Thread, Time, Word};
use std::cell::Cell;
use std::rc::Rc;

/// Which lines of a kind there are, and how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Line {
    /// The count of those who hold the super version. One line of a column family.
    SuperVersion,
    /// The counts of what iterators of a column family hold besides: memtables, tables, caches, and
    /// what they share. A line each.
    Held,
    /// The lock of a shard of the block cache: four for each core, as long as each has 32 blocks.
    CacheShard,
    /// The count of those who hold a cached block; a line for each block that is read.
    Block,
}

impl Line {
    /// The name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Line::SuperVersion => "super version",
            Line::Held => "held by iterators",
            Line::CacheShard => "cache shard",
            Line::Block => "block",
        }
    }

    /// How many of these lines a read may meet, on a machine of `cores` cores, if the reads are
    /// spread over `blocks` blocks.
    fn count(self, cores: usize, blocks: usize) -> usize {
        match self {
            Line::SuperVersion => 1,
            Line::Held => HELD,
            // As `storage::cache`, unless the blocks are fewer.
            Line::CacheShard => (4 * cores).next_power_of_two().min(blocks),
            Line::Block => blocks,
        }
    }
}

/// The most lines of [`Line::Held`] that a kind visits, twice each.
const HELD: usize = 5;

/// A kind of read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kind {
    /// The name that `scripts/shared-lines` has for it.
    pub name: &'static str,
    /// What it is.
    pub what: &'static str,
    /// Its time with one thread. Nanoseconds.
    pub time: f64,
    /// What the time is from.
    pub source: &'static str,
    /// The lines that it writes to, and how often.
    pub visits: &'static [(Line, u64)],
}

/// All kinds.
pub const KINDS: [Kind; 12] = [
    Kind {
        name: "get-memtable",
        what: "get, from a memtable",
        time: 267.0,
        source: "benchmarks.md, M5",
        visits: &[],
    },
    Kind {
        name: "get",
        what: "get, from a cached block",
        time: 2_490.0,
        source: "benchmarks.md, F5",
        visits: &[],
    },
    Kind {
        name: "get-pinned",
        what: "get_pinned, from a cached block",
        time: 2_490.0,
        source: "as get",
        visits: &[(Line::Block, 2)],
    },
    Kind {
        name: "get-absent",
        what: "get, excluded by a filter",
        time: 520.0,
        source: "benchmarks.md, F5",
        visits: &[],
    },
    Kind {
        name: "multi-get",
        what: "multi_get of 8, from cached blocks",
        time: 19_900.0,
        source: "eight gets",
        visits: &[],
    },
    Kind {
        name: "iterator-memtable",
        what: "an iterator over a memtable, made and dropped",
        time: 300.0,
        source: "a guess",
        visits: &[],
    },
    Kind {
        name: "iterator",
        what: "an iterator over a table, made and dropped",
        time: 500.0,
        source: "a guess",
        visits: &[],
    },
    Kind {
        name: "iterator-bounded",
        what: "an iterator with bounds over a table, made and dropped",
        time: 500.0,
        source: "a guess",
        visits: &[],
    },
    Kind {
        name: "iterator-own",
        what: "an iterator that caches nothing, and so has cursors of its own, made and dropped",
        time: 500.0,
        source: "a guess",
        visits: &[(Line::SuperVersion, 2), (Line::Held, 10)],
    },
    Kind {
        name: "seek",
        what: "a seek to another block",
        time: 3_400.0,
        source: "benchmarks.md, F6",
        visits: &[(Line::Block, 2)],
    },
    Kind {
        name: "next",
        what: "a step of an iterator",
        time: 128.0,
        source: "benchmarks.md, F7",
        visits: &[],
    },
    Kind {
        name: "snapshot",
        what: "a snapshot, taken and released",
        time: 150.0,
        source: "a guess",
        visits: &[],
    },
];

/// Over how many blocks reads are spread in predictions: all threads read one block, or each reads
/// any of many.
pub const BLOCKS: [usize; 2] = [1, 4096];

/// The outcome of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Reads per second of all threads.
    pub per_second: f64,
    /// That over the rate of one thread times the number of threads.
    pub efficiency: f64,
    /// The line that threads waited for longest; `None` if they waited for none.
    pub blamed: Option<&'static str>,
}

/// A prediction: a thread on each core of a machine.
#[derive(Debug, Clone)]
pub struct Prediction {
    /// The kind of read.
    pub kind: Kind,
    /// Over how many blocks the reads are spread.
    pub blocks: usize,
    /// For each of [`MACHINES`] its number of cores, and the outcome.
    pub outcomes: Vec<(usize, Outcome)>,
}

/// What the threads of a run share.
struct Run {
    kind: Kind,
    /// The work between two visits.
    part: Time,
    /// The words of each of the kind's lines.
    words: Vec<Vec<Word>>,
    done: Cell<u64>,
    warm: u64,
    goal: u64,
    start: Cell<Time>,
}

/// Between half of `time` and one and a half times it.
fn varied(thread: &Thread, time: Time) -> Time {
    const STEPS: u64 = 1 << 10;
    time * (STEPS / 2 + thread.sim().random() % STEPS) / STEPS
}

/// The program of a thread: reads until the run is done.
async fn read_all(run: Rc<Run>, thread: Thread) {
    loop {
        thread.compute(varied(&thread, run.part)).await;
        for ((line, writes), words) in run.kind.visits.iter().zip(&run.words) {
            // What a read holds it gives back on the same line, so visits come in pairs.
            for pair in 0..writes / 2 {
                let at = match line {
                    Line::Held => pair,
                    _ => thread.sim().random(),
                };
                let word = &words[at as usize % words.len()];
                for change in [1, u64::MAX] {
                    thread.rmw(word, |n| n.wrapping_add(change)).await;
                    thread.compute(varied(&thread, run.part)).await;
                }
            }
        }
        let done = run.done.get() + 1;
        run.done.set(done);
        if done == run.warm {
            run.start.set(thread.now());
        }
        if done >= run.goal {
            thread.sim().stop();
            return;
        }
    }
}

/// The reads per second of `threads` threads, and the line that they waited for longest.
fn rate(
    parameters: &Parameters,
    kind: &Kind,
    blocks: usize,
    threads: usize,
) -> (f64, Option<&'static str>) {
    let sim = Sim::new(parameters.machine(), 1);
    let machine = sim.machine();
    let visits: u64 = kind.visits.iter().map(|(_, writes)| writes).sum();
    let work = (kind.time * NS as f64) as Time;
    let work = work.saturating_sub(visits * machine.atomic);
    let cores = machine.topology.cpus();
    let words = |line: Line| -> Vec<Word> {
        let count = line.count(cores, blocks);
        let word = |_| Word::new(&sim, line.name(), 0);
        (0..count).map(word).collect()
    };
    let reads = 2_000 + 100 * threads as u64;
    let run = Rc::new(Run {
        kind: *kind,
        part: work / (visits + 1),
        words: kind.visits.iter().map(|(line, _)| words(*line)).collect(),
        done: Cell::new(0),
        warm: reads / 4,
        goal: reads / 4 + reads,
        start: Cell::new(0),
    });
    sim.run(threads, |thread| read_all(run.clone(), thread));
    let time = sim.now() - run.start.get();
    let tally = sim.tally();
    let worst = tally.lines.iter().max_by_key(|(_, blame)| blame.waited);
    // Every line comes from somewhere once.
    let blamed = worst.filter(|(_, blame)| blame.transfers > threads as u64 + blocks as u64);
    let per_second = reads as f64 * SECOND as f64 / time.max(1) as f64;
    (per_second, blamed.map(|(name, _)| *name))
}

/// The outcome of `kind` with `threads` threads, whose reads are spread over `blocks` blocks.
#[must_use]
pub fn run(parameters: &Parameters, kind: &Kind, blocks: usize, threads: usize) -> Outcome {
    let (one, _) = rate(parameters, kind, blocks, 1);
    let (per_second, blamed) = rate(parameters, kind, blocks, threads);
    Outcome {
        per_second,
        efficiency: per_second / (one * threads as f64),
        blamed,
    }
}

/// All predictions. A kind that touches no block is predicted once.
///
/// # Errors
/// A machine's file is invalid.
pub fn all() -> Result<Vec<Prediction>, ParameterError> {
    let machines: Result<Vec<_>, _> = MACHINES.iter().map(|name| Parameters::load(name)).collect();
    let machines = machines?;
    let mut predictions = Vec::new();
    for kind in KINDS {
        let of_blocks = |(line, _): &(Line, u64)| matches!(line, Line::Block | Line::CacheShard);
        let spreads = if kind.visits.iter().any(of_blocks) {
            &BLOCKS[..]
        } else {
            &BLOCKS[..1]
        };
        for &blocks in spreads {
            let outcome = |parameters: &Parameters| {
                let cores = parameters.topology.cpus();
                (cores, run(parameters, &kind, blocks, cores))
            };
            predictions.push(Prediction {
                kind,
                blocks,
                outcomes: machines.iter().map(outcome).collect(),
            });
        }
    }
    Ok(predictions)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(name: &str) -> Kind {
        *KINDS.iter().find(|kind| kind.name == name).expect(name)
    }

    #[test]
    fn the_visits_are_those_that_were_counted() {
        let counted = include_str!("../../../scripts/shared-lines.tsv");
        let counted: Vec<(&str, f64)> = counted
            .lines()
            .map(|line| line.split_once('\t').expect("two columns"))
            .map(|(name, count)| (name, count.parse().expect("a number")))
            .collect();
        let modelled = KINDS.map(|kind| {
            let sum: u64 = kind.visits.iter().map(|(_, writes)| writes).sum();
            (kind.name, sum as f64)
        });
        assert_eq!(counted, modelled);
        let held = KINDS.iter().flat_map(|kind| kind.visits);
        let held = held.filter(|(line, _)| *line == Line::Held);
        assert_eq!(held.map(|(_, n)| *n as usize / 2).max(), Some(HELD));
    }

    #[test]
    fn reads_that_write_to_no_shared_line_take_all_cores() {
        for machine in MACHINES {
            let parameters = Parameters::load(machine).unwrap();
            let cores = parameters.topology.cpus();
            let outcome = run(&parameters, &kind("get-memtable"), 1, cores);
            assert!(outcome.efficiency > 0.97, "{machine}: {outcome:?}");
            assert_eq!(outcome.blamed, None);
        }
    }

    #[test]
    fn one_hot_block_bounds_all_cores_and_many_blocks_do_not() {
        let parameters = Parameters::load("cores64").unwrap();
        let hot = run(&parameters, &kind("get-pinned"), 1, 64);
        let many = run(&parameters, &kind("get-pinned"), 4096, 64);
        assert!(hot.efficiency < 0.5 && hot.blamed.is_some(), "{hot:?}");
        assert!(many.efficiency > 0.8, "{many:?}");
        assert_eq!(
            run(&parameters, &kind("get-pinned"), 1, 64),
            hot,
            "the same seed"
        );
    }
}
