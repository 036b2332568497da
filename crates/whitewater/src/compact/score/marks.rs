//! Single files that are due for compaction, whatever the sizes of the levels are.
//!
//! Marks are positions in the version for which they were made. Files that are being compacted
//! have no marks.

use super::{Moment, reads};
use crate::options::CfOptions;
use crate::version::{TableFile, Version};
use std::sync::Arc;
use whitewater_storage::key::{SequenceNumber, UserComparator};

/// The level of a file and its position in the level.
pub(crate) type Place = (usize, usize);

/// The files that are due, by reason, and when the next one will be.
#[derive(Debug, Clone, Default)]
pub(crate) struct Marks {
    /// Files that ask for compaction.
    pub requested: Vec<Place>,
    /// Files with no older data below, which hold entries that were kept only for snapshots.
    pub bottommost: Vec<Place>,
    /// Files with data older than `ttl`.
    pub expired: Vec<Place>,
    /// Files written longer ago than `periodic_compaction_seconds`.
    pub periodic: Vec<Place>,
    /// Files that refer to the oldest blob file, because too much of the old blob files is garbage.
    pub forced_blob_gc: Vec<Place>,
    /// Files that reads have looked into in vain too often ([`reads`](super::reads)).
    pub read_triggered: Vec<Place>,
    /// The time at which the next file will be too old, in seconds since 1970.
    pub next_due: Option<u64>,
    /// The largest sequence number of the files that will be `bottommost` when no snapshot below it
    /// is left; 0 if there are none.
    pub kept_by_snapshots: SequenceNumber,
}

impl Marks {
    /// Whether no file is due.
    pub fn is_empty(&self) -> bool {
        self.requested.is_empty()
            && self.bottommost.is_empty()
            && self.expired.is_empty()
            && self.periodic.is_empty()
            && self.forced_blob_gc.is_empty()
            && self.read_triggered.is_empty()
    }

    /// Records that a file will be too old at `due`.
    fn waits_until(&mut self, due: u64) {
        self.next_due = Some(self.next_due.map_or(due, |next| next.min(due)));
    }
}

/// Whether a file from the second `time` (0 is unknown) is older than `limit` seconds; if not,
/// the second at which it will be. A limit of 0 is no limit.
fn age(time: u64, limit: u64, now: u64) -> Result<bool, u64> {
    if time == 0 || limit == 0 {
        return Ok(false);
    }
    let due = time.saturating_add(limit).saturating_add(1);
    if now >= due { Ok(true) } else { Err(due) }
}

/// The time at which `file` was written, in seconds since 1970; 0 is unknown.
fn written_at(file: &TableFile) -> u64 {
    match file.meta.file_creation_time {
        0 => file.meta.oldest_ancester_time,
        time => time,
    }
}

/// The idle files of `levels` with their positions.
pub(super) fn idle(
    version: &Version,
    levels: std::ops::Range<usize>,
) -> impl Iterator<Item = (Place, &Arc<TableFile>)> {
    levels.flat_map(|level| {
        let files = version.levels[level].iter().enumerate();
        let idle = files.filter(|(_, f)| !f.being_compacted());
        idle.map(move |(i, f)| ((level, i), f))
    })
}

/// Files made with a request that a deeper level with data can answer. In the last level with
/// data, files are already where they should be.
fn requested(version: &Version, compacted: usize) -> Vec<Place> {
    let levels = version.last_of(compacted).max(1);
    let asks = idle(version, 0..levels).filter(|(_, f)| f.asks_for_compaction());
    asks.map(|(place, _)| place).collect()
}

fn periodic(version: &Version, options: &CfOptions, moment: &Moment, marks: &mut Marks) {
    let levels = options.compacted_levels(version.levels.len());
    for (place, file) in idle(version, 0..levels) {
        match age(
            written_at(file),
            options.periodic_compaction_seconds,
            moment.now,
        ) {
            Ok(true) => marks.periodic.push(place),
            Ok(false) => {}
            Err(due) => marks.waits_until(due),
        }
    }
}

/// Whether `file` is old enough to be compacted for entries that were kept only for snapshots.
/// If it is not, records when it will be.
fn rested(file: &TableFile, options: &CfOptions, moment: &Moment, marks: &mut Marks) -> bool {
    let delay = u64::from(options.bottommost_file_compaction_delay);
    match age(written_at(file), delay, moment.now) {
        Ok(old) => old || delay == 0,
        Err(due) => {
            marks.waits_until(due);
            false
        }
    }
}

/// The marks of leveled compaction.
pub(super) fn leveled(
    version: &Version,
    options: &CfOptions,
    user: &UserComparator,
    moment: &Moment,
) -> Marks {
    let levels = options.compacted_levels(version.levels.len());
    let mut marks = Marks {
        requested: requested(version, levels),
        ..Marks::default()
    };
    // Data in the last level with data cannot go deeper.
    for (place, file) in idle(version, 0..version.last_of(levels)) {
        match age(file.meta.oldest_ancester_time, options.ttl, moment.now) {
            Ok(true) => marks.expired.push(place),
            Ok(false) => {}
            Err(due) => marks.waits_until(due),
        }
    }
    periodic(version, options, moment, &mut marks);
    marks.forced_blob_gc = forced_blob_gc(version, options);
    marks.read_triggered = reads::due(version, options, user);
    if options.reserves_last_level() {
        return marks; // no file is in its final place
    }
    for (place, file) in idle(version, 0..levels) {
        let largest = file.meta.largest_seqno;
        if largest == 0 || !is_bottommost(version, user, place) {
            continue;
        }
        if largest <= moment.oldest_snapshot {
            if file.meta.number < moment.files_below && rested(file, options, moment, &mut marks) {
                marks.bottommost.push(place);
            }
        } else {
            marks.kept_by_snapshots = marks.kept_by_snapshots.max(largest);
        }
    }
    marks
}

/// The files that refer to the oldest blob file, if the part of the blob files that garbage
/// collection takes for old has so much garbage that it must go. Once these files are compacted,
/// the oldest blob files are gone, up to the next one that a table names. RocksDB's rule.
fn forced_blob_gc(version: &Version, options: &CfOptions) -> Vec<Place> {
    let threshold = options.blob_garbage_collection_force_threshold;
    if !options.enable_blob_garbage_collection || threshold >= 1.0 {
        return Vec::new();
    }
    let old = version
        .blobs
        .count_old(options.blob_garbage_collection_age_cutoff);
    let Some(oldest) = version.blobs.iter().next().filter(|_| old > 0) else {
        return Vec::new();
    };
    let sums = version
        .blobs
        .iter()
        .take(old)
        .fold((0.0, 0.0), |(all, garbage), known| {
            (
                all + known.file.meta.bytes as f64,
                garbage + known.garbage_bytes as f64,
            )
        });
    // Without garbage there is nothing to gain, and with a threshold of 0 there would be no end.
    if sums.1 == 0.0 || sums.1 < threshold * sums.0 {
        return Vec::new();
    }
    let number = oldest.file.meta.number;
    let refers = idle(version, 0..version.levels.len());
    let refers = refers.filter(|(_, file)| file.meta.oldest_blob_file == number);
    refers.map(|(place, _)| place).collect()
}

/// Whether no older file may hold keys in the range of the file at `place`.
fn is_bottommost(version: &Version, user: &UserComparator, (level, i): Place) -> bool {
    // As in RocksDB, only the oldest file of level 0 is considered.
    if level == 0 && i + 1 < version.num_files(0) {
        return false;
    }
    let range = version.levels[level][i].range();
    let overlaps = |below| !version.overlapping_span(below, user, range).is_empty();
    !(level + 1..version.levels.len()).any(overlaps)
}

/// The marks of universal compaction.
pub(super) fn universal(version: &Version, options: &CfOptions, moment: &Moment) -> Marks {
    let levels = options.compacted_levels(version.levels.len());
    let mut marks = Marks {
        requested: requested(version, levels),
        ..Marks::default()
    };
    periodic(version, options, moment, &mut marks);
    marks
}

/// The marks of FIFO compaction. Files that are already too old are counted by the score.
pub(super) fn fifo(version: &Version, options: &CfOptions, moment: &Moment) -> Marks {
    let mut marks = Marks::default();
    // The first file that is not too old keeps newer ones from being deleted.
    let expired = expired_tail(version, options, moment);
    let next = version.levels[0].iter().rev().nth(expired);
    if let Some(file) = next
        && let Err(due) = age(file.meta.oldest_ancester_time, options.ttl, moment.now)
    {
        marks.waits_until(due);
    }
    marks
}

/// The number of oldest files of level 0 that are too old, up to the first that is being
/// compacted.
pub(crate) fn expired_tail(version: &Version, options: &CfOptions, moment: &Moment) -> usize {
    let oldest = version.levels[0].iter().rev();
    let old = |f: &&Arc<TableFile>| {
        let time = f.meta.oldest_ancester_time;
        !f.being_compacted() && age(time, options.ttl, moment.now) == Ok(true)
    };
    oldest.take_while(old).count()
}
