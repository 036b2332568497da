//! Databases under attack: opening them, and reading all that they hold.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use whitewater::fs::Fs;
use whitewater::{DBWithThreadMode, Error, MultiThreaded, ReadOptions};

use super::draw::Drawn;
use super::model::{Expected, Shape, Slot, Version};

/// Where databases in memory are.
pub const DIR: &str = "/stress/db";

/// A database that all threads share.
pub type Db = DBWithThreadMode<MultiThreaded>;

/// Why something was not read.
#[derive(Debug)]
pub enum Trouble {
    /// The database says so.
    Told(Error),
    /// It has said something that is not so.
    Wrong(String),
}

impl From<String> for Trouble {
    fn from(what: String) -> Trouble {
        Trouble::Wrong(what)
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Told(e) => write!(f, "reading: {e}"),
            Trouble::Wrong(what) => f.write_str(what),
        }
    }
}

/// Opens the database in `dir`, and makes it where there is none.
///
/// # Errors
/// Those of opening.
pub fn open(dir: &Path, fs: Arc<dyn Fs>, drawn: &Drawn, shape: Shape) -> Result<Db, Error> {
    let o = drawn.options(fs)?;
    let families = (0..shape.families).map(|n| (Shape::family_name(n), o.clone()));
    Db::open_cf_with_opts(&o, dir, families)
}

/// The same for reading only.
///
/// # Errors
/// Those of opening.
pub fn open_to_read(dir: &Path, fs: Arc<dyn Fs>, drawn: &Drawn, shape: Shape) -> Result<Db, Error> {
    let o = drawn.options(fs)?;
    let families = (0..shape.families).map(|n| (Shape::family_name(n), o.clone()));
    Db::open_cf_with_opts_for_read_only(&o, dir, families, false)
}

/// Options of a read in all of the keys.
pub fn total() -> ReadOptions {
    let mut o = ReadOptions::default();
    o.set_total_order_seek(true);
    o
}

/// What `db` holds in the slots that `counts` takes, as scans in both directions see
/// it.
///
/// # Errors
/// What is wrong with it: keys and values that nobody wrote, disorder, scans that
/// disagree, and errors of reading.
pub fn content(
    db: &Db,
    shape: Shape,
    read: &dyn Fn() -> ReadOptions,
    counts: &dyn Fn(Slot) -> bool,
) -> Result<BTreeMap<Slot, Version>, Trouble> {
    let mut all = BTreeMap::new();
    for family in 0..shape.families {
        let mut forward = scan(db, shape, family, read(), true)?;
        let mut backward = scan(db, shape, family, read(), false)?;
        backward.reverse();
        for found in [&mut forward, &mut backward] {
            found.retain(|(slot, _)| counts(*slot));
        }
        if forward != backward {
            let differs = forward.iter().zip(&backward).find(|(a, b)| a != b);
            return Err(Trouble::Wrong(format!(
                "family {family}: {} entries forward, {} backward, first difference {differs:?}",
                forward.len(),
                backward.len()
            )));
        }
        all.extend(forward);
    }
    Ok(all)
}

/// The entries of a column family in the order of the scan.
fn scan(
    db: &Db,
    shape: Shape,
    family: u8,
    read: ReadOptions,
    forward: bool,
) -> Result<Vec<(Slot, Version)>, Trouble> {
    let name = Shape::family_name(family);
    let cf = db.cf_handle(&name).ok_or(format!("{name} is gone"))?;
    let mut found: Vec<(Slot, Version)> = Vec::new();
    let mut it = db.raw_iterator_cf_opt(&cf, read);
    match forward {
        true => it.seek_to_first(),
        false => it.seek_to_last(),
    }
    while let Some((key, value)) = it.item() {
        let slot = Slot::parse(family, key)?;
        let version = shape.version(slot, value)?;
        if let Some((last, _)) = found.last()
            && (*last < slot) != forward
        {
            return Err(Trouble::Wrong(format!("{slot} comes after {last}")));
        }
        found.push((slot, version));
        match forward {
            true => it.next(),
            false => it.prev(),
        }
    }
    it.status().map_err(Trouble::Told)?;
    Ok(found)
}

/// All that `db` holds, which scans and look-ups agree on and which `expected`
/// allows.
///
/// # Errors
/// What is wrong with it.
pub fn check(
    db: &Db,
    shape: Shape,
    expected: &Expected,
) -> Result<BTreeMap<Slot, Version>, String> {
    let content = content(db, shape, &total, &|_| true).map_err(|e| e.to_string())?;
    agrees(&content, shape, expected)?;
    for family in 0..shape.families {
        let name = Shape::family_name(family);
        let cf = db.cf_handle(&name).ok_or(format!("{name} is gone"))?;
        let slots: Vec<_> = (0..shape.keys).map(|key| Slot { family, key }).collect();
        for some in slots.chunks(97) {
            let keys: Vec<_> = some.iter().map(|slot| slot.bytes()).collect();
            let many = db.batched_multi_get_cf(&cf, &keys, false);
            for (&slot, found) in some.iter().zip(many) {
                let found = found.map_err(|e| format!("{slot}: get many: {e}"))?;
                let version = found.map(|v| shape.version(slot, &v)).transpose()?;
                let one = db
                    .get_cf(&cf, slot.bytes())
                    .map_err(|e| format!("{slot}: get: {e}"))?;
                let one = one.map(|v| shape.version(slot, &v)).transpose()?;
                let scanned = content.get(&slot).copied();
                if version != scanned || one != scanned {
                    return Err(format!(
                        "{slot}: {scanned:?} by a scan, {one:?} by a get, {version:?} among many"
                    ));
                }
            }
        }
    }
    Ok(content)
}

/// Whether `expected` allows all of `content`.
///
/// # Errors
/// The first slots that it does not allow.
pub fn agrees(
    content: &BTreeMap<Slot, Version>,
    shape: Shape,
    expected: &Expected,
) -> Result<(), String> {
    let wrong = shape.slots().filter_map(|slot| {
        let held = content.get(&slot).copied();
        let is_wrong = !expected.allows(slot, held);
        is_wrong.then(|| format!("{slot}: {held:?} instead of {:?}", expected.of(slot)))
    });
    let wrong: Vec<_> = wrong.take(5).collect();
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(wrong.join(", ")),
    }
}
