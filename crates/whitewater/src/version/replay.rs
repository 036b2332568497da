//! Reading the manifest back: its edits, from the first to the last, add up to the column
//! families and their files.
//!
//! This module only makes descriptions; [`super::set`] turns them into versions. A reader that
//! follows a growing database keeps a [`ManifestTail`], and replays what is added.

use super::builder::VersionBuilder;
use super::tracked::TrackedLogs;
use crate::options::CfOptions;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use whitewater_storage::filename::{self, FileType};
use whitewater_storage::fs::{Fs, Part};
use whitewater_storage::key::{MAX_SEQUENCE_AT_OPEN, SequenceNumber};
use whitewater_storage::manifest::{ManifestReader, VersionEdit, read_current};
use whitewater_storage::{Error, Result};

/// The name of the column family that every database has. It is never added or dropped.
pub(super) const DEFAULT_COLUMN_FAMILY: &str = "default";

/// A column family as the edits so far describe it.
#[derive(Debug, Clone)]
pub(super) struct ReplayedFamily {
    pub name: String,
    /// The comparator's name, if the manifest has it.
    pub comparator: Option<String>,
    pub log_number: u64,
    pub files: VersionBuilder,
}

impl ReplayedFamily {
    fn new(name: &str) -> Self {
        ReplayedFamily {
            name: name.to_owned(),
            comparator: None,
            log_number: 0,
            files: VersionBuilder::empty(),
        }
    }
}

/// The result of the edits so far.
#[derive(Debug, Clone)]
pub(super) struct Replay {
    pub families: BTreeMap<u32, ReplayedFamily>,
    pub manifest_number: u64,
    pub db_id: Option<String>,
    pub min_log_number_to_keep: u64,
    pub max_column_family: u32,
    pub tracked: TrackedLogs,
    next_file_number: Option<u64>,
    last_sequence: Option<SequenceNumber>,
    any_log_number: bool,
    /// The largest number of a table, blob file or log seen so far.
    largest_number: u64,
}

impl Replay {
    /// Replays the manifest that `CURRENT` names.
    ///
    /// # Errors
    /// `Corruption` and `NotSupported` naming file and offset.
    pub fn read(fs: &dyn Fs, dir: &Path) -> Result<Replay> {
        ManifestTail::read(fs, dir).map(|tail| tail.replay)
    }

    fn empty(manifest_number: u64) -> Self {
        Replay {
            families: BTreeMap::from([(0, ReplayedFamily::new(DEFAULT_COLUMN_FAMILY))]),
            manifest_number,
            db_id: None,
            min_log_number_to_keep: 0,
            max_column_family: 0,
            tracked: TrackedLogs::default(),
            next_file_number: None,
            last_sequence: None,
            any_log_number: false,
            largest_number: 0,
        }
    }

    /// The first file number that is unused as far as the manifest knows.
    pub fn next_file_number(&self) -> u64 {
        let seen = self.largest_number.max(self.manifest_number);
        self.next_file_number
            .unwrap_or(0)
            .max(seen.saturating_add(1))
    }

    /// The last sequence number recorded.
    pub fn last_sequence(&self) -> SequenceNumber {
        self.last_sequence.unwrap_or(0)
    }

    fn apply(&mut self, edit: &VersionEdit) -> Result<()> {
        self.apply_database_fields(edit);
        let id = edit.column_family;
        if let Some(name) = &edit.column_family_add {
            return self.add_family(id, name, edit);
        }
        if edit.column_family_drop {
            return match self.families.remove(&id) {
                Some(_) if id != 0 => Ok(()),
                _ => Err(Error::corruption(format_args!(
                    "MANIFEST drops column family {id}, which cannot be dropped"
                ))),
            };
        }
        let Some(family) = self.families.get_mut(&id) else {
            return Err(Error::corruption(format_args!(
                "MANIFEST record for unknown column family {id}"
            )));
        };
        if let Some(name) = &edit.comparator {
            family.comparator = Some(name.clone());
        }
        family.log_number = family.log_number.max(edit.log_number.unwrap_or(0));
        family.files.apply(edit)
    }

    fn add_family(&mut self, id: u32, name: &str, edit: &VersionEdit) -> Result<()> {
        let known = self.families.contains_key(&id) && id != 0;
        if known || self.families.values().any(|f| f.name == name) && id != 0 {
            return Err(Error::corruption(format_args!(
                "MANIFEST adds column family {name} ({id}) twice"
            )));
        }
        let mut family = ReplayedFamily::new(name);
        family.comparator = edit.comparator.clone();
        family.log_number = edit.log_number.unwrap_or(0);
        self.families.insert(id, family);
        self.max_column_family = self.max_column_family.max(id);
        Ok(())
    }

    /// Applies the fields that count regardless of what else is in the edit.
    fn apply_database_fields(&mut self, edit: &VersionEdit) {
        if let Some(id) = &edit.db_id {
            self.db_id = Some(id.clone());
        }
        self.tracked.apply(edit);
        self.next_file_number = self.next_file_number.max(edit.next_file_number);
        self.last_sequence = self.last_sequence.max(edit.last_sequence);
        self.any_log_number |= edit.log_number.is_some();
        let keep = edit.min_log_number_to_keep.unwrap_or(0);
        self.min_log_number_to_keep = self.min_log_number_to_keep.max(keep);
        let largest = edit.max_column_family.unwrap_or(0);
        self.max_column_family = self.max_column_family.max(largest);
        let files = edit.new_files.iter().map(|(_, f)| f.number);
        let files = files.chain(edit.blob_files.iter().map(|b| b.number));
        let seen = files.chain(edit.log_number).max().unwrap_or(0);
        self.largest_number = self.largest_number.max(seen);
    }

    fn check_complete(&self) -> Result<()> {
        let missing: Vec<&str> = [
            (self.any_log_number, "log_file_number"),
            (self.next_file_number.is_some(), "next_file_number"),
            (self.last_sequence.is_some(), "last_sequence"),
        ]
        .into_iter()
        .filter_map(|(present, name)| (!present).then_some(name))
        .collect();
        if !missing.is_empty() {
            return Err(Error::corruption(format_args!(
                "no {} entry in MANIFEST",
                missing.join(", ")
            )));
        }
        if self.next_file_number() > filename::MAX_NUMBER_AT_OPEN
            || self.last_sequence() > MAX_SEQUENCE_AT_OPEN
        {
            return Err(Error::corruption(format_args!(
                "file number {} or sequence number {} out of range in MANIFEST",
                self.next_file_number(),
                self.last_sequence()
            )));
        }
        Ok(())
    }
}

/// A manifest that was replayed and may still grow.
#[derive(Debug)]
pub(crate) struct ManifestTail {
    path: PathBuf,
    reader: ManifestReader,
    pub(super) replay: Replay,
}

impl ManifestTail {
    /// Replays the manifest that `CURRENT` names.
    ///
    /// # Errors
    /// `Corruption` and `NotSupported` naming file and offset.
    pub fn read(fs: &dyn Fs, dir: &Path) -> Result<Self> {
        let path = read_current(fs, dir)?;
        let reader = ManifestReader::open(fs, &path).map_err(|e| {
            if e.is_missing_file() {
                let text = format!("CURRENT names {}, which is missing", path.display());
                Error::corruption_in(&filename::current(dir), 0, text)
            } else {
                e
            }
        })?;
        let mut tail = ManifestTail {
            replay: Replay::empty(number_of(&path)),
            path,
            reader,
        };
        tail.replay()?;
        Ok(tail)
    }

    /// The path of the manifest.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Replays what was added to the manifest since it was last read. After an error, the manifest
    /// must be read from the beginning.
    ///
    /// # Errors
    /// The same as [`ManifestTail::read`].
    pub fn go_on(&mut self, fs: &dyn Fs) -> Result<()> {
        let file = fs.open_random(&self.path)?;
        let (from, to) = (self.reader.resume_from(), file.len()?);
        self.reader.resume(Box::new(Part::new(&file, from, to)))?;
        self.replay()
    }

    fn replay(&mut self) -> Result<()> {
        while let Some(edits) = self.reader.next()? {
            for edit in &edits {
                let applied = self.replay.apply(edit);
                applied.map_err(|e| e.in_file(&self.path, Some(self.reader.offset())))?;
            }
        }
        let complete = self.replay.check_complete();
        complete.map_err(|e| e.in_file(&self.path, None))
    }
}

/// What happens to column families that the opener did not list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unlisted {
    /// The database is not opened, because their data could not be kept.
    Refuse,
    /// They are ignored. Nothing is written then.
    Skip,
}

/// Checks that the opener lists every column family, unless unlisted ones are skipped, and that
/// its comparators are those of the database. Returns the options of the column families that
/// were listed.
///
/// # Errors
/// `InvalidArgument` naming the column families.
pub(super) fn check_options(
    families: &BTreeMap<u32, ReplayedFamily>,
    unlisted_are: Unlisted,
    options_of: &dyn Fn(&str) -> Option<Arc<CfOptions>>,
) -> Result<BTreeMap<u32, Arc<CfOptions>>> {
    let mut found = BTreeMap::new();
    let mut unlisted = Vec::new();
    for (&id, family) in families {
        match options_of(&family.name) {
            Some(options) => _ = found.insert(id, options),
            None => unlisted.push(family.name.as_str()),
        }
    }
    if !unlisted.is_empty() && unlisted_are == Unlisted::Refuse {
        return Err(Error::invalid(format_args!(
            "Column families not opened: {}",
            unlisted.join(", ")
        )));
    }
    for (id, options) in &found {
        let (given, family) = (options.comparator.name(), &families[id]);
        if let Some(existing) = &family.comparator
            && existing != given
        {
            // RocksDB's text, by which its users may know it; it does not tell which one is meant.
            let which = match id {
                0 => String::new(), // the default one
                _ => format!(" of column family {}", family.name),
            };
            return Err(Error::invalid(format_args!(
                "{given}: does not match existing comparator {existing}{which}"
            )));
        }
    }
    Ok(found)
}

/// The names of the column families of the database in `dir`, ordered by id.
///
/// # Errors
/// Errors of reading the manifest.
pub(crate) fn list_column_families(fs: &dyn Fs, dir: &Path) -> Result<Vec<String>> {
    let replay = Replay::read(fs, dir)?;
    Ok(replay.families.into_values().map(|f| f.name).collect())
}

/// The number in a manifest's name. `read_current` accepts no other name.
fn number_of(manifest: &Path) -> u64 {
    let name = manifest.file_name().and_then(|n| n.to_str());
    match name.and_then(filename::parse) {
        Some(FileType::Manifest(number)) => number,
        _ => 0,
    }
}
