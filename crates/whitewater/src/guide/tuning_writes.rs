//! What makes writes fast, and what holds them up.
//!
//! The defaults are meant for many threads that write at once. Measure before you change them:
//! the program `db_bench` in Whitewater's source tree has RocksDB's workloads.
//!
//! # One write
//!
//! * **Batches.** All operations of a [`WriteBatch`](crate::WriteBatch) together have the fixed
//!   costs of one write.
//! * **Syncs.** A synced write takes as long as the disk needs. Writers share syncs, so write from
//!   more threads, or put more into a batch. See [`durability`](super::durability) for what a
//!   write without a sync promises.
//! * **The log.** If data can be loaded again,
//!   [`disable_wal`](crate::WriteOptions::disable_wal) saves the cost of the log. Sorted data is
//!   best loaded as tables, with [`SstFileWriter`](crate::SstFileWriter) and
//!   [`ingest_external_file`](crate::DBCommon::ingest_external_file).
//! * **Large values.** Each compaction writes a value again.
//!   [`set_enable_blob_files`](crate::Options::set_enable_blob_files) keeps values of some KiB and
//!   more in files of their own, and compactions write references to them.
//! * **Reading before writing.** A [merge operator](crate::merge_operator) updates a value without
//!   reading it.
//!
//! # Many threads
//!
//! [`CommitProtocol`](crate::CommitProtocol) says how concurrent writes are committed.
//! With `Ordered`, the default, there is no leader: each thread logs and inserts its own write.
//! The others are RocksDB's. Other options can rule out the default, so the property
//! [`COMMIT_PROTOCOL`](crate::properties::COMMIT_PROTOCOL) says which one a database has:
//!
//! ```
//! use whitewater::{DB, Options, properties};
//!
//! # fn main() -> Result<(), whitewater::Error> {
//! # let dir = tempfile::tempdir().unwrap();
//! # let (path, other_path) = (dir.path().join("a"), dir.path().join("b"));
//! let mut options = Options::default();
//! options.create_if_missing(true);
//! let db = DB::open(&options, path)?;
//! let protocol = db.property_value(properties::COMMIT_PROTOCOL)?;
//! assert_eq!(protocol.as_deref(), Some("ordered"));
//!
//! // One thread at a time inserts, so there has to be a leader.
//! options.set_allow_concurrent_memtable_write(false);
//! let db = DB::open(&options, other_path)?;
//! let protocol = db.property_value(properties::COMMIT_PROTOCOL)?;
//! assert_eq!(protocol.as_deref(), Some("grouped"));
//! # Ok(())
//! # }
//! ```
//!
//! The default [memtable](crate::MemtableFactory) is an adaptive radix tree if keys are in bytewise
//! or reverse bytewise order, and a skip list with any other comparator.
//!
//! # Stalls
//!
//! Writers can be faster than flushes and compactions. When these fall behind, the database first
//! slows writes down and then stops them, by RocksDB's rules:
//!
//! | cause | slows down at | stops at |
//! |---|---|---|
//! | full memtables | all but one, if more than 3 are allowed | [`set_max_write_buffer_number`](crate::Options::set_max_write_buffer_number) |
//! | tables in level 0 | [`set_level_zero_slowdown_writes_trigger`](crate::Options::set_level_zero_slowdown_writes_trigger), 20 | [`set_level_zero_stop_writes_trigger`](crate::Options::set_level_zero_stop_writes_trigger), 36 |
//! | bytes to be compacted | [`set_soft_pending_compaction_bytes_limit`](crate::Options::set_soft_pending_compaction_bytes_limit), 64 GiB | [`set_hard_pending_compaction_bytes_limit`](crate::Options::set_hard_pending_compaction_bytes_limit), 256 GiB |
//! | memory of memtables | | a [`WriteBufferManager`](crate::WriteBufferManager) that stalls |
//!
//! The properties [`IS_WRITE_STOPPED`](crate::properties::IS_WRITE_STOPPED) and
//! [`ACTUAL_DELAYED_WRITE_RATE`](crate::properties::ACTUAL_DELAYED_WRITE_RATE), the LOG, and
//! [`on_stall_conditions_changed`](crate::listener::EventListener::on_stall_conditions_changed)
//! report stalls. What helps:
//!
//! * more threads: [`increase_parallelism`](crate::Options::increase_parallelism) to the number of
//!   cores, and [`set_max_subcompactions`](crate::Options::set_max_subcompactions) for large
//!   compactions out of level 0;
//! * a larger share of busy cores for background threads, which by default give way to yours:
//!   [`set_background_nice`](crate::Options::set_background_nice);
//! * larger and more memtables, which absorb a burst:
//!   [`set_write_buffer_size`](crate::Options::set_write_buffer_size) and
//!   [`set_max_write_buffer_number`](crate::Options::set_max_write_buffer_number);
//! * where the same keys are written again and again, memtables without what was overwritten,
//!   instead of tables: the option [`experimental_mempurge_threshold`][mempurge];
//! * all of these, with level sizes to match:
//!   [`optimize_for_steady_writes`](crate::Options::optimize_for_steady_writes).
//!
//! [mempurge]: crate::Options::set_experimental_mempurge_threshold
//!
//! With [`set_no_slowdown`](crate::WriteOptions::set_no_slowdown), a write fails with `Incomplete`
//! instead of waiting. With [`set_low_pri`](crate::WriteOptions::set_low_pri), a write is slowed
//! down before others are.
//!
//! Many of these options can be changed while the database is open:
//!
//! ```
//! use whitewater::DB;
//!
//! # fn main() -> Result<(), whitewater::Error> {
//! # let dir = tempfile::tempdir().unwrap();
//! let db = DB::open_default(dir.path())?;
//! db.set_options(&[("write_buffer_size", "128M"), ("max_write_buffer_number", "4")])?;
//! db.set_db_options(&[("max_background_jobs", "4")])?;
//! assert!(db.set_options(&[("num_levels", "5")]).is_err()); // fixed while it is open
//! # Ok(())
//! # }
//! ```
