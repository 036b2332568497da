//! Several key spaces in one database.
//!
//! A column family has its own keys, memtables, tables and options. All column families of a
//! database share its log and its sequence numbers, so that a batch can write to several of them
//! atomically, and a snapshot shows all of them at one moment. A database begins with one,
//! which is called `default`.
//!
//! Use them for data that differs in size, lifetime or access: an index beside its table, a
//! queue beside an archive. They are cheap, but not free: each has a memtable, and by default a
//! block cache of its own (see [`memory`](super::memory)). For thousands of tenants, use a prefix
//! of the key instead.
//!
//! # Opening
//!
//! A database is opened with *all* of its column families. Leaving one out is an error that
//! names it. [`list_cf`](crate::DBCommon::list_cf) returns their names, and
//! [`create_missing_column_families`](crate::Options::create_missing_column_families) creates
//! those that do not exist yet.
//!
//! ```
//! use whitewater::{ColumnFamilyDescriptor, DB, Options, WriteBatch};
//!
//! # fn main() -> Result<(), whitewater::Error> {
//! # let dir = tempfile::tempdir().unwrap();
//! # let path = dir.path();
//! let mut options = Options::default();
//! options.create_if_missing(true);
//! options.create_missing_column_families(true);
//!
//! let mut of_events = Options::default();
//! of_events.set_write_buffer_size(16 << 20);
//! let db = DB::open_cf_descriptors(
//!     &options,
//!     path,
//!     [
//!         ColumnFamilyDescriptor::new("users", Options::default()),
//!         ColumnFamilyDescriptor::new("events", of_events),
//!     ],
//! )?;
//!
//! let users = db.cf_handle("users").expect("named above");
//! let events = db.cf_handle("events").expect("named above");
//! let mut batch = WriteBatch::default();
//! batch.put_cf(&users, "7", "ada");
//! batch.put_cf(&events, "0001", "7 has joined");
//! db.write(batch)?;
//! assert_eq!(db.get_cf(&users, "7")?.as_deref(), Some(&b"ada"[..]));
//!
//! # drop((users, events));
//! drop(db);
//! let mut names = DB::list_cf(&Options::default(), path)?;
//! names.sort();
//! assert_eq!(names, ["default", "events", "users"]);
//! assert!(DB::open(&Options::default(), path).is_err()); // leaves two out
//! # Ok(())
//! # }
//! ```
//!
//! Options of the whole database, such as the number of threads and the limits of logs, are taken
//! from the first argument of the open function. Options of a column family are taken from its
//! descriptor. The documentation of [`Options`](crate::Options) lists the two kinds separately.
//!
//! # Handles and threads
//!
//! [`DB`](crate::DB) is [`DBWithThreadMode<SingleThreaded>`](crate::DBWithThreadMode), whose
//! `create_cf` and `drop_cf` need `&mut self`. With [`MultiThreaded`](crate::MultiThreaded) they
//! need only a shared reference, and handles are reference-counted. The Cargo feature
//! `multi-threaded-cf` makes that mode the one of `DB`. Reads and writes take `&self` in both
//! modes: share a database by reference or in an `Arc`.
//!
//! ```
//! use whitewater::{DBWithThreadMode, MultiThreaded, Options};
//!
//! # fn main() -> Result<(), whitewater::Error> {
//! # let dir = tempfile::tempdir().unwrap();
//! let db = DBWithThreadMode::<MultiThreaded>::open_default(dir.path())?;
//! db.create_cf("sessions", &Options::default())?;
//! let sessions = db.cf_handle("sessions").expect("created above");
//! db.drop_cf("sessions")?;
//! // A dropped column family can be read until its last handle is dropped.
//! assert_eq!(db.get_cf(&sessions, "7")?, None);
//! # Ok(())
//! # }
//! ```
//!
//! Each creation writes the options file and the manifest once more, so many column families are
//! best created by one call of `create_cfs`, or by an open with `create_missing_column_families`.
//!
//! # The shared log
//!
//! A log file can be deleted only when every column family has flushed its part of it. A column
//! family that is rarely written to therefore keeps logs alive, until their size reaches
//! [`set_max_total_wal_size`](crate::Options::set_max_total_wal_size) and the database flushes it.
//! By default that limit is four times the size of all write buffers together.
