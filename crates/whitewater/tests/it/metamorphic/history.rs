//! What a crash may leave.

use super::draw::Nature;
use super::model::{Change, State, family};
use super::session::{Outcome, check_all};
use crate::harness::Db;

/// Everything that was written since a moment that a crash cannot undo.
pub struct History {
    pub base: State,
    pub since: Vec<Vec<Change>>,
    /// The number of these writes that a crash cannot undo either.
    pub synced: usize,
}

impl History {
    /// Everything up to now stays.
    pub fn settle(&mut self, state: &State) {
        (self.base, self.synced) = (state.clone(), 0);
        self.since.clear();
    }

    /// The writes to `cf` stay, and all before them.
    pub fn flushed(&mut self, cf: &str) {
        let touches = |batch: &Vec<Change>| batch.iter().any(|c| family(c.family()) == cf);
        let last = self.since.iter().rposition(touches);
        self.synced = self.synced.max(last.map_or(0, |at| at + 1));
    }
}

/// Finds which of the states that a crash may leave the database is in, and makes it the present
/// one.
pub fn recovered(
    db: &Db,
    state: &mut State,
    history: &mut History,
    nature: &Nature,
    lossy: bool,
) -> Outcome {
    let total = history.since.len();
    let least = if lossy { history.synced } else { total };
    let mut candidate = history.base.clone();
    let mut why = String::new();
    for at in 0..=total {
        if at >= least {
            match check_all(db, &candidate, nature) {
                Ok(()) => {
                    *state = candidate;
                    history.settle(state);
                    return Ok(());
                }
                Err(e) if at == least => why = format!("not even what was synced: {e}"),
                Err(e) => _ = e,
            }
        }
        for change in history.since.get(at).into_iter().flatten() {
            let allowed = change.apply(nature.order, &mut candidate);
            assert!(allowed.is_some(), "it was allowed before");
        }
    }
    Err(format!(
        "no prefix of {total} writes, of which {least} must be there; {why}"
    ))
}
