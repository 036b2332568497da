//! Creates and removes the files that a job writes: tables and blob files.

use super::output_file::{OutputFile, Timed};
use super::{OutputContext, OutputSpec};
use crate::stats::Histogram;
use std::path::Path;
use std::sync::Arc;
use whitewater_storage::file_checksum::Digest;
use whitewater_storage::fs::{BufferedWriter, WritableFile};
use whitewater_storage::sst::IoPriority;
use whitewater_storage::{Result, filename};

/// The number of bytes collected before they are passed to the file system.
const WRITE_BUFFER: usize = 1 << 20;

/// A new file, buffered.
pub(super) struct Output {
    pub file: Box<dyn WritableFile>,
    /// The checksum of the file, if one is kept.
    pub digest: Option<Arc<Digest>>,
}

/// Creates the files of one job.
#[derive(Clone, Copy)]
pub(super) struct OutputFiles<'a> {
    pub ctx: &'a OutputContext<'a>,
    /// Whether the source is memtables.
    flush: bool,
    /// The path that tables are put into.
    path_id: u32,
    /// The priority of writes while no writer is stalled.
    priority: IoPriority,
}

impl<'a> OutputFiles<'a> {
    /// For the job with this specification.
    pub fn of(ctx: &'a OutputContext<'a>, spec: &OutputSpec<'_>) -> Self {
        OutputFiles {
            ctx,
            flush: spec.flush,
            path_id: spec.path_id,
            priority: spec.priority,
        }
    }

    /// Whether this is a flush of an open database, and not of a recovery.
    pub fn is_live_flush(&self) -> bool {
        self.flush && self.ctx.gate.is_some()
    }

    /// Creates table `number`.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn create_table(&self, number: u64) -> Result<Output> {
        let (writes, syncs) = match (self.flush, self.ctx.gate) {
            // A recovery has no gate.
            (true, None) => (Histogram::FileWriteDbOpenMicros, Histogram::TableSyncMicros),
            (true, _) => (Histogram::FileWriteFlushMicros, Histogram::TableSyncMicros),
            (false, _) => (
                Histogram::FileWriteCompactionMicros,
                Histogram::CompactionOutfileSyncMicros,
            ),
        };
        let writes = vec![Histogram::SstWriteMicros, writes];
        let dir = self.ctx.paths.dir(self.path_id);
        self.create(&filename::table(dir, number), writes, syncs)
    }

    /// Creates blob file `number`.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn create_blob_file(&self, number: u64) -> Result<Output> {
        let path = self.ctx.paths.blob(number);
        let writes = vec![Histogram::BlobDbBlobFileWriteMicros];
        self.create(&path, writes, Histogram::BlobDbBlobFileSyncMicros)
    }

    /// Removes blob file `number`, if that can be done.
    pub fn remove_blob_file(&self, number: u64) {
        let _ = self.ctx.fs.remove(&self.ctx.paths.blob(number));
    }

    fn create(&self, path: &Path, writes: Vec<Histogram>, syncs: Histogram) -> Result<Output> {
        let ctx = self.ctx;
        let file = if ctx.db.use_direct_io_for_flush_and_compaction {
            ctx.fs.create_direct(path)?
        } else {
            ctx.fs.create(path)?
        };
        let priority = ctx.io_priority(self.priority);
        let limiter = ctx.limiter.map(|limiter| (limiter.clone(), priority));
        let timed = ctx.db.statistics.clone().map(|statistics| Timed {
            statistics,
            writes,
            syncs,
        });
        let digest = ctx.db.file_checksum_gen_factory.digest();
        let file = OutputFile::new(file, limiter, ctx.db.bytes_per_sync, timed, digest.clone());
        let file = Box::new(BufferedWriter::new(Box::new(file), WRITE_BUFFER));
        Ok(Output { file, digest })
    }
}
