//! Prepared transactions: which there are, and deciding on one of them.
//!
//! The list is read from the logs, so that it needs no lock. A decision opens the database with
//! transactions.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

use clap::{Args, ValueEnum};
use serde_json::{Map, Value};
use whitewater::{SingleThreaded, TransactionDB, TransactionDBOptions, WritePolicy};
use whitewater_storage::batch::replay::{ReplayedEntry, ReplayedSection, Replays};
use whitewater_storage::batch::{Numbering, Op};

use super::cli::bytes;
use super::failure::{Failure, Result};
use super::open::Loaded;
use super::session::{Place, Session};
use super::state::State;
use super::text::Form;
use super::wal;

/// Lists the prepared transactions that are not decided, or commits or rolls back one of them.
///
/// Names are keys to --hex and --key-hex. A name that is not text is listed with escapes, and
/// can be given like that, too. What is decided is synced before the command ends.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ww prepared /data/db
  ww prepared /data/db --commit order-17
  ww prepared /data/db --hex --rollback 0x00FF")]
pub struct Prepared {
    #[command(flatten)]
    place: Place,
    /// Commit this transaction.
    #[arg(long, value_name = "NAME", conflicts_with = "rollback")]
    commit: Option<OsString>,
    /// Roll this transaction back.
    #[arg(long, value_name = "NAME")]
    rollback: Option<OsString>,
    /// The write policy that a decision opens the database with; by default that of its logs.
    #[arg(long, value_enum)]
    txn_policy: Option<Policy>,
}

/// A write policy, by RocksDB's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Policy {
    /// WRITE_COMMITTED.
    #[value(name = "0", alias = "write_committed")]
    Committed,
    /// WRITE_PREPARED.
    #[value(name = "1", alias = "write_prepared")]
    Prepared,
    /// WRITE_UNPREPARED.
    #[value(name = "2", alias = "write_unprepared")]
    Unprepared,
}

impl From<Policy> for WritePolicy {
    fn from(policy: Policy) -> Self {
        match policy {
            Policy::Committed => WritePolicy::WriteCommitted,
            Policy::Prepared => WritePolicy::WritePrepared,
            Policy::Unprepared => WritePolicy::WriteUnprepared,
        }
    }
}

/// Drops entries: only what is not decided is listed.
struct Decided;

impl Replays for Decided {
    fn timestamp_size(&self, _cf: u32) -> usize {
        0 // no order of keys with timestamps is known here
    }

    fn insert(&mut self, _: ReplayedEntry<'_>) -> whitewater_storage::Result<()> {
        Ok(())
    }
}

impl Prepared {
    /// Runs the command.
    ///
    /// # Errors
    /// There is no database, or it is damaged; there is no prepared transaction of that name;
    /// the database is open elsewhere, or writing fails.
    pub fn run(&self, session: &mut Session<'_>) -> Result<()> {
        if session.global.ttl || session.global.secondary_path.is_some() {
            return Err(Failure::usage(
                "prepared transactions are those of a database that is neither one with TTL nor a \
                 secondary instance: leave out --ttl and --secondary-path",
            ));
        }
        let dir = self.place.of(session)?;
        match (&self.commit, &self.rollback) {
            (Some(name), _) => self.decide(session, &dir, bytes(name), true),
            (None, Some(name)) => self.decide(session, &dir, bytes(name), false),
            (None, None) if self.txn_policy.is_some() => Err(Failure::usage(
                "--txn-policy goes with --commit and --rollback: the list opens nothing",
            )),
            (None, None) => list(session, &dir),
        }
    }

    /// Commits or rolls back the transaction that is called `given`.
    fn decide(
        &self,
        session: &mut Session<'_>,
        dir: &Path,
        given: &[u8],
        commits: bool,
    ) -> Result<()> {
        let given = session.keys.parse(given, "name")?;
        let Loaded { options, families } = Loaded::new(session, dir, true)?;
        let mut how = TransactionDBOptions::default();
        how.set_write_policy(match self.txn_policy {
            Some(policy) => policy.into(),
            None => policy_of_logs(session, dir)?,
        });
        let db: TransactionDB<SingleThreaded> =
            TransactionDB::open_cf_descriptors(&options, &how, dir, families)?;
        // Those that are dropped stay prepared.
        let mut all = db.prepared_transactions();
        let names = all.iter().map(|txn| txn.get_name().unwrap_or_default());
        let names: Vec<_> = names.collect();
        let escaped = |name: &Vec<u8>| session.keys == Form::Raw && is_escaped(name, &given);
        let at = names.iter().position(|name| *name == given);
        let at = at.or_else(|| names.iter().position(escaped));
        let Some(at) = at else {
            return Err(Failure::negative(format_args!(
                "there is no prepared transaction '{}'",
                session.keys.show(&given)
            )));
        };
        let txn = all.swap_remove(at);
        if commits {
            txn.commit()?;
        } else {
            txn.rollback()?;
        }
        session.ok()
    }
}

/// The write policy that the logs were written with, as far as what there is to decide tells.
fn policy_of_logs(session: &mut Session<'_>, dir: &Path) -> Result<WritePolicy> {
    let sections = wal::replay(session, dir, &State::read(dir)?, &mut Decided, |_, _| {})?;
    Ok(match sections.numbering() {
        Numbering::PerEntry => WritePolicy::WriteCommitted,
        Numbering::PerBatch => WritePolicy::WritePrepared,
    })
}

/// Prints the sections on which no record of the logs decides.
fn list(session: &mut Session<'_>, dir: &Path) -> Result<()> {
    let state = State::read(dir)?;
    let mut sections = wal::replay(session, dir, &state, &mut Decided, |_, _| {})?;
    let mut rows = Vec::new();
    let mut sections = sections.take_outstanding();
    sections.retain(|_, section| section.is_prepared);
    for (name, section) in sections {
        let families = families(&section, &state)?;
        if session.json {
            let mut fields = Map::new();
            session.keys.put(&mut fields, "name", &name);
            fields.insert("operations".to_owned(), section.count().into());
            fields.insert("column_families".to_owned(), families.into());
            session.object(fields)?;
            continue;
        }
        rows.push(vec![
            Value::from(session.keys.show(&name)),
            section.count().into(),
            families.join(", ").into(),
        ]);
    }
    if session.json {
        return Ok(());
    }
    session.table(&["name", "operations", "column families"], &rows)
}

/// The names of the column families that a section is about.
fn families(section: &ReplayedSection, state: &State) -> Result<Vec<String>> {
    let mut ids = BTreeSet::new();
    for op in section.parts.iter().flat_map(|part| part.batch.ops()) {
        if let Op::Entry { cf, .. } = op? {
            ids.insert(cf);
        }
    }
    let name = |id| match state.families.get(&id) {
        Some(family) => family.name.clone(),
        None => format!("{id} (dropped)"),
    };
    Ok(ids.into_iter().map(name).collect())
}

/// Whether `given` is `name` as the list shows it.
fn is_escaped(name: &[u8], given: &[u8]) -> bool {
    name.escape_ascii().to_string().as_bytes() == given
}
