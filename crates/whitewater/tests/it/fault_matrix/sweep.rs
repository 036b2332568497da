//! Runs a phase again and again, each time with another fault.

use super::history::State;
use super::phases::{Kind, Phase};
use super::run::{Run, open_anew, repair, write_on};
use super::table::{Outcome, Table};
use crate::harness::watched;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use whitewater::WriteOptions;
use whitewater::fs::fault::{Fault, FaultOp, FileKind, Injected, OpSet, PathMatch, Rule, When};
use whitewater::fs::mem::MemFs;

/// How many times an operation on one kind of file fails in one phase: the first ones, and others
/// spread over the rest.
const TIMES: u64 = 16;

/// What a sweep has found.
#[derive(Debug, Default)]
pub struct Swept {
    pub faults: usize,
    /// What did not hold.
    pub wrong: Vec<String>,
}

/// The files that each run of a phase begins with.
#[derive(Clone)]
struct Base {
    memory: MemFs,
    state: State,
}

/// Fails each operation of `phase`.
pub fn sweep(phase: Phase, table: &mut Table) -> Swept {
    let base = Base::of(phase);
    let dry = {
        let base = base.clone();
        watched(phase.name, 60, move || dry_run(phase, &base))
    };
    let dry = dry.unwrap_or_else(|e| panic!("{} without faults: {e}", phase.name));
    let mut swept = Swept::default();
    for ((op, kind), count) in dry {
        for &fault in faults_of(op) {
            for n in times(count) {
                let what = format!("{}: {fault:?} of {op:?} {n}, {kind}", phase.name);
                let rule = Rule {
                    ops: OpSet::of(&[op]),
                    path: PathMatch::Kind(kind),
                    when: When::Nth(n),
                    fault,
                    sticky: false,
                };
                let base = base.clone();
                let run = || watched(&what, 60, move || run(phase, &base, rule));
                match catch_unwind(AssertUnwindSafe(run)) {
                    Ok(Ok(None)) => {}
                    Ok(Ok(Some(outcome))) => {
                        swept.faults += 1;
                        table.add(phase.name, op, kind, fault, outcome);
                    }
                    Ok(Err(e)) => swept.wrong.push(format!("{what}: {e}")),
                    Err(_) => swept.wrong.push(format!("{what}: panics")),
                }
            }
        }
    }
    swept
}

/// Which of `count` times fail.
fn times(count: u64) -> Vec<u64> {
    if count <= TIMES {
        return (1..=count).collect();
    }
    let first = TIMES / 2;
    let rest = TIMES - first;
    let spread = (1..=rest).map(|i| first + (count - first) * i / rest);
    (1..=first).chain(spread).collect()
}

/// The errors that make sense for an operation.
fn faults_of(op: FaultOp) -> &'static [Fault] {
    match op {
        FaultOp::Append => &[Fault::Eio, Fault::Enospc, Fault::ShortWrite],
        // These give space back, if they do anything.
        FaultOp::Remove | FaultOp::RemoveDir | FaultOp::Truncate => &[Fault::Eio],
        _ if OpSet::WRITES.contains(op) || op == FaultOp::Lock => &[Fault::Eio, Fault::Enospc],
        _ => &[Fault::Eio],
    }
}

impl Base {
    fn of(phase: Phase) -> Base {
        let mut run = Run::new(MemFs::new(), State::new(), phase.with);
        (phase.before)(&mut run);
        run.settle();
        assert!(run.errors.is_empty(), "{}: {:?}", phase.name, run.errors);
        Base {
            // Closed or not: as the death of the process leaves it.
            memory: run.memory.after_kill(),
            state: run.history.visible(),
        }
    }

    /// A run that is ready for the phase.
    fn run(&self, phase: Phase) -> Result<Run, String> {
        let mut run = Run::new(self.memory.after_kill(), self.state.clone(), phase.with);
        if !matches!(phase.kind, Kind::Opens | Kind::OpensToRead | Kind::Repairs) {
            run.open();
        }
        if let Some((what, e)) = run.errors.first() {
            return Err(format!("{what} before the fault: {e}"));
        }
        (phase.ready)(&mut run);
        run.settle();
        Ok(run)
    }
}

/// The operations of the phase, and how often they happen.
fn dry_run(phase: Phase, base: &Base) -> Result<BTreeMap<(FaultOp, FileKind), u64>, String> {
    let mut run = base.run(phase)?;
    run.faults.start_recording();
    (phase.act)(&mut run);
    run.settle();
    let mut seen = BTreeMap::new();
    for operation in run.faults.end_recording() {
        let place = (operation.op, FileKind::of(&operation.path));
        *seen.entry(place).or_insert(0) += 1;
    }
    if let Some((what, e)) = run.errors.first() {
        return Err(format!("{what}: {e}"));
    }
    if run.db.is_some() {
        run.check_visible()?;
    }
    (phase.then)(&run, None)?;
    Ok(seen)
}

/// One run. `None` if the fault did not happen.
fn run(phase: Phase, base: &Base, rule: Rule) -> Result<Option<Outcome>, String> {
    let mut run = base.run(phase)?;
    let injected = run.faults.injected().len();
    let background = run.db.as_ref().map_or(0, |_| run.background_errors());
    run.faults.add_rule(rule);
    (phase.act)(&mut run);
    run.settle();
    run.faults.clear_rules();
    let Some(fault) = run.faults.injected().get(injected).cloned() else {
        return match run.errors.first() {
            Some((what, e)) => Err(format!("{what} fails without a fault: {e}")),
            None => Ok(None),
        };
    };
    let place = |e| format!("{e} ({})", fault.path.display());
    if let Some(wrong) = run.wrong.first() {
        return Err(place(wrong.clone()));
    }
    run.check_errors().map_err(place)?;
    let killed = run.memory.after_kill();
    let cut = run.memory.crash_clone(0.0, 7);
    let history = run.history.clone();
    let failed = !run.errors.is_empty();
    let outcome = match phase.kind {
        Kind::Opens if run.db.is_none() => {
            let (db, found) = open_anew(&run.memory, phase.with).map_err(place)?;
            let explained = history.explains_after_kill(&found);
            explained.map_err(|e| place(format!("opened again: {e}")))?;
            drop(db);
            Outcome::RefusesToOpen
        }
        Kind::Reads | Kind::OpensToRead => {
            if run.db.is_some() {
                run.check_visible().map_err(place)?;
            }
            match (failed, run.db.is_some()) {
                (true, true) => Outcome::Error,
                (true, false) => Outcome::RefusesToOpen,
                (false, _) => Outcome::CarriesOn,
            }
        }
        Kind::Closes => Outcome::CarriesOn,
        Kind::Repairs if run.db.is_none() => {
            for memory in [&run.memory, &killed, &cut] {
                repair(memory).map_err(place)?;
            }
            let (_, found) = open_anew(&run.memory, phase.with).map_err(place)?;
            let explained = history.explains_after_kill(&found);
            explained.map_err(|e| place(format!("repaired again: {e}")))?;
            Outcome::Error
        }
        Kind::Opens | Kind::Works | Kind::Repairs => {
            judge(phase, run, &fault, background).map_err(place)?
        }
    };
    for (how, memory) in [("death", killed), ("power cut", cut)] {
        let after = |e: String| place(format!("after {how}: {e}"));
        let (db, found) = open_anew(&memory, phase.with).map_err(after)?;
        let explained = match how {
            "death" => history.explains_after_kill(&found),
            _ => history.explains_after_power_cut(&found),
        };
        explained.map_err(after)?;
        write_on(db).map_err(after)?;
    }
    Ok(Some(outcome))
}

/// What the open database does after the fault until it is closed, and what the next opening finds.
fn judge(phase: Phase, mut run: Run, fault: &Injected, before: u64) -> Result<Outcome, String> {
    let visible = |run: &Run, when: &str| run.check_visible().map_err(|e| format!("{when}: {e}"));
    visible(&run, "in the process")?;
    (phase.then)(&run, Some(fault))?;
    let failed = !run.errors.is_empty();
    let retried = run.background_errors() > before;
    run.errors.clear();
    run.put("default", "probe", 10);
    let outcome = match run.errors.pop() {
        None => {
            run.flush();
            if let Some((_, e)) = run.errors.first() {
                return Err(format!("the next flush fails: {e}"));
            }
            match (failed, retried) {
                (true, _) => Outcome::Error,
                (false, true) => Outcome::Retried,
                (false, false) => Outcome::CarriesOn,
            }
        }
        Some((_, refused)) => {
            run.check_error("the next write", &refused)?;
            visible(&run, "stopped")?;
            match run.db().resume() {
                Ok(()) => {
                    run.history.forget_failed();
                    visible(&run, "resumed")?;
                    run.put("default", "resumed", 10);
                    if let Some((_, e)) = run.errors.first() {
                        return Err(format!("writing after a resumption: {e}"));
                    }
                    Outcome::StopsUntilResumed
                }
                Err(e) => {
                    run.check_error("the resumption", &e)?;
                    let refused = run.db().put_opt("no", "v", &WriteOptions::default());
                    if refused.is_ok() {
                        return Err("a write passes after a failed resumption".to_owned());
                    }
                    Outcome::StopsUntilOpened
                }
            }
        }
    };
    run.close();
    let after = |e: String| format!("closed and opened: {e}");
    let (db, found) = open_anew(&run.memory, phase.with).map_err(after)?;
    run.history.explains_after_kill(&found).map_err(after)?;
    write_on(db).map_err(after)?;
    Ok(outcome)
}
