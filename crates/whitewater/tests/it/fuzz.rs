//! The fuzz targets for whole databases and for texts of options, run over their stored corpora and
//! the options files of the fixtures.

use std::fs;
use std::path::Path;
use whitewater::fuzzing::{TARGETS, files, input_of, replay, run};

#[test]
fn stored_corpora_pass() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    replay(&corpora, TARGETS);
}

#[test]
fn options_files_of_fixtures_pass() {
    let dir = crate::fixtures::directory();
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

/// Writes the first inputs of the target `database` into the folder that WHITEWATER_FUZZ_SEEDS
/// names: each database that the target makes, opened in different ways, and fixtures that are
/// small enough.
#[test]
fn first_inputs_of_databases_are_written_on_request() {
    let Some(out) = std::env::var_os("WHITEWATER_FUZZ_SEEDS") else {
        return;
    };
    let put = |name: String, input: &[u8]| {
        run("database", input);
        fs::write(Path::new(&out).join(name), input).expect("can be written");
    };
    for base in 0..4u8 {
        for how in [0x20, 0x03, 0x46] {
            put(format!("base{base}-{how:02x}"), &[base, how, 0]);
        }
        // Some bytes of some file are changed, under checksums that fit.
        for (file, at) in [(2, 40), (0, 60)] {
            let mutation = [0x80, file, at, 0, 0, 3, 1, 2, 3];
            let input = [&[base, base, 0][..], &mutation].concat();
            put(format!("changed{base}-{file}"), &input);
        }
    }
    put("followed".to_owned(), &[1, 5, 0]);
    put("options".to_owned(), &[1, 7, 0]);
    let dir = crate::fixtures::directory();
    for name in ["wide_blob_ingest", "default_11_1"] {
        let files = files(&dir.join(name)).into_iter().map(|path| {
            let name = path.file_name().expect("a name").to_string_lossy();
            (name.into_owned(), fs::read(&path).expect("readable"))
        });
        let files: Vec<_> = files.collect();
        for how in [0x20, 0x03, 0x46] {
            put(format!("{name}-{how:02x}"), &input_of(how, &files));
        }
    }
}
