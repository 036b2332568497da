//! The fuzz targets for texts of options, over their stored corpora and the
//! options files of the fixtures.

use std::fs;
use std::path::Path;
use whitewater::fuzzing::{TARGETS, files, replay, run};

#[test]
fn stored_corpora_pass() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    replay(&corpora, TARGETS);
}

#[test]
fn options_files_of_fixtures_pass() {
    let Some(dir) = crate::fixtures::directory() else {
        return;
    };
    let mut seen = 0;
    for database in files(&dir).iter().filter(|d| d.is_dir()) {
        for path in files(database) {
            let name = path.file_name().expect("a name").to_string_lossy();
            if name.starts_with("OPTIONS-") {
                run("options_file", &fs::read(&path).expect("readable"));
                seen += 1;
            }
        }
    }
    assert!(seen > 0);
}
