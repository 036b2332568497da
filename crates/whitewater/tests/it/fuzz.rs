//! The fuzz targets for texts of options, over their stored corpora and the
//! options files of the fixtures.

use std::fs;
use std::path::{Path, PathBuf};
use whitewater::fuzzing::{TARGETS, run};

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut out: Vec<PathBuf> = match fs::read_dir(dir) {
        Ok(entries) => entries.map(|e| e.expect("readable").path()).collect(),
        Err(e) => panic!("{}: {e}", dir.display()),
    };
    out.sort();
    out
}

#[test]
fn stored_corpora_pass() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for (name, target) in TARGETS {
        let inputs = files(&corpora.join(name));
        assert!(!inputs.is_empty(), "no corpus of {name}");
        for path in inputs {
            let input = fs::read(&path).expect("readable");
            if std::panic::catch_unwind(|| target(&input)).is_err() {
                panic!("{name}: {}", path.display());
            }
        }
    }
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
