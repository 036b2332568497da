//! Single files that want compaction whatever the levels' sizes.
//!
//! Marks are positions in the version they were made for. Files that are being
//! compacted have none.

use super::Moment;
use crate::options::CfOptions;
use crate::version::{TableFile, Version};
use std::sync::Arc;
use whitewater_storage::key::{SequenceNumber, UserComparator};

/// Level and place in it.
pub(crate) type Place = (usize, usize);

/// Files that are due, by reason, and when the next one will be.
#[derive(Debug, Clone, Default)]
pub(crate) struct Marks {
    /// Somebody asked for it when the file was made.
    pub requested: Vec<Place>,
    /// In the last place of its keys, with entries that only snapshots kept.
    pub bottommost: Vec<Place>,
    /// Holds data older than `ttl`.
    pub expired: Vec<Place>,
    /// Was written longer ago than `periodic_compaction_seconds`.
    pub periodic: Vec<Place>,
    /// Seconds since 1970 at which the next file will be too old.
    pub next_due: Option<u64>,
    /// Largest sequence number of files that will be `bottommost` when no
    /// snapshot below it is left; 0 for no files.
    pub kept_by_snapshots: SequenceNumber,
}

impl Marks {
    /// Whether no file is due.
    pub fn is_empty(&self) -> bool {
        self.requested.is_empty()
            && self.bottommost.is_empty()
            && self.expired.is_empty()
            && self.periodic.is_empty()
    }

    /// Takes note of a file that will be too old at `due`.
    fn waits_until(&mut self, due: u64) {
        self.next_due = Some(self.next_due.map_or(due, |next| next.min(due)));
    }
}

/// Whether a file from the second `time` (0 is unknown) is older than `limit`
/// seconds, or the second at which it will be. 0 is no limit.
fn age(time: u64, limit: u64, now: u64) -> Result<bool, u64> {
    if time == 0 || limit == 0 {
        return Ok(false);
    }
    let due = time.saturating_add(limit).saturating_add(1);
    if now >= due { Ok(true) } else { Err(due) }
}

/// Seconds since 1970 when `file` was written; 0 is unknown.
fn written_at(file: &TableFile) -> u64 {
    match file.meta.file_creation_time {
        0 => file.meta.oldest_ancester_time,
        time => time,
    }
}

/// The idle files of `levels` with their places.
fn idle(
    version: &Version,
    levels: std::ops::Range<usize>,
) -> impl Iterator<Item = (Place, &Arc<TableFile>)> {
    levels.flat_map(|level| {
        let files = version.levels[level].iter().enumerate();
        let idle = files.filter(|(_, f)| !f.being_compacted());
        idle.map(move |(i, f)| ((level, i), f))
    })
}

/// Files made with a request that a deeper level with data can answer. The last
/// level with data has the files where they should be.
fn requested(version: &Version, compacted: usize) -> Vec<Place> {
    let levels = version.last_of(compacted).max(1);
    let asks = idle(version, 0..levels).filter(|(_, f)| f.meta.need_compaction);
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

/// Whether `file` is as old as it must be for what only snapshots kept in it; notes
/// when it will be.
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

/// With levels of growing size.
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
    // Data in the last level with data has nowhere to go.
    for (place, file) in idle(version, 0..version.last_of(levels)) {
        match age(file.meta.oldest_ancester_time, options.ttl, moment.now) {
            Ok(true) => marks.expired.push(place),
            Ok(false) => {}
            Err(due) => marks.waits_until(due),
        }
    }
    periodic(version, options, moment, &mut marks);
    if options.reserves_last_level() {
        return marks; // nothing is in its last place
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

/// Whether no older file may hold keys in the range of the file at `place`.
fn is_bottommost(version: &Version, user: &UserComparator, (level, i): Place) -> bool {
    // Of level 0 only the oldest file is looked at, as RocksDB does.
    if level == 0 && i + 1 < version.num_files(0) {
        return false;
    }
    let range = version.levels[level][i].range();
    let overlaps = |below| !version.overlapping_span(below, user, range).is_empty();
    !(level + 1..version.levels.len()).any(overlaps)
}

/// With universal compaction.
pub(super) fn universal(version: &Version, options: &CfOptions, moment: &Moment) -> Marks {
    let levels = options.compacted_levels(version.levels.len());
    let mut marks = Marks {
        requested: requested(version, levels),
        ..Marks::default()
    };
    periodic(version, options, moment, &mut marks);
    marks
}

/// With FIFO compaction: its score counts what is too old already.
pub(super) fn fifo(version: &Version, options: &CfOptions, moment: &Moment) -> Marks {
    let mut marks = Marks::default();
    // The first that is not too old; it keeps newer ones from being deleted.
    let expired = expired_tail(version, options, moment);
    let next = version.levels[0].iter().rev().nth(expired);
    if let Some(file) = next
        && let Err(due) = age(file.meta.oldest_ancester_time, options.ttl, moment.now)
    {
        marks.waits_until(due);
    }
    marks
}

/// How many of the oldest files of level 0 are too old, none of them being
/// compacted.
pub(crate) fn expired_tail(version: &Version, options: &CfOptions, moment: &Moment) -> usize {
    let oldest = version.levels[0].iter().rev();
    let old = |f: &&Arc<TableFile>| {
        let time = f.meta.oldest_ancester_time;
        !f.being_compacted() && age(time, options.ttl, moment.now) == Ok(true)
    };
    oldest.take_while(old).count()
}
