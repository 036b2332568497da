//! A plan of cells (structure, workload, threads), run in rounds.
//!
//! Every round runs every cell once, one structure after the other, and each
//! round begins with another structure; the medians over the rounds count. A
//! structure that is read is loaded once a round, by one thread and untimed.
//! Making and dropping structures is not timed either.

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::AtomicUsize;
use std::thread;

use whitewater_concurrent::heap;
use whitewater_concurrent::region::Claim;
use whitewater_concurrent::sync::rmw;

use crate::input::{Input, Order};
use crate::structure::{Kind, Operation, Subject};
use crate::workload::{self, Ending, Job, Tally, Workload, loaded_before};

/// What to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The structures.
    pub kinds: Vec<&'static Kind>,
    /// The workloads.
    pub workloads: Vec<Workload>,
    /// Numbers of threads, each at least 1.
    pub threads: Vec<usize>,
    /// Rounds, at least 1.
    pub rounds: usize,
    /// Entries of a batch, at least 1.
    pub batch_size: usize,
    /// Scans of each thread, at least 1.
    pub scans: usize,
    /// Entries read after each seek.
    pub seek_nexts: usize,
    /// Whether memory is kept from one run to the next, as a database keeps that of its
    /// memtables; otherwise each run gets fresh memory from the system.
    pub keep_memory: bool,
}

/// One figure to find.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The structure.
    pub kind: &'static Kind,
    /// The workload.
    pub workload: Workload,
    /// How many threads run it.
    pub threads: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.threads == 1 { "" } else { "s" };
        write!(
            f,
            "{}, {}, {} thread{plural}",
            self.kind.name,
            self.workload.name(),
            self.threads
        )
    }
}

/// What was measured in one place.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Where.
    pub place: Place,
    /// The runs, or why there are none.
    pub outcome: Result<Figures, &'static str>,
}

/// The runs of one place.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// One for each round.
    pub samples: Vec<Sample>,
    /// Memory for each entry, if it is known.
    pub bytes_per_entry: Option<Bytes>,
    /// Atomic read-modify-writes of each operation, if they are known.
    pub rmw_per_operation: Option<Rmw>,
}

/// One run.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// From the first thread's start to the last one's end.
    pub seconds: f64,
    /// The times of all threads together.
    pub thread_seconds: f64,
    /// The processor times of all threads together, where the system tells them: what other
    /// programs take does not count.
    pub cpu_seconds: Option<f64>,
    /// Operations of all threads.
    pub operations: u64,
    /// Those of them that inserted.
    pub writes: u64,
    /// Atomic read-modify-writes, if this build counts.
    pub rmw: u64,
}

impl Sample {
    /// Operations of all threads in a second.
    pub fn operations_per_second(&self) -> f64 {
        self.operations as f64 / self.seconds.max(1e-9)
    }

    /// Nanoseconds a thread spent on an operation.
    pub fn nanoseconds(&self) -> f64 {
        self.thread_seconds * 1e9 / self.operations.max(1) as f64
    }

    /// Nanoseconds of processor time a thread spent on an operation.
    pub fn cpu_nanoseconds(&self) -> Option<f64> {
        let seconds = self.cpu_seconds?;
        Some(seconds * 1e9 / self.operations.max(1) as f64)
    }
}

impl Figures {
    /// Median of the operations of all threads in a second.
    pub fn operations_per_second(&self) -> f64 {
        median(self.samples.iter().map(Sample::operations_per_second))
    }

    /// Median of the nanoseconds a thread spent on an operation.
    pub fn nanoseconds(&self) -> f64 {
        median(self.samples.iter().map(Sample::nanoseconds))
    }

    /// Median of the processor time in nanoseconds that a thread spent on an operation.
    pub fn cpu_nanoseconds(&self) -> Option<f64> {
        let samples = self.samples.iter();
        let each: Option<Vec<_>> = samples.map(Sample::cpu_nanoseconds).collect();
        each.map(|each| median(each.into_iter()))
    }

    /// The slowest and the fastest run, in operations per second.
    pub fn range(&self) -> (f64, f64) {
        let rates = || self.samples.iter().map(Sample::operations_per_second);
        (
            rates().fold(f64::INFINITY, f64::min),
            rates().fold(0.0, f64::max),
        )
    }
}

/// Memory for each entry, and who says so.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bytes {
    /// The structure's own account.
    Own(f64),
    /// Growth of the process's heap while one thread filled it.
    Heap(f64),
}

/// Atomic read-modify-writes of each operation, and who says so.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rmw {
    /// Counted while the workload ran.
    Counted(f64),
    /// Read in the source.
    Documented(f64),
}

/// The middle value, or the mean of the middle two; 0 for none.
pub fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match (sorted.get(middle), sorted.len() % 2) {
        (None, _) => 0.0,
        (Some(value), 1) => *value,
        (Some(value), _) => (value + sorted[middle - 1]) / 2.0,
    }
}

impl Plan {
    /// The places of one round, structure by structure.
    fn places(&self) -> Vec<Place> {
        let mut places = Vec::new();
        for kind in &self.kinds {
            for workload in &self.workloads {
                for threads in &self.threads {
                    places.push(Place {
                        kind,
                        workload: *workload,
                        threads: *threads,
                    });
                }
            }
        }
        places
    }

    /// Runs of places in all rounds together, sizes and refusals included.
    pub fn steps(&self) -> usize {
        (self.places().len() + self.kinds.len()) * self.rounds
    }

    /// Runs everything; `watch` hears of each step before it is taken.
    /// Cells come back in order of workload, threads and structure.
    ///
    /// # Errors
    /// A structure that did not find what it should have.
    pub fn run(&self, input: &Input, watch: &mut dyn FnMut(&str)) -> Result<Vec<Cell>, String> {
        let _claim = self.keep_memory.then(|| Claim::new(1 << 30));
        let mut runs = Runs {
            plan: self,
            input,
            held: OnceLock::new(),
            cells: self.cells(input),
        };
        for round in 0..self.rounds {
            for turn in 0..self.kinds.len() {
                let kind = self.kinds[(round + turn) % self.kinds.len()];
                watch(kind.name);
                if round == 0 {
                    runs.weigh(kind)?;
                }
                runs.round(kind, watch)?;
            }
        }
        let mut cells = runs.cells;
        let threads = |cell: &Cell| self.threads.iter().position(|t| *t == cell.place.threads);
        let workload = |cell: &Cell| {
            self.workloads
                .iter()
                .position(|w| *w == cell.place.workload)
        };
        cells.sort_by_key(|cell| (workload(cell), threads(cell)));
        Ok(cells)
    }

    fn cells(&self, input: &Input) -> Vec<Cell> {
        let cells = self.places().into_iter().map(|place| {
            let asked = |operation| (place.kind.refuses)(&input.shape, operation);
            let refused = asked(place.workload.operation()).or_else(|| asked(Operation::Insert));
            Cell {
                place,
                outcome: match refused {
                    Some(why) => Err(why),
                    None => Ok(Figures::default()),
                },
            }
        });
        cells.collect()
    }
}

/// A plan being run.
struct Runs<'a> {
    plan: &'a Plan,
    input: &'a Input,
    /// What readers beside writers look for; made when first needed.
    held: OnceLock<Order>,
    cells: Vec<Cell>,
}

impl Runs<'_> {
    /// Finds out how much memory the structure takes, filled in random order
    /// and in key order, as far as the plan wants to know. Also warms up.
    fn weigh(&mut self, kind: &'static Kind) -> Result<(), String> {
        let wants = |cell: &Cell, sorted: bool| {
            let fill_seq = cell.place.workload == Workload::FillSeq;
            cell.place.kind.name == kind.name && cell.outcome.is_ok() && fill_seq == sorted
        };
        for (sorted, order) in [(false, Workload::FillRandom), (true, Workload::FillSeq)] {
            if !self.cells.iter().any(|cell| wants(cell, sorted)) {
                continue;
            }
            let bytes = self.bytes_per_entry(kind, order)?;
            for cell in self.cells.iter_mut().filter(|cell| wants(cell, sorted)) {
                if let Ok(figures) = &mut cell.outcome {
                    figures.bytes_per_entry = bytes;
                }
            }
        }
        Ok(())
    }

    fn bytes_per_entry(
        &self,
        kind: &'static Kind,
        order: Workload,
    ) -> Result<Option<Bytes>, String> {
        let mut made = Err(String::new());
        let growth = heap::growth_during(|| made = self.filled(kind, order));
        let entries = self.input.shape.entries.max(1) as f64;
        let own = made?.own_bytes();
        Ok(match (own, growth) {
            (Some(own), _) => Some(Bytes::Own(own as f64 / entries)),
            (None, Some(growth)) => Some(Bytes::Heap(growth as f64 / entries)),
            (None, None) => None,
        })
    }

    /// A structure with all entries, inserted by one thread.
    fn filled(&self, kind: &'static Kind, order: Workload) -> Result<Box<dyn Subject>, String> {
        let subject = (kind.make)(&self.input.shape);
        let place = Place {
            kind,
            workload: order,
            threads: 1,
        };
        self.once(&*subject, place)?;
        Ok(subject)
    }

    /// Every cell of a structure once.
    fn round(&mut self, kind: &'static Kind, watch: &mut dyn FnMut(&str)) -> Result<(), String> {
        let mut loaded = None;
        for index in 0..self.cells.len() {
            let Cell { place, ref outcome } = self.cells[index];
            if place.kind.name != kind.name {
                continue;
            }
            watch(&place.to_string());
            if outcome.is_err() {
                continue;
            }
            let tally = match place.workload {
                fill if fill.is_fill() => self.once(&*(kind.make)(&self.input.shape), place)?,
                Workload::ReadWrite => self.beside(place)?,
                _ => {
                    if loaded.is_none() {
                        loaded = Some(self.filled(kind, Workload::FillRandom)?);
                    }
                    match &loaded {
                        Some(subject) => self.once(&**subject, place)?,
                        None => continue,
                    }
                }
            };
            if let Ok(figures) = &mut self.cells[index].outcome {
                figures.add(place, &tally);
            }
        }
        Ok(())
    }

    /// One run of writers and readers, on a structure half full.
    fn beside(&self, place: Place) -> Result<Ran, String> {
        let subject = (place.kind.make)(&self.input.shape);
        let half = loaded_before(self.input);
        self.load(&*subject, half, place)?;
        self.once(&*subject, place)
    }

    /// Puts the first entries of the filling order in.
    fn load(&self, subject: &dyn Subject, count: usize, place: Place) -> Result<(), String> {
        let mut job = self.job(Workload::FillRandom, 1);
        job.first = Some(count);
        let tally = subject.work(&job, self.input, 0);
        let verified = tally.verify();
        verified.map_err(|why| format!("{place}: {why} when loaded"))
    }

    fn job(&self, workload: Workload, threads: usize) -> Job<'_> {
        let beside = workload == Workload::ReadWrite;
        Job {
            workload,
            threads,
            batch_size: self.plan.batch_size,
            scans: self.plan.scans,
            seek_nexts: self.plan.seek_nexts,
            first: None,
            held: beside.then(|| {
                let half = loaded_before(self.input);
                self.held.get_or_init(|| self.input.read_among(half))
            }),
            writing: AtomicUsize::new(workload::writers(threads)),
        }
    }

    /// One run, verified.
    fn once(&self, subject: &dyn Subject, place: Place) -> Result<Ran, String> {
        let job = self.job(place.workload, place.threads);
        let tallies = run_threads(subject, &job, self.input)
            .map_err(|error| format!("{place}: a thread could not be started: {error}"))?;
        let thread_seconds = tallies.iter().map(|t| t.elapsed().as_secs_f64()).sum();
        let sum = tallies.into_iter().reduce(Tally::and);
        let tally = sum.ok_or_else(|| format!("{place}: no thread ran"))?;
        tally.verify().map_err(|why| format!("{place}: {why}"))?;
        Ok(Ran {
            tally,
            thread_seconds,
        })
    }
}

/// A run of all threads.
struct Ran {
    tally: Tally,
    thread_seconds: f64,
}

impl Figures {
    fn add(&mut self, place: Place, run: &Ran) {
        self.samples.push(Sample {
            seconds: run.tally.elapsed().as_secs_f64(),
            thread_seconds: run.thread_seconds,
            cpu_seconds: run.tally.cpu.map(|cpu| cpu.as_secs_f64()),
            operations: run.tally.operations,
            writes: run.tally.writes,
            rmw: run.tally.rmw,
        });
        self.rmw_per_operation = if place.kind.counts_rmw && rmw::ENABLED {
            let each = |sample: &Sample| sample.rmw as f64 / sample.operations.max(1) as f64;
            Some(Rmw::Counted(median(self.samples.iter().map(each))))
        } else if matches!(place.workload, Workload::FillBatch | Workload::ReadWrite) {
            // Depends on the size of the batches, or on the mixture.
            None
        } else {
            (place.kind.documented_rmw)(place.workload.operation()).map(Rmw::Documented)
        };
    }
}

/// Runs all threads of a job; they begin when all have been started.
fn run_threads(subject: &dyn Subject, job: &Job<'_>, input: &Input) -> std::io::Result<Vec<Tally>> {
    // Set to whether to begin: `false` if a thread could not be started.
    let gate: OnceLock<bool> = OnceLock::new();
    thread::scope(|scope| {
        let mut workers = Vec::with_capacity(job.threads);
        let mut failure = None;
        for id in 0..job.threads {
            let gate = &gate;
            let run = move || {
                // Also when it panics, so that readers beside it end.
                let _ending = Ending::of(job, id);
                gate.wait().then(|| subject.work(job, input, id))
            };
            match thread::Builder::new().spawn_scoped(scope, run) {
                Ok(worker) => workers.push(worker),
                Err(error) => {
                    failure = Some(error);
                    break;
                }
            }
        }
        gate.get_or_init(|| failure.is_none());
        let mut tallies = Vec::with_capacity(workers.len());
        for worker in workers {
            let tally = worker.join();
            tallies.extend(tally.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        match failure {
            Some(error) => Err(error),
            None => Ok(tallies),
        }
    })
}

#[cfg(test)]
mod tests;
