//! Runs a picked compaction.
//!
//! The inputs are read as a version of their own, past the block cache. The job must read every
//! entry that the tables claim to hold: a table that loses entries unnoticed would lose them
//! for good here.

use super::part_events::PartEvents;
use super::pick::Compaction;
use super::score::compression_of;
use super::subcompaction;
use crate::clock::micros;
use crate::compact::reason::CompactionReason;
use crate::operators::compaction_filter::{ActiveFilter, CompactionFilterContext};
use crate::options::CfOptions;
use crate::options::compaction::CompactionStyle;
use crate::options::compression::Compression;
use crate::options::read::BlobReads;
use crate::read::blob::{BorrowedBlobs, ReadAhead};
use crate::read::level::add_iterators;
use crate::read::merging::merging_iterator;
use crate::read::tombstones::all_tombstones;
use crate::stats::{Activity, Histogram, JobStats, time};
use crate::table_writer::merge_rules::Drops;
use crate::table_writer::source::Part;
use crate::table_writer::{
    Input, MAX_INDEX_SIZE, OutputContext, OutputSpec, Written, write_tables,
};
use crate::version::table_cache::TableCache;
use crate::version::{TableFile, Version, total_bytes};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use whitewater_storage::bounds::Bounds;
use whitewater_storage::internal_iterator::BoxedIterator;
use whitewater_storage::manifest::VersionEdit;
use whitewater_storage::planted;
use whitewater_storage::rangedel::RangeTombstone;
use whitewater_storage::sst::{IoPriority, TableReadOptions};
use whitewater_storage::{Error, Result};

/// The result of a compaction.
#[derive(Debug, Default)]
pub(crate) struct CompactionResult {
    /// Deletes the inputs and adds the outputs; ready to be recorded.
    pub edit: VersionEdit,
    /// Whether the files were only moved to another level.
    pub moved: bool,
    /// For statistics. The caller adds the time that the compaction took.
    pub stats: JobStats,
    /// Entries that were not written again.
    pub drops: Drops,
    /// The number of parts that ran at the same time.
    pub parts: u64,
}

/// Runs `compaction` (or only moves or deletes its files, if that is enough). The caller must
/// record the result. `events` is notified of the compaction's parts.
///
/// # Errors
/// Errors of reading and writing tables; `Corruption` if the tables hold more or fewer entries
/// than they claim. No output is left behind in that case.
pub(crate) fn run(
    compaction: &Compaction,
    ctx: &OutputContext<'_>,
    tables: &Arc<TableCache>,
    events: Option<PartEvents<'_>>,
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
    result.stats.count = 1;
    result.stats.files_in = inputs(compaction).count() as u64;
    if compaction.deletes {
        return Ok(result);
    }
    // A caller who requests a compaction wants the filter to be asked.
    let filters = is_manual(compaction) && ctx.options.filter_source().is_some();
    if compaction.trivial_move && !filters {
        result.moved = true;
        result.parts = 1;
        // As in RocksDB, a move counts as nothing but its bytes.
        result.stats = JobStats {
            bytes_moved: inputs(compaction).map(|(_, f)| f.meta.size).sum(),
            ..JobStats::default()
        };
        let moved = inputs(compaction).map(|(_, f)| (output_level, f.meta.clone()));
        result.edit.new_files = moved.collect();
        return Ok(result);
    }
    let written = rewrite(compaction, ctx, tables, events)?;
    for (level, files) in &compaction.inputs {
        let bytes = total_bytes(files);
        if *level == compaction.output_level {
            result.stats.bytes_read_same += bytes
        } else {
            result.stats.bytes_read_above += bytes
        }
    }
    result.stats.blob_bytes_read = written.blob_bytes_read;
    result.stats.blob_bytes_written = written.blob_bytes();
    result.stats.bytes_written = written.bytes();
    result.stats.bytes_written_raw = written.held.raw_bytes;
    result.stats.records_in = written.input_entries;
    result.stats.records_out = written.held.entries;
    result.stats.files_out = written.files.len() as u64;
    result.stats.cpu_micros = micros(written.cpu);
    result.drops = written.drops;
    result.parts = written.parts;
    result.edit.blob_garbage = written.garbage;
    planted!(BlobGarbageForgotten => result.edit.blob_garbage.clear());
    result.edit.blob_files = written.blob_files;
    let files = written.files.into_iter();
    result.edit.new_files = files.map(|f| (output_level, f)).collect();
    Ok(result)
}

fn inputs(compaction: &Compaction) -> impl Iterator<Item = (u32, &Arc<TableFile>)> {
    (compaction.inputs.iter())
        .flat_map(|(level, files)| files.iter().map(move |f| (*level as u32, f)))
}

// Long: the parts of a job share what is opened for all of them.
fn rewrite(
    compaction: &Compaction,
    ctx: &OutputContext<'_>,
    tables: &Arc<TableCache>,
    events: Option<PartEvents<'_>>,
) -> Result<Written> {
    let version = &compaction.version;
    let source = input_version(compaction);
    let times = inputs(compaction).map(|(_, f)| f.meta.oldest_ancester_time);
    let known_times = times.filter(|&t| t > 0);
    let taken_for = match ctx.options.compaction_style {
        // A FIFO table is deleted as a whole when it is too old, so it is as old as the youngest
        // data in it.
        CompactionStyle::Fifo => known_times.max(),
        _ => known_times.min(),
    };
    let epochs = inputs(compaction).map(|(_, f)| f.meta.epoch_number);
    let below = version.levels.get(compaction.output_level + 1);
    let spec = OutputSpec {
        level: compaction.output_level,
        flush: false,
        priority: IoPriority::Low,
        bottommost: compaction.bottommost,
        path_id: compaction.path_id,
        compression: compression(compaction, ctx),
        max_file_size: max_file_size(compaction, ctx),
        max_index_size: match compaction.output_level {
            0 => usize::MAX, // one table
            _ => MAX_INDEX_SIZE,
        },
        epoch_number: epochs.min().unwrap_or(1),
        oldest_ancester_time: taken_for.unwrap_or(0),
        inline_below: inline_below(version, ctx.options),
        grandparents: match compaction.output_level {
            0 => &[],
            _ => below.map_or(&[], Vec::as_slice),
        },
        history_low: &version.history_low,
        history_upto: &[],
    };
    let key_not_below = |user_key: &[u8]| compaction.key_not_below(&ctx.comparator.user, user_key);
    let work = |part: Part<'_>, abandoned: &AtomicBool| {
        let statistics = ctx.db.statistics.as_deref();
        let _activity = statistics.map(|_| Activity::Compaction.begin());
        let (entries, mut tombstones) = open_inputs(&source, ctx, tables)?;
        if part.from.is_some() || part.to.is_some() {
            let clip = |t| subcompaction::clip(t, part, &ctx.comparator.user);
            tombstones = tombstones.into_iter().filter_map(clip).collect();
        }
        let ahead = ReadAhead::new(ctx.options.blob_compaction_readahead_size);
        let blobs = BorrowedBlobs {
            version,
            tables,
            reads: BlobReads::of_job(ctx.read_limits()),
            ahead: Some(&ahead),
        };
        let input = Input {
            source: entries,
            part,
            tombstones,
            key_not_below: &key_not_below,
            filter: start_filter(compaction, ctx)?,
            blobs: Some(&blobs),
            counts_garbage: version.blobs.count() > 0,
            abandoned,
        };
        let mut written = write_tables(ctx, &spec, input)?;
        written.blob_bytes_read = ahead.asked();
        Ok(written)
    };
    let told = |number: usize, part: Part<'_>, abandoned: &AtomicBool| match events {
        Some(events) => events.tell(number, || work(part, abandoned)),
        None => work(part, abandoned),
    };
    let statistics = ctx.db.statistics.as_deref();
    let setup = time(statistics, Histogram::SubcompactionSetupTime);
    let limits = ctx.read_limits();
    let cuts = limits.run(|| subcompaction::cuts(compaction, ctx, tables))?;
    drop(setup);
    if let Some(statistics) = statistics {
        let parts = cuts.len() as u64 + 1;
        statistics.record(Histogram::NumSubcompactionsScheduled, parts);
    }
    let parts = subcompaction::run(&cuts, told, |written| remove(ctx, &written))?;
    let mut whole = Written::default();
    for part in parts {
        whole.extend(part);
    }
    // Garbage is not recorded for blob files that the version does not know.
    (whole.garbage).retain(|g| version.blobs.get(g.number).is_some());
    if let Err(e) = check_count(&source, ctx, tables, whole.input_entries) {
        remove(ctx, &whole);
        return Err(e);
    }
    Ok(whole)
}

/// The compression of the tables that `compaction` writes.
fn compression(compaction: &Compaction, ctx: &OutputContext<'_>) -> Compression {
    if compaction.uncompressed {
        return Compression::default();
    }
    let level = compaction.output_level;
    let mut compression = compression_of(ctx.options, &compaction.version, level);
    if let Some(ty) = compaction.wishes.compression {
        compression.ty = ty;
    }
    compression
}

/// The size at which the tables that `compaction` writes end. Bytes. Level 0 gets one table.
fn max_file_size(compaction: &Compaction, ctx: &OutputContext<'_>) -> u64 {
    let usual = ctx.options.target_file_size(compaction.output_level);
    match compaction.wishes.max_file_size {
        Some(size) if compaction.output_level > 0 => size,
        _ => usual,
    }
}

/// Values in blob files that are older than this one are moved out of them. With garbage
/// collection, these are the oldest part of the files.
fn inline_below(version: &Version, options: &CfOptions) -> u64 {
    if !options.enable_blob_garbage_collection {
        return 0;
    }
    let old = (version.blobs).count_old(options.blob_garbage_collection_age_cutoff);
    let first_that_stays = version.blobs.iter().nth(old);
    first_that_stays.map_or(u64::MAX, |b| b.file.meta.number)
}

/// A cursor over all points of `source`, and its range tombstones.
pub(super) fn open_inputs(
    source: &Arc<Version>,
    ctx: &OutputContext<'_>,
    tables: &Arc<TableCache>,
) -> Result<(BoxedIterator, Vec<RangeTombstone>)> {
    let limits = ctx.read_limits();
    let options = TableReadOptions {
        fill_cache: false,
        readahead: ctx.db.compaction_readahead_size,
        in_background: false,
        limits,
        ..TableReadOptions::default()
    };
    let tombstones = limits.run(|| all_tombstones(source, tables, ctx.comparator))?;
    let mut iterators = Vec::new();
    add_iterators(
        source,
        tables,
        ctx.comparator,
        options,
        &Bounds::default(),
        &mut iterators,
        None,
    )?;
    let merged = merging_iterator(ctx.comparator.clone(), iterators);
    Ok((merged, tombstones))
}

/// Removes files that will not be recorded. A file that cannot be removed is found as an orphan at
/// the next open.
fn remove(ctx: &OutputContext<'_>, written: &Written) {
    let tables = written.files.iter();
    let tables = tables.map(|f| ctx.paths.table(f));
    let blob_files = written.blob_files.iter();
    let blob_files = blob_files.map(|f| ctx.paths.blob(f.number));
    for path in tables.chain(blob_files) {
        let _ = ctx.fs.remove(&path);
    }
}

/// Whether the compaction was requested by a caller.
pub(super) fn is_manual(compaction: &Compaction) -> bool {
    compaction.reason == CompactionReason::ManualCompaction
}

/// A filter for the entries of `compaction`, if its column family has a compaction filter.
fn start_filter<'a>(
    compaction: &Compaction,
    ctx: &OutputContext<'a>,
) -> Result<Option<ActiveFilter<'a>>> {
    let Some(source) = ctx.options.filter_source() else {
        return Ok(None);
    };
    let all: usize = compaction.version.levels.iter().map(Vec::len).sum();
    let context = CompactionFilterContext {
        is_full_compaction: inputs(compaction).count() == all,
        is_manual_compaction: is_manual(compaction),
    };
    let level = compaction.inputs.first().map_or(0, |(level, _)| *level);
    ActiveFilter::start(source, context, level).map(Some)
}

/// The inputs as a version of their own.
pub(super) fn input_version(compaction: &Compaction) -> Arc<Version> {
    let mut levels = vec![Vec::new(); compaction.version.levels.len()];
    for (level, files) in &compaction.inputs {
        levels[*level].extend_from_slice(files);
    }
    Arc::new(Version::new(levels, compaction.version.open_with.clone()))
}

/// Checks that the tables of `source` claim to hold `read` entries.
pub(super) fn check_count(
    source: &Version,
    ctx: &OutputContext<'_>,
    tables: &TableCache,
    read: u64,
) -> Result<()> {
    let mut expected = 0;
    for file in source.levels.iter().flatten() {
        let open = tables.open(file, ctx.comparator, &source.open_with)?;
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
