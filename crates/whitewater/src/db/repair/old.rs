//! Reading what is left of the old manifests.

use super::FoundFamily;
use crate::info_log::InfoLog;
use crate::version::tracked::TrackedLogs;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use whitewater_storage::fs::Fs;
use whitewater_storage::key::SequenceNumber;
use whitewater_storage::manifest::{BlobFileMetaData, FileMetaData, ManifestReader, VersionEdit};
use whitewater_storage::{Error, Result};

/// What a manifest says of a table; a table that was made outside the database does not say
/// it itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Recorded {
    pub family: u32,
    /// Empty if the manifest does not say.
    pub family_name: String,
    /// The sequence number that the table's entries count as.
    pub largest_seqno: SequenceNumber,
}

/// The edits of a manifest up to its end or the first damage.
#[derive(Debug, Default)]
pub(super) struct OldManifest {
    pub db_id: Option<String>,
    pub last_sequence: SequenceNumber,
    pub max_column_family: u32,
    names: BTreeMap<u32, String>,
    dropped: BTreeSet<u32>,
    /// Tables that make up the database according to the manifest, with their column
    /// families.
    live: BTreeMap<u64, u32>,
    /// Tables that the manifest gave up.
    given_up: BTreeSet<u64>,
    /// All tables that the manifest names anywhere, with their column families.
    tables: BTreeMap<u64, (u32, FileMetaData)>,
    /// All blob files that the manifest names anywhere.
    blob_files: BTreeMap<u64, BlobFileMetaData>,
    /// For each column family: logs below this number hold nothing that its tables lack.
    flushed_below: BTreeMap<u32, u64>,
    /// Logs below this number hold nothing that any table lacks.
    min_log_to_keep: u64,
    /// Logs that were missed according to the manifest.
    tracked: TrackedLogs,
    /// For each column family, the number of the newest entry of any table that the
    /// manifest names.
    newest: BTreeMap<u32, SequenceNumber>,
    edits: usize,
    /// The manifest's file number.
    pub number: u64,
    /// Whether something that cannot be read follows the last edit.
    is_cut: bool,
    /// Whether an edit follows the tables that the manifest begins with.
    pub goes_on: bool,
    /// Whether the manifest was read to its end.
    pub whole: bool,
    /// Whether opening the database would read this manifest.
    pub in_force: bool,
}

impl OldManifest {
    /// Reads as much as possible of the manifest `path`.
    ///
    /// # Errors
    /// Errors of the file system, not of the file's content.
    pub fn read(fs: &dyn Fs, path: &Path, log: &InfoLog) -> Result<Self> {
        let mut old = OldManifest::default();
        let mut reader = ManifestReader::open(fs, path)?;
        let mut end = 0;
        loop {
            match reader.next() {
                Ok(Some(edits)) => {
                    edits.iter().for_each(|edit| old.apply(edit));
                    end = reader.offset();
                }
                Ok(None) => {
                    old.whole = true;
                    old.is_cut = end < fs.file_size(path)?;
                    return Ok(old);
                }
                Err(e) if super::is_damage(e.kind()) => {
                    log.write(&format!("Repair: the manifest is read up to {e}"));
                    return Ok(old);
                }
                Err(e) => return Err(e),
            }
        }
    }

    fn apply(&mut self, edit: &VersionEdit) {
        self.edits += 1;
        self.goes_on |= edit.next_file_number.is_some();
        let id = edit.column_family;
        if edit.db_id.is_some() {
            self.db_id.clone_from(&edit.db_id);
        }
        let last = edit.last_sequence.unwrap_or(0);
        self.last_sequence = self.last_sequence.max(last);
        let largest = edit.max_column_family.unwrap_or(0).max(id);
        self.max_column_family = self.max_column_family.max(largest);
        if let Some(name) = &edit.column_family_add {
            self.names.insert(id, name.clone());
        }
        if edit.column_family_drop {
            self.names.remove(&id);
            self.dropped.insert(id);
            self.live.retain(|_, family| *family != id);
        }
        if let Some(log) = edit.log_number {
            let below = self.flushed_below.entry(id).or_default();
            *below = log.max(*below);
        }
        self.tracked.apply(edit);
        let keep = edit.min_log_number_to_keep.unwrap_or(0);
        self.min_log_to_keep = self.min_log_to_keep.max(keep);
        for (_, number) in &edit.deleted_files {
            self.live.remove(number);
            self.given_up.insert(*number);
        }
        for file in &edit.blob_files {
            self.blob_files.insert(file.number, file.clone());
        }
        for (_, file) in &edit.new_files {
            self.live.insert(file.number, id);
            self.given_up.remove(&file.number);
            let newest = self.newest.entry(id).or_default();
            *newest = file.largest_seqno.max(*newest);
            self.tables.insert(file.number, (id, file.clone()));
        }
    }

    /// Whether the manifest has any edit that can be read.
    pub fn is_known(&self) -> bool {
        self.edits > 0
    }

    /// The manifest's column families except the default one, without tables.
    pub fn families(&self) -> BTreeMap<u32, FoundFamily> {
        let found = self.names.iter().map(|(id, name)| {
            let family = FoundFamily {
                name: name.clone(),
                tables: Vec::new(),
            };
            (*id, family)
        });
        found.collect()
    }

    /// What the manifest says of table `number` of `size` bytes. A file of another size is
    /// another table.
    pub fn table(&self, number: u64, size: u64) -> Option<Recorded> {
        let (family, file) = self.tables.get(&number)?;
        (file.size == size).then(|| Recorded {
            family: *family,
            family_name: self.names.get(family).cloned().unwrap_or_default(),
            largest_seqno: file.largest_seqno,
        })
    }

    /// What the manifest says of blob file `number`.
    pub fn blob_file(&self, number: u64) -> Option<&BlobFileMetaData> {
        self.blob_files.get(&number)
    }

    /// Whether column family `id` was dropped.
    pub fn has_dropped(&self, id: u32) -> bool {
        self.dropped.contains(&id)
    }

    /// Whether the manifest says that table `number` was replaced by others.
    pub fn says_it_gave_up(&self, number: u64) -> bool {
        self.given_up.contains(&number)
    }

    /// Whether table `number`, which the manifest does not name, was replaced by others,
    /// provided that the manifest is in force. A manifest begins with the tables of that
    /// moment, so older tables that it does not name were replaced before.
    pub fn has_given_up(&self, number: u64) -> bool {
        let begins_later = number < self.number && self.goes_on;
        self.says_it_gave_up(number) || (self.whole && !self.is_cut && begins_later)
    }

    /// Whether table `number` is one of the tables that make up the database.
    pub fn is_live(&self, number: u64) -> bool {
        self.live.contains_key(&number)
    }

    /// The tables that make up the database according to the manifest and that are not in
    /// `readable`, or have another size there.
    pub fn missing(&self, readable: &BTreeMap<u64, u64>) -> Vec<u64> {
        let is_there = |number: &u64| {
            let size = self.tables.get(number).map(|(_, file)| file.size);
            readable.get(number).copied() == size
        };
        let live = self.live.keys().copied();
        live.filter(|number| !is_there(number)).collect()
    }

    /// Logs with smaller numbers have no section of a transaction that is not decided.
    pub fn min_log_to_keep(&self) -> u64 {
        self.min_log_to_keep
    }

    /// Whether log `log` may hold something of column family `id` that its tables lack.
    ///
    /// # Errors
    /// `InvalidArgument` if the log was missed, and the tables hold newer writes.
    pub fn needs(&self, id: u32, log: u64) -> Result<bool> {
        let below = self.flushed_below.get(&id).copied().unwrap_or(0);
        match self.tracked.missed(log) {
            Some(end) if below >= end => Err(Error::invalid(format_args!(
                "log {log:06} has writes to column family {id} that were never replayed: the \
                 database was opened without this log, with another wal_dir perhaps, and has been \
                 flushed since; to go on without these writes, move the log away"
            ))),
            Some(_) => Ok(log >= below),
            None => Ok(log >= below.max(self.min_log_to_keep)),
        }
    }

    /// Returns the edit that names the logs that are still missed once `logs` are in
    /// tables.
    pub fn missed_but(&self, logs: &[u64]) -> Option<VersionEdit> {
        let mut tracked = self.tracked.clone();
        if let Some(edit) = tracked.without(logs) {
            tracked.apply(&edit);
        }
        tracked.missed_edit()
    }

    /// The number of the newest entry of column family `id` in any table that the manifest
    /// names.
    pub fn newest(&self, id: u32) -> Option<SequenceNumber> {
        self.newest.get(&id).copied()
    }

    /// Whether column family `id` existed once and does not now. A column family that was
    /// dropped before the manifest was begun is not named in it.
    pub fn knows_no_more(&self, id: u32) -> bool {
        let named = id == 0 || self.names.contains_key(&id);
        self.whole && self.in_force && !named && id <= self.max_column_family
    }
}
