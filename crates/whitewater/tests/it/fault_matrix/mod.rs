//! Each operation of the file system, in each phase, fails once.
//!
//! A phase is a part of a database's life with a script of its own (`phases`, `prepare`, `acts`). A
//! run without faults records the operations and the kinds of files that they are on. The phase is
//! then run again from the same files for each of them, for each error that makes sense there, and
//! for each time that it happens, up to a limit (`sweep`). After each fault:
//!
//! * every call has returned, with a result or an I/O error that names the file;
//! * everything acknowledged is there, in the same process, after the death of the process, and
//!   after a power cut. Nothing else is there, except that in the latter two cases failed changes
//!   may be there as a whole (`history`);
//! * the database goes on, perhaps after a resumption or a reopening, and can be written to
//!   (`run`).
//!
//! The outcomes are the table in `docs/reliability.md` (`table`). `WHITEWATER_BLESS=1` writes it;
//! otherwise it is compared. `WHITEWATER_PHASE` runs one phase alone, without the table.
//!
//! The memtable and the commit protocol are the defaults, whatever other tests are asked to run
//! with.

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
