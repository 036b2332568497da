//! A database goes back and forth between this engine and RocksDB.
//!
//! RocksDB comes as Debian's package rocksdb-tools (ldb, sst_dump, db_bench), as the Python package
//! rocksdict and as the Java package rocksdbjni, which is the newest. If they are missing, the
//! tests are skipped with a line on standard error. They fail instead if `WHITEWATER_NO_SKIP` is `tools`.

mod alternate;
mod backups;
mod blob_files;
mod codecs;
mod db_bench;
mod entities;
mod imports;
mod ingest;
mod java;
mod killed;
mod logs;
mod matrix;
mod options;
mod paths;
mod python;
mod table_formats;
mod timestamps;
pub mod tools;
mod transactions;
mod trash;
mod workload;
mod written;
