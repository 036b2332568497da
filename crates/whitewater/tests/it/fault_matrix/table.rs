//! The table of outcomes in `docs/reliability.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::{env, fs};
use whitewater::fs::fault::{Fault, FaultOp, FileKind};

/// What became of a database after a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// No call failed.
    CarriesOn,
    /// A background job failed and was retried; no call failed.
    Retried,
    /// The call failed, but the next one does not.
    Error,
    /// Writes are refused until a resumption, which helped.
    StopsUntilResumed,
    /// Writes are refused until the database is reopened.
    StopsUntilOpened,
    /// The opening failed, but the next one did not.
    RefusesToOpen,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Outcome::CarriesOn => "carries on",
            Outcome::Retried => "retried",
            Outcome::Error => "error",
            Outcome::StopsUntilResumed => "stops writes (resume)",
            Outcome::StopsUntilOpened => "stops writes (reopen)",
            Outcome::RefusesToOpen => "refuses to open",
        })
    }
}

/// The columns.
const FAULTS: [Fault; 3] = [Fault::Eio, Fault::Enospc, Fault::ShortWrite];

/// The phase's place and name, the operation, and the kind of file.
type Row = (usize, &'static str, FaultOp, FileKind);

/// The outcomes of all faults.
#[derive(Debug, Default)]
pub struct Table(BTreeMap<Row, [BTreeSet<Outcome>; 3]>);

impl Table {
    /// Adds an outcome to a cell. Phases are in the order of their first one.
    pub fn add(
        &mut self,
        phase: &'static str,
        op: FaultOp,
        kind: FileKind,
        fault: Fault,
        outcome: Outcome,
    ) {
        let known = self.0.keys().find(|row| row.1 == phase).map(|row| row.0);
        let next = self.0.keys().last().map_or(0, |row| row.0 + 1);
        let row = (known.unwrap_or(next), phase, op, kind);
        let column = FAULTS.iter().position(|f| *f == fault);
        let cells = self.0.entry(row).or_default();
        cells[column.expect("a known fault")].insert(outcome);
    }

    /// Compares this with the table in the document, or writes it there.
    pub fn compare_or_bless(&self) {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/reliability.md");
        let text = fs::read_to_string(&path).expect("docs/reliability.md");
        let (before, rest) = text.split_once(BEGIN).expect("where the table begins");
        let (there, after) = rest.split_once(END).expect("where the table ends");
        let table = format!("\n{self}");
        if env::var_os("WHITEWATER_BLESS").is_some() {
            let text = format!("{before}{BEGIN}{table}{END}{after}");
            fs::write(&path, text).expect("docs/reliability.md can be written");
            return;
        }
        let lines: BTreeSet<&str> = table.lines().collect();
        let known: BTreeSet<&str> = there.lines().collect();
        let found: Vec<_> = lines.difference(&known).collect();
        let documented: Vec<_> = known.difference(&lines).collect();
        assert!(
            there == table,
            "docs/reliability.md has another table (WHITEWATER_BLESS=1 writes it).\n\
             found: {found:#?}\ndocumented: {documented:#?}"
        );
    }
}

const BEGIN: &str = "<!-- faults:begin -->";
const END: &str = "<!-- faults:end -->";

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "| phase | operation | file | EIO | ENOSPC | short write |"
        )?;
        writeln!(f, "|---|---|---|---|---|---|")?;
        for ((_, phase, op, kind), cells) in &self.0 {
            let cell = |outcomes: &BTreeSet<Outcome>| match outcomes.is_empty() {
                true => "-".to_owned(),
                false => {
                    let texts: Vec<_> = outcomes.iter().map(Outcome::to_string).collect();
                    texts.join(" / ")
                }
            };
            let [eio, full, short] = cells.each_ref().map(cell);
            let op = name(*op);
            writeln!(f, "| {phase} | {op} | {kind} | {eio} | {full} | {short} |")?;
        }
        Ok(())
    }
}

/// The operation in the words of the document.
fn name(op: FaultOp) -> &'static str {
    match op {
        FaultOp::Create => "create",
        FaultOp::OpenAppend => "open to append",
        FaultOp::Reuse => "reuse",
        FaultOp::OpenRandom => "open to read at offsets",
        FaultOp::OpenSequential => "open to read through",
        FaultOp::Exists => "look whether it exists",
        FaultOp::FileSize => "ask for size or time",
        FaultOp::List => "list",
        FaultOp::CreateDir => "create directory",
        FaultOp::Remove => "remove",
        FaultOp::RemoveDir => "remove directory",
        FaultOp::Rename => "rename to",
        FaultOp::Link => "link",
        FaultOp::SyncDir => "sync directory",
        FaultOp::Lock => "lock",
        FaultOp::Append => "append",
        FaultOp::Extend => "extend",
        FaultOp::Flush => "flush",
        FaultOp::Sync => "sync",
        FaultOp::Truncate => "truncate",
        FaultOp::ReadAt => "read at offset",
        FaultOp::SequentialRead => "read through",
    }
}
