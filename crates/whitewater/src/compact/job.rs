//! Runs a picked compaction.
//!
//! The inputs are read as a version of their own, past the block cache. Every
//! entry the tables claim to hold must have been read; a table that loses
//! entries unnoticed would lose them for good here.

use super::output::{OutputContext, OutputSpec, write_and_count};
use super::pick::Compaction;
use crate::read::level::add_iterators;
use crate::read::merging::merging_iterator;
use crate::read::table_cache::TableCache;
use crate::version::{TableFile, Version, total_bytes};
use std::sync::Arc;
use whitewater_storage::manifest::{FileMetaData, VersionEdit};
use whitewater_storage::sst::TableReadOptions;
use whitewater_storage::{Error, Result, filename};

/// Bytes read ahead of a compaction's cursors.
const READAHEAD: usize = 2 << 20;

/// What a compaction did.
#[derive(Debug, Default)]
pub(crate) struct CompactionResult {
    /// Deleted inputs and new outputs, ready to be recorded.
    pub edit: VersionEdit,
    pub bytes_read: u64,
    pub bytes_written: u64,
}

/// Runs `compaction` (or moves its files, when that is enough). Nothing is
/// recorded: the caller does.
///
/// # Errors
/// Those of reading and writing tables; `Corruption` when the tables hold more
/// or fewer entries than they say. No output is left behind then.
pub(crate) fn run(
    compaction: &Compaction,
    ctx: &OutputContext<'_>,
    tables: &Arc<TableCache>,
) -> Result<CompactionResult> {
    let mut result = CompactionResult {
        edit: VersionEdit {
            column_family: ctx.cf_id,
            deleted_files: (inputs(compaction))
                .map(|(level, f)| (level, f.meta.number))
                .collect(),
            ..VersionEdit::default()
        },
        ..CompactionResult::default()
    };
    let output_level = compaction.output_level as u32;
    if compaction.trivial_move {
        let moved = inputs(compaction).map(|(_, f)| (output_level, f.meta.clone()));
        result.edit.new_files = moved.collect();
        return Ok(result);
    }
    let files = rewrite(compaction, ctx, tables)?;
    result.bytes_read = (compaction.inputs.iter())
        .map(|(_, files)| total_bytes(files))
        .sum();
    result.bytes_written = files.iter().map(|f| f.size).sum();
    result.edit.new_files = files.into_iter().map(|f| (output_level, f)).collect();
    Ok(result)
}

fn inputs(compaction: &Compaction) -> impl Iterator<Item = (u32, &Arc<TableFile>)> {
    (compaction.inputs.iter())
        .flat_map(|(level, files)| files.iter().map(move |f| (*level as u32, f)))
}

fn rewrite(
    compaction: &Compaction,
    ctx: &OutputContext<'_>,
    tables: &Arc<TableCache>,
) -> Result<Vec<FileMetaData>> {
    let version = &compaction.version;
    let source = input_version(compaction);
    let options = TableReadOptions {
        verify_checksums: true,
        fill_cache: false,
        readahead: READAHEAD,
    };
    let (mut iterators, mut tombstones) = (Vec::new(), Vec::new());
    add_iterators(
        &source,
        tables,
        ctx.comparator,
        options,
        &mut iterators,
        &mut tombstones,
    )?;
    let known_times = inputs(compaction).map(|(_, f)| f.meta.oldest_ancester_time);
    let epochs = inputs(compaction).map(|(_, f)| f.meta.epoch_number);
    let spec = OutputSpec {
        level: compaction.output_level,
        bottommost: compaction.bottommost,
        max_file_size: ctx.options.target_file_size(compaction.output_level),
        epoch_number: epochs.min().unwrap_or(1),
        oldest_ancester_time: known_times.filter(|&t| t > 0).min().unwrap_or(0),
    };
    let deeper = compaction.output_level + 1..version.levels.len();
    let key_not_below = |user_key: &[u8]| {
        let holds = |level| version.may_hold(level, &ctx.comparator.user, user_key);
        !deeper.clone().any(holds)
    };
    let merged = merging_iterator(ctx.comparator.clone(), iterators);
    let written = write_and_count(ctx, &spec, merged, tombstones, &key_not_below)?;
    if let Err(e) = check_count(&source, ctx, tables, written.input_entries) {
        for f in &written.files {
            // One that cannot be removed is found as an orphan at the next open.
            let path = filename::table(ctx.dir, f.number);
            let _ = ctx.fs.remove(&path);
        }
        return Err(e);
    }
    Ok(written.files)
}

/// The inputs as a version of their own.
pub(super) fn input_version(compaction: &Compaction) -> Arc<Version> {
    let mut levels = vec![Vec::new(); compaction.version.levels.len()];
    for (level, files) in &compaction.inputs {
        levels[*level].extend_from_slice(files);
    }
    Arc::new(Version::new(levels, compaction.version.block_cache.clone()))
}

/// Checks that `read` entries are what the tables of `source` say they hold.
pub(super) fn check_count(
    source: &Version,
    ctx: &OutputContext<'_>,
    tables: &TableCache,
    read: u64,
) -> Result<()> {
    let mut expected = 0;
    for file in source.levels.iter().flatten() {
        let open = tables.open(file, ctx.comparator, source.block_cache.as_ref())?;
        let p = open.table.properties();
        if !p.raw.contains_key("rocksdb.num.entries") {
            return Ok(());
        }
        expected += p.num_entries.saturating_sub(p.num_range_deletions);
    }
    if expected == read {
        return Ok(());
    }
    let numbers: Vec<String> = (source.levels.iter().flatten())
        .map(|f| format!("#{}", f.meta.number))
        .collect();
    Err(Error::corruption(format_args!(
        "compaction of table files {}: {read} entries read where their properties say {expected}",
        numbers.join(", ")
    )))
}
