//! Copies of a database that outlive it: making, checking and restoring them.
//!
//! A [`BackupEngine`](crate::backup::BackupEngine) keeps backups of a database in a directory,
//! numbered from 1. Tables and blob files never change, so backups share them: a backup copies
//! what no earlier one has, and the logs. The directory has RocksDB's format. RocksDB restores
//! backups that were made here, and the other way round.
//!
//! ```
//! use whitewater::backup::{BackupEngine, BackupEngineOptions, CreateBackupOptions};
//! use whitewater::backup::RestoreOptions;
//! use whitewater::{DB, Env};
//!
//! # fn main() -> Result<(), whitewater::Error> {
//! # let dir = tempfile::tempdir().unwrap();
//! # let path = dir.path().join("db");
//! let db = DB::open_default(&path)?;
//! db.put("balance", "10")?;
//!
//! // Best on another device, or on a network file system.
//! let mut options = BackupEngineOptions::new(dir.path().join("backups"))?;
//! options.set_max_background_operations(4);
//! let mut engine = BackupEngine::open(&options, &Env::new()?)?;
//! let mut how = CreateBackupOptions::default();
//! how.set_app_metadata("nightly");
//! let id = engine.create_new_backup_opt(&how, &db)?;
//! engine.verify_backup_with_checksum(id)?;
//! engine.purge_old_backups(7)?;
//!
//! // Later, when the database is lost:
//! drop(db);
//! engine.restore_from_latest_backup(&path, &path, &RestoreOptions::default())?;
//! assert_eq!(DB::open_default(&path)?.get("balance")?, Some(b"10".to_vec()));
//! # Ok(())
//! # }
//! ```
//!
//! The program `ww` does the same from the command line: `ww backup`, `restore`, `list-backups`,
//! `verify-backup`, `delete-backup`, `purge-backups`.
//!
//! # What a backup holds
//!
//! What the database holds at a moment during the call, over all column families. Writes go on
//! meanwhile. What is in memtables comes from the logs, which are copied up to that moment,
//! with prepared transactions. Two things are not in the logs:
//!
//! * writes [without a log](crate::WriteOptions::disable_wal): flush first
//!   ([`create_new_backup_flush`](crate::backup::BackupEngine::create_new_backup_flush));
//! * anything, if the logs are
//!   [left out](crate::backup::BackupEngineOptions::set_backup_log_files): flush first, or keep the
//!   logs yourself.
//!
//! The options file is copied as it is. If it names a
//! [directory of logs](crate::Options::set_wal_dir), restore the logs to that directory, or set
//! another one before you open the restored database.
//!
//! A backup or a checkpoint? A [checkpoint](crate::checkpoint) is a database of its own that
//! shares its tables by hard links: it takes no time and no room, and is lost with the disk.
//!
//! # Failures and crashes
//!
//! A backup exists when the call returns, also after a power failure; until then it does not. A
//! call that fails or is interrupted leaves earlier backups as they were. Its remains are deleted
//! by the next change of the directory, or by
//! [`garbage_collect`](crate::backup::BackupEngine::garbage_collect).
//!
//! A restore first deletes the file CURRENT of the database that is there, and writes it last: if
//! it is interrupted, there is no database until a backup is restored, never half of one. Do not
//! open the directory with [`create_if_missing`](crate::Options::create_if_missing) meanwhile. A
//! database that is open is not restored over.
//!
//! What can be wrong with a backup, and who tells:
//!
//! | damage | told by |
//! |---|---|
//! | metadata that cannot be read, missing files | opening the engine: [`get_corrupted_backups`](crate::backup::BackupEngine::get_corrupted_backups) |
//! | files of another size | opening the engine, if the metadata have [schema 2](crate::backup::BackupEngineOptions::set_schema_version); otherwise only if they change while it is open |
//! | changed bytes | [`verify_backup_with_checksum`](crate::backup::BackupEngine::verify_backup_with_checksum); a restore, which fails |
//! | a table of the database that changed before it was copied | making the backup, if the manifest has [checksums of files](crate::Options::set_file_checksum); otherwise the database, when it reads the table |
//!
//! A damaged backup stays, with the files that it names, until it is deleted. Its shared files may
//! be all right: a new backup copies those again that are missing.
//!
//! # One directory, one engine
//!
//! Any number of engines may read a directory. Only one at a time may change it: an engine takes
//! files that are being copied by another one for remains. Backups of several databases may be in
//! one directory, though a directory for each is easier to understand.
