//! The source files of a crate and their modules, for the tests `tidy`.

use std::fs;
use std::path::{Path, PathBuf};

/// The Rust files below `dir`, sorted.
pub fn rust_files(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// The names of the module in the file `path`, a path from the folder `src` on.
pub fn module_of(path: &Path) -> Vec<String> {
    let path = path.with_extension("");
    let names = path.iter().map(|name| name.to_string_lossy().into_owned());
    let mut names: Vec<String> = names.collect();
    names.pop_if(|last| last == "mod");
    names
}
