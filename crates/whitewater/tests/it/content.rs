//! The content of a database, and a check that all ways to read it agree.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;
use whitewater::{
    BottommostLevelCompaction, ColumnFamilyDescriptor, ColumnFamilyRef, CompactOptions, DB,
    Direction, Error, IteratorMode, Options, ReadOptions,
};

/// The pairs of one column family.
pub type Pairs = BTreeMap<Vec<u8>, Vec<u8>>;

/// Column families by name.
pub type Content = BTreeMap<String, Pairs>;

/// What an iterator gives.
type Item = (Box<[u8]>, Box<[u8]>);

/// At most this many keys of a family are looked up one by one.
const SOUGHT: usize = 150;

/// Opens all column families of a database, each with its options.
pub fn open_with(path: &Path, options: impl Fn(&str) -> Options) -> Result<DB, Error> {
    let names = DB::list_cf(&Options::default(), path)?;
    let families = names
        .iter()
        .map(|name| ColumnFamilyDescriptor::new(name, options(name)));
    DB::open_cf_descriptors(&options("default"), path, families)
}

/// Opens all column families of a database with default options.
pub fn open(path: &Path) -> DB {
    open_with(path, |_| Options::default()).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

pub fn cf<'a>(db: &'a DB, name: &str) -> ColumnFamilyRef<'a> {
    let handle = db.cf_handle(name);
    handle.unwrap_or_else(|| panic!("no column family {name}"))
}

/// Flushes and compacts a column family; `force` rewrites its last level too.
pub fn compact(db: &DB, name: &str, force: bool) -> Result<(), Error> {
    let cf = cf(db, name);
    db.flush_cf(&cf)?;
    let mut options = CompactOptions::default();
    if force {
        options.set_bottommost_level_compaction(BottommostLevelCompaction::Force);
    }
    db.try_compact_range_cf_opt(&cf, None::<&[u8]>, None::<&[u8]>, &options)
}

/// Checks that `db` holds `content` and nothing else, in every way to read.
pub fn check(db: &DB, content: &Content, when: &str) {
    for (name, pairs) in content {
        check_family(db, name, pairs, &[], when);
    }
}

/// Checks that a column family holds `pairs` and nothing else.
pub fn check_family(db: &DB, name: &str, pairs: &Pairs, absent: &[Vec<u8>], when: &str) {
    let what = format!("column family {name}, {when}");
    check_scans(db, name, pairs, &what);
    check_gets(db, name, pairs, absent, &what);
    check_seeks(db, name, pairs, absent, &what);
}

fn check_scans(db: &DB, name: &str, pairs: &Pairs, what: &str) {
    let cf = cf(db, name);
    let scan = |mode| -> Vec<Item> {
        let items: Result<Vec<_>, Error> = db.iterator_cf(&cf, mode).collect();
        items.unwrap_or_else(|e| panic!("{what}: {e}"))
    };
    let wanted = pairs.iter().map(|(k, v)| (&k[..], &v[..]));
    compare(
        scan(IteratorMode::Start),
        wanted.clone(),
        &format!("{what}, forward"),
    );
    compare(
        scan(IteratorMode::End),
        wanted.rev(),
        &format!("{what}, backward"),
    );
}

fn compare<'a>(found: Vec<Item>, wanted: impl Iterator<Item = (&'a [u8], &'a [u8])>, what: &str) {
    let mut found = found.iter().map(|(k, v)| (&k[..], &v[..]));
    for pair in wanted {
        let next = found.next();
        assert!(
            next == Some(pair),
            "{what}: {} where {} is expected",
            next.map_or("the end".to_owned(), show),
            show(pair)
        );
    }
    let more = found.next();
    assert!(
        more.is_none(),
        "{what}: {} after the end",
        more.map_or(String::new(), show)
    );
}

fn show((key, value): (&[u8], &[u8])) -> String {
    let start = &value[..value.len().min(40)];
    format!("{} => {} ({} bytes)", hex(key), hex(start), value.len())
}

fn check_gets(db: &DB, name: &str, pairs: &Pairs, absent: &[Vec<u8>], what: &str) {
    let cf = cf(db, name);
    let keys: Vec<&[u8]> = pairs.keys().chain(absent).map(|k| &k[..]).collect();
    for &key in &keys {
        let value = db
            .get_cf(&cf, key)
            .unwrap_or_else(|e| panic!("{what}: {e}"));
        assert!(value.as_ref() == pairs.get(key), "{what}: get {}", hex(key));
        if value.is_some() {
            assert!(
                db.key_may_exist_cf(&cf, key),
                "{what}: may exist {}",
                hex(key)
            );
        }
    }
    let many = db.multi_get_cf(keys.iter().map(|&key| (&cf, key)));
    let batched = db.batched_multi_get_cf(&cf, keys.iter().copied(), true);
    assert_eq!(
        (many.len(), batched.len()),
        (keys.len(), keys.len()),
        "{what}"
    );
    for ((&key, one), pinned) in keys.iter().zip(many).zip(batched) {
        let one = one.unwrap_or_else(|e| panic!("{what}: {e}"));
        assert!(
            one.as_ref() == pairs.get(key),
            "{what}: multi_get {}",
            hex(key)
        );
        let pinned = pinned.unwrap_or_else(|e| panic!("{what}: {e}"));
        let pinned = pinned.as_deref();
        assert!(
            pinned == pairs.get(key).map(|v| &v[..]),
            "{what}: batched_multi_get {}",
            hex(key)
        );
    }
}

fn check_seeks(db: &DB, name: &str, pairs: &Pairs, absent: &[Vec<u8>], what: &str) {
    let cf = cf(db, name);
    let step = (pairs.len() + absent.len()).div_ceil(SOUGHT).max(1);
    for key in pairs.keys().chain(absent).step_by(step) {
        let from = |direction| {
            let mut options = ReadOptions::default();
            options.set_total_order_seek(true);
            let mode = IteratorMode::From(key, direction);
            let mut found = db.iterator_cf_opt(&cf, options, mode);
            found.next().map(|item| item.unwrap().0.into_vec())
        };
        let next = pairs.range(key.clone()..).next().map(|(k, _)| k.clone());
        assert!(
            from(Direction::Forward) == next,
            "{what}: seek {}",
            hex(key)
        );
        let before = pairs.range(..=key.clone()).next_back();
        let before = before.map(|(k, _)| k.clone());
        assert!(
            from(Direction::Reverse) == before,
            "{what}: seek_for_prev {}",
            hex(key)
        );
    }
}

/// Copies the files of a directory, but not its directories, into a new one. Files may be removed
/// meanwhile.
pub fn copy_dir(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("can be created");
    for entry in std::fs::read_dir(from).expect("can be listed") {
        let entry = entry.expect("can be listed");
        match std::fs::read(entry.path()) {
            Ok(bytes) => std::fs::write(to.join(entry.file_name()), bytes).expect("can be written"),
            Err(e) => assert!(
                matches!(e.kind(), ErrorKind::NotFound | ErrorKind::IsADirectory),
                "{e}"
            ),
        }
    }
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// The bytes of hexadecimal digits, upper or lower case.
pub fn unhex(digits: &str) -> Vec<u8> {
    assert!(digits.len().is_multiple_of(2), "{digits}");
    let byte = |i| u8::from_str_radix(&digits[i..i + 2], 16).expect("hexadecimal");
    (0..digits.len()).step_by(2).map(byte).collect()
}
