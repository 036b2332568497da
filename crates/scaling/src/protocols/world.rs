//! What the threads of a run share: the words of a database, and what a write is.

use super::group::Queue;
use super::publication::{self, Publication};
use super::waiter::EventCount;
use super::{Dialect, combining, prepared};
use crate::machine::InsertCost;
use crate::sim::{Sim, Thread, Word};
use std::cell::{Cell, RefCell};

/// The representation of the memtable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Memtable {
    /// The inline skip list: the whole insert happens after the number is known.
    SkipList,
    /// The radix tree: an entry is prepared before its number is known, and linked after.
    Art,
}

impl Memtable {
    /// The name that db_bench has for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Memtable::SkipList => "skip_list",
            Memtable::Art => "art",
        }
    }
}

/// What the threads write.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Workload {
    /// The number of threads.
    pub threads: usize,
    /// The number of entries in a batch.
    pub batch: u64,
    /// The number of bytes of a key and its value.
    pub entry_bytes: u64,
    /// Whether each write is durable when it returns.
    pub sync: bool,
    /// Whether writes are logged.
    pub log: bool,
    /// The memtable that writes are inserted into.
    pub memtable: Memtable,
}

/// The layout of shared words, and other choices of the code. The default is the present
/// code.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Layout {
    /// The number of shards of a memtable's counters.
    pub counter_shards: usize,
    /// The number of the publication's marks on one line.
    pub marks_on_line: usize,
    /// The minimum number of members of a group in which helpers help.
    pub helped_group: usize,
    /// The number of writers in flight from which `combining` combines.
    pub combine_from: u64,
    /// Whether each record begins on a line of its own.
    pub aligned_records: bool,
    /// Whether a writer requests the tail's line for writing at once: its first access to
    /// the tail is then a read-modify-write that changes nothing.
    pub tail_for_writing: bool,
    /// Whether a writer marks its range before it checks whether it is the next.
    pub mark_first: bool,
    /// Which threads wake those that sleep for the visible number.
    pub wakes: Wakes,
    /// Whether the thread that may move next is woken before the others.
    pub successor_first: bool,
    /// Whether a thread that is about to sync waits a moment for those just woken.
    pub gather: bool,
}

/// Which threads wake sleepers; see [`Layout::wakes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wakes {
    /// The thread that moved the number wakes all of them.
    Mover,
    /// The thread that moved the number wakes some, and these wake others.
    EachOther,
    /// As [`EachOther`](Self::EachOther) from 8 cores on, as in the code.
    ByCores,
}

/// The number of cores from which woken threads wake others; as in
/// `concurrent::publish::wait_buckets`.
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
    /// The number of entries.
    pub entries: u64,
    /// The number of bytes of its record.
    pub bytes: u64,
    /// Whether it must be durable when it returns.
    pub sync: bool,
}

/// The number of bytes that an entry takes in a batch besides key and value.
const ENTRY_OVERHEAD: u64 = 3;
/// The number of bytes of a batch's header and of a record's header.
const RECORD_OVERHEAD: u64 = 12 + 7;
/// The number of lines that records share with their neighbours; more than are in flight.
const EDGES: usize = 4096;

/// The shared words of a database.
#[derive(Debug)]
pub struct World {
    /// Whose code is modelled.
    pub dialect: Dialect,
    /// The layout of the words.
    pub layout: Layout,
    /// What is written.
    pub workload: Workload,
    /// The generation, which every write loads and which does not change here.
    pub generation: Word,
    /// The tail that numbers are reserved from.
    pub tail: Word,
    /// The visible number.
    pub publication: Publication,
    /// The queue in which groups are formed.
    pub queue: Queue,
    /// The number of inserts of published writes (`unordered`).
    pub pending: Word,
    /// How far the log is durable, which thread syncs, and which threads sleep.
    pub durable: Word,
    pub(super) busy: Word,
    pub(super) sync_sleepers: Word,
    pub(super) syncs: EventCount,
    /// Whether the next writer to reserve switches memtables first.
    pub switch_due: Cell<bool>,
    /// 1 while a thread switches memtables.
    pub(super) switching: Word,
    /// The counters of a memtable, by shard.
    counters: Vec<Word>,
    /// The remaining space of each shard of the memtable's allocator.
    allocators: Vec<Word>,
    /// The first lines of records.
    edges: Vec<Word>,
    /// The number of bytes that are logged but not yet durable.
    pub(super) dirty: Cell<u64>,
    pub(super) prepared: prepared::Commits,
    pub(super) combiner: combining::Stack,
    /// The ranges of acknowledged writes, for assertions: `(first, last)` in the order in
    /// which writes returned.
    pub(super) acknowledged: RefCell<Option<Vec<(u64, u64)>>>,
    /// The number of groups.
    pub(super) groups: Cell<u64>,
    /// The number of members of all groups.
    pub(super) members: Cell<u64>,
}

impl World {
    /// A database without any writes.
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

    /// Starts a list of acknowledged writes, for tests.
    pub fn keep_acknowledged(&self) {
        *self.acknowledged.borrow_mut() = Some(Vec::new());
    }

    /// The first and last numbers of acknowledged writes, in the order of acknowledgement.
    #[must_use]
    pub fn acknowledged(&self) -> Vec<(u64, u64)> {
        self.acknowledged.borrow().clone().unwrap_or_default()
    }

    pub(super) fn note_acknowledged(&self, first: u64, last: u64) {
        // C2 of `write`: a write that returns is visible.
        debug_assert!(self.publication.peek() >= last);
        if let Some(list) = self.acknowledged.borrow_mut().as_mut() {
            list.push((first, last));
        }
    }

    pub(super) fn note_group(&self, members: usize) {
        self.groups.set(self.groups.get() + 1);
        self.members.set(self.members.get() + members as u64);
    }

    /// The number of groups so far, and of all their members.
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

    /// The cost of an insert.
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
