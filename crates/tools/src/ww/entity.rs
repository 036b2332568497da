//! Wide columns: reading, writing and printing them.
//!
//! The text form is that of `ldb`: `name:value name:value`, with nothing before the colon of the
//! default column.

use std::ffi::OsString;

use clap::Args;
use serde_json::{Map, Value};
use whitewater::WideColumn;

use super::cli::bytes;
use super::failure::{Failure, Result};
use super::open::{self, Scope};
use super::point::How;
use super::session::Session;

/// Prints the columns of a key, of which a plain value is one. Exits with 1 if there is no key.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ww --db /data/db get-entity user:1
  ww --db /data/db get-entity user:1 --json")]
pub struct GetEntity {
    /// The key.
    key: OsString,
}

impl GetEntity {
    /// Runs the command.
    ///
    /// # Errors
    /// The key does not exist, or reading fails.
    pub fn run(&self, session: &mut Session<'_>) -> Result<()> {
        let key = session.keys.parse(bytes(&self.key), "key")?;
        let opened = open::to_read(session, session.db()?, Scope::One)?;
        let Some(found) = opened.db.get_entity_cf(opened.cf()?, &key)? else {
            return Err(Failure::negative(format_args!(
                "key not found: {}",
                session.keys.show(&key)
            )));
        };
        let columns: Vec<_> = found.iter().collect();
        if session.json {
            return object(session, &key, &columns);
        }
        let text = text(session, &columns);
        session.out.write_all(&text)?;
        Ok(session.out.write_all(b"\n")?)
    }
}

/// Writes a key with several named values, a wide-column entity.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ww --db /data/db put-entity user:1 name:ada born:1815
  ww --db /data/db put-entity user:1 :default name:ada")]
pub struct PutEntity {
    /// The key.
    key: OsString,
    /// The columns, each as NAME:VALUE. The default column has no name. With --value-hex, names
    /// and values are hexadecimal digits.
    #[arg(required = true, value_name = "NAME:VALUE")]
    columns: Vec<OsString>,
    /// Create the database and the column family if they do not exist.
    #[arg(long)]
    create_if_missing: bool,
    #[command(flatten)]
    how: How,
}

impl PutEntity {
    /// Runs the command.
    ///
    /// # Errors
    /// A column has no colon, or writing fails.
    pub fn run(&self, session: &mut Session<'_>) -> Result<()> {
        let key = session.keys.parse(bytes(&self.key), "key")?;
        let mut columns = Vec::with_capacity(self.columns.len());
        for column in &self.columns {
            let column = bytes(column);
            let Some(colon) = column.iter().position(|&byte| byte == b':') else {
                return Err(Failure::usage(format_args!(
                    "'{}' is no column NAME:VALUE",
                    column.escape_ascii()
                )));
            };
            let parse = |part, what| session.values.parse(part, what);
            let name = parse(&column[..colon], "column name")?;
            columns.push((name, parse(&column[colon + 1..], "column value")?));
        }
        let opened = open::to_write(session, self.create_if_missing)?;
        let (cf, options) = (opened.cf()?, self.how.options());
        (opened.db).put_entity_cf_opt(cf, key, &columns, &options)?;
        session.ok()
    }
}

/// Whether there is more than a value: columns with names, or none at all.
pub fn is_entity(columns: &[WideColumn<'_>]) -> bool {
    !matches!(columns, [only] if only.name.is_empty())
}

/// The columns as `ldb` prints them.
pub fn text(session: &Session<'_>, columns: &[WideColumn<'_>]) -> Vec<u8> {
    let mut text = Vec::new();
    // Writing to a vector cannot fail.
    let write = |text: &mut Vec<u8>, part: &[u8]| {
        if !part.is_empty() {
            let _ = session.values.write(text, part);
        }
    };
    for (at, column) in columns.iter().enumerate() {
        if at > 0 {
            text.push(b' ');
        }
        write(&mut text, column.name);
        text.push(b':');
        write(&mut text, column.value);
    }
    text
}

/// Prints `key ==> name:value name:value`, or an object with `--json`.
///
/// # Errors
/// Writing fails.
pub fn line(session: &mut Session<'_>, key: &[u8], columns: &[WideColumn<'_>]) -> Result<()> {
    if session.json {
        return object(session, key, columns);
    }
    let text = text(session, columns);
    session.keys.write(session.out, key)?;
    session.out.write_all(b" ==> ")?;
    session.out.write_all(&text)?;
    Ok(session.out.write_all(b"\n")?)
}

fn object(session: &mut Session<'_>, key: &[u8], columns: &[WideColumn<'_>]) -> Result<()> {
    let mut fields = Map::new();
    session.keys.put(&mut fields, "key", key);
    let column = |column: &WideColumn<'_>| {
        let mut fields = Map::new();
        session.values.put(&mut fields, "name", column.name);
        session.values.put(&mut fields, "value", column.value);
        Value::Object(fields)
    };
    let columns = columns.iter().map(column).collect();
    fields.insert("columns".to_owned(), Value::Array(columns));
    session.object(fields)
}
