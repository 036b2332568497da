//! Reading: single keys, many keys at one moment, snapshots.

use super::Engine;
use super::read_triggered::count_in_memtable;
use super::ttl::unstamped;
use crate::column_family::{ColumnFamilyData, SuperVersion, check_timestamp, no_timestamp};
use crate::entry::answer::Answer;
use crate::entry::get_context::GetContext;
use crate::memtable::Memtable;
use crate::options::read::{ReadSpec, ReadTier};
use crate::panics::{Guarded, caught};
use crate::perf_context::{self, PerfMetric};
use crate::read::blob::BorrowedBlobs;
use crate::read::lookup::Lookup;
use crate::read::{estimate, expectation, sampling};
use crate::slow_operations::Call;
use crate::snapshots::{BoundaryGuard, ReadAt, ReadPoint, SnapshotGuard};
use crate::stats::{Activity, During, Histogram, Ticker, counted_merge};
use arc_swap::Guard;
use bytes::Bytes;
use smallvec::SmallVec;
use std::sync::Arc;
use std::time::UNIX_EPOCH;
use whitewater_concurrent::system;
use whitewater_storage::key::SequenceNumber;
use whitewater_storage::planted;
use whitewater_storage::{Error, Result};

/// How many keys of one call are looked up at the same time: as many as a core can wait for at
/// once, and some more, since each waits for memory several times.
const AT_ONCE: usize = 16;

impl Engine {
    /// Returns the newest value, or the newest columns, of `key` that are visible to `spec`.
    pub fn get<A: Answer>(
        &self,
        cf: &Arc<ColumnFamilyData>,
        key: &[u8],
        spec: &ReadSpec,
    ) -> Result<Option<A>> {
        let _timer = self.time_call(Call::Get, Histogram::DbGet);
        let _activity = self.reads_for(Activity::Get);
        let choosing = perf_context::timer(PerfMetric::GetSnapshotTime);
        let found: Option<A> = match &self.commit.undecided {
            None => {
                let view = cf.pin();
                self.check_spec(cf, &view, spec)?;
                let at = ReadAt::from(self.sequence_in(&view, spec));
                choosing.stop();
                self.get_in(cf, &view, key, at, spec)?
            }
            // Apart, so that the usual look-up has no point that would have to be dropped.
            Some(undecided) => {
                let (view, point) = self.view_beside_undecided::<Guard<_>>(undecided, cf, spec);
                self.check_spec(cf, &view, spec)?;
                choosing.stop();
                self.get_in(cf, &view, key, point.at(), spec)?
            }
        };
        if let Some(value) = &found {
            let bytes = value.size() as u64;
            perf_context::count(PerfMetric::GetReadBytes, bytes);
            if let Some(statistics) = self.statistics() {
                statistics.record(Histogram::BytesPerRead, bytes);
            }
        }
        Ok(found)
    }

    /// Looks `key` up in `view`. Panics of user code become errors.
    pub(super) fn get_in<A: Answer>(
        &self,
        cf: &ColumnFamilyData,
        view: &SuperVersion,
        key: &[u8],
        at: ReadAt<'_>,
        spec: &ReadSpec,
    ) -> Result<Option<A>> {
        if runs_user_code(view) {
            self.look_up_beside_user_code(cf, view, key, at, spec)
        } else {
            self.look_up_in(cf, view, key, at, spec)
        }
    }

    /// [`look_up_in`](Self::look_up_in) if a comparator or a prefix extractor may panic. A
    /// function of its own, so that the usual look-up has no second copy.
    #[cold]
    fn look_up_beside_user_code<A: Answer>(
        &self,
        cf: &ColumnFamilyData,
        view: &SuperVersion,
        key: &[u8],
        at: ReadAt<'_>,
        spec: &ReadSpec,
    ) -> Result<Option<A>> {
        caught(Guarded::Comparator("a read"), || {
            self.look_up_in(cf, view, key, at, spec)
        })
    }

    #[inline]
    fn look_up_in<A: Answer>(
        &self,
        cf: &ColumnFamilyData,
        view: &SuperVersion,
        key: &[u8],
        at: ReadAt<'_>,
        spec: &ReadSpec,
    ) -> Result<Option<A>> {
        let mut ctx = GetContext::new(key, view.options.merge_operator.as_deref())
            .of_family(&cf.name)
            .ignoring_tombstones(spec.ignore_range_deletions)
            .passing_over(at.undecided)
            .sampled(sampling::is_sampled())
            .copying(A::COPIES);
        let in_memory = self.gather_in(cf, view, key, at.sequence, spec, &mut ctx)?;
        if ctx.is_sampled() {
            self.look_for_wasted_reads(cf, view, Some(key));
        }
        let _timer = perf_context::timer(PerfMetric::GetPostProcessTime);
        let (level, operands) = (ctx.level(), ctx.num_operands());
        let blobs = BorrowedBlobs {
            version: &view.version,
            tables: &self.files.tables,
            reads: spec.blobs(),
            ahead: None,
        };
        let finished = match operands {
            0 => ctx.finish_with(&blobs),
            _ => self.count_merge(operands, || ctx.finish_with(&blobs)),
        };
        let found: Option<A> = unstamped(&view.options, finished?)?;
        if let Some(statistics) = self.statistics() {
            let at = match level {
                Some(0) => Some(Ticker::GetHitL0),
                Some(1) => Some(Ticker::GetHitL1),
                Some(_) => Some(Ticker::GetHitL2AndUp),
                None => None,
            };
            if let Some(at) = at {
                statistics.add(at, 1);
            }
            let hit = if in_memory {
                Ticker::MemtableHit
            } else {
                Ticker::MemtableMiss
            };
            statistics.add(hit, 1);
            statistics.add(Ticker::NumberKeysRead, 1);
            statistics.add(
                Ticker::BytesRead,
                found.as_ref().map_or(0, |v| v.size() as u64),
            );
        }
        Ok(found)
    }

    /// Asks the sources of `view` for `key`, until `ctx` wants no more. Returns whether memtables
    /// had the answer.
    #[inline(always)]
    pub(super) fn gather_in(
        &self,
        cf: &ColumnFamilyData,
        view: &SuperVersion,
        key: &[u8],
        seq: SequenceNumber,
        spec: &ReadSpec,
        ctx: &mut GetContext<'_>,
    ) -> Result<bool> {
        let version = spec.timestamp.as_ref().map(|time| [key, time].concat());
        let version = version.as_deref();
        let in_tables = || {
            let (version_of_key, options) = (version.unwrap_or(key), spec.table());
            let (tables, order) = (&self.files.tables, &cf.comparator);
            Lookup::new(&view.version, tables, order, version_of_key, seq, options)
        };
        let expecting = expectation::is_of_tables().then(|| {
            let mut lookup = in_tables();
            lookup.expect();
            lookup
        });
        let asks_memtables = !self.passes_over_memtables(spec);
        if asks_memtables {
            let asking = perf_context::timer(PerfMetric::GetFromMemtableTime);
            let mut asked = 1;
            let look_up = |mem: &Memtable, ctx: &mut GetContext<'_>| match version {
                None => mem.get(key, seq, ctx),
                Some(version) => mem.get_version(version, seq, ctx),
            };
            look_up(&view.mem, ctx)?;
            for mem in &view.imm {
                if ctx.done() {
                    break;
                }
                asked += 1;
                look_up(mem, ctx)?;
            }
            asking.stop();
            perf_context::count(PerfMetric::GetFromMemtableCount, asked);
        }
        let in_memory = ctx.done();
        if !in_memory && spec.tier != ReadTier::Memtable {
            if ctx.is_sampled() && asks_memtables && !ctx.covered() {
                count_in_memtable(view, 1);
            }
            let _timer = perf_context::timer(PerfMetric::GetFromOutputFilesTime);
            expecting.unwrap_or_else(in_tables).run(ctx)?;
        }
        expectation::learn_end(ctx.level());
        Ok(in_memory)
    }

    /// Whether a look-up skips memtables, because their entries may be lost.
    fn passes_over_memtables(&self, spec: &ReadSpec) -> bool {
        spec.tier == ReadTier::Persisted && self.commit.has_unlogged()
    }

    /// Looks up all keys in one consistent view, whatever their column families.
    pub fn multi_get<A: Answer>(
        &self,
        keys: &[(&Arc<ColumnFamilyData>, &[u8])],
        spec: &ReadSpec,
    ) -> Vec<Result<Option<A>>> {
        let _timer = self.time_call(Call::MultiGet, Histogram::DbMultiget);
        let _activity = self.reads_for(Activity::MultiGet);
        let mut cfs: Vec<&Arc<ColumnFamilyData>> = keys.iter().map(|(cf, _)| *cf).collect();
        cfs.sort_by_key(|cf| cf.id);
        cfs.dedup_by_key(|cf| cf.id);
        // With several column families the views must be of the same age, or a batch over
        // two of them could show in only one. A registered snapshot holds every view taken
        // after it to its own number.
        let one_age = self.views_of_one_age();
        let snapshot = (cfs.len() > 1 && spec.snapshot.is_none()).then(|| self.snapshot());
        // Guards, whose counts are their threads' own.
        let mut views: Vec<Guard<Arc<SuperVersion>>> = Vec::with_capacity(cfs.len());
        let mut point = match (&snapshot, &cfs[..]) {
            // Its point was taken before the views are pinned.
            (Some(snapshot), _) => snapshot.point().clone(),
            (None, []) => ReadPoint::from(0),
            // Without a snapshot in `spec`, it is the only one.
            (None, [first, ..]) => {
                let (view, point) = self.view(first, spec);
                views.push(view);
                point
            }
        };
        views.extend(cfs[views.len()..].iter().map(|cf| cf.pin()));
        drop(one_age);
        cfs.iter().for_each(|cf| cf.pass_over_hidden(&mut point));
        let view_of = |cf: &Arc<ColumnFamilyData>| {
            let mut at = cfs.partition_point(|c| c.id < cf.id);
            planted!(WrongFamily => at = 0);
            &views[at]
        };
        let mut found: Vec<Result<Option<A>>> = Vec::with_capacity(keys.len());
        for some in keys.chunks(AT_ONCE) {
            self.announce(some, view_of, point.sequence, spec);
            found.extend(some.iter().map(|(cf, key)| {
                let view = view_of(cf);
                spec.limits().check_deadline()?;
                self.check_spec(cf, view, spec)?;
                let mut point = point.at();
                planted!(ViewsApart => point.sequence = self.sequence_in(view, spec));
                self.get_in(cf, view, key, point, spec)
            }));
        }
        let values = found.iter().flatten().flatten();
        let bytes = values.map(|value| value.size() as u64).sum();
        perf_context::count(PerfMetric::MultigetReadBytes, bytes);
        if let Some(statistics) = self.statistics() {
            statistics.record(Histogram::BytesPerMultiget, bytes);
            let hits = found.iter().flatten().flatten().count() as u64;
            statistics.add(Ticker::NumberMultigetCalls, 1);
            statistics.add(Ticker::NumberMultigetKeysRead, keys.len() as u64);
            statistics.add(Ticker::NumberMultigetKeysFound, hits);
            statistics.add(Ticker::NumberMultigetBytesRead, bytes);
        }
        found
    }

    /// Begins the look-ups of several keys where they expect to end, so that what they read there
    /// is fetched for all of them at the same time, from memory or from files.
    fn announce<'a>(
        &self,
        keys: &[(&Arc<ColumnFamilyData>, &[u8])],
        view_of: impl Fn(&Arc<ColumnFamilyData>) -> &'a Guard<Arc<SuperVersion>>,
        seq: SequenceNumber,
        spec: &ReadSpec,
    ) {
        let is_late = || spec.limits().check_deadline().is_err();
        if keys.len() < 2 || spec.tier == ReadTier::Memtable || is_late() {
            return;
        }
        let expecting = keys.iter().filter_map(|(cf, key)| {
            let view = view_of(cf);
            let (version, tables) = (&view.version, &self.files.tables);
            let new = || Lookup::new(version, tables, &cf.comparator, key, seq, spec.table());
            // With timestamps, the key may lack its own until the read is checked.
            let usual = !runs_user_code(view) && cf.comparator.user.timestamp_size() == 0;
            let mut lookup = usual.then(new)?;
            lookup.expect();
            Some(lookup)
        });
        let expecting: SmallVec<[Lookup<'_>; AT_ONCE]> = expecting.collect();
        expecting.iter().for_each(Lookup::announce);
        expecting.iter().for_each(Lookup::expect_entries);
    }

    /// Sets what the calling thread reads tables for, until the result is dropped, if
    /// statistics are on.
    #[inline]
    pub(super) fn reads_for(&self, activity: Activity) -> Option<During> {
        self.statistics().map(|_| activity.begin())
    }

    /// Runs `merge` for a key with `operands` operands, counted and timed.
    #[cold]
    fn count_merge<T>(&self, operands: usize, merge: impl FnOnce() -> Result<T>) -> Result<T> {
        let Some(statistics) = self.statistics() else {
            return merge();
        };
        statistics.record(Histogram::ReadNumMergeOperands, operands as u64);
        counted_merge(statistics, merge)
    }

    /// Whether `key` may exist, and its value when a memtable has it. Asks memtables and
    /// filters, and reads no data block. If user code panics, the key may exist.
    pub fn key_may_exist(
        &self,
        cf: &Arc<ColumnFamilyData>,
        key: &[u8],
        spec: &ReadSpec,
    ) -> (bool, Option<Bytes>) {
        let (view, point) = self.view::<Guard<_>>(cf, spec);
        let at = point.at();
        if runs_user_code(&view) {
            caught(Guarded::Comparator("a read"), || {
                Ok(self.may_exist_in(cf, &view, key, at, spec))
            })
            .unwrap_or((true, None))
        } else {
            self.may_exist_in(cf, &view, key, at, spec)
        }
    }

    fn may_exist_in(
        &self,
        cf: &Arc<ColumnFamilyData>,
        view: &SuperVersion,
        key: &[u8],
        at: ReadAt<'_>,
        spec: &ReadSpec,
    ) -> (bool, Option<Bytes>) {
        if self.check_spec(cf, view, spec).is_err() {
            return (true, None);
        }
        if spec.timestamp.is_some() {
            let mut cached = spec.clone();
            cached.tier = ReadTier::BlockCache;
            return match self.get_in::<Bytes>(cf, view, key, at, &cached) {
                Ok(found) => (found.is_some(), found),
                Err(_) => (true, None),
            };
        }
        let mut ctx = GetContext::new(key, view.options.merge_operator.as_deref())
            .ignoring_tombstones(spec.ignore_range_deletions)
            .passing_over(at.undecided);
        for mem in view.memtables() {
            if mem.get(key, at.sequence, &mut ctx).is_err() {
                return (true, None);
            }
            if ctx.done() {
                return match ctx.finish() {
                    Ok(Some(value)) => (
                        true,
                        unstamped(&view.options, Some(value)).unwrap_or_default(),
                    ),
                    Ok(None) => (false, None),
                    Err(_) => (true, None),
                };
            }
        }
        let found = ctx.has_operands()
            || estimate::may_contain(&view.version, &self.files.tables, &cf.comparator, key);
        (found, None)
    }

    /// Refuses a read that `spec` asks for and that is not possible.
    ///
    /// # Errors
    /// Errors of `check_snapshot`; `InvalidArgument` when a timestamp is missing, has the
    /// wrong size or is below the limit of the history.
    pub(super) fn check_spec(
        &self,
        cf: &ColumnFamilyData,
        view: &SuperVersion,
        spec: &ReadSpec,
    ) -> Result<()> {
        let user = &cf.comparator.user;
        match &spec.timestamp {
            None if user.timestamp_size() > 0 => return Err(no_timestamp(&cf.name)),
            None => {}
            Some(time) => {
                check_timestamp(&cf.name, user.timestamp_size(), time.len())?;
                let low = &view.version.history_low;
                let is_older = || Ok(user.compare_timestamps(time, low).is_lt());
                if !low.is_empty() && caught(Guarded::Comparator("a read"), is_older)? {
                    return Err(Error::invalid(format_args!(
                        "Read timestamp: {time:02x?} is smaller than full_history_ts_low: {low:02x?}"
                    )));
                }
            }
        }
        self.check_snapshot(cf, view, spec)
    }

    /// Refuses to read a column family at a snapshot if old values are not kept there, or
    /// not for this snapshot.
    ///
    /// # Errors
    /// `InvalidArgument` for a snapshot that was not taken from this opening of the
    /// database. `NotSupported` for a column family that updates values in place, and for a
    /// secondary instance.
    fn check_snapshot(
        &self,
        cf: &ColumnFamilyData,
        view: &SuperVersion,
        spec: &ReadSpec,
    ) -> Result<()> {
        let Some(snapshot) = &spec.snapshot else {
            return Ok(());
        };
        if !self.has_snapshots() {
            return Err(Error::not_supported(
                "snapshot not supported in secondary mode",
            ));
        }
        if !snapshot.is_of(&self.snapshots) {
            return Err(Error::invalid(
                "the snapshot was taken from another database, or before this one was opened",
            ));
        }
        if view.options.inplace_update_support {
            return Err(Error::not_supported(format_args!(
                "column family [{}] has no snapshots: it updates values in place (inplace_update_support)",
                cf.name
            )));
        }
        Ok(())
    }

    /// Lets changes from now on be told from older ones (X6 of `snapshots`).
    pub fn write_conflict_boundary(&self) -> BoundaryGuard {
        self.snapshots
            .take_boundary(|| self.latest_sequence_number())
    }

    /// Takes a snapshot of the current state.
    pub fn snapshot(&self) -> SnapshotGuard {
        let now = system::wall_clock()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |d| d.as_secs());
        self.snapshots.take(now, || self.read_point())
    }
}

/// Whether a read of `view` runs user code.
#[inline]
pub(super) fn runs_user_code(view: &SuperVersion) -> bool {
    view.options.runs_user_code() || view.version.open_with.runs_user_code
}
