//! Builds the next version from a version and edits.
//!
//! The builder collects what edits say as descriptions of files. Only
//! [`VersionBuilder::finish`] turns new ones into [`TableFile`]s, so a replayed history leaves
//! no trace of files that were added and deleted again.
//!
//! Invariants of a finished version, checked here:
//! * I1: level 0 is ordered newest first, and overlapping neighbours there do not share an
//!   epoch number.
//! * I2: deeper levels are ordered by smallest key and do not overlap.
//! * I3: every file has an epoch number.

use super::blobs::BlobBuilder;
use super::{ObsoleteFiles, TableFile, Version, newest_first, newest_first_by_seqno};
use crate::version::table_cache::OpenWith;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use whitewater_storage::key::{InternalComparator, MAX_SEQUENCE, TAG_SIZE};
use whitewater_storage::manifest::{FileMetaData, VersionEdit};
use whitewater_storage::planted;
use whitewater_storage::{Error, Result};

/// Collects edits on top of a base version.
#[derive(Debug, Clone)]
pub(crate) struct VersionBuilder {
    base: Option<Arc<Version>>,
    /// The current level of every file.
    location: HashMap<u64, u32>,
    /// Files of the base version that left their level.
    removed: HashSet<u64>,
    /// Added files, by level and number.
    added: BTreeMap<(u32, u64), FileMetaData>,
    blobs: BlobBuilder,
    /// The last value of `full_history_ts_low`.
    history_low: Vec<u8>,
}

impl VersionBuilder {
    /// A builder that starts empty, for replaying a manifest.
    pub fn empty() -> Self {
        VersionBuilder {
            base: None,
            location: HashMap::new(),
            removed: HashSet::new(),
            added: BTreeMap::new(),
            blobs: BlobBuilder::default(),
            history_low: Vec::new(),
        }
    }

    /// A builder that starts from `base`.
    pub fn on(base: Arc<Version>) -> Self {
        let mut builder = VersionBuilder::empty();
        for (level, files) in base.levels.iter().enumerate() {
            let located = files.iter().map(|f| (f.meta.number, level as u32));
            builder.location.extend(located);
        }
        builder.blobs = BlobBuilder::on(&base.blobs);
        builder.history_low.clone_from(&base.history_low);
        builder.base = Some(base);
        builder
    }

    /// Applies `edit`: first blob files and their garbage, then deletions of tables, then
    /// additions, so that one edit can move a table; and the limit of the history.
    ///
    /// # Errors
    /// `Corruption` for a file that is deleted but absent, or added but present, or whose
    /// description makes no sense.
    pub fn apply(&mut self, edit: &VersionEdit) -> Result<()> {
        for file in &edit.blob_files {
            self.blobs.add(file)?;
        }
        for garbage in &edit.blob_garbage {
            self.blobs.add_garbage(garbage)?;
        }
        if let Some(low) = &edit.full_history_ts_low {
            self.history_low.clone_from(low);
        }
        for &(level, number) in &edit.deleted_files {
            self.delete(level, number)?;
        }
        for (level, meta) in &edit.new_files {
            check_file(meta)?;
            self.add(*level, meta)?;
        }
        Ok(())
    }

    fn delete(&mut self, level: u32, number: u64) -> Result<()> {
        match self.location.get(&number) {
            Some(&at) if at == level => {}
            other => {
                let place = match other {
                    Some(at) => format!("it is on level {at}"),
                    None => "it is not in the LSM tree".to_owned(),
                };
                return Err(Error::corruption(format_args!(
                    "Cannot delete table file #{number} from level {level} since {place}"
                )));
            }
        }
        self.location.remove(&number);
        if self.added.remove(&(level, number)).is_none() {
            self.removed.insert(number);
        }
        Ok(())
    }

    fn add(&mut self, level: u32, meta: &FileMetaData) -> Result<()> {
        if let Some(at) = self.location.insert(meta.number, level) {
            return Err(Error::corruption(format_args!(
                "Cannot add table file #{} to level {level} since it is already on level {at}",
                meta.number
            )));
        }
        self.added.insert((level, meta.number), meta.clone());
        Ok(())
    }

    /// The version that the edits add up to, with `num_levels` levels.
    ///
    /// # Errors
    /// `InvalidArgument` if a file is on a level that does not exist; `NotSupported` if a file's
    /// keys lack the timestamps of `comparator`; `Corruption` if an invariant of this module does
    /// not hold.
    pub fn finish(
        mut self,
        comparator: &InternalComparator,
        num_levels: usize,
        open_with: OpenWith,
        obsolete: &Arc<ObsoleteFiles>,
    ) -> Result<Version> {
        self.check_levels(num_levels)?;
        self.check_timestamps(comparator)?;
        self.number_epochs(num_levels)?;
        let shared = self.base_files();
        let mut levels = vec![Vec::new(); num_levels];
        if let Some(base) = &self.base {
            for (level, files) in base.levels.iter().enumerate() {
                let stays = |f: &&Arc<TableFile>| !self.removed.contains(&f.meta.number);
                levels[level].extend(files.iter().filter(stays).cloned());
            }
        }
        for ((level, number), meta) in self.added {
            let file = match shared.get(&number) {
                Some(file) if file.meta == meta => file.clone(),
                _ => {
                    let dir = open_with.paths.dir(meta.path_id);
                    TableFile::new(meta, level as usize, dir, obsolete.clone())
                }
            };
            file.set_level(level as usize);
            levels[level as usize].push(file);
        }
        for (level, files) in levels.iter_mut().enumerate() {
            sort_and_check(comparator, level, files)?;
        }
        let first = open_with.paths.first();
        let blobs = self.blobs.finish(levels.iter().flatten(), first, obsolete);
        let mut version = Version::new(levels, open_with).with_blobs(blobs);
        version.history_low = self.history_low;
        Ok(version)
    }

    /// Files of the base version that an edit removed. They may have been moved.
    fn base_files(&self) -> HashMap<u64, Arc<TableFile>> {
        let Some(base) = &self.base else {
            return HashMap::new();
        };
        let moved = |f: &&Arc<TableFile>| self.removed.contains(&f.meta.number);
        let files = base.levels.iter().flatten().filter(moved);
        files.map(|f| (f.meta.number, f.clone())).collect()
    }

    fn check_levels(&self, num_levels: usize) -> Result<()> {
        let too_deep = |&&(level, _): &&(u32, u64)| level as usize >= num_levels;
        let base_levels = self.base.as_ref().map_or(0, |b| b.levels.len());
        if base_levels > num_levels {
            return Err(Error::invalid("a version cannot lose levels"));
        }
        match self.added.keys().find(too_deep) {
            Some((level, number)) => Err(Error::invalid(format_args!(
                "db has more levels than options.num_levels: table file #{number} is on \
                 level {level}, num_levels is {num_levels}"
            ))),
            None => Ok(()),
        }
    }

    /// Refuses tables whose keys lack the timestamps that the comparator expects.
    fn check_timestamps(&self, comparator: &InternalComparator) -> Result<()> {
        let stripped = |meta: &&FileMetaData| meta.timestamps_stripped;
        match self.added.values().find(stripped) {
            Some(meta) if comparator.user.timestamp_size() > 0 => {
                Err(Error::not_supported(format_args!(
                    "table file #{}: its keys' timestamps were not persisted",
                    meta.number
                )))
            }
            _ => Ok(()),
        }
    }

    /// Upholds I3. Files written before RocksDB 7.10 have no epoch numbers. If a file lacks one,
    /// all files are renumbered: deeper levels first, then level 0 from the oldest by sequence
    /// numbers.
    fn number_epochs(&mut self, num_levels: usize) -> Result<()> {
        let Some(missing) = self.added.values().find(|m| m.epoch_number == 0) else {
            return Ok(());
        };
        if self.base.is_some() {
            return Err(Error::invalid(format_args!(
                "table file #{} has no epoch number",
                missing.number
            )));
        }
        let mut next = 1;
        for level in (1..num_levels as u32).rev() {
            let mut any = false;
            for (_, meta) in self.added.range_mut((level, 0)..=(level, u64::MAX)) {
                meta.epoch_number = next;
                any = true;
            }
            next += u64::from(any);
        }
        let mut level0: Vec<_> = self.added.range_mut((0, 0)..=(0, u64::MAX)).collect();
        level0.sort_by(|(_, a), (_, b)| newest_first_by_seqno(b, a));
        for (_, meta) in level0 {
            meta.epoch_number = next;
            next += 1;
        }
        Ok(())
    }
}

/// An upper limit to the size of a table, so that sums of sizes do not overflow. Bytes.
const MAX_TABLE_SIZE: u64 = 1 << 48;

/// Refuses descriptions of files that the engine cannot read or that make no sense.
fn check_file(meta: &FileMetaData) -> Result<()> {
    let number = meta.number;
    if meta.size > MAX_TABLE_SIZE {
        return Err(Error::corruption(format_args!(
            "table file #{number} of {} bytes",
            meta.size
        )));
    }
    if meta.smallest_seqno.max(meta.largest_seqno) > MAX_SEQUENCE {
        return Err(Error::corruption(format_args!(
            "table file #{number} has sequence numbers out of range"
        )));
    }
    if meta.smallest.len() < TAG_SIZE || meta.largest.len() < TAG_SIZE {
        return Err(Error::corruption(format_args!(
            "table file #{number} has a boundary that is not an internal key"
        )));
    }
    Ok(())
}

/// Puts the files of a level in order and upholds I1 and I2.
fn sort_and_check(
    comparator: &InternalComparator,
    level: usize,
    files: &mut [Arc<TableFile>],
) -> Result<()> {
    let inverted = |f: &&Arc<TableFile>| {
        // A table of one entry is in order with any comparator.
        f.meta.smallest != f.meta.largest
            && comparator.compare(&f.meta.smallest, &f.meta.largest) == Ordering::Greater
    };
    if let Some(f) = files.iter().find(inverted) {
        return Err(Error::corruption(format_args!(
            "table file #{} on level {level} ends before it starts",
            f.meta.number
        )));
    }
    let bad_pair: fn(&InternalComparator, &TableFile, &TableFile) -> bool = if level == 0 {
        files.sort_by(|a, b| newest_first(&a.meta, &b.meta));
        planted!(Level0OldestFirst => files.reverse());
        |c, a, b| {
            a.meta.epoch_number == b.meta.epoch_number && a.range().overlaps(&c.user, &b.range())
        }
    } else {
        files.sort_by(|a, b| comparator.compare(&a.meta.smallest, &b.meta.smallest));
        |c, a, b| c.compare(&a.meta.largest, &b.meta.smallest) != Ordering::Less
    };
    match files
        .windows(2)
        .find(|w| bad_pair(comparator, &w[0], &w[1]))
    {
        Some(w) => Err(Error::corruption(format_args!(
            "table files #{} and #{} on level {level} overlap{}",
            w[0].meta.number,
            w[1].meta.number,
            if level == 0 {
                " and share an epoch number"
            } else {
                ""
            }
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
