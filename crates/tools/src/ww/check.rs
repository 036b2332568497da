//! Checks that the files of a database are consistent.

use std::cmp::Ordering;
use std::path::Path;
use std::sync::Arc;

use clap::Args;
use serde_json::json;
use whitewater_storage::ErrorKind;
use whitewater_storage::internal_iterator::InternalIterator;
use whitewater_storage::key::user_key;
use whitewater_storage::manifest::FileMetaData;
use whitewater_storage::sst::Table;

use super::blobs::{self, Values};
use super::failure::{Failure, Result};
use super::paths::DataDirs;
use super::session::{Place, Session};
use super::sst;
use super::state::{Family, State, log_dir, logs_in};
use super::wal::{self, Finding};

/// Checks that the files of a database exist and are consistent.
///
/// The command checks the manifest, the sizes, comparators and key ranges of tables, the
/// order of the tables of each level, the sizes, headers and footers of blob files, and all
/// records of the logs. With --checksums it also checks all blocks of all tables, and all values
/// in blob files that they refer to. It prints a line for each problem and exits with 1 if
/// there is any.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ww checkconsistency /data/db
  ww checkconsistency /data/db --checksums")]
pub struct Check {
    #[command(flatten)]
    place: Place,
    /// Read and check all blocks of all tables, and all values in blob files.
    #[arg(long)]
    checksums: bool,
}

impl Check {
    /// Runs the command.
    ///
    /// # Errors
    /// There is no database, or it has a problem.
    pub fn run(&self, session: &mut Session<'_>) -> Result<()> {
        let dir = &self.place.of(session)?;
        let state = match State::read(dir) {
            Err(e) if e.kind() == ErrorKind::Corruption => {
                return report(session, &[e.to_string()]);
            }
            other => other?,
        };
        let tables = u64::try_from(state.tables().count()).ok();
        let progress = session.progress("check", "tables", tables);
        let mut problems = Vec::new();
        let dirs = DataDirs::new(dir, session.global);
        problems.extend(blob_files(dir, dirs, &state)?);
        for family in state.families.values() {
            problems.extend(order(family));
            let mut values = Values::default();
            for file in family.files.values() {
                let path = dirs.table(family, file);
                let mut checked = self.table(&path, family, file);
                if let Ok(Some(table)) = &checked {
                    let of_blob =
                        |number| is_named(family, number).then(|| dirs.blob(family, number));
                    let values = values.check(table, &of_blob);
                    checked = values
                        .map(|()| None)
                        .map_err(|e| format!("{}: {e}", path.display()));
                }
                if let Err(problem) = checked {
                    // A writer may have deleted it since the manifest was read.
                    let is_still_live = State::read(dir)?
                        .tables()
                        .any(|(_, _, live)| live.number == file.number);
                    if is_still_live {
                        problems.push(problem);
                    }
                }
                progress.add(1);
            }
        }
        progress.finish();
        problems.extend(logs(session, dir, &state)?);
        report(session, &problems)
    }

    /// Checks the table at `path`. Returns it if the values that it refers to are to be checked,
    /// too.
    ///
    /// # Errors
    /// The problem of the table.
    fn table(
        &self,
        path: &Path,
        family: &Family,
        file: &FileMetaData,
    ) -> Result<Option<Arc<Table>>, String> {
        let name = path.display();
        let size = std::fs::metadata(path).map_err(|e| format!("{name}: {e}"))?;
        if size.len() != file.size {
            return Err(format!(
                "{name}: {} bytes, the manifest says {}",
                size.len(),
                file.size
            ));
        }
        let (table, found) =
            sst::open(path, Some(file.largest_seqno)).map_err(|e| e.to_string())?;
        if let Some(stated) = &family.comparator
            && found.name() != stated
        {
            return Err(format!(
                "{name}: sorted by {}, the manifest says {stated}",
                found.name()
            ));
        }
        if file.oldest_blob_file > 0 && !is_named(family, file.oldest_blob_file) {
            let problem = blobs::unknown(file.oldest_blob_file);
            return Err(format!("{name}: {problem}"));
        }
        // The order of other comparators is unknown.
        let Ok(order) = family.comparator() else {
            return Ok(None);
        };
        let mut iter = table.iter(sst::READ);
        for forward in [true, false] {
            if forward {
                iter.seek_to_first()
            } else {
                iter.seek_to_last()
            }
            iter.status().map_err(|e| e.to_string())?;
            let is_outside = |key: &[u8]| {
                let key = user_key(key);
                order.compare_user(key, user_key(&file.smallest)) == Ordering::Less
                    || order.compare_user(key, user_key(&file.largest)) == Ordering::Greater
            };
            if iter.valid() && is_outside(iter.key()) {
                return Err(format!(
                    "{name}: key '{}' is outside the range that the manifest says",
                    user_key(iter.key()).escape_ascii()
                ));
            }
        }
        if !self.checksums {
            return Ok(None);
        }
        table.verify().map_err(|e| e.to_string())?;
        Ok((file.oldest_blob_file > 0).then_some(table))
    }
}

/// Whether the manifest names the blob file `number` of `family`.
fn is_named(family: &Family, number: u64) -> bool {
    let mut files = family.blob_files().into_iter();
    files.any(|file| file.meta.number == number)
}

/// The problems of blob files.
fn blob_files(dir: &Path, dirs: DataDirs<'_>, state: &State) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for (id, family, file) in state.blob_files() {
        let number = file.meta.number;
        if let Err(problem) = blobs::check(&dirs.blob(family, number), id, file) {
            // As for tables.
            let now = State::read(dir)?;
            if now
                .blob_files()
                .any(|(_, _, live)| live.meta.number == number)
            {
                problems.push(problem);
            }
        }
    }
    Ok(problems)
}

/// Tables of the same level, other than level 0, that overlap.
fn order(family: &Family) -> Vec<String> {
    let Ok(order) = family.comparator() else {
        return Vec::new();
    };
    let mut problems = Vec::new();
    for (level, files) in family.levels() {
        for pair in files.windows(2).filter(|_| level > 0) {
            if order.compare(&pair[0].largest, &pair[1].smallest) != Ordering::Less {
                problems.push(format!(
                    "column family {}: tables {} and {} of level {level} overlap",
                    family.name, pair[0].number, pair[1].number
                ));
            }
        }
    }
    problems
}

/// Damage in the logs that recovery would read.
fn logs(session: &Session<'_>, dir: &Path, state: &State) -> Result<Vec<String>> {
    let logs = log_dir(dir);
    let mut problems = Vec::new();
    for (number, path) in logs_in(&logs).map_err(|e| Failure::io(&logs, &e))? {
        if number < state.first_log() {
            continue;
        }
        wal::read(
            &path,
            |_| Ok(()),
            |finding| match finding {
                Finding::Damage(text) => problems.push(text),
                Finding::Unfinished(text) => session.warn(text),
            },
        )?;
    }
    Ok(problems)
}

fn report(session: &mut Session<'_>, problems: &[String]) -> Result<()> {
    if problems.is_empty() {
        return session.ok();
    }
    for problem in problems {
        session.either(problem, json!({ "problem": problem }))?;
    }
    Err(Failure::negative(match problems.len() {
        1 => "there is 1 problem".to_owned(),
        n => format!("there are {n} problems"),
    }))
}
