//! Keeping within a memory budget that memtables share with other databases.
//!
//! Two kinds of thread flush for the budget: a writer that finds that the budget needs a
//! flush and that its own database is the heaviest, and a flush thread that was asked to
//! ([`Flusher::flush_soon`]) by a writer of another database or by a stalled writer. Either
//! switches one memtable; the flush itself is an ordinary one.
//!
//! A request stays in `DbState::budget_asks` until it was met or has lost its reason. Flush
//! threads look at it whenever they look for work, so a request that was made while nothing
//! could be flushed is met at the end of the flush that was in the way.

use super::Engine;
use super::commit_path::CommitPath;
use super::state::{CfState, DbState};
use crate::listener::FlushReason;
use crate::panics::{Guarded, caught};
use crate::write_buffer_manager::{BudgetClient, Flusher};
use std::sync::Arc;
use whitewater_storage::Result;

impl Engine {
    /// Called by a writer when the budget needs a flush.
    #[cold]
    pub(super) fn relieve_budget(&self, budget_client: &Arc<BudgetClient>) -> Result<()> {
        if budget_client.is_to_flush() {
            return self.switch_for_budget();
        }
        Ok(())
    }

    /// Called by a flush thread, without locks, to do what was requested.
    pub(crate) fn flush_for_budget(&self) {
        // The thread must survive, for the flushes of a resumed database.
        if let Err(e) = caught(Guarded::Job, || self.switch_for_budget()) {
            self.info_log.warn(&format!("no flush for the budget: {e}"));
        }
    }

    /// Switches the memtable whose flush helps the budget most, if one helps.
    fn switch_for_budget(&self) -> Result<()> {
        let switching = self.switching()?;
        let picked = {
            let mut state = self.state.lock();
            let picked = self.commit.pick_for_budget(&state);
            state.budget_asks &= picked.is_none();
            picked
        };
        match picked {
            Some(id) => {
                let ids = self.with_others(vec![id]).into_iter();
                let reason = FlushReason::WriteBufferManager;
                self.switch_memtables(&switching, ids.map(|id| (id, reason)).collect())
            }
            None => Ok(()),
        }
    }

    /// Whether a flush thread should flush for the budget now.
    pub(crate) fn budget_asks(&self, state: &mut DbState) -> bool {
        if !state.budget_asks {
            return false;
        }
        if self.commit.pick_for_budget(state).is_some() {
            return true;
        }
        // Otherwise there is nothing to do until a flush has ended.
        state.budget_asks = state.running_flushes > 0 || state.cfs.values().any(holds_entries);
        false
    }
}

impl CommitPath {
    /// Called by a flush thread when a flush has ended and its references to memtables are
    /// dropped: whether memory was freed or not, stalled writers check whom to ask next.
    pub(super) fn tell_budget(&self) {
        if let Some(budget_client) = &self.budget_client {
            budget_client.budget().wake();
        }
    }

    /// The column family to flush for the budget: the one with the oldest entries among
    /// those that are not being flushed already (RocksDB's choice). `None` if the budget
    /// needs no flush, or if the memtables that are about to be flushed are enough.
    fn pick_for_budget(&self, state: &DbState) -> Option<u32> {
        let budget = self.budget_client.as_ref()?.budget();
        let leaves = |cf: &&CfState| cf.flushing || cf.wants_flush();
        if !budget.should_flush() {
            let leaving = state.cfs.values().filter(leaves).flat_map(|cf| &cf.imm);
            let leaving: usize = leaving.map(|mem| mem.charged_bytes()).sum();
            if !budget.should_stall() || budget.used() < budget.limit().saturating_add(leaving) {
                return None;
            }
        }
        let candidates = state.cfs.values().filter(|cf| !leaves(cf));
        candidates
            .filter(|cf| holds_entries(cf))
            .min_by_key(|cf| (cf.oldest_wal(), cf.imm.first().unwrap_or(&cf.mem).id))
            .map(|cf| cf.data.id)
    }
}

fn holds_entries(cf: &CfState) -> bool {
    !cf.mem.is_empty() || !cf.imm.is_empty()
}

impl Flusher for Engine {
    fn flush_soon(&self) {
        self.state.lock().budget_asks = true;
        self.background.work.notify_all();
    }
}
