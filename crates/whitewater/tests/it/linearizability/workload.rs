//! Threads over a store, and the histories of what they did.
//!
//! A run has some *episodes*. In each episode all threads start together and each makes its calls.
//! Then all wait, and the recorder reads every slot. That read ends one history and begins the
//! next, so each history is complete by itself. Snapshots and iterators are held over episodes,
//! flushes and compactions, and read again and again.

use super::history::{Clock, History, Op, Read, What};
use super::store::{FAMILIES, Manner, Store, View};
use rand::rngs::StdRng;
use rand::seq::index::sample;
use rand::{Rng, SeedableRng};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread;

/// What the threads do.
#[derive(Debug, Clone)]
pub struct Plan {
    pub seed: u64,
    pub threads: usize,
    pub slots: usize,
    pub episodes: usize,
    /// Calls of each thread in each episode.
    pub calls: usize,
    /// Threads that only read go on while others write, up to this multiple of that number of
    /// calls.
    pub patience: usize,
    /// Per cent of writes that are synced.
    pub sync: u32,
    /// Per cent of writes that bypass the log.
    pub no_wal: u32,
    pub value_len: usize,
    /// Whether there are deletes. Without them every value has one source, so the rules see most.
    pub deletes: bool,
    /// Per cent of writes that are batches of several slots.
    pub batches: u32,
    /// Per cent of writes that first give their slots a value that they replace themselves.
    pub decoys: u32,
    /// Per cent of calls that write, for the first thread, the second, and so on in turn.
    pub writes: [u32; 2],
    /// Per cent of calls after which a thread yields.
    pub yields: u32,
    /// Per cent of reads of two slots in quick succession. A thread is then most often interrupted
    /// while it chooses its moment.
    pub pairs: u32,
    /// Whether there are reads of several slots besides gets.
    pub views: bool,
    /// One call in this many is a flush or a compaction.
    pub maintenance: u32,
}

/// The most views that a thread holds.
const HELD: usize = 3;

/// A view that was read, and where that is recorded.
struct Held<'a> {
    view: Box<dyn View + 'a>,
    episode: usize,
    op: usize,
}

struct Worker<'a, S> {
    plan: &'a Plan,
    store: &'a S,
    clock: &'a Clock,
    /// The number of the next write. All threads take numbers from it. Publishes nothing.
    numbers: &'a AtomicU32,
    thread: usize,
    rng: StdRng,
    /// Per cent of its calls that write.
    writes: u32,
    held: Vec<Held<'a>>,
    /// By episode.
    ops: Vec<Vec<Op>>,
}

/// Runs `plan` on an empty store.
pub fn record(plan: &Plan, store: &impl Store) -> Vec<History> {
    let clock = &Clock::default();
    let numbers = &AtomicU32::new(1);
    let writing = &AtomicUsize::new(0);
    let together = &Barrier::new(plan.threads + 1);
    let all: Vec<usize> = (0..plan.slots).collect();
    let mut whole = Vec::new();
    let ops: Vec<Vec<Vec<Op>>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..plan.threads)
            .map(|thread| {
                scope.spawn(move || {
                    let mut worker = Worker {
                        plan,
                        store,
                        clock,
                        numbers,
                        thread,
                        rng: StdRng::seed_from_u64(plan.seed ^ ((thread as u64 + 1) << 40)),
                        writes: plan.writes[thread % plan.writes.len()],
                        held: Vec::new(),
                        ops: vec![Vec::new(); plan.episodes],
                    };
                    let mut panicked = None;
                    for episode in 0..plan.episodes {
                        together.wait();
                        // A thread that panics still meets the others at the barriers.
                        if panicked.is_none() {
                            let calls = || worker.calls(episode, writing);
                            panicked = catch_unwind(AssertUnwindSafe(calls)).err();
                        }
                        if worker.writes > 0 {
                            writing.fetch_sub(1, Ordering::Relaxed);
                        }
                        together.wait();
                    }
                    if let Some(panic) = panicked {
                        resume_unwind(panic);
                    }
                    (0..HELD).for_each(|n| worker.read_again(n));
                    worker.ops
                })
            })
            .collect();
        let mut recorder = Worker {
            plan,
            store,
            clock,
            numbers,
            thread: plan.threads,
            rng: StdRng::seed_from_u64(plan.seed),
            writes: 0,
            held: Vec::new(),
            ops: vec![Vec::new(); plan.episodes],
        };
        let writers = (0..plan.threads).filter(|t| plan.writes[t % plan.writes.len()] > 0);
        for episode in 0..plan.episodes {
            writing.store(writers.clone().count(), Ordering::Relaxed);
            together.wait();
            together.wait();
            recorder.multi_get(episode, &all);
        }
        whole.extend(recorder.ops.into_iter().flatten());
        threads
            .into_iter()
            .map(|t| t.join().expect("no panic"))
            .collect()
    });
    let mut initial = vec![0; plan.slots];
    let mut histories = Vec::new();
    for (episode, last) in whole.into_iter().enumerate() {
        let next: Vec<u32> = last.slots().iter().map(|(_, value)| *value).collect();
        let of_threads = ops
            .iter()
            .flat_map(|thread| thread[episode].iter().cloned());
        let ops = of_threads.chain([last]).collect();
        histories.push(History { initial, ops });
        initial = next;
    }
    histories
}

impl<S: Store> Worker<'_, S> {
    fn chance(&mut self, percent: u32) -> bool {
        self.rng.random_range(0..100) < percent
    }

    /// The calls of an episode. A thread that only reads goes on while others write. `writing`
    /// counts those: it is set before the episode and lowered by each writer at its end. Nothing
    /// depends on when that is seen.
    fn calls(&mut self, episode: usize, writing: &AtomicUsize) {
        (0..self.plan.calls).for_each(|_| self.call(episode));
        for _ in 0..self.plan.calls * self.plan.patience {
            if self.writes > 0 || writing.load(Ordering::Relaxed) == 0 {
                break;
            }
            self.call(episode);
        }
    }

    fn call(&mut self, episode: usize) {
        if self.rng.random_range(0..self.plan.maintenance) == 0 {
            if self.chance(70) {
                self.store.flush()
            } else {
                self.store.compact()
            }
        }
        let slot = self.rng.random_range(0..self.plan.slots);
        if self.chance(self.writes) {
            self.write(episode, slot);
        } else if self.plan.views {
            self.read(episode, slot);
        } else {
            self.get(episode, slot);
        }
        if self.chance(self.plan.yields) {
            thread::yield_now();
        }
    }

    fn read(&mut self, episode: usize, slot: usize) {
        if self.chance(self.plan.pairs) {
            let pair = sample(&mut self.rng, self.plan.slots, 2).into_vec();
            return self.multi_get(episode, &pair);
        }
        match self.rng.random_range(0..100) {
            0..25 => self.get(episode, slot),
            25..55 => {
                let n = self.rng.random_range(1..=self.plan.slots);
                let mut some = sample(&mut self.rng, self.plan.slots, n).into_vec();
                some.sort_unstable();
                self.multi_get(episode, &some);
            }
            55..80 => self.view(episode, |store| store.snapshot()),
            80..90 => self.view(episode, |store| store.iterator(slot % FAMILIES.len())),
            _ => {
                let n = self.rng.random_range(0..HELD);
                self.read_again(n);
            }
        }
    }

    /// Makes a call and records it. `made` returns what it was.
    fn op<T>(
        &mut self,
        episode: usize,
        call: impl FnOnce(&S) -> T,
        made: impl FnOnce(&mut T) -> What,
    ) -> T {
        let begun = (self.clock.tick(), self.store.latest_sequence());
        let mut result = call(self.store);
        let ended = (self.store.latest_sequence(), self.clock.tick());
        let what = made(&mut result);
        self.ops[episode].push(Op {
            thread: self.thread,
            call: begun.0,
            end: ended.1,
            latest: (begun.1, ended.0),
            what,
        });
        result
    }

    fn write(&mut self, episode: usize, slot: usize) {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let mut slots = vec![(slot, number)];
        if self.chance(self.plan.batches) {
            // Half of them write every slot.
            let n = match self.chance(50) {
                true => self.plan.slots,
                false => self.rng.random_range(2..=self.plan.slots),
            };
            let some = sample(&mut self.rng, self.plan.slots, n);
            slots = some.into_iter().map(|slot| (slot, number)).collect();
        }
        if self.plan.deletes {
            let one_in = if slots.len() == 1 { 3 } else { 6 };
            for (_, value) in &mut slots {
                if self.rng.random_range(0..one_in) == 0 {
                    *value = 0;
                }
            }
        }
        let manner = Manner {
            sync: self.chance(self.plan.sync),
            disable_wal: self.chance(self.plan.no_wal),
            value_len: self.rng.random_range(8..=self.plan.value_len),
            decoys: self.chance(self.plan.decoys),
        };
        // RocksDB refuses the two together, and so does this engine.
        let manner = Manner {
            sync: manner.sync && !manner.disable_wal,
            ..manner
        };
        self.op(
            episode,
            |store| store.write(&slots, manner),
            |()| What::Write(slots.clone()),
        );
    }

    fn get(&mut self, episode: usize, slot: usize) {
        let made = |seen: &mut u32| read("get", vec![(slot, *seen)], None);
        self.op(episode, |store| store.get(slot), made);
    }

    fn multi_get(&mut self, episode: usize, slots: &[usize]) {
        let made = |seen: &mut Vec<_>| read("multi_get", seen.clone(), None);
        self.op(episode, |store| store.multi_get(slots), made);
    }
}

impl<'a, S: Store> Worker<'a, S> {
    fn view(&mut self, episode: usize, make: impl FnOnce(&'a S) -> Box<dyn View + 'a>) {
        let way = self.rng.random_range(0..4);
        let store = self.store;
        let made = |view: &mut Box<dyn View + 'a>| {
            let (how, seen) = view.read(way);
            read(how, seen, view.sequence())
        };
        let view = self.op(episode, |_| make(store), made);
        let op = self.ops[episode].len() - 1;
        if self.held.len() == HELD {
            let old = self.rng.random_range(0..HELD);
            self.read_again(old);
            self.held.swap_remove(old);
        }
        self.held.push(Held { view, episode, op });
    }

    fn read_again(&mut self, n: usize) {
        let way = self.rng.random_range(0..4);
        if let Some(held) = self.held.get_mut(n) {
            let again = held.view.read(way);
            match &mut self.ops[held.episode][held.op].what {
                What::Read(read) => read.again.push(again),
                What::Write(_) => unreachable!("views are reads"),
            }
        }
    }
}

fn read(how: &'static str, seen: Vec<(usize, u32)>, sequence: Option<u64>) -> What {
    What::Read(Read {
        how,
        seen,
        sequence,
        again: Vec::new(),
    })
}
