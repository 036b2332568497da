//! What every command gets: the global arguments and the output.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::cli::Global;
use super::failure::{Failure, Result};
use super::text::Form;
use crate::bench::progress::Progress;

/// One run of a command.
pub struct Session<'a> {
    /// The arguments that all commands share.
    pub global: &'a Global,
    /// The output for data.
    pub out: &'a mut dyn Write,
    /// The text form of keys.
    pub keys: Form,
    /// The text form of values.
    pub values: Form,
    /// Whether data is printed as JSON, one value on each line.
    pub json: bool,
}

impl<'a> Session<'a> {
    /// A run with the arguments `global` that writes to `out`.
    pub fn new(global: &'a Global, out: &'a mut dyn Write) -> Self {
        Session {
            global,
            out,
            keys: Form::new(global.hex || global.key_hex),
            values: Form::new(global.hex || global.value_hex),
            json: global.json,
        }
    }

    /// The database that `--db` or the command's own `path` names.
    ///
    /// # Errors
    /// None is named, or both are.
    pub fn directory(&self, path: Option<&Path>) -> Result<PathBuf> {
        match (path, &self.global.db) {
            (Some(_), Some(_)) => Err(Failure::usage(
                "the database is named twice, by --db and by an argument",
            )),
            (Some(path), None) => Ok(path.to_owned()),
            (None, Some(db)) => Ok(db.clone()),
            (None, None) => Err(Failure::usage(
                "which database? Name it with --db PATH, or behind the command",
            )),
        }
    }

    /// The database that `--db` names.
    ///
    /// # Errors
    /// None is named.
    pub fn db(&self) -> Result<&'a Path> {
        let db = self.global.db.as_deref();
        db.ok_or_else(|| Failure::usage("which database? Name it with --db PATH"))
    }

    /// Writes a line.
    ///
    /// # Errors
    /// Writing fails.
    pub fn line(&mut self, text: impl std::fmt::Display) -> Result<()> {
        Ok(writeln!(self.out, "{text}")?)
    }

    /// Writes an object on a line.
    ///
    /// # Errors
    /// Writing fails.
    pub fn object(&mut self, fields: Map<String, Value>) -> Result<()> {
        self.line(Value::Object(fields))
    }

    /// Writes `text`, or `fields` with `--json`.
    ///
    /// # Errors
    /// Writing fails.
    pub fn either(&mut self, text: impl std::fmt::Display, fields: Value) -> Result<()> {
        if self.json {
            self.line(fields)
        } else {
            self.line(text)
        }
    }

    /// Reports a change.
    ///
    /// # Errors
    /// Writing fails.
    pub fn ok(&mut self) -> Result<()> {
        self.either("OK", serde_json::json!({"ok": true}))
    }

    /// Writes `key ==> value`, or an object with `--json`; without a value, only the key.
    ///
    /// # Errors
    /// Writing fails.
    pub fn pair(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<()> {
        if self.json {
            let mut fields = Map::new();
            self.keys.put(&mut fields, "key", key);
            if let Some(value) = value {
                self.values.put(&mut fields, "value", value);
            }
            return self.object(fields);
        }
        self.keys.write(self.out, key)?;
        if let Some(value) = value {
            self.out.write_all(b" ==> ")?;
            self.values.write(self.out, value)?;
        }
        Ok(self.out.write_all(b"\n")?)
    }

    /// Writes rows in columns under `names`, with numbers aligned to the right.
    ///
    /// # Errors
    /// Writing fails.
    pub fn table(&mut self, names: &[&str], rows: &[Vec<Value>]) -> Result<()> {
        if self.json {
            for row in rows {
                let fields = names.iter().zip(row);
                let fields = fields.map(|(name, value)| ((*name).to_owned(), value.clone()));
                self.object(fields.collect())?;
            }
            return Ok(());
        }
        let shown = |value: &Value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let header = names.iter().map(|name| (*name).to_owned()).collect();
        let mut lines: Vec<Vec<String>> = vec![header];
        lines.extend(rows.iter().map(|row| row.iter().map(shown).collect()));
        let width = |column: usize| lines.iter().map(|line| line[column].len()).max();
        let widths: Vec<_> = (0..names.len()).map(|c| width(c).unwrap_or(0)).collect();
        let is_number = |column: usize| {
            let mut cells = rows.iter().map(|row| &row[column]);
            cells.all(Value::is_number) && !rows.is_empty()
        };
        for line in &lines {
            let cells = line.iter().zip(&widths).enumerate();
            let cells = cells.map(|(column, (cell, &width))| {
                if is_number(column) {
                    format!("{cell:>width$}")
                } else {
                    format!("{cell:<width$}")
                }
            });
            let text = cells.collect::<Vec<_>>().join("  ");
            self.line(text.trim_end())?;
        }
        Ok(())
    }

    /// Prints a message to the user that is not an error.
    pub fn warn(&self, what: impl std::fmt::Display) {
        if !self.global.quiet {
            eprintln!("ww: warning: {what}");
        }
    }

    /// A progress bar for `count` things called `unit`.
    pub fn progress(&self, name: &str, unit: &str, count: Option<u64>) -> Progress {
        Progress::of(!self.global.quiet, unit, name, count)
    }
}

/// A path that a command may take instead of `--db`.
#[derive(Debug, Clone, clap::Args)]
pub struct Place {
    /// The database's directory, instead of --db.
    pub path: Option<PathBuf>,
}

impl Place {
    /// The directory.
    ///
    /// # Errors
    /// None is named, or both are.
    pub fn of(&self, session: &Session<'_>) -> Result<PathBuf> {
        session.directory(self.path.as_deref())
    }
}
