//! What a database tells of a column family that it exported, for another one to import it.

use std::path::{Path, PathBuf};
use whitewater_storage::key::SequenceNumber;

/// A table file, as RocksDB's `LiveFileMetaData` describes it.
///
/// A program that keeps it, to import the table in another process, keeps all fields: the content
/// of a table alone does not tell its level or its place among others of level 0.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LiveFileMetaData {
    /// The column family that the table was exported from. Not looked at by imports.
    pub column_family_name: String,
    /// Its level.
    pub level: i32,
    /// Its name within [`db_path`](Self::db_path), with a leading slash or without.
    pub name: String,
    /// The directory that it is in.
    pub db_path: PathBuf,
    /// The number of the file where it came from. Not looked at by imports.
    pub file_number: u64,
    /// Its size in bytes; 0 if unknown.
    pub size: u64,
    /// The smallest sequence number in it.
    pub smallest_seqno: SequenceNumber,
    /// The largest sequence number in it.
    pub largest_seqno: SequenceNumber,
    /// Its smallest user key. Not looked at by imports.
    pub smallestkey: Vec<u8>,
    /// Its largest user key. Not looked at by imports.
    pub largestkey: Vec<u8>,
    /// Its smallest internal key, range deletions included; empty if unknown, together with
    /// [`largest`](Self::largest).
    pub smallest: Vec<u8>,
    /// Its largest internal key, range deletions included.
    pub largest: Vec<u8>,
    /// The number of the oldest blob file that it needs; 0 for none.
    pub oldest_blob_file_number: u64,
    /// Its age among the tables of level 0, larger for newer ones; 0 if unknown.
    pub epoch_number: u64,
    /// The number of entries in it, deletions included. Not looked at by imports.
    pub num_entries: u64,
    /// The number of deletions in it. Not looked at by imports.
    pub num_deletions: u64,
}

impl LiveFileMetaData {
    /// Where the table is.
    pub fn path(&self) -> PathBuf {
        self.db_path.join(self.name.trim_start_matches('/'))
    }
}

/// What [`Checkpoint::export_column_family`](crate::checkpoint::Checkpoint::export_column_family)
/// tells of the tables that it put into a directory, and what an import needs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExportImportFilesMetaData {
    pub(crate) db_comparator_name: String,
    pub(crate) files: Vec<LiveFileMetaData>,
}

impl ExportImportFilesMetaData {
    /// That of no table, to be filled in: with what an export in another process told.
    pub fn new() -> Self {
        Self::default()
    }

    /// The name of the comparator of the column family.
    pub fn get_db_comparator_name(&self) -> &str {
        &self.db_comparator_name
    }

    /// Sets the name of the comparator.
    pub fn set_db_comparator_name(&mut self, name: &str) {
        name.clone_into(&mut self.db_comparator_name);
    }

    /// The tables.
    pub fn get_files(&self) -> &[LiveFileMetaData] {
        &self.files
    }

    /// Sets the tables.
    pub fn set_files(&mut self, files: Vec<LiveFileMetaData>) {
        self.files = files;
    }

    /// The same tables in another directory: that of an export which was moved, or copied to
    /// another machine.
    pub fn set_db_path(&mut self, dir: impl AsRef<Path>) {
        for file in &mut self.files {
            file.db_path = dir.as_ref().to_path_buf();
        }
    }
}
