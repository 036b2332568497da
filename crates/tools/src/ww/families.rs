//! Listing, creating and dropping column families.

use clap::Args;
use serde_json::json;
use whitewater::Options;

use super::failure::Result;
use super::open::{self, Db};
use super::session::{Place, Session};

/// Prints the names of the column families, one on each line.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ww list-column-families /data/db")]
pub struct List {
    #[command(flatten)]
    place: Place,
}

impl List {
    /// Runs the command.
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
    /// The name of the column family.
    name: String,
}

impl Create {
    /// Runs the command.
    ///
    /// # Errors
    /// The column family exists already, or writing fails.
    pub fn run(&self, session: &mut Session<'_>) -> Result<()> {
        let mut opened = open::to_write(session, false)?;
        let options = open::new_family_options(session);
        opened.db.create_cf(&self.name, &options)?;
        session.ok()
    }
}

/// Drops a column family with all of its data.
#[derive(Debug, Args)]
pub struct Drop {
    /// The name of the column family.
    name: String,
}

impl Drop {
    /// Runs the command.
    ///
    /// # Errors
    /// The column family does not exist or is the default one, or writing fails.
    pub fn run(&self, session: &mut Session<'_>) -> Result<()> {
        let mut opened = open::to_write(session, false)?;
        if opened.db.cf_handle(&self.name).is_none() {
            return Err(open::no_family(&self.name));
        }
        opened.db.drop_cf(&self.name)?;
        session.ok()
    }
}
