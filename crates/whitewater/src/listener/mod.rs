//! Listeners: user code that is told what happens in a database.
//!
//! The trait, its methods and the structs carry RocksDB's names; the `rocksdb`
//! crate has none. A listener is added with
//! [`Options::add_event_listener`](crate::Options::add_event_listener).
//!
//! # Which thread calls, and what it may do
//!
//! A database with listeners has one thread for them. It calls all listeners
//! with one event after the other, in the order in which they were added, and
//! with no lock of the database held. So a listener may use the database in any
//! way, and wait in it; flushes, compactions and writes do not wait for the
//! listener. In return it is told shortly *after* the fact: files named in an
//! event may be gone by then, and an event that begins something does not hold
//! that up.
//!
//! Events are kept in memory until they are told, without a bound: work that
//! waited for listeners could wait for itself. They come by flush, compaction
//! and file, not by write, some hundred bytes each and more with the names of
//! many files. So a listener must keep up in the long run, and one that never
//! returns keeps all later events. How many wait is the property
//! [`NUM_PENDING_EVENTS`](crate::properties::NUM_PENDING_EVENTS); a warning in the
//! info log says when a listener has returned to more than 1024 of them, and
//! again when they have doubled. Everything that happened before
//! the database was closed is told before closing returns, unless the listener
//! itself closes it. A panic of a listener goes to the info log, and the next
//! event is told.
//!
//! ```
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicU64, Ordering};
//! use whitewater::listener::{EventListener, FlushJobInfo};
//! use whitewater::{DB, Options};
//!
//! #[derive(Default)]
//! struct Flushed(AtomicU64);
//!
//! impl EventListener for Flushed {
//!     fn on_flush_completed(&self, info: &FlushJobInfo) {
//!         self.0.fetch_add(info.num_entries, Ordering::Relaxed);
//!     }
//! }
//!
//! # fn main() -> Result<(), whitewater::Error> {
//! # let dir = tempfile::tempdir().unwrap();
//! let flushed = Arc::new(Flushed::default());
//! let mut opts = Options::default();
//! opts.create_if_missing(true);
//! opts.add_event_listener(flushed.clone());
//! let db = DB::open(&opts, dir.path())?;
//! db.put(b"river", b"blue")?;
//! db.flush()?;
//! drop(db);
//! assert_eq!(flushed.0.load(Ordering::Relaxed), 1);
//! # Ok(())
//! # }
//! ```

// `info` has the structs that listeners get, `event` what is sent to their thread.
pub(crate) mod event;
mod info;

pub use info::{
    BackgroundErrorInfo, BackgroundErrorReason, BackgroundErrorRecoveryInfo, ColumnFamilyInfo,
    CompactionJobInfo, CompactionJobStats, ExternalFileIngestionInfo, FlushJobInfo, MemTableInfo,
    SubcompactionJobInfo, TableFileCreationInfo, TableFileCreationReason, TableFileDeletionInfo,
    WriteStallCondition, WriteStallInfo,
};

/// Is told what happens in a database; see the [module](self). All methods do
/// nothing by default.
pub trait EventListener: Send + Sync {
    /// A flush has begun.
    fn on_flush_begin(&self, _info: &FlushJobInfo) {}

    /// A flush is done, and its table recorded.
    fn on_flush_completed(&self, _info: &FlushJobInfo) {}

    /// A compaction has begun. Its outputs and figures are not known.
    fn on_compaction_begin(&self, _info: &CompactionJobInfo) {}

    /// A compaction is over: its outputs are recorded, or it has failed.
    fn on_compaction_completed(&self, _info: &CompactionJobInfo) {}

    /// A part of a compaction has begun. Parts begin and end on threads of their
    /// own: those of one compaction are told in any order, all of them between its
    /// beginning and its end.
    fn on_subcompaction_begin(&self, _info: &SubcompactionJobInfo) {}

    /// A part of a compaction is over: its tables are written, or it has failed.
    /// Tables are recorded only with the whole compaction.
    fn on_subcompaction_completed(&self, _info: &SubcompactionJobInfo) {}

    /// A job has made a table, which is part of the database now.
    fn on_table_file_created(&self, _info: &TableFileCreationInfo) {}

    /// The file of an obsolete table was deleted, or could not be.
    fn on_table_file_deleted(&self, _info: &TableFileDeletionInfo) {}

    /// A memtable takes no more writes, and is to be flushed.
    fn on_memtable_sealed(&self, _info: &MemTableInfo) {}

    /// A column family was dropped.
    fn on_column_family_handle_deletion_started(&self, _info: &ColumnFamilyInfo) {}

    /// A table from outside has become part of the database.
    fn on_external_file_ingested(&self, _info: &ExternalFileIngestionInfo) {}

    /// A column family holds writers back in another way than before.
    fn on_stall_conditions_changed(&self, _info: &WriteStallInfo) {}

    /// Work in the background has failed, or a write that had its place.
    fn on_background_error(&self, _info: &BackgroundErrorInfo) {}

    /// After a failure: a job is tried again, or
    /// [`resume`](crate::DBCommon::resume) was called.
    fn on_error_recovery_begin(&self, _info: &BackgroundErrorRecoveryInfo) {}

    /// The database goes on after a failure, or an attempt to has failed.
    fn on_error_recovery_end(&self, _info: &BackgroundErrorRecoveryInfo) {}
}
