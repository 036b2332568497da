//! The flags that this program honours: one table that yields the typed [`Flags`],
//! their parsing and their help.
//!
//! Names, meanings and defaults are those of RocksDB's db_bench 7.8, except where a
//! help text says otherwise. [`super::known`] has the flags that RocksDB knows and
//! this program does not honour; [`super::args`] handles the spelling of a command
//! line (dashes, `=value`, `--noflag`).
//!
//! There is a file for each group of flags (`run` to `hints`), in the order of the
//! help; each adds its rows to those of the groups before it. `value` turns the
//! rows into a struct, `range` checks values, and `names` reads flags whose values
//! are words or numbers of a list.

mod backups;
mod blobs;
mod cache;
mod compaction;
mod compression;
mod databases;
mod files;
mod hints;
mod jobs;
mod memtables;
mod mixgraph;
mod names;
mod range;
mod report;
mod run;
mod tables;
#[cfg(test)]
mod tests;
mod transactions;
mod value;
mod workload;

use super::engine::{Failure, Result};
use super::known::{self, Known};

pub use names::{CacheKind, Compression, MergeOperator};
pub(crate) use value::{FlagValue, flags};
pub use value::{Kind, Spec, switch_value};

/// The flags of a program, as [`super::args`] reads them.
pub trait FlagSet: Default {
    /// Every flag that is honoured, in the order of the help.
    fn table() -> &'static [Spec];

    /// Sets the flag `name` from its text form.
    ///
    /// # Errors
    /// `name` is not in the table, or `text` is not a value of its type.
    fn set(&mut self, name: &str, text: &str) -> Result<()>;

    /// The flag's value as the help prints it; empty for an unknown name.
    fn text_of(&self, name: &str) -> String;

    /// Checks the ranges of values, after all flags are set.
    ///
    /// # Errors
    /// The first flag whose value is out of range.
    fn validate(&self) -> Result<()>;

    /// The program's name.
    const PROGRAM: &'static str;

    /// The program whose flags these are.
    const PEER: &'static str;

    /// The flags that only that program honours.
    fn known() -> Vec<Known>;

    /// The name in the table of a flag that has another name, too.
    fn alias(_name: &str) -> Option<&'static str> {
        None
    }
}

/// Makes [`Flags`] of the rows of all groups.
macro_rules! all {
    ([$($rows:tt)*]) => {
        flags! { $($rows)* }
    };
}

use {
    backups::backups, blobs::blobs, cache::cache, compaction::compaction, compression::compression,
    databases::databases, files::files, hints::hints, jobs::jobs, memtables::memtables,
    mixgraph::mixgraph, report::report, run::run, tables::tables, transactions::transactions,
    workload::workload,
};

run! {
    [] databases transactions workload mixgraph report memtables jobs compaction tables compression cache blobs
    files backups hints all
}

/// The value of `--benchmarks` if only other flags are given.
pub const DEFAULT_BENCHMARKS: &str = "fillseq,fillrandom,overwrite,readrandom,readmissing,seekrandom,\
     readseq,readreverse,readwhilewriting,deleterandom,compact,levelstats";

impl FlagSet for Flags {
    fn table() -> &'static [Spec] {
        TABLE
    }

    fn set(&mut self, name: &str, text: &str) -> Result<()> {
        if name == "threads" && text.contains(',') {
            self.sweep = format!("threads={}", text.replace(',', "|"));
            return Ok(());
        }
        self.set(name, text)
    }

    fn text_of(&self, name: &str) -> String {
        self.text_of(name)
    }

    fn validate(&self) -> Result<()> {
        self.validate()
    }

    fn alias(name: &str) -> Option<&'static str> {
        match name {
            "wal_size_limit_MB" => Some("wal_size_limit_mb"),
            // This is its old name, which RocksDB's benchmark.sh still passes.
            "compaction_measure_io_stats" => Some("report_bg_io_stats"),
            "json" => Some("json_file"),
            "html" => Some("html_file"),
            _ => None,
        }
    }

    const PROGRAM: &'static str = "db_bench";
    const PEER: &'static str = "RocksDB's db_bench";

    fn known() -> Vec<Known> {
        known::flags().collect()
    }
}

impl Flags {
    /// A command line that sets these flags, without the flags in `omitted`.
    pub fn command_line(&self, omitted: &[&str]) -> String {
        let defaults = Self::default();
        let mut line = "db_bench".to_owned();
        for spec in TABLE {
            let text = self.text_of(spec.name);
            let changed = text != defaults.text_of(spec.name) || spec.name == "benchmarks";
            if !changed || omitted.contains(&spec.name) {
                continue;
            }
            let text = text.trim_matches('"');
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_./,=:+".contains(c);
            if text.chars().all(plain) {
                line += &format!(" --{}={text}", spec.name);
            } else {
                line += &format!(" '--{}={}'", spec.name, text.replace('\'', "'\\''"));
            }
        }
        line
    }

    /// Whether a file of results is wanted.
    pub fn wants_document(&self) -> bool {
        !self.json_file.is_empty() || !self.html_file.is_empty()
    }

    /// Whether the contents of the directory are kept.
    pub fn keeps_database(&self) -> bool {
        self.use_existing_db || self.readonly
    }

    /// Whether the database is opened with transactions.
    pub fn has_transactions(&self) -> bool {
        self.transaction_db || self.optimistic_transaction_db
    }

    /// Whether the flag `name` has a value other than its default.
    pub fn is_changed(&self, name: &str) -> bool {
        self.text_of(name) != Self::default().text_of(name)
    }
}
