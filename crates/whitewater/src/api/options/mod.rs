//! The option builders of the public API.
//!
//! Setters return nothing, as those of the `rocksdb` crate do: a value that
//! cannot be honoured is corrected or refused when the database is opened or the
//! column family created, by one rule ([`Options`]); the error names the option. A setter for
//! something that is not built does not exist.
//!
//! * here: [`Options`], of a database and a column family;
//! * `database`, `family`, `compression`: its setters; `load`: from an options
//!   file;
//! * `paths`: of the directories of tables;
//! * `logger`: of the info log; `hints`: those without effect;
//! * [`table`]: of tables; [`table_format`]: of tables of other formats; [`cache`]: of their cache;
//! * `compaction`: of compaction styles; `blob`: of blob files;
//! * `write_buffer_manager`: the budget of memtables' memory;
//! * `sst_file_manager`: the space of tables and blob files;
//! * `presets`: several at once, with the arithmetic;
//! * [`per_call`]: of single reads, writes, flushes and compactions;
//! * [`enums`]: the enums they take.

// In the order in which rustdoc is to show the methods that they give `Options`.
mod database;

mod family;

mod compaction;
mod compression;

mod paths;

mod load;
mod presets;

mod logger;

mod blob;
mod hints;

mod cache;
#[cfg(test)]
mod documentation;
mod enums;
mod per_call;
mod sst_file_manager;
mod table;
mod table_format;
mod write_buffer_manager;

pub use crate::options::file_checksum::FileChecksum;
pub use crate::options::read::ReadTier;
pub use cache::{Cache, LruCacheOptions};
pub use compaction::{FifoCompactOptions, UniversalCompactOptions};
pub use enums::{
    BlockBasedIndexType, BlockBasedTablePinningTier, BottommostLevelCompaction, ChecksumType,
    CompactionPri, DBCompactionStyle, DBCompressionType, DBRecoveryMode, DataBlockIndexType,
    MemtableFactory, PrepopulateBlobCache, PrepopulateBlockCache, UniversalCompactionStopStyle,
    WalAccess,
};
pub use logger::InfoLogger;
pub use paths::DBPath;
pub use per_call::{
    CompactOptions, CompactionOptions, FlushOptions, IngestExternalFileOptions, ReadOptions,
    WaitForCompactOptions, WriteOptions,
};
pub use sst_file_manager::SstFileManager;
pub use table::BlockBasedOptions;
pub use table_format::{CuckooTableOptions, KeyEncodingType, PlainTableFactoryOptions};
pub use write_buffer_manager::WriteBufferManager;

use super::c_str::CStrLike;
use crate::options::assign::{May, TABLE_FACTORY, assign_db, assign_family, own_name};
use crate::options::cache::BLOCK_CACHE;
use crate::options::file::names::DB_ANYWAY;
use crate::options::table::OptionTable;
use crate::options::table_format::{BLOCK_BASED, PLAIN};
use crate::options::text::{parse, split_assignments};
use crate::options::{CfOptions, DbOptions};
use cache::BlockCacheChoice;
use std::fmt;
use whitewater_storage::sst::TableFormat;
use whitewater_storage::{Error, Result};

/// Options of a database and of a column family.
///
/// Options are read when a database is opened or a column family created. Some
/// can be changed while it is open: those of column families by
/// [`set_options`](crate::DBCommon::set_options), such as sizes of memtables and
/// tables, triggers of compactions and stalls, compression and filters; those of
/// the database by [`set_db_options`](crate::DBCommon::set_db_options): numbers of
/// threads and open files, limits on logs, rates.
///
/// The documentation of a setter has a line with the option's name in options files and in
/// those two methods, its unit, the values that it accepts, its default, and whether it can
/// be changed while the database is open.
///
/// What becomes of a value that does not do as it is, at open and when it is set later:
///
/// * What RocksDB corrects is corrected to the same, and a number that nothing here can
///   do to the nearest one that can be done; a size of 0 for tables, levels or blocks
///   stands for the default. Hashes of prefixes are off where there are no prefixes. LOG has
///   a line for each.
/// * An option that measures, hints or lets RocksDB check less is taken, and its
///   documentation says *hint* where it has no effect; so does LOG.
/// * Everything else is refused by name: what RocksDB refuses, and what is not built
///   and would change results, durability or what is on disk.
///
/// ```
/// use whitewater::{DB, DBCompressionType, Options};
///
/// # fn main() -> Result<(), whitewater::Error> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path();
/// let mut opts = Options::default();
/// opts.create_if_missing(true);
/// opts.increase_parallelism(4);
/// opts.set_write_buffer_size(128 << 20);
/// opts.set_compression_type(DBCompressionType::Zstd);
/// let db = DB::open(&opts, path)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Options {
    db: DbOptions,
    cf: CfOptions,
    block_cache: BlockCacheChoice,
    /// What setters were given last that cannot be honoured, by option.
    refused: Vec<(String, Error)>,
}

impl Options {
    /// The options of a database, corrected and checked.
    pub(crate) fn db_options(&self) -> Result<DbOptions> {
        self.check_refused()?;
        let options = self.db.clone().sanitized();
        options.validate()?;
        Ok(options)
    }

    /// The options of a column family, corrected and checked, with its block
    /// cache.
    pub(crate) fn cf_options(&self) -> Result<CfOptions> {
        self.check_refused()?;
        let mut options = self.cf.clone().sanitized();
        options.table.block_cache = self.block_cache.cache();
        options.validate()?;
        Ok(options)
    }

    /// Sets the write policy, which is the business of databases with transactions otherwise.
    #[cfg(test)]
    pub(crate) fn set_write_policy(&mut self, policy: crate::options::write_policy::WritePolicy) {
        self.db.write_policy = policy;
    }

    fn check_refused(&self) -> Result<()> {
        match self.refused.first() {
            Some((_, e)) => Err(e.clone()),
            None => Ok(()),
        }
    }

    /// Remembers what a setter of `option` could not take, to refuse it at open.
    fn refuse(&mut self, option: &str, error: Error) {
        self.accept(option);
        self.refused.push((option.to_owned(), error));
    }

    /// `option` has got a value that can be taken.
    fn accept(&mut self, option: &str) {
        self.refused.retain(|(refused, _)| refused != option);
    }

    /// Sets the option `name` from its text form.
    pub(super) fn assign_text(&mut self, name: &str, value: &str) -> Result<()> {
        self.set_text(name, value)
    }

    /// Has open refuse `option` with `error`, until the option gets another value.
    #[doc(hidden)]
    pub fn refuse_by_name(&mut self, option: &str, error: Error) {
        self.refuse(option, error);
    }

    /// Takes a refusal of `option` back.
    pub(super) fn accept_named(&mut self, option: &str) {
        self.accept(option);
    }

    /// Collects into the statistics of `other` from now on, or into none.
    #[doc(hidden)]
    pub fn share_statistics(&mut self, other: Option<&Options>) {
        self.db.statistics = other.and_then(|other| other.db.statistics.clone());
    }

    /// Options by name, in RocksDB's text form.
    pub(super) fn texts(&self) -> impl Iterator<Item = (&'static str, String)> {
        self.db.to_text().into_iter().chain(self.cf.to_text())
    }

    /// Takes away the compaction filter and the factory of filters.
    #[doc(hidden)]
    pub fn clear_compaction_filters(&mut self) {
        (self.cf.compaction_filter, self.cf.compaction_filter_factory) = (None, None);
    }

    /// The text of a name given to the option `option`; refused when it has a
    /// NUL byte inside or is not UTF-8.
    fn name(&mut self, option: &str, name: impl CStrLike) -> Option<String> {
        let text = match name.into_c_string() {
            Ok(name) => name.into_string().map_err(|e| e.to_string()),
            Err(e) => Err(e.to_string()),
        };
        match text {
            Ok(text) => {
                self.accept(option);
                Some(text)
            }
            Err(e) => {
                let e = Error::invalid(format_args!("name of option {option}: {e}"));
                self.refuse(option, e);
                None
            }
        }
    }

    /// A copy of these options with those in `opts_str` set:
    /// `name=value;name=value`, with RocksDB's names and spellings. Table
    /// options stand in braces.
    ///
    /// ```
    /// use whitewater::Options;
    ///
    /// # fn main() -> Result<(), whitewater::Error> {
    /// let opts = Options::default().get_options_from_string(
    ///     "max_open_files=500;compression=kZSTD;\
    ///      block_based_table_factory={block_size=16384}",
    /// )?;
    /// # let _ = opts;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `InvalidArgument` naming the option that is unknown or has a value that
    /// is none, `NotSupported` naming the one that is not built.
    pub fn get_options_from_string<S: AsRef<str>>(
        &mut self,
        opts_str: S,
    ) -> Result<Options, Error> {
        if let Some(at) = opts_str.as_ref().find('\0') {
            return Err(Error::invalid(format_args!(
                "options string must not contain NUL: there is one at byte {at}"
            )));
        }
        let mut options = self.clone();
        for (name, value) in split_assignments(opts_str.as_ref())? {
            options.set_text(name, value)?;
        }
        Ok(options)
    }

    fn set_text(&mut self, name: &str, value: &str) -> Result<()> {
        if name == TABLE_FACTORY {
            for (name, value) in split_assignments(value)? {
                self.set_table_text(name, value)?;
            }
            Ok(())
        } else if name == "plain_table_factory" {
            // The older of RocksDB's two ways.
            let value = format!("id={PLAIN};{value}");
            assign_family(&mut self.cf, "table_factory", &value, May::SetAll)
        } else if let Some(parts) = of_block_based(name, value) {
            self.cf.table_factory = TableFormat::BlockBased;
            self.set_text(TABLE_FACTORY, parts)
        } else if let Some(name) = in_table(name) {
            self.set_table_text(name, value)
        } else if is_of_db(name) {
            assign_db(&mut self.db, name, value, May::SetAll)
        } else {
            assign_family(&mut self.cf, name, value, May::SetAll)
        }
    }

    fn set_table_text(&mut self, name: &str, value: &str) -> Result<()> {
        if name == BLOCK_CACHE {
            let choice = BlockCacheChoice::parse(value)?;
            // `no_block_cache` is the stronger one, wherever it stands.
            if !matches!(self.block_cache, BlockCacheChoice::None) {
                self.block_cache = choice;
            }
            return Ok(());
        }
        if name == "no_block_cache" {
            match (parse(name, value)?, &self.block_cache) {
                (true, _) => self.block_cache = BlockCacheChoice::None,
                (false, BlockCacheChoice::None) => self.block_cache = BlockCacheChoice::Own,
                (false, _) => {}
            }
            return Ok(());
        }
        assign_family(
            &mut self.cf,
            &format!("{TABLE_FACTORY}.{name}"),
            value,
            May::SetAll,
        )
    }
}

/// Whether RocksDB's option `name` is one of a database.
fn is_of_db(name: &str) -> bool {
    DbOptions::changes_live(own_name(name)).is_some()
        || DB_ANYWAY.iter().any(|(known, _)| *known == name)
}

/// The name of an option of tables that stands behind a dot.
fn in_table(name: &str) -> Option<&str> {
    name.strip_prefix(TABLE_FACTORY)?.strip_prefix('.')
}

/// The options of block-based tables that stand in the option of their factory.
fn of_block_based<'a>(name: &str, value: &'a str) -> Option<&'a str> {
    let parts = value.strip_prefix("id=")?.strip_prefix(BLOCK_BASED)?;
    (name == "table_factory").then_some(parts.strip_prefix(';').unwrap_or(parts))
}

/// Every option as a line `name=value`.
impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cf = self.cf.clone();
        cf.table.block_cache = self.block_cache.cache();
        write!(f, "Options {{\n{}{cf}}}", self.db)
    }
}

#[cfg(test)]
mod tests;
