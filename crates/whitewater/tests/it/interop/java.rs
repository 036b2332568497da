//! The newest released RocksDB, with every codec, through its Java package rocksdbjni.
//!
//! `WHITEWATER_ROCKSDBJNI` is the path of its jar.

use super::python::printed;
use super::tools;
use crate::content::Content;
use crate::skip::skip_without;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use whitewater::{ExportImportFilesMetaData, LiveFileMetaData};

pub fn jar() -> Option<String> {
    let jar = std::env::var("WHITEWATER_ROCKSDBJNI").ok();
    if jar.is_none() {
        skip_without("rocksdbjni (WHITEWATER_ROCKSDBJNI is not set)");
    }
    jar
}

/// The programs of `scripts` that this module and its siblings run.
const PROGRAMS: [&str; 5] = [
    "Interop",
    "InteropPaths",
    "InteropTables",
    "InteropTimestamps",
    "InteropTransactions",
];

/// Flags for a process of some tenths of a second. Classes are only checked and compiled when that
/// pays, which it does not here.
const SHORT_LIVED: [&str; 3] = [
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-Xshare:auto",
];

/// Runs a program of `scripts`, with the library that the jar has. Cargo's search path for
/// libraries may have this project's `librocksdbjni`, which would come first.
pub fn run_java(jar: &str, program: &str, arguments: &[&str]) -> String {
    static PREPARED: OnceLock<PathBuf> = OnceLock::new();
    let dir = tools::path(PREPARED.get_or_init(|| prepared(jar)));
    let library = format!("-Djava.library.path={dir}");
    let classes = format!("{jar}:{dir}");
    let start = [&library[..], "-cp", &classes, program];
    tools::run("java", &[&SHORT_LIVED[..], &start, arguments].concat())
}

/// A directory with the compiled programs and the library of this platform, if the jar has it under
/// that name (RocksDB unpacks its own otherwise). It serves later runs of the tests as well. A
/// process that compiled and unpacked for itself took two seconds for that.
fn prepared(jar: &str) -> PathBuf {
    let sources = PROGRAMS.map(|name| tools::script(&format!("{name}.java")));
    let mut hash = DefaultHasher::new();
    jar.hash(&mut hash);
    for source in &sources {
        std::fs::read(source).expect("readable").hash(&mut hash);
    }
    let parent = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let done = parent.join(format!("interop-java-{:016x}", hash.finish()));
    if done.is_dir() {
        return done;
    }
    let dir = tempfile::tempdir_in(parent).expect("a temporary directory");
    let to = tools::path(dir.path());
    let sources = sources.each_ref().map(|source| tools::path(source));
    tools::run("javac", &[&["-cp", jar, "-d", to][..], &sources].concat());
    let platform = if cfg!(target_arch = "x86_64") {
        "linux64"
    } else {
        "linux-aarch64"
    };
    let library = format!("librocksdbjni-{platform}.so");
    let unpacked = Command::new("jar")
        .args(["--extract", "--file", jar, &library])
        .current_dir(dir.path())
        .status();
    assert!(unpacked.expect("jar runs").success(), "{library} of {jar}");
    // Another process may have been first, with the same.
    if std::fs::rename(dir.keep(), &done).is_err() {
        assert!(done.is_dir(), "{} cannot be made", done.display());
    }
    done
}

/// Runs `Interop.java`; returns the content it printed.
fn run(jar: &str, arguments: &[&str]) -> Content {
    printed(&run_java(jar, "Interop", arguments))
}

pub fn scan(jar: &str, db: &Path) -> Content {
    let copy = tools::copied(db);
    run(jar, &["scan", tools::path(copy.path())])
}

/// Makes RocksDB edit the database and rewrite its tables, with the options in its OPTIONS file.
/// Returns the content that it must have.
pub fn rewrite(jar: &str, db: &Path, seed: u64) -> Content {
    run(jar, &["rewrite", tools::path(db), &seed.to_string()])
}

/// Makes RocksDB add a backup of the database to a directory of backups.
pub fn back_up(jar: &str, db: &Path, backups: &Path) {
    run(jar, &["backup", tools::path(db), tools::path(backups)]);
}

/// Makes RocksDB restore the latest backup; returns the content.
pub fn restore(jar: &str, backups: &Path, db: &Path) -> Content {
    run(jar, &["restore", tools::path(db), tools::path(backups)])
}

/// Makes RocksDB take steps on a database whose keys have timestamps
/// (`scripts/InteropTimestamps.java`). Returns the content it showed, each time.
pub fn stamped(jar: &str, db: &Path, steps: &str) -> Vec<Content> {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(&file, steps).expect("can be written");
    let arguments = [tools::path(db), tools::path(file.path())];
    let out = run_java(jar, "InteropTimestamps", &arguments);
    out.lines().map(printed).collect()
}

/// Makes RocksDB export the default column family to `dir`, and import it again under the name
/// `copy`. Returns the content, and what an import needs to know.
pub fn export(jar: &str, db: &Path, dir: &Path) -> (Content, ExportImportFilesMetaData) {
    let out = run_java(
        jar,
        "Interop",
        &["export", tools::path(db), tools::path(dir)],
    );
    let (content, files) = out.split_once('\n').expect("the content, then tables");
    let file = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |n: usize| words[n].parse::<u64>().expect("a number");
        LiveFileMetaData {
            name: words[0].to_owned(),
            db_path: dir.to_path_buf(),
            level: number(1) as i32,
            size: number(2),
            smallest_seqno: number(3),
            largest_seqno: number(4),
            ..LiveFileMetaData::default()
        }
    };
    let mut exported = ExportImportFilesMetaData::new();
    exported.set_db_comparator_name("leveldb.BytewiseComparator");
    exported.set_files(files.lines().map(file).collect());
    (printed(content), exported)
}

/// Makes RocksDB take steps on a database with transactions (`scripts/InteropTransactions.java`).
/// Returns what it showed: names of transactions and content, each time.
pub fn transact(jar: &str, db: &Path, policy: &str, steps: &str) -> Vec<(Vec<String>, Content)> {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(&file, steps).expect("can be written");
    let arguments = [tools::path(db), policy, tools::path(file.path())];
    let out = run_java(jar, "InteropTransactions", &arguments);
    let lines: Vec<&str> = out.lines().collect();
    let shown = |two: &[&str]| {
        let names = two[0].split_whitespace().map(str::to_owned);
        (names.collect(), printed(two[1]))
    };
    lines.chunks(2).map(shown).collect()
}

/// Makes RocksDB write a database with tables of the formats that the options of its families name
/// (`scripts/InteropTables.java`). Returns the content that it must have.
pub fn write_tables(
    jar: &str,
    db: &Path,
    seed: u64,
    keys: &str,
    families: &[(&str, &str)],
) -> Content {
    let seed = seed.to_string();
    tables(jar, &["write", tools::path(db), &seed, keys], families)
}

/// Makes RocksDB read such a database, key by key, too; returns the content.
pub fn read_tables(jar: &str, db: &Path, keys: &str, families: &[(&str, &str)]) -> Content {
    tables(jar, &["read", tools::path(db), keys], families)
}

fn tables(jar: &str, arguments: &[&str], families: &[(&str, &str)]) -> Content {
    let families: Vec<String> = families
        .iter()
        .map(|(n, text)| format!("{n}|{text}"))
        .collect();
    let families: Vec<&str> = families.iter().map(String::as_str).collect();
    let arguments = [arguments, &families].concat();
    printed(&run_java(jar, "InteropTables", &arguments))
}
