//! Changing options while the database is open.
//!
//! The options of a column family are in its `CfState`, for code under the database mutex,
//! and in the view that readers pin, so a change is one publication. Jobs use the options
//! that hold when they begin. Memtables keep the options that they were made with, except
//! that a smaller write buffer also applies to the active memtable.
//!
//! A change is all or nothing: it is made in a copy, which is corrected and checked as at
//! open before it replaces the current options. Corrections are made from the requested
//! options, so that a correction ends when its reason does.

use super::Engine;
use super::state::DbState;
use crate::column_family::ColumnFamilyData;
use crate::options::DbOptions;
use crate::options::assign::{May, assign_db, assign_family, own_name};
use crate::options::sanitize::hints_without_effect;
use crate::options::table::OptionTable;
use crate::thread_pools::Priority;
use std::sync::Arc;
use whitewater_storage::{Error, Result};

/// A change of the database's options: held by one thread at a time, from the copy that it
/// makes until the change is done.
#[derive(Debug, Default)]
pub(super) struct OptionsChange;

impl Engine {
    /// Changes options of a column family; names and values are in RocksDB's text form.
    ///
    /// # Errors
    /// `InvalidArgument` naming an option that is unknown, cannot be changed, or has a
    /// value that is out of range or conflicts with others; nothing is changed then. Also
    /// when no options are given, and for a dropped column family. `NotSupported` from an
    /// engine that only reads.
    pub fn set_options(&self, cf: &Arc<ColumnFamilyData>, changes: &[(&str, &str)]) -> Result<()> {
        self.check_writer()?;
        check_given(changes)?;
        let mut state = self.lock_state();
        let family = (state.cfs.get(&cf.id))
            .ok_or_else(|| Error::invalid(format_args!("column family {} is dropped", cf.name)))?;
        let mut asked = family.asked_options().clone();
        for (name, value) in changes {
            assign_family(&mut asked, name, value, May::Change)?;
        }
        let options = asked.clone().sanitized();
        options.validate()?;
        state.options.check_family(&options)?;
        family.options().check_change(&options)?;
        let remarks = remarks(
            &options,
            (&family.options().corrections, &options.corrections),
            changes,
        );
        if let Some(family) = state.cfs.get_mut(&cf.id) {
            family.set_options(asked, options);
        }
        self.recompute_stall(&mut state, [cf.id]);
        self.set_log_limit(&state);
        self.background.work.notify_all();
        drop(state);
        self.log_stalls();
        self.log_change(&format!("[{}] SetOptions()", cf.name), changes, remarks);
        self.write_options_file();
        Ok(())
    }

    /// Changes options of the database. Fails as [`Engine::set_options`] does, also when an
    /// option conflicts with a column family's options, and with `Aborted` when a
    /// background thread that is needed cannot be started.
    pub fn set_db_options(self: &Arc<Self>, changes: &[(&str, &str)]) -> Result<()> {
        self.check_writer()?;
        check_given(changes)?;
        // A column family that is being created was checked against the options so far.
        let is_checked = |name: &str| own_name(name) == "max_open_files";
        let no_new_family = (changes.iter().any(|(name, _)| is_checked(name)))
            .then(|| self.switching())
            .transpose()?;
        // The options that the change is based on stay the same although the database mutex
        // is free while threads are started.
        let changing = self.options_change.lock();
        let options = Arc::new(self.checked_db_options(changes)?);
        let (flushes, compactions) = options.background_threads();
        self.background.work.raise(flushes, compactions)?;
        let mut state = self.lock_state();
        // A column family may have changed meanwhile.
        if let Err(e) = check_families(&options, &state) {
            self.background
                .work
                .set_wanted(state.options.background_threads());
            return Err(e);
        }
        let before = std::mem::replace(&mut state.options, options.clone());
        let corrections = (&before.corrections[..], &options.corrections[..]);
        let remarks = remarks(&*options, corrections, changes);
        if before.delayed_write_rate != options.delayed_write_rate {
            state.stalls.set_max_rate(options.delayed_write_rate);
            self.recompute_stall(&mut state, []);
        }
        self.set_log_limit(&state);
        self.commit
            .wal
            .set_bytes_per_sync(options.wal_bytes_per_sync);
        self.slow.set_threshold(options.slow_operation_micros);
        if before.max_open_files != options.max_open_files {
            self.files.tables.set_max_open_files(options.max_open_files);
        }
        drop(state);
        // Surplus threads end.
        self.background.work.set_wanted((flushes, compactions));
        drop(changing);
        self.background.work.notify_all();
        self.background.work.wake(Priority::Timer);
        drop(no_new_family);
        // There may be too much log now.
        self.commit.ask_for_attention();
        self.log_change("SetDBOptions()", changes, remarks);
        self.write_options_file();
        Ok(())
    }

    /// Returns the database's options with `changes`, if they are valid.
    fn checked_db_options(&self, changes: &[(&str, &str)]) -> Result<DbOptions> {
        let state = self.lock_state();
        let mut options = (*state.options).clone();
        for (name, value) in changes {
            assign_db(&mut options, name, value, May::Change)?;
        }
        let options = options.sanitized();
        options.validate()?;
        check_families(&options, &state)?;
        Ok(options)
    }

    fn log_change(&self, what: &str, changes: &[(&str, &str)], remarks: Vec<String>) {
        self.info_log.write(&format!("{what}, inputs:"));
        for (name, value) in changes {
            self.info_log.write(&format!("{name}: {value}"));
        }
        for remark in remarks {
            self.info_log.warn(&remark);
        }
    }
}

/// Checks that `options` do not conflict with the options of any column family.
fn check_families(options: &DbOptions, state: &DbState) -> Result<()> {
    let mut families = state.cfs.values();
    families.try_for_each(|family| options.check_family(family.options()))
}

/// Returns remarks about `changes` that led to `options`: corrections that were not made
/// `before`, and hints about options without effect.
fn remarks(
    options: &impl OptionTable,
    (before, now): (&[String], &[String]),
    changes: &[(&str, &str)],
) -> Vec<String> {
    let new = now.iter().filter(|c| !before.contains(c)).cloned();
    let named = |hint: &String| {
        let mut names = changes.iter().map(|(name, _)| own_name(name));
        names.any(|name| hint.starts_with(&format!("option {name}=")))
    };
    let hints = hints_without_effect(options).into_iter().filter(named);
    new.chain(hints).collect()
}

fn check_given(changes: &[(&str, &str)]) -> Result<()> {
    if changes.is_empty() {
        return Err(Error::invalid("no options to change"));
    }
    Ok(())
}
