//! Mempurge: full memtables are replaced by one without their garbage, and no table is written
//! (`experimental_mempurge_threshold`).
//!
//! RocksDB's rules say when: only memtables that are flushed because they are full, not with
//! atomic flushes, and if what is likely to be left of them (`payload`) is less than the threshold.
//! If more is left than a memtable holds, or if anything fails, the same job writes a table.
//!
//! Invariants:
//! * P1: the purged memtable has what a table would have: the same rules decide
//!   (`table_writer::merge_rules`), for what was live when everything in its inputs was visible.
//! * P2: nothing is recorded in the manifest, and the purged memtable keeps the logs of all its
//!   inputs. So recovery finds what it would without purging. A job that finds nothing left goes
//!   on as a flush, which records that the logs are not needed.
//! * P3: the purged memtable is the oldest one, since a job takes all that are retired. It has the
//!   number of its newest input, so that a flush that waits for its inputs waits for it, too.
//! * P4: whoever asks for a flush gets tables: a request that comes while a purge is running is
//!   still there after it. Logs that become too large, and the budget of memory, ask. So purges
//!   cannot go on for ever, unless all that is not garbage fits into a memtable and into the logs.

use super::payload;
use super::{Engine, FlushJob};
use crate::clock::cpu_time;
use crate::memtable::{Home, Inserter, Memtable};
use crate::options::CfOptions;
use crate::read::merging::merging_iterator;
use crate::snapshots::Live;
use crate::sync_points::Point;
use crate::table_writer::merge_rules::{CompactionIter, Rules, Tombstones};
use crate::table_writer::source::{Part, Source};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use whitewater_concurrent::system;
use whitewater_storage::key::{SequenceNumber, ValueType, parse_internal_key};
use whitewater_storage::rangedel::RangeTombstone;
use whitewater_storage::{Result, planted};

/// Entries that are inserted at once.
const AT_ONCE: usize = 64;

/// Bytes of keys and values that are inserted at once.
const BYTES_AT_ONCE: usize = 64 << 10;

/// The rest of some memtables.
enum Rest {
    /// Where it is.
    In(Arc<Memtable>),
    /// There is none.
    Nothing,
    /// It does not fit into a memtable.
    TooMuch,
}

/// Replaces the memtables of `job`, which nobody writes to any longer, by the rest of them if that
/// is allowed and worth it. Returns whether it has. If not, nothing has changed.
pub(super) fn in_memory(engine: &Engine, job: &FlushJob) -> bool {
    let options = job.cf.options();
    let threshold = options.experimental_mempurge_threshold;
    let wanted = job.may_purge && threshold > 0.0;
    if !wanted || !job.memtables.iter().all(|m| m.can_be_purged()) {
        return false;
    }
    let live = engine.live();
    let (begun, begun_cpu) = (system::now(), cpu_time());
    let family = &job.cf.name;
    let number = engine.background.next_job();
    let outcome = payload::is_below(engine, job, &options, &live).and_then(|below| {
        below
            .then(|| collect(engine, job, &options, &live))
            .transpose()
    });
    let (rest, failure) = match outcome {
        Ok(None) => return false,
        Ok(Some(Rest::In(rest))) => (Some(rest), None),
        Ok(Some(Rest::Nothing)) => (None, Some("nothing is left".to_owned())),
        Ok(Some(Rest::TooMuch)) => (None, Some("more is left than a memtable holds".to_owned())),
        Err(e) => (None, Some(e.to_string())),
    };
    if let Some(why) = failure {
        engine.info_log.write(&format!(
            "[{family}] [JOB {number}] Mempurge process aborted: {why}"
        ));
    }
    let capacity = (rest.as_ref()).map_or(1.0, |rest| {
        rest.memory_usage() as f64 / options.write_buffer_size as f64
    });
    engine.info_log.write(&format!(
        "[{family}] [JOB {number}] Mempurge lasted {} microseconds, and {} cpu microseconds. \
         Status is {}ok. Perc capacity: {capacity:.6}",
        system::since(begun).as_micros(),
        cpu_time().saturating_sub(begun_cpu).as_micros(),
        if rest.is_some() { "" } else { "not " },
    ));
    let Some(rest) = rest else { return false };
    let last = job.memtables.iter().map(|m| m.last_number()).max();
    engine.options.hook.hit(Point::Purged, last.unwrap_or(0));
    install(engine, job, &rest);
    true
}

/// Puts `rest` in the place of the memtables of `job`.
fn install(engine: &Engine, job: &FlushJob, rest: &Arc<Memtable>) {
    {
        let mut state = engine.state.lock();
        // If the column family was dropped meanwhile, nothing is left to do.
        if let Some(cf) = state.cfs.get_mut(&job.cf.id) {
            rest.stand_for(&job.memtables);
            // The job still holds the memtables (P3: they are the first ones).
            cf.imm.splice(..job.memtables.len(), [rest.clone()]);
            cf.held.note_flushed(&job.memtables);
            cf.publish();
        }
        engine.recompute_stall(&mut state, [job.cf.id]);
    }
    engine.log_stalls();
}

/// Merges the memtables of `job` into a new one, with what must be kept for `live`.
///
/// # Errors
/// `Corruption` for entries that are not what was written; errors of the merge operator;
/// `ShutdownInProgress` when the database is closing.
fn collect(engine: &Engine, job: &FlushJob, options: &CfOptions, live: &Live) -> Result<Rest> {
    let comparator = &job.cf.comparator;
    let mut deleted = Vec::new();
    for memtable in &job.memtables {
        deleted.extend(memtable.raw_tombstones()?);
    }
    let pinned = live.undecided.as_deref();
    let tombstones = Tombstones::new(deleted, pinned, &comparator.user);
    let mut snapshots = &live.snapshots[..];
    planted!(PurgeIgnoresSnapshots => snapshots = &[]);
    let rules = Rules {
        comparator,
        snapshots,
        boundary: live.boundary,
        pinned,
        tombstones: &tombstones,
        family: &job.cf.name,
        merge_operator: options.merge_operator.as_deref(),
        blobs: None,
        inline_below: 0,
        bottommost: false,
        key_not_below: &|_| false,
        statistics: engine.statistics(),
        history_low: &[],
        history_upto: &[],
    };
    let mut kept = rules.kept_tombstones();
    planted!(PurgeForgetsRangeTombstones => kept.clear());
    let sources = job.memtables.iter().rev().map(|m| m.flush_iter());
    let merged = merging_iterator(comparator.clone(), sources.collect());
    let never = AtomicBool::new(false);
    let cancel = [&engine.background.cancel, &never];
    let source = Source::new(merged, comparator, Part::default(), cancel);
    let mut entries = CompactionIter::new(rules, None, source);
    let home = Home {
        family: &job.cf.name,
        budget_client: engine.commit.budget_client.as_ref(),
    };
    let rest = Memtable::for_rest_of(&job.memtables, options, home);
    let mut filler = Filler::new(&rest, options);
    entries.seek_to_first()?;
    while entries.valid() {
        filler.add(entries.key(), entries.value())?;
        if filler.is_over {
            return Ok(Rest::TooMuch);
        }
        entries.next()?;
    }
    filler.finish(&kept)?;
    let is_over = filler.is_over;
    Ok(match (is_over, rest.is_empty()) {
        (true, _) => Rest::TooMuch,
        (false, true) => Rest::Nothing,
        (false, false) => {
            rest.seal();
            Rest::In(rest)
        }
    })
}

/// Fills a memtable with what is left of others.
struct Filler<'a> {
    rest: &'a Memtable,
    /// What it may take. Bytes.
    limit: usize,
    /// The number of range tombstones at which it would be full; 0 is no limit.
    most_tombstones: usize,
    /// Keys and values that are not inserted yet, one after the other.
    pending: Vec<u8>,
    /// What they belong to: type, number, and where key and value end.
    ends: Vec<(ValueType, SequenceNumber, usize, usize)>,
    /// Whether not everything has fitted.
    is_over: bool,
}

impl<'a> Filler<'a> {
    fn new(rest: &'a Memtable, options: &CfOptions) -> Self {
        Filler {
            rest,
            limit: options.write_buffer_size,
            most_tombstones: options.memtable_max_range_deletions as usize,
            pending: Vec::new(),
            ends: Vec::new(),
            is_over: false,
        }
    }

    /// Adds the next entry.
    fn add(&mut self, ikey: &[u8], value: &[u8]) -> Result<()> {
        let entry = parse_internal_key(ikey)?;
        self.pending.extend_from_slice(entry.user_key);
        let key_end = self.pending.len();
        self.pending.extend_from_slice(value);
        let end = self.pending.len();
        self.ends.push((entry.ty, entry.seq, key_end, end));
        if self.ends.len() == AT_ONCE || end >= BYTES_AT_ONCE {
            self.insert()?;
        }
        Ok(())
    }

    /// Inserts what is pending and `tombstones`, the range tombstones that are left.
    fn finish(&mut self, tombstones: &[RangeTombstone]) -> Result<()> {
        self.insert()?;
        self.is_over |= self.most_tombstones > 0 && tombstones.len() >= self.most_tombstones;
        if self.is_over {
            return Ok(());
        }
        let mut inserter = Inserter::new(true);
        for t in tombstones {
            inserter.add(self.rest, ValueType::RangeDeletion, &t.start, &t.end, t.seq)?;
        }
        inserter.finish()?;
        self.is_over |= self.rest.memory_usage() >= self.limit;
        Ok(())
    }

    fn insert(&mut self) -> Result<()> {
        self.is_over |= self.rest.memory_usage() + self.pending.len() >= self.limit;
        if !self.is_over {
            let mut inserter = Inserter::new(true);
            let mut begin = 0;
            for &(ty, seq, key_end, end) in &self.ends {
                let key = &self.pending[begin..key_end];
                inserter.add(self.rest, ty, key, &self.pending[key_end..end], seq)?;
                begin = end;
            }
            // Whether the memtable is full is seen above.
            inserter.finish()?;
        }
        self.pending.clear();
        self.ends.clear();
        Ok(())
    }
}
