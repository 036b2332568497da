//! Locking the log: writes wait, and the logs stay as they are, until it is unlocked.
//!
//! The first thread that locks closes the current generation, as a switch does, and installs no
//! successor. It gives back the right to switch, so that checkpoints and listings, which
//! change nothing, go on; whoever wants to switch waits for the end of the lock in
//! [`Generations::switching`]. The last thread that unlocks installs a successor for the same
//! memtables and the same log.
//!
//! Writers wait at admission, where they hold nothing. Those that were past it find the
//! generation closed, and wait as for a switch.
//!
//! Invariants:
//! * L1: while a thread holds the lock, the current generation is closed, everything in it is
//!   published and inserted, and its records were handed to the operating system.
//! * L2: the log is locked and unlocked by a thread with the right to switch, so that who holds
//!   that right knows whether it is.
//! * L3: no log is extended, cut, deleted or moved while it is locked. File deletions are
//!   disabled once for each lock.
//!
//! A thread that holds the lock would wait for itself in a write or a switch, so these fail.

use super::Engine;
use super::generations::{Generations, Switching};
use super::switch_guard::Gap;
use crate::thread_pools::pool::Waiting;
use crate::write::generation::End;
use std::collections::HashMap;
use std::sync::Arc;
use std::thread::{self, ThreadId};
use whitewater_concurrent::system::{Condvar, Mutex};
use whitewater_storage::planted;
use whitewater_storage::{Error, ErrorKind, Result};

/// The threads that hold the lock, and how often.
#[derive(Debug, Default)]
pub(super) struct WalLock {
    /// Changed with the right to switch (L2).
    owners: Mutex<HashMap<ThreadId, usize>>,
    unlocked: Condvar,
}

impl WalLock {
    /// Adds the calling thread; returns whether it is the first.
    fn add(&self) -> bool {
        let mut owners = self.owners.lock();
        let first = owners.is_empty();
        *owners.entry(thread::current().id()).or_default() += 1;
        first
    }

    /// Removes the calling thread once; returns whether it was the last, or `None` if it does
    /// not hold the lock.
    fn remove(&self) -> Option<bool> {
        let mut owners = self.owners.lock();
        let id = thread::current().id();
        let count = owners.get_mut(&id)?;
        *count -= 1;
        if *count == 0 {
            owners.remove(&id);
        }
        let last = owners.is_empty();
        if last {
            self.unlocked.notify_all();
        }
        Some(last)
    }

    /// Removes all threads; returns how often they held the lock.
    fn clear(&self) -> usize {
        let mut owners = self.owners.lock();
        let held = owners.drain().map(|(_, count)| count).sum();
        self.unlocked.notify_all();
        held
    }

    /// Whether a thread holds the lock. It stays so as long as the caller has the right to
    /// switch.
    pub fn is_held(&self) -> bool {
        !self.owners.lock().is_empty()
    }

    fn is_mine(&self) -> bool {
        self.owners.lock().contains_key(&thread::current().id())
    }

    /// Waits until no thread holds the lock. Returns whether one did.
    pub fn wait(&self) -> bool {
        if !self.is_held() {
            return false;
        }
        // The caller may be a background thread, whose pool others need.
        let _waiting = Waiting::begin();
        let mut owners = self.owners.lock();
        while !owners.is_empty() {
            self.unlocked.wait(&mut owners);
        }
        true
    }
}

impl Generations {
    /// Waits until no thread holds the lock of the log, and the switch by which it ends is over.
    pub(super) fn await_unlocked(&self) {
        while self.wal_lock.wait() {
            self.await_switch();
        }
    }
}

impl Engine {
    /// Makes writes wait until [`unlock_wal`](Self::unlock_wal), and keeps the logs as they are.
    ///
    /// # Errors
    /// The failure that stopped writes; those of handing the log to the operating system. The
    /// log is not locked then.
    pub fn lock_wal(self: &Arc<Self>) -> Result<()> {
        self.check_writer()?;
        self.disable_file_deletions(); // upholds L3
        let locked = self.lock_log();
        if locked.is_err() {
            self.enable_file_deletions();
        }
        locked
    }

    fn lock_log(&self) -> Result<()> {
        let switching = self.commit.generations.switching_though_locked();
        Self::check_healthy(&self.lock_state())?;
        if !self.commit.generations.wal_lock.add() {
            return Ok(());
        }
        let stopped = self.stop_writers(&switching);
        if stopped.is_err() {
            self.commit.generations.wal_lock.clear();
            self.let_writers_go_on(&switching);
        }
        stopped
    }

    /// Upholds L1.
    fn stop_writers(&self, _: &Switching<'_>) -> Result<()> {
        {
            let _state = self.lock_state();
            self.commit.gate.lock(true);
        }
        let mut closes = true;
        planted!(WalLockKeepsGenerationOpen => closes = false);
        if !closes {
            return Ok(());
        }
        let mut gap = Gap::new(self);
        let end = gap.begin(&self.commit.generations.load_full())?;
        gap.end(); // it is one for those who unlock
        self.await_inserted(end.last)?;
        self.commit.wal.freeze(true); // upholds L3
        self.flush_wal(false)
    }

    /// Installs the successor of the generation that [`stop_writers`](Self::stop_writers) has
    /// closed.
    fn let_writers_go_on(&self, _: &Switching<'_>) {
        self.commit.wal.freeze(false);
        let before = self.commit.generations.load_full();
        let mut state = self.lock_state();
        if let Some(End { last, offset }) = before.ended() {
            let end = End { last, offset };
            self.install(&state, &before.wal, before.start(), end);
        }
        self.commit.gate.lock(false);
        self.recompute_stall(&mut state, []);
    }

    /// Ends one [`lock_wal`](Self::lock_wal) of the calling thread. The last one lets writes go
    /// on.
    ///
    /// # Errors
    /// `Aborted` if the calling thread does not hold the lock.
    pub fn unlock_wal(self: &Arc<Self>) -> Result<()> {
        {
            let switching = self.commit.generations.switching_though_locked();
            match self.commit.generations.wal_lock.remove() {
                None => {
                    return Err(Error::new(
                        ErrorKind::Aborted,
                        "No LockWAL() held by current thread",
                    ));
                }
                Some(true) => self.let_writers_go_on(&switching),
                Some(false) => {}
            }
        }
        self.enable_file_deletions();
        Ok(())
    }

    /// Ends the locks of all threads, because the database closes.
    pub(super) fn break_wal_lock(self: &Arc<Self>) {
        // The caller may be in a call of the user's in the middle of a switch, which is none of a
        // locked log.
        if !self.wal_is_locked() {
            return;
        }
        let held = {
            let switching = self.commit.generations.switching_though_locked();
            let held = self.commit.generations.wal_lock.clear();
            if held > 0 {
                self.let_writers_go_on(&switching);
            }
            held
        };
        (0..held).for_each(|_| self.enable_file_deletions());
    }

    /// Whether the log is locked.
    pub(super) fn wal_is_locked(&self) -> bool {
        self.commit.generations.wal_lock.is_held()
    }

    /// Takes the right to switch, for a call that would otherwise wait for its own thread.
    ///
    /// # Errors
    /// `Aborted` if the calling thread holds the lock of the log.
    pub(super) fn switching(&self) -> Result<Switching<'_>> {
        self.check_no_own_lock()?;
        Ok(self.commit.generations.switching())
    }

    fn check_no_own_lock(&self) -> Result<()> {
        if self.commit.generations.wal_lock.is_mine() {
            return Err(Error::new(
                ErrorKind::Aborted,
                "Likely deadlock as the same thread called LockWAL()",
            ));
        }
        Ok(())
    }

    /// Waits until writers may write again.
    ///
    /// # Errors
    /// `Incomplete` instead of a wait with `no_slowdown`; `Aborted` if the calling thread holds
    /// the lock.
    #[cold]
    pub(super) fn await_unlocked(&self, no_slowdown: bool) -> Result<()> {
        self.check_no_own_lock()?;
        if no_slowdown && self.wal_is_locked() {
            return Err(Error::new(ErrorKind::Incomplete, "Write stall"));
        }
        self.commit.generations.await_unlocked();
        Ok(())
    }
}
