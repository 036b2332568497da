//! The newest released RocksDB, with every codec, through its Java package rocksdbjni.
//!
//! `WHITEWATER_ROCKSDBJNI` is the path of its jar.

use super::python::printed;
use super::tools;
use crate::content::Content;
use crate::skip::skip_without;
use std::path::Path;
use whitewater::{ExportImportFilesMetaData, LiveFileMetaData};

pub fn jar() -> Option<String> {
    let jar = std::env::var("WHITEWATER_ROCKSDBJNI").ok();
    if jar.is_none() {
        skip_without("rocksdbjni (WHITEWATER_ROCKSDBJNI is not set)");
    }
    jar
}

/// Runs Java, with the library that the jar has. Cargo's search path for libraries may have this
/// project's `librocksdbjni`, which would come first.
pub fn run_java(arguments: &[&str]) -> String {
    let flags = ["-Djava.library.path=nowhere"];
    tools::run("java", &[&flags, arguments].concat())
}

/// Runs the program; returns the content it printed.
fn run(jar: &str, arguments: &[&str]) -> Content {
    let program = tools::script("Interop.java");
    let program = ["-cp", jar, tools::path(&program)];
    printed(&run_java(&[&program, arguments].concat()))
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
    let program = tools::script("InteropTimestamps.java");
    let program = ["-cp", jar, tools::path(&program)];
    let arguments = [tools::path(db), tools::path(file.path())];
    let out = run_java(&[&program[..], &arguments].concat());
    out.lines().map(printed).collect()
}

/// Makes RocksDB export the default column family to `dir`, and import it again under the name
/// `copy`. Returns the content, and what an import needs to know.
pub fn export(jar: &str, db: &Path, dir: &Path) -> (Content, ExportImportFilesMetaData) {
    let program = tools::script("Interop.java");
    let program = ["-cp", jar, tools::path(&program)];
    let arguments = ["export", tools::path(db), tools::path(dir)];
    let out = run_java(&[program, arguments].concat());
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
    let program = tools::script("InteropTransactions.java");
    let program = ["-cp", jar, tools::path(&program)];
    let arguments = [tools::path(db), policy, tools::path(file.path())];
    let out = run_java(&[program, arguments].concat());
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
    let program = tools::script("InteropTables.java");
    let program = ["-cp", jar, tools::path(&program)];
    let families: Vec<String> = families
        .iter()
        .map(|(n, text)| format!("{n}|{text}"))
        .collect();
    let families: Vec<&str> = families.iter().map(String::as_str).collect();
    printed(&run_java(&[&program, arguments, &families].concat()))
}
