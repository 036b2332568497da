//! Each operation of the file system, in each phase, fails once.
//!
//! A phase is a piece of a database's life with a script of its own
//! (`phases`, `prepare`, `acts`). Run without faults, it tells which operations there are on
//! which kinds of file; then it is run anew from the same files for each of
//! them, for each error that makes sense there, and for each time that it
//! happens, up to a limit (`sweep`). After each fault:
//!
//! * every call returned, with a result or an I/O error that names the file;
//! * everything acknowledged is there, in the same process, after the death of
//!   the process, after a power cut, and nothing else but, in the latter two,
//!   what had failed as a whole (`history`);
//! * the database goes on, perhaps after a resumption or when it was opened
//!   anew, and can be written to (`run`).
//!
//! What became of it is the table in `docs/reliability.md` (`table`), which is
//! written with `WHITEWATER_BLESS=1` and compared otherwise. `WHITEWATER_PHASE`
//! runs one phase alone, without the table.
//!
//! One memtable, one commit protocol: the defaults, whatever other tests are
//! asked to run with.

mod acts;
mod history;
mod phases;
mod prepare;
mod run;
mod sweep;
mod table;

use self::table::Table;
use std::env;

#[test]
fn every_fault_has_the_outcome_that_is_documented() {
    let only = env::var("WHITEWATER_PHASE").ok();
    let chosen = phases::PHASES
        .iter()
        .filter(|phase| only.as_deref().is_none_or(|name| name == phase.name));
    let mut table = Table::default();
    let (mut faults, mut wrong) = (0, Vec::new());
    for phase in chosen {
        let swept = sweep::sweep(*phase, &mut table);
        faults += swept.faults;
        wrong.extend(swept.wrong);
    }
    println!("{faults} faults were injected");
    assert!(
        wrong.is_empty(),
        "{} of {faults} faults:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    if only.is_some() {
        println!("{table}");
        return;
    }
    assert!(faults > 1_000, "only {faults} faults were met");
    table.compare_or_bless();
}
