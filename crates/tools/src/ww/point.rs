//! Reading, writing and deleting single keys.

use std::ffi::OsString;

use clap::Args;
use whitewater::{WriteBatch, WriteOptions};

use super::cli::bytes;
use super::failure::{Failure, Result};
use super::open::{self, Scope};
use super::scan;
use super::session::Session;

/// Prints the value of a key. Exits with 1 if there is none.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ww --db /data/db get user:1
  ww --db /data/db get --key-hex 0x6B31 --column-family orders")]
pub struct Get {
    /// The key.
    key: OsString,
}

impl Get {
    /// Runs the command.
    ///
    /// # Errors
    /// The key does not exist, or reading fails.
    pub fn run(&self, session: &mut Session<'_>) -> Result<()> {
        let key = session.keys.parse(bytes(&self.key), "key")?;
        let opened = open::to_read(session, session.db()?, Scope::One)?;
        let Some(value) = opened.db.get_cf(opened.cf()?, &key)? else {
            return Err(Failure::negative(format_args!(
                "key not found: {}",
                session.keys.show(&key)
            )));
        };
        let (value, _) = scan::without_time(session, &key, &value)?;
        if session.json {
            return session.pair(&key, Some(value));
        }
        session.values.write(session.out, value)?;
        Ok(session.out.write_all(b"\n")?)
    }
}

/// Options of writes.
#[derive(Debug, Args)]
pub struct How {
    /// Return only when the write is durable, even against power cuts.
    #[arg(long)]
    sync: bool,
}

impl How {
    /// The options.
    pub fn options(&self) -> WriteOptions {
        let mut options = WriteOptions::default();
        options.set_sync(self.sync);
        options
    }
}

/// Writes a value.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ww --db /data/db put user:1 ada
  ww --db /tmp/new put --create-if-missing --hex 0x6B31 0x7631")]
pub struct Put {
    /// The key.
    key: OsString,
    /// The value.
    value: OsString,
    /// Create the database and the column family if they do not exist.
    #[arg(long)]
    create_if_missing: bool,
    #[command(flatten)]
    how: How,
}

impl Put {
    /// Runs the command.
    ///
    /// # Errors
    /// Writing fails.
    pub fn run(&self, session: &mut Session<'_>) -> Result<()> {
        let key = session.keys.parse(bytes(&self.key), "key")?;
        let value = session.values.parse(bytes(&self.value), "value")?;
        let opened = open::to_write(session, self.create_if_missing)?;
        let options = self.how.options();
        opened.db.put_cf_opt(opened.cf()?, key, value, &options)?;
        session.ok()
    }
}

/// Deletes a key, whether it exists or not.
#[derive(Debug, Args)]
pub struct Delete {
    /// The key.
    key: OsString,
    #[command(flatten)]
    how: How,
}

impl Delete {
    /// Runs the command.
    ///
    /// # Errors
    /// Writing fails.
    pub fn run(&self, session: &mut Session<'_>) -> Result<()> {
        let key = session.keys.parse(bytes(&self.key), "key")?;
        let opened = open::to_write(session, false)?;
        let options = self.how.options();
        opened.db.delete_cf_opt(opened.cf()?, key, &options)?;
        session.ok()
    }
}

/// Deletes all keys in a range.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ww --db /data/db deleterange user: 'user;'")]
pub struct DeleteRange {
    /// The first key of the range.
    begin: OsString,
    /// The first key after the range.
    end: OsString,
    #[command(flatten)]
    how: How,
}

impl DeleteRange {
    /// Runs the command.
    ///
    /// # Errors
    /// Writing fails.
    pub fn run(&self, session: &mut Session<'_>) -> Result<()> {
        let begin = session.keys.parse(bytes(&self.begin), "key")?;
        let end = session.keys.parse(bytes(&self.end), "key")?;
        let opened = open::to_write(session, false)?;
        let options = self.how.options();
        let db = &opened.db;
        db.delete_range_cf_opt(opened.cf()?, begin, end, &options)?;
        session.ok()
    }
}

/// Writes a merge operand.
///
/// The merge operator is that of --merge-operator or of the database's OPTIONS file.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ww --db /data/db merge --merge-operator stringappend tags new")]
pub struct Merge {
    /// The key.
    key: OsString,
    /// The operand.
    operand: OsString,
    #[command(flatten)]
    how: How,
}

impl Merge {
    /// Runs the command.
    ///
    /// # Errors
    /// Writing fails.
    pub fn run(&self, session: &mut Session<'_>) -> Result<()> {
        let key = session.keys.parse(bytes(&self.key), "key")?;
        let operand = session.values.parse(bytes(&self.operand), "operand")?;
        let opened = open::to_write(session, false)?;
        let options = self.how.options();
        let db = &opened.db;
        db.merge_cf_opt(opened.cf()?, key, operand, &options)?;
        session.ok()
    }
}

/// Writes several values atomically.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ww --db /data/db batchput k1 v1 k2 v2")]
pub struct BatchPut {
    /// The keys, each followed by its value.
    #[arg(required = true, num_args = 2.., value_name = "KEY VALUE")]
    pairs: Vec<OsString>,
    /// Create the database and the column family if they do not exist.
    #[arg(long)]
    create_if_missing: bool,
    #[command(flatten)]
    how: How,
}

impl BatchPut {
    /// Runs the command.
    ///
    /// # Errors
    /// A key has no value, or writing fails.
    pub fn run(&self, session: &mut Session<'_>) -> Result<()> {
        let (pairs, rest) = self.pairs.as_chunks::<2>();
        if !rest.is_empty() {
            return Err(Failure::usage("the last key has no value"));
        }
        let mut parsed = Vec::new();
        for [key, value] in pairs {
            let key = session.keys.parse(bytes(key), "key")?;
            let value = session.values.parse(bytes(value), "value")?;
            parsed.push((key, value));
        }
        let opened = open::to_write(session, self.create_if_missing)?;
        let cf = opened.cf()?;
        let mut batch = WriteBatch::default();
        for (key, value) in parsed {
            batch.put_cf(cf, key, value);
        }
        opened.db.write_opt(batch, &self.how.options())?;
        session.ok()
    }
}
