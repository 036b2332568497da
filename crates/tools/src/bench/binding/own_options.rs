//! Options that the `rocksdb` crate cannot set, and options read from a file.

use std::path::Path;

use whitewater::backup::BackupEngineOptions;
use whitewater::{
    Cache, DBWithThreadMode, DEFAULT_COLUMN_FAMILY_NAME, Env, LruCacheOptions, MultiThreaded,
    Observer, OptimisticTransactionDB, Options, TransactionDBOptions, WriteOptions,
};

use whitewater_monitor::Monitor;

use crate::bench::engine::{Failure, Result};
use crate::bench::flags::Flags;
use crate::interrupt;

/// A monitor of a database.
pub type Watch = Monitor;

/// Serves what a database does on the address of `--monitor`, if there is one.
///
/// # Errors
/// The address cannot be listened on, or other machines could reach it.
pub fn watch(db: impl Into<Observer>, flags: &Flags) -> Result<Option<Watch>> {
    let address = flags.monitor.as_str();
    if address.is_empty() {
        return Ok(None);
    }
    let monitor = Monitor::builder().add(db).listen(address);
    let monitor = monitor.map_err(|e| Failure(format!("--monitor={address}: {e}")))?;
    interrupt::note(&format!("Monitor:    http://{}/\n", monitor.address()));
    Ok(Some(monitor))
}

/// The options of the default column family in an options file.
///
/// # Errors
/// The file cannot be read, or its options cannot be honoured.
pub fn from_file(file: &str, cache: Option<&Cache>) -> Result<Options> {
    let during = |failure: Failure| failure.during(&format!("--options_file={file}"));
    read(Path::new(file), cache).map_err(during)
}

fn read(file: &Path, cache: Option<&Cache>) -> Result<Options> {
    /// The size of the block cache if none is asked for; RocksDB's default.
    const CACHE_BYTES: usize = 32 << 20;
    // The API loads options only from the newest options file of a directory.
    let directory = tempfile::tempdir()?;
    std::fs::copy(file, directory.path().join("OPTIONS-000001"))?;
    let cache = match cache {
        Some(cache) => cache.clone(),
        None => Cache::new_lru_cache(CACHE_BYTES),
    };
    let (_, families) = Options::load_latest(directory.path(), Env::new()?, false, cache)?;
    let family = families
        .into_iter()
        .find(|family| family.name() == DEFAULT_COLUMN_FAMILY_NAME);
    let mut family = family.ok_or_else(|| Failure("it has no default column family".into()))?;
    let mut options = family.options_mut().clone();
    // These directories belong to the database that the file comes from.
    options.set_wal_dir("");
    options.set_db_log_dir("");
    Ok(options)
}

/// Verifies all tables; only this engine offers that.
///
/// # Errors
/// The damage found.
pub fn verify(db: &DBWithThreadMode<MultiThreaded>, whole_files: bool) -> Result<()> {
    if whole_files {
        db.verify_file_checksums()?
    } else {
        db.verify_checksum()?
    }
    Ok(())
}

/// Verifies all tables of a database with optimistic transactions.
///
/// # Errors
/// The damage found.
pub fn verify_optimistic(
    db: &OptimisticTransactionDB<MultiThreaded>,
    whole_files: bool,
) -> Result<()> {
    if whole_files {
        db.verify_file_checksums()?
    } else {
        db.verify_checksum()?
    }
    Ok(())
}

/// The options of the backups in `directory`.
///
/// # Errors
/// The directory's name cannot be used.
pub fn backups(directory: &Path, flags: &Flags) -> Result<BackupEngineOptions> {
    let mut options = BackupEngineOptions::new(directory)?;
    options.set_backup_rate_limit(flags.backup_rate_limit);
    options.set_restore_rate_limit(flags.restore_rate_limit);
    Ok(options)
}

/// Sets the write options that only this engine has.
pub fn set_write(options: &mut WriteOptions, flags: &Flags) {
    options.set_protection_bytes_per_key(flags.write_batch_protection_bytes_per_key as usize);
}

/// Sets the options of databases with pessimistic transactions.
///
/// # Errors
/// The write policy is unknown.
pub fn set_transactions(options: &mut TransactionDBOptions, flags: &Flags) -> Result<()> {
    options.set_write_policy(flags.write_policy()?);
    options.set_skip_concurrency_control(flags.skips_locks());
    Ok(())
}

/// Sets the block cache options that only this engine has.
pub fn set_cache(options: &mut LruCacheOptions, flags: &Flags) {
    options.set_high_pri_pool_ratio(flags.cache_high_pri_pool_ratio);
}

/// Sets the options that only this engine has.
///
/// # Errors
/// A value is not valid.
pub fn set(options: &mut Options, flags: &Flags) -> Result<()> {
    if let Some(factory) = flags.memtable_factory()? {
        options.set_memtable_factory(factory);
    }
    let bytes = u32::try_from(flags.memtable_protection_bytes_per_key)?;
    options.set_memtable_protection_bytes_per_key(bytes);
    options.set_enable_pipelined_write(flags.enable_pipelined_write);
    options.set_unordered_write(flags.unordered_write);
    if let Some(protocol) = flags.protocol()? {
        options.set_commit_protocol(protocol);
    }
    options.set_max_write_batch_group_size_bytes(usize::try_from(
        flags.max_write_batch_group_size_bytes,
    )?);
    options.set_read_triggered_compaction_threshold(flags.read_triggered_compaction_threshold);
    options.set_delayed_write_rate(flags.delayed_write_rate);
    options.set_background_nice(flags.background_nice, flags.background_nice);
    options.set_write_thread_max_yield_usec(flags.write_thread_max_yield_usec);
    options.set_write_thread_slow_yield_usec(flags.write_thread_slow_yield_usec);
    let mut tables = Vec::new();
    if flags.index_with_first_key {
        tables.push("index_type=kBinarySearchWithFirstKey");
    }
    if !flags.fit_blocks_to_pages {
        tables.push("fit_blocks_to_pages=false");
    }
    match flags.prepopulate_block_cache {
        0 => {}
        1 => tables.push("prepopulate_block_cache=kFlushOnly"),
        _ => tables.push("prepopulate_block_cache=kFlushAndCompaction"),
    }
    if !tables.is_empty() {
        let text = format!("block_based_table_factory={{{}}}", tables.join(";"));
        *options = options.get_options_from_string(&text)?;
    }
    Ok(())
}
