//! Reading: points, many points at one moment, iterators, snapshots.

use super::Engine;
use super::cf::{ColumnFamilyData, SuperVersion};
use super::snapshot::SnapshotGuard;
use crate::options::CfOptions;
use crate::options::read::ReadSpec;
use crate::perf::{self, PerfMetric};
use crate::read::db_iter::{DbIter, DbIterParts, PrefixMode};
use crate::read::get::GetContext;
use crate::read::merging::{failed_iterator, merging_memtables};
use crate::read::rangedel::FragmentedTombstones;
use crate::read::{estimate, level};
use crate::stats::{Histogram, Ticker};
use bytes::Bytes;
use std::any::Any;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use whitewater_storage::key::{SequenceNumber, seek_key};
use whitewater_storage::{Error, Result};

impl Engine {
    /// The newest value of `key` visible to `spec`.
    pub fn get(
        &self,
        cf: &Arc<ColumnFamilyData>,
        key: &[u8],
        spec: &ReadSpec,
    ) -> Result<Option<Bytes>> {
        let _timer = self.time(Histogram::DbGet);
        check_snapshot(cf, spec)?;
        let choosing = perf::timer(PerfMetric::GetSnapshotTime);
        // Pin first, then load the number: V1.
        let view = cf.pin();
        let seq = self.sequence_in(&view, spec);
        choosing.stop();
        let found = self.get_in(cf, &view, key, seq, spec);
        if let Ok(Some(value)) = &found {
            let bytes = value.len() as u64;
            perf::count(PerfMetric::GetReadBytes, bytes);
            if let Some(statistics) = self.statistics() {
                statistics.record(Histogram::BytesPerRead, bytes);
            }
        }
        found
    }

    pub(super) fn get_in(
        &self,
        cf: &ColumnFamilyData,
        view: &SuperVersion,
        key: &[u8],
        seq: SequenceNumber,
        spec: &ReadSpec,
    ) -> Result<Option<Bytes>> {
        let mut ctx = GetContext::new(key, cf.options.merge_operator.as_deref());
        let asking = perf::timer(PerfMetric::GetFromMemtableTime);
        let mut asked = 1;
        view.mem.get(key, seq, &mut ctx)?;
        for mem in &view.imm {
            if ctx.done() {
                break;
            }
            asked += 1;
            mem.get(key, seq, &mut ctx)?;
        }
        asking.stop();
        perf::count(PerfMetric::GetFromMemtableCount, asked);
        let in_memory = ctx.done();
        if !in_memory {
            let _timer = perf::timer(PerfMetric::GetFromOutputFilesTime);
            let lookup = seek_key(key, seq);
            level::get(
                &view.version,
                &self.tables,
                &cf.comparator,
                key,
                &lookup,
                spec.table(),
                &mut ctx,
            )?;
        }
        let _timer = perf::timer(PerfMetric::GetPostProcessTime);
        let found = ctx.finish()?;
        if let Some(statistics) = self.statistics() {
            let hit = if in_memory {
                Ticker::MemtableHit
            } else {
                Ticker::MemtableMiss
            };
            statistics.add(hit, 1);
            statistics.add(Ticker::NumberKeysRead, 1);
            statistics.add(
                Ticker::BytesRead,
                found.as_ref().map_or(0, |v| v.len() as u64),
            );
        }
        Ok(found)
    }

    /// One consistent view over all keys, whatever their column families.
    pub fn multi_get(
        &self,
        keys: &[(&Arc<ColumnFamilyData>, &[u8])],
        spec: &ReadSpec,
    ) -> Vec<Result<Option<Bytes>>> {
        let _timer = self.time(Histogram::DbMultiget);
        let mut cfs: Vec<&Arc<ColumnFamilyData>> = keys.iter().map(|(cf, _)| *cf).collect();
        cfs.sort_by_key(|cf| cf.id);
        cfs.dedup_by_key(|cf| cf.id);
        // With several column families the views must be of one age, or a
        // batch over two of them could show in one only. A registered snapshot
        // holds every view taken after it to its own number.
        let snapshot = (cfs.len() > 1 && spec.snapshot.is_none()).then(|| self.snapshot());
        let views: Vec<Arc<SuperVersion>> = cfs.iter().map(|cf| cf.pin_owned()).collect();
        let seq = match &snapshot {
            Some(s) => s.sequence(),
            // Without a snapshot there is one view at most.
            None => views.first().map_or(0, |view| self.sequence_in(view, spec)),
        };
        let found: Vec<Result<Option<Bytes>>> = keys
            .iter()
            .map(|(cf, key)| {
                check_snapshot(cf, spec)?;
                let at = cfs.partition_point(|c| c.id < cf.id);
                self.get_in(cf, &views[at], key, seq, spec)
            })
            .collect();
        let values = found.iter().flatten().flatten();
        let bytes = values.map(|value| value.len() as u64).sum();
        perf::count(PerfMetric::MultigetReadBytes, bytes);
        if let Some(statistics) = self.statistics() {
            statistics.record(Histogram::BytesPerMultiget, bytes);
        }
        found
    }

    /// Whether `key` may exist; with its value when a memtable has it. Asks
    /// memtables and filters, and reads no data block.
    pub fn key_may_exist(
        &self,
        cf: &Arc<ColumnFamilyData>,
        key: &[u8],
        spec: &ReadSpec,
    ) -> (bool, Option<Bytes>) {
        if check_snapshot(cf, spec).is_err() {
            return (true, None);
        }
        let view = cf.pin();
        let seq = self.sequence_in(&view, spec);
        let mut ctx = GetContext::new(key, cf.options.merge_operator.as_deref());
        for mem in std::iter::once(&view.mem).chain(&view.imm) {
            if mem.get(key, seq, &mut ctx).is_err() {
                return (true, None);
            }
            if ctx.done() {
                return match ctx.finish() {
                    Ok(Some(value)) => (true, Some(value)),
                    Ok(None) => (false, None),
                    Err(_) => (true, None),
                };
            }
        }
        let found = ctx.has_operands()
            || estimate::may_contain(&view.version, &self.tables, &cf.comparator, key);
        (found, None)
    }

    /// An iterator; failures to make one are met at its first use.
    pub fn iter(&self, cf: &Arc<ColumnFamilyData>, spec: &ReadSpec) -> DbIter {
        self.tick(Ticker::NoIteratorCreated, 1);
        let view = cf.pin_owned();
        let sequence = self.sequence_in(&view, spec);
        let prefix_mode = prefix_mode(&cf.options, spec);
        let mut sources = Vec::new();
        let mut tombstones = Vec::new();
        let mut added = check_snapshot(cf, spec);
        for mem in std::iter::once(&view.mem).chain(&view.imm) {
            sources.push(match prefix_mode {
                PrefixMode::Never => mem.iter(),
                PrefixMode::AfterSeek | PrefixMode::Always => mem.prefix_iter(),
            });
            added = added.and_then(|()| {
                tombstones.extend(mem.raw_tombstones()?);
                Ok(())
            });
        }
        let memtables = sources.len();
        let added = added.and_then(|()| {
            level::add_iterators(
                &view.version,
                &self.tables,
                &cf.comparator,
                spec.table(),
                &mut sources,
                &mut tombstones,
            )
        });
        let only_memtable = sources.len() == 1;
        let source = match added {
            Ok(()) => merging_memtables(cf.comparator.clone(), sources, memtables),
            Err(e) => failed_iterator(e),
        };
        let mut pins: Vec<Arc<dyn Any + Send + Sync>> = vec![view];
        if let Some(snapshot) = &spec.snapshot {
            pins.push(snapshot.clone());
        }
        DbIter::new(DbIterParts {
            source,
            only_memtable,
            tombstones: FragmentedTombstones::new(&tombstones, &cf.comparator.user),
            comparator: cf.comparator.user.clone(),
            merge_operator: cf.options.merge_operator.clone(),
            sequence,
            lower_bound: spec.lower_bound.clone(),
            upper_bound: spec.upper_bound.clone(),
            prefix_extractor: cf.options.prefix_extractor.clone(),
            prefix_mode,
            max_skippable_internal_keys: spec.max_skippable_internal_keys,
            statistics: self.options.statistics.clone(),
            pins,
        })
    }

    /// The number to read `view` at, which was pinned before.
    ///
    /// A view from before a resumption may hold entries of writes that failed,
    /// with numbers below those visible after it. The older memtables of a view
    /// have none above the horizon of the active one (F5 of `resume`).
    #[inline]
    pub(super) fn sequence_in(&self, view: &SuperVersion, spec: &ReadSpec) -> SequenceNumber {
        let visible = self.latest_sequence_number();
        spec.sequence(visible).min(view.mem.horizon())
    }

    /// A snapshot of the state now.
    pub fn snapshot(&self) -> SnapshotGuard {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |d| d.as_secs());
        self.snapshots.take(now, || self.latest_sequence_number())
    }
}

/// Refuses to read at a snapshot what does not keep old values.
///
/// # Errors
/// `NotSupported` for a column family that updates values in place.
fn check_snapshot(cf: &ColumnFamilyData, spec: &ReadSpec) -> Result<()> {
    if spec.snapshot.is_some() && cf.options.inplace_update_support {
        return Err(Error::not_supported(format_args!(
            "column family [{}] has no snapshots: it updates values in place (inplace_update_support)",
            cf.name
        )));
    }
    Ok(())
}

/// When an iterator keeps to a prefix.
fn prefix_mode(options: &CfOptions, spec: &ReadSpec) -> PrefixMode {
    if options.prefix_extractor.is_none() {
        PrefixMode::Never
    } else if spec.prefix_same_as_start {
        PrefixMode::Always
    } else if !spec.total_order_seek && options.memtable.groups_by_prefix() {
        PrefixMode::AfterSeek
    } else {
        PrefixMode::Never
    }
}
