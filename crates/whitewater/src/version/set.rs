//! All column families' current versions and the manifest that records them.

use super::{ObsoleteFiles, Version};
use crate::options::CfOptions;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use whitewater_storage::Result;
use whitewater_storage::fs::Fs;
use whitewater_storage::key::SequenceNumber;
use whitewater_storage::manifest::VersionEdit;

/// One column family as the manifest knows it.
#[derive(Clone, Debug)]
pub(crate) struct CfVersion {
    pub id: u32,
    pub name: String,
    pub comparator: String,
    /// WALs with smaller numbers hold nothing of this column family.
    pub log_number: u64,
    pub current: Arc<Version>,
}

/// What the manifest said at open.
#[derive(Debug)]
pub(crate) struct Recovered {
    /// By id, dropped column families left out.
    pub column_families: BTreeMap<u32, CfVersion>,
    pub last_sequence: SequenceNumber,
    pub min_log_number_to_keep: u64,
    pub db_id: Option<String>,
}

/// The current versions and the manifest.
///
/// Lock order: the manifest lock inside is taken before the database mutex.
/// `log_and_apply` holds it from reading the current versions until the new
/// ones are installed, so edits apply in the order they are recorded.
#[derive(Debug)]
pub(crate) struct VersionSet {
    /// Numbers all files. Written by: `new_file_number` (any thread) and
    /// recovery. Read by: the same and manifest writes. Publishes nothing.
    next_file: AtomicU64,
}

impl VersionSet {
    /// Creates an empty database in `dir`: MANIFEST-000001 and CURRENT.
    pub fn create_database(fs: &Arc<dyn Fs>, dir: &std::path::Path, db_id: &str) -> Result<()> {
        let _ = (fs, dir, db_id);
        todo!()
    }

    /// Replays the manifest that CURRENT names. `options_of` gives the options
    /// of a column family by name, or `None` if the opener did not list it.
    ///
    /// # Errors
    /// `InvalidArgument` naming column families that were not listed, or whose
    /// comparator differs; `Corruption` with file and offset; `NotSupported`
    /// for databases with blob files or path ids.
    pub fn recover(
        fs: Arc<dyn Fs>,
        dir: PathBuf,
        max_manifest_file_size: u64,
        obsolete: Arc<ObsoleteFiles>,
        options_of: &dyn Fn(&str) -> Option<Arc<CfOptions>>,
    ) -> Result<(VersionSet, Recovered)> {
        let _ = (fs, dir, max_manifest_file_size, obsolete, options_of);
        todo!()
    }

    /// The next unused file number.
    pub fn new_file_number(&self) -> u64 {
        self.next_file
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed)
    }

    /// Makes sure that numbers handed out from now on exceed `number`.
    pub fn mark_file_number_used(&self, number: u64) {
        self.next_file
            .fetch_max(number + 1, std::sync::atomic::Ordering::Relaxed);
    }

    /// Number of the manifest in force.
    pub fn manifest_number(&self) -> u64 {
        todo!()
    }

    /// The next epoch number for a level-0 table of column family `cf`.
    pub fn new_epoch_number(&self, cf: u32) -> u64 {
        let _ = cf;
        todo!()
    }

    /// Records `edits` (as an atomic group when there are several that touch
    /// files), syncs, builds the next versions and hands them to `install`
    /// while still holding the manifest lock. `last_sequence` is written into
    /// the record. Rolls the manifest over when it has grown past its limit,
    /// and on the first call after open. A column-family add edit creates the
    /// family with `options` of that name given in `new_cf`.
    ///
    /// # Errors
    /// When nothing was installed; after a failed append or sync the next call
    /// starts a new manifest, since the old one's tail is unknown.
    pub fn log_and_apply(
        &self,
        edits: Vec<VersionEdit>,
        last_sequence: SequenceNumber,
        new_cf: Option<Arc<CfOptions>>,
        install: &mut dyn FnMut(&[CfVersion]),
    ) -> Result<()> {
        let _ = (edits, last_sequence, new_cf, install);
        todo!()
    }
}
