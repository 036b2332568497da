//! Setting options by RocksDB's names, from text.
//!
//! The names are those of the tables, but for a few that RocksDB has in another
//! spelling. Options of tables stand inside `block_based_table_factory`: as
//! `{name=value;...}`, or one of them behind a dot; so do parts of other options that
//! have some (`compaction_options_fifo.allow_compaction`).

use super::cache::BLOCK_CACHE;
use super::file::names::{CHANGE_LIVE, DB_ANYWAY, FAMILY_ANYWAY};
use super::file::read::{is_accepted_anyway, set_table};
use super::table::OptionTable;
use super::text::split_assignments;
use super::{CfOptions, DbOptions};
use whitewater_storage::sst::TableOptions;
use whitewater_storage::{Error, Result};

/// RocksDB's name of the options of tables.
pub(crate) const TABLE_FACTORY: &str = "block_based_table_factory";

/// The name here of the option that RocksDB calls `name`.
pub(crate) fn own_name(name: &str) -> &str {
    match name {
        "memtable_factory" => "memtable",
        "WAL_ttl_seconds" => "wal_ttl_seconds",
        "WAL_size_limit_MB" => "wal_size_limit_mb",
        name => name,
    }
}

/// Which options may be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum May {
    /// All: the database is not open.
    SetAll,
    /// Those that can be changed while it is open.
    Change,
}

/// Sets one option of a column family.
///
/// # Errors
/// `InvalidArgument` naming an option that is unknown, must not be set now, or
/// has a value that is none. Some of several options of tables may be set then.
pub(crate) fn assign_family(
    options: &mut CfOptions,
    name: &str,
    value: &str,
    may: May,
) -> Result<()> {
    if let Some(inner) = name.strip_prefix(TABLE_FACTORY) {
        return match inner.strip_prefix('.') {
            Some(name) => assign_table(options, name, value, may),
            None if inner.is_empty() => {
                for (name, value) in split_assignments(without_braces(value))? {
                    assign_table(options, name, value, may)?;
                }
                Ok(())
            }
            None => Err(unknown(name)),
        };
    }
    if !knows::<CfOptions>(name) {
        if knows::<DbOptions>(name) {
            return Err(elsewhere(name, "the database", "set_db_options", may));
        }
        if TableOptions::changes_live(name).is_some() {
            return Err(Error::invalid(format_args!(
                "option {name} is one of tables: it stands inside {TABLE_FACTORY}"
            )));
        }
    }
    assign(options, own_name(name), value, (may, FAMILY_ANYWAY))
}

fn assign_table(options: &mut CfOptions, name: &str, value: &str, may: May) -> Result<()> {
    match name {
        "filter_policy" => set_table(options, name, value),
        BLOCK_CACHE | "no_block_cache" => Err(fixed(name)),
        name => assign(&mut options.table, name, value, (may, &[])),
    }
}

/// Sets one option of a database. Fails as [`assign_family`] does.
pub(crate) fn assign_db(options: &mut DbOptions, name: &str, value: &str, may: May) -> Result<()> {
    if !knows::<DbOptions>(name) && knows::<CfOptions>(name) {
        return Err(elsewhere(name, "a column family", "set_options", may));
    }
    assign(options, own_name(name), value, (may, DB_ANYWAY))
}

/// Whether the option `name`, or the one that it is a part of, is one of `T`.
fn knows<T: OptionTable>(name: &str) -> bool {
    T::changes_live(whole(own_name(name)).0).is_some()
}

/// An option and, behind a dot, a part of it.
fn whole(name: &str) -> (&str, Option<&str>) {
    match name.split_once('.') {
        Some((whole, part)) => (whole, Some(part)),
        None => (name, None),
    }
}

/// Sets an option, or a part of one; of those without a row takes what happens
/// `anyway`, if it may be set now.
fn assign<T: OptionTable>(
    options: &mut T,
    name: &str,
    value: &str,
    (may, anyway): (May, &[(&str, &str)]),
) -> Result<()> {
    let (option, part) = whole(name);
    match (T::changes_live(option), part) {
        (None, _) if is_accepted_anyway(anyway, name, value) => match may {
            May::Change if !CHANGE_LIVE.contains(&name) => Err(fixed(name)),
            _ => Ok(()),
        },
        (None, _) => Err(unknown(name)),
        (Some(false), _) if may == May::Change => Err(fixed(name)),
        (Some(_), None) => options.set(name, value),
        (Some(_), Some(part)) => options.set(option, &format!("{{{part}={value}}}")),
    }
}

/// The option `name` is one of somebody else.
fn elsewhere(name: &str, whose: &str, call: &str, may: May) -> Error {
    match may {
        May::Change => Error::invalid(format_args!(
            "option {name} is one of {whose}: change it with {call}"
        )),
        May::SetAll => Error::invalid(format_args!("option {name} is one of {whose}")),
    }
}

fn fixed(name: &str) -> Error {
    Error::invalid(format_args!(
        "option {name} cannot be changed while the database is open"
    ))
}

fn unknown(name: &str) -> Error {
    Error::invalid(format_args!("unknown option {name}"))
}

fn without_braces(text: &str) -> &str {
    let text = text.trim();
    let inner = text.strip_prefix('{').and_then(|t| t.strip_suffix('}'));
    inner.unwrap_or(text)
}

impl CfOptions {
    /// Whether there may be `new` instead of these while the database is open.
    ///
    /// # Errors
    /// `InvalidArgument` naming the option that stands in the way.
    pub(crate) fn check_change(&self, new: &CfOptions) -> Result<()> {
        let same = match (&self.prefix_extractor, &new.prefix_extractor) {
            (Some(old), Some(new)) => old.is_like(new),
            (old, new) => old.is_none() && new.is_none(),
        };
        if self.memtable.groups_by_prefix() && !same {
            // Memtables that there are would be read by other prefixes than
            // they were filled by.
            return Err(Error::invalid(
                "option prefix_extractor cannot be changed where memtables keep keys by prefix",
            ));
        }
        Ok(())
    }
}
