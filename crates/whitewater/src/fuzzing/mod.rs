//! What fuzzers run on whole databases and on the text of options; what decodes
//! bytes alone is `storage`'s.
//!
//! A target takes any bytes and checks what must hold whatever they are: no
//! panic, and that options which were understood survive being written and read
//! again. The fuzzer's own crate is `fuzz/`; `tests/it/fuzz.rs` runs every
//! target over the stored corpora, in each test run.
//!
//! `database` has the target for whole databases.

mod database;

pub use database::{database, input_of};

use crate::Options;
use crate::options::file::print;
use crate::options::file::read::{Parsed, parse, set_db, set_family, set_table};
use crate::options::{CfOptions, DbOptions};
use whitewater_storage::fuzzing::{Target, run_of};
pub use whitewater_storage::fuzzing::{files, fit_checksums, replay};

/// Every target by name; `fuzz/corpus/` has a folder for each.
pub const TARGETS: &[(&str, Target)] = &[
    ("database", database),
    ("options_file", options_file),
    ("options_string", options_string),
];

/// Runs one target.
///
/// # Panics
/// When what must hold does not, or there is no target called `name`.
pub fn run(name: &str, data: &[u8]) {
    run_of(TARGETS, name, data);
}

/// An options file: what is understood of it is printed, and that is understood
/// as a whole and as the same.
pub fn options_file(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Ok(parsed) = parse(text) else {
        return;
    };
    let (loaded, _) = Loaded::from(&parsed);
    loaded.check_survival();
}

/// Assignments as `get_options_from_string` takes them, of options that a
/// database would be opened with.
pub fn options_string(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Ok(options) = Options::default().get_options_from_string(text) else {
        return;
    };
    if let (Ok(db), Ok(mut cf)) = (options.db_options(), options.cf_options()) {
        cf.table.block_cache = None;
        let families = vec![("default".to_owned(), cf)];
        Loaded { db, families }.check_survival();
    }
}

/// The options of a database and its column families.
struct Loaded {
    db: DbOptions,
    families: Vec<(String, CfOptions)>,
}

impl Loaded {
    /// What can be set of a file's options, and the errors of what cannot.
    fn from(parsed: &Parsed) -> (Loaded, Vec<crate::Error>) {
        let mut errors = Vec::new();
        let mut db = DbOptions::default();
        for (name, value) in &parsed.db {
            errors.extend(set_db(&mut db, name, value).err());
        }
        let mut families = Vec::new();
        for family in &parsed.families {
            let mut cf = CfOptions::default();
            for (name, value) in &family.options {
                errors.extend(set_family(&mut cf, name, value).err());
            }
            let table = family.table.iter();
            for (name, value) in table.filter(|(name, _)| name != "no_block_cache") {
                errors.extend(set_table(&mut cf, name, value).err());
            }
            families.push((family.name.clone(), cf));
        }
        (Loaded { db, families }, errors)
    }

    fn print(&self) -> String {
        let families = self.families.iter();
        print(&self.db, families.map(|(name, cf)| (name.as_str(), cf)))
    }

    /// Checks that these options are the same from the file they make.
    fn check_survival(&self) {
        let text = self.print();
        let parsed = parse(&text).unwrap_or_else(|e| panic!("{e} in\n{text}"));
        let (again, errors) = Loaded::from(&parsed);
        assert!(errors.is_empty(), "{errors:?} in\n{text}");
        assert_eq!(again.print(), text);
    }
}
