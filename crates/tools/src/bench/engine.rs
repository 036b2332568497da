//! What the benchmarks need from a storage engine.
//!
//! The workloads are generic over [`Engine`], so that every engine runs the
//! same code without indirect calls. The bindings to real engines are written
//! once, in `binding`.

use std::fmt;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use super::expiry::Expired;
use super::flags::Flags;

/// Why a run stopped: one message for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure(
    /// The message, without a final period.
    pub String,
);

impl Failure {
    /// Puts what was being done in front of the message.
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

// `Failure` is not an `Error` itself, so that `?` turns any error into one.
impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

/// Result of everything that can stop a run.
pub type Result<T> = std::result::Result<T, Failure>;

/// An open database. Dropping it closes the database.
pub trait Engine: Sized + Send + Sync {
    /// Entries that are written together.
    type Batch: Batch;
    /// How a write is done, prepared once for many writes.
    type WriteMode: Sync;
    /// A column family, found once for many calls.
    type Family<'a>
    where
        Self: 'a;
    /// A value that was read.
    type Value<'a>: Deref<Target = [u8]>
    where
        Self: 'a;
    /// An iterator.
    type Cursor<'a>: Cursor
    where
        Self: 'a;
    /// A table that is made outside of the database.
    type External<'a>: External
    where
        Self: 'a;
    /// The database at one moment.
    type Snapshot<'a>: Snapshot
    where
        Self: 'a;

    /// Whether it is made of this project's structures, which count what they
    /// do.
    const COUNTED: bool;

    /// Name and version, for headers.
    fn title() -> String;
    /// Opens the database in `directory`, and creates it unless
    /// `use_existing_db` is set; also its column families that are hot first.
    /// Compactions remove what is `expired`.
    ///
    /// # Errors
    /// Those of the engine.
    fn open(directory: &Path, flags: &Flags, expired: Option<Expired>) -> Result<Self>;
    /// Removes the database in `directory`, if there is one.
    ///
    /// # Errors
    /// Those of the engine.
    fn destroy(directory: &Path, flags: &Flags) -> Result<()>;
    /// Creates a column family with the options of the others.
    ///
    /// # Errors
    /// Those of the engine.
    fn create_family(&self, name: &str) -> Result<()>;
    /// The column family called `name`.
    ///
    /// # Errors
    /// There is none.
    fn family(&self, name: &str) -> Result<Self::Family<'_>>;
    /// Lets a secondary see what its primary has done.
    ///
    /// # Errors
    /// Those of the engine.
    fn catch_up(&self) -> Result<()>;
    /// Prepares writes as the flags say, that wait for the disk if `sync`.
    fn write_mode(sync: bool, flags: &Flags) -> Self::WriteMode;
    /// Puts one entry.
    ///
    /// # Errors
    /// Those of the engine.
    fn put(&self, key: &[u8], value: &[u8], mode: &Self::WriteMode) -> Result<()>;
    /// Merges one operand.
    ///
    /// # Errors
    /// Those of the engine.
    fn merge(&self, key: &[u8], operand: &[u8], mode: &Self::WriteMode) -> Result<()>;
    /// Deletes one key.
    ///
    /// # Errors
    /// Those of the engine.
    fn delete(&self, key: &[u8], mode: &Self::WriteMode) -> Result<()>;
    /// Puts one entry into a column family.
    ///
    /// # Errors
    /// Those of the engine.
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
    /// Those of the engine.
    fn merge_in(
        &self,
        family: &Self::Family<'_>,
        key: &[u8],
        operand: &[u8],
        mode: &Self::WriteMode,
    ) -> Result<()>;
    /// Adds an entry for a column family to a batch.
    fn batch_put_in(batch: &mut Self::Batch, family: &Self::Family<'_>, key: &[u8], value: &[u8]);
    /// Adds a deletion from a column family to a batch.
    fn batch_delete_in(batch: &mut Self::Batch, family: &Self::Family<'_>, key: &[u8]);
    /// Adds the deletion of all keys of a column family from `begin` to before
    /// `end` to a batch.
    fn batch_delete_range_in(
        batch: &mut Self::Batch,
        family: &Self::Family<'_>,
        begin: &[u8],
        end: &[u8],
    );
    /// Writes a batch.
    ///
    /// # Errors
    /// Those of the engine.
    fn write(&self, batch: Self::Batch, mode: &Self::WriteMode) -> Result<()>;
    /// Reads one key.
    ///
    /// # Errors
    /// Those of the engine.
    fn get(&self, key: &[u8]) -> Result<Option<Self::Value<'_>>>;
    /// Reads one key of a column family.
    ///
    /// # Errors
    /// Those of the engine.
    fn get_in(&self, family: &Self::Family<'_>, key: &[u8]) -> Result<Option<Self::Value<'_>>>;
    /// Reads several keys as of one moment, in the way `multiread_batched`
    /// says; one result for each key.
    ///
    /// # Errors
    /// The first of the engine's.
    fn multi_get(&self, keys: &[&[u8]]) -> Result<Vec<Option<Self::Value<'_>>>>;
    /// A snapshot of now.
    fn snapshot(&self) -> Self::Snapshot<'_>;
    /// A new iterator over `bounds`, not positioned yet.
    fn cursor_within(&self, bounds: Bounds) -> Self::Cursor<'_>;
    /// A new iterator over everything, not positioned yet.
    fn cursor(&self) -> Self::Cursor<'_> {
        self.cursor_within(Bounds::default())
    }
    /// Bytes that the files have for each range, about; ends are exclusive.
    fn approximate_sizes(&self, ranges: &[(&[u8], &[u8])]) -> Vec<u64>;
    /// Flushes the memtables of column families, of the default one if none is
    /// named, and waits for it.
    ///
    /// # Errors
    /// Those of the engine.
    fn flush(&self, families: &[Self::Family<'_>]) -> Result<()>;
    /// Compacts the whole key range and waits for it, with the lowest level if
    /// `bottommost`, else as far as there is something to merge.
    fn compact(&self, bottommost: bool);
    /// Reads all tables and checks their blocks, or each file as a whole where
    /// the manifest has its checksum.
    ///
    /// # Errors
    /// What is damaged; that the engine's API has no such call.
    fn verify(&self, whole_files: bool) -> Result<()>;
    /// Changes options of the default column family.
    ///
    /// # Errors
    /// Those of the engine.
    fn change_options(&self, options: &[(&str, &str)]) -> Result<()>;
    /// Begins a table outside of the database, for [`ingest`](Self::ingest).
    ///
    /// # Errors
    /// Those of the engine.
    fn external(&self, file: &Path) -> Result<Self::External<'_>>;
    /// Takes such tables into the database, without a copy.
    ///
    /// # Errors
    /// Those of the engine.
    fn ingest(&self, files: Vec<PathBuf>) -> Result<()>;
    /// Lets the calling thread measure its own calls, from 0, at a level by
    /// RocksDB's number.
    ///
    /// # Errors
    /// A level that the engine lacks.
    fn measure_this_thread(level: i32) -> Result<()>;
    /// What the calling thread has measured that is not 0, as `name = value`
    /// with commas between.
    fn measured() -> String;
    /// A property by RocksDB's name; `None` if the engine lacks it.
    fn property(&self, name: &str) -> Option<String>;
    /// A property of a column family by RocksDB's name; `None` if the engine
    /// lacks it.
    fn property_in(&self, family: &Self::Family<'_>, name: &str) -> Option<String>;
}

/// Entries that are written together.
pub trait Batch {
    /// An empty batch with room for `bytes`.
    fn with_capacity(bytes: usize) -> Self;
    /// Adds an entry.
    fn put(&mut self, key: &[u8], value: &[u8]);
    /// Adds a deletion.
    fn delete(&mut self, key: &[u8]);
    /// Adds the deletion of a key that was put once.
    fn single_delete(&mut self, key: &[u8]);
    /// Adds the deletion of all keys from `begin` to before `end`.
    fn delete_range(&mut self, begin: &[u8], end: &[u8]);
}

/// A table that is made outside of the database.
pub trait External {
    /// Adds an entry; keys come in order.
    ///
    /// # Errors
    /// Those of the engine.
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()>;
    /// Ends the table.
    ///
    /// # Errors
    /// Those of the engine.
    fn finish(self) -> Result<()>;
}

/// The database at one moment.
pub trait Snapshot {
    /// Reads one key.
    ///
    /// # Errors
    /// Those of the engine.
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>>;
}

/// Where an iterator begins and ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// The first key it may show.
    pub lower: Option<Vec<u8>>,
    /// The key before which it ends.
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
    /// The entry here; `None` past either end, and after an error.
    fn item(&self) -> Option<(&[u8], &[u8])>;
    /// Tells an error from the end.
    ///
    /// # Errors
    /// What stopped the iterator, if anything did.
    fn status(&self) -> Result<()>;
}
