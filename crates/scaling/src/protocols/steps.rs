//! The steps that the protocols share. Models `write::steps` and the engine behind it.

use super::{Dialect, World, Write};
use crate::sim::{Thread, Time, Word};

/// The steps before anything shared is written: makes the batch, passes admission, and
/// borrows the generation.
pub async fn enter(world: &World, thread: &Thread, write: Write) {
    let machine = thread.sim().machine();
    let entries = machine.driver_entry * write.entries;
    thread.compute(machine.driver + entries).await;
    thread.load(&world.generation).await;
}

/// Finds the positions of keys and copies values, if the memtable can do that before
/// numbers are known.
pub async fn prepare(world: &World, thread: &Thread, write: Write) {
    let cost = world.insert_cost(thread);
    for _ in 0..write.entries {
        allocate(world, thread).await;
        thread.compute(varied(thread, cost.prepare)).await;
        thread.stream(cost.bytes).await;
    }
}

/// A random time from half to one and a half times `time`, uniformly distributed. No two
/// inserts find the same lines in the cache, and threads that all took the same time
/// would run in lockstep.
fn varied(thread: &Thread, time: Time) -> Time {
    const STEPS: u64 = 1 << 10;
    if time == 0 {
        return 0;
    }
    time * (STEPS / 2 + thread.sim().random() % STEPS) / STEPS
}

async fn allocate(world: &World, thread: &Thread) {
    thread.rmw(world.allocator(thread), |rest| rest + 1).await;
}

/// Reserves `count` numbers. Returns the first, and the record's position in the order
/// of records.
pub async fn reserve(world: &World, thread: &Thread, count: u64) -> (u64, u64) {
    /// The tail has numbers in its low half, records in its high half.
    const RECORD: u64 = 1 << 40;
    attend(world, thread).await;
    let mut tail = if world.layout.tail_for_writing {
        thread.rmw(&world.tail, |tail| tail).await
    } else {
        thread.load(&world.tail).await
    };
    loop {
        // To compute the end of the record takes a division and some comparisons.
        thread.compute(thread.sim().machine().hit * 4).await;
        match thread
            .exchange(&world.tail, tail, tail + count + RECORD)
            .await
        {
            Ok(_) => return (tail % RECORD + 1, tail / RECORD),
            Err(now) => tail = now,
        }
    }
}

/// Switches memtables if that is due, or waits until a switch is done. Models
/// `db::switch`: writers sleep from closing the old generation to installing the new.
async fn attend(world: &World, thread: &Thread) {
    if world.switch_due.take() {
        world.switching.preset(1);
        thread.compute(thread.sim().machine().switch).await;
        thread.store(&world.switching, 0).await;
        thread.futex_wake(&world.switching, usize::MAX).await;
    }
    while world.switching.peek() == 1 {
        thread.futex_wait(&world.switching, 1).await;
    }
}

/// Copies a record of `bytes` to its place. Its first line is also the last of its
/// predecessor, and its last line is also the first of its successor.
pub async fn log(world: &World, thread: &Thread, place: u64, bytes: u64) {
    thread.count_log_write();
    world.dirty.set(world.dirty.get() + bytes);
    let machine = thread.sim().machine();
    if world.dialect != Dialect::Own {
        thread
            .system_call(machine.write_call + machine.touch_time(bytes))
            .await;
        thread.copy(bytes).await;
        return;
    }
    if world.layout.aligned_records {
        thread.copy(bytes.next_multiple_of(64)).await;
        return;
    }
    // The first writer to reach a line between two records gets it from memory.
    for edge in [place, place + 1] {
        let line = world.edge(edge);
        if line.peek() == edge + 1 {
            thread.store(line, edge + 1).await;
        } else {
            line.preset(edge + 1);
            thread.begin_line(line, edge + 1).await;
        }
        if edge == place {
            thread.copy(bytes).await;
        }
    }
}

/// Extends the log by `bytes`. The writer that reaches the end of the file does that for
/// all, which amounts to a share for each.
pub async fn extend_log(world: &World, thread: &Thread, bytes: u64) {
    if world.dialect == Dialect::Own && world.workload.log {
        let time = thread.sim().machine().touch_time(bytes);
        thread.compute(time).await;
    }
}

/// Makes the entries of `write` findable and counts them. `prepared` says whether
/// [`prepare`] was called for it.
pub async fn insert(world: &World, thread: &Thread, write: Write, prepared: bool) {
    let cost = world.insert_cost(thread);
    for _ in 0..write.entries {
        if !prepared {
            allocate(world, thread).await;
            thread.compute(varied(thread, cost.prepare)).await;
            thread.stream(cost.bytes).await;
        }
        thread.compute(varied(thread, cost.link)).await;
    }
    let counter = world.counter(thread);
    thread.rmw(counter, |sum| sum + write.entries).await;
}

/// Waits until `last` is visible.
pub async fn acknowledge(world: &World, thread: &Thread, first: u64, last: u64) {
    let publication = &world.publication;
    if publication.visible(thread).await < last {
        publication.wait(thread, last).await;
    }
    world.note_acknowledged(first, last);
}

/// Makes the log durable up to `last`. Models `concurrent::single_flight`.
pub async fn make_durable(world: &World, thread: &Thread, last: u64) {
    loop {
        if thread.load(&world.durable).await >= last {
            return;
        }
        if take_role(thread, &world.busy).await {
            if thread.load(&world.durable).await < last {
                let upto = world.publication.visible(thread).await.max(last);
                let bytes = world.dirty.replace(0);
                thread.fdatasync(bytes).await;
                thread.store(&world.durable, upto).await;
            }
            thread.rmw(&world.busy, |_| 0).await;
            thread.fence().await;
            if thread.load(&world.sync_sleepers).await > 0 {
                world.syncs.notify_all(thread).await;
            }
            return;
        }
        thread.rmw(&world.sync_sleepers, |n| n + 1).await;
        loop {
            let turn = thread.load(&world.syncs.0).await;
            thread.fence().await;
            let done = thread.load(&world.durable).await >= last;
            if done || thread.load(&world.busy).await == 0 {
                break;
            }
            thread.futex_wait(&world.syncs.0, turn).await;
        }
        thread.rmw(&world.sync_sleepers, |n| n - 1).await;
    }
}

async fn take_role(thread: &Thread, busy: &Word) -> bool {
    thread.load(busy).await == 0 && thread.rmw(busy, |_| 1).await == 0
}
