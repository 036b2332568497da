//! Column families: listed, created, dropped.

use clap::Args;
use serde_json::json;
use whitewater::Options;

use super::failure::Result;
use super::open::{self, Db};
use super::session::{Place, Session};

/// Prints the names of the column families, one on a line.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ww list-column-families /data/db")]
pub struct List {
    #[command(flatten)]
    place: Place,
}

impl List {
    /// Prints them.
    ///
    /// # Errors
    /// There is no database, or it is damaged.
    pub fn run(&self, session: &mut Session<'_>) -> Result<()> {
        let dir = &self.place.of(session)?;
        for name in Db::list_cf(&Options::default(), dir)? {
            session.either(&name, json!({ "column_family": name }))?;
        }
        Ok(())
    }
}

/// Creates a column family with default options.
#[derive(Debug, Args)]
pub struct Create {
    /// Its name.
    name: String,
}

impl Create {
    /// Creates it.
    ///
    /// # Errors
    /// It exists; those of writing.
    pub fn run(&self, session: &mut Session<'_>) -> Result<()> {
        let mut opened = open::to_write(session, false)?;
        let options = open::new_family_options(session);
        opened.db.create_cf(&self.name, &options)?;
        session.ok()
    }
}

/// Drops a column family, with all that is in it.
#[derive(Debug, Args)]
pub struct Drop {
    /// Its name.
    name: String,
}

impl Drop {
    /// Drops it.
    ///
    /// # Errors
    /// There is none, or it is the default one; those of writing.
    pub fn run(&self, session: &mut Session<'_>) -> Result<()> {
        let mut opened = open::to_write(session, false)?;
        if opened.db.cf_handle(&self.name).is_none() {
            return Err(open::no_family(&self.name));
        }
        opened.db.drop_cf(&self.name)?;
        session.ok()
    }
}
