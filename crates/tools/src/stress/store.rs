//! Opening databases and reading all of their content.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use whitewater::fs::Fs;
use whitewater::{
    BoundColumnFamily, ColumnFamilyDescriptor, DBPath, DBWithThreadMode, Error, MultiThreaded,
    Options, ReadOptions,
};

use super::key_model::{Shape, Slot, Version};
use super::model::Expected;
use super::random_options::RandomOptions;

/// The directory of databases in memory.
pub const DIR: &str = "/stress/db";

/// A database that all threads share.
pub type Db = DBWithThreadMode<MultiThreaded>;

/// Why a read failed.
#[derive(Debug)]
pub enum ReadFailure {
    /// The database reported an error.
    Reported(Error),
    /// The database returned something wrong.
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

/// Opens the database in `dir`, or creates it.
///
/// # Errors
/// Those of opening.
pub fn open(
    dir: &Path,
    fs: Arc<dyn Fs>,
    options: &RandomOptions,
    shape: Shape,
) -> Result<Db, Error> {
    let o = placed(dir, &fs, options, shape, 0)?;
    let existing = if fs.exists(&dir.join("CURRENT"))? {
        transient_families(&o, dir, shape)?
    } else {
        Vec::new()
    };
    let numbers = (0..shape.families).chain(existing);
    let built = |number| placed(dir, &fs, options, shape, number);
    Db::open_cf_with_opts(&o, dir, with_options(numbers, built)?)
}

/// The options of the column family `number`, and of the database, which is in `dir` of `fs`,
/// with its directories of tables.
///
/// # Errors
/// The engine does not accept the options.
pub fn placed(
    dir: &Path,
    fs: &Arc<dyn Fs>,
    options: &RandomOptions,
    shape: Shape,
    number: u32,
) -> Result<Options, Error> {
    let mut o = options.build(Arc::clone(fs), shape, number)?;
    let all = |paths: Vec<PathBuf>| -> Result<Vec<DBPath>, Error> {
        let sizes = options.path_sizes.iter().chain([&0]);
        let paths = paths.iter().zip(sizes);
        paths.map(|(path, size)| DBPath::new(path, *size)).collect()
    };
    o.set_db_paths(&all(db_paths(dir, shape))?);
    if number % 2 == 1 {
        o.set_cf_paths(&all(family_paths(dir, shape))?);
    }
    Ok(o)
}

/// The directories of tables of a database in `dir`, if it has others than its own.
fn db_paths(dir: &Path, shape: Shape) -> Vec<PathBuf> {
    let other = |name| dir.with_file_name(name);
    let mut paths = vec![other("tables0"), dir.to_owned(), other("tables1")];
    paths.truncate(shape.paths);
    paths
}

/// The directories of tables that column families with odd numbers have to themselves.
fn family_paths(dir: &Path, shape: Shape) -> Vec<PathBuf> {
    let names = (0..shape.family_paths).map(|n| format!("odd{n}"));
    names.map(|name| dir.with_file_name(name)).collect()
}

/// All directories with files of the database in `dir`.
pub fn directories(dir: &Path, shape: Shape) -> Vec<PathBuf> {
    let mut all = db_paths(dir, shape);
    all.extend(family_paths(dir, shape));
    all.retain(|path| path != dir);
    all.push(dir.to_owned());
    all
}

/// Whether a file or directory of this name beside a database is of it or of its threads.
pub fn is_beside(name: &str) -> bool {
    const NAMES: [&str; 10] = [
        "tables",
        "odd",
        "checkpoint-",
        "backups-",
        "restored-",
        "export-",
        "imported-",
        "source-",
        "secondary-",
        "ingest-",
    ];
    let name = name.strip_suffix(".sst").unwrap_or(name);
    let begin = name.trim_end_matches(|c: char| c.is_ascii_digit());
    begin != name && NAMES.contains(&begin)
}

/// Opens a copy of the database, which is in `dir`, with all its column families for reading
/// only. Its tables are all in `dir`.
///
/// # Errors
/// Those of opening.
pub fn open_copy(
    dir: &Path,
    fs: Arc<dyn Fs>,
    options: &RandomOptions,
    shape: Shape,
) -> Result<Db, Error> {
    let o = options.build(Arc::clone(&fs), shape, 0)?;
    let numbers = (0..shape.families).chain(transient_families(&o, dir, shape)?);
    let built = |number| options.build(Arc::clone(&fs), shape, number);
    Db::open_cf_with_opts_for_read_only(&o, dir, with_options(numbers, built)?, false)
}

/// Opens a second instance of a database that another instance writes: a secondary instance
/// if `own` names a directory for it, otherwise a read-only one. Transient column families
/// are left out. All tables are opened, so that reads do not fail when the other instance
/// deletes them.
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
    let built = |number| placed(dir, fs, options, shape, number);
    let mut o = built(0)?;
    o.set_max_open_files(-1);
    let families = with_options(0..shape.families, built)?;
    match own {
        None => Db::open_cf_with_opts_for_read_only(&o, dir, families, false),
        Some(own) => {
            let families = families.into_iter();
            let families = families.map(|(name, o)| ColumnFamilyDescriptor::new(name, o));
            Db::open_cf_descriptors_as_secondary(&o, dir, own, families)
        }
    }
}

/// The transient column families that the database in `dir` has: a number for each name.
fn transient_families(o: &Options, dir: &Path, shape: Shape) -> Result<Vec<u32>, Error> {
    let names = Db::list_cf(o, dir)?;
    let existing = shape
        .transient_names()
        .filter(|(_, name)| names.contains(name));
    let numbers = existing.map(|(name, _)| Slot::presence(name).transient_family(0));
    Ok(numbers.collect())
}

fn with_options(
    numbers: impl Iterator<Item = u32>,
    built: impl Fn(u32) -> Result<Options, Error>,
) -> Result<Vec<(String, Options)>, Error> {
    let with = |number| Ok((Shape::family_name(number), built(number)?));
    numbers.map(with).collect()
}

/// A column family.
#[derive(Clone)]
pub struct Family<'a> {
    /// Its number.
    pub number: u32,
    /// Its handle.
    pub handle: Arc<BoundColumnFamily<'a>>,
}

/// The permanent column families.
///
/// # Errors
/// One is missing.
pub fn permanent(db: &Db, shape: Shape) -> Result<Vec<Family<'_>>, String> {
    let numbers = 0..shape.families;
    numbers.map(|number| family(db, number)).collect()
}

/// The column family with this number.
///
/// # Errors
/// It does not exist.
pub fn family(db: &Db, number: u32) -> Result<Family<'_>, String> {
    let name = Shape::family_name(number);
    let handle = db.cf_handle(&name).ok_or(format!("{name} is gone"))?;
    Ok(Family { number, handle })
}

/// The presence slots of the transient column families that exist. The values of a column
/// family tell its number; without any value, it is the last one that `expected` allows.
///
/// # Errors
/// A column family exists that must not, or one is missing.
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

/// All column families; `present` tells which transient ones exist.
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

/// Read options for scans in the total order of keys.
pub fn total() -> ReadOptions {
    let mut o = ReadOptions::default();
    o.set_total_order_seek(true);
    o
}

/// The content of `families`, restricted to the slots that `counts` selects, as scans in
/// both directions see it.
///
/// # Errors
/// A read failed, or returned unknown keys or values or a wrong order, or the scans
/// disagree.
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
    if forward {
        it.seek_to_first()
    } else {
        it.seek_to_last()
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
        if forward { it.next() } else { it.prev() }
    }
    it.status().map_err(ReadFailure::Reported)?;
    Ok(found)
}

/// The content of `db`, checked: scans and gets must agree, and `expected` must allow it.
///
/// # Errors
/// What is wrong with the content.
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

/// The content of all column families and the presence slots of the transient ones.
///
/// # Errors
/// A read failed, or `expected` does not allow the transient column families.
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

/// Checks that `expected` allows `content`.
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
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(wrong.join(", "))
    }
}
