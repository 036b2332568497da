//! The thread that makes writes of all groups durable, many of them with one sync.
//!
//! A writer writes to the log of the database without a sync, and then leaves here what is to be
//! called once that is durable. The thread takes all that waits, syncs once, and has it called. A
//! writer that comes meanwhile waits for the next sync, which gives those that were called half the
//! time of a sync to come as well: the slower the device, the more writes share one. Without that,
//! two halves of the writers would have every other sync each.

mod calls;
mod queue;

use self::calls::{Call, call};
use self::queue::Queue;
use crate::engine::Engine;
use crate::error::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// A sync that takes less than this is not worth waiting for more writers.
const WORTH_WAITING: Duration = Duration::from_micros(40);

/// How many syncs there were, and how many writes they made durable.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SyncCounts {
    /// Syncs of the database's log.
    pub syncs: u64,
    /// Appends and votes that waited for them.
    pub writes: u64,
}

/// The two numbers of [`SyncCounts`]. The thread adds to them, and anyone reads them; they publish
/// nothing, so all operations are relaxed.
#[derive(Default)]
struct Counts {
    syncs: AtomicU64,
    writes: AtomicU64,
}

pub(crate) struct Syncer {
    queue: Arc<Queue>,
    /// `None` only while it is dropped.
    thread: Option<JoinHandle<()>>,
    counts: Arc<Counts>,
}

impl Syncer {
    pub fn start<E: Engine>(engine: Arc<E>) -> Result<Self> {
        let (queue, counts) = (Arc::<Queue>::default(), Arc::<Counts>::default());
        let (waiting, counted) = (queue.clone(), counts.clone());
        let thread = Builder::new()
            .name("raft-sync".to_owned())
            .spawn(move || {
                let abandons = Abandons(&waiting);
                run(&*engine, abandons.0, &counted);
            })
            .map_err(|e| Error::because("start of the thread that syncs", e))?;
        Ok(Syncer {
            queue,
            thread: Some(thread),
            counts,
        })
    }

    /// Calls `done` once all writes that have returned are durable. A task of the runtime that this
    /// is called in may call it, so no thread of the runtime may be blocked until then.
    pub fn when_durable(
        &self,
        done: impl FnOnce(std::result::Result<(), &Error>) + Send + 'static,
    ) {
        if let Err(call) = self.queue.add(Call::new(done)) {
            call.fail(&Error::new("the thread that syncs has ended"));
        }
    }

    pub fn counts(&self) -> SyncCounts {
        SyncCounts {
            syncs: self.counts.syncs.load(Ordering::Relaxed),
            writes: self.counts.writes.load(Ordering::Relaxed),
        }
    }
}

impl Drop for Syncer {
    fn drop(&mut self) {
        self.queue.close();
        if let Some(thread) = self.thread.take() {
            // It panics only if the engine does, which has said so.
            _ = thread.join();
        }
    }
}

/// Lets go of the writers that wait if the thread panics.
struct Abandons<'a>(&'a Queue);

impl Drop for Abandons<'_> {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

fn run<E: Engine>(engine: &E, queue: &Queue, counts: &Counts) {
    // After a failed sync the log may have a hole, and what comes behind it is not recovered.
    // So no later sync may claim that it was.
    let mut failed: Option<Arc<Error>> = None;
    let mut calls = Vec::new();
    // For how many writers the next sync waits, and for how long.
    let (mut wanted, mut until) = (1, None);
    loop {
        queue.take(&mut calls, wanted, until);
        if calls.is_empty() {
            return;
        }
        let begun = Instant::now();
        if failed.is_none() {
            failed = engine.sync().err().map(Arc::new);
            counts.syncs.fetch_add(1, Ordering::Relaxed);
            counts
                .writes
                .fetch_add(calls.len() as u64, Ordering::Relaxed);
        }
        let took = begun.elapsed();
        wanted = calls.len() + queue.len();
        call(&mut calls, failed.as_ref());
        until = (took >= WORTH_WAITING).then(|| Instant::now() + took / 2);
    }
}
