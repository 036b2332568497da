//! What is different for RocksDB, given what its crate offers.

use std::convert::Infallible;
use std::path::Path;

use rocksdb::backup::BackupEngineOptions;
use rocksdb::{
    Cache, DBWithThreadMode, LruCacheOptions, MultiThreaded, OptimisticTransactionDB, Options,
    TransactionDBOptions, WriteOptions,
};
use whitewater::{CommitProtocol, MemtableFactory};

use crate::bench::engine::{Failure, Result};
use crate::bench::flags::Flags;

/// The flags whose options the crate cannot set.
const LACKING: &[&str] = &[
    "memtable_protection_bytes_per_key",
    "write_batch_protection_bytes_per_key",
    "delayed_write_rate",
    "max_write_batch_group_size_bytes",
    "write_thread_max_yield_usec",
    "write_thread_slow_yield_usec",
    "index_with_first_key",
    "fit_blocks_to_pages",
    "background_nice",
    "prepopulate_block_cache",
    "cache_high_pri_pool_ratio",
    "backup_rate_limit",
    "restore_rate_limit",
    "monitor",
];

/// A monitor of a database: there is none of RocksDB's.
pub type Watch = Infallible;

/// Watches nothing: the flag was refused with the other options.
///
/// # Errors
/// None.
pub fn watch<D>(_db: &D, _flags: &Flags) -> Result<Option<Watch>> {
    Ok(None)
}

fn lacks(name: &str) -> Failure {
    Failure(format!("--{name}: the rocksdb crate cannot set it"))
}

/// Fails, because the crate does not return the options that it has read.
///
/// # Errors
/// Always.
pub fn from_file(_file: &str, _cache: Option<&Cache>) -> Result<Options> {
    Err(lacks("options_file"))
}

/// Fails, because the crate has no such call.
///
/// # Errors
/// Always.
pub fn verify(_db: &DBWithThreadMode<MultiThreaded>, _whole_files: bool) -> Result<()> {
    Err(Failure(
        "the rocksdb crate has no call that verifies checksums".to_owned(),
    ))
}

/// Fails, because the crate has no such call.
///
/// # Errors
/// Always.
pub fn verify_optimistic(
    _db: &OptimisticTransactionDB<MultiThreaded>,
    _whole_files: bool,
) -> Result<()> {
    Err(Failure(
        "the rocksdb crate has no call that verifies checksums".to_owned(),
    ))
}

/// The options of the backups in `directory`.
///
/// # Errors
/// The directory's name cannot be used.
pub fn backups(directory: &Path, _flags: &Flags) -> Result<BackupEngineOptions> {
    Ok(BackupEngineOptions::new(directory)?)
}

/// Does nothing, because [`set`] refuses what the crate cannot set.
pub fn set_write(_options: &mut WriteOptions, _flags: &Flags) {}

/// Sets nothing, because the crate has no options that flags ask for.
///
/// # Errors
/// The crate does not offer the option of a flag.
pub fn set_transactions(_options: &mut TransactionDBOptions, flags: &Flags) -> Result<()> {
    if flags.write_policy()? != whitewater::WritePolicy::WriteCommitted {
        return Err(lacks("txn_write_policy"));
    }
    if flags.skips_locks() {
        return Err(lacks("skip_concurrency_control"));
    }
    Ok(())
}

/// Does nothing, because [`set`] refuses what the crate cannot set.
pub fn set_cache(_options: &mut LruCacheOptions, _flags: &Flags) {}

/// Sets the memtable and the commit protocol. A memtable that the peer does not
/// know becomes its skip list; a protocol that it does not know, its default.
///
/// # Errors
/// The crate does not offer the option of a flag.
pub fn set(options: &mut Options, flags: &Flags) -> Result<()> {
    for name in LACKING {
        if flags.is_changed(name) {
            return Err(lacks(name));
        }
    }
    let (pipelined, unordered) = match flags.protocol()? {
        None => (flags.enable_pipelined_write, flags.unordered_write),
        Some(protocol) => (
            protocol == CommitProtocol::Pipelined,
            protocol == CommitProtocol::Unordered,
        ),
    };
    options.set_enable_pipelined_write(pipelined);
    options.set_unordered_write(unordered);
    let factory = match flags.memtable_factory()? {
        None | Some(MemtableFactory::SkipList | MemtableFactory::Art) => return Ok(()),
        Some(MemtableFactory::Vector) => rocksdb::MemtableFactory::Vector,
        Some(MemtableFactory::HashSkipList {
            bucket_count,
            height,
            branching_factor,
        }) => rocksdb::MemtableFactory::HashSkipList {
            bucket_count,
            height,
            branching_factor,
        },
        Some(MemtableFactory::HashLinkList { bucket_count }) => {
            rocksdb::MemtableFactory::HashLinkList { bucket_count }
        }
    };
    // RocksDB allows only one thread at a time to insert into these memtables.
    options.set_allow_concurrent_memtable_write(false);
    options.set_memtable_factory(factory);
    Ok(())
}
