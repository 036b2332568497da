//! Databases under attack: opening them, and reading all that they hold.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use whitewater::fs::Fs;
use whitewater::{
    BoundColumnFamily, ColumnFamilyDescriptor, DBWithThreadMode, Error, MultiThreaded, Options,
    ReadOptions,
};

use super::key_model::{Shape, Slot, Version};
use super::model::Expected;
use super::random_options::RandomOptions;

/// Where databases in memory are.
pub const DIR: &str = "/stress/db";

/// A database that all threads share.
pub type Db = DBWithThreadMode<MultiThreaded>;

/// Why something was not read.
#[derive(Debug)]
pub enum ReadFailure {
    /// The database says so.
    Reported(Error),
    /// It has said something that is not so.
    Wrong(String),
}

impl From<String> for ReadFailure {
    fn from(what: String) -> ReadFailure {
        ReadFailure::Wrong(what)
    }
}

impl fmt::Display for ReadFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadFailure::Reported(e) => write!(f, "reading: {e}"),
            ReadFailure::Wrong(what) => f.write_str(what),
        }
    }
}

/// Opens the database in `dir`, and makes it where there is none.
///
/// # Errors
/// Those of opening.
pub fn open(
    dir: &Path,
    fs: Arc<dyn Fs>,
    options: &RandomOptions,
    shape: Shape,
) -> Result<Db, Error> {
    let o = options.build(Arc::clone(&fs), shape, 0)?;
    let mut numbers: Vec<_> = (0..shape.families).collect();
    if fs.exists(&dir.join("CURRENT"))? {
        numbers.extend(transient_family(&Db::list_cf(&o, dir)?, shape));
    }
    let families = with_options(numbers, &fs, options, shape)?;
    Db::open_cf_with_opts(&o, dir, families)
}

/// Opens all that is there for reading only.
///
/// # Errors
/// Those of opening.
pub fn open_to_read(
    dir: &Path,
    fs: Arc<dyn Fs>,
    options: &RandomOptions,
    shape: Shape,
) -> Result<Db, Error> {
    let o = options.build(Arc::clone(&fs), shape, 0)?;
    let mut numbers: Vec<_> = (0..shape.families).collect();
    numbers.extend(transient_family(&Db::list_cf(&o, dir)?, shape));
    let families = with_options(numbers, &fs, options, shape)?;
    Db::open_cf_with_opts_for_read_only(&o, dir, families, false)
}

/// Opens a database that another instance writes: to follow it if there is a
/// directory of its `own` for that, otherwise to read. Families that come and go are
/// left out, and all tables are open, so that reads do not fail when they are deleted.
///
/// # Errors
/// Those of opening.
pub fn open_second_instance(
    dir: &Path,
    own: Option<&Path>,
    fs: &Arc<dyn Fs>,
    options: &RandomOptions,
    shape: Shape,
) -> Result<Db, Error> {
    let mut o = options.build(Arc::clone(fs), shape, 0)?;
    o.set_max_open_files(-1);
    let families = with_options((0..shape.families).collect(), fs, options, shape)?;
    match own {
        None => Db::open_cf_with_opts_for_read_only(&o, dir, families, false),
        Some(own) => {
            let families = families.into_iter();
            let families = families.map(|(name, o)| ColumnFamilyDescriptor::new(name, o));
            Db::open_cf_descriptors_as_secondary(&o, dir, own, families)
        }
    }
}

/// Of the column families with these names, those that come and go: a number for
/// each name.
fn transient_family(names: &[String], shape: Shape) -> Vec<u32> {
    let there = shape
        .transient_names()
        .filter(|(_, name)| names.contains(name));
    there
        .map(|(name, _)| Slot::presence(name).transient_family(0))
        .collect()
}

fn with_options(
    numbers: Vec<u32>,
    fs: &Arc<dyn Fs>,
    options: &RandomOptions,
    shape: Shape,
) -> Result<Vec<(String, Options)>, Error> {
    let with = |number| {
        let o = options.build(Arc::clone(fs), shape, number)?;
        Ok((Shape::family_name(number), o))
    };
    numbers.into_iter().map(with).collect()
}

/// A column family.
#[derive(Clone)]
pub struct Family<'a> {
    /// Its number.
    pub number: u32,
    /// Its handle.
    pub handle: Arc<BoundColumnFamily<'a>>,
}

/// The column families that stay.
///
/// # Errors
/// One is missing.
pub fn permanent(db: &Db, shape: Shape) -> Result<Vec<Family<'_>>, String> {
    let numbers = 0..shape.families;
    numbers.map(|number| family(db, number)).collect()
}

/// The column family of this number, which is there.
///
/// # Errors
/// It is not.
pub fn family(db: &Db, number: u32) -> Result<Family<'_>, String> {
    let name = Shape::family_name(number);
    let handle = db.cf_handle(&name).ok_or(format!("{name} is gone"))?;
    Ok(Family { number, handle })
}

/// The column families that come and go of which one is there, and which of them it
/// is: as values say, and without any, the last that `expected` allows.
///
/// # Errors
/// One is there that is not allowed to, or none where one has to be.
pub fn present(
    db: &Db,
    shape: Shape,
    expected: &Expected,
) -> Result<BTreeMap<Slot, Version>, ReadFailure> {
    let mut there = BTreeMap::new();
    for (name, text) in shape.transient_names() {
        let presence = Slot::presence(name);
        let may_be = expected.of(presence);
        let Some(handle) = db.cf_handle(&text) else {
            if !may_be.contains(&None) {
                return Err(format!("{text} is gone: {may_be:?}").into());
            }
            continue;
        };
        let counts: Vec<_> = may_be.iter().filter_map(|held| *held).collect();
        let count = match *counts {
            [] => return Err(format!("{text} is there, which was dropped").into()),
            [count] => count,
            _ => {
                let mut read = total();
                shape
                    .order(presence.transient_family(0))
                    .read_at(&mut read, None);
                let mut it = db.raw_iterator_cf_opt(&handle, read);
                it.seek_to_first();
                let number = it.value().and_then(Shape::family_of);
                it.status().map_err(ReadFailure::Reported)?;
                let named = |count: &&Version| number == Some(presence.transient_family(**count));
                let found = counts.iter().find(named).or(counts.iter().max());
                *found.unwrap_or(&0)
            }
        };
        there.insert(presence, count);
    }
    Ok(there)
}

/// All column families where `present` is what comes and goes.
///
/// # Errors
/// One is missing.
pub fn families<'a>(
    db: &'a Db,
    shape: Shape,
    present: &BTreeMap<Slot, Version>,
) -> Result<Vec<Family<'a>>, String> {
    let mut all = permanent(db, shape)?;
    for (slot, count) in present.iter().filter(|(slot, _)| slot.is_presence()) {
        all.push(family(db, slot.transient_family(*count))?);
    }
    Ok(all)
}

/// Options of a read in all of the keys.
pub fn total() -> ReadOptions {
    let mut o = ReadOptions::default();
    o.set_total_order_seek(true);
    o
}

/// What `families` of `db` hold in the slots that `counts` takes, as scans in both
/// directions see it.
///
/// # Errors
/// What is wrong with it: keys and values that nobody wrote, disorder, scans that
/// disagree, and errors of reading.
pub fn content(
    db: &Db,
    shape: Shape,
    families: &[Family<'_>],
    read: &dyn Fn() -> ReadOptions,
    counts: &dyn Fn(Slot) -> bool,
) -> Result<BTreeMap<Slot, Version>, ReadFailure> {
    let mut all = BTreeMap::new();
    for family in families {
        let mut forward = scan(db, shape, family, read(), true)?;
        let mut backward = scan(db, shape, family, read(), false)?;
        backward.reverse();
        for found in [&mut forward, &mut backward] {
            found.retain(|(slot, _)| counts(*slot));
        }
        if forward != backward {
            let differs = forward.iter().zip(&backward).find(|(a, b)| a != b);
            return Err(ReadFailure::Wrong(format!(
                "family {}: {} entries forward, {} backward, first difference {differs:?}",
                family.number,
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
    family: &Family<'_>,
    mut read: ReadOptions,
    forward: bool,
) -> Result<Vec<(Slot, Version)>, ReadFailure> {
    shape.order(family.number).read_at(&mut read, None);
    let mut found: Vec<(Slot, Version)> = Vec::new();
    let mut it = db.raw_iterator_cf_opt(&family.handle, read);
    match forward {
        true => it.seek_to_first(),
        false => it.seek_to_last(),
    }
    while let Some((key, value)) = it.item() {
        let slot = shape.slot(family.number, key)?;
        let version = shape.version(slot, value)?;
        if let Some((last, _)) = found.last()
            && (*last < slot) != forward
        {
            return Err(ReadFailure::Wrong(format!("{slot} comes after {last}")));
        }
        found.push((slot, version));
        match forward {
            true => it.next(),
            false => it.prev(),
        }
    }
    it.status().map_err(ReadFailure::Reported)?;
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
    let content = everything(db, shape, expected).map_err(|e| e.to_string())?;
    agrees(&content, shape, expected)?;
    for Family { number, handle } in families(db, shape, &content)? {
        let slots: Vec<_> = shape.slots(number).collect();
        for some in slots.chunks(97) {
            let keys: Vec<_> = some.iter().map(|slot| shape.key(*slot)).collect();
            let mut read = ReadOptions::default();
            shape.order(number).read_at(&mut read, None);
            let many = db.batched_multi_get_cf_opt(&handle, &keys, false, &read);
            for (&slot, found) in some.iter().zip(many) {
                let found = found.map_err(|e| format!("{slot}: get many: {e}"))?;
                let version = found.map(|v| shape.version(slot, &v)).transpose()?;
                let one = db
                    .get_cf_opt(&handle, shape.key(slot), &read)
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

/// What all column families of `db` hold, and which of those that come and go are
/// there, if `expected` allows that.
///
/// # Errors
/// What is wrong with it.
pub fn everything(
    db: &Db,
    shape: Shape,
    expected: &Expected,
) -> Result<BTreeMap<Slot, Version>, ReadFailure> {
    let mut all = present(db, shape, expected)?;
    let families = families(db, shape, &all)?;
    all.extend(content(db, shape, &families, &total, &|_| true)?);
    Ok(all)
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
    let transient = content.iter().filter(|(slot, _)| slot.is_presence());
    let transient = transient.map(|(slot, count)| slot.transient_family(*count));
    let slots = (0..shape.families).chain(transient);
    let slots = slots.flat_map(|family| shape.slots(family));
    let wrong = slots.filter_map(|slot| {
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
