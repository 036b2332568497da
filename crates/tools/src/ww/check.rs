//! Checks that the files of a database are consistent.

use std::cmp::Ordering;
use std::path::Path;

use clap::Args;
use serde_json::json;
use whitewater_storage::ErrorKind;
use whitewater_storage::filename;
use whitewater_storage::internal_iterator::InternalIterator;
use whitewater_storage::key::user_key;
use whitewater_storage::manifest::FileMetaData;

use super::failure::{Failure, Result};
use super::session::{Place, Session};
use super::sst;
use super::state::{Family, State, log_dir, logs_in};
use super::wal::{self, Finding};

/// Checks that the files of a database exist and are consistent.
///
/// The command checks the manifest, the sizes, comparators and key ranges of tables, the
/// order of the tables of each level, and all records of the logs. With --checksums it also
/// checks all blocks of all tables. It prints a line for each problem and exits with 1 if
/// there is any.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ww checkconsistency /data/db
  ww checkconsistency /data/db --checksums")]
pub struct Check {
    #[command(flatten)]
    place: Place,
    /// Read and check all blocks of all tables.
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
        for family in state.families.values() {
            problems.extend(order(family));
            for file in family.files.values() {
                if let Err(problem) = self.table(dir, family, file) {
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

    /// The problems of a table.
    fn table(&self, dir: &Path, family: &Family, file: &FileMetaData) -> Result<(), String> {
        let path = filename::table(dir, file.number);
        let name = path.display();
        let size = std::fs::metadata(&path).map_err(|e| format!("{name}: {e}"))?;
        if size.len() != file.size {
            return Err(format!(
                "{name}: {} bytes, the manifest says {}",
                size.len(),
                file.size
            ));
        }
        let (table, found) =
            sst::open(&path, Some(file.largest_seqno)).map_err(|e| e.to_string())?;
        if let Some(stated) = &family.comparator
            && found.name() != stated
        {
            return Err(format!(
                "{name}: sorted by {}, the manifest says {stated}",
                found.name()
            ));
        }
        // The order of other comparators is unknown.
        let Ok(order) = family.comparator() else {
            return Ok(());
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
        if self.checksums {
            table.verify().map_err(|e| e.to_string())
        } else {
            Ok(())
        }
    }
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
