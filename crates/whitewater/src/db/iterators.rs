//! Making iterators: from the sources of a super version, or from what an earlier iterator over it
//! has left (`read::db_iter::idle`).

use super::Engine;
use super::reader::Role;
use super::reads::runs_user_code;
use super::ttl::TIMESTAMP;
use super::views::Pinned;
use crate::column_family::{
    ColumnFamilyData, IterBuffers, IteratorBase, SuperVersion, check_timestamp,
};
use crate::empty_ranges::List;
use crate::options::CfOptions;
use crate::options::commit_protocol::CommitProtocol;
use crate::options::read::{ReadSpec, ReadTier};
use crate::panics::{Guarded, caught};
use crate::read::all_prefixes::AllPrefixes;
use crate::read::cover::HeldTombstones;
use crate::read::db_iter::{DbIter, DbIterParts, EmptyRangesView, PrefixMode, VersionRange};
use crate::read::level;
use crate::read::merging::merging_memtables;
use crate::read::nothing::failed_iterator;
use crate::read::sampling;
use crate::stats::Ticker;
use arc_swap::Guard;
use std::sync::Arc;
use whitewater_concurrent::sync::rmw;
use whitewater_storage::bounds::Bounds;
use whitewater_storage::internal_iterator::BoxedIterator;
use whitewater_storage::planted;
use whitewater_storage::{Error, Result};

impl Pinned for Box<IteratorBase> {
    fn now(cf: &ColumnFamilyData) -> Self {
        let view = cf.pin();
        view.idle.take().unwrap_or_else(|| {
            rmw::shared_writes(2); // the view
            IteratorBase::new(Guard::into_inner(view))
        })
    }
    fn get(&self) -> &SuperVersion {
        &self.view
    }
}

/// What an iterator is made from.
struct Sources {
    /// All memtables and tables as one.
    merged: BoxedIterator,
    only_memtable: bool,
    /// The range tombstones of the sources, unless they are ignored.
    tombstones: Vec<HeldTombstones>,
    buffers: IterBuffers,
    /// Whether later iterators over the same super version may use the sources.
    may_be_left: bool,
}

impl Engine {
    /// Makes an iterator. Failures to make it are reported at its first use.
    pub fn iter(&self, cf: &Arc<ColumnFamilyData>, spec: &ReadSpec) -> DbIter {
        self.tick(Ticker::NoIteratorCreated, 1);
        // Before the super version is pinned (E3 of `empty_ranges`).
        let reserved = || self.commit.generations.load().reserved();
        let known_empty = self.commit.empty_ranges.begin(reserved);
        let (mut base, point) = if spec.has_usual_sources() {
            self.view::<Box<IteratorBase>>(cf, spec)
        } else {
            rmw::shared_writes(2); // the view
            let (view, point) = self.view(cf, spec);
            (IteratorBase::new(view), point)
        };
        let idle = base.idle.take();
        let view = &base.view;
        let is_usual = spec.has_usual_sources()
            && prefix_mode(&view.options, spec) == PrefixMode::Never
            && view.tables.keeps_all()
            && !runs_user_code(view);
        let gather = || self.sources(cf, view, spec, is_usual, idle);
        let gathered = match runs_user_code(view) {
            false => gather(),
            true => caught(Guarded::Comparator("a read"), gather),
        };
        let sources = gathered.unwrap_or_else(|e| Sources {
            merged: failed_iterator(e),
            only_memtable: false,
            tombstones: Vec::new(),
            buffers: IterBuffers::default(),
            may_be_left: false,
        });
        let versions = spec.timestamp.clone().map(|upto| VersionRange {
            upto,
            from: spec.iter_start_ts.clone(),
        });
        let options = &view.options;
        let values_have_times = options.values_have_times;
        let mut iter = DbIter::new(DbIterParts {
            leaves_source: sources.may_be_left,
            source: sources.merged,
            only_memtable: sources.only_memtable,
            tombstones: sources.tombstones,
            buffers: sources.buffers,
            comparator: cf.comparator.user.clone(),
            merge_operator: options.merge_operator.clone(),
            point,
            versions,
            bounds: spec.bounds.share(),
            prefix_extractor: options.prefix_extractor.clone(),
            prefix_mode: prefix_mode(options, spec),
            max_skippable_internal_keys: spec.max_skippable_internal_keys,
            limits: spec.limits(),
            statistics: self.options.statistics.clone(),
            slow: self.slow.is_on().then(|| self.slow.clone()),
            empty_ranges: self.empty_ranges_of(cf.id, view, spec, known_empty),
            blob_reads: spec.blobs(),
            snapshot: spec.snapshot.clone(),
            base,
        });
        if values_have_times {
            iter.hide_suffix(TIMESTAMP);
        }
        iter
    }

    /// The sources of an iterator over `view`: those that an earlier iterator has left, if they may
    /// be used, or new ones.
    fn sources(
        &self,
        cf: &Arc<ColumnFamilyData>,
        view: &SuperVersion,
        spec: &ReadSpec,
        is_usual: bool,
        idle: Option<(BoxedIterator, IterBuffers)>,
    ) -> Result<Sources> {
        self.check_iteration(cf, view, spec)?;
        if sampling::is_sampled() {
            self.count_iterator(cf, view);
        }
        let bounds = match cf.comparator.user.timestamp_size() {
            0 => spec.bounds.share(),
            _ => Bounds::default(), // they lack the timestamps that keys have
        };
        // Those of memtables may be new.
        let mut may_be_left = is_usual && !view.memtables().any(|mem| mem.has_tombstones());
        planted!(IdleIgnoresTombstones => may_be_left = is_usual);
        let mut sources = match idle.filter(|_| may_be_left) {
            Some((merged, buffers)) => Sources {
                merged,
                only_memtable: view.is_only_memtable(),
                tombstones: Vec::new(),
                buffers,
                may_be_left,
            },
            None => {
                let may_be_left = may_be_left && !level0_has_tombstones(view);
                self.gather(cf, view, spec, &bounds, may_be_left)?
            }
        };
        if !bounds.is_empty() {
            sources.merged.keep_within(&bounds);
        }
        Ok(sources)
    }

    /// What an iterator may pass over, if it looks at all keys, in an order that writers can use.
    fn empty_ranges_of(
        &self,
        cf: u32,
        view: &SuperVersion,
        spec: &ReadSpec,
        begun_with: Option<Arc<List>>,
    ) -> Option<EmptyRangesView> {
        let usable = matches!(self.role, Role::Primary)
            // A point of this protocol may get more entries.
            && self.commit.protocol != CommitProtocol::Unordered
            && view.options.comparator.is_builtin()
            && spec.tier == ReadTier::All
            && !spec.ignore_range_deletions
            && prefix_mode(&view.options, spec) == PrefixMode::Never;
        usable.then_some(EmptyRangesView { cf, begun_with })
    }

    /// Makes the sources of an iterator over `view`. Those that may be left to iterators with other
    /// bounds are not limited to these.
    fn gather(
        &self,
        cf: &Arc<ColumnFamilyData>,
        view: &SuperVersion,
        spec: &ReadSpec,
        bounds: &Bounds,
        may_be_left: bool,
    ) -> Result<Sources> {
        let options = &view.options;
        let prefix_mode = prefix_mode(options, spec);
        let (mut all, mut tombstones) = (Vec::new(), Vec::new());
        let mut imm = &view.imm[..];
        planted!(IteratorMissesMemtables => imm = &[]);
        for mem in std::iter::once(&view.mem).chain(imm) {
            all.push(match prefix_mode {
                PrefixMode::Never => mem.iter(),
                PrefixMode::AfterSeek | PrefixMode::Always => {
                    mem.prefix_iter(options.prefix_extractor.as_ref())
                }
            });
            if !spec.ignore_range_deletions
                && let Some(fragments) = mem.tombstones()?
            {
                let place = all.len() - 1;
                tombstones.push(HeldTombstones::of_memtable(place, fragments));
            }
        }
        let memtables = all.len();
        if spec.tier != ReadTier::Memtable {
            let no_bounds = Bounds::default();
            level::add_iterators(
                &view.version,
                &self.files.tables,
                &cf.comparator,
                spec.table(),
                if may_be_left { &no_bounds } else { bounds },
                &mut all,
                (!spec.ignore_range_deletions).then_some(&mut tombstones),
            )?;
        }
        if !tables_know_prefixes(view) {
            let passes = |source: BoxedIterator| -> BoxedIterator { Box::new(AllPrefixes(source)) };
            let tables = all.split_off(memtables);
            all.extend(tables.into_iter().map(passes));
        }
        Ok(Sources {
            only_memtable: all.len() == 1,
            merged: merging_memtables(cf.comparator.clone(), all, memtables),
            may_be_left: may_be_left && tombstones.is_empty(),
            tombstones,
            buffers: IterBuffers::default(),
        })
    }

    /// Refuses an iteration that `spec` asks for and that is not possible.
    ///
    /// # Errors
    /// Errors of `check_snapshot`; `NotSupported` for iterators over what is persisted, as
    /// in RocksDB.
    fn check_iteration(
        &self,
        cf: &ColumnFamilyData,
        view: &SuperVersion,
        spec: &ReadSpec,
    ) -> Result<()> {
        if spec.tier == ReadTier::Persisted {
            return Err(Error::not_supported(
                "ReadTier::Persisted is not supported by iterators",
            ));
        }
        self.check_spec(cf, view, spec)?;
        if let (Some(from), size) = (&spec.iter_start_ts, cf.comparator.user.timestamp_size()) {
            check_timestamp(&cf.name, size, from.len())?;
            if spec.timestamp.is_none() {
                return Err(Error::invalid("iter_start_ts needs a timestamp"));
            }
            if spec.tailing {
                return Err(Error::not_supported("tailing iterators with iter_start_ts"));
            }
        }
        Ok(())
    }
}

/// Whether a table of level 0 that is open has range tombstones.
fn level0_has_tombstones(view: &SuperVersion) -> bool {
    let level0 = view.version.levels.first().into_iter().flatten();
    let mut open = level0.filter_map(|file| file.open.get());
    open.any(|open| open.tombstones.is_some())
}

/// Whether the tables of `view` are opened with the current prefix extractor. They are
/// opened with the one that the database was opened with.
fn tables_know_prefixes(view: &SuperVersion) -> bool {
    let now = view.options.prefix_extractor.as_ref().map(|e| e.name());
    let opened_with = view.version.open_with.prefix_extractor.as_ref();
    now == opened_with.map(|e| e.name())
}

/// When an iterator stays within a prefix.
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
