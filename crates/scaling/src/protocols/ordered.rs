//! Ordered commit. Models `write::ordered`.

use super::world::Memtable;
use super::{World, Write, steps};
use crate::sim::Thread;

/// Commits one write.
pub async fn commit(world: &World, thread: &Thread, write: Write) {
    steps::enter(world, thread, write).await;
    let prepared = world.workload.memtable == Memtable::Art;
    if prepared {
        steps::prepare(world, thread, write).await;
    }
    let (first, place) = steps::reserve(world, thread, write.entries).await;
    let last = first + write.entries - 1;
    // The window begins here.
    if world.workload.log {
        steps::log(world, thread, place, write.bytes).await;
    }
    steps::insert(world, thread, write, prepared).await;
    if write.sync {
        let sync_prefix = async |upto| steps::make_durable(world, thread, upto).await;
        world
            .publication
            .finish_awaiting_sync(thread, first, last, sync_prefix)
            .await;
    } else {
        world.publication.finish(thread, first, last).await;
    }
    steps::acknowledge(world, thread, first, last).await;
    steps::extend_log(world, thread, write.bytes).await;
}
