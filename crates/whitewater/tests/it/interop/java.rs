//! The newest RocksDB that can be had, with every codec, through its Java
//! package rocksdbjni.
//!
//! `WHITEWATER_ROCKSDBJNI` is the path of its jar.

use super::python::printed;
use super::tools;
use crate::content::Content;
use crate::skip::skip;
use std::path::Path;

pub fn jar() -> Option<String> {
    let jar = std::env::var("WHITEWATER_ROCKSDBJNI").ok();
    if jar.is_none() {
        skip("WHITEWATER_ROCKSDBJNI is not set");
    }
    jar
}

/// Runs the program; returns the content it printed.
fn run(jar: &str, arguments: &[&str]) -> Content {
    let program = tools::script("Interop.java");
    let program = ["-cp", jar, tools::path(&program)];
    printed(&tools::run("java", &[&program, arguments].concat()))
}

pub fn scan(jar: &str, db: &Path) -> Content {
    let copy = tools::copied(db);
    run(jar, &["scan", tools::path(copy.path())])
}

/// Has RocksDB edit the database and write its tables anew, with the options in
/// its OPTIONS file; returns what it must hold.
pub fn rewrite(jar: &str, db: &Path, seed: u64) -> Content {
    run(jar, &["rewrite", tools::path(db), &seed.to_string()])
}
