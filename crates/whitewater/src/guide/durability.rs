//! What survives a crash, and what a write can ask for.
//!
//! A write goes to the write-ahead log and to a memtable. It returns when it is in both, and
//! from then on every read sees it. A flush later writes the memtable to a table file, after
//! which the log is no longer needed. Opening a database replays the logs that are left.
//!
//! # Three levels
//!
//! | write | survives the death of the process | survives a power failure |
//! |---|---|---|
//! | with [`set_sync`](crate::WriteOptions::set_sync) | yes | yes |
//! | default | yes | once a later synced write or [`flush_wal(true)`](crate::DBCommon::flush_wal) has returned, or the memtable was flushed |
//! | with [`disable_wal`](crate::WriteOptions::disable_wal) | once the memtable was flushed | once the memtable was flushed |
//!
//! A sync takes as long as the disk needs. Writers that wait for a sync at the same time share
//! one, so many threads together make far more synced writes per second than one thread.
//!
//! ```
//! use whitewater::{DB, WriteOptions};
//!
//! # fn main() -> Result<(), whitewater::Error> {
//! # let dir = tempfile::tempdir().unwrap();
//! let db = DB::open_default(dir.path())?;
//! db.put("page view", "1")?; // may be lost in a power failure
//!
//! let mut synced = WriteOptions::default();
//! synced.set_sync(true);
//! db.put_opt("order", "42", &synced)?; // on the disk, and so is the page view
//!
//! db.put("page view", "2")?;
//! db.flush_wal(true)?; // everything so far is on the disk
//! # assert_eq!(db.get("order")?, Some(b"42".to_vec()));
//! # Ok(())
//! # }
//! ```
//!
//! # Order
//!
//! After a power failure the database holds a *prefix* of the logged writes: if a write is
//! there, every earlier one is. This holds over all column families. A batch is there as a whole
//! or not at all. Writes without a log have no such order: each column family has those up to its
//! own last flush, unless [`set_atomic_flush`](crate::Options::set_atomic_flush) makes all of them
//! flush together.
//!
//! A write that returned an error may still be found after a crash, because its record may be
//! complete in the log. Treat it as neither done nor undone until you have read it back.
//!
//! # Damaged logs
//!
//! [`set_wal_recovery_mode`](crate::Options::set_wal_recovery_mode) says what opening does when a
//! log is damaged. [`PointInTime`](crate::DBRecoveryMode::PointInTime), the default, keeps
//! everything before the first damage. A record that a crash has cut off is the end of its log.
//! [`AbsoluteConsistency`](crate::DBRecoveryMode::AbsoluteConsistency) refuses to open instead.
//!
//! # Failures while the database is open
//!
//! When a write or a sync of the log fails, the database refuses further writes, and reads go
//! on. [`Error::severity`](crate::Error::severity) says how much has stopped. After an I/O error
//! the database tries to resume by itself, and writes go on once the cause is gone, for example
//! because the disk has room again:
//! [`set_max_bgerror_resume_count`](crate::Options::set_max_bgerror_resume_count) says how often,
//! and a [listener](crate::listener) may not allow it. What was acknowledged is kept, and what
//! failed does not come back. [`resume`](crate::DBCommon::resume) does the same at once. Flushes
//! and compactions that failed with an I/O error are tried again in the same way.
//!
//! # Copies
//!
//! A [`Checkpoint`](crate::checkpoint::Checkpoint) is a consistent copy of an open database in
//! another directory. Copying the files of an open database by other means is not safe.
//! [`verify_checksum`](crate::DBCommon::verify_checksum) reads all tables and checks every block.
