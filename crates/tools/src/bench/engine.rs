//! What the benchmarks need from a storage engine.
//!
//! The workloads are generic over [`Engine`], so that all engines run the same
//! code without indirect calls. The bindings to real engines are written once, in
//! `binding`.

use std::fmt;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use super::expiry::Expired;
use super::flags::Flags;
use super::transactions::Transaction;

/// Why a run stopped, as one message for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure(
    /// The message, without a final period.
    pub String,
);

impl Failure {
    /// Puts what the program was doing in front of the message.
    #[must_use]
    pub fn during(self, what: &str) -> Self {
        Self(format!("{what}: {}", self.0))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

// `Failure` is not an `Error` itself, so that `?` can convert any error into one.
impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

/// The result of anything that can stop a run.
pub type Result<T> = std::result::Result<T, Failure>;

/// An open database. Dropping it closes the database.
pub trait Engine: Sized + Send + Sync {
    /// Entries that are written together.
    type Batch: Batch;
    /// How to write: options that are prepared once for many writes.
    type WriteMode: Sync;
    /// A column family, looked up once for many calls.
    type Family<'a>
    where
        Self: 'a;
    /// A value that a read returned.
    type Value<'a>: Deref<Target = [u8]>
    where
        Self: 'a;
    /// An iterator.
    type Cursor<'a>: Cursor
    where
        Self: 'a;
    /// A table that is built outside the database.
    type External<'a>: External
    where
        Self: 'a;
    /// A snapshot of the database.
    type Snapshot<'a>: Snapshot
    where
        Self: 'a;
    /// A transaction.
    type Transaction<'a>: Transaction
    where
        Self: 'a;
    /// How transactions begin: options that are prepared once for many.
    type TransactionMode: Sync;

    /// Whether the engine consists of this project's structures, which count what they
    /// do.
    const COUNTED: bool;

    /// The engine's name and version, for headers.
    fn title() -> String;
    /// Opens the database in `directory`, and creates it unless `use_existing_db` is
    /// set. Also opens or creates the column families that are hot at first.
    /// Compactions remove entries that are `expired`.
    ///
    /// # Errors
    /// Any error of the engine.
    fn open(directory: &Path, flags: &Flags, expired: Option<Expired>) -> Result<Self>;
    /// Removes the database in `directory`, if there is one.
    ///
    /// # Errors
    /// Any error of the engine.
    fn destroy(directory: &Path, flags: &Flags) -> Result<()>;
    /// Creates a column family with the options of the others.
    ///
    /// # Errors
    /// Any error of the engine.
    fn create_family(&self, name: &str) -> Result<()>;
    /// The column family called `name`.
    ///
    /// # Errors
    /// There is no such column family.
    fn family(&self, name: &str) -> Result<Self::Family<'_>>;
    /// Lets a secondary instance catch up with its primary.
    ///
    /// # Errors
    /// Any error of the engine.
    fn catch_up(&self) -> Result<()>;
    /// Prepares writes as the flags say; with `sync`, they wait for the disk.
    fn write_mode(sync: bool, flags: &Flags) -> Self::WriteMode;
    /// Puts one entry.
    ///
    /// # Errors
    /// Any error of the engine.
    fn put(&self, key: &[u8], value: &[u8], mode: &Self::WriteMode) -> Result<()>;
    /// Merges one operand.
    ///
    /// # Errors
    /// Any error of the engine.
    fn merge(&self, key: &[u8], operand: &[u8], mode: &Self::WriteMode) -> Result<()>;
    /// Deletes one key.
    ///
    /// # Errors
    /// Any error of the engine.
    fn delete(&self, key: &[u8], mode: &Self::WriteMode) -> Result<()>;
    /// Puts one entry into a column family.
    ///
    /// # Errors
    /// Any error of the engine.
    fn put_in(
        &self,
        family: &Self::Family<'_>,
        key: &[u8],
        value: &[u8],
        mode: &Self::WriteMode,
    ) -> Result<()>;
    /// Merges one operand in a column family.
    ///
    /// # Errors
    /// Any error of the engine.
    fn merge_in(
        &self,
        family: &Self::Family<'_>,
        key: &[u8],
        operand: &[u8],
        mode: &Self::WriteMode,
    ) -> Result<()>;
    /// Adds a put into a column family to a batch.
    fn batch_put_in(batch: &mut Self::Batch, family: &Self::Family<'_>, key: &[u8], value: &[u8]);
    /// Adds a deletion in a column family to a batch.
    fn batch_delete_in(batch: &mut Self::Batch, family: &Self::Family<'_>, key: &[u8]);
    /// Adds a range deletion in a column family to a batch: from `begin`, inclusive,
    /// to `end`, exclusive.
    ///
    /// # Errors
    /// The database deletes no ranges.
    fn batch_delete_range_in(
        batch: &mut Self::Batch,
        family: &Self::Family<'_>,
        begin: &[u8],
        end: &[u8],
    ) -> Result<()>;
    /// Writes a batch.
    ///
    /// # Errors
    /// Any error of the engine.
    fn write(&self, batch: Self::Batch, mode: &Self::WriteMode) -> Result<()>;
    /// Reads one key.
    ///
    /// # Errors
    /// Any error of the engine.
    fn get(&self, key: &[u8]) -> Result<Option<Self::Value<'_>>>;
    /// Reads one key of a column family.
    ///
    /// # Errors
    /// Any error of the engine.
    fn get_in(&self, family: &Self::Family<'_>, key: &[u8]) -> Result<Option<Self::Value<'_>>>;
    /// Reads several keys at one moment, in the way that `multiread_batched` says;
    /// returns one result for each key.
    ///
    /// # Errors
    /// The first error of the engine.
    fn multi_get(&self, keys: &[&[u8]]) -> Result<Vec<Option<Self::Value<'_>>>>;
    /// A snapshot of the current state.
    fn snapshot(&self) -> Self::Snapshot<'_>;
    /// A new iterator over `bounds`, not yet positioned.
    fn cursor_within(&self, bounds: Bounds) -> Self::Cursor<'_>;
    /// A new iterator over everything, not yet positioned.
    fn cursor(&self) -> Self::Cursor<'_> {
        self.cursor_within(Bounds::default())
    }
    /// The approximate size in bytes of each range in the files; ends are exclusive.
    ///
    /// # Errors
    /// The database has no such call.
    fn approximate_sizes(&self, ranges: &[(&[u8], &[u8])]) -> Result<Vec<u64>>;
    /// Flushes the memtables of these column families, or of the default one if none
    /// is named, and waits until that is done.
    ///
    /// # Errors
    /// Any error of the engine.
    fn flush(&self, families: &[Self::Family<'_>]) -> Result<()>;
    /// Compacts the whole key range and waits until that is done: through the lowest
    /// level with `bottommost`, otherwise only as far as there is something to merge.
    ///
    /// # Errors
    /// The database has no such call.
    fn compact(&self, bottommost: bool) -> Result<()>;
    /// Reads all tables and verifies their blocks, or, with `whole_files`, the
    /// checksum of each file that the manifest has one for.
    ///
    /// # Errors
    /// The damage found, or that the engine's API has no such call.
    fn verify(&self, whole_files: bool) -> Result<()>;
    /// Makes the only backup in the directory `to`: others there are removed. The flags limit the
    /// rate.
    ///
    /// # Errors
    /// Any error of the engine, or that the engine's API has no such call.
    fn back_up(&self, to: &Path, flags: &Flags) -> Result<()>;
    /// Restores the newest backup in the directory `from` as the database in `to`. The flags limit
    /// the rate.
    ///
    /// # Errors
    /// Any error of the engine.
    fn restore(from: &Path, to: &Path, flags: &Flags) -> Result<()>;
    /// Changes options of the default column family at run time.
    ///
    /// # Errors
    /// Any error of the engine.
    fn change_options(&self, options: &[(&str, &str)]) -> Result<()>;
    /// Begins a table outside the database, for [`ingest`](Self::ingest).
    ///
    /// # Errors
    /// Any error of the engine.
    fn external(&self, file: &Path) -> Result<Self::External<'_>>;
    /// Moves such tables into the database without copying them.
    ///
    /// # Errors
    /// Any error of the engine.
    fn ingest(&self, files: Vec<PathBuf>) -> Result<()>;
    /// Prepares transactions as the flags say.
    fn transaction_mode(flags: &Flags) -> Self::TransactionMode;
    /// Begins a transaction. Its commit is a write as `writes` says.
    ///
    /// # Errors
    /// The database was opened without transactions.
    fn begin(
        &self,
        writes: &Self::WriteMode,
        how: &Self::TransactionMode,
    ) -> Result<Self::Transaction<'_>>;
    /// Lets the calling thread measure its own calls, starting from 0. `level` is one
    /// of RocksDB's numbers.
    ///
    /// # Errors
    /// The engine lacks this level.
    fn measure_this_thread(level: i32) -> Result<()>;
    /// What the calling thread has measured and is not 0, as `name = value`, separated
    /// by commas.
    fn measured() -> String;
    /// The property that RocksDB calls `name`; `None` if the engine lacks it.
    fn property(&self, name: &str) -> Option<String>;
    /// The property of a column family that RocksDB calls `name`; `None` if the engine
    /// lacks it.
    fn property_in(&self, family: &Self::Family<'_>, name: &str) -> Option<String>;
}

/// Entries that are written together.
pub trait Batch {
    /// An empty batch with room for `bytes`.
    fn with_capacity(bytes: usize) -> Self;
    /// Adds a put.
    fn put(&mut self, key: &[u8], value: &[u8]);
    /// Adds a deletion.
    fn delete(&mut self, key: &[u8]);
    /// Adds a single deletion: of a key that was put only once.
    fn single_delete(&mut self, key: &[u8]);
    /// Adds a range deletion from `begin`, inclusive, to `end`, exclusive.
    ///
    /// # Errors
    /// The database deletes no ranges.
    fn delete_range(&mut self, begin: &[u8], end: &[u8]) -> Result<()>;
}

/// A table that is built outside the database.
pub trait External {
    /// Adds an entry. Keys must come in order.
    ///
    /// # Errors
    /// Any error of the engine.
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()>;
    /// Finishes the table.
    ///
    /// # Errors
    /// Any error of the engine.
    fn finish(self) -> Result<()>;
}

/// A snapshot of the database.
pub trait Snapshot {
    /// Reads one key.
    ///
    /// # Errors
    /// Any error of the engine.
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>>;
}

/// The bounds of an iterator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// The lower bound, inclusive.
    pub lower: Option<Vec<u8>>,
    /// The upper bound, exclusive.
    pub upper: Option<Vec<u8>>,
}

/// An iterator over keys and values.
pub trait Cursor {
    /// Goes to the first entry.
    fn seek_to_first(&mut self);
    /// Goes to the last entry.
    fn seek_to_last(&mut self);
    /// Goes to the first entry at or after `key`.
    fn seek(&mut self, key: &[u8]);
    /// Goes to the next entry.
    fn next(&mut self);
    /// Goes to the previous entry.
    fn prev(&mut self);
    /// The current entry; `None` beyond either end and after an error.
    fn item(&self) -> Option<(&[u8], &[u8])>;
    /// Tells an error from the end of the data.
    ///
    /// # Errors
    /// The error that stopped the iterator, if there was one.
    fn status(&self) -> Result<()>;
}
