//! fjall, an LSM tree.
//!
//! *Settings*: a cache of the given size; Bloom filters of 10 bits a key; lz4 for data blocks on
//! all levels; a journal, written to the system with each operation and not synced; everything
//! else by default. A pop is `first_key_value` or `last_key_value`, and `remove`. Settling flushes
//! the memtable and waits until no compaction has run for a while. Compacting is `major_compact`.

use std::path::Path;
use std::time::Duration;

use fjall::config::{BloomConstructionPolicy, CompressionPolicy, FilterPolicy, FilterPolicyEntry};
use fjall::{CompressionType, Database, Keyspace, KeyspaceCreateOptions};

use super::{End, Settings, Store};
use crate::Result;

/// How it is set up.
pub const SETUP: &str = "journal without sync, lz4, Bloom filters of 10 bits; other options by \
    default";

/// A database with one keyspace.
pub struct Fjall {
    // Dropped before the database that it belongs to.
    keyspace: Keyspace,
    database: Database,
}

impl Store for Fjall {
    fn open(directory: &Path, settings: &Settings) -> Result<Self> {
        let database = Database::builder(directory.join("fjall"))
            .cache_size(settings.cache_bytes)
            .open()?;
        let bloom = FilterPolicyEntry::Bloom(BloomConstructionPolicy::BitsPerKey(10.0));
        let options = || {
            KeyspaceCreateOptions::default()
                .data_block_compression_policy(CompressionPolicy::all(CompressionType::Lz4))
                .filter_policy(FilterPolicy::all(bloom))
        };
        let keyspace = database.keyspace("records", options)?;
        Ok(Self { keyspace, database })
    }

    fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        Ok(self.keyspace.insert(key, value)?)
    }

    fn get(&self, key: &[u8], see: impl FnOnce(&[u8])) -> Result<bool> {
        Ok(self.keyspace.get(key)?.map(|value| see(&value)).is_some())
    }

    fn scan(&self, from: &[u8], count: usize, mut see: impl FnMut(&[u8], &[u8])) -> Result<usize> {
        let mut seen = 0;
        for entry in self.keyspace.range(from..).take(count) {
            let (key, value) = entry.into_inner()?;
            see(&key, &value);
            seen += 1;
        }
        Ok(seen)
    }

    fn pop(&self, end: End, mut see: impl FnMut(&[u8], &[u8])) -> Result<bool> {
        let found = match end {
            End::First => self.keyspace.first_key_value(),
            End::Last => self.keyspace.last_key_value(),
        };
        let Some(found) = found else {
            return Ok(false);
        };
        let (key, value) = found.into_inner()?;
        see(&key, &value);
        self.keyspace.remove(key)?;
        Ok(true)
    }

    fn flush(&self) -> Result<()> {
        Ok(self.keyspace.rotate_memtable_and_wait()?)
    }

    fn settle(&self) -> Result<()> {
        /// Compactions follow each other with pauses shorter than this.
        const QUIET: u32 = 20;
        self.keyspace.rotate_memtable_and_wait()?;
        let mut quiet = 0;
        while quiet < QUIET {
            std::thread::sleep(Duration::from_millis(10));
            let busy = self.database.active_compactions() + self.database.outstanding_flushes();
            quiet = if busy == 0 { quiet + 1 } else { 0 };
        }
        Ok(())
    }

    fn compact(&self) -> Result<()> {
        Ok(self.keyspace.major_compact()?)
    }
}
