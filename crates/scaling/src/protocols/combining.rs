//! Ordered commit with combining. When many writers are in the window at once, they
//! leave their batches to one of them. This writer makes one reservation for all of
//! them, logs, links and publishes once, and wakes the others. No such code exists; the
//! program is here to find out whether it should.

use super::waiter::{Site, StateWord};
use super::world::Memtable;
use super::{World, Write, ordered, steps};
use crate::sim::{Sim, Thread, ThreadId, Word};
use std::cell::Cell;

const WAITING: u64 = 0;
const LEADER: u64 = 1;
const DONE: u64 = 2;

/// The number of rounds that a writer does for others before it passes on the role.
const ROUNDS: usize = 4;

#[derive(Debug)]
struct Node {
    state: StateWord,
    body: Word,
    older: Cell<u64>,
    ticket: Cell<(u64, u64)>,
    write: Cell<Option<Write>>,
}

/// Where writers leave their batches.
#[derive(Debug)]
pub struct Stack {
    newest: Word,
    active: Word,
    nodes: Vec<Node>,
    site: Site,
}

impl Stack {
    pub(super) fn new(sim: &Sim, threads: usize) -> Self {
        let nodes = (0..threads).map(|_| Node {
            state: StateWord::new(sim, "combined nodes", WAITING),
            body: Word::new(sim, "combined bodies", 0),
            older: Cell::new(0),
            ticket: Cell::new((0, 0)),
            write: Cell::new(None),
        });
        Stack {
            newest: Word::new(sim, "combining stack", 0).counted(),
            active: Word::new(sim, "combining role", 0).counted(),
            nodes: nodes.collect(),
            site: Site::default(),
        }
    }

    async fn push(&self, thread: &Thread) {
        let me = thread.id();
        let mut newest = thread.load(&self.newest).await;
        loop {
            self.nodes[me].older.set(newest);
            match thread.exchange(&self.newest, newest, me as u64 + 1).await {
                Ok(_) => return,
                Err(now) => newest = now,
            }
        }
    }

    /// Takes all batches that were left, oldest first.
    async fn take(&self, thread: &Thread) -> Vec<ThreadId> {
        let mut at = thread.rmw(&self.newest, |_| 0).await;
        let mut taken = Vec::new();
        while at != 0 {
            let id = at as usize - 1;
            thread.load(&self.nodes[id].state.0).await;
            taken.push(id);
            at = self.nodes[id].older.get();
        }
        taken.reverse();
        taken
    }
}

/// Commits one write.
pub async fn commit(world: &World, thread: &Thread, write: Write) {
    let handed_out = world.tail.peek() % (1 << 40);
    let in_flight = handed_out.saturating_sub(world.publication.peek());
    if in_flight < world.layout.combine_from * write.entries || write.sync {
        ordered::commit(world, thread, write).await;
        return;
    }
    steps::enter(world, thread, write).await;
    let prepared = world.workload.memtable == Memtable::Art;
    if prepared {
        steps::prepare(world, thread, write).await;
    }
    let stack = &world.combiner;
    let node = &stack.nodes[thread.id()];
    node.write.set(Some(write));
    node.state.0.preset(WAITING);
    thread.store(&node.body, 0).await;
    stack.push(thread).await;
    let leads =
        thread.load(&stack.active).await == 0 && thread.rmw(&stack.active, |_| 1).await == 0;
    if leads {
        combine(world, thread, prepared).await;
    }
    // A combiner is among those it has taken, or another combiner has taken it.
    let goal = 1 << LEADER | 1 << DONE;
    while node.state.wait(thread, goal, &stack.site).await == LEADER {
        node.state.0.preset(WAITING);
        combine(world, thread, prepared).await;
    }
    let (first, last) = node.ticket.get();
    world.note_acknowledged(first, last);
}

/// Commits the batches that were left, for some rounds. Then passes the role of the
/// combiner on to a waiting writer, or gives it up.
async fn combine(world: &World, thread: &Thread, prepared: bool) {
    let stack = &world.combiner;
    for _ in 0..ROUNDS {
        loop {
            let taken = stack.take(thread).await;
            if !taken.is_empty() {
                round(world, thread, &taken, prepared).await;
                break;
            }
            thread.rmw(&stack.active, |_| 0).await;
            thread.fence().await;
            let more = thread.load(&stack.newest).await != 0;
            if !more || thread.rmw(&stack.active, |_| 1).await != 0 {
                return;
            }
        }
    }
    loop {
        let newest = thread.load(&stack.newest).await;
        if newest != 0 {
            let next = &stack.nodes[newest as usize - 1];
            next.state.set(thread, LEADER).await;
            return;
        }
        thread.rmw(&stack.active, |_| 0).await;
        thread.fence().await;
        let more = thread.load(&stack.newest).await != 0;
        if !more || thread.rmw(&stack.active, |_| 1).await != 0 {
            return;
        }
    }
}

/// Commits all batches that were taken, with one reservation.
async fn round(world: &World, thread: &Thread, taken: &[ThreadId], prepared: bool) {
    let stack = &world.combiner;
    let machine = thread.sim().machine();
    world.note_group(taken.len());
    let write_of = |id: ThreadId| stack.nodes[id].write.get().expect("set before the push");
    let entries = taken.iter().map(|&id| write_of(id).entries).sum();
    let (first, place) = steps::reserve(world, thread, entries).await;
    let mut next = first;
    for &id in taken {
        let write = write_of(id);
        if id != thread.id() {
            thread.load(&stack.nodes[id].body).await;
            // The rest of the batch, and the leaves to link, are pipelined transfers.
            let lines = write.bytes / 64 + write.entries;
            thread.compute(lines * machine.near / 4).await;
        }
        if world.workload.log {
            thread.copy(write.bytes).await;
        }
        steps::insert(world, thread, write, prepared).await;
        stack.nodes[id].ticket.set((next, next + write.entries - 1));
        next += write.entries;
    }
    if world.workload.log {
        steps::log(world, thread, place, 0).await;
    }
    world.publication.finish(thread, first, next - 1).await;
    // Ranges before this one may belong to other writers that are not finished.
    if world.publication.visible(thread).await < next - 1 {
        world.publication.wait(thread, next - 1).await;
    }
    for &id in taken {
        stack.nodes[id].state.set(thread, DONE).await;
    }
}
