//! Which column family holds writers back, and how that affects admission.
//!
//! A thread that installs a view of a column family (by a switch, a flush or a compaction)
//! calls [`Engine::recompute_stall`] for it, under the database mutex: the column family's
//! condition is computed again, the rate of delayed writes moves by RocksDB's rules, and
//! the gate gets the demand of all column families together. Lines for the info log wait
//! until the mutex is free ([`Engine::log_stalls`]).

use super::Engine;
use super::commit_path::CommitPath;
use super::events::condition;
use super::state::{CfState, DbState};
use crate::listener::WriteStallInfo;
use crate::listener::event::Happened;
use crate::logger::LogLevel;
use crate::write::stall::cause::{Cause, Load, Stall, StallCounts, pressure};
use crate::write::stall::rate::{Debt, DelayRate};
use crate::write::stall::{Demand, Pressure};
use whitewater_storage::Error;

/// The stall state of a column family.
#[derive(Debug, Default)]
pub(crate) struct CfStall {
    /// Its condition when it was last computed.
    pub now: Stall,
    /// Whether its compactions are behind.
    behind: bool,
    /// The number of bytes that its compactions had to rewrite then.
    owed: u64,
    pub counts: StallCounts,
}

/// The stall state of the database.
#[derive(Debug)]
pub(crate) struct DbStall {
    rate: DelayRate,
    /// Lines for the info log: what holds writers back, as warnings, and when nothing does.
    lines: Vec<(LogLevel, String)>,
    /// Changes of which listeners have not been told yet.
    changes: Vec<WriteStallInfo>,
}

impl DbStall {
    /// `max_rate` is in bytes per second; 0 means the default.
    pub fn new(max_rate: u64) -> Self {
        DbStall {
            rate: DelayRate::new(max_rate),
            lines: Vec::new(),
            changes: Vec::new(),
        }
    }
}

impl DbStall {
    /// Limits delayed writes to `max_rate`, as in [`DbStall::new`].
    pub fn set_max_rate(&mut self, max_rate: u64) {
        self.rate.set_max(max_rate);
    }
}

impl Default for DbStall {
    fn default() -> Self {
        Self::new(0)
    }
}

impl CfState {
    fn load(&self) -> Load {
        Load {
            memtables: self.imm.len() as i32,
            level0: self.levels.runs as i32,
            pending: self.levels.pending_bytes,
            bottom: self.version.level_bytes(self.version.last_level()),
        }
    }
}

impl CfState {
    /// What holds writers of the column family back, and what it is measured by, each with the
    /// limits from which writes are delayed and stopped (0: never).
    pub(super) fn stall_entries(&self) -> Vec<(String, String)> {
        let (load, options) = (self.load(), self.options());
        let mut entries = vec![(
            "condition",
            format!("{:?}", condition(pressure(self.stall.now))).to_lowercase(),
        )];
        if let Some((cause, _)) = self.stall.now {
            entries.push(("cause", cause.name().to_owned()));
            entries.push(("reason", load.reason(cause, options)));
        }
        entries.extend(
            load.limits(options)
                .into_iter()
                .map(|(name, n)| (name, n.to_string())),
        );
        let named = entries.into_iter();
        named
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }
}

impl DbState {
    /// The strictest pressure of all column families.
    pub fn pressure(&self) -> Pressure {
        let all = self.cfs.values().map(|cf| pressure(cf.stall.now));
        all.max().unwrap_or_default()
    }

    /// The numbers of column families under each pressure.
    fn count_by_pressure(&self) -> [usize; 3] {
        let mut under = [0; 3];
        for cf in self.cfs.values() {
            under[pressure(cf.stall.now) as usize] += 1;
        }
        under
    }

    /// Computes the conditions of the column families `ids` again.
    fn recompute_stall(&mut self, ids: impl IntoIterator<Item = u32>) {
        // Counted once: many may come at once.
        let mut under = self.count_by_pressure();
        for id in ids {
            let any_delayed = under[Pressure::Delayed as usize] > 0;
            let stopped = under[Pressure::Stopped as usize] > 0;
            let compacting = self.running_compactions > 0;
            let Some(cf) = self.cfs.get_mut(&id) else {
                continue;
            };
            let options = cf.options().clone();
            let load = cf.load();
            let stall = load.stall(&options);
            let rate = self.stalls.rate;
            let rates = &mut self.stalls.rate;
            match stall {
                Some((cause, Pressure::Delayed)) => {
                    let debt = Debt {
                        before: cf.stall.owed,
                        now: load.pending,
                    };
                    let penalize = stopped || load.near_stop(cause, &options);
                    rates.delay(
                        debt,
                        any_delayed,
                        penalize,
                        options.disable_auto_compactions,
                    );
                }
                None if any_delayed => rates.recover(),
                _ => {}
            }
            if let Some((cause, pressure)) = stall {
                let level0 = compacting && cf.version.levels[0].iter().any(|f| f.being_compacted());
                cf.stall.counts.count(cause, pressure, level0);
            }
            let other_rate = pressure(stall) == Pressure::Delayed && rate.now != rates.now;
            if stall != cf.stall.now || other_rate {
                let level = match stall {
                    Some(_) => LogLevel::Warn,
                    None => LogLevel::Info,
                };
                let text = load.describe(stall, &options, rates.now);
                let line = format!("[{}] {text}", cf.data.name);
                self.stalls.lines.push((level, line));
            }
            let conditions = [stall, cf.stall.now].map(|stall| condition(pressure(stall)));
            if let [cur, prev] = conditions
                && cur != prev
            {
                self.stalls.changes.push(WriteStallInfo {
                    cf_name: cf.data.name.clone(),
                    cur,
                    prev,
                    cause: stall.map(|(cause, _)| load.reason(cause, &options)),
                });
            }
            under[pressure(cf.stall.now) as usize] -= 1;
            under[pressure(stall) as usize] += 1;
            cf.stall.now = stall;
            cf.stall.owed = load.pending;
            cf.stall.behind = load.is_behind(&options);
        }
    }

    /// The error for a stopped writer that would otherwise wait for work that keeps
    /// failing.
    fn hopeless(&self) -> Option<Error> {
        let stopped = self.cfs.values().filter_map(|cf| match cf.stall.now {
            Some((cause, Pressure::Stopped)) => Some(cause),
            _ => None,
        });
        stopped.fold(None, |found, cause| {
            found.or_else(|| match cause {
                Cause::Memtables => self.failure.lasting_flush(),
                Cause::Level0Files | Cause::PendingBytes => self.failure.lasting_compaction(),
            })
        })
    }
}

impl Engine {
    /// Called after the column families `ids` have changed; see the module.
    pub(crate) fn recompute_stall(&self, state: &mut DbState, ids: impl IntoIterator<Item = u32>) {
        state.recompute_stall(ids);
        for change in state.stalls.changes.drain(..) {
            self.observers.note(|| Happened::StallChanged(change));
        }
        self.watch_snapshots(state);
        self.commit.gate.set(Demand {
            pressure: state.pressure(),
            behind: state.cfs.values().any(|cf| cf.stall.behind),
            rate: state.stalls.rate,
            hopeless: state.hopeless(),
        });
        // While a failure stops the database, writers stay let through.
        if let Some(budget_client) = &self.commit.budget_client
            && Self::check_healthy(state).is_ok()
        {
            let out = state.failure.lasting_flush().is_some();
            if budget_client.is_out() != out {
                budget_client.set_out(out);
            }
        }
    }

    /// Called by a writer that was let past an exhausted memory budget, since this database
    /// frees no memory; returns the reason as an error.
    #[cold]
    pub(super) fn why_no_budget(&self) -> Result<(), Error> {
        self.lock_state()
            .failure
            .lasting_flush()
            .map_or(Ok(()), Err)
    }

    /// Writes changes to the info log. Called without the database mutex.
    pub(crate) fn log_stalls(&self) {
        let lines = std::mem::take(&mut self.state.lock().stalls.lines);
        for (level, line) in lines {
            self.info_log.log(level, &line);
        }
    }
}

impl CommitPath {
    /// Counts of stalls that concern the whole database, under RocksDB's names.
    pub(super) fn stall_counts(&self) -> Vec<(String, u64)> {
        let name = "write-buffer-manager-limit-stops".to_owned();
        vec![(name, self.gate.budget_stops())]
    }
}
