//! Choosing the levels and numbers of ingested tables, while writers are kept out.

use super::incoming::Incoming;
use super::{IngestSpec, dropped};
use crate::clock::unix_seconds;
use crate::column_family::ColumnFamilyData;
use crate::db::failure::Source;
use crate::db::internal_stats::Ingested;
use crate::db::{Engine, background};
use crate::external::candidate::Candidate;
use crate::external::place::{Placed, check_behind, place};
use crate::listener::event::Happened;
use crate::listener::{ExternalFileIngestionInfo, FlushReason};
use crate::memtable::Memtable;
use crate::options::compaction::CompactionStyle;
use crate::options::file_checksum;
use crate::sync_points::Point;
use crate::version::range::KeyRange;
use crate::write::env::WalEnv;
use std::sync::Arc;
use whitewater_storage::key::{MAX_SEQUENCE, SequenceNumber, seek_key, user_key};
use whitewater_storage::manifest::{FileMetaData, VersionEdit};
use whitewater_storage::planted;
use whitewater_storage::{Error, Result, filename};

/// RocksDB's epoch number of tables that were ingested behind: older than all others.
const BEHIND: u64 = 1;

/// Ingests tables while writers are kept out.
pub(super) struct Entrance<'a> {
    pub engine: &'a Arc<Engine>,
    pub cf: &'a Arc<ColumnFamilyData>,
    pub spec: IngestSpec,
    /// The last number that belongs to a write.
    pub last: SequenceNumber,
}

impl Entrance<'_> {
    /// Ingests all of `incoming`, with `next` as the memtable of later writes; returns
    /// their levels and the last number that is taken.
    // Long: the steps while writers are kept out, in their order.
    pub fn admit(
        &self,
        mut incoming: Incoming<'_>,
        next: Option<Arc<Memtable>>,
        obsolete_logs: &mut Option<u64>,
    ) -> Result<(Vec<usize>, SequenceNumber)> {
        let engine = self.engine;
        let ranges: Vec<_> = incoming.tables.iter().map(|(c, _)| c.range()).collect();
        // Tables that are ingested behind are below memtables and tables alike.
        let mut in_memory = !self.spec.ingest_behind && self.is_in_memory(&ranges)?;
        planted!(IngestedUnderMemtable => in_memory = false);
        if in_memory && !self.spec.allow_blocking_flush {
            return Err(Error::invalid("External file requires flush"));
        }
        // Check that the request is possible before anything is done for it.
        let placed = self.place(&ranges)?;
        self.check_times(&ranges, &placed, in_memory)?;
        let numbers = self.numbers(&incoming.tables, &placed, in_memory)?;
        let placed = if in_memory {
            let reason = FlushReason::ExternalFileIngestion;
            *obsolete_logs = background::flush::flush_here(engine, self.cf.id, reason)?;
            self.place(&ranges)?
        } else {
            placed
        };
        drop(ranges);
        // A power cut must not keep the tables and lose writes before them.
        let mut durable = self.last;
        planted!(IngestedBeforeLog => durable = 0);
        engine.sync_wal(durable)?;
        let now = unix_seconds();
        let new_file =
            |((table, number), (placed, &seq)): (&(&Candidate, u64), (&Placed, &u64))| {
                let (smallest, largest) = table.bounds(seq);
                let mut meta = FileMetaData {
                    number: *number,
                    size: table.size,
                    smallest,
                    largest,
                    smallest_seqno: seq,
                    largest_seqno: seq,
                    epoch_number: if self.spec.ingest_behind {
                        BEHIND
                    } else {
                        engine.files.versions.new_epoch_number(self.cf.id)
                    },
                    oldest_ancester_time: now,
                    file_creation_time: now,
                    tail_size: table.tail_size,
                    ..FileMetaData::default()
                };
                file_checksum::note(table.file_checksum.clone(), &mut meta);
                (placed.level as u32, meta)
            };
        let edit = VersionEdit {
            column_family: self.cf.id,
            new_files: (incoming.tables.iter())
                .zip(placed.iter().zip(&numbers))
                .map(new_file)
                .collect(),
            ..VersionEdit::default()
        };
        let last = numbers.iter().copied().fold(self.last, u64::max);
        // From here on the files belong to the version set.
        incoming.handed_over = true;
        let keys = incoming.tables.iter().map(|(c, _)| c.num_entries).sum();
        self.record(edit, next, last, keys)?;
        for (((table, number), placed), seq) in incoming.tables.iter().zip(&placed).zip(&numbers) {
            engine.observers.note(|| {
                Happened::Ingested(ExternalFileIngestionInfo {
                    cf_name: self.cf.name.clone(),
                    external_file_path: table.path.clone(),
                    internal_file_path: filename::table(self.cf.paths.first(), *number),
                    global_seqno: *seq,
                    level: placed.level,
                })
            });
        }
        if last > self.last {
            engine.options.hook.hit(Point::Ingesting, last);
            // No other thread has reserved a number: everything before is visible.
            let published = engine.commit.publication.finish(self.last + 1, last);
            published.map_err(|_| engine.first_error())?;
        }
        Ok((placed.iter().map(|p| p.level).collect(), last))
    }

    /// Records `edit`, and installs its tables for readers together with `next` (G1).
    fn record(
        &self,
        edit: VersionEdit,
        mut next: Option<Arc<Memtable>>,
        last: SequenceNumber,
        keys: u64,
    ) -> Result<()> {
        let engine = self.engine;
        let at_level0 = |(level, _): &&(u32, FileMetaData)| *level == 0;
        let came_in = Ingested {
            bytes: edit.new_files.iter().map(|(_, f)| f.size).sum(),
            files: edit.new_files.len() as u64,
            level0_files: edit.new_files.iter().filter(at_level0).count() as u64,
            keys,
        };
        let recorded =
            (engine.files.versions).log_and_apply(vec![edit], last, &[], &mut |changed| {
                // Declared before the guard, so it is dropped after the mutex is free.
                let mut old = Vec::new();
                let mut unused = None;
                let mut state = engine.lock_state();
                for new in changed {
                    let Some(cf) = state.cfs.get_mut(&new.id) else {
                        continue;
                    };
                    old.push(cf.set_version(new.current.clone()));
                    if let Some(next) = next.take() {
                        unused = Some(std::mem::replace(&mut cf.mem, next));
                    }
                    cf.publish();
                }
                if let Some(cf) = state.cfs.get_mut(&self.cf.id) {
                    cf.stats.add_ingested(came_in);
                }
                engine.recompute_stall(&mut state, changed.iter().map(|new| new.id));
                drop(state);
                drop(unused);
            });
        recorded.inspect_err(|e| engine.report(Source::Manifest, e, "recording an ingestion"))
    }

    /// Whether a memtable has a key in one of `ranges`, or a range tombstone that overlaps
    /// one.
    fn is_in_memory(&self, ranges: &[KeyRange<'_>]) -> Result<bool> {
        let memtables = {
            let state = self.engine.lock_state();
            let cf = state.cfs.get(&self.cf.id);
            cf.map_or_else(Vec::new, |cf| cf.imm.clone())
        };
        for memtable in &memtables {
            if self.overlaps(memtable, ranges)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn overlaps(&self, memtable: &Memtable, ranges: &[KeyRange<'_>]) -> Result<bool> {
        let comparator = &self.cf.comparator.user;
        for tombstone in memtable.raw_tombstones()? {
            let deleted = KeyRange {
                start: Some(&tombstone.start),
                end: std::ops::Bound::Excluded(&tombstone.end),
            };
            if ranges
                .iter()
                .any(|range| range.overlaps(comparator, &deleted))
            {
                return Ok(true);
            }
        }
        let mut entries = memtable.iter();
        for range in ranges {
            match range.start {
                Some(start) => {
                    let newest = comparator.first_version(comparator.without_timestamp(start));
                    entries.seek(&seek_key(&newest, MAX_SEQUENCE));
                }
                None => entries.seek_to_first(),
            }
            if entries.valid() && !range.ends_before(comparator, user_key(entries.key())) {
                return Ok(true);
            }
            entries.status()?;
        }
        Ok(false)
    }

    fn place(&self, ranges: &[KeyRange<'_>]) -> Result<Vec<Placed>> {
        let state = self.engine.lock_state();
        let cf = state.cfs.get(&self.cf.id).ok_or_else(|| dropped(self.cf))?;
        let comparator = &self.cf.comparator.user;
        let num_levels = cf.version.levels.len();
        if self.spec.ingest_behind {
            check_behind(&cf.version, comparator, ranges)?;
            let last = Placed {
                level: num_levels - 1,
                overlaps: false,
            };
            return Ok(vec![last; ranges.len()]);
        }
        let levels = match cf.options().compaction_style {
            // FIFO compaction deletes by the order of level 0.
            CompactionStyle::Fifo => 0..1,
            _ => cf.levels.base_level..cf.options().compacted_levels(num_levels),
        };
        Ok(place(&cf.version, comparator, levels, ranges))
    }

    /// Refuses to add versions of existing keys, where keys have timestamps: later versions
    /// must be newer, since look-ups stop at the first source that knows a key. These are
    /// RocksDB's rules.
    fn check_times(
        &self,
        ranges: &[KeyRange<'_>],
        placed: &[Placed],
        in_memory: bool,
    ) -> Result<()> {
        let comparator = &self.cf.comparator.user;
        if comparator.timestamp_size() == 0 {
            return Ok(());
        }
        for (i, range) in ranges.iter().enumerate() {
            if ranges[..i].iter().any(|r| r.overlaps(comparator, range)) {
                return Err(Error::not_supported(
                    "ingesting tables with timestamps whose ranges of keys overlap each other",
                ));
            }
        }
        if in_memory || placed.iter().any(|p| p.overlaps) {
            Err(Error::invalid(
                "where keys have timestamps, ingested tables must not overlap the keys that are \
                 there, whatever their timestamps",
            ))
        } else {
            Ok(())
        }
    }

    /// Returns the number of each table. A number above all writes hides a table from
    /// snapshots, including snapshots that may be taken at any moment. So a table gets 0
    /// only if the caller does not need consistent snapshots, or allows no number.
    fn numbers(
        &self,
        tables: &[(&Candidate, u64)],
        placed: &[Placed],
        in_memory: bool,
    ) -> Result<Vec<SequenceNumber>> {
        planted!(IngestedWithoutNumber => return Ok(vec![0; tables.len()]));
        if self.spec.ingest_behind {
            return Ok(vec![0; tables.len()]);
        }
        let overlap = in_memory || placed.iter().any(|p| p.overlaps);
        // Transactions tell what is new by its number.
        let asked_for = self.engine.snapshots.has_boundaries();
        let seen = asked_for || self.spec.snapshot_consistency && self.engine.snapshots.count() > 0;
        let can = self.spec.allow_global_seqno && tables.iter().all(|(c, _)| c.renumbers);
        if !can && (overlap || seen) {
            return Err(Error::invalid(if self.spec.allow_global_seqno {
                "External SST file V1 does not support global seqno"
            } else {
                "Global seqno is required, but disabled"
            }));
        }
        // Where tables can be ingested behind, the number 0 is reserved for them.
        let shared = !self.cf.options().reserves_last_level();
        let consistent = self.spec.snapshot_consistency || asked_for;
        if !can || shared && !(overlap || consistent) {
            return Ok(vec![0; tables.len()]);
        }
        // Tables that overlap each other need an order.
        let step = u64::from(overlap);
        let number = |i: usize| self.last + 1 + step * i as u64;
        let numbers: Vec<_> = (0..tables.len()).map(number).collect();
        if numbers.iter().any(|&n| n > MAX_SEQUENCE) {
            Err(Error::invalid("sequence numbers are used up"))
        } else {
            Ok(numbers)
        }
    }
}
