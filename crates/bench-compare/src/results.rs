//! The results of all rounds, and their medians.

use serde::Serialize;
use whitewater_tools::bench::report::median;

use crate::mixes::{LOAD, Mix};
use crate::sequence::{Latency, Measured, Settled};
use crate::stores::Engine;

/// What one store did in one mix with a number of threads.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The store.
    pub engine: Engine,
    /// How many threads the sequence was run by.
    pub threads: usize,
    /// The mix.
    pub mix: &'static Mix,
    /// The rounds.
    pub rounds: Vec<Measured>,
}

/// The medians of a cell.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Medians {
    /// Operations a second.
    pub operations_per_second: f64,
    /// The slowest and the fastest round.
    pub range: (f64, f64),
    /// Resident memory after the mix, in bytes.
    pub resident: f64,
    /// Of that, what only the process has.
    pub anonymous: f64,
    /// The space of files after the mix, in bytes.
    pub file_bytes: f64,
    /// The space of files after the store was left to settle, if it was after this mix.
    pub settled_file_bytes: Option<f64>,
    /// Operations a second in the first and in the last tenth, of a queue.
    pub tenths: Option<(f64, f64)>,
    /// Operations a second of the schedule, if there was one.
    pub scheduled_rate: Option<f64>,
    /// How long settling took, in seconds.
    pub settle_seconds: Option<f64>,
    /// Bytes read by calls and from the disk.
    pub read: (f64, f64),
    /// Bytes written by calls and to the disk.
    pub written: (f64, f64),
    /// Latencies by operation.
    pub latencies: Vec<MedianLatency>,
}

/// The medians of the rounds' latencies, in microseconds.
#[derive(Clone, Debug, Default, Serialize)]
pub struct MedianLatency {
    /// The operation.
    pub operation: String,
    /// How many there were in all rounds.
    pub count: u64,
    /// The mean.
    pub mean: f64,
    /// At [`crate::sequence::PERCENTILES`].
    pub percentiles: Vec<f64>,
    /// The longest of a round; and of all rounds.
    pub most: (f64, f64),
}

impl Cell {
    /// The median of a figure of the rounds.
    fn median(&self, figure: impl Fn(&Measured) -> f64) -> f64 {
        median(&self.rounds.iter().map(figure).collect::<Vec<_>>())
    }

    /// Operations a second.
    pub fn rate(&self) -> f64 {
        self.median(Measured::rate)
    }

    /// Its medians.
    pub fn medians(&self) -> Medians {
        let rates = || self.rounds.iter().map(Measured::rate);
        let of_some = |figure: &dyn Fn(&Measured) -> Option<f64>| {
            let all: Vec<_> = self.rounds.iter().filter_map(figure).collect();
            (!all.is_empty()).then(|| median(&all))
        };
        let settled = |figure: fn(&Settled) -> f64| {
            of_some(&|one: &Measured| one.settled.as_ref().map(figure))
        };
        let first_tenth = of_some(&|one| one.tenths.map(|(first, _)| first));
        let last_tenth = of_some(&|one| one.tenths.map(|(_, last)| last));
        Medians {
            operations_per_second: self.rate(),
            range: (
                rates().fold(f64::INFINITY, f64::min),
                rates().fold(0.0, f64::max),
            ),
            resident: self.median(|one| one.memory.resident as f64),
            anonymous: self.median(|one| one.memory.anonymous as f64),
            file_bytes: self.median(|one| one.file_bytes as f64),
            settled_file_bytes: settled(|settled| settled.file_bytes as f64),
            tenths: first_tenth.zip(last_tenth),
            scheduled_rate: of_some(&|one| one.scheduled_rate),
            settle_seconds: settled(|settled| settled.seconds),
            read: (
                self.median(|one| one.traffic.read_by_calls as f64),
                self.median(|one| one.traffic.read_from_disk as f64),
            ),
            written: (
                self.median(|one| one.traffic.written_by_calls as f64),
                self.median(|one| one.traffic.written_to_disk as f64),
            ),
            latencies: self.latencies(),
        }
    }

    fn latencies(&self) -> Vec<MedianLatency> {
        let Some(first) = self.rounds.first() else {
            return Vec::new();
        };
        let kinds = first.latencies.iter().enumerate();
        kinds
            .map(|(at, kind)| {
                let rounds: Vec<_> = self.rounds.iter().map(|one| &one.latencies[at]).collect();
                let mid = |figure: &dyn Fn(&Latency) -> f64| {
                    median(&rounds.iter().map(|one| figure(one)).collect::<Vec<_>>())
                };
                MedianLatency {
                    operation: kind.operation.clone(),
                    count: rounds.iter().map(|one| one.count).sum(),
                    mean: mid(&|one| one.mean),
                    percentiles: (0..kind.percentiles.len())
                        .map(|p| mid(&|one| one.percentiles[p]))
                        .collect(),
                    most: (
                        mid(&|one| one.most),
                        rounds.iter().fold(0.0, |most, one| most.max(one.most)),
                    ),
                }
            })
            .collect()
    }
}

/// All cells of a run.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// In the order of numbers of threads, mixes and stores.
    pub cells: Vec<Cell>,
}

impl Results {
    /// Adds what a round of a store came to.
    pub fn add(&mut self, engine: Engine, threads: usize, measured: Vec<Measured>) {
        for one in measured {
            let Some(mix) = Mix::named(&one.mix) else {
                continue;
            };
            let known = self
                .cells
                .iter_mut()
                .find(|cell| (cell.engine, cell.threads, cell.mix) == (engine, threads, mix));
            match known {
                Some(cell) => cell.rounds.push(one),
                None => self.cells.push(Cell {
                    engine,
                    threads,
                    mix,
                    rounds: vec![one],
                }),
            }
        }
    }

    /// How many rounds there were.
    pub fn rounds(&self) -> usize {
        let all = self.cells.iter().filter(|cell| cell.mix.name != LOAD);
        all.map(|cell| cell.rounds.len()).max().unwrap_or(0)
    }

    /// The cells of a number of threads and a mix, in the order of `engines`.
    pub fn row(&self, engines: &[Engine], threads: usize, mix: &Mix) -> Vec<Option<&Cell>> {
        let cell = |engine: &Engine| {
            let mut cells = self.cells.iter();
            cells.find(|cell| cell.engine == *engine && cell.threads == threads && cell.mix == mix)
        };
        engines.iter().map(cell).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(seconds: f64, most: f64) -> Measured {
        Measured {
            mix: "c".to_owned(),
            operations: 100,
            seconds,
            latencies: vec![Latency {
                operation: "read".to_owned(),
                count: 100,
                mean: most / 2.0,
                percentiles: vec![most / 4.0],
                most,
            }],
            ..Measured::default()
        }
    }

    #[test]
    fn medians_are_of_the_rounds() {
        let mut results = Results::default();
        for (seconds, most) in [(1.0, 8.0), (4.0, 40.0), (2.0, 16.0)] {
            results.add(Engine::Whitewater, 2, vec![round(seconds, most)]);
        }
        assert_eq!(results.cells.len(), 1);
        let medians = results.cells[0].medians();
        assert_eq!(medians.operations_per_second, 50.0);
        assert_eq!(medians.range, (25.0, 100.0));
        let latency = &medians.latencies[0];
        assert_eq!((latency.count, latency.mean), (300, 8.0));
        assert_eq!((latency.percentiles[0], latency.most), (4.0, (16.0, 40.0)));
        let mix = Mix::named("c").unwrap();
        assert!(results.row(&[Engine::Whitewater], 2, mix)[0].is_some());
        assert!(results.row(&[Engine::Whitewater], 1, mix)[0].is_none());
    }
}
