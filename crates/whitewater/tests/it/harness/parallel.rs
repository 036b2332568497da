//! Batches of several writers over several column families, and the check of what a crash left:
//! whole batches, and of each writer a prefix.
//!
//! Each writer counts its batches from 1. A batch stores in every column family its number, a key
//! that moves, and an entry in a list of all writers' batches, whose order is commit order.

use super::Db;
use super::walk::collect;
use std::collections::BTreeMap;
use whitewater::WriteBatch;

/// The column families.
pub const FAMILIES: [&str; 3] = ["default", "one", "two"];

/// Sequence numbers that a batch takes.
pub const NUMBERS: u64 = 3 * FAMILIES.len() as u64;

/// Batches of a writer in one list.
const IN_A_LIST: u64 = 64;

/// The names, as opening takes them.
pub fn names() -> Vec<String> {
    FAMILIES.map(str::to_owned).to_vec()
}

/// What writer `w` stores about its batch `n` in every column family: its progress, and a key that
/// moves.
fn entries(w: usize, n: u64) -> [(String, String); 2] {
    let pad = "x".repeat((n * 37 % 400) as usize);
    [
        (format!("last-{w}"), format!("{n}")),
        (format!("key-{w}-{:03}", n % 97), format!("{n}-{pad}")),
    ]
}

/// Batch `n` of writer `w`.
pub fn batch(db: &Db, w: usize, n: u64) -> WriteBatch {
    let mut batch = unlisted(db, w, n);
    for family in FAMILIES {
        let cf = db.cf_handle(family).expect("opened with it");
        batch.merge_cf(&cf, format!("order-{}", n / IN_A_LIST), format!("{w}:{n}"));
    }
    batch
}

/// The same without the list, for readers that have no merge operator.
pub fn unlisted(db: &Db, w: usize, n: u64) -> WriteBatch {
    let mut batch = WriteBatch::default();
    for family in FAMILIES {
        let cf = db.cf_handle(family).expect("opened with it");
        for (key, value) in entries(w, n) {
            batch.put_cf(&cf, key, value);
        }
    }
    batch
}

/// The last batch of each of `writers` writers in `db`.
pub fn progress(db: &Db, writers: usize) -> Vec<u64> {
    let last = |w| {
        let text = db.get(format!("last-{w}")).expect("readable");
        text.map_or(0, |t| {
            let text = String::from_utf8(t).expect("digits");
            text.parse().expect("a number")
        })
    };
    (0..writers).map(last).collect()
}

/// The first list of all writers' batches, in commit order.
pub fn order(db: &Db) -> String {
    let list = db.get("order-0").expect("readable").unwrap_or_default();
    String::from_utf8(list).expect("ASCII")
}

/// Checks that `db` holds whole batches and at least `least` of each writer. Returns how many.
pub fn check(db: &Db, least: &[u64]) -> Result<Vec<u64>, String> {
    let writers = least.len();
    let found = progress(db, writers);
    for w in 0..writers {
        if found[w] < least[w] {
            return Err(format!(
                "writer {w}: batch {} should be there, {} is",
                least[w], found[w]
            ));
        }
    }
    let mut wanted = BTreeMap::new();
    for (w, last) in found.iter().enumerate() {
        for n in last.saturating_sub(97) + 1..=*last {
            wanted.extend(entries(w, n));
        }
    }
    for family in FAMILIES {
        let cf = db.cf_handle(family).ok_or(format!("no {family}"))?;
        let content = collect(db.raw_iterator_cf(&cf)).map_err(|e| e.to_string())?;
        let mut lists = Vec::new();
        let mut plain = BTreeMap::new();
        for (key, value) in content {
            let (key, value) = (String::from_utf8(key), String::from_utf8(value));
            let (key, value) = (key.expect("ASCII"), value.expect("ASCII"));
            match key.starts_with("order-") {
                true => lists.push(value),
                false => _ = plain.insert(key, value),
            }
        }
        if plain != wanted {
            return Err(format!("{family} is not of whole batches: {found:?}"));
        }
        check_lists(&lists, &found).map_err(|e| format!("{family}: {e}"))?;
    }
    Ok(found)
}

/// Within a list each writer's numbers rise by one, and none is missing.
fn check_lists(lists: &[String], found: &[u64]) -> Result<(), String> {
    let mut seen = vec![0u64; found.len()];
    for list in lists {
        let mut last = vec![0u64; found.len()];
        for item in list.split(',') {
            let (w, n) = item.split_once(':').expect("writer and number");
            let w: usize = w.parse().expect("a number");
            let n: u64 = n.parse().expect("a number");
            if last[w] != 0 && n != last[w] + 1 {
                return Err(format!("{n} after {} of writer {w} in {list}", last[w]));
            }
            last[w] = n;
            seen[w] += 1;
        }
    }
    match seen == found {
        true => Ok(()),
        false => Err(format!("batches in the lists: {seen:?}, not {found:?}")),
    }
}
