//! All mixes on one store, in one process: the part of the child process.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use whitewater_tools::bench::histogram::Latencies;

use crate::generators::Acknowledged;
use crate::keys::Values;
use crate::measure::{Memory, Traffic, file_bytes};
use crate::mixes::{LOAD, Mix, Operation};
use crate::runner::{self, Plan};
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
    /// Bytes that went in and out meanwhile, in the background as well.
    pub traffic: Traffic,
    /// The space of files right after, in bytes.
    pub file_bytes: u64,
    /// How the store was after it was left to settle; after the load only.
    pub settled: Option<Settled>,
}

/// A store that has done all that it had put off.
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
        };
        let store = S::open(&task.directory, &settings)?;
        let records = Acknowledged::from(0);
        let values = Values::new(work.value_size, work.seed);
        let names = std::iter::once(LOAD).chain(task.mixes.iter().map(String::as_str));
        for name in names {
            let Some(mix) = Mix::named(name) else {
                return fail(format!("there is no mix {name}"));
            };
            let plan = plan(task, mix);
            if mix.warmed {
                let warming = Plan {
                    warming: true,
                    seed: plan.seed + 1,
                    ..plan
                };
                runner::run(&store, &records, &values, &warming)?;
            }
            let mut measured = one(task, &store, &records, &values, &plan)?;
            if mix.name == LOAD {
                measured.settled = Some(settle(task, &store)?);
            }
            (self.tell)(&measured)?;
        }
        Ok(())
    }
}

fn plan(task: &Task, mix: &'static Mix) -> Plan {
    let work = &task.work;
    let is_load = mix.name == LOAD;
    Plan {
        mix,
        threads: if mix.is_queue() { 1 } else { task.threads },
        operations: match mix.name {
            LOAD => work.records,
            _ if mix.is_queue() => work.pops,
            _ => work.operations,
        },
        limit: if is_load {
            Duration::MAX
        } else {
            Duration::from_secs(work.seconds)
        },
        scan: (work.scan_least, work.scan_most),
        // Other random numbers for each mix.
        seed: mix.name.bytes().fold(work.seed, |seed, byte| {
            seed.wrapping_mul(31).wrapping_add(u64::from(byte))
        }),
        warming: false,
    }
}

fn one<S: Store>(
    task: &Task,
    store: &S,
    records: &Acknowledged,
    values: &Values,
    plan: &Plan,
) -> Result<Measured> {
    let before = Traffic::now();
    let outcome = runner::run(store, records, values, plan);
    let outcome = outcome.map_err(|failure| failure.during(plan.mix.name))?;
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
        traffic: Traffic::now().since(before),
        file_bytes: file_bytes(&task.directory)?,
        settled: None,
    })
}

fn settle<S: Store>(task: &Task, store: &S) -> Result<Settled> {
    let (start, before) = (Instant::now(), Traffic::now());
    store
        .settle()
        .map_err(|failure| failure.during("settling"))?;
    Ok(Settled {
        seconds: start.elapsed().as_secs_f64(),
        file_bytes: file_bytes(&task.directory)?,
        memory: Memory::now(),
        traffic: Traffic::now().since(before),
    })
}
