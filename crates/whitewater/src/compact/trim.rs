//! Tables without what is newer than a time.
//!
//! New tables replace those of a sorted run, in the same level. They lack the versions of keys and
//! the range tombstones that have a later timestamp, and nothing else. The order of the runs stays.
//! A run without anything newer is only read.

use super::job::{check_count, open_inputs};
use super::score::compression_of;
use crate::options::read::BlobReads;
use crate::read::blob::{BorrowedBlobs, ReadAhead};
use crate::table_writer::blob_flow::add_garbage;
use crate::table_writer::source::Part;
use crate::table_writer::{
    Input, MAX_INDEX_SIZE, OutputContext, OutputSpec, Written, write_tables,
};
use crate::version::paths::DataPaths;
use crate::version::table_cache::TableCache;
use crate::version::{TableFile, Version};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use whitewater_storage::Result;
use whitewater_storage::fs::Fs;
use whitewater_storage::key::{UserComparator, user_key};
use whitewater_storage::manifest::VersionEdit;
use whitewater_storage::rangedel::RangeTombstone;
use whitewater_storage::sst::IoPriority;

/// What trimming a column family makes of its tables.
#[derive(Debug, Default)]
pub(crate) struct Trimmed {
    /// Replaces tables; ready to be recorded.
    pub edit: VersionEdit,
    /// The number of versions and range tombstones that were left out.
    pub dropped: u64,
}

impl Trimmed {
    /// Removes the files that were made, which will not be recorded. A file that cannot be removed
    /// is found as an orphan at the next opening.
    pub fn remove(&self, fs: &dyn Fs, paths: &DataPaths) {
        let tables = self.edit.new_files.iter().map(|(_, f)| paths.table(f));
        let blobs = self.edit.blob_files.iter().map(|f| paths.blob(f.number));
        for path in tables.chain(blobs) {
            let _ = fs.remove(&path);
        }
    }
}

/// A sorted run: a table of level 0, or all tables of a deeper level.
struct Run {
    level: usize,
    files: Vec<Arc<TableFile>>,
}

/// Writes tables to take the place of those of `version` that hold something newer than `upto`.
/// The tables are synced; their directories are not.
///
/// # Errors
/// Errors of reading and writing tables; `Corruption` if the tables hold more or fewer entries
/// than they claim. No table is left behind in that case.
pub(crate) fn trim(
    version: &Arc<Version>,
    upto: &[u8],
    ctx: &OutputContext<'_>,
    tables: &Arc<TableCache>,
) -> Result<Trimmed> {
    let mut trimmed = Trimmed::default();
    trimmed.edit.column_family = ctx.cf_id;
    let job = Job {
        version,
        upto,
        ctx,
        tables,
    };
    for run in runs(version) {
        if let Err(e) = job.trim_run(&run, &mut trimmed) {
            trimmed.remove(&**ctx.fs, ctx.paths);
            return Err(e);
        }
    }
    // Garbage is not recorded for blob files that the version does not know.
    let known = |number| version.blobs.get(number).is_some();
    trimmed.edit.blob_garbage.retain(|g| known(g.number));
    Ok(trimmed)
}

fn runs(version: &Version) -> Vec<Run> {
    let mut runs = Vec::new();
    for (level, files) in version.levels.iter().enumerate() {
        if level == 0 {
            let alone = |f: &Arc<TableFile>| vec![f.clone()];
            runs.extend(files.iter().map(alone).map(|files| Run { level, files }));
        } else if !files.is_empty() {
            let files = files.clone();
            runs.push(Run { level, files });
        }
    }
    runs
}

/// What the runs of a column family share.
struct Job<'a> {
    version: &'a Arc<Version>,
    upto: &'a [u8],
    ctx: &'a OutputContext<'a>,
    tables: &'a Arc<TableCache>,
}

impl Job<'_> {
    fn user(&self) -> &UserComparator {
        &self.ctx.comparator.user
    }

    fn is_newer(&self, user_key: &[u8]) -> bool {
        let time = self.user().timestamp(user_key);
        self.user().compare_timestamps(time, self.upto).is_gt()
    }

    /// Adds to `trimmed` what takes the place of `run`, if that holds something newer.
    fn trim_run(&self, run: &Run, trimmed: &mut Trimmed) -> Result<()> {
        let mut levels = vec![Vec::new(); self.version.levels.len()];
        levels[run.level].clone_from(&run.files);
        let source = Arc::new(Version::new(levels, self.version.open_with.clone()));
        if !self.holds_newer(&source)? {
            return Ok(());
        }
        let (written, tombstones) = self.write(run, &source)?;
        let level = run.level as u32;
        let read = written.input_entries;
        trimmed.dropped += written.drops.too_new + tombstones;
        let edit = &mut trimmed.edit;
        let old = run.files.iter().map(|f| (level, f.meta.number));
        edit.deleted_files.extend(old);
        edit.new_files
            .extend(written.files.into_iter().map(|f| (level, f)));
        edit.blob_files.extend(written.blob_files);
        add_garbage(&mut edit.blob_garbage, written.garbage);
        check_count(&source, self.ctx, self.tables, read)
    }

    /// Whether a version of a key or a range tombstone is newer.
    fn holds_newer(&self, source: &Arc<Version>) -> Result<bool> {
        let (mut entries, tombstones) = open_inputs(source, self.ctx, self.tables)?;
        if tombstones.iter().any(|t| self.is_newer(&t.start)) {
            return Ok(true);
        }
        entries.seek_to_first();
        while entries.valid() {
            if self.is_newer(user_key(entries.key())) {
                return Ok(true);
            }
            entries.next();
        }
        entries.status().map(|()| false)
    }

    /// Writes the tables for `run`, which `source` consists of. Returns how many range tombstones
    /// were left out, too.
    fn write(&self, run: &Run, source: &Arc<Version>) -> Result<(Written, u64)> {
        let (ctx, version) = (self.ctx, self.version);
        let (entries, mut tombstones) = open_inputs(source, ctx, self.tables)?;
        let all = tombstones.len();
        tombstones.retain(|t| self.is_pinned(t) || !self.is_newer(&t.start));
        let dropped = (all - tombstones.len()) as u64;
        let ahead = ReadAhead::new(ctx.options.blob_compaction_readahead_size);
        let blobs = BorrowedBlobs {
            version,
            tables: self.tables,
            reads: BlobReads::of_job(ctx.read_limits()),
            ahead: Some(&ahead),
        };
        let input = Input {
            source: entries,
            part: Part::default(),
            tombstones,
            // What is dropped is newer: what is kept still hides what lies below.
            key_not_below: &|_| false,
            filter: None,
            blobs: Some(&blobs),
            counts_garbage: version.blobs.count() > 0,
            abandoned: &AtomicBool::new(false),
        };
        write_tables(ctx, &self.spec(run), input).map(|written| (written, dropped))
    }

    /// Whether the tombstone is of a transaction that is not decided.
    fn is_pinned(&self, tombstone: &RangeTombstone) -> bool {
        let undecided = self.ctx.live.undecided.as_deref();
        undecided.is_some_and(|ranges| ranges.contains(tombstone.seq))
    }

    fn spec(&self, run: &Run) -> OutputSpec<'_> {
        let (ctx, version, level) = (self.ctx, self.version, run.level);
        let metas = || run.files.iter().map(|f| &f.meta);
        let times = metas().map(|m| m.oldest_ancester_time);
        let below = version.levels.get(level + 1).map_or(&[][..], Vec::as_slice);
        // Level 0 gets one table for one.
        let sorted = level > 0;
        OutputSpec {
            level,
            flush: false,
            priority: IoPriority::Low,
            bottommost: false,
            path_id: run.files.first().map_or(0, |f| f.meta.path_id),
            compression: compression_of(ctx.options, version, level),
            max_file_size: match sorted {
                true => ctx.options.target_file_size(level),
                false => u64::MAX,
            },
            max_index_size: if sorted { MAX_INDEX_SIZE } else { usize::MAX },
            epoch_number: metas().map(|m| m.epoch_number).min().unwrap_or(1),
            oldest_ancester_time: times.filter(|&t| t > 0).min().unwrap_or(0),
            inline_below: 0,
            grandparents: if sorted { below } else { &[] },
            history_low: &[],
            history_upto: self.upto,
        }
    }
}
