//! How much of memtables is likely to be left once garbage is collected: RocksDB's
//! `MemPurgeDecider`.

use super::{Engine, FlushJob};
use crate::memtable::Memtable;
use crate::options::CfOptions;
use crate::snapshots::Live;
use std::sync::Arc;
use whitewater_storage::Result;
use whitewater_storage::key::{MAX_SEQUENCE, parse_internal_key};

/// The size of a sample of very many entries: RocksDB's, by Cochran's formula for a confidence of
/// 95% and a precision of 7%.
const SAMPLE: f64 = 196.0;

/// Whether the useful payload of the memtables of `job` is estimated to be less than the threshold
/// times the size of a memtable. What decides is logged.
///
/// # Errors
/// `Corruption` for entries that are not what was written.
pub(super) fn is_below(
    engine: &Engine,
    job: &FlushJob,
    options: &CfOptions,
    live: &Live,
) -> Result<bool> {
    let threshold = options.experimental_mempurge_threshold;
    // Whatever is useful of them.
    if threshold > job.memtables.len() as f64 {
        return Ok(true);
    }
    let mut useful = 0.0;
    for at in 0..job.memtables.len() {
        let Some(part) = useful_part(&job.memtables, at, live)? else {
            continue;
        };
        useful += part * job.memtables[at].memory_usage() as f64;
        engine.info_log.write(&format!(
            "Mempurge sampling [CF {}] - found garbage ratio from sampling: {:.6}. Threshold is \
             {threshold:.6}",
            job.cf.name,
            1.0 - part,
        ));
    }
    Ok(useful / (options.write_buffer_size as f64) < threshold)
}

/// The estimated part, 0 to 1, of the entries of `memtables[at]` that are needed for `live`, by
/// their sizes. `memtables` are oldest first. `None` if it has no entries.
fn useful_part(memtables: &[Arc<Memtable>], at: usize, live: &Live) -> Result<Option<f64>> {
    let memtable = &memtables[at];
    let (mut payload, mut useful) = (0, 0);
    let mut picks = Picks::new(memtable.num_entries(), memtable.id);
    let mut entries = memtable.flush_iter();
    entries.seek_to_first();
    let mut index = 0;
    while entries.valid() {
        if picks.next_is(index) {
            let key = parse_internal_key(entries.key())?;
            let size = (entries.key().len() + entries.value().len()) as u64;
            payload += size;
            // The oldest snapshot that sees it decides.
            let seen_by = live.snapshots.partition_point(|&s| s < key.seq);
            let upto = live.snapshots.get(seen_by).copied();
            let upto = upto.unwrap_or(MAX_SEQUENCE);
            let mut newest = 0;
            for later in &memtables[at..] {
                newest = later.newest_up_to(key.user_key, upto)?.max(newest);
            }
            let pinned = (live.undecided.as_ref()).is_some_and(|u| u.contains(key.seq));
            if pinned || newest <= key.seq {
                useful += size;
            }
        }
        entries.next();
        index += 1;
    }
    entries.status()?;
    Ok((payload > 0).then(|| useful as f64 / payload as f64))
}

/// Which entries are looked at: one at random in each of as many stretches as the sample is large,
/// so that no regularity in the order of entries is mistaken for one of all.
struct Picks {
    entries: u64,
    sample: u64,
    /// The stretches that were begun.
    begun: u64,
    /// The next entry to look at.
    next: u64,
    random: u64,
}

impl Picks {
    /// For so many entries. The same `seed` picks the same ones.
    fn new(entries: u64, seed: u64) -> Self {
        let n = entries as f64;
        let mut picks = Picks {
            entries,
            sample: (SAMPLE / (1.0 + SAMPLE / n.max(1.0))).ceil() as u64,
            begun: 0,
            next: 0,
            random: seed,
        };
        picks.pick();
        picks
    }

    /// Whether the entry `index` is to be looked at. Asked of each in order.
    fn next_is(&mut self, index: u64) -> bool {
        let is_next = index == self.next;
        if is_next {
            self.pick();
        }
        is_next
    }

    fn pick(&mut self) {
        if self.begun == self.sample {
            self.next = u64::MAX;
            return;
        }
        let edge = |stretch: u64| {
            (u128::from(stretch) * u128::from(self.entries) / u128::from(self.sample)) as u64
        };
        let (from, to) = (edge(self.begun), edge(self.begun + 1));
        self.begun += 1;
        // SplitMix64.
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        self.next = from + mixed % (to - from).max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memtable::{Home, Inserter};
    use whitewater_storage::key::{SequenceNumber, ValueType};

    const HOME: Home<'_> = Home {
        family: "default",
        budget_client: None,
    };

    /// A memtable with `versions` values of each of 1,000 keys, numbered from `first` on.
    fn memtable(versions: u64, first: SequenceNumber) -> Arc<Memtable> {
        let memtable = Memtable::new(&CfOptions::default(), HOME, 1, first);
        let entries: Vec<_> = (0..1_000 * versions).collect();
        let keys: Vec<_> = (entries.iter())
            .map(|n| format!("key{:04}", n % 1_000))
            .collect();
        let mut inserter = Inserter::new(false);
        for (n, key) in entries.iter().zip(&keys) {
            let (key, ty) = (key.as_bytes(), ValueType::Value);
            inserter
                .add(&memtable, ty, key, b"value", first + n)
                .unwrap();
        }
        inserter.finish().unwrap();
        memtable.seal();
        memtable
    }

    fn part(memtables: &[Arc<Memtable>], at: usize, live: &Live) -> f64 {
        useful_part(memtables, at, live).unwrap().unwrap()
    }

    #[test]
    fn each_stretch_has_one_pick() {
        for entries in [1, 2, 5, 196, 197, 1_000, 1_000_003] {
            let mut picks = Picks::new(entries, 7);
            let picked: Vec<u64> = (0..entries).filter(|n| picks.next_is(*n)).collect();
            assert_eq!(picked.len() as u64, picks.sample, "{entries}");
            assert!(picks.sample <= entries.min(196), "{entries}");
            assert_eq!(picks.begun, picks.sample);
        }
    }

    #[test]
    fn older_versions_are_garbage() {
        for (versions, useful) in [(1, 1.0), (4, 0.25), (10, 0.1)] {
            let found = part(&[memtable(versions, 1)], 0, &Live::default());
            assert!((found - useful).abs() < 0.08, "{versions}: {found}");
        }
    }

    #[test]
    fn what_later_memtables_overwrite_is_garbage() {
        let memtables = [memtable(1, 1), memtable(1, 2_000)];
        assert_eq!(part(&memtables, 0, &Live::default()), 0.0);
        assert_eq!(part(&memtables, 1, &Live::default()), 1.0);
        // A snapshot sees the older memtable's versions.
        let live = Live::new(vec![1_500], None, 1_500);
        assert_eq!(part(&memtables, 0, &live), 1.0);
    }

    #[test]
    fn a_memtable_without_points_has_no_part() {
        let memtable = Memtable::new(&CfOptions::default(), HOME, 1, 1);
        assert!(
            useful_part(&[memtable], 0, &Live::default())
                .unwrap()
                .is_none()
        );
    }
}
