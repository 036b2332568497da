//! What is different with RocksDB, as its crate offers it.

use rocksdb::{Cache, DBWithThreadMode, LruCacheOptions, MultiThreaded, Options, WriteOptions};
use whitewater::{CommitProtocol, MemtableFactory};

use crate::bench::engine::{Failure, Result};
use crate::bench::flags::Flags;

/// Flags whose options the crate cannot set.
const LACKING: &[&str] = &[
    "memtable_protection_bytes_per_key",
    "write_batch_protection_bytes_per_key",
    "delayed_write_rate",
    "max_write_batch_group_size_bytes",
    "write_thread_max_yield_usec",
    "write_thread_slow_yield_usec",
    "index_with_first_key",
    "background_nice",
    "prepopulate_block_cache",
    "cache_high_pri_pool_ratio",
];

fn lacks(name: &str) -> Failure {
    Failure(format!("--{name}: the rocksdb crate cannot set it"))
}

/// The crate does not hand out the options it has read.
///
/// # Errors
/// Always.
pub fn from_file(_file: &str, _cache: Option<&Cache>) -> Result<Options> {
    Err(lacks("options_file"))
}

/// The crate has no call for it.
///
/// # Errors
/// Always.
pub fn verify(_db: &DBWithThreadMode<MultiThreaded>, _whole_files: bool) -> Result<()> {
    Err(Failure(
        "the rocksdb crate has no call that verifies checksums".to_owned(),
    ))
}

/// Nothing: [`set`] refuses what its crate cannot set.
pub fn set_write(_options: &mut WriteOptions, _flags: &Flags) {}

/// Nothing: [`set`] refuses what its crate cannot set.
pub fn set_cache(_options: &mut LruCacheOptions, _flags: &Flags) {}

/// The peer has the memtable asked for where it knows it, else its skip list,
/// and the commit protocol; its default for one it does not know.
///
/// # Errors
/// Flags that its crate does not offer.
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
    // RocksDB lets one thread at a time insert into these.
    options.set_allow_concurrent_memtable_write(false);
    options.set_memtable_factory(factory);
    Ok(())
}
