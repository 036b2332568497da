//! Limits to the space of tables and blob files: what the database asks its manager
//! (`sst_file_manager`), if it has one.

use super::Engine;
use super::failure::Source;
use super::state::DbState;
use crate::compact::pick::Compaction;
use crate::sst_file_manager::Reserved;
use crate::version::paths::DataPaths;
use std::path::{Path, PathBuf};
use whitewater_storage::{Error, ErrorKind, Result};

impl Engine {
    /// Stops writes if a flush has brought the files to all the space that is allowed.
    pub(super) fn check_allowed_space(&self) {
        if let Some(manager) = &self.options.sst_file_manager
            && let Err(e) = manager.check_allowed_space()
        {
            self.report(Source::Flush, &e, "a flush");
        }
    }

    /// Makes room for what `compaction` of a column family with `paths` is going to write.
    ///
    /// # Errors
    /// `CompactionTooLarge` if there is no room now.
    pub(super) fn reserve_for(
        &self,
        paths: &DataPaths,
        compaction: &Compaction,
    ) -> Result<Option<Reserved>> {
        let Some(manager) = &self.options.sst_file_manager else {
            return Ok(None);
        };
        if compaction.trivial_move || compaction.deletes {
            return Ok(None);
        }
        let inputs = compaction.inputs.iter().flat_map(|(_, files)| files);
        let bytes = inputs.map(|file| file.meta.size).sum();
        let (was_full, kept_free) = {
            let state = self.lock_state();
            let failures = [state.failure.flush.last(), state.failure.compaction.last()];
            let was_full = failures.iter().flatten().any(Error::is_no_space);
            (was_full, kept_free(&state))
        };
        let dir = paths.dir(compaction.path_id);
        let free = was_full.then(|| self.free_space(dir)).flatten();
        manager
            .reserve(bytes, free, kept_free)
            .map(Some)
            .ok_or_else(|| {
                let what = format!("no room to compact {bytes} bytes");
                Error::new(ErrorKind::CompactionTooLarge, what)
            })
    }

    /// Begins no compaction for a while, because one had no room. That is no failure: there is room
    /// again when others have ended, or files were deleted.
    pub(super) fn put_off_compactions(&self, why: &Error) {
        let (_, wait) = self.retry_limits();
        self.lock_state().failure.compaction.put_off(wait);
        self.info_log
            .warn(&format!("A compaction is put off: {why}"));
    }

    /// Whether a resumption after `stop` would only fail again, for lack of space.
    pub(super) fn lacks_space(&self, stop: &Error) -> bool {
        let Some(manager) = &self.options.sst_file_manager else {
            return false;
        };
        if stop.is_space_limit() {
            return manager.is_full();
        }
        let wanted = kept_free(&self.lock_state());
        let mut dirs = self.files.data_dirs.all();
        dirs.push(self.files.dir.clone());
        let lacks = |dir: &PathBuf| self.free_space(dir).is_some_and(|free| free < wanted);
        stop.is_no_space() && dirs.iter().any(lacks)
    }

    /// The free space of the file system of `dir`, in bytes, if that is known.
    fn free_space(&self, dir: &Path) -> Option<u64> {
        self.files.fs.free_space(dir).ok()
    }
}

/// Room for a memtable of each size that there is, as in RocksDB: bytes that compactions leave, and
/// that a resumption after a full disk waits for.
fn kept_free(state: &DbState) -> u64 {
    let sizes = state.cfs.values().map(|cf| cf.options().write_buffer_size);
    sizes.max().unwrap_or(0) as u64
}
