//! The thread that makes writes of all groups durable, many of them with one sync.
//!
//! A writer writes to the log of the database without a sync, and then leaves here what is to be
//! called once that is durable. The thread takes all that waits, syncs once, and calls it. Who
//! comes meanwhile waits for the next sync: the slower the device, the more writes share one.

use crate::engine::Engine;
use crate::error::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

/// What is called once its write is durable, or cannot be made so.
type Done = Box<dyn FnOnce(std::result::Result<(), &Error>) + Send>;

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
    /// `None` only while it is dropped.
    queue: Option<Sender<Done>>,
    thread: Option<JoinHandle<()>>,
    counts: Arc<Counts>,
}

impl Syncer {
    pub fn start<E: Engine>(engine: Arc<E>) -> Result<Self> {
        let (queue, waiting) = channel();
        let counts = Arc::new(Counts::default());
        let counted = counts.clone();
        let thread = Builder::new()
            .name("raft-sync".to_owned())
            .spawn(move || run(&*engine, &waiting, &counted))
            .map_err(|e| Error::because("start of the thread that syncs", e))?;
        Ok(Syncer {
            queue: Some(queue),
            thread: Some(thread),
            counts,
        })
    }

    /// Calls `done` once all writes that have returned are durable.
    pub fn when_durable(
        &self,
        done: impl FnOnce(std::result::Result<(), &Error>) + Send + 'static,
    ) {
        let sent = match &self.queue {
            Some(queue) => queue.send(Box::new(done)).map_err(|unsent| unsent.0),
            None => Err(Box::new(done) as Done),
        };
        if let Err(done) = sent {
            done(Err(&Error::new("the thread that syncs has ended")));
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
        drop(self.queue.take());
        if let Some(thread) = self.thread.take() {
            // It panics only if a callback does, which has said so.
            _ = thread.join();
        }
    }
}

fn run<E: Engine>(engine: &E, waiting: &Receiver<Done>, counts: &Counts) {
    // After a failed sync the log may have a hole, and what comes behind it is not recovered.
    // So no later sync may claim that it was.
    let mut failed: Option<Error> = None;
    let mut batch = Vec::new();
    while let Ok(first) = waiting.recv() {
        batch.push(first);
        batch.extend(waiting.try_iter());
        if failed.is_none() {
            failed = engine.sync().err();
            counts.syncs.fetch_add(1, Ordering::Relaxed);
            counts
                .writes
                .fetch_add(batch.len() as u64, Ordering::Relaxed);
        }
        for done in batch.drain(..) {
            done(failed.as_ref().map_or(Ok(()), Err));
        }
    }
}
