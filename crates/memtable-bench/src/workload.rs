//! What the threads do, and what they must find.

use std::hint::black_box;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use whitewater_concurrent::sync::rmw;

use crate::input::{Input, Order, share};
use crate::structure::{Direction, Entry, Handle, Operation};

/// A workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// Inserts one by one, in random order.
    FillRandom,
    /// Inserts one by one; each thread has a range of keys, in order.
    FillSeq,
    /// Inserts groups of neighbouring keys; the groups are in random order.
    FillClustered,
    /// Inserts in random order, several at a time.
    FillBatch,
    /// Reads every key once, in random order.
    ReadRandom,
    /// Scans all entries, in each thread.
    ReadSeq,
    /// Scans all entries backwards, in each thread.
    ReadReverse,
    /// Seeks every key once, in random order.
    SeekRandom,
    /// Some threads insert while the others read.
    ReadWrite,
}

impl Workload {
    /// Every workload, in the order of a full run.
    pub const ALL: [Workload; 9] = [
        Workload::FillRandom,
        Workload::FillSeq,
        Workload::FillClustered,
        Workload::FillBatch,
        Workload::ReadRandom,
        Workload::ReadSeq,
        Workload::ReadReverse,
        Workload::SeekRandom,
        Workload::ReadWrite,
    ];

    /// The name in `--benchmarks`.
    pub fn name(self) -> &'static str {
        match self {
            Workload::FillRandom => "fillrandom",
            Workload::FillSeq => "fillseq",
            Workload::FillClustered => "fillclustered",
            Workload::FillBatch => "fillbatch",
            Workload::ReadRandom => "readrandom",
            Workload::ReadSeq => "readseq",
            Workload::ReadReverse => "readreverse",
            Workload::SeekRandom => "seekrandom",
            Workload::ReadWrite => "readwrite",
        }
    }

    /// A description in one line.
    pub fn about(self) -> &'static str {
        match self {
            Workload::FillRandom => "insert in random order into an empty structure",
            Workload::FillSeq => {
                "insert in key order into an empty structure, each thread a range of its own"
            }
            Workload::FillClustered => {
                "insert groups of 16 neighbouring keys into an empty structure, in random order"
            }
            Workload::FillBatch => "insert in random order, --batch_size entries at a time",
            Workload::ReadRandom => "read every key once, in random order",
            Workload::ReadSeq => "walk over all entries, each thread --num_scans times",
            Workload::ReadReverse => "the same backwards",
            Workload::SeekRandom => {
                "seek to every key once, in random order, and read --seek_nexts entries more"
            }
            Workload::ReadWrite => {
                "a quarter of the threads (at least one) inserts the second half of the entries \
                 while the others read the first; a single thread does both in turn"
            }
        }
    }

    /// Whether the workload starts on an empty structure.
    pub fn is_fill(self) -> bool {
        matches!(
            self,
            Workload::FillRandom
                | Workload::FillSeq
                | Workload::FillClustered
                | Workload::FillBatch
        )
    }

    /// The operation that the workload does most.
    pub fn operation(self) -> Operation {
        match self {
            Workload::FillRandom
            | Workload::FillSeq
            | Workload::FillClustered
            | Workload::FillBatch => Operation::Insert,
            Workload::ReadRandom | Workload::ReadWrite => Operation::Get,
            Workload::ReadSeq => Operation::Scan(Direction::Forward),
            Workload::ReadReverse => Operation::Scan(Direction::Backward),
            Workload::SeekRandom => Operation::Seek,
        }
    }
}

/// A workload with everything that its threads must know.
#[derive(Debug)]
pub struct Job<'a> {
    /// The workload.
    pub workload: Workload,
    /// The number of threads, at least 1.
    pub threads: usize,
    /// The number of entries in a batch, at least 1.
    pub batch_size: usize,
    /// The number of scans by each thread.
    pub scans: usize,
    /// The number of entries to read after each seek.
    pub seek_nexts: usize,
    /// How many entries of the filling order to insert, for a [`Workload::FillRandom`] that
    /// loads a structure; `None` for all.
    pub first: Option<usize>,
    /// The existing keys that readers look for while others write.
    pub held: Option<&'a Order>,
    /// The number of writers that are not done, for the readers beside them.
    /// Written by: each writer when it ends. Read by: readers. Publishes nothing.
    pub writing: AtomicUsize,
}

/// What one thread has done.
#[derive(Clone, Copy, Debug)]
pub struct Tally {
    /// When the thread began.
    pub start: Instant,
    /// When the thread was done.
    pub end: Instant,
    /// The processor time of the thread, if the system reports it.
    pub cpu: Option<Duration>,
    /// The number of operations.
    pub operations: u64,
    /// The number of operations that were inserts.
    pub writes: u64,
    /// The number of entries found or inserted.
    pub found: u64,
    /// The number of entries that had to be found or inserted.
    pub expected: u64,
    /// The checksum of what was read.
    pub checksum: u64,
    /// The checksum of what had to be read.
    pub expected_checksum: u64,
    /// The number of atomic read-modify-write operations, if this build counts them.
    pub rmw: u64,
}

impl Tally {
    fn start() -> Self {
        let now = Instant::now();
        Tally {
            start: now,
            end: now,
            cpu: None,
            operations: 0,
            writes: 0,
            found: 0,
            expected: 0,
            checksum: 0,
            expected_checksum: 0,
            rmw: 0,
        }
    }

    /// The sum of two tallies.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Tally {
            start: self.start.min(other.start),
            end: self.end.max(other.end),
            cpu: self.cpu.zip(other.cpu).map(|(a, b)| a + b),
            operations: self.operations + other.operations,
            writes: self.writes + other.writes,
            found: self.found + other.found,
            expected: self.expected + other.expected,
            checksum: self.checksum.wrapping_add(other.checksum),
            expected_checksum: self.expected_checksum.wrapping_add(other.expected_checksum),
            rmw: self.rmw + other.rmw,
        }
    }

    /// The time from the first start to the last end.
    pub fn elapsed(&self) -> Duration {
        self.end - self.start
    }

    /// Checks that everything was found, and was what had been inserted.
    ///
    /// # Errors
    /// A message that says what was wrong.
    pub fn verify(&self) -> Result<(), String> {
        if self.found != self.expected {
            return Err(format!("found {} of {} entries", self.found, self.expected));
        }
        if self.checksum != self.expected_checksum {
            return Err("entries came back changed".to_owned());
        }
        Ok(())
    }
}

/// The processor time that the calling thread has used so far.
#[cfg(unix)]
fn processor_time() -> Option<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).ok()
}

/// The processor time of the calling thread, which is unknown on this system.
#[cfg(not(unix))]
fn processor_time() -> Option<Duration> {
    None
}

/// A number that depends on the last byte, which ensures that this byte was read.
#[inline(always)]
fn probe(bytes: &[u8]) -> u64 {
    let last = bytes.last().copied().unwrap_or_default();
    u64::from(last) << 32 | bytes.len() as u64
}

/// Does the work of one thread. The measured times cover only the operations.
pub fn work(handle: &mut impl Handle, job: &Job<'_>, input: &Input, thread: usize) -> Tally {
    let of = Share {
        job,
        input,
        thread,
        threads: job.threads,
    };
    match job.workload {
        Workload::FillRandom => {
            let all = 0..job.first.unwrap_or(input.fill.len());
            of.fill(handle, &input.fill, share(all, thread, job.threads))
        }
        Workload::FillSeq => of.fill(
            handle,
            &input.sorted,
            input.sorted.share(thread, job.threads),
        ),
        Workload::FillClustered => of.fill(
            handle,
            &input.clustered,
            input.clustered.share(thread, job.threads),
        ),
        Workload::FillBatch => of.fill_batches(handle),
        Workload::ReadRandom => of.read(handle),
        Workload::ReadSeq => of.scan(handle, Direction::Forward),
        Workload::ReadReverse => of.scan(handle, Direction::Backward),
        Workload::SeekRandom => of.seek(handle),
        Workload::ReadWrite => of.read_and_write(handle),
    }
}

/// The number of threads that write in a [`Workload::ReadWrite`] of `threads`.
pub fn writers(threads: usize) -> usize {
    (threads / 4).max(1)
}

/// One thread's share of a job.
#[derive(Clone, Copy)]
struct Share<'a> {
    job: &'a Job<'a>,
    input: &'a Input,
    thread: usize,
    threads: usize,
}

impl Share<'_> {
    /// Runs `operations` between two readings of the clock.
    fn timed(self, operations: impl FnOnce(&mut Tally)) -> Tally {
        let before = rmw::on_this_thread();
        let cpu = processor_time();
        let mut tally = Tally::start();
        operations(&mut tally);
        tally.end = Instant::now();
        tally.cpu = processor_time()
            .zip(cpu)
            .map(|(end, start)| end.saturating_sub(start));
        tally.checksum = black_box(tally.checksum);
        tally.rmw = rmw::on_this_thread() - before;
        tally
    }

    fn entry<'k>(&'k self, id: u32, key: &'k [u8]) -> Entry<'k> {
        Entry {
            key,
            tag: u64::from(id) + 1,
            value: self.input.value(id),
        }
    }

    fn fill(self, handle: &mut impl Handle, order: &Order, range: Range<usize>) -> Tally {
        let mut tally = self.timed(|tally| {
            for (id, key) in order.part(range.clone()) {
                tally.found += u64::from(handle.insert(self.entry(id, key)));
            }
        });
        tally.operations = range.len() as u64;
        tally.writes = tally.operations;
        tally.expected = tally.operations;
        tally
    }

    fn fill_batches(self, handle: &mut impl Handle) -> Tally {
        let range = self.input.fill.share(self.thread, self.threads);
        let mut batch = Vec::with_capacity(self.job.batch_size);
        let mut tally = self.timed(|tally| {
            let mut entries = self.input.fill.part(range.clone());
            loop {
                batch.clear();
                let next = entries.by_ref().take(self.job.batch_size);
                batch.extend(next.map(|(id, key)| Entry {
                    key,
                    tag: u64::from(id) + 1,
                    value: self.input.value(id),
                }));
                if batch.is_empty() {
                    break;
                }
                tally.found += handle.insert_batch(&batch) as u64;
            }
        });
        tally.operations = range.len() as u64;
        tally.writes = tally.operations;
        tally.expected = tally.operations;
        tally
    }

    fn read(self, handle: &mut impl Handle) -> Tally {
        let range = self.input.read.share(self.thread, self.threads);
        let mut tally = self.timed(|tally| {
            for (_, key) in self.input.read.part(range.clone()) {
                let checksum = &mut tally.checksum;
                let found = handle.get(key, &mut |value| {
                    *checksum = checksum.wrapping_add(probe(value));
                });
                tally.found += u64::from(found);
            }
        });
        tally.operations = range.len() as u64;
        tally.expected = tally.operations;
        tally.expected_checksum = self.values_of(&self.input.read, range);
        tally
    }

    fn seek(self, handle: &mut impl Handle) -> Tally {
        let range = self.input.read.share(self.thread, self.threads);
        let mut tally = self.timed(|tally| {
            for (_, key) in self.input.read.part(range.clone()) {
                let mut entries = 0;
                handle.seek(key, &mut |there, value| {
                    if entries == 0 {
                        tally.found += u64::from(there == key);
                        tally.checksum = tally.checksum.wrapping_add(probe(value));
                    } else {
                        black_box((probe(there), probe(value)));
                    }
                    entries += 1;
                    entries <= self.job.seek_nexts
                });
            }
        });
        tally.operations = range.len() as u64;
        tally.expected = tally.operations;
        tally.expected_checksum = self.values_of(&self.input.read, range);
        tally
    }

    fn scan(self, handle: &mut impl Handle, direction: Direction) -> Tally {
        let mut tally = self.timed(|tally| {
            for _ in 0..self.job.scans {
                handle.scan(direction, &mut |key, value| {
                    tally.found += 1;
                    tally.checksum = tally
                        .checksum
                        .wrapping_add(probe(key))
                        .wrapping_add(probe(value));
                });
            }
        });
        let all = 0..self.input.sorted.len();
        let keys = self.input.sorted.part(all.clone());
        let once = keys
            .map(|(_, key)| probe(key))
            .fold(self.values_of(&self.input.sorted, all), u64::wrapping_add);
        tally.operations = (self.input.sorted.len() * self.job.scans) as u64;
        tally.expected = tally.operations;
        tally.expected_checksum = once.wrapping_mul(self.job.scans as u64);
        tally
    }

    /// Writes the second half of the filling order, and reads the first.
    fn read_and_write(self, handle: &mut impl Handle) -> Tally {
        let second = loaded_before(self.input)..self.input.fill.len();
        let writers = writers(self.threads);
        if self.threads == 1 {
            self.alternate(handle, second)
        } else if self.thread < writers {
            self.fill(
                handle,
                &self.input.fill,
                share(second, self.thread, writers),
            )
        } else {
            self.read_meanwhile(handle)
        }
    }

    fn alternate(self, handle: &mut impl Handle, second: Range<usize>) -> Tally {
        let Some(held) = self.job.held else {
            return self.fill(handle, &self.input.fill, second);
        };
        let writes = second.len();
        let both = writes.min(held.len());
        let mut tally = self.timed(|tally| {
            let reads = held.part(0..both).map(Some).chain(std::iter::repeat(None));
            for ((id, key), read) in self.input.fill.part(second).zip(reads) {
                tally.found += u64::from(handle.insert(self.entry(id, key)));
                if let Some((_, key)) = read {
                    let checksum = &mut tally.checksum;
                    let found = handle.get(key, &mut |value| {
                        *checksum = checksum.wrapping_add(probe(value));
                    });
                    tally.found += u64::from(found);
                }
            }
        });
        tally.operations = (writes + both) as u64;
        tally.writes = writes as u64;
        tally.expected = tally.operations;
        tally.expected_checksum = self.values_of(held, 0..both);
        tally
    }

    fn read_meanwhile(self, handle: &mut impl Handle) -> Tally {
        /// The number of reads between two checks for writers.
        const PIECE: usize = 64;
        let Some(held) = self.job.held.filter(|held| !held.is_empty()) else {
            return self.timed(|_| ());
        };
        let start = held.share(self.thread, self.threads).start;
        let mut pieces = (0, 0);
        let mut tally = self.timed(|tally| {
            let mut at = start;
            loop {
                let end = (at + PIECE).min(held.len());
                for (_, key) in held.part(at..end) {
                    let checksum = &mut tally.checksum;
                    let found = handle.get(key, &mut |value| {
                        *checksum = checksum.wrapping_add(probe(value));
                    });
                    tally.found += u64::from(found);
                }
                tally.operations += (end - at) as u64;
                at = end;
                if end == held.len() {
                    pieces.0 += 1;
                    at = 0;
                }
                // Relaxed: the count carries no data.
                if self.job.writing.load(Ordering::Relaxed) == 0 {
                    pieces.1 = at;
                    break;
                }
            }
        });
        tally.expected = tally.operations;
        // The reads went from `start`, past the end of the keys `rounds` times, up to `last`.
        let (rounds, last) = pieces;
        let whole = self.values_of(held, 0..held.len());
        tally.expected_checksum = whole
            .wrapping_mul(rounds)
            .wrapping_add(self.values_of(held, 0..last))
            .wrapping_sub(self.values_of(held, 0..start));
        tally
    }

    fn values_of(&self, order: &Order, range: Range<usize>) -> u64 {
        let values = order.part(range).map(|(id, _)| self.input.value(id));
        values.map(probe).fold(0, u64::wrapping_add)
    }
}

/// The number of entries in a structure before a [`Workload::ReadWrite`].
pub fn loaded_before(input: &Input) -> usize {
    input.fill.len() / 2
}

/// Ends the count of a writer beside readers when it is dropped, however that happens.
pub(crate) struct Ending<'a>(&'a AtomicUsize);

impl<'a> Ending<'a> {
    /// A guard for the thread with this number, if it is a writer.
    pub(crate) fn of(job: &'a Job<'_>, thread: usize) -> Option<Self> {
        let writes = job.workload == Workload::ReadWrite && thread < writers(job.threads);
        writes.then(|| Ending(&job.writing))
    }
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
