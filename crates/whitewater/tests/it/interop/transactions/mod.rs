//! Prepared transactions that one engine leaves and the other decides.
//!
//! `script` makes random steps and knows what they lead to; `here` takes them with this engine, and
//! rocksdbjni's `TransactionDB` with RocksDB.

mod here;
mod script;

use super::java;
use crate::content::Content;
use crate::harness::campaign;
use script::Script;
use whitewater::WritePolicy;

/// The column families of these databases.
const FAMILIES: [&str; 2] = ["default", "other"];

/// What a step `show` shows: the names of the prepared transactions, and the content.
type Shown = (Vec<String>, Content);

#[test]
fn both_engines_decide_what_either_has_prepared() {
    take_turns(
        "both_engines_decide_what_either_has_prepared",
        WritePolicy::WriteCommitted,
    );
}

#[test]
fn both_engines_decide_what_either_has_inserted_early() {
    take_turns(
        "both_engines_decide_what_either_has_inserted_early",
        WritePolicy::WritePrepared,
    );
}

#[test]
fn both_engines_decide_what_either_has_prepared_under_write_unprepared() {
    take_turns(
        "both_engines_decide_what_either_has_prepared_under_write_unprepared",
        WritePolicy::WriteUnprepared,
    );
}

/// Both engines open one database in turn. After one turn of four each, the process is killed.
fn take_turns(test: &str, policy: WritePolicy) {
    let Some(jar) = java::jar() else { return };
    campaign(test, 1, 2, |seed| {
        let mut script = Script::new(seed);
        let mut dir = tempfile::tempdir().expect("a temporary directory");
        for turn in 0..8 {
            let theirs = (turn + seed) % 2 == 0;
            let (steps, wanted) = script.turn(theirs);
            let found = if theirs {
                java::transact(&jar, dir.path(), &policy.to_string(), &steps)
            } else if turn % 4 < 2 {
                let copy = tempfile::tempdir().expect("a temporary directory");
                let found = here::run_and_kill(dir.path(), policy, &steps, copy.path());
                dir = copy;
                found
            } else {
                here::run(dir.path(), policy, &steps)
            };
            let who = if theirs { "RocksDB" } else { "this engine" };
            for (n, (found, wanted)) in found.iter().zip(&wanted).enumerate() {
                assert_eq!(
                    found, wanted,
                    "turn {turn}, of {who}, number {n} shown of\n{steps}"
                );
            }
            assert_eq!(found.len(), wanted.len(), "turn {turn}, of {who}");
        }
        assert!(script.decided_elsewhere > 0, "nothing to decide");
    });
}
