//! Setting options by RocksDB's names, from text.
//!
//! The names are those of the option tables, except for a few that RocksDB spells differently.
//! Table options are set through `block_based_table_factory`: several as `{name=value;...}`, or
//! a single one after a dot. The parts of other compound options can be set after a dot, too
//! (`compaction_options_fifo.allow_compaction`).

use super::cache::BLOCK_CACHE;
use super::file::names::{CHANGE_LIVE, DB_ANYWAY, FAMILY_ANYWAY, TABLE_ANYWAY};
use super::file::read::{check_anyway, set_table};
use super::table::OptionTable;
use super::text::split_assignments;
use super::{CfOptions, DbOptions};
use whitewater_storage::sst::TableOptions;
use whitewater_storage::{Error, Result};

/// RocksDB's name for the table options as a whole.
pub(crate) const TABLE_FACTORY: &str = "block_based_table_factory";

/// This engine's name for the option that RocksDB calls `name`.
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
    /// All options: the database is not open.
    SetAll,
    /// The options that can be changed while the database is open.
    Change,
}

/// Sets one option of a column family.
///
/// # Errors
/// `InvalidArgument` naming the option, if it is unknown, must not be set now, or cannot have
/// this value; `NotSupported` if it has no row and the value cannot be honoured, which happens only
/// with [`May::SetAll`]. If several table options are set at once, some of them may be set already.
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
        name => assign(&mut options.table, name, value, (may, TABLE_ANYWAY)),
    }
}

/// Sets one option of a database. Fails as [`assign_family`] does.
pub(crate) fn assign_db(options: &mut DbOptions, name: &str, value: &str, may: May) -> Result<()> {
    if !knows::<DbOptions>(name) && knows::<CfOptions>(name) {
        return Err(elsewhere(name, "a column family", "set_options", may));
    }
    assign(options, own_name(name), value, (may, DB_ANYWAY))
}

/// Whether `T` has the option `name`, or the option that `name` is a part of.
fn knows<T: OptionTable>(name: &str) -> bool {
    T::changes_live(whole(own_name(name)).0).is_some()
}

/// Splits a name into the option and, if there is a dot, the part after it.
fn whole(name: &str) -> (&str, Option<&str>) {
    match name.split_once('.') {
        Some((whole, part)) => (whole, Some(part)),
        None => (name, None),
    }
}

/// Sets an option, or a part of one. For an option without a row, accepts the values in
/// `anyway`, if the option may be set now.
fn assign<T: OptionTable>(
    options: &mut T,
    name: &str,
    value: &str,
    (may, anyway): (May, &[(&str, &str)]),
) -> Result<()> {
    let (option, part) = whole(name);
    match (T::changes_live(option), part) {
        (None, _) if may == May::Change && is_fixed(anyway, name) => Err(fixed(name)),
        (None, _) => check_anyway(anyway, name, value),
        (Some(false), _) if may == May::Change => Err(fixed(name)),
        (Some(_), None) => options.set(name, value),
        (Some(_), Some(part)) => options.set(option, &format!("{{{part}={value}}}")),
    }
}

/// Whether the option `name` is in `anyway`, and cannot be changed while the database is open.
fn is_fixed(anyway: &[(&str, &str)], name: &str) -> bool {
    anyway.iter().any(|(known, _)| *known == name) && !CHANGE_LIVE.contains(&name)
}

/// The error for setting the option `name`, which belongs to `whose`, in the wrong place.
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
    /// Checks that these options can be replaced by `new` while the database is open.
    ///
    /// # Errors
    /// `InvalidArgument` naming the option that prevents it.
    pub(crate) fn check_change(&self, new: &CfOptions) -> Result<()> {
        let same = match (&self.prefix_extractor, &new.prefix_extractor) {
            (Some(old), Some(new)) => old.is_like(new),
            (old, new) => old.is_none() && new.is_none(),
        };
        if self.memtable.groups_by_prefix() && !same {
            // Existing memtables would be read by other prefixes than those they were filled by.
            return Err(Error::invalid(
                "option prefix_extractor cannot be changed where memtables keep keys by prefix",
            ));
        }
        Ok(())
    }
}
