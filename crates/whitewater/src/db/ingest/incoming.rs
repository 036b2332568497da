//! Tables that have file names of the database, and are in none of its versions.

use crate::db::Engine;
use crate::db::failure::Source;
use crate::external::candidate::Candidate;
use std::path::Path;
use whitewater_storage::fs::Fs;
use whitewater_storage::{Result, filename};

/// The number of bytes that are copied at a time.
const CHUNK: usize = 256 << 10;

/// Tables in a column family's first path that no version names yet.
pub(in crate::db) struct Incoming<'a, T = Candidate> {
    fs: &'a dyn Fs,
    /// Where tables of the column family are put.
    dir: &'a Path,
    /// The tables, each with the number of its file.
    pub tables: Vec<(&'a T, u64)>,
    /// Versions name the tables now. If not set, the tables are removed when this is
    /// dropped.
    pub handed_over: bool,
}

impl<'a, T> Incoming<'a, T> {
    /// Gives the tables at the paths file names of the database in `dir`, durably.
    pub fn bring(
        engine: &'a Engine,
        dir: &'a Path,
        outside: impl Iterator<Item = (&'a Path, &'a T)>,
        by_link: bool,
    ) -> Result<Self> {
        let mut incoming = Incoming {
            fs: &*engine.files.fs,
            dir,
            tables: Vec::new(),
            handed_over: false,
        };
        for (from, table) in outside {
            let number = engine.files.versions.new_file_number();
            incoming.tables.push((table, number));
            let path = filename::table(dir, number);
            // If they cannot be linked (from another file system, say), they are copied.
            if !(by_link && incoming.fs.link(from, &path).is_ok()) {
                copy(incoming.fs, from, &path)?;
            } else {
                incoming.fs.open_append(&path)?.sync()?;
            }
        }
        // The sync is not tried again, and names of other files may be lost with it.
        let synced = incoming.fs.sync_dir(incoming.dir);
        synced.inspect_err(|e| engine.report(Source::Manifest, e, "ingesting"))?;
        Ok(incoming)
    }
}

impl<T> Drop for Incoming<'_, T> {
    fn drop(&mut self) {
        if self.handed_over {
            return;
        }
        for (_, number) in &self.tables {
            // A table that cannot be removed is found as an orphan at the next open.
            let _ = self.fs.remove(&filename::table(self.dir, *number));
        }
    }
}

/// Copies a file, and makes the content of the copy durable. Returns its length in bytes.
pub(in crate::db) fn copy(fs: &dyn Fs, from: &Path, to: &Path) -> Result<u64> {
    let mut source = fs.open_sequential(from)?;
    let mut copy = fs.create(to)?;
    let mut chunk = vec![0; CHUNK];
    loop {
        match source.read(&mut chunk)? {
            0 => break,
            n => copy.append(&chunk[..n])?,
        }
    }
    copy.sync()?;
    Ok(copy.len())
}
