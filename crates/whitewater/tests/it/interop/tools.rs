//! RocksDB's command line tools, and what they print.

use crate::content::{self, Content, Pairs, copy_dir, unhex};
use crate::skip::skip_without;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;
use whitewater::{DB, Options};

/// Whether the tools are installed. If they must be and are not, this fails.
pub fn available() -> bool {
    let missing = |tool: &&str| !Path::new("/usr/bin").join(tool).is_file();
    let missing: Vec<_> = ["ldb", "sst_dump", "db_bench"]
        .into_iter()
        .filter(missing)
        .collect();
    if missing.is_empty() {
        return true;
    }
    skip_without(&format!("rocksdb-tools ({})", missing.join(", ")));
    false
}

/// Runs a program, which must succeed, and returns what it printed.
pub fn run<S: AsRef<OsStr>>(program: &str, arguments: &[S]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .unwrap_or_else(|e| panic!("{program}: {e}"));
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    let arguments: Vec<_> = arguments.iter().map(AsRef::as_ref).collect();
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {}\n{out}{err}",
        output.status
    );
    for line in out.lines().chain(err.lines()) {
        let said = |what: &str| line.contains(what) && !line.contains("0x");
        assert!(
            !said("Corruption") && !said("Failed:") && !said("IO error"),
            "{program} {arguments:?}: {line}"
        );
    }
    out
}

/// Runs `ldb` on a database.
pub fn ldb<S: AsRef<OsStr>>(db: &Path, arguments: &[S]) -> String {
    let mut all = vec![format!("--db={}", path(db)).into()];
    all.extend(arguments.iter().map(|a| a.as_ref().to_owned()));
    run("/usr/bin/ldb", &all)
}

/// Runs `db_bench` on a database.
pub fn db_bench(db: &Path, flags: &[&str]) {
    let mut all = vec![format!("--db={}", path(db)), "--threads=1".into()];
    all.extend(flags.iter().map(|&flag| flag.into()));
    run("/usr/bin/db_bench", &all);
}

pub fn path(path: &Path) -> &str {
    path.to_str()
        .expect("temporary directories have plain names")
}

/// A file of this repository's scripts.
pub fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../scripts")
        .join(name)
}

/// A copy of a database, for tools that write.
pub fn copied(db: &Path) -> TempDir {
    let dir = tempfile::tempdir().expect("a temporary directory");
    copy_dir(db, dir.path());
    dir
}

/// The content of a copy of a database as `ldb scan` prints it.
pub fn scan(db: &Path) -> Content {
    let copy = copied(db);
    let names = DB::list_cf(&Options::default(), db).expect("can be listed");
    let listed = ldb(copy.path(), &["list_column_families"]);
    for name in &names {
        assert!(listed.contains(name), "{name} is not in {listed}");
    }
    let scan = |name: String| {
        let pairs = scan_family(copy.path(), &name);
        (name, pairs)
    };
    names.into_iter().map(scan).collect()
}

fn scan_family(db: &Path, name: &str) -> Pairs {
    let out = ldb(db, &["scan", "--hex", &format!("--column_family={name}")]);
    let lines = out.lines().filter(|line| line.starts_with("0x"));
    lines
        .map(|line| {
            let (key, value) = line.split_once(" : ").expect("a key and a value");
            (bytes(key), bytes(value))
        })
        .collect()
}

/// The bytes of a number as the tools print it.
pub fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.trim().strip_prefix("0x").expect("starts with 0x");
    unhex(digits)
}

/// Bytes as the tools take and print them.
pub fn hex(bytes: &[u8]) -> String {
    format!("0x{}", content::hex(bytes).to_uppercase())
}

/// Makes RocksDB check a copy of the database: its files against the manifest, and every block of
/// every table.
pub fn check(db: &Path) {
    let copy = copied(db);
    let out = ldb(copy.path(), &["checkconsistency"]);
    assert!(out.contains("OK"), "{out}");
    if tables(db).is_empty() {
        return;
    }
    for command in ["verify", "check"] {
        let dir = format!("--file={}", path(copy.path()));
        let command = format!("--command={command}");
        let out = run("/usr/bin/sst_dump", &[&dir, &command, "--verify_checksum"]);
        let processed = out.matches("Process ").count();
        assert_eq!(processed, tables(db).len(), "{out}");
    }
}

/// Files of a kind, sorted.
pub fn files(db: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(db).expect("can be listed");
    let mut files: Vec<_> = entries
        .map(|entry| entry.expect("can be listed").path())
        .filter(|path| path.extension().is_some_and(|e| e == extension))
        .collect();
    files.sort();
    files
}

fn tables(db: &Path) -> Vec<PathBuf> {
    files(db, "sst")
}

/// A table in the manifest: level and number.
pub type Placed = (i32, u64);

/// The tables of each family as `ldb manifest_dump` prints them.
pub fn manifest_tables(db: &Path) -> BTreeMap<String, Vec<Placed>> {
    // A process that is killed may leave two manifests.
    let current = std::fs::read_to_string(db.join("CURRENT")).expect("readable");
    let manifest = format!("--path={}", path(&db.join(current.trim())));
    let out = ldb(db, &["manifest_dump", &manifest]);
    let mut families = BTreeMap::new();
    let mut family = String::new();
    let mut level = 0;
    for line in out.lines() {
        if let Some(rest) = line.split_once("Column family \"") {
            family = rest.1.split('"').next().unwrap_or_default().to_owned();
            families.insert(family.clone(), Vec::new());
        } else if let Some(rest) = line.strip_prefix("--- level ") {
            let number = rest.split(' ').next().unwrap_or_default();
            level = number.parse().expect("a level");
        } else if let Some((number, _)) = line.trim().split_once(':')
            && let Ok(number) = number.parse()
        {
            let tables: &mut Vec<Placed> = families.get_mut(&family).expect("named before");
            tables.push((level, number));
        }
    }
    families.values_mut().for_each(|tables| tables.sort());
    families
}

/// Removes the tables in `db` that its manifest does not list: a process that is killed leaves what
/// its jobs were writing. Returns how many there were.
pub fn remove_unlisted_tables(db: &Path) -> usize {
    let listed: Vec<u64> = manifest_tables(db)
        .into_values()
        .flatten()
        .map(|(_, number)| number)
        .collect();
    let mut unlisted = tables(db);
    let number = |table: &Path| table.file_stem()?.to_str()?.parse().ok();
    unlisted.retain(|table| !listed.contains(&number(table).expect("a number")));
    for table in &unlisted {
        std::fs::remove_file(table).expect("can be removed");
    }
    unlisted.len()
}

/// The operations in a log as `ldb dump_wal` prints them.
pub fn log_operations(log: &Path) -> Vec<String> {
    let walfile = format!("--walfile={}", path(log));
    let out = run("/usr/bin/ldb", &["dump_wal", &walfile, "--print_value"]);
    let mut operations = Vec::new();
    for line in out.lines() {
        // Sequence, count, bytes, offset, then the operations.
        let row = line.splitn(5, ',').nth(4).unwrap_or_default();
        operations.push(row.trim().to_owned());
    }
    operations
}

/// The keys and values in the tables as `sst_dump` prints them, by table number. Fails if there is
/// anything but values.
pub fn table_values(db: &Path) -> BTreeMap<u64, Pairs> {
    let dir = format!("--file={}", path(db));
    let out = run(
        "/usr/bin/sst_dump",
        &[&dir, "--command=scan", "--output_hex"],
    );
    let mut all = BTreeMap::new();
    let mut number = 0;
    for line in out.lines() {
        if let Some(file) = line.strip_prefix("Process ") {
            let stem = Path::new(file).file_stem().and_then(OsStr::to_str);
            number = stem.and_then(|s| s.parse().ok()).expect("a number");
            all.insert(number, Pairs::new());
        } else if let Some(entry) = line.strip_prefix('\'') {
            let (key, rest) = entry.split_once("' seq:").expect("a key");
            let (place, value) = rest.split_once(" => ").expect("a value");
            assert!(place.ends_with("type:1"), "{line}");
            let pairs = all.get_mut(&number).expect("named before");
            pairs.insert(unhex(key), unhex(value.trim()));
        }
    }
    all
}
