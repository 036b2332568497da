//! The purpose of each file in a database's directory.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use clap::Args;
use serde_json::Value;
use whitewater_storage::filename::{self, FileType};

use super::failure::{Failure, Result};
use super::paths::DataDirs;
use super::session::{Place, Session};
use super::state::{State, log_dir};

/// Prints the purpose of each file of a database, and whether it is needed.
///
/// The command exits with 1 if a table or blob file of the manifest is missing.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ww files /data/db")]
pub struct Files {
    #[command(flatten)]
    place: Place,
}

impl Files {
    /// Runs the command.
    ///
    /// # Errors
    /// The directory cannot be listed, or a table is missing.
    pub fn run(&self, session: &mut Session<'_>) -> Result<()> {
        let dir = &self.place.of(session)?;
        let state = match State::read(dir) {
            Ok(state) => Some(state),
            Err(e) => {
                session.warn(format_args!("what is in use is not known: {e}"));
                None
            }
        };
        let mut found = list(dir)?;
        let logs = log_dir(dir);
        let elsewhere = logs != *dir;
        if elsewhere {
            let outside = list(&logs)?.into_iter();
            found.extend(
                outside.map(|(name, size)| (logs.join(name).to_string_lossy().into_owned(), size)),
            );
        }
        for other in DataDirs::new(dir, session.global).elsewhere() {
            let outside = list(other)?.into_iter();
            found.extend(
                outside.map(|(name, size)| (other.join(name).to_string_lossy().into_owned(), size)),
            );
        }
        let newest = found.keys().filter_map(|name| match filename::parse(name) {
            Some(FileType::Options(number)) => Some(number),
            _ => None,
        });
        let newest = newest.max();
        let mut rows = Vec::new();
        for (name, size) in &found {
            let base = base(name).unwrap_or_default();
            let (kind, what) = describe(base, state.as_ref(), newest);
            let row: [Value; 4] = [
                name.as_str().into(),
                (*size).into(),
                kind.into(),
                what.into(),
            ];
            rows.push(row.to_vec());
        }
        let missing = state
            .map(|state| missing(&state, &found))
            .unwrap_or_default();
        for (name, kind, what) in &missing {
            let row: [Value; 4] = [
                name.as_str().into(),
                0.into(),
                kind.as_str().into(),
                what.as_str().into(),
            ];
            rows.push(row.to_vec());
        }
        session.table(&["file", "size", "kind", "state"], &rows)?;
        match missing.len() {
            0 => Ok(()),
            n => Err(Failure::negative(format_args!(
                "{n} tables or blob files are missing"
            ))),
        }
    }
}

/// The names and sizes of the files in `dir`; directories have the size 0.
fn list(dir: &Path) -> Result<BTreeMap<String, u64>> {
    let failed = |e: std::io::Error| Failure::io(dir, &e);
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(dir).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let mut name = entry.file_name().to_string_lossy().into_owned();
        // A writer may have deleted the file since it was listed.
        let Ok(found) = entry.metadata() else {
            continue;
        };
        if found.is_dir() {
            name.push('/');
        }
        files.insert(name, if found.is_file() { found.len() } else { 0 });
    }
    Ok(files)
}

/// Tables and blob files of the manifest that are missing: name, kind and state.
fn missing(state: &State, found: &BTreeMap<String, u64>) -> Vec<(String, String, String)> {
    let (mut tables, mut blobs) = (BTreeSet::new(), BTreeSet::new());
    for name in found.keys().filter_map(|name| base(name)) {
        match filename::parse(name) {
            Some(FileType::Table(number)) => drop(tables.insert(number)),
            Some(FileType::Blob(number)) => drop(blobs.insert(number)),
            _ => {}
        }
    }
    let row = |number: u64, end: &str, kind: &str, what: String| {
        (format!("{number:06}.{end}"), kind.to_owned(), what)
    };
    let lost = state
        .tables()
        .filter(|(_, _, f)| !tables.contains(&f.number));
    let lost = lost.map(|(family, level, file)| {
        let what = format!("MISSING: {} level {level}", family.name);
        row(file.number, "sst", "table", what)
    });
    let gone = state.blob_files();
    let gone = gone.filter(|(_, _, f)| !blobs.contains(&f.meta.number));
    let gone = gone.map(|(_, family, file)| {
        let what = format!("MISSING: {}", family.name);
        row(file.meta.number, "blob", "blob file", what)
    });
    lost.chain(gone).collect()
}

/// The last part of a path.
fn base(name: &str) -> Option<&str> {
    Path::new(name).file_name().and_then(|name| name.to_str())
}

/// The kind and state of the file `name`.
fn describe(
    name: &str,
    state: Option<&State>,
    newest_options: Option<u64>,
) -> (&'static str, String) {
    let unknown = || "?".to_owned();
    let Some(kind) = filename::parse(name) else {
        return match name {
            "archive/" => ("directory", "archived logs".to_owned()),
            "lost/" => ("directory", "what a repair could not read".to_owned()),
            _ => ("other", "not of the database".to_owned()),
        };
    };
    match kind {
        FileType::Table(number) => {
            let what = state.map_or_else(unknown, |state| {
                let mut tables = state.tables();
                match tables.find(|(_, _, file)| file.number == number) {
                    Some((family, level, _)) => format!("live: {} level {level}", family.name),
                    None => "obsolete".to_owned(),
                }
            });
            ("table", what)
        }
        FileType::Wal(number) => {
            let what = state.map_or_else(unknown, |state| {
                if number >= state.first_log() {
                    "live".to_owned()
                } else {
                    "obsolete".to_owned()
                }
            });
            ("log", what)
        }
        FileType::Manifest(_) => {
            let what = state.map_or_else(unknown, |state| {
                if state
                    .manifest
                    .file_name()
                    .is_some_and(|current| current == name)
                {
                    "current".to_owned()
                } else {
                    "obsolete".to_owned()
                }
            });
            ("manifest", what)
        }
        FileType::Options(number) => {
            let what = if newest_options == Some(number) {
                "newest"
            } else {
                "older"
            };
            ("options", what.to_owned())
        }
        FileType::Blob(number) => (
            "blob file",
            state.map_or_else(unknown, |state| of_blob_file(state, number)),
        ),
        FileType::Temp(_) => ("temporary", "left by a crash, or being written".to_owned()),
        FileType::Current => ("current", "names the manifest".to_owned()),
        FileType::Lock => ("lock", "what a writer locks".to_owned()),
        FileType::Identity => ("identity", "the database's id".to_owned()),
        FileType::InfoLog => ("info log", "messages".to_owned()),
    }
}

/// The state of blob file `number`.
fn of_blob_file(state: &State, number: u64) -> String {
    let mut blobs = state.blob_files();
    match blobs.find(|(_, _, file)| file.meta.number == number) {
        Some((_, family, file)) => format!(
            "live: {}, {} of {} values are garbage",
            family.name, file.garbage_count, file.meta.count
        ),
        None => "obsolete".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_by_their_names() {
        let state = State {
            min_log_number_to_keep: 8,
            manifest: "/db/MANIFEST-000005".into(),
            ..State::default()
        };
        let told = |name: &str| describe(name, Some(&state), Some(7)).1;
        assert_eq!(told("000008.log"), "live");
        assert_eq!(told("000007.log"), "obsolete");
        assert_eq!(told("MANIFEST-000005"), "current");
        assert_eq!(told("MANIFEST-000004"), "obsolete");
        assert_eq!(told("OPTIONS-000007"), "newest");
        assert_eq!(told("000009.sst"), "obsolete");
        assert_eq!(told("notes.txt"), "not of the database");
    }
}
