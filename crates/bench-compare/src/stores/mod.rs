//! The trait that the workloads need, and one module for each store.
//!
//! What is the same for all, as far as a store has it: no write waits for the disk, everything is
//! written so that it survives the end of the process (exceptions are in the module of the
//! store), caches of the same size, Bloom filters of 10 bits a key, lz4, one operation at a time
//! with no batches. Whatever else a store's own defaults are stays. A module says what differs
//! and whom that favours.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use crate::Result;

#[cfg(feature = "bf-tree")]
pub mod bf_tree;
#[cfg(feature = "canopydb")]
pub mod canopydb;
#[cfg(feature = "fjall")]
pub mod fjall;
#[cfg(feature = "lmdb")]
pub mod lmdb;
#[cfg(feature = "redb")]
pub mod redb;
pub mod rocks;
#[cfg(feature = "sled")]
pub mod sled;

/// An end of the order of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// That of the least key.
    First,
    /// That of the greatest key.
    Last,
}

impl End {
    /// The other end.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            End::First => End::Last,
            End::Last => End::First,
        }
    }
}

/// What the user says about all stores.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How much memory a store may cache data in, in bytes.
    pub cache_bytes: u64,
    /// The length of values, in bytes.
    pub value_size: usize,
    /// How many records there will be at most.
    pub records: u64,
    /// Whether the process' memory is limited so that data does not fit.
    pub limited: bool,
    /// Whether tables are read past the system's cache, if the store
    /// [can do that](Store::DIRECT_READS).
    pub direct_reads: bool,
}

/// An open store. Dropping it closes the store.
pub trait Store: Sized + Send + Sync {
    /// Whether the store finds its last record without reading all that come before.
    const BACKWARDS: bool = true;
    /// Whether the store can read past the system's cache.
    const DIRECT_READS: bool = false;
    /// Opens a store in a directory that is empty.
    ///
    /// # Errors
    /// Any error of the store.
    fn open(directory: &Path, settings: &Settings) -> Result<Self>;
    /// Writes a record, whether it exists or not.
    ///
    /// # Errors
    /// Any error of the store.
    fn put(&self, key: &[u8], value: &[u8]) -> Result<()>;
    /// Reads a record. `see` is called with its value, which is where the store has it if the
    /// store can do that. Whether there is such a record.
    ///
    /// # Errors
    /// Any error of the store.
    fn get(&self, key: &[u8], see: impl FnOnce(&[u8])) -> Result<bool>;
    /// Calls `see` with up to `count` keys and values, from the first key that is `from` or
    /// after it. How many there were.
    ///
    /// # Errors
    /// Any error of the store.
    fn scan(&self, from: &[u8], count: usize, see: impl FnMut(&[u8], &[u8])) -> Result<usize>;
    /// Deletes the record at an end of the order of keys, found from there as a user would find
    /// it. `see` is called with its key and value first. Whether there was one. No other thread
    /// pops.
    ///
    /// # Errors
    /// Any error of the store; it cannot read backwards (see [`BACKWARDS`](Self::BACKWARDS)).
    fn pop(&self, end: End, see: impl FnMut(&[u8], &[u8])) -> Result<bool>;
    /// Moves what writes have left in memory to files, if the store has a place in memory for
    /// new writes that reads treat otherwise. Does not wait for compactions.
    ///
    /// # Errors
    /// Any error of the store.
    fn flush(&self) -> Result<()> {
        Ok(())
    }
    /// What the store says of its memory: parts by their names, in bytes. Empty if it says
    /// nothing.
    fn memory(&self) -> BTreeMap<String, u64> {
        BTreeMap::new()
    }
    /// Waits until work that the store has put off (flushes, compactions, checkpoints) is done.
    ///
    /// # Errors
    /// Any error of the store.
    fn settle(&self) -> Result<()>;
    /// Merges everything into one sorted run, if the store is an LSM tree.
    ///
    /// # Errors
    /// Any error of the store.
    fn compact(&self) -> Result<()> {
        Ok(())
    }
}

/// A kind of store, for names on the command line and in results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// This project's.
    Whitewater,
    /// RocksDB, by the `rocksdb` crate.
    #[cfg(feature = "rocksdb")]
    RocksDb,
    /// LMDB, by the `heed` crate.
    #[cfg(feature = "lmdb")]
    Lmdb,
    /// redb.
    #[cfg(feature = "redb")]
    Redb,
    /// fjall.
    #[cfg(feature = "fjall")]
    Fjall,
    /// sled.
    #[cfg(feature = "sled")]
    Sled,
    /// canopydb.
    #[cfg(feature = "canopydb")]
    Canopydb,
    /// bf-tree.
    #[cfg(feature = "bf-tree")]
    BfTree,
}

/// All that are built in.
pub const ALL: &[Engine] = &[
    Engine::Whitewater,
    #[cfg(feature = "rocksdb")]
    Engine::RocksDb,
    #[cfg(feature = "lmdb")]
    Engine::Lmdb,
    #[cfg(feature = "redb")]
    Engine::Redb,
    #[cfg(feature = "fjall")]
    Engine::Fjall,
    #[cfg(feature = "sled")]
    Engine::Sled,
    #[cfg(feature = "canopydb")]
    Engine::Canopydb,
    #[cfg(feature = "bf-tree")]
    Engine::BfTree,
];

/// Something to do with a store of any type.
pub trait Visit {
    /// What it returns.
    type Output;
    /// Does it with stores of type `S`.
    fn visit<S: Store>(self) -> Self::Output;
}

impl Engine {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Whitewater => "whitewater",
            #[cfg(feature = "rocksdb")]
            Engine::RocksDb => "rocksdb",
            #[cfg(feature = "lmdb")]
            Engine::Lmdb => "lmdb",
            #[cfg(feature = "redb")]
            Engine::Redb => "redb",
            #[cfg(feature = "fjall")]
            Engine::Fjall => "fjall",
            #[cfg(feature = "sled")]
            Engine::Sled => "sled",
            #[cfg(feature = "canopydb")]
            Engine::Canopydb => "canopydb",
            #[cfg(feature = "bf-tree")]
            Engine::BfTree => "bf-tree",
        }
    }

    /// The crate that it comes from.
    fn package(self) -> &'static str {
        match self {
            // Its version says which RocksDB it has.
            #[cfg(feature = "rocksdb")]
            Engine::RocksDb => "librocksdb-sys",
            #[cfg(feature = "lmdb")]
            Engine::Lmdb => "heed",
            other => other.name(),
        }
    }

    /// Its crate and the version of that, as the lock file has it.
    pub fn title(self) -> String {
        let package = self.package();
        let lock = include_str!("../../Cargo.lock").replace("\r\n", "\n");
        let after = lock.split_once(&format!("\nname = \"{package}\"\nversion = \""));
        let version = after.and_then(|(_, text)| text.split('"').next());
        let version = version.unwrap_or("of unknown version");
        match package == self.name() {
            true => format!("{package} {version}"),
            false => format!("{} ({package} {version})", self.name()),
        }
    }

    /// How it is set up, in a line.
    pub fn setup(self) -> &'static str {
        match self {
            Engine::Whitewater => rocks::SETUP,
            #[cfg(feature = "rocksdb")]
            Engine::RocksDb => rocks::SETUP,
            #[cfg(feature = "lmdb")]
            Engine::Lmdb => lmdb::SETUP,
            #[cfg(feature = "redb")]
            Engine::Redb => redb::SETUP,
            #[cfg(feature = "fjall")]
            Engine::Fjall => fjall::SETUP,
            #[cfg(feature = "sled")]
            Engine::Sled => sled::SETUP,
            #[cfg(feature = "canopydb")]
            Engine::Canopydb => canopydb::SETUP,
            #[cfg(feature = "bf-tree")]
            Engine::BfTree => bf_tree::SETUP,
        }
    }

    /// Whether it finds its last record: [`Store::BACKWARDS`].
    pub fn reads_backwards(self) -> bool {
        struct Backwards;
        impl Visit for Backwards {
            type Output = bool;
            fn visit<S: Store>(self) -> bool {
                S::BACKWARDS
            }
        }
        self.with(Backwards)
    }

    /// Whether it can read past the system's cache: [`Store::DIRECT_READS`].
    pub fn reads_directly(self) -> bool {
        struct Directly;
        impl Visit for Directly {
            type Output = bool;
            fn visit<S: Store>(self) -> bool {
                S::DIRECT_READS
            }
        }
        self.with(Directly)
    }

    /// The one called `name`.
    pub fn named(name: &str) -> Option<Engine> {
        ALL.iter().copied().find(|engine| engine.name() == name)
    }

    /// Does something with the type of its stores.
    pub fn with<V: Visit>(self, visit: V) -> V::Output {
        match self {
            Engine::Whitewater => visit.visit::<rocks::Whitewater>(),
            #[cfg(feature = "rocksdb")]
            Engine::RocksDb => visit.visit::<rocks::RocksDb>(),
            #[cfg(feature = "lmdb")]
            Engine::Lmdb => visit.visit::<lmdb::Lmdb>(),
            #[cfg(feature = "redb")]
            Engine::Redb => visit.visit::<redb::Redb>(),
            #[cfg(feature = "fjall")]
            Engine::Fjall => visit.visit::<fjall::Fjall>(),
            #[cfg(feature = "sled")]
            Engine::Sled => visit.visit::<sled::Sled>(),
            #[cfg(feature = "canopydb")]
            Engine::Canopydb => visit.visit::<canopydb::Canopydb>(),
            #[cfg(feature = "bf-tree")]
            Engine::BfTree => visit.visit::<bf_tree::BfTree>(),
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

#[cfg(test)]
mod tests;
