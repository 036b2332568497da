//! The thread that makes writes of all groups durable, many of them with one sync.
//!
//! A writer writes to the log of the database without a sync, and then leaves here what is to be
//! called once that is durable. The thread takes all that waits, syncs once, and calls it. A
//! writer that comes meanwhile waits for the next sync, which gives those that were called half the
//! time of a sync to come as well: the slower the device, the more writes share one.

use crate::engine::Engine;
use crate::error::{Error, Result};
use std::mem::swap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// A sync that takes less than this is not worth waiting for more writers.
const WORTH_WAITING: Duration = Duration::from_micros(40);

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
    let (mut batch, mut next) = (Vec::new(), Vec::new());
    let mut patience = Patience::default();
    loop {
        if next.is_empty() {
            match waiting.recv() {
                Ok(first) => next.push(first),
                Err(_) => return,
            }
        }
        gather(&mut next, waiting, patience);
        swap(&mut batch, &mut next);
        let begun = Instant::now();
        if failed.is_none() {
            failed = engine.sync().err();
            counts.syncs.fetch_add(1, Ordering::Relaxed);
            counts
                .writes
                .fetch_add(batch.len() as u64, Ordering::Relaxed);
        }
        let took = begun.elapsed();
        next.extend(waiting.try_iter());
        patience.writers = batch.len() + next.len();
        for done in batch.drain(..) {
            done(failed.as_ref().map_or(Ok(()), Err));
        }
        patience.until = (took >= WORTH_WAITING).then(|| Instant::now() + took / 2);
    }
}

/// For how many writers the next sync waits, and for how long.
#[derive(Clone, Copy, Default)]
struct Patience {
    /// Those that the last sync has let go, and those that came while it went on.
    writers: usize,
    /// `None` if it does not wait.
    until: Option<Instant>,
}

/// Adds to `batch` what waits, and what the writers that the last sync let go write next. Without
/// waiting for them, two halves of the writers would have every other sync each.
fn gather(batch: &mut Vec<Done>, waiting: &Receiver<Done>, patience: Patience) {
    batch.extend(waiting.try_iter());
    let Some(until) = patience.until else {
        return;
    };
    while batch.len() < patience.writers {
        let left = until.saturating_duration_since(Instant::now());
        match waiting.recv_timeout(left) {
            Ok(done) => batch.push(done),
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    fn nothing() -> Done {
        Box::new(|_| ())
    }

    /// A time that no test reaches.
    fn far() -> Option<Instant> {
        Some(Instant::now() + Duration::from_secs(3600))
    }

    #[test]
    fn a_sync_waits_for_those_that_the_last_one_let_go() {
        let (queue, waiting) = channel();
        let patience = Patience {
            writers: 3,
            until: far(),
        };
        queue.send(nothing()).unwrap();
        let mut batch = Vec::new();
        thread::scope(|scope| {
            let queue = &queue;
            scope.spawn(move || {
                queue.send(nothing()).unwrap();
                queue.send(nothing()).unwrap();
            });
            gather(&mut batch, &waiting, patience);
        });
        assert_eq!(batch.len(), 3);
    }

    #[test]
    fn a_single_writer_is_not_waited_for() {
        let (queue, waiting) = channel();
        queue.send(nothing()).unwrap();
        let patience = Patience {
            writers: 1,
            until: far(),
        };
        let mut batch = Vec::new();
        gather(&mut batch, &waiting, patience);
        assert_eq!(batch.len(), 1);
    }

    #[test]
    fn a_sync_does_not_wait_for_ever() {
        let (queue, waiting) = channel();
        queue.send(nothing()).unwrap();
        let patience = Patience {
            writers: 2,
            until: Some(Instant::now()),
        };
        let mut batch = Vec::new();
        gather(&mut batch, &waiting, patience);
        assert_eq!(batch.len(), 1);
    }

    #[test]
    fn writers_that_came_during_quick_syncs_are_taken_at_once() {
        let (queue, waiting) = channel();
        for _ in 0..3 {
            queue.send(nothing()).unwrap();
        }
        let patience = Patience {
            writers: 8,
            until: None,
        };
        let mut batch = Vec::new();
        gather(&mut batch, &waiting, patience);
        assert_eq!(batch.len(), 3);
    }
}
