//! This project and RocksDB, by one text: their crates have the same API, so they are set up the
//! same by construction.
//!
//! *Settings*: a block cache of the given size; Bloom filters of 10 bits a key; lz4 on all
//! levels; a log, not synced; every other option as both have it by default (write buffers of
//! 64 MiB, two background jobs, leveled compaction, blocks of 4 KiB, index and filter blocks kept
//! by the open table beside the cache).
//!
//! A read is `get_pinned`, which hands out the block's memory where it can. A scan is an iterator
//! made for it with default read options. A pop is an iterator made for it, `seek_to_first` or
//! `seek_to_last`, and `delete`. Flushing is `flush`. Settling flushes and waits for compactions.
//! Compacting is `compact_range` of everything.

/// How both are set up.
pub const SETUP: &str = "log without sync, lz4, Bloom filters of 10 bits, other options by \
    default";

macro_rules! rocks {
    ($(#[$about:meta])* $name:ident, $package:ident, $memory:ident) => {
        $(#[$about])*
        pub struct $name {
            db: $package::DB,
        }

        impl super::Store for $name {
            const DIRECT_READS: bool = true;

            fn open(
                directory: &std::path::Path,
                settings: &super::Settings,
            ) -> crate::Result<Self> {
                use $package::{BlockBasedOptions, Cache, DB, DBCompressionType, Options};
                let mut table = BlockBasedOptions::default();
                table.set_block_cache(&Cache::new_lru_cache(settings.cache_bytes as usize));
                table.set_bloom_filter(10.0, false);
                let mut options = Options::default();
                options.create_if_missing(true);
                options.set_compression_type(DBCompressionType::Lz4);
                options.set_block_based_table_factory(&table);
                options.set_use_direct_reads(settings.direct_reads);
                Ok(Self { db: DB::open(&options, directory)? })
            }

            fn put(&self, key: &[u8], value: &[u8]) -> crate::Result<()> {
                Ok(self.db.put(key, value)?)
            }

            fn get(&self, key: &[u8], see: impl FnOnce(&[u8])) -> crate::Result<bool> {
                let value = self.db.get_pinned(key)?;
                Ok(value.map(|value| see(&value)).is_some())
            }

            fn scan(
                &self,
                from: &[u8],
                count: usize,
                mut see: impl FnMut(&[u8], &[u8]),
            ) -> crate::Result<usize> {
                let mut iterator = self.db.raw_iterator();
                iterator.seek(from);
                let mut seen = 0;
                while seen < count && let Some((key, value)) = iterator.item() {
                    see(key, value);
                    seen += 1;
                    if seen < count {
                        iterator.next();
                    }
                }
                iterator.status()?;
                Ok(seen)
            }

            fn pop(
                &self,
                end: super::End,
                mut see: impl FnMut(&[u8], &[u8]),
            ) -> crate::Result<bool> {
                let mut iterator = self.db.raw_iterator();
                match end {
                    super::End::First => iterator.seek_to_first(),
                    super::End::Last => iterator.seek_to_last(),
                }
                let Some((key, value)) = iterator.item() else {
                    iterator.status()?;
                    return Ok(false);
                };
                see(key, value);
                self.db.delete(key)?;
                Ok(true)
            }

            fn flush(&self) -> crate::Result<()> {
                Ok(self.db.flush()?)
            }

            fn memory(&self) -> std::collections::BTreeMap<String, u64> {
                $memory(&self.db)
            }

            fn settle(&self) -> crate::Result<()> {
                let mut options = $package::WaitForCompactOptions::default();
                options.set_flush(true);
                Ok(self.db.wait_for_compact(&options)?)
            }

            fn compact(&self) -> crate::Result<()> {
                self.db.compact_range(None::<&[u8]>, None::<&[u8]>);
                // It does not say whether it has failed.
                self.settle()
            }
        }
    };
}

rocks!(
    /// A database of this project.
    Whitewater,
    whitewater,
    parts
);

/// All that it accounts for. A property that cannot be read is as good as none.
fn parts(db: &whitewater::DB) -> std::collections::BTreeMap<String, u64> {
    let parts = db.property_map_value(whitewater::properties::MEMORY);
    let parts = parts.ok().flatten().unwrap_or_default();
    let parts = parts.into_iter();
    parts
        .filter_map(|(name, bytes)| Some((name, bytes.parse().ok()?)))
        .collect()
}

#[cfg(feature = "rocksdb")]
rocks!(
    /// A database of RocksDB.
    RocksDb,
    rocksdb,
    properties
);

/// The properties that `MemoryUsage` adds up.
#[cfg(feature = "rocksdb")]
fn properties(db: &rocksdb::DB) -> std::collections::BTreeMap<String, u64> {
    let names = [
        "rocksdb.size-all-mem-tables",
        "rocksdb.block-cache-usage",
        "rocksdb.estimate-table-readers-mem",
    ];
    let known = names.into_iter().filter_map(|name| {
        let bytes = db.property_int_value(name).ok().flatten()?;
        Some((name.to_owned(), bytes))
    });
    known.collect()
}
