//! Versions from text, for tests.
//!
//! There is one line per level. `L1: 4:a-c@10 5:d-f)@20#7?!` means: file 4 from user key `a` to
//! `c` with 10 bytes; file 5 from `d` to the exclusive end `f` with 20 bytes, written at the
//! second 7, made with a request for compaction, being compacted. The size is 10 and the time
//! unknown when left out. Level 0 is written newest first; sequence and epoch numbers follow
//! from that.

use super::range::KeyRange;
use super::{ObsoleteFiles, TableFile, Version};
use crate::version::paths::DataPaths;
use crate::version::table_cache::OpenWith;
use std::ops::Bound;
use std::sync::Arc;
use whitewater_storage::key::{MAX_SEQUENCE, ValueType, internal_key};
use whitewater_storage::manifest::FileMetaData;

/// A range that owns its keys.
pub(crate) struct OwnedRange {
    start: Vec<u8>,
    end: Vec<u8>,
    exclusive: bool,
}

impl OwnedRange {
    pub fn borrow(&self) -> KeyRange<'_> {
        KeyRange {
            start: Some(&self.start),
            end: if self.exclusive {
                Bound::Excluded(&self.end)
            } else {
                Bound::Included(&self.end)
            },
        }
    }
}

/// Parses `a-c` or `a-c)`.
pub(crate) fn range_of(text: &str) -> OwnedRange {
    let (start, end) = text.split_once('-').expect("start-end");
    OwnedRange {
        start: start.as_bytes().to_vec(),
        end: end.trim_end_matches(')').as_bytes().to_vec(),
        exclusive: end.ends_with(')'),
    }
}

/// The manifest's description of a file with this range.
pub(crate) fn file_meta(number: u64, range: &str, size: u64, seq: u64) -> FileMetaData {
    let r = range_of(range);
    let largest = if r.exclusive {
        internal_key(&r.end, MAX_SEQUENCE, ValueType::RangeDeletion)
    } else {
        internal_key(&r.end, seq, ValueType::Value)
    };
    FileMetaData {
        number,
        size,
        smallest: internal_key(&r.start, seq, ValueType::Value),
        largest,
        smallest_seqno: seq,
        largest_seqno: seq,
        epoch_number: seq,
        ..FileMetaData::default()
    }
}

/// A version with 7 levels.
pub(crate) fn parse_version(text: &str) -> Arc<Version> {
    parse_version_with(text, 7)
}

/// A version with `num_levels` levels.
pub(crate) fn parse_version_with(text: &str, num_levels: usize) -> Arc<Version> {
    let obsolete = Arc::new(ObsoleteFiles::default());
    let dir = DataPaths::default().first().clone();
    let mut levels = vec![Vec::new(); num_levels];
    for line in text.lines().filter(|l| !l.trim().is_empty()) {
        let (level, files) = line.trim().split_once(':').expect("level");
        let level: usize = level[1..].parse().expect("level number");
        for (i, word) in files.split_whitespace().enumerate() {
            let busy = word.ends_with('!');
            let word = word.trim_end_matches('!');
            let (number, rest) = word.trim_end_matches('?').split_once(':').expect("file");
            let (rest, time) = rest.split_once('#').unwrap_or((rest, "0"));
            let (range, size) = rest.split_once('@').unwrap_or((rest, "10"));
            let seq = if level == 0 { 1000 - i as u64 } else { 10 };
            let mut meta = file_meta(
                number.parse().expect("number"),
                range,
                size.parse().expect("size"),
                seq,
            );
            meta.need_compaction = word.ends_with('?');
            meta.oldest_ancester_time = time.parse().expect("time");
            let file = TableFile::new(meta, level, &dir, obsolete.clone());
            file.set_job(busy.then_some((file.meta.number, level + 1)));
            levels[level].push(file);
        }
    }
    Arc::new(Version::new(levels, OpenWith::default()))
}
