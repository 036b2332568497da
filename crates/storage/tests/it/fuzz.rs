//! Runs every fuzz target over its stored corpus, and over the parts of the fixtures.

use crate::sst::fixtures;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use whitewater_storage::fuzzing::{TARGETS, files, replay, run, seeds};

#[test]
fn stored_corpora_pass() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    replay(&corpora, TARGETS);
}

#[test]
fn what_fixtures_are_made_of_passes() {
    let dir = fixtures::directory();
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for path in files(&dir)
        .iter()
        .filter(|d| d.is_dir())
        .flat_map(|d| files(d))
    {
        let name = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        for (target, input) in seeds::of_file(&name, &fs::read(&path).expect("readable")) {
            run(target, &input);
            *seen.entry(target).or_default() += 1;
        }
    }
    let names: Vec<&str> = seen.keys().copied().collect();
    let mut all: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
    // A database has no metadata of backups, and no programs.
    let others = ["backup_meta", "blob_writing", "plain_table", "cuckoo_table"];
    all.retain(|name| !others.contains(name));
    all.sort_unstable();
    assert_eq!(names, all, "{seen:?}");
}
