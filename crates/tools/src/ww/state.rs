//! The state that a manifest describes: column families and their files.
//!
//! The manifest is read without opening the database, so it can be shown even if the
//! database cannot be opened. While a writer is active, the state is that of the time when
//! CURRENT was read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use whitewater_storage::filename::{self, FileType};
use whitewater_storage::fs::os::OsFs;
use whitewater_storage::key::{InternalComparator, UserComparator};
use whitewater_storage::manifest::{FileMetaData, ManifestReader, VersionEdit, read_current};
use whitewater_storage::{Error, Result};

use super::blobs::BlobFile;
use super::options::OptionsFile;

/// A column family and its tables.
#[derive(Debug, Default)]
pub struct Family {
    /// The name of the column family.
    pub name: String,
    /// The name of its comparator, if the manifest has it.
    pub comparator: Option<String>,
    /// The first log that may hold data of the column family.
    pub log_number: u64,
    /// Its tables by level and number.
    pub files: BTreeMap<(u32, u64), FileMetaData>,
    /// All blob files that were added, by number.
    blobs: BTreeMap<u64, BlobFile>,
}

impl Family {
    /// The tables of each level that has some: newest first in level 0, in key order
    /// elsewhere.
    pub fn levels(&self) -> Vec<(u32, Vec<&FileMetaData>)> {
        let mut levels: BTreeMap<u32, Vec<&FileMetaData>> = BTreeMap::new();
        for (&(level, _), file) in &self.files {
            levels.entry(level).or_default().push(file);
        }
        let order = self.comparator();
        for (&level, files) in &mut levels {
            match (level, &order) {
                (1.., Ok(order)) => {
                    files.sort_by(|a, b| order.compare(&a.smallest, &b.smallest));
                }
                (0, _) => files.sort_by_key(|f| std::cmp::Reverse((f.epoch_number, f.number))),
                _ => {}
            }
        }
        levels.into_iter().collect()
    }

    /// Its blob files, oldest first. By RocksDB's rule, those older than the oldest that a table
    /// names are gone, and those that are all garbage, unless a table names them itself.
    pub fn blob_files(&self) -> Vec<&BlobFile> {
        let named: BTreeSet<u64> = self.files.values().map(|f| f.oldest_blob_file).collect();
        let oldest = named.iter().copied().find(|&number| number > 0);
        let oldest = oldest.unwrap_or(u64::MAX);
        let stays = |file: &&BlobFile| {
            let number = file.meta.number;
            number >= oldest && (named.contains(&number) || !file.is_garbage())
        };
        self.blobs.values().filter(stays).collect()
    }

    /// The order of its keys.
    ///
    /// # Errors
    /// `NotSupported` for a comparator other than RocksDB's two.
    pub fn comparator(&self) -> Result<InternalComparator> {
        let name = self.comparator.as_deref().unwrap_or_default();
        let known = [UserComparator::Bytewise, UserComparator::ReverseBytewise];
        let mut known = known.into_iter();
        match known.find(|order| name.is_empty() || order.name() == name) {
            Some(order) => Ok(InternalComparator::new(order)),
            None => Err(Error::not_supported(format_args!(
                "the order of column family {} is that of comparator {name}, which is not known",
                self.name
            ))),
        }
    }

    /// Whether its order is the reverse bytewise one.
    pub fn is_descending(&self) -> bool {
        self.comparator.as_deref() == Some(UserComparator::ReverseBytewise.name())
    }
}

/// The state that a manifest describes.
#[derive(Debug, Default)]
pub struct State {
    /// The path of the manifest.
    pub manifest: PathBuf,
    /// The database's id, if the manifest has it.
    pub db_id: Option<String>,
    /// Column families by id.
    pub families: BTreeMap<u32, Family>,
    /// The next file number.
    pub next_file_number: u64,
    /// The last sequence number recorded.
    pub last_sequence: u64,
    /// The first log that is needed.
    pub min_log_number_to_keep: u64,
    /// The greatest id of any column family so far.
    pub max_column_family: u32,
    /// The logs that the manifest names, with their synced sizes.
    pub logs: BTreeMap<u64, Option<u64>>,
    /// The number of edits read.
    pub edits: u64,
}

impl State {
    /// The state of the database in `dir`.
    ///
    /// # Errors
    /// There is no database; `Corruption` with file and offset.
    pub fn read(dir: &Path) -> Result<Self> {
        Self::of(&read_current(&OsFs, dir)?, |_, _| Ok::<_, Error>(()))
    }

    /// The state that the manifest at `path` describes. Passes each edit and its end offset
    /// to `each` first.
    ///
    /// # Errors
    /// `Corruption` with file and offset; those of `each`.
    pub fn of<E: From<Error>>(
        path: &Path,
        mut each: impl FnMut(u64, &VersionEdit) -> Result<(), E>,
    ) -> Result<Self, E> {
        let mut reader = ManifestReader::open(&OsFs, path)?;
        let default = Family {
            name: "default".to_owned(),
            ..Family::default()
        };
        let mut state = State {
            manifest: path.to_owned(),
            families: BTreeMap::from([(0, default)]),
            ..State::default()
        };
        while let Some(edits) = reader.next()? {
            for edit in &edits {
                each(reader.offset(), edit)?;
                let applied = state.apply(edit);
                applied.map_err(|e| e.in_file(path, Some(reader.offset())))?;
            }
        }
        Ok(state)
    }

    fn apply(&mut self, edit: &VersionEdit) -> Result<()> {
        self.edits += 1;
        self.db_id = edit.db_id.clone().or(self.db_id.take());
        let greatest = |old: &mut u64, new: Option<u64>| *old = (*old).max(new.unwrap_or(0));
        greatest(&mut self.next_file_number, edit.next_file_number);
        greatest(&mut self.last_sequence, edit.last_sequence);
        greatest(
            &mut self.min_log_number_to_keep,
            edit.min_log_number_to_keep,
        );
        let id = edit.column_family;
        self.max_column_family = (self.max_column_family).max(edit.max_column_family.unwrap_or(0));
        for &(number, synced) in &edit.wal_additions {
            self.logs.insert(number, synced);
        }
        if let Some(first) = edit.wal_deletion {
            self.logs = self.logs.split_off(&first);
        }
        if let Some(name) = &edit.column_family_add {
            self.max_column_family = self.max_column_family.max(id);
            let name = name.clone();
            self.families.entry(id).or_default().name = name;
        }
        if edit.column_family_drop {
            self.families.remove(&id);
            return Ok(());
        }
        let unknown = || Error::corruption(format_args!("edit of unknown column family {id}"));
        let family = self.families.get_mut(&id).ok_or_else(unknown)?;
        family.comparator = edit.comparator.clone().or(family.comparator.take());
        greatest(&mut family.log_number, edit.log_number);
        for &(level, number) in &edit.deleted_files {
            if family.files.remove(&(level, number)).is_none() {
                return Err(Error::corruption(format_args!(
                    "edit deletes table {number} of level {level}, which is not there"
                )));
            }
        }
        for meta in &edit.blob_files {
            let meta = meta.clone();
            let added = BlobFile {
                meta,
                ..BlobFile::default()
            };
            family.blobs.insert(added.meta.number, added);
        }
        for garbage in &edit.blob_garbage {
            let number = garbage.number;
            let unknown =
                || Error::corruption(format_args!("garbage in unknown blob file {number}"));
            family
                .blobs
                .get_mut(&number)
                .ok_or_else(unknown)?
                .add(garbage);
        }
        for (level, file) in &edit.new_files {
            family.files.insert((*level, file.number), file.clone());
        }
        Ok(())
    }

    /// The column family `name`.
    pub fn family(&self, name: &str) -> Option<&Family> {
        self.families.values().find(|family| family.name == name)
    }

    /// All tables, each with its column family and level.
    pub fn tables(&self) -> impl Iterator<Item = (&Family, u32, &FileMetaData)> {
        self.families.values().flat_map(|family| {
            let files = family.files.iter();
            files.map(move |(&(level, _), file)| (family, level, file))
        })
    }

    /// All blob files, each with its column family and that family's id.
    pub fn blob_files(&self) -> impl Iterator<Item = (u32, &Family, &BlobFile)> {
        self.families.iter().flat_map(|(&id, family)| {
            let files = family.blob_files().into_iter();
            files.map(move |file| (id, family, file))
        })
    }

    /// The number of the first log that recovery reads. All column families may have been
    /// flushed past it: then it has the section of a prepared transaction, perhaps.
    pub fn first_log(&self) -> u64 {
        let needed = self.families.values().map(|family| family.log_number);
        match self.min_log_number_to_keep {
            0 => needed.min().unwrap_or(0), // a manifest from before there was that number
            keep => keep,
        }
    }
}

/// The log directory of the database in `dir`, as its options file says. If that directory
/// does not exist, or has no logs while `dir` has some, as in a copy made elsewhere, it is
/// `dir`.
pub fn log_dir(dir: &Path) -> PathBuf {
    let file = OptionsFile::newest(dir).ok();
    let named = file.and_then(|file| file.option("DBOptions", "wal_dir").map(PathBuf::from));
    let has_logs = |dir: &Path| logs_in(dir).is_ok_and(|logs| !logs.is_empty());
    named
        .filter(|named| !named.as_os_str().is_empty() && named.is_dir())
        .filter(|named| has_logs(named) || !has_logs(dir))
        .unwrap_or_else(|| dir.to_owned())
}

/// The logs in `dir`, oldest first.
///
/// # Errors
/// The directory cannot be listed.
pub fn logs_in(dir: &Path) -> std::io::Result<Vec<(u64, PathBuf)>> {
    let mut logs = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        if let Some(FileType::Wal(number)) = entry.file_name().to_str().and_then(filename::parse) {
            logs.push((number, entry.path()));
        }
    }
    logs.sort();
    Ok(logs)
}
