//! Parts of one compaction that run at the same time.
//!
//! The user keys of the inputs are cut into ranges of about equal bytes, at keys that the
//! indexes of the tables contain. Every part merges its range into tables of its own; in key
//! order, the tables of all parts are those of the compaction.
//!
//! Invariants:
//! * I1: a cut falls between two user keys, so that the drop rules, which look at one user key
//!   at a time, decide the same as without it.
//! * I2: range tombstones are split at cuts, as they are where tables are cut: a part's tables
//!   do not reach into the next part.
//! * I3: if one part fails, the others end early, and no table is left.

use super::job::is_manual;
use super::pick::Compaction;
use crate::options::compaction::CompactionStyle;
use crate::panics::{Guarded, caught};
use crate::table_writer::OutputContext;
use crate::table_writer::source::Part;
use crate::thread_pools::owner::{thread_owner, work_for};
use crate::version::table_cache::TableCache;
use std::cmp::Ordering;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use whitewater_concurrent::system::{self, Mutex};
use whitewater_storage::key::{UserComparator, user_key};
use whitewater_storage::rangedel::RangeTombstone;
use whitewater_storage::{Error, Result};

/// The largest number of places per table at which parts can be cut.
const ANCHORS_PER_TABLE: usize = 128;

/// The keys at which to cut `compaction`, ascending. There are fewer than `max_subcompactions`,
/// and no part gets smaller than a table. With leveled compaction, only compactions of level 0
/// and those requested by a caller are worth cutting: others are small, and run beside each
/// other. A universal compaction may merge all data there is.
///
/// # Errors
/// Errors of opening tables and reading their indexes.
pub(super) fn cuts(
    compaction: &Compaction,
    ctx: &OutputContext<'_>,
    tables: &TableCache,
) -> Result<Vec<Vec<u8>>> {
    let max = match compaction.wishes.max_subcompactions {
        0 => ctx.db.max_subcompactions as usize,
        asked => asked as usize,
    };
    let from_level_0 = compaction.inputs.first().is_some_and(|(l, _)| *l == 0);
    let universal = ctx.options.compaction_style == CompactionStyle::Universal;
    let large = universal || from_level_0 || is_manual(compaction);
    let worth_it = compaction.output_level > 0 && large;
    if max < 2 || !worth_it {
        return Ok(Vec::new());
    }
    let version = &compaction.version;
    let mut anchors = Vec::new();
    for file in compaction.inputs.iter().flat_map(|(_, files)| files) {
        let open = tables.open(file, ctx.comparator, &version.open_with)?;
        anchors.extend(open.table.anchors(ANCHORS_PER_TABLE)?);
        // What is not in data blocks has no weight: filters and range tombstones.
        anchors.push((user_key(&file.meta.largest).to_vec(), 0));
    }
    let usual = ctx.options.target_file_size(compaction.output_level);
    let least = usual.min(compaction.wishes.max_file_size.unwrap_or(usual));
    let user = &ctx.comparator.user;
    let mut cuts = even_cuts(anchors, max, least, user);
    if user.timestamp_size() > 0 {
        // No cut may fall between the versions of a key, since what happens to the older ones
        // depends on the newer ones.
        for cut in &mut cuts {
            *cut = user.first_version(user.without_timestamp(cut));
        }
        cuts.dedup_by(|b, a| user.compare_keys(a, b).is_eq());
    }
    Ok(cuts)
}

/// The keys that cut what `anchors` represent into at most `max` parts of about equal weight,
/// each of at least `least`. An anchor is a key and the number of bytes between the previous
/// anchor and this key.
fn even_cuts(
    mut anchors: Vec<(Vec<u8>, u64)>,
    max: usize,
    least: u64,
    comparator: &UserComparator,
) -> Vec<Vec<u8>> {
    anchors.sort_by(|a, b| comparator.compare(&a.0, &b.0));
    anchors.dedup_by(|again, kept| {
        let same = comparator.compare(&again.0, &kept.0) == Ordering::Equal;
        if same {
            kept.1 += again.1;
        }
        same
    });
    let total: u64 = anchors.iter().map(|(_, bytes)| bytes).sum();
    let least = least.max(1);
    let target = (total / max as u64).max(least);
    let mut cuts = Vec::new();
    let (mut before, mut next) = (0, target);
    for (key, bytes) in anchors {
        before += bytes;
        if cuts.len() + 1 >= max || total - before < least {
            break;
        }
        if before >= next {
            next = before + target;
            cuts.push(key);
        }
    }
    cuts
}

/// The part of `tombstone` within `part`.
pub(super) fn clip(
    mut tombstone: RangeTombstone,
    part: Part<'_>,
    comparator: &UserComparator,
) -> Option<RangeTombstone> {
    let before = |a: &[u8], b: &[u8]| comparator.compare_keys(a, b) == Ordering::Less;
    let at_its_time = |key: &[u8]| comparator.with_timestamp_of(key, &tombstone.start);
    if let Some(to) = part.to
        && before(to, &tombstone.end)
    {
        tombstone.end = at_its_time(to);
    }
    if let Some(from) = part.from
        && before(&tombstone.start, from)
    {
        tombstone.start = at_its_time(from);
    }
    before(&tombstone.start, &tombstone.end).then_some(tombstone)
}

/// Runs `work` for each part between `cuts`, each but the first on a thread of its own, and
/// returns the results in key order. The arguments of `work` include the part's number, from 0
/// on, and a flag that is set when the work need not continue. If a part fails, `undo` is
/// called with what the parts have made.
///
/// # Errors
/// The error of the part that failed first; `Aborted` if it panicked.
pub(super) fn run<T: Send>(
    cuts: &[Vec<u8>],
    work: impl Fn(usize, Part<'_>, &AtomicBool) -> Result<T> + Sync,
    undo: impl Fn(T),
) -> Result<Vec<T>> {
    let abandoned = AtomicBool::new(false);
    let failure: Mutex<Option<Error>> = Mutex::new(None);
    let run_one = |number: usize, part: Part<'_>| {
        let mut made = None;
        let outcome = caught(Guarded::Job, || {
            made = Some(work(number, part, &abandoned)?);
            Ok(())
        });
        if let Err(e) = outcome {
            failure.lock().get_or_insert(e);
            abandoned.store(true, Relaxed);
        }
        made
    };
    let keys = || cuts.iter().map(Vec::as_slice);
    let starts = std::iter::once(None).chain(keys().map(Some));
    let ends = keys().map(Some).chain([None]);
    let mut parts = starts.zip(ends).map(|(from, to)| Part { from, to });
    let first = parts.next().unwrap_or_default();
    let made: Vec<Option<T>> = std::thread::scope(|scope| {
        let run_one = &run_one;
        let owner = thread_owner();
        let threads: Vec<_> = (1..)
            .zip(parts)
            .map(|(number, part)| {
                let name = "ww-subcompact".to_owned();
                let owner = owner.clone();
                let run = move || {
                    work_for(owner);
                    run_one(number, part)
                };
                let thread = system::spawn_scoped(scope, name, run);
                (number, part, thread)
            })
            .collect();
        let mut made = vec![run_one(0, first)];
        for (number, part, thread) in threads {
            made.push(match thread {
                // Panics of the work are caught inside the thread.
                Ok(thread) => thread.join().unwrap_or_default(),
                // No thread could be started.
                Err(_) => run_one(number, part),
            });
        }
        made
    });
    match failure.into_inner() {
        None => Ok(made.into_iter().flatten().collect()),
        Some(e) => {
            made.into_iter().flatten().for_each(undo);
            Err(e)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use whitewater_storage::ErrorKind;

    fn anchors(of: &[(&str, u64)]) -> Vec<(Vec<u8>, u64)> {
        let owned = |(key, bytes): &(&str, u64)| (key.as_bytes().to_vec(), *bytes);
        of.iter().map(owned).collect()
    }

    #[test]
    fn cuts_make_parts_of_equal_weight() {
        let cut = |of: &[(&str, u64)], max, least| -> Vec<String> {
            let cuts = even_cuts(anchors(of), max, least, &UserComparator::Bytewise);
            let text = |cut: Vec<u8>| String::from_utf8(cut).unwrap();
            cuts.into_iter().map(text).collect()
        };
        let even: Vec<_> = ["a", "b", "c", "d", "e", "f", "g", "h"]
            .map(|key| (key, 10))
            .to_vec();
        assert_eq!(cut(&even, 2, 1), ["d"]);
        assert_eq!(cut(&even, 4, 1), ["b", "d", "f"]);
        assert_eq!(cut(&even, 4, 25), ["c"]);
        assert_eq!(cut(&even, 4, 80), [""; 0]);
        assert_eq!(cut(&even, 100, 1).len(), 7);
        assert_eq!(cut(&[], 4, 1), [""; 0]);
        // All weight is in one place, and keys are equal.
        assert_eq!(cut(&[("a", 1), ("b", 90), ("b", 90)], 4, 1), [""; 0]);
        assert_eq!(cut(&[("c", 5), ("b", 90), ("b", 90)], 4, 1), ["b"]);
    }

    #[test]
    fn tombstones_are_clipped() {
        let clipped = |from: Option<&str>, to: Option<&str>| {
            let part = Part {
                from: from.map(str::as_bytes),
                to: to.map(str::as_bytes),
            };
            let tombstone = RangeTombstone {
                start: b"c".to_vec(),
                end: b"f".to_vec(),
                seq: 9,
            };
            let clipped = clip(tombstone, part, &UserComparator::Bytewise)?;
            Some(format!(
                "{}-{}",
                clipped.start.escape_ascii(),
                clipped.end.escape_ascii()
            ))
        };
        assert_eq!(clipped(None, None).unwrap(), "c-f");
        assert_eq!(clipped(Some("a"), Some("z")).unwrap(), "c-f");
        assert_eq!(clipped(Some("d"), Some("e")).unwrap(), "d-e");
        assert_eq!(clipped(None, Some("c")), None);
        assert_eq!(clipped(Some("f"), None), None);
    }

    #[test]
    fn parts_come_in_order_and_a_failure_undoes_all() {
        let cuts = [b"b".to_vec(), b"d".to_vec()];
        let name = |part: Part<'_>| {
            let text =
                |key: Option<&[u8]>| key.map_or(String::new(), |k| k.escape_ascii().to_string());
            format!("{}-{}", text(part.from), text(part.to))
        };
        let made = run(
            &cuts,
            |number, part, _| Ok(format!("{number} {}", name(part))),
            |_| unreachable!(),
        )
        .unwrap();
        assert_eq!(made, ["0 -b", "1 b-d", "2 d-"]);
        for panics in [false, true] {
            let undone = Mutex::new(Vec::new());
            let work = |_, part: Part<'_>, abandoned: &AtomicBool| {
                let name = name(part);
                if name == "b-d" {
                    assert!(!panics, "expected by the test");
                    return Err(Error::new(ErrorKind::Busy, "no"));
                }
                // The other parts learn of the failure.
                while !abandoned.load(Relaxed) {
                    std::thread::yield_now();
                }
                Ok(name)
            };
            let e = run(&cuts, work, |name| undone.lock().push(name)).unwrap_err();
            let kind = if panics {
                ErrorKind::Aborted
            } else {
                ErrorKind::Busy
            };
            assert_eq!(e.kind(), kind);
            let mut undone = undone.into_inner();
            undone.sort();
            assert_eq!(undone, ["-b", "d-"]);
        }
    }
}
