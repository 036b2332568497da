//! The checksums of whole tables that the manifest has.

use clap::Args;
use serde_json::Value;

use super::failure::Result;
use super::session::{Place, Session};
use super::state::State;
use super::text;

/// Prints the checksum of each live table that the manifest has, and the name of its function.
///
/// The tables are not read. A table that was written without checksums has none.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ww file-checksum-dump /data/db
  ww file-checksum-dump /data/db --json")]
pub struct Dump {
    #[command(flatten)]
    place: Place,
}

impl Dump {
    /// Runs the command.
    ///
    /// # Errors
    /// There is no database, or its manifest cannot be read.
    pub fn run(&self, session: &mut Session<'_>) -> Result<()> {
        let state = State::read(&self.place.of(session)?)?;
        let mut files: Vec<_> = state.tables().map(|(_, _, file)| file).collect();
        files.sort_by_key(|file| file.number);
        let rows: Vec<Vec<Value>> = (files.iter())
            .map(|file| {
                let (name, sum) = (&file.file_checksum_func_name, &file.file_checksum);
                let (name, sum) = match name.is_empty() {
                    true => (Value::Null, Value::Null),
                    false => (
                        String::from_utf8_lossy(name).into_owned().into(),
                        text::hex(sum).into(),
                    ),
                };
                vec![file.number.into(), name, sum]
            })
            .collect();
        session.table(&["table", "function", "checksum"], &rows)
    }
}
