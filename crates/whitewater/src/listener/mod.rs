//! Listeners: user code that is told what happens in a database.
//!
//! The trait, its methods and the structs carry RocksDB's names; the `rocksdb` crate has none.
//! A listener is added with
//! [`Options::add_event_listener`](crate::Options::add_event_listener).
//!
//! # Which thread calls, and what it may do
//!
//! A database with listeners has one thread for them. The thread delivers one event after the
//! other. It calls all listeners with each event, in the order in which they were added, and it
//! holds no lock of the database. So a listener may use the database in any way, and may wait
//! in it; flushes, compactions and writes do not wait for the listener. In return, a listener
//! is called shortly *after* the fact: files named in an event may be gone by then, and an
//! event that announces the beginning of something does not hold that up.
//!
//! Events are kept in memory until they are delivered, without a bound, because work that
//! waited for listeners could end up waiting for itself. Events come by flush, compaction and
//! file, not by write. Each takes some hundred bytes, more if it names many files. So a
//! listener must keep up in the long run, and one that never returns keeps all later events in
//! memory. The property [`NUM_PENDING_EVENTS`](crate::properties::NUM_PENDING_EVENTS) is the
//! number of events that wait. The info log gets a warning when a listener has returned and
//! more than 1024 events wait, and another one when their number has doubled. Everything that
//! happened before the database was closed is delivered before closing returns, unless the
//! listener itself closes the database. A panic of a listener is written to the info log, and
//! the next event is delivered.
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

// `info` has the structs that listeners get, `flush_reason` a part of them; `event` has what is
// sent to their thread.
pub(crate) mod event;
mod flush_reason;
mod info;

pub use flush_reason::FlushReason;
pub use info::{
    BackgroundErrorInfo, BackgroundErrorReason, BackgroundErrorRecoveryInfo, ColumnFamilyInfo,
    CompactionJobInfo, CompactionJobStats, ExternalFileIngestionInfo, FlushJobInfo, MemTableInfo,
    SubcompactionJobInfo, TableFileCreationInfo, TableFileCreationReason, TableFileDeletionInfo,
    WriteStallCondition, WriteStallInfo,
};

/// User code that is called when something happens in a database; see the [module](self). All
/// methods do nothing by default.
pub trait EventListener: Send + Sync {
    /// A flush has begun.
    fn on_flush_begin(&self, _info: &FlushJobInfo) {}

    /// A flush has finished, and its table is recorded in the manifest.
    fn on_flush_completed(&self, _info: &FlushJobInfo) {}

    /// A compaction has begun. Its outputs and statistics are not known yet.
    fn on_compaction_begin(&self, _info: &CompactionJobInfo) {}

    /// A compaction has ended: its outputs are recorded in the manifest, or it has failed.
    fn on_compaction_completed(&self, _info: &CompactionJobInfo) {}

    /// A part of a compaction has begun. Parts begin and end on threads of their own. The events of
    /// one compaction's parts come in any order, all of them between the beginning and the end of
    /// the compaction.
    fn on_subcompaction_begin(&self, _info: &SubcompactionJobInfo) {}

    /// A part of a compaction has ended: its tables are written, or it has failed. The tables are
    /// recorded in the manifest only when the whole compaction is.
    fn on_subcompaction_completed(&self, _info: &SubcompactionJobInfo) {}

    /// A job has made a table, which is now part of the database.
    fn on_table_file_created(&self, _info: &TableFileCreationInfo) {}

    /// The file of an obsolete table was deleted, or deleting it failed.
    fn on_table_file_deleted(&self, _info: &TableFileDeletionInfo) {}

    /// A memtable was sealed: it takes no more writes and will be flushed.
    fn on_memtable_sealed(&self, _info: &MemTableInfo) {}

    /// A column family was dropped.
    fn on_column_family_handle_deletion_started(&self, _info: &ColumnFamilyInfo) {}

    /// A table was ingested and is now part of the database.
    fn on_external_file_ingested(&self, _info: &ExternalFileIngestionInfo) {}

    /// The way in which a column family holds writers back has changed.
    fn on_stall_conditions_changed(&self, _info: &WriteStallInfo) {}

    /// Background work has failed, or a write that had already reserved its place.
    fn on_background_error(&self, _info: &BackgroundErrorInfo) {}

    /// Whether writes go on in spite of this failure, as if it were an I/O error: a background job
    /// is tried again later, and a caller's compaction fails. RocksDB's listeners reset the status
    /// in `OnBackgroundError` for that. It is asked about failures of flushes and compactions that
    /// would stop writes and are not I/O errors, such as damage in a table or a panic of a merge
    /// operator, once for each; other failures cannot be overruled. One listener that returns true
    /// is enough. Only listeners of the options are asked.
    ///
    /// It is called on the thread that met the failure, before the database acts on it, and may be
    /// called while writers are kept out: unlike other methods it must not write to the database,
    /// nor wait for work of it.
    fn overrules_background_error(&self, _info: &BackgroundErrorInfo) -> bool {
        false
    }

    /// Whether the database may resume by itself after this failure, which has stopped writes:
    /// RocksDB's `auto_recovery` of `OnErrorRecoveryBegin`. If a listener returns false, it does
    /// not, and [`resume`](crate::DBCommon::resume) can be called. It is asked once for each such
    /// failure, on the thread that is going to resume, which waits for the answer. Jobs that are
    /// tried again are not asked for.
    fn allows_auto_recovery(&self, _info: &BackgroundErrorInfo) -> bool {
        true
    }

    /// A recovery from a failure has begun: a job is retried, the database resumes by itself, or
    /// [`resume`](crate::DBCommon::resume) was called.
    fn on_error_recovery_begin(&self, _info: &BackgroundErrorRecoveryInfo) {}

    /// A recovery has ended well: the database goes on. Comes before
    /// [`on_error_recovery_end`](Self::on_error_recovery_end).
    fn on_error_recovery_completed(&self, _info: &BackgroundErrorRecoveryInfo) {}

    /// A recovery from a failure has ended: the database goes on, or the attempt has failed.
    fn on_error_recovery_end(&self, _info: &BackgroundErrorRecoveryInfo) {}
}
