//! Scripts of random steps. Numbers select modulo the number of choices, so a script still runs
//! when steps are removed.

use super::draw::Nature;
use super::model::{Bounds, Change};
use rand::Rng;
use rand::rngs::StdRng;
use std::fmt;

/// How a database ends before it is opened again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum End {
    Closed,
    /// The process dies.
    Killed,
    /// The power goes. This share, in per cent, of what was not synced is kept.
    PowerCut(u8),
}

/// One step of a script.
#[derive(Debug, Clone)]
pub enum Step {
    Write(Vec<Change>, bool),
    Flush(u8),
    FlushAll,
    FlushWal(bool),
    Compact(u8, Option<Vec<u8>>, Option<Vec<u8>>, u64),
    WaitForCompact,
    SetOptions(u8, u64),
    SetDbOptions(u64),
    Create(u8),
    Drop(u8),
    Snapshot,
    Release(u8),
    OpenIter(u8, Bounds, Option<u8>),
    UseIter(u8, u64),
    Check(u8, Option<u8>, u64),
    PrefixScan(u8, Option<u8>, Vec<u8>),
    /// Of several families at once.
    WalkFamilies(Option<u8>, u64),
    /// A table with these changes, one for each key, and how it is ingested.
    Ingest(u8, Vec<Change>, u64),
    Checkpoint(bool),
    Backup(u64),
    Export(u8),
    CompactFiles(u8, u64),
    /// With a flush before.
    ListFiles(bool),
    /// What is done meanwhile.
    LockWal(u64),
    ReadOnly,
    Secondary,
    Wait(u64),
    /// All values become older than allowed, and are compacted.
    Expire,
    /// With options drawn from this seed.
    Reopen(u64, End),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let changes = |f: &mut fmt::Formatter<'_>, changes: &[Change]| {
            let text: Vec<_> = changes.iter().map(Change::to_string).collect();
            write!(f, "[{}]", text.join("; "))
        };
        match self {
            Step::Write(all, sync) => {
                write!(f, "Write")?;
                changes(f, all)?;
                if *sync { write!(f, " synced") } else { Ok(()) }
            }
            Step::Ingest(cf, all, how) => {
                write!(f, "Ingest({cf}, {how})")?;
                changes(f, all)
            }
            other => write!(f, "{other:?}"),
        }
    }
}

/// A key to which any change may be applied.
pub fn key(rng: &mut StdRng) -> Vec<u8> {
    match rng.random_range(0..40) {
        0 => Vec::new(),
        1 => vec![0xff; rng.random_range(1..4)],
        2 => vec![0; rng.random_range(1..4)],
        3..=5 => format!("k{:02}", rng.random_range(0..100)).into_bytes(),
        6..=8 => format!("k{:03}{}", rng.random_range(0..200), "x".repeat(120)).into_bytes(),
        9 => vec![b'k'; rng.random_range(1..3)],
        _ => format!("k{:03}", rng.random_range(0..200)).into_bytes(),
    }
}

fn value(rng: &mut StdRng) -> Vec<u8> {
    let len = match rng.random_range(0..20) {
        0 => 0,
        1 | 2 => rng.random_range(2_000..20_000),
        3..=10 => rng.random_range(100..600),
        _ => rng.random_range(8..60),
    };
    let tag = format!("{:x}-", rng.random::<u32>());
    tag.bytes().cycle().take(len).collect()
}

/// Both ends of a range that contains no key of single deletes.
fn range(rng: &mut StdRng, nature: &Nature) -> (Vec<u8>, Vec<u8>) {
    let low = |k: Vec<u8>| if k[..] >= b"s"[..] { b"kz".to_vec() } else { k };
    nature.order.sort(low(key(rng)), low(key(rng)))
}

fn change(rng: &mut StdRng, nature: &Nature) -> Change {
    let cf = rng.random_range(0..4);
    if nature.cuckoo {
        let key = format!("k{:03}", rng.random_range(0..200)).into_bytes();
        return match rng.random_range(0..4) {
            0 => Change::Delete(cf, key),
            _ => Change::Put(
                cf,
                key,
                format!("{:024x}", rng.random::<u64>()).into_bytes(),
            ),
        };
    }
    let single = |rng: &mut StdRng| format!("s{:02}", rng.random_range(0..30)).into_bytes();
    let filtered = |rng: &mut StdRng| format!("f{:02}", rng.random_range(0..30)).into_bytes();
    match rng.random_range(0..100) {
        0..=39 => Change::Put(cf, key(rng), value(rng)),
        // Not beside times to live.
        40..=44 if nature.expiry.is_none() => Change::PutEntity(cf, key(rng), value(rng)),
        40..=57 => Change::Delete(cf, key(rng)),
        58..=63 => Change::Put(cf, filtered(rng), value(rng)),
        64..=69 => Change::Put(cf, single(rng), value(rng)),
        70..=75 => Change::SingleDelete(cf, single(rng)),
        // Operands that were never combined do not expire.
        76..=91 if nature.expiry.is_none() => Change::Merge(cf, key(rng), value(rng)),
        92..=98 => {
            let (a, b) = range(rng, nature);
            Change::DeleteRange(cf, a, b)
        }
        _ => Change::Delete(cf, filtered(rng)),
    }
}

fn bounds(rng: &mut StdRng) -> Bounds {
    let bound = |rng: &mut StdRng| rng.random_bool(0.4).then(|| key(rng));
    let (lower, upper) = (bound(rng), bound(rng));
    Bounds { lower, upper }
}

/// The bounds and keys that a check draws for itself.
pub fn check_bounds(rng: &mut StdRng) -> Bounds {
    bounds(rng)
}

/// Changes of one family in order, each of a different key, with at most one range.
fn table(rng: &mut StdRng, nature: &Nature, cf: u8) -> Vec<Change> {
    let count = rng.random_range(1..30);
    let mut keys: Vec<Vec<u8>> = (0..count).map(|_| key(rng)).collect();
    if rng.random_bool(0.5) {
        // The keys are near each other, so that deep levels have room for the table.
        let first = rng.random_range(0..200);
        let near = |i: usize| format!("k{first:03}.{i:02}").into_bytes();
        keys = (0..count).map(near).collect();
    }
    keys.sort();
    keys.dedup();
    if nature.order != super::model::Order::Bytewise {
        keys.reverse();
    }
    let mut changes: Vec<Change> = Vec::new();
    if rng.random_bool(0.2) {
        let (a, b) = range(rng, nature);
        changes.push(Change::DeleteRange(cf, a, b));
    }
    changes.extend(keys.into_iter().map(|k| match rng.random_range(0..10) {
        0 | 1 => Change::Delete(cf, k),
        2 if nature.expiry.is_none() => Change::Merge(cf, k, value(rng)),
        3 => Change::PutEntity(cf, k, value(rng)),
        _ => Change::Put(cf, k, value(rng)),
    }));
    changes
}

/// One step of a script for such a database.
pub fn step(rng: &mut StdRng, nature: &Nature) -> Step {
    let cf = rng.random_range(0..4);
    let view = |rng: &mut StdRng| rng.random_bool(0.4).then(|| rng.random());
    match rng.random_range(0..1000) {
        0..=599 => Step::Write(vec![change(rng, nature)], rng.random_bool(0.03)),
        600..=679 => {
            let n = rng.random_range(0..12);
            let changes = (0..n).map(|_| change(rng, nature)).collect();
            Step::Write(changes, rng.random_bool(0.2))
        }
        680..=699 => Step::Flush(cf),
        700..=709 => Step::FlushAll,
        710..=714 => Step::FlushWal(rng.random()),
        715..=732 => {
            let edge = |rng: &mut StdRng| rng.random_bool(0.5).then(|| key(rng));
            let edges = match (edge(rng), edge(rng)) {
                (Some(a), Some(b)) => {
                    let (a, b) = nature.order.sort(a, b);
                    (Some(a), Some(b))
                }
                edges => edges,
            };
            Step::Compact(cf, edges.0, edges.1, rng.random())
        }
        733..=737 => Step::WaitForCompact,
        738..=752 => Step::SetOptions(cf, rng.random()),
        753..=756 => Step::SetDbOptions(rng.random()),
        757..=768 => {
            let end = match rng.random_range(0..10) {
                0..=3 => End::Closed,
                4..=5 => End::Killed,
                6..=7 => End::PowerCut(0),
                8 => End::PowerCut(50),
                _ => End::PowerCut(95),
            };
            Step::Reopen(rng.random(), end)
        }
        769..=774 => Step::Create(cf),
        775..=777 => Step::Drop(cf),
        // Keys would have several versions, and differ in length.
        778..=797 | 885..=896 if nature.cuckoo => Step::Check(cf, None, rng.random()),
        778..=797 => Step::Snapshot,
        798..=813 => Step::Release(rng.random()),
        814..=829 => Step::OpenIter(cf, bounds(rng), view(rng)),
        830..=869 => Step::UseIter(rng.random(), rng.random()),
        870..=884 => Step::PrefixScan(cf, view(rng), key(rng)),
        885..=896 => Step::Ingest(cf, table(rng, nature, cf), rng.random()),
        897..=900 => Step::Checkpoint(rng.random()),
        901..=904 => Step::ReadOnly,
        905..=910 => Step::Secondary,
        911..=915 => Step::Wait(rng.random_range(1..80)),
        916..=917 => Step::Expire,
        918..=920 => Step::Backup(rng.random()),
        921..=923 => Step::Export(cf),
        924..=931 => Step::CompactFiles(cf, rng.random()),
        932..=934 => Step::ListFiles(rng.random()),
        935..=937 => Step::LockWal(rng.random()),
        938..=949 => Step::WalkFamilies(view(rng), rng.random()),
        _ => Step::Check(cf, view(rng), rng.random()),
    }
}
