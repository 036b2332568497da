//! Random operations with random options, against a model.
//!
//! A seed makes a case: its [`Nature`] (what a database keeps for life: the order of keys, FIFO or
//! not, expiring values, a compaction filter), options of each opening and family, and a script.
//! What is read must not depend on any of it. A power cut must leave a prefix of what was written,
//! with everything that was synced. A failing case is reduced, first the script and then the
//! options, and printed with the command that runs it again.
//!
//! `WHITEWATER_SEED` and `WHITEWATER_ROUNDS` are those of all campaigns. `WHITEWATER_STEPS` limits
//! the length of scripts, and `WHITEWATER_PLAIN` names options, separated by commas, that keep
//! their first value.

mod cut;
mod draw;
mod history;
mod lives;
mod model;
mod opening;
mod script;
mod session;

use crate::harness::campaign;
use cut::round;

/// Cases that take about a minute in a debug build on two cores.
const CASES: u64 = 150;

#[test]
fn no_option_changes_what_is_read() {
    campaign("no_option_changes_what_is_read", 20_000, CASES, |seed| {
        round(seed, 700)
    });
}

/// Many openings: options that contradict each other show at once.
#[test]
fn no_option_changes_what_short_scripts_read() {
    campaign(
        "no_option_changes_what_short_scripts_read",
        50_000,
        4 * CASES,
        |seed| round(seed, 80),
    );
}
