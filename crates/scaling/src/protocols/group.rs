//! Groups: a leader logs for all, and the members insert. Models `concurrent::group` and
//! `write::group`.
//!
//! A node is a thread's place in a queue. It occupies three lines: the state word with
//! the links and cells beside it, the request, and the bytes of the batch.

use super::waiter::{BLOCKED, Site, StateWord};
use super::{Dialect, WakeUp, World, Write, steps};
use crate::sim::{Sim, Thread, ThreadId, Word};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

const WAITING: u64 = 0;
const LEADER: u64 = 1;
const APPLY: u64 = 2;
const DONE: u64 = 3;
/// A state: lead the memtable phase of what was logged (RocksDB's pipelined writes).
const INSERT: u64 = 4;

/// The number of bytes that a small leader takes in addition to its own batch.
const GROUP_SLACK: u64 = 128 << 10;

/// The members of a group, oldest first. The first is the leader.
pub type Chain = Vec<ThreadId>;

/// A thread's place in a queue.
#[derive(Debug)]
struct Node {
    state: StateWord,
    /// The links and cells, on the line of the state.
    cells: Word,
    request: Word,
    body: Word,
    older: Cell<Option<ThreadId>>,
    newer: Cell<Option<ThreadId>>,
    write: Cell<Write>,
    ticket: Cell<(u64, u64)>,
    /// The members that this thread must start or notify.
    subtree: RefCell<Vec<ThreadId>>,
    /// The leader of the thread's group, once it has been started.
    group: Cell<Option<ThreadId>>,
    /// The number of running members of the group that this thread leads.
    running: Word,
    chain: RefCell<Chain>,
    style: Cell<Style>,
}

/// How a group works.
#[derive(Debug, Clone, Copy, Default)]
struct Style {
    wake_up: Option<WakeUp>,
    pipelined: bool,
}

impl Style {
    /// Whether the group is pipelined in RocksDB's way.
    fn is_pipelined_in(self, dialect: Dialect) -> bool {
        self.pipelined && dialect != Dialect::Own
    }
}

/// The task of the leader of a logged group.
enum Turn {
    /// It leads these writers in the memtable phase.
    Lead(Chain),
    /// It inserts its own batch.
    Apply,
    /// It has nothing to do, because another thread has inserted for it.
    Done,
}

/// The queue in which groups are formed.
#[derive(Debug)]
pub struct Queue {
    /// The thread of the newest node, plus one.
    newest: Word,
    nodes: Vec<Node>,
    joining: Site,
    finishing: Site,
    second: Second,
}

/// RocksDB's second queue. It holds groups that were logged; one writer at a time takes
/// all of them for the memtable phase.
#[derive(Debug)]
struct Second {
    newest: Word,
    logged: RefCell<VecDeque<Chain>>,
    active: Cell<bool>,
}

/// The threads to start or notify: those in `own` by the caller itself, those in the
/// subtrees of nodes by these nodes' threads.
struct WakeTree {
    own: Vec<ThreadId>,
}

impl Queue {
    /// An empty queue for `threads` threads. The line of its newest node is called `name`.
    #[must_use]
    pub fn new(sim: &Sim, name: &'static str, threads: usize) -> Self {
        let nodes = (0..threads).map(|_| {
            let state = StateWord::new(sim, "nodes", WAITING);
            Node {
                cells: state.0.beside(0),
                state,
                request: Word::new(sim, "requests", 0),
                body: Word::new(sim, "bodies", 0),
                older: Cell::new(None),
                newer: Cell::new(None),
                write: Cell::new(Write {
                    entries: 0,
                    bytes: 0,
                    sync: false,
                }),
                ticket: Cell::new((0, 0)),
                subtree: RefCell::default(),
                group: Cell::new(None),
                running: Word::new(sim, "running", 0).counted(),
                chain: RefCell::default(),
                style: Cell::default(),
            }
        });
        Queue {
            newest: Word::new(sim, name, 0).counted(),
            nodes: nodes.collect(),
            joining: Site::default(),
            finishing: Site::default(),
            second: Second {
                newest: Word::new(sim, "memtable queue", 0),
                logged: RefCell::default(),
                active: Cell::new(false),
            },
        }
    }

    /// Queues `write`, and does the resulting task until the write has its numbers.
    pub async fn join<L: AsyncFnOnce(Chain)>(
        &self,
        world: &World,
        thread: &Thread,
        write: Write,
        lead: L,
    ) -> (u64, u64) {
        let me = thread.id();
        let node = &self.nodes[me];
        node.write.set(write);
        node.newer.set(None);
        node.group.set(None);
        node.state.0.preset(WAITING);
        thread.store(&node.cells, 0).await;
        thread.store(&node.request, 0).await;
        thread.store(&node.body, 0).await;
        let state = if self.push(thread).await {
            LEADER
        } else {
            let goal = 1 << LEADER | 1 << APPLY | 1 << DONE;
            node.state.wait(thread, goal, &self.joining).await
        };
        match state {
            LEADER => {
                let chain = self.gather(thread).await;
                world.note_group(chain.len());
                lead(chain).await;
            }
            APPLY => self.apply_as_member(world, thread).await,
            _ => {}
        }
        let subtree = node.subtree.take();
        self.tell(thread, &subtree).await;
        node.ticket.get()
    }

    async fn push(&self, thread: &Thread) -> bool {
        let me = thread.id();
        let mut newest = thread.load(&self.newest).await;
        loop {
            self.nodes[me]
                .older
                .set(newest.checked_sub(1).map(|n| n as usize));
            match thread.exchange(&self.newest, newest, me as u64 + 1).await {
                Ok(_) => return newest == 0,
                Err(now) => newest = now,
            }
        }
    }

    /// Links the nodes, from the newest downwards.
    async fn link_newer(&self, thread: &Thread, head: ThreadId) {
        let mut at = head;
        loop {
            thread.load(&self.nodes[at].cells).await;
            let Some(older) = self.nodes[at].older.get() else {
                return;
            };
            thread.load(&self.nodes[older].cells).await;
            if self.nodes[older].newer.get().is_some() {
                return;
            }
            thread.store(&self.nodes[older].cells, 0).await;
            self.nodes[older].newer.set(Some(at));
            at = older;
        }
    }

    async fn gather(&self, thread: &Thread) -> Chain {
        let head = thread.load(&self.newest).await as usize - 1;
        self.link_newer(thread, head).await;
        let mut last = thread.id();
        let mut chain = vec![last];
        let mut bytes = self.nodes[last].write.get().bytes;
        let limit = bytes + GROUP_SLACK;
        while last != head {
            let next = self.nodes[last].newer.get().expect("linked above");
            thread.load(&self.nodes[next].cells).await;
            thread.load(&self.nodes[next].request).await;
            bytes += self.nodes[next].write.get().bytes;
            if bytes > limit {
                break;
            }
            chain.push(next);
            last = next;
        }
        chain
    }

    /// Empties the queue, or makes the node behind the group a leader.
    pub async fn hand_over(&self, thread: &Thread, chain: &Chain) {
        let last = *chain.last().expect("a group has its leader");
        let Err(head) = thread.exchange(&self.newest, last as u64 + 1, 0).await else {
            return;
        };
        self.link_newer(thread, head as usize - 1).await;
        let next = self.nodes[last].newer.get().expect("linked above");
        thread.store(&self.nodes[next].cells, 0).await;
        self.nodes[next].older.set(None);
        self.nodes[next].state.set(thread, LEADER).await;
    }

    /// Notifies the members of a group that it is done.
    pub async fn tell_all(&self, world: &World, thread: &Thread, chain: &Chain) {
        let me = thread.id();
        let wake_up = match world.dialect {
            Dialect::Own => self.nodes[chain[0]].style.get().wake_up,
            // One thread notifies all members, however they were started.
            _ => Some(WakeUp::Serial),
        };
        let (mut awake, mut asleep) = (Vec::new(), Vec::new());
        for &member in chain.iter().filter(|&&member| member != me) {
            thread.store(&self.nodes[member].cells, 0).await;
            self.sort(member, &mut awake, &mut asleep);
        }
        awake.append(&mut asleep);
        let deal = self
            .build(
                thread,
                awake,
                wake_up.unwrap_or(WakeUp::SquareRoot),
                world.layout.helped_group,
                chain.len(),
            )
            .await;
        self.tell(thread, &deal.own).await;
    }

    fn sort(&self, member: ThreadId, awake: &mut Vec<ThreadId>, asleep: &mut Vec<ThreadId>) {
        self.nodes[member].subtree.borrow_mut().clear();
        if self.nodes[member].state.0.peek() == BLOCKED {
            asleep.push(member);
        } else {
            awake.push(member);
        }
    }

    async fn tell(&self, thread: &Thread, members: &[ThreadId]) {
        for &member in members {
            thread.load(&self.nodes[member].cells).await;
            self.nodes[member].state.set(thread, DONE).await;
        }
    }

    /// Arranges `members` in a wake tree: the first are notified first.
    async fn build(
        &self,
        thread: &Thread,
        members: Vec<ThreadId>,
        wake_up: WakeUp,
        helped_group: usize,
        group: usize,
    ) -> WakeTree {
        match wake_up {
            WakeUp::Serial => return WakeTree { own: members },
            WakeUp::SquareRoot if group < helped_group => return WakeTree { own: members },
            _ => {}
        }
        let parents: Vec<usize> = match wake_up {
            // The caller notifies the first two, the first of these the next two, and so on.
            WakeUp::Parallel => (0..members.len()).map(|at| at / 2).collect(),
            _ => {
                let helpers = (group.isqrt() - 1).max(1);
                let parent = |at: usize| match at {
                    at if at < helpers => 0,
                    at => (at - helpers + 1) % (helpers + 1),
                };
                (0..members.len()).map(parent).collect()
            }
        };
        let mut own = Vec::new();
        for (&member, parent) in members.iter().zip(parents) {
            if parent == 0 {
                own.push(member);
            } else {
                let helper = &self.nodes[members[parent - 1]];
                thread.store(&helper.cells, 0).await;
                helper.subtree.borrow_mut().push(member);
            }
        }
        WakeTree { own }
    }

    /// The leader's work after its group is logged.
    async fn carry_out(&self, world: &World, thread: &Thread, chain: Chain, style: Style) {
        let me = thread.id();
        let node = &self.nodes[me];
        node.style.set(style);
        if style.pipelined {
            self.hand_over(thread, &chain).await;
        }
        let chain = if style.is_pipelined_in(world.dialect) {
            match self.enter_second(thread, chain).await {
                Turn::Lead(chain) => chain,
                Turn::Apply => return self.apply_as_member(world, thread).await,
                Turn::Done => return,
            }
        } else {
            chain
        };
        node.chain.borrow_mut().clone_from(&chain);
        let mut own = Vec::new();
        let mut sleepers = Vec::new();
        let mut set_off = 0;
        if chain.len() == 1 || world.dialect == Dialect::RocksDbSerial {
            sleepers.extend(&chain[1..]);
        } else {
            let mut awake = Vec::new();
            for &member in &chain[1..] {
                thread.load(&self.nodes[member].cells).await;
                thread.store(&self.nodes[member].cells, 0).await;
                self.sort(member, &mut awake, &mut sleepers);
            }
            if world.dialect == Dialect::RocksDb {
                awake.append(&mut sleepers);
            }
            set_off = awake.len() as u64;
            for &member in &awake {
                self.nodes[member].group.set(Some(me));
            }
            let wake_up = style.wake_up.unwrap_or(WakeUp::SquareRoot);
            own = self
                .build(
                    thread,
                    awake,
                    wake_up,
                    world.layout.helped_group,
                    chain.len(),
                )
                .await
                .own;
        }
        thread.store(&node.running, 1 + set_off).await;
        self.apply_subtree(world, thread, &own).await;
        for sleeper in sleepers {
            self.insert_for(world, thread, sleeper).await;
        }
        if !self.leave(world, thread, me).await {
            node.state.wait(thread, 1 << DONE, &self.finishing).await;
        }
    }

    /// Queues a logged group for the memtable phase.
    async fn enter_second(&self, thread: &Thread, chain: Chain) -> Turn {
        let node = &self.nodes[thread.id()];
        thread.rmw(&self.second.newest, |n| n + 1).await;
        if self.second.active.replace(true) {
            node.state.0.preset(WAITING);
            self.second.logged.borrow_mut().push_back(chain);
            let goal = 1 << INSERT | 1 << APPLY | 1 << DONE;
            match node.state.wait(thread, goal, &self.joining).await {
                APPLY => return Turn::Apply,
                DONE => return Turn::Done,
                _ => {}
            }
        } else {
            self.second.logged.borrow_mut().push_front(chain);
        }
        // The leader takes all groups that were logged in the meantime.
        let logged = self.second.logged.take();
        Turn::Lead(logged.into_iter().flatten().collect())
    }

    /// Ends a memtable phase, and starts the next one if a group is waiting.
    async fn leave_second(&self, thread: &Thread) {
        thread.rmw(&self.second.newest, |n| n + 1).await;
        let next = self.second.logged.borrow().front().map(|chain| chain[0]);
        match next {
            Some(next) => self.nodes[next].state.set(thread, INSERT).await,
            None => self.second.active.set(false),
        }
    }

    /// Starts the members of a subtree, then inserts the thread's own batch.
    async fn apply_subtree(&self, world: &World, thread: &Thread, subtree: &[ThreadId]) {
        for &member in subtree {
            thread.load(&self.nodes[member].cells).await;
            self.nodes[member].state.set(thread, APPLY).await;
        }
        let write = self.nodes[thread.id()].write.get();
        steps::insert(world, thread, write, false).await;
    }

    /// Inserts the batch of another member.
    async fn insert_for(&self, world: &World, thread: &Thread, member: ThreadId) {
        let node = &self.nodes[member];
        thread.load(&node.cells).await;
        read_body(thread, node).await;
        steps::insert(world, thread, node.write.get(), false).await;
    }

    async fn apply_as_member(&self, world: &World, thread: &Thread) {
        let node = &self.nodes[thread.id()];
        let leader = node.group.get().expect("set off by a leader");
        let subtree = node.subtree.take();
        self.apply_subtree(world, thread, &subtree).await;
        if !self.leave(world, thread, leader).await {
            node.state.wait(thread, 1 << DONE, &self.finishing).await;
        }
    }

    /// Ends one thread's part in inserting. The last thread publishes.
    async fn leave(&self, world: &World, thread: &Thread, leader: ThreadId) -> bool {
        let group = &self.nodes[leader];
        if thread.rmw(&group.running, |running| running - 1).await != 1 {
            return false;
        }
        let chain = group.chain.take();
        let style = group.style.get();
        let first = self.nodes[chain[0]].ticket.get().0;
        let last = self.nodes[*chain.last().expect("not empty")].ticket.get().1;
        world.publication.finish(thread, first, last).await;
        if style.is_pipelined_in(world.dialect) {
            self.leave_second(thread).await;
        } else if !style.pipelined {
            self.hand_over(thread, &chain).await;
        }
        self.tell_all(world, thread, &chain).await;
        true
    }
}

/// Reads the bytes of another thread's batch: one full transfer, and pipelined ones for
/// the rest.
async fn read_body(thread: &Thread, node: &Node) {
    thread.load(&node.body).await;
    let lines = node.write.get().bytes / 64;
    thread
        .compute(lines * thread.sim().machine().near / 4)
        .await;
}

/// The leader's step: reserves numbers and writes one record for the group. Returns the
/// first and the last number.
pub async fn log_group(world: &World, thread: &Thread, queue: &Queue, chain: &Chain) -> (u64, u64) {
    let machine = thread.sim().machine();
    let me = thread.id();
    thread.compute(machine.leader).await;
    let writes = chain.iter().map(|&member| queue.nodes[member].write.get());
    let entries: u64 = writes.clone().map(|write| write.entries).sum();
    let bytes: u64 = writes.clone().map(|write| write.bytes).sum();
    let sync = writes.clone().any(|write| write.sync);
    let (first, place) = steps::reserve(world, thread, entries).await;
    let mut next = first;
    for &member in chain {
        let node = &queue.nodes[member];
        thread.store(&node.cells, 0).await;
        let last = next + node.write.get().entries - 1;
        node.ticket.set((next, last));
        next = last + 1;
    }
    if world.workload.log {
        steps::extend_log(world, thread, bytes).await;
        for &member in chain.iter().filter(|&&member| member != me) {
            read_body(thread, &queue.nodes[member]).await;
        }
        steps::log(world, thread, place, bytes).await;
        if sync {
            steps::make_durable(world, thread, next - 1).await;
        }
    }
    (first, next - 1)
}

/// Commits one write.
pub async fn commit(
    world: &World,
    thread: &Thread,
    write: Write,
    wake_up: WakeUp,
    pipelined: bool,
) {
    steps::enter(world, thread, write).await;
    let queue = &world.queue;
    let style = Style {
        wake_up: Some(wake_up),
        pipelined,
    };
    let lead = async |chain: Chain| {
        log_group(world, thread, queue, &chain).await;
        queue.carry_out(world, thread, chain, style).await;
    };
    let (first, last) = queue.join(world, thread, write, lead).await;
    steps::acknowledge(world, thread, first, last).await;
}
