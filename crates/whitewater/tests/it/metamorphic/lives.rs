//! Runs a script, which is a life of a database from opening to opening.

use super::draw::Now;
use super::history::{History, recovered};
use super::model::State;
use super::opening::Case;
use super::script::{End, Step};
use super::session::{OUTSIDE, Outcome, Session, said};
use crate::harness::DIR;
use crate::harness::walk::Content;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use whitewater::fs::Fs;
use whitewater::fs::mem::MemFs;

/// What is reported about a failure.
pub struct Failure {
    pub why: String,
    /// Options of the last opening.
    pub options: String,
    /// Names of all options that were drawn in any opening.
    pub names: BTreeSet<String>,
}

/// Runs a script. If it panics, `failure` holds what it did last.
pub fn run(case: &Case, steps: &[Step], failure: &mut Failure) -> Outcome {
    let mut fs = MemFs::new();
    said("create_dir_all", fs.create_dir_all(Path::new(OUTSIDE)))?;
    let now: Now = Arc::new(AtomicU64::new(1_700_000_000));
    let mut state = State::from([("default", Content::new())]);
    let mut history = History {
        base: state.clone(),
        since: Vec::new(),
        synced: 0,
    };
    let (mut variant, mut end, mut rest, mut files) = (case.seed, End::Closed, steps, 0);
    let mut lossy = false;
    loop {
        let mut opening = case.opening(variant, &fs, &now);
        failure.options = opening.text.clone();
        failure.names.append(&mut opening.names);
        let names: Vec<_> = state.keys().copied().collect();
        let opened = opening.open(&opening.database, DIR, &names, case.nature.expiry);
        let db = said(&format!("open after {end:?}"), opened)?;
        recovered(&db, &mut state, &mut history, &case.nature, lossy)
            .map_err(|e| format!("after {end:?}: {e}"))?;
        let mut session = Session {
            case,
            opening: &opening,
            prefixes: opening.prefixes.clone(),
            db: &db,
            fs: &fs,
            now: &now,
            state: &mut state,
            history: &mut history,
            snapshots: Vec::new(),
            cursors: Vec::new(),
            secondary: None,
            created: BTreeSet::new(),
            files,
        };
        let mut next = None;
        for (i, step) in rest.iter().enumerate() {
            if let Step::Reopen(variant, end) = step {
                next = Some((*variant, *end, &rest[i + 1..]));
                break;
            }
            session.run(step).map_err(|e| format!("{step}\n  {e}"))?;
        }
        session.check_everything()?;
        files = session.files;
        let Some(after) = next else {
            return Ok(());
        };
        (variant, end, rest) = after;
        let cut = match end {
            End::Closed => None,
            End::Killed => Some(fs.crash_clone(1.0, variant)),
            End::PowerCut(keep) => Some(fs.crash_clone(f64::from(keep) / 100.0, variant)),
        };
        drop(session);
        drop(db);
        lossy = match end {
            End::Closed => false,
            End::Killed => opening.manual_wal_flush,
            End::PowerCut(_) => true,
        };
        if let Some(cut) = cut {
            fs = cut;
            // A copy may be incomplete.
            files += 1_000;
            said("create_dir_all", fs.create_dir_all(Path::new(OUTSIDE)))?;
        }
    }
}
