//! Flushes that callers request, and waiting for background work.

use crate::column_family::ColumnFamilyData;
use crate::db::Engine;
use crate::db::state::DbState;
use crate::listener::FlushReason;
use std::sync::Arc;
use std::time::Duration;
use whitewater_concurrent::system;
use whitewater_storage::{Error, ErrorKind, Result};

impl Engine {
    /// Retires the memtables of `cfs` for `reason` and, with `wait`, waits until they are tables.
    pub fn flush(
        self: &Arc<Self>,
        cfs: &[Arc<ColumnFamilyData>],
        reason: FlushReason,
        wait: bool,
    ) -> Result<()> {
        self.flush_those(|_| cfs.iter().map(|cf| cf.id).collect(), reason, wait)
    }

    /// [`Engine::flush`] of all column families, including those that are created while
    /// this waits for the right to switch: writes to them may come before what is flushed
    /// of others.
    pub fn flush_all(self: &Arc<Self>, reason: FlushReason, wait: bool) -> Result<()> {
        self.flush_those(|state| state.cfs.keys().copied().collect(), reason, wait)
    }

    /// Flushes `cf` for an operation that works on tables. With atomic flushes, this flushes
    /// all column families: nobody asked to flush `cf` alone, so that unlogged batches stay
    /// whole.
    pub(super) fn flush_whole_batches(
        self: &Arc<Self>,
        cf: &Arc<ColumnFamilyData>,
        reason: FlushReason,
    ) -> Result<()> {
        if self.options.atomic_flush {
            self.flush_all(reason, true)
        } else {
            self.flush(std::slice::from_ref(cf), reason, true)
        }
    }

    fn flush_those(
        self: &Arc<Self>,
        those: impl FnOnce(&DbState) -> Vec<u32>,
        reason: FlushReason,
        wait: bool,
    ) -> Result<()> {
        if !wait && self.wal_is_locked() {
            return Err(Error::new(
                ErrorKind::TryAgain,
                "Writes have been stopped, thus unable to perform manual flush. Please try again \
                 later after writes are resumed",
            ));
        }
        let ids;
        {
            let switching = self.switching()?;
            {
                let state = self.lock_state();
                Self::check_healthy(&state)?;
                ids = those(&state);
            }
            let due = ids.iter().map(|id| (*id, reason)).collect();
            self.switch_memtables(&switching, due)?;
        }
        if !wait {
            return Ok(());
        }
        let mut state = self.lock_state();
        // Running flushes may still fail for a reason that is gone.
        let failures = state.failure.totals().0 + state.running_flushes as u64;
        state.failure.flush.hurry();
        // Only the memtables that are retired by now matter, not later ones.
        let mut goal: Vec<(u32, u64)> = Vec::new();
        for id in ids {
            if let Some(cf) = state.cfs.get_mut(&id)
                && let Some(last) = cf.imm.last()
            {
                goal.push((id, last.id));
                // Another thread may have retired the last one after this thread's switch,
                // without requesting its flush.
                cf.request_flush(reason);
            }
        }
        self.background.work.notify_all();
        loop {
            let pending = goal.iter().any(|(id, last)| {
                state
                    .cfs
                    .get(id)
                    .is_some_and(|cf| cf.imm.iter().any(|m| m.id <= *last))
            });
            if !pending {
                return Ok(());
            }
            Self::check_healthy(&state)?;
            if let Some(e) = state.failure.lasting_flush()
                && state.failure.totals().0 > failures
            {
                return Err(e);
            }
            self.background.wait_for_job(&mut state, None);
        }
    }

    /// Waits until no flush or compaction is running or due, and the files that they made
    /// obsolete are deleted.
    ///
    /// # Errors
    /// `TimedOut` after `timeout`; the failure that stopped the database.
    pub fn wait_for_compact(
        self: &Arc<Self>,
        flush: bool,
        timeout: Option<Duration>,
    ) -> Result<()> {
        let deadline = timeout.map(|t| system::now() + t);
        if flush {
            self.flush_all(FlushReason::ManualFlush, true)?;
        }
        let mut state = self.lock_state();
        self.look_for_due(&mut state);
        let failures = state.failure.totals();
        state.failure.flush.hurry();
        state.failure.compaction.hurry();
        self.background.work.notify_all();
        while state.busy() || state.purges > 0 {
            Self::check_healthy(&state)?;
            if let Some(e) = state.failure.lasting_since(failures) {
                return Err(e);
            }
            if self.background.wait_for_job(&mut state, deadline) {
                return Err(Error::new(ErrorKind::TimedOut, "background work goes on"));
            }
        }
        Self::check_healthy(&state)
    }
}
