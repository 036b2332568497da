//! What the threads of a run subtree: the words of a database, and what a write
//! is.

use super::group::Queue;
use super::publication::{self, Publication};
use super::waiter::EventCount;
use super::{Dialect, combining, prepared};
use crate::machine::InsertCost;
use crate::sim::{Sim, Thread, Word};
use std::cell::{Cell, RefCell};

/// Which memtable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Memtable {
    /// The inline skip list: inserted whole under the number.
    SkipList,
    /// The radix tree: prepared before, linked under the number.
    Art,
}

impl Memtable {
    /// Its name, as db_bench has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Memtable::SkipList => "skip_list",
            Memtable::Art => "art",
        }
    }
}

/// What threads write.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Workload {
    /// Threads.
    pub threads: usize,
    /// Entries of a batch.
    pub batch: u64,
    /// Bytes of a key and its value.
    pub entry_bytes: u64,
    /// Each write is durable when it returns.
    pub sync: bool,
    /// Writes are logged.
    pub log: bool,
    /// Where they are inserted.
    pub memtable: Memtable,
}

/// How shared words are laid out, and other choices of the code. The default
/// is the code as it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Layout {
    /// Shards of a memtable's counters.
    pub counter_shards: usize,
    /// Marks of the publication on one line.
    pub marks_on_line: usize,
    /// Members of a group from which on helpers help.
    pub helped_group: usize,
    /// Writers in flight from which on `combining` combines.
    pub combine_from: u64,
    /// Records begin on a line of their own.
    pub aligned_records: bool,
    /// A writer asks for the tail's line for writing at once: its first look
    /// at the tail is a read-modify-write that changes nothing.
    pub tail_for_writing: bool,
    /// A writer marks its range before it looks whether it is first in line.
    pub mark_first: bool,
    /// Who wakes those who sleep for the visible number.
    pub wakes: Wakes,
    /// Who may move next is woken before the others.
    pub successor_first: bool,
    /// Who is about to sync waits a moment for those who were just woken.
    pub gather: bool,
}

/// See [`Layout::wakes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wakes {
    /// Whoever has moved the number.
    Mover,
    /// Whoever has moved it some, and those others.
    EachOther,
    /// The latter from 8 cores on, as in the code.
    ByCores,
}

/// As `concurrent::publish::wait_buckets`.
const MANY_CORES: usize = 8;

impl Default for Layout {
    fn default() -> Self {
        Layout {
            counter_shards: 16,
            marks_on_line: 8,
            helped_group: 20,
            combine_from: 4,
            aligned_records: false,
            tail_for_writing: false,
            mark_first: false,
            wakes: Wakes::ByCores,
            successor_first: false,
            gather: true,
        }
    }
}

/// One write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Write {
    /// Entries.
    pub entries: u64,
    /// Bytes of its record.
    pub bytes: u64,
    /// To be durable when it returns.
    pub sync: bool,
}

/// Bytes that an entry takes in a batch beside key and value.
const ENTRY_OVERHEAD: u64 = 3;
/// Bytes of a batch's header and of a record's.
const RECORD_OVERHEAD: u64 = 12 + 7;
/// Lines that records share with their neighbours; more than are in flight.
const EDGES: usize = 4096;

/// The shared words of a database.
#[derive(Debug)]
pub struct World {
    /// Whose code.
    pub dialect: Dialect,
    /// How it is laid out.
    pub layout: Layout,
    /// What is written.
    pub workload: Workload,
    /// Where writes go: loaded by each, changed by nobody here.
    pub generation: Word,
    /// Numbers handed out.
    pub tail: Word,
    /// What is visible.
    pub publication: Publication,
    /// Where groups are formed.
    pub queue: Queue,
    /// Inserts of published writes (`unordered`).
    pub pending: Word,
    /// How far the log is durable, who syncs, who sleeps.
    pub durable: Word,
    pub(super) busy: Word,
    pub(super) sync_sleepers: Word,
    pub(super) syncs: EventCount,
    /// Whoever reserves next switches memtables first.
    pub switch_due: Cell<bool>,
    /// 1 while somebody does.
    pub(super) switching: Word,
    /// A memtable's counters, by shard.
    counters: Vec<Word>,
    /// Where its allocator's shards have their rests.
    allocators: Vec<Word>,
    /// First lines of records.
    edges: Vec<Word>,
    /// Bytes logged and not durable yet.
    pub(super) dirty: Cell<u64>,
    pub(super) prepared: prepared::Commits,
    pub(super) combiner: combining::Stack,
    /// Places that were handed out and those published, for assertions:
    /// `(first, last)` in the order in which writes returned.
    pub(super) acknowledged: RefCell<Option<Vec<(u64, u64)>>>,
    /// Groups, and their members in all.
    pub(super) groups: Cell<u64>,
    pub(super) members: Cell<u64>,
}

impl World {
    /// A database in which nothing was written.
    #[must_use]
    pub fn new(sim: &Sim, dialect: Dialect, layout: Layout, workload: Workload) -> Self {
        let words = |name, count: usize| (0..count).map(|_| Word::new(sim, name, 0)).collect();
        let durable = Word::new(sim, "durable", 0);
        let busy = Word::new(sim, "sync role", 0).counted();
        let cpus = sim.machine().topology.cpus();
        World {
            dialect,
            layout,
            workload,
            generation: Word::new(sim, "generation", 0),
            tail: Word::new(sim, "tail", 0),
            publication: Publication::new(
                sim,
                publication::Choices {
                    marks_on_line: layout.marks_on_line,
                    mark_first: layout.mark_first,
                    relayed_wakes: match layout.wakes {
                        Wakes::Mover => false,
                        Wakes::EachOther => true,
                        Wakes::ByCores => sim.machine().topology.cpus() >= MANY_CORES,
                    },
                    successor_first: layout.successor_first,
                    gather: layout.gather,
                },
            ),
            queue: Queue::new(sim, "queue", workload.threads),
            pending: Word::new(sim, "pending", 0).counted(),
            sync_sleepers: busy.beside(0).counted(),
            durable,
            busy,
            syncs: EventCount::new(sim, "sync sleepers"),
            switch_due: Cell::new(false),
            switching: Word::new(sim, "switching", 0),
            counters: words("counters", layout.counter_shards),
            allocators: words("allocator", cpus.max(8).next_power_of_two()),
            edges: words("log edges", EDGES),
            dirty: Cell::new(0),
            prepared: prepared::Commits::new(sim, workload.threads),
            combiner: combining::Stack::new(sim, workload.threads),
            acknowledged: RefCell::new(None),
            groups: Cell::new(0),
            members: Cell::new(0),
        }
    }

    /// Keeps a list of what was acknowledged, for tests.
    pub fn keep_acknowledged(&self) {
        *self.acknowledged.borrow_mut() = Some(Vec::new());
    }

    /// What was acknowledged, in that order: first and last numbers.
    #[must_use]
    pub fn acknowledged(&self) -> Vec<(u64, u64)> {
        self.acknowledged.borrow().clone().unwrap_or_default()
    }

    pub(super) fn note_acknowledged(&self, first: u64, last: u64) {
        // C2 of `write`: who returns is visible.
        debug_assert!(self.publication.peek() >= last);
        if let Some(list) = self.acknowledged.borrow_mut().as_mut() {
            list.push((first, last));
        }
    }

    pub(super) fn note_group(&self, members: usize) {
        self.groups.set(self.groups.get() + 1);
        self.members.set(self.members.get() + members as u64);
    }

    /// Groups so far, and members in all of them.
    #[must_use]
    pub fn groups(&self) -> (u64, u64) {
        (self.groups.get(), self.members.get())
    }

    /// A write of the workload.
    #[must_use]
    pub fn write(&self) -> Write {
        let Workload {
            batch,
            entry_bytes,
            sync,
            ..
        } = self.workload;
        Write {
            entries: batch,
            bytes: RECORD_OVERHEAD + batch * (entry_bytes + ENTRY_OVERHEAD),
            sync,
        }
    }

    /// What an insert costs.
    #[must_use]
    pub fn insert_cost(&self, thread: &Thread) -> InsertCost {
        let machine = thread.sim().machine();
        match self.workload.memtable {
            Memtable::SkipList => machine.skip_list,
            Memtable::Art => machine.art,
        }
    }

    pub(super) fn counter(&self, thread: &Thread) -> &Word {
        &self.counters[thread.id() % self.counters.len()]
    }

    pub(super) fn allocator(&self, thread: &Thread) -> &Word {
        &self.allocators[thread.id() % self.allocators.len()]
    }

    pub(super) fn edge(&self, place: u64) -> &Word {
        &self.edges[(place as usize) % EDGES]
    }
}
