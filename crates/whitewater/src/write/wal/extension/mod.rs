//! How logs grow: by how much, when, and which thread extends them.
//!
//! Writers store into room that is ready. A log is extended while some of it is left, and for a
//! mapped file that is the work of a thread ([`thread`]): the system clears each
//! page of new room, which takes as long as a quarter of the writes into it. A writer extends the
//! log where that thread does not keep up, and where each extension has a sync, which must not hold
//! up the logs of other databases. Files that are not mapped only need space.
//!
//! L4 of [`super`] is upheld here.

#[cfg(test)]
mod tests;
mod thread;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use whitewater_concurrent::system::{Mutex, is_simulated};
use whitewater_storage::Result;
use whitewater_storage::wal::Segment;

/// The most bytes that a new log is created with. Steps are doubled from there.
const FIRST_STEP: u64 = 256 << 10;

/// The most bytes between syncs for which the space of a log is initialized, which makes
/// each sync cheaper.
const INITIALIZED_PER_SYNC: u64 = 64 << 10;

/// The most bytes by which a log is extended at once, unless its space is initialized or a write
/// needs more. Whoever extends it gets these pages from the system meanwhile: 4 MiB took 2.3 ms on
/// tmpfs and 3.5 on ext4, and 256 KiB a seventeenth and a thirteenth of that.
const UNINITIALIZED_STEP: u64 = 256 << 10;

/// Extends the logs of a database, one at a time.
#[derive(Debug)]
pub(super) struct Extender {
    /// Expected size of a log. Bytes.
    expected: u64,
    /// The right to change the length of a log (L4).
    extending: Mutex<Extension>,
    /// Syncs since it was last decided whether to initialize the space of logs.
    /// Written by: threads that sync or extend (relaxed). Read by: threads that extend.
    /// Publishes nothing.
    syncs: AtomicU64,
    /// Whether the space of logs is initialized at present.
    /// Written by: threads that extend, under `extending` (relaxed). Read by: threads
    /// that create or extend a log. Publishes nothing.
    initializes: AtomicBool,
    /// Whether the thread was asked for an extension that it has not made yet.
    /// Written by: writers that ask, and the thread. Read by: writers near the end of what is
    /// ready. Publishes nothing: relaxed.
    asked: AtomicBool,
}

#[derive(Debug)]
struct Extension {
    /// No log is extended: the logs are locked, or the database is closed.
    frozen: bool,
    /// Bytes by which logs have grown since it was last decided whether to initialize space; before
    /// that, those of the first log when it is created.
    grown: u64,
}

impl Extender {
    /// For logs of about `expected` bytes each, whose space is initialized at first if `initialize`
    /// says so.
    pub fn new(expected: u64, initialize: bool) -> Self {
        let mut extender = Extender {
            expected,
            extending: Mutex::new(Extension {
                frozen: false,
                grown: 0,
            }),
            syncs: AtomicU64::new(0),
            initializes: AtomicBool::new(initialize),
            asked: AtomicBool::new(false),
        };
        extender.extending.get_mut().grown = extender.first();
        extender
    }

    /// The most bytes of a step.
    fn step(&self) -> u64 {
        (self.expected / 16).clamp(64 << 10, 4 << 20)
    }

    /// Bytes by which logs grow until it is decided again whether to initialize their space, and by
    /// which a log with `ready` bytes is extended if it is.
    fn step_from(&self, ready: u64) -> u64 {
        ready.max(FIRST_STEP).min(self.step())
    }

    /// Bytes that a new log has.
    pub fn first(&self) -> u64 {
        self.step_from(0)
    }

    /// Bytes that are kept ready ahead of writes in a log with `ready` bytes: a quarter of these,
    /// 2 MiB at most.
    pub fn lead(&self, ready: u64) -> u64 {
        self.step_from(ready / 2) / 2
    }

    /// Bytes by which a log with `ready` bytes is extended.
    fn extension_from(&self, ready: u64, initialize: bool) -> u64 {
        let step = self.step_from(ready);
        match initialize {
            // Each extension costs a sync.
            true => step,
            false => step.min(UNINITIALIZED_STEP),
        }
    }

    /// Counts a sync.
    pub fn note_sync(&self) {
        self.syncs.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether the space of logs is initialized at present.
    pub fn initializes(&self) -> bool {
        self.initializes.load(Ordering::Relaxed)
    }

    /// Extends `log` beyond `upto`, if it does not reach that yet. A closed log is left
    /// as it is: no place in it can be reserved, and its file may be another log's by now.
    ///
    /// # Errors
    /// A full disk, for one. The log is unchanged, and the next writer tries again.
    pub fn extend_to(&self, log: &Segment, upto: u64) -> Result<()> {
        let mut extension = self.extending.lock(); // upholds L4
        // A writer that comes here while it is frozen finds its generation closed next.
        if upto <= log.allocated() || log.is_closed() || extension.frozen {
            return Ok(());
        }
        self.extend(&mut extension, log, upto, upto)
    }

    /// Has `log` extended before a writer needs it, if a write has ended at `end`, near the end of
    /// what is ready. One writer does it, or asks the thread; returns whether it was this one. A
    /// failure is ignored: the next writer that needs the room gets the error.
    #[inline]
    pub fn extend_ahead(self: &Arc<Self>, log: &Arc<Segment>, end: u64) -> bool {
        self.is_near_end(log, end) && self.ask_or_extend(log, end)
    }

    #[inline]
    fn is_near_end(&self, log: &Segment, end: u64) -> bool {
        let ready = log.ready();
        end + self.lead(ready) > ready
    }

    #[cold]
    fn ask_or_extend(self: &Arc<Self>, log: &Arc<Segment>, end: u64) -> bool {
        let ready = log.ready();
        let is_late = end + self.lead(ready) / 2 > ready;
        let is_ours = self.initializes() || !log.prepares_memory() || is_simulated();
        if is_late || is_ours {
            return self.extend_step_ahead(log, end, true);
        }
        // Most writers find that another one has asked, and read only.
        let asks = !self.asked.load(Ordering::Relaxed) && !self.asked.swap(true, Ordering::Relaxed);
        if asks && !thread::ask(self, log, end) {
            return self.extend_step_ahead(log, end, true);
        }
        asks
    }

    /// What the thread does after a writer that had ended at `end` asked it to extend `log`, which
    /// is gone if it was let go of since.
    pub fn extend_as_asked(&self, log: Option<&Segment>, end: u64) {
        if let Some(log) = log {
            self.extend_step_ahead(log, end, false);
        }
    }

    /// Lets the next writer ask: the thread is done with what it was asked for.
    pub fn answer(&self) {
        self.asked.store(false, Ordering::Relaxed);
    }

    /// Extends `log` by a step if `end` is near the end of what is ready, unless another thread is
    /// at it, or unless the space is to be initialized and this thread `may_initialize` none.
    /// Returns whether it did.
    fn extend_step_ahead(&self, log: &Segment, end: u64, may_initialize: bool) -> bool {
        let Some(mut extension) = self.extending.try_lock() else {
            return false;
        };
        if extension.frozen || !self.is_near_end(log, end) {
            return false;
        }
        // The end may be beyond what is ready of a recycled log, and a write may be larger than an
        // extension.
        let ready = log.ready();
        let least = end + self.lead(ready);
        if self.decide_to_initialize(&mut extension, ready) && !may_initialize {
            return false;
        }
        self.extend(&mut extension, log, ready.max(end), least)
            .is_ok()
    }

    /// Extends `log` beyond `from`, to `least` at least.
    fn extend(
        &self,
        extension: &mut Extension,
        log: &Segment,
        from: u64,
        least: u64,
    ) -> Result<()> {
        let ready = log.ready();
        let initialize = self.decide_to_initialize(extension, ready);
        log.initialize(initialize);
        let more = self.extension_from(ready.max(from), initialize);
        let len = least.max(from + more);
        log.extend(len)?;
        extension.grown += len.saturating_sub(ready);
        Ok(())
    }

    /// Whether the space of a log with `ready` bytes is to be initialized. The syncs since the last
    /// decision tell. A decision holds until logs have grown by a step.
    fn decide_to_initialize(&self, extension: &mut Extension, ready: u64) -> bool {
        let apart = extension.grown;
        if apart < self.step_from(ready / 2) {
            return self.initializes();
        }
        extension.grown = 0;
        let syncs = self.syncs.swap(0, Ordering::Relaxed);
        let initialize = syncs.saturating_mul(INITIALIZED_PER_SYNC) >= apart;
        self.initializes.store(initialize, Ordering::Relaxed);
        initialize
    }

    /// With `frozen`, leaves all logs as long as they are. No place in them can be reserved
    /// meanwhile.
    pub fn freeze(&self, frozen: bool) {
        self.extending.lock().frozen = frozen;
    }

    /// Sees to it that `log`, which is to be deleted, is never extended again.
    pub fn give_up(&self, log: &Segment) {
        let _not_extended_meanwhile = self.extending.lock(); // upholds L4
        log.give_up();
    }

    /// Closes `log`, which ends at `len`, without syncing it. It is never extended again.
    pub fn close(&self, log: &Segment, len: u64) -> Result<()> {
        let _not_extended_meanwhile = self.extending.lock(); // upholds L4
        log.close(len)
    }
}
