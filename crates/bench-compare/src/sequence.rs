//! All mixes on one store, in one process: the part of the child process.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use whitewater_tools::bench::histogram::Latencies;

use crate::generators::Acknowledged;
use crate::keys::Layout;
use crate::measure::{Memory, Traffic, file_bytes};
use crate::mixes::{LOAD, Mix, Operation};
use crate::runner::{self, Outcome, OverTime, Plan};
use crate::stores::{Engine, Settings, Store, Visit};
use crate::{Result, fail};

/// What a child process does.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Task {
    /// The name of the store.
    pub engine: String,
    /// An empty directory for it.
    pub directory: PathBuf,
    /// A memory control group to join first.
    pub group: Option<PathBuf>,
    /// The names of the mixes after the load.
    pub mixes: Vec<String>,
    /// How many threads run them.
    pub threads: usize,
    /// How much they do.
    pub work: Work,
    /// Whether the process' memory is limited.
    pub limited: bool,
}

/// How much is done; the same for all stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// How many records are loaded.
    pub records: u64,
    /// How many operations a mix has, by all threads together.
    pub operations: u64,
    /// How many records are popped at most.
    pub pops: u64,
    /// After how many seconds a mix ends at the latest; the load never does.
    pub seconds: u64,
    /// How long the rate is measured that a schedule has half of.
    pub peak_seconds: u64,
    /// How long a mix runs by a schedule.
    pub tail_seconds: u64,
    /// The rate of schedules, in operations a second; `None`: half of what was measured.
    pub tail_rate: Option<u64>,
    /// Whether the store is left to settle after the last mix instead of after the load.
    pub settle_last: bool,
    /// Whether it compacts everything then, if it is an LSM tree.
    pub compact: bool,
    /// Whether tables are read past the system's cache.
    pub direct_reads: bool,
    /// The length of keys, in bytes.
    pub key_size: usize,
    /// The length of values, in bytes.
    pub value_size: usize,
    /// How much memory a store may cache data in, in bytes.
    pub cache_bytes: u64,
    /// The least number of records of a scan.
    pub scan_least: u64,
    /// The most records of a scan.
    pub scan_most: u64,
    /// Decides all random numbers.
    pub seed: u64,
}

/// What one mix came to.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Measured {
    /// The name of the mix.
    pub mix: String,
    /// How many operations were done.
    pub operations: u64,
    /// How long they took.
    pub seconds: f64,
    /// How long each took, by kind.
    pub latencies: Vec<Latency>,
    /// Operations a second over time, each with the second at which that interval ended.
    pub series: Vec<(f64, f64)>,
    /// Memory when they were done.
    pub memory: Memory,
    /// What the store says of its memory then, by part, in bytes.
    pub memory_parts: BTreeMap<String, u64>,
    /// Bytes that went in and out meanwhile, in the background as well.
    pub traffic: Traffic,
    /// The space of files right after, in bytes.
    pub file_bytes: u64,
    /// Latencies over time, of a mix that ran by a schedule.
    pub over_time: Vec<OverTime>,
    /// Operations a second of the schedule.
    pub scheduled_rate: Option<f64>,
    /// Operations a second in the first and in the last tenth, of a queue.
    pub tenths: Option<(f64, f64)>,
    /// How the store was after it was left to settle; after the load or the last mix only.
    pub settled: Option<Settled>,
}

/// A store that has done all that it had put off, and has compacted everything if it was asked to.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Settled {
    /// How long that took.
    pub seconds: f64,
    /// The space of files, in bytes.
    pub file_bytes: u64,
    /// Memory.
    pub memory: Memory,
    /// Bytes that went in and out meanwhile.
    pub traffic: Traffic,
}

/// How long operations of one kind took, in microseconds.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Latency {
    /// The kind.
    pub operation: String,
    /// How many there were.
    pub count: u64,
    /// The mean.
    pub mean: f64,
    /// The values at [`PERCENTILES`].
    pub percentiles: Vec<f64>,
    /// The longest.
    pub most: f64,
}

/// The percentiles that are reported.
pub const PERCENTILES: [f64; 6] = [50.0, 90.0, 99.0, 99.9, 99.99, 99.999];

impl Latency {
    fn of(operation: Operation, all: &Latencies) -> Self {
        Latency {
            operation: operation.name().to_owned(),
            count: all.count(),
            mean: all.mean_micros(),
            percentiles: PERCENTILES.map(|at| all.micros_at(at)).to_vec(),
            most: all.most_micros(),
        }
    }
}

impl Measured {
    /// Operations a second.
    pub fn rate(&self) -> f64 {
        self.operations as f64 / self.seconds.max(1e-9)
    }
}

/// Does a task, and tells of each mix when it is done.
///
/// # Errors
/// Any error of the store; wrong results of it; no such store or mix.
pub fn run(task: &Task, tell: &mut dyn FnMut(&Measured) -> Result<()>) -> Result<()> {
    let Some(engine) = Engine::named(&task.engine) else {
        return fail(format!("there is no store {}", task.engine));
    };
    engine.with(Sequence { task, tell })
}

struct Sequence<'a> {
    task: &'a Task,
    tell: &'a mut dyn FnMut(&Measured) -> Result<()>,
}

impl Visit for Sequence<'_> {
    type Output = Result<()>;

    fn visit<S: Store>(self) -> Result<()> {
        let (task, work) = (self.task, self.task.work);
        let settings = Settings {
            cache_bytes: work.cache_bytes,
            value_size: work.value_size,
            // Mixes insert 5% of their operations at most.
            records: work.records + work.operations,
            limited: task.limited,
            direct_reads: work.direct_reads,
        };
        let store = S::open(&task.directory, &settings)?;
        let records = Acknowledged::from(0);
        let layout = Layout::new(work.key_size, work.value_size, work.seed);
        let run = |plan: &Plan| {
            let outcome = runner::run(&store, &records, &layout, plan);
            outcome.map_err(|failure| failure.during(plan.mix.name))
        };
        let mut mixes = vec![LOAD];
        mixes.extend(task.mixes.iter().map(String::as_str));
        let settle_after = if work.settle_last { mixes.len() - 1 } else { 0 };
        for (at, name) in mixes.into_iter().enumerate() {
            let Some(mix) = Mix::named(name) else {
                return fail(format!("there is no mix {name}"));
            };
            let mut plan = plan(task, mix);
            if mix.warmed {
                run(&Plan {
                    warming: true,
                    seed: plan.seed + 1,
                    ..plan
                })?;
            }
            if mix.scheduled {
                plan.rate = Some(match work.tail_rate {
                    Some(rate) => rate as f64,
                    None => half_of_peak(&run, &plan, work.peak_seconds)?,
                });
            }
            let before = Traffic::now();
            let outcome = run(&plan)?;
            let mut measured = measured(task, &store, &plan, outcome, before)?;
            if at == settle_after {
                measured.settled = Some(settle(task, &store)?);
            }
            (self.tell)(&measured)?;
        }
        Ok(())
    }
}

/// Half the rate that the mix reaches without a schedule.
fn half_of_peak(run: &impl Fn(&Plan) -> Result<Outcome>, plan: &Plan, seconds: u64) -> Result<f64> {
    let peak = run(&Plan {
        limit: Duration::from_secs(seconds),
        seed: plan.seed + 1,
        ..*plan
    })?;
    Ok((peak.operations as f64 / peak.seconds.max(1e-9) / 2.0).max(1.0))
}

fn plan(task: &Task, mix: &'static Mix) -> Plan {
    let work = &task.work;
    Plan {
        mix,
        threads: mix.threads(task.threads),
        operations: match mix.name {
            LOAD => work.records,
            _ if mix.queue.is_some() => work.pops,
            // Its time ends it.
            _ if mix.scheduled => u64::MAX,
            _ => work.operations,
        },
        limit: match mix.name {
            LOAD => Duration::MAX,
            _ if mix.scheduled => Duration::from_secs(work.tail_seconds),
            _ => Duration::from_secs(work.seconds),
        },
        scan: (work.scan_least, work.scan_most),
        // Other random numbers for each mix.
        seed: mix.name.bytes().fold(work.seed, |seed, byte| {
            seed.wrapping_mul(31).wrapping_add(u64::from(byte))
        }),
        warming: false,
        rate: None,
    }
}

fn measured<S: Store>(
    task: &Task,
    store: &S,
    plan: &Plan,
    outcome: Outcome,
    before: Traffic,
) -> Result<Measured> {
    let latencies = outcome.latencies.iter();
    Ok(Measured {
        mix: plan.mix.name.to_owned(),
        operations: outcome.operations,
        seconds: outcome.seconds,
        latencies: latencies
            .map(|(operation, all)| Latency::of(*operation, all))
            .collect(),
        series: outcome.series,
        memory: Memory::now(),
        memory_parts: store.memory(),
        traffic: Traffic::now().since(before),
        file_bytes: file_bytes(&task.directory)?,
        over_time: outcome.over_time,
        scheduled_rate: plan.rate,
        tenths: outcome.tenths,
        settled: None,
    })
}

fn settle<S: Store>(task: &Task, store: &S) -> Result<Settled> {
    let (start, before) = (Instant::now(), Traffic::now());
    store
        .settle()
        .map_err(|failure| failure.during("settling"))?;
    if task.work.compact {
        store
            .compact()
            .map_err(|failure| failure.during("compacting"))?;
    }
    Ok(Settled {
        seconds: start.elapsed().as_secs_f64(),
        file_bytes: file_bytes(&task.directory)?,
        memory: Memory::now(),
        traffic: Traffic::now().since(before),
    })
}
