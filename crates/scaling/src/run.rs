//! One run: a machine, a protocol and a workload, and the outcome.

use crate::parameters::Parameters;
use crate::protocols::world::{Layout, Memtable, Workload};
use crate::protocols::{self, Dialect, Protocol, World};
use crate::sim::tally::Tally;
use crate::sim::{SECOND, Sim, Thread, Time};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// What to run.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The machine.
    pub parameters: Parameters,
    /// The commit protocol.
    pub protocol: Protocol,
    /// Whose code is modelled.
    pub dialect: Dialect,
    /// The layout of shared words.
    pub layout: Layout,
    /// The number of threads.
    pub threads: usize,
    /// The number of entries in a batch.
    pub batch: u64,
    /// Whether each write is durable when it returns.
    pub sync: bool,
    /// Whether writes are logged.
    pub log: bool,
    /// The memtable that writes are inserted into.
    pub memtable: Memtable,
    /// The number of writes that are measured; a quarter as many precede them.
    pub writes: u64,
    /// The seed of all random numbers.
    pub seed: u64,
}

impl Plan {
    /// A plan of single logged writes by `threads` threads with this tree's code.
    #[must_use]
    pub fn new(parameters: &Parameters, protocol: Protocol, threads: usize) -> Self {
        let mut plan = Plan {
            parameters: parameters.clone(),
            protocol,
            dialect: Dialect::Own,
            layout: Layout::default(),
            threads,
            batch: 1,
            sync: false,
            log: true,
            memtable: Memtable::Art,
            writes: 0,
            seed: 1,
        };
        plan.settle();
        plan
    }

    /// Chooses how many writes to measure. With more threads than cores, there are enough
    /// for every thread to get several time slices.
    pub fn settle(&mut self) {
        let threads = self.threads as u64;
        let crowded = self.threads > self.parameters.topology.cpus();
        self.writes = match (crowded, self.sync) {
            (true, false) => 20_000 + 200 * threads,
            (false, false) => 4_000 + 40 * threads,
            (_, true) => 1_000 + 60 * threads,
        };
    }
}

/// The outcome of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The number of writes that were measured.
    pub writes: u64,
    /// The time that the writes took.
    pub time: Time,
    /// The number of entries per second.
    pub entries_per_second: f64,
    /// What was counted during these writes.
    pub tally: Tally,
    /// The average number of members of a group; 0 if there were no groups.
    pub group: f64,
    /// The number of writes by each thread.
    pub by_thread: Vec<u64>,
}

impl Outcome {
    /// A count divided by the number of writes.
    #[must_use]
    pub fn each(&self, count: u64) -> f64 {
        count as f64 / self.writes as f64
    }

    /// The line that cores waited for longest, and its share of all time that they waited
    /// for lines.
    #[must_use]
    pub fn blamed(&self) -> (&'static str, f64) {
        let worst = self.tally.lines.iter().max_by_key(|(_, b)| b.waited);
        worst.map_or(("none", 0.0), |(name, blame)| {
            let all = self.tally.waited().max(1);
            (name, blame.waited as f64 / all as f64)
        })
    }

    /// The number of writes for each sync.
    #[must_use]
    pub fn writes_per_sync(&self) -> f64 {
        self.writes as f64 / self.tally.syncs.max(1) as f64
    }
}

/// What the threads of a run share besides the database.
struct Progress {
    done: Cell<u64>,
    warm: u64,
    goal: u64,
    start: Cell<Time>,
    before: Cell<Option<(Tally, (u64, u64))>>,
    by_thread: Vec<Cell<u64>>,
}

/// Runs a plan.
#[must_use]
pub fn run(plan: &Plan) -> Outcome {
    let sim = Sim::new(plan.parameters.machine(), plan.seed);
    let workload = Workload {
        threads: plan.threads,
        batch: plan.batch,
        entry_bytes: plan.parameters.entry_bytes(),
        sync: plan.sync,
        log: plan.log,
        memtable: plan.memtable,
    };
    let world = Rc::new(World::new(&sim, plan.dialect, plan.layout, workload));
    let warm = plan.writes / 4 + 4 * plan.threads as u64;
    let progress = Rc::new(Progress {
        done: Cell::new(0),
        warm,
        goal: warm + plan.writes,
        start: Cell::new(0),
        before: Cell::new(None),
        by_thread: vec![Cell::new(0); plan.threads],
    });
    let protocol = plan.protocol;
    sim.run(plan.threads, |thread| {
        write_all(protocol, world.clone(), progress.clone(), thread)
    });
    let (before, groups_before) = progress.before.take().expect("it got warm");
    let time = sim.now() - progress.start.get();
    let groups = world.groups();
    let (count, members) = (groups.0 - groups_before.0, groups.1 - groups_before.1);
    let entries = plan.writes * plan.batch;
    Outcome {
        writes: plan.writes,
        time,
        entries_per_second: entries as f64 * SECOND as f64 / time.max(1) as f64,
        tally: sim.tally().since(&before),
        group: members as f64 / count.max(1) as f64,
        by_thread: progress.by_thread.iter().map(Cell::get).collect(),
    }
}

/// The program of a thread: writes until the run is done.
async fn write_all(protocol: Protocol, world: Rc<World>, progress: Rc<Progress>, thread: Thread) {
    loop {
        protocols::commit(protocol, &world, &thread, world.write()).await;
        let done = progress.done.get() + 1;
        progress.done.set(done);
        if done == progress.warm / 4 {
            // A switch makes all writers wait for a long time, once. So the result does not
            // depend on all of them having been awake from the start.
            world.switch_due.set(true);
        }
        if done == progress.warm {
            progress.start.set(thread.now());
            progress
                .before
                .set(Some((thread.sim().tally(), world.groups())));
        } else if done > progress.warm {
            let own = &progress.by_thread[thread.id()];
            own.set(own.get() + 1);
        }
        if done >= progress.goal {
            thread.sim().stop();
            return;
        }
    }
}

/// Runs plans on all cores; the outcomes are in the order of the plans.
#[must_use]
pub fn run_all(plans: &[Plan]) -> Vec<Outcome> {
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(vec![None; plans.len()]);
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        for _ in 0..threads.min(plans.len()) {
            scope.spawn(|| {
                loop {
                    // Relaxed: the end of the scope orders the outcomes.
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(plan) = plans.get(at) else {
                        return;
                    };
                    let outcome = run(plan);
                    let mut outcomes = outcomes.lock().unwrap_or_else(PoisonError::into_inner);
                    outcomes[at] = Some(outcome);
                }
            });
        }
    });
    let outcomes = outcomes
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    outcomes.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocols::WakeUp;

    fn plan(protocol: Protocol, threads: usize) -> Plan {
        let parameters = Parameters::load("cores16").unwrap();
        let mut plan = Plan::new(&parameters, protocol, threads);
        plan.writes = 3_000;
        plan
    }

    #[test]
    fn the_same_seed_gives_the_same_run() {
        for protocol in Protocol::ALL {
            for threads in [4, 40] {
                let plan = plan(protocol, threads);
                let (once, again) = (run(&plan), run(&plan));
                assert_eq!(format!("{once:?}"), format!("{again:?}"));
            }
        }
        let grouped = plan(Protocol::Grouped(WakeUp::SquareRoot), 16);
        let other = Plan {
            seed: 2,
            ..grouped.clone()
        };
        assert_ne!(run(&grouped).time, run(&other).time, "the seed counts");
    }

    #[test]
    fn runs_side_by_side_are_the_same_as_one_by_one() {
        let plans: Vec<Plan> = Protocol::ALL.map(|protocol| plan(protocol, 8)).into();
        let one_by_one: Vec<Outcome> = plans.iter().map(run).collect();
        assert_eq!(run_all(&plans), one_by_one);
    }

    #[test]
    fn an_outcome_adds_up() {
        let outcome = run(&plan(Protocol::Ordered, 8));
        assert_eq!(outcome.by_thread.iter().sum::<u64>(), 3_000);
        let rate = 3_000.0 * SECOND as f64 / outcome.time as f64;
        assert!((outcome.entries_per_second - rate).abs() < 1e-6 * rate);
        let (_, share) = outcome.blamed();
        assert!((0.0..=1.0).contains(&share));
    }
}
