//! Which logs are kept for sections that are in tables, and until when.

use super::super::retention::kept;
use super::super::{PROTOCOLS, commit, outstanding, prepare, roll_back};
use super::{options, undecided};
use crate::DB;
use whitewater_storage::fs::mem::MemFs;

/// Memtables are switched and flushed between prepare and decision. The log with the section stays
/// with all behind it, and goes with the flush that makes the log with the decision durable.
#[test]
fn the_log_of_a_section_stays_until_its_decision_is_durable() {
    for protocol in PROTOCOLS {
        for rolls_back in [false, true] {
            let what = format!("{protocol}, {rolls_back}");
            let fs = MemFs::new();
            let db = DB::open(&options(&fs, protocol), "/db").unwrap();
            let engine = db.engine();
            db.put("a", "old").unwrap();
            let x = prepare(engine, "x", &["a", "b", "a"]);
            let first = kept(&fs, engine);
            for n in 0..4 {
                db.put("k", n.to_string()).unwrap();
                db.flush().unwrap();
                let y = prepare(engine, "y", &["c"]);
                commit(engine, &y);
                assert_eq!(undecided(engine), [(2, 3)], "{what}");
                assert_eq!(outstanding(&fs, engine), ["x"], "{what}");
            }
            let now = kept(&fs, engine);
            assert!(now.starts_with(&first), "{what}: {now:?}");
            assert_eq!(now.len(), 5, "{what}: a suffix");
            assert_eq!(db.get("a"), Ok(Some(b"old".into())), "{what}");
            if rolls_back {
                roll_back(engine, &x);
            } else {
                commit(engine, &x);
            }
            assert_eq!(undecided(engine), [], "{what}");
            assert!(kept(&fs, engine).starts_with(&first), "{what}");
            db.put("k", "last").unwrap();
            db.flush().unwrap();
            assert_eq!(kept(&fs, engine).len(), 1, "{what}");
            let value = if rolls_back { "old" } else { "a" };
            assert_eq!(db.get("a"), Ok(Some(value.into())), "{what}");
            assert_eq!(db.get("b").unwrap().is_some(), !rolls_back, "{what}");
        }
    }
}
