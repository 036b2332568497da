//! From the `rocksdb` crate, or from a RocksDB database.
//!
//! # The program
//!
//! The public API is that of the `rocksdb` crate 0.25, so the dependency is all that changes:
//!
//! ```toml
//! [dependencies]
//! rocksdb = { package = "whitewater", version = "0.1" }
//! ```
//!
//! `use rocksdb::DB` keeps working. What is not implemented is absent, so the compiler finds it.
//! The [crate's page](crate#coming-from-the-rocksdb-crate) lists what behaves differently. Programs
//! most often notice two differences:
//!
//! * functions given to [`set_comparator`](crate::Options::set_comparator) must be `Send + Sync`;
//! * a thread measures nothing for its [`PerfContext`](crate::PerfContext) until it calls
//!   [`perf::set_perf_stats`](crate::perf::set_perf_stats).
//!
//! The `rocksdb` crate's Cargo features exist as well. Those that say how C++ code is built change
//! nothing.
//!
//! # Its dependencies
//!
//! A *dependency* that uses the `rocksdb` crate, 0.22 to 0.25, gets this engine by a line in the
//! workspace's `Cargo.toml`; nothing of the dependency is changed. The folders `crates/rocksdb` and
//! `crates/rocksdb-0.22` to `-0.24` of the source tree are crates of that name and version:
//!
//! ```toml
//! [patch.crates-io]
//! rocksdb = { path = "whitewater/crates/rocksdb-0.24" }
//! ```
//!
//! The README in `crates/rocksdb` says how several versions stand side by side, and what of an
//! older version's API is another one here.
//!
//! # The database
//!
//! Whitewater opens RocksDB's databases in place, and RocksDB opens those of Whitewater: logs,
//! manifests, tables and options files have RocksDB's formats. Nothing is converted. Open it with
//! the same comparators, merge operators and prefix extractors: the files contain only their names.
//! [`Options::load_latest`](crate::Options::load_latest) reads everything else from the database:
//!
//! ```
//! use whitewater::{Cache, DB, Env, Options};
//!
//! # fn main() -> Result<(), whitewater::Error> {
//! # let dir = tempfile::tempdir().unwrap();
//! # let path = dir.path();
//! # let mut options = Options::default();
//! # options.create_if_missing(true);
//! # options.create_missing_column_families(true);
//! # let db = DB::open_cf(&options, path, ["users"])?;
//! # db.put_cf(&db.cf_handle("users").unwrap(), "7", "ada")?;
//! # drop(db);
//! let cache = Cache::new_lru_cache(64 << 20);
//! let (options, families) = Options::load_latest(path, Env::new()?, false, cache)?;
//! let db = DB::open_cf_descriptors(&options, path, families)?;
//! let users = db.cf_handle("users").expect("named by the options file");
//! assert_eq!(db.get_cf(&users, "7")?.as_deref(), Some(&b"ada"[..]));
//! # Ok(())
//! # }
//! ```
//!
//! An option that Whitewater cannot honour is refused by name, unless `load_latest` is told to
//! ignore such options.
//! [`load_latest_with_errors`](crate::Options::load_latest_with_errors) returns them.
//!
//! To try it without risk, make a copy first, with RocksDB's checkpoint or while no process has the
//! database open. Values in blob files are read whatever the options are. Only one process at a
//! time can open a database for writing, whichever engine it uses: both take the same lock.
//!
//! # The way back
//!
//! RocksDB opens a database that Whitewater has written, as long as the options ask for nothing
//! that this version of RocksDB does not know.
//! [`set_format_version`](crate::BlockBasedOptions::set_format_version) and
//! [`set_wal_compression_type`](crate::Options::set_wal_compression_type) say which versions they
//! need. RocksDB 7.8 is the oldest version that the defaults are tested with.
