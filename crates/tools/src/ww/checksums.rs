//! The checksums of whole tables and blob files that the manifest has.

use clap::Args;
use serde_json::Value;

use super::failure::Result;
use super::session::{Place, Session};
use super::state::State;
use super::text;

/// Prints the checksum of each live table and blob file that the manifest has, and the name of its
/// function.
///
/// The files are not read. One that was written without checksums has none.
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
        let tables = state.tables().map(|(_, _, f)| {
            let (name, sum) = (&f.file_checksum_func_name, &f.file_checksum);
            (f.number, name, sum)
        });
        let blobs = state.blob_files().map(|(_, _, blob)| {
            let meta = &blob.meta;
            (meta.number, &meta.checksum_method, &meta.checksum)
        });
        let mut files: Vec<_> = tables.chain(blobs).collect();
        files.sort_by_key(|(number, _, _)| *number);
        let rows: Vec<Vec<Value>> = (files.into_iter())
            .map(|(number, name, sum)| {
                let (name, sum) = match name.is_empty() {
                    true => (Value::Null, Value::Null),
                    false => (
                        String::from_utf8_lossy(name).into_owned().into(),
                        text::hex(sum).into(),
                    ),
                };
                vec![number.into(), name, sum]
            })
            .collect();
        session.table(&["file", "function", "checksum"], &rows)
    }
}
