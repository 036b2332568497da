//! Tables that have names of the database's own, and are in none of its versions.

use crate::db::Engine;
use crate::db::failure::Source;
use crate::external::candidate::Candidate;
use std::path::Path;
use whitewater_storage::fs::Fs;
use whitewater_storage::planted::{Bug, planted};
use whitewater_storage::{Result, filename};

/// Bytes copied at a time.
const CHUNK: usize = 256 << 10;

/// Tables in the database's directory that no version names yet.
pub(super) struct Incoming<'a> {
    fs: &'a dyn Fs,
    dir: &'a Path,
    /// Each with the number of its name.
    pub tables: Vec<(&'a Candidate, u64)>,
    /// Versions name them now; or else they are removed in the end.
    pub handed_over: bool,
}

impl<'a> Incoming<'a> {
    /// Gives `candidates` names of the database's, durably.
    pub fn bring(
        engine: &'a Engine,
        candidates: &'a [Candidate],
        by_link: bool,
    ) -> Result<Incoming<'a>> {
        let mut incoming = Incoming {
            fs: &*engine.fs,
            dir: &engine.dir,
            tables: Vec::new(),
            handed_over: false,
        };
        for candidate in candidates {
            let number = engine.versions.new_file_number();
            incoming.tables.push((candidate, number));
            let path = filename::table(&engine.dir, number);
            // Where there are no links (another file system, say): a copy.
            if !(by_link && incoming.fs.link(&candidate.path, &path).is_ok()) {
                copy(incoming.fs, &candidate.path, &path)?;
            } else {
                incoming.fs.open_append(&path)?.sync()?;
            }
        }
        // Not tried again, and names of other files may be lost with it.
        let synced = incoming.fs.sync_dir(incoming.dir);
        synced.inspect_err(|e| engine.report(Source::Manifest, e, "ingesting"))?;
        Ok(incoming)
    }
}

impl Drop for Incoming<'_> {
    fn drop(&mut self) {
        if self.handed_over {
            return;
        }
        for (_, number) in &self.tables {
            // One that cannot be removed is found as an orphan at the next open.
            let _ = self.fs.remove(&filename::table(self.dir, *number));
        }
    }
}

/// Copies a file, and makes the content of the copy durable. Returns its length.
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
    if !planted(Bug::IngestedNotSynced) {
        copy.sync()?;
    }
    Ok(copy.len())
}
