//! Unordered commit. Models `write::unordered`.

use super::group::{self, Chain};
use super::{World, Write, steps};
use crate::sim::Thread;

/// Commits one write.
pub async fn commit(world: &World, thread: &Thread, write: Write) {
    steps::enter(world, thread, write).await;
    let (first, last) = through_queue(world, thread, write, async |_: &Chain| {}).await;
    steps::insert(world, thread, write, false).await;
    thread.rmw(&world.pending, |pending| pending - 1).await;
    world.note_acknowledged(first, last);
}

/// Lets a leader log `write`, do what `enter` says for its group, and publish its numbers.
pub(super) async fn through_queue(
    world: &World,
    thread: &Thread,
    write: Write,
    enter: impl AsyncFnOnce(&Chain),
) -> (u64, u64) {
    let queue = &world.queue;
    let lead = async |chain: Chain| {
        let place = group::log_group(world, thread, queue, &chain).await;
        enter(&chain).await;
        let inserts = chain.len() as u64;
        thread
            .rmw(&world.pending, |pending| pending + inserts)
            .await;
        let (first, last) = place;
        world.publication.finish(thread, first, last).await;
        queue.hand_over(thread, &chain).await;
        queue.tell_all(world, thread, &chain).await;
    };
    queue.join(world, thread, write, lead).await
}
