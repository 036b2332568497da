//! Writes a merged stream into tables, for flushes, compactions, recovery and repair.
//!
//! The drop rules are in [`merge_rules`]; this module decides where one table ends and the next
//! begins, and what the manifest records of each.
//!
//! * [`merge_rules`]: which entries a merge drops or keeps.
//! * [`source`]: the entries of a part of the keys, until the job is cancelled.
//! * `output_files`: creates the files of a job; `output_file`: rate limiter and write-back of one;
//!   `read_back`: reads a table again, if `paranoid_file_checks` is set.
//! * `grandparents`: ends tables that would overlap too much below.
//! * `blob_output`: puts large values into blob files; `blob_flow`: counts the blobs that are
//!   dropped.
//! * `deletions`: finds tables with many deletions in them.
//!
//! Invariants:
//! * I1: a cut falls between two user keys, never inside one.
//! * I2: range tombstones are split at cuts: a table that ends at the cut `k` has the exclusive
//!   end `(k, max sequence, RangeDeletion)`, which sorts before everything of `k`, so
//!   consecutive tables do not overlap.
//! * I3: on an error no file is left behind.

pub(crate) mod blob_flow;
pub(crate) mod blob_output;
pub(crate) mod deletions;
pub(crate) mod grandparents;
pub(crate) mod merge_rules;
pub(crate) mod output_file;
pub(crate) mod output_files;
pub(crate) mod read_back;
pub(crate) mod source;

use crate::clock::cpu_time;
use crate::entry::blobs::Blobs;
use crate::entry::range_tombstones::FragmentedTombstones;
use crate::operators::compaction_filter::ActiveFilter;
use crate::options::compression::Compression;
use crate::options::{CfOptions, DbOptions, file_checksum};
use crate::rate_limiter::Client;
use crate::snapshots::Live;
use crate::table_writer::blob_flow::{BlobFlow, add_garbage};
use crate::table_writer::blob_output::BlobOutput;
use crate::table_writer::deletions::DeletionWatch;
use crate::table_writer::grandparents::Grandparents;
use crate::table_writer::merge_rules::{CompactionIter, Drops, Rules, Tombstones};
use crate::table_writer::output_files::{Output, OutputFiles};
use crate::table_writer::read_back::Content;
use crate::table_writer::source::{Part, Source, cancelled};
use crate::version::TableFile;
use crate::version::paths::DataPaths;
use crate::version::set::VersionSet;
use crate::write::stall::{Pressure, StallGate};
use std::cmp::Ordering;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use whitewater_storage::coding::get_varint64;
use whitewater_storage::file_checksum::Digest;
use whitewater_storage::fs::Fs;
use whitewater_storage::internal_iterator::BoxedIterator;
use whitewater_storage::key::{
    self, InternalComparator, MAX_SEQUENCE, SequenceNumber, ValueType, internal_key,
};
use whitewater_storage::manifest::{BlobFileMetaData, BlobGarbage, FileMetaData};
use whitewater_storage::planted;
use whitewater_storage::rangedel::RangeTombstone;
use whitewater_storage::sst::{
    IoPriority, ReadLimits, TableBuilder, TableBuilderOptions, TableFormat, TableProperties,
};
use whitewater_storage::{Result, filename};

/// What all table writers of a database share.
pub(crate) struct OutputContext<'a> {
    pub fs: &'a Arc<dyn Fs>,
    /// Where tables and blob files are put.
    pub paths: &'a DataPaths,
    pub versions: &'a VersionSet,
    pub db: &'a DbOptions,
    pub options: &'a CfOptions,
    pub comparator: &'a InternalComparator,
    pub cf_id: u32,
    pub cf_name: &'a str,
    pub db_id: &'a str,
    pub session_id: &'a str,
    /// What has to be kept.
    pub live: &'a Live,
    /// The rate limiter of writes and reads.
    pub limiter: Option<&'a Arc<Client>>,
    /// Knows whether writers are stalled.
    pub gate: Option<&'a StallGate>,
    /// The time by the database's clock, in seconds since 1970.
    pub now: u64,
    /// Set when the database is closing: the job stops with `ShutdownInProgress`.
    pub cancel: &'a AtomicBool,
}

impl OutputContext<'_> {
    /// The priority at the rate limiter of a job whose priority is `usual`: that of users while
    /// writers are stalled.
    pub fn io_priority(&self, usual: IoPriority) -> IoPriority {
        match self.gate.map_or(Pressure::None, StallGate::pressure) {
            Pressure::None => usual,
            Pressure::Delayed | Pressure::Stopped => IoPriority::User,
        }
    }

    /// The limits on the reads of a compaction that begins: it asks the rate limiter if that limits
    /// reads.
    pub fn read_limits(&self) -> ReadLimits {
        let asked = self.limiter.filter(|limiter| limiter.limits_reads());
        ReadLimits {
            priority: asked.map(|_| self.io_priority(IoPriority::Low)),
            ..ReadLimits::NONE
        }
    }
}

/// The size of the index at which tables of compactions end, whatever their target size is.
/// Bytes. An index is a block, and a table's index can only be read up to 4 GiB.
pub(crate) const MAX_INDEX_SIZE: usize = 1 << 30;

/// Where the tables go, and what may be dropped on the way.
pub(crate) struct OutputSpec<'a> {
    pub level: usize,
    /// Whether the source is memtables.
    pub flush: bool,
    /// The priority of writes while no writer is stalled.
    pub priority: IoPriority,
    /// Whether nothing older exists below. If so, tombstones can go, and sequence numbers become 0
    /// where no snapshot needs them.
    pub bottommost: bool,
    /// The path that the tables are put into.
    pub path_id: u32,
    /// The compression of the tables.
    pub compression: Compression,
    /// Start a new table at about this size; `u64::MAX` writes a single table. Bytes.
    pub max_file_size: u64,
    /// Start a new table when the index has about this size; `usize::MAX` writes a single table.
    /// Bytes.
    pub max_index_size: usize,
    /// The epoch number of the outputs.
    pub epoch_number: u64,
    /// The Unix time in seconds of the oldest ancestor; 0 is now.
    pub oldest_ancester_time: u64,
    /// Values leave blob files that are older than this one.
    pub inline_below: u64,
    /// The files of the level below. Tables that overlap many of them end early.
    pub grandparents: &'a [Arc<TableFile>],
    /// The limit of the history. Of versions with older timestamps only the newest is kept; empty
    /// keeps all.
    pub history_low: &'a [u8],
    /// Versions with later timestamps are dropped; empty drops none.
    pub history_upto: &'a [u8],
}

/// The input that the tables are made from.
pub(crate) struct Input<'a> {
    pub source: BoxedIterator,
    /// The keys to read from `source`. The tombstones lie within it.
    pub part: Part<'a>,
    pub tombstones: Vec<RangeTombstone>,
    /// Returns whether nothing older than the input exists of a user key.
    pub key_not_below: &'a dyn Fn(&[u8]) -> bool,
    pub filter: Option<ActiveFilter<'a>>,
    /// Reads the values that entries of the source refer to. Without it they are not read.
    pub blobs: Option<&'a dyn Blobs>,
    /// Whether to count blobs that nothing refers to afterwards.
    pub counts_garbage: bool,
    /// Set when the tables are no longer wanted.
    pub abandoned: &'a AtomicBool,
}

/// The result of writing tables.
#[derive(Debug, Default)]
pub(crate) struct Written {
    /// The tables, in key order.
    pub files: Vec<FileMetaData>,
    /// The blob files that were written for them.
    pub blob_files: Vec<BlobFileMetaData>,
    /// The total contents of the tables.
    pub held: Held,
    /// The number of entries read from the source.
    pub input_entries: u64,
    /// The size of their keys and values. Bytes.
    pub input_bytes: u64,
    /// The entries that were not written again.
    pub drops: Drops,
    /// CPU time of the threads that wrote.
    pub cpu: Duration,
    /// The blobs that the source refers to and the tables do not.
    pub garbage: Vec<BlobGarbage>,
    /// The size of the records of blob files that were read. Bytes.
    pub blob_bytes_read: u64,
    /// The number of parts that were written at the same time.
    pub parts: u64,
}

/// The contents of tables.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Held {
    /// The number of entries without range tombstones.
    pub entries: u64,
    /// The size of keys and values before compression. Bytes.
    pub raw_bytes: u64,
}

impl Written {
    /// The size of the tables. Bytes.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|f| f.size).sum()
    }

    /// The size of the records in the blob files. Bytes.
    pub fn blob_bytes(&self) -> u64 {
        self.blob_files.iter().map(|b| b.bytes).sum()
    }

    /// Adds what was written of the next keys.
    pub fn extend(&mut self, next: Written) {
        self.files.extend(next.files);
        self.blob_files.extend(next.blob_files);
        self.held.entries += next.held.entries;
        self.held.raw_bytes += next.held.raw_bytes;
        self.input_entries += next.input_entries;
        self.input_bytes += next.input_bytes;
        self.drops += next.drops;
        self.cpu += next.cpu;
        self.blob_bytes_read += next.blob_bytes_read;
        self.parts += next.parts;
        add_garbage(&mut self.garbage, next.garbage);
    }
}

/// Merges the input into new tables, applying the drop rules. On an error or a panic every file
/// that it created is removed. The tables are synced; the directory is not.
///
/// # Errors
/// Errors of the source, the file system, the merge operator and the filter;
/// `ShutdownInProgress` when the job was cancelled.
pub(crate) fn write_tables(
    ctx: &OutputContext<'_>,
    spec: &OutputSpec<'_>,
    input: Input<'_>,
) -> Result<Written> {
    let begun = cpu_time();
    let pinned = ctx.live.undecided.as_deref();
    let tombstones = Tombstones::new(input.tombstones, pinned, &ctx.comparator.user);
    let mut snapshots = &ctx.live.snapshots[..];
    planted!(SnapshotsIgnored => snapshots = &[]);
    let rules = Rules {
        comparator: ctx.comparator,
        snapshots,
        boundary: ctx.live.boundary,
        pinned,
        tombstones: &tombstones,
        family: ctx.cf_name,
        merge_operator: ctx.options.merge_operator.as_deref(),
        blobs: input.blobs,
        inline_below: spec.inline_below,
        bottommost: spec.bottommost,
        key_not_below: input.key_not_below,
        statistics: ctx.db.statistics.as_deref(),
        history_low: spec.history_low,
        history_upto: spec.history_upto,
    };
    let obsolete_tombstones = rules.obsolete_tombstones();
    let kept = rules.kept_tombstones();
    let format = format_for(ctx.options.table_factory, !kept.is_empty());
    let mut outputs = Outputs::new(ctx, spec, format, kept);
    let most_overlap = ctx.options.compaction_bytes();
    outputs.overlap = Grandparents::new(ctx.comparator, spec.grandparents, most_overlap);
    outputs.blob_output = blob_output::is_wanted(ctx.options, spec.level)
        .then(|| BlobOutput::new(OutputFiles::of(ctx, spec), ctx.options))
        .transpose()?;
    let cancel = [ctx.cancel, input.abandoned];
    let source = Source::new(input.source, ctx.comparator, input.part, cancel)
        .counting_blobs(input.counts_garbage);
    let mut entries = CompactionIter::new(rules, input.filter, source);
    outputs.write_all(&mut entries)?;
    let (held, garbage) = (outputs.held, entries.garbage(&outputs.blobs));
    let (files, blob_files) = outputs.keep();
    Ok(Written {
        held,
        garbage,
        files,
        blob_files,
        input_entries: entries.consumed(),
        input_bytes: entries.consumed_bytes(),
        drops: Drops {
            range_tombstones: obsolete_tombstones,
            ..entries.drops()
        },
        cpu: cpu_time().saturating_sub(begun),
        blob_bytes_read: 0,
        parts: 1,
    })
}

/// Copies `source` and `tombstones` unchanged into new tables, including all older versions.
/// Entries with the same key and the same sequence number are copies of each other, and only
/// one of them is kept: the first, or one into which a merge operand was folded.
///
/// # Errors
/// The same as [`write_tables`]. No file is left in that case.
pub(crate) fn write_verbatim(
    ctx: &OutputContext<'_>,
    spec: &OutputSpec<'_>,
    mut source: BoxedIterator,
    tombstones: Vec<RangeTombstone>,
) -> Result<Vec<FileMetaData>> {
    let fragments = FragmentedTombstones::new(&tombstones, &ctx.comparator.user);
    drop(tombstones);
    // A cuckoo table has no room for several versions of a key.
    let format = match ctx.options.table_factory {
        TableFormat::Cuckoo(_) => TableFormat::BlockBased,
        format => format_for(
            format,
            fragments.iter(&ctx.comparator.user).next().is_some(),
        ),
    };
    let mut outputs = Outputs::new(
        ctx,
        spec,
        format,
        fragments.iter(&ctx.comparator.user).collect(),
    );
    outputs.copy_all(&mut source)?;
    Ok(outputs.keep().0)
}

/// The format of the tables of a job, if the column family's tables have `wanted`. Only block-based
/// ones can hold range tombstones. Where another format is wanted, `delete_range` is refused, but
/// logs and older tables may have some.
fn format_for(wanted: TableFormat, with_range_tombstones: bool) -> TableFormat {
    if with_range_tombstones {
        TableFormat::BlockBased
    } else {
        wanted
    }
}

/// The tables written so far and the one being written.
struct Outputs<'a> {
    ctx: &'a OutputContext<'a>,
    spec: &'a OutputSpec<'a>,
    format: TableFormat,
    tombstones: Splitter<'a>,
    overlap: Grandparents<'a>,
    open: Option<OpenOutput>,
    files: Vec<FileMetaData>,
    held: Held,
    /// The blobs that the written entries refer to.
    blobs: BlobFlow,
    /// Takes large values, if they go into blob files.
    blob_output: Option<BlobOutput<'a>>,
    /// The numbers of all files created that are not to be kept yet.
    created: Vec<u64>,
}

/// A table being written.
struct OpenOutput {
    number: u64,
    builder: TableBuilder,
    bounds: Bounds,
    deletions: DeletionWatch,
    /// The checksum of the file, if one is kept.
    digest: Option<Arc<Digest>>,
    /// The contents passed to the table, if they are to be compared with what is read back.
    content: Option<Content>,
    /// The oldest blob file that an entry refers to; 0 if there is none.
    oldest_blob_file: u64,
    /// The internal key added last.
    last_key: Vec<u8>,
}

impl<'a> Outputs<'a> {
    /// Tables that end by size only, and no blob files.
    fn new(
        ctx: &'a OutputContext<'a>,
        spec: &'a OutputSpec<'a>,
        format: TableFormat,
        tombstones: Vec<RangeTombstone>,
    ) -> Self {
        Outputs {
            ctx,
            spec,
            format,
            tombstones: Splitter::new(&ctx.comparator.user, tombstones),
            overlap: Grandparents::new(ctx.comparator, &[], u64::MAX),
            open: None,
            files: Vec::new(),
            held: Held::default(),
            blobs: BlobFlow::default(),
            blob_output: None,
            created: Vec::new(),
        }
    }
}

impl Outputs<'_> {
    fn write_all(&mut self, entries: &mut CompactionIter<'_>) -> Result<()> {
        entries.seek_to_first()?;
        while entries.valid() {
            self.add(entries.key(), entries.value())?;
            if entries.is_cached()
                && let Some(open) = &mut self.open
            {
                open.builder.note_cached();
            }
            entries.next()?;
        }
        // There may also be many range tombstones.
        if self.ctx.cancel.load(Relaxed) {
            return Err(cancelled());
        }
        if let Some(blobs) = &mut self.blob_output {
            blobs.end()?;
        }
        self.finish_table(None)
    }

    fn copy_all(&mut self, source: &mut BoxedIterator) -> Result<()> {
        // The entry is held back until it is known that no copy is preferred.
        let mut held: Option<(Vec<u8>, Vec<u8>)> = None;
        source.seek_to_first();
        while source.valid() {
            let (ikey, value) = (source.key(), source.value());
            match &mut held {
                Some((before, kept)) if self.is_copy(before, ikey) => {
                    let is_operand = key::tag(before) as u8 == ValueType::Merge as u8;
                    if is_operand && key::tag(ikey) != key::tag(before) {
                        (*before, *kept) = (ikey.to_vec(), value.to_vec());
                    }
                }
                _ => {
                    if let Some((ikey, value)) = held.take() {
                        self.add(&ikey, &value)?;
                    }
                    held = Some((ikey.to_vec(), value.to_vec()));
                }
            }
            source.next();
        }
        source.status()?;
        if let Some((ikey, value)) = held {
            self.add(&ikey, &value)?;
        }
        self.finish_table(None)
    }

    fn is_copy(&self, a: &[u8], b: &[u8]) -> bool {
        key::sequence(a) == key::sequence(b) && !self.differs(a, b)
    }

    /// Writes an entry, and its value into a blob file if it is for one.
    fn add(&mut self, ikey: &[u8], value: &[u8]) -> Result<()> {
        if let Some(blobs) = &mut self.blob_output
            && key::tag(ikey) as u8 == ValueType::Value as u8
            && let user_key = key::user_key(ikey)
            && let Some(index) = blobs.add(user_key, value)?
        {
            let ikey = internal_key(user_key, key::sequence(ikey), ValueType::BlobIndex);
            return self.add_to_table(&ikey, &index);
        }
        self.add_to_table(ikey, value)
    }

    fn add_to_table(&mut self, ikey: &[u8], mut value: &[u8]) -> Result<()> {
        let size = self.open.as_ref().map_or(0, |o| o.builder.file_size());
        let overlaps = self.overlap.end_before(ikey, size);
        if let Some(open) = &self.open
            && (size >= self.spec.max_file_size
                || overlaps
                || open.builder.index_size() >= self.spec.max_index_size)
            && self.may_split(&open.last_key, ikey)
        {
            self.finish_table(Some(key::user_key(ikey)))?;
        }
        if self.open.is_none() {
            self.open = Some(self.create_table()?);
        }
        // Used in place, because a builder is large.
        let Some(open) = &mut self.open else {
            unreachable!("opened above");
        };
        if let Some(content) = &mut open.content {
            content.add(ikey, value);
        }
        planted!(EntryChangesOnItsWay => value = &value[value.len().min(1)..]);
        open.builder.add(ikey, value)?;
        open.deletions.see(key::tag(ikey) as u8);
        let oldest_blob = self.blobs.see(ikey, value)?;
        if oldest_blob > 0 && (open.oldest_blob_file == 0 || oldest_blob < open.oldest_blob_file) {
            open.oldest_blob_file = oldest_blob;
        }
        if open.last_key.is_empty() {
            open.bounds.smallest = ikey.to_vec();
        }
        open.last_key.clear();
        open.last_key.extend_from_slice(ikey);
        open.bounds.see_sequence(key::sequence(ikey));
        Ok(())
    }

    /// Whether a table may end with the key `last`, when `next` is the next one: versions of a key
    /// stay together.
    fn may_split(&self, last: &[u8], next: &[u8]) -> bool {
        planted!(KeySplitBetweenTables => return true);
        self.differs(last, next)
    }

    fn differs(&self, a: &[u8], b: &[u8]) -> bool {
        let (a, b) = (key::user_key(a), key::user_key(b));
        self.ctx.comparator.user.compare_keys(a, b) != Ordering::Equal
    }

    // Long: one line for each option of the table.
    fn create_table(&mut self) -> Result<OpenOutput> {
        let ctx = self.ctx;
        self.overlap.restart();
        let number = ctx.versions.new_file_number();
        self.created.push(number);
        let Output { file, digest } = OutputFiles::of(ctx, self.spec).create_table(number)?;
        let options = TableBuilderOptions {
            format: self.format,
            table: ctx.options.table.clone(),
            comparator: ctx.comparator.clone(),
            compression: self.spec.compression.ty,
            compression_options: self.spec.compression.options,
            target_file_size: match self.spec.max_file_size {
                u64::MAX => 0,
                size => size,
            },
            column_family_id: ctx.cf_id,
            column_family_name: ctx.cf_name.to_owned(),
            merge_operator: (ctx.options.merge_operator.as_ref())
                .map_or_else(String::new, |m| m.name().to_owned()),
            prefix_extractor: (ctx.options.prefix_extractor.as_ref()).map(|p| p.shared()),
            bloom_locality: ctx.options.bloom_locality,
            level: if self.spec.flush {
                -1
            } else {
                self.spec.level as i32
            },
            skip_filters: ctx.options.optimize_filters_for_hits && self.spec.bottommost,
            creation_time: self.ancester_time(),
            oldest_key_time: 0,
            file_creation_time: self.ctx.now,
            db_id: ctx.db_id.to_owned(),
            session_id: ctx.session_id.to_owned(),
            file_number: number,
            external: false,
            events: crate::stats::table_events(ctx.db.statistics.as_ref()),
        };
        Ok(OpenOutput {
            number,
            builder: TableBuilder::new(options, file)?,
            bounds: Bounds::default(),
            deletions: DeletionWatch::new(&ctx.options.deletion_triggers),
            digest,
            content: ctx.options.paranoid_file_checks.then(Content::default),
            oldest_blob_file: 0,
            last_key: Vec::new(),
        })
    }

    /// The path of table `number`.
    fn path_of(&self, number: u64) -> PathBuf {
        filename::table(self.ctx.paths.dir(self.spec.path_id), number)
    }

    fn ancester_time(&self) -> u64 {
        match self.spec.oldest_ancester_time {
            0 => self.ctx.now,
            known => known,
        }
    }

    /// Ends the open table at the user key `cut` (at the end of the stream if `None`), and puts the
    /// range tombstones before that into it. At the end of the stream they may need a table of
    /// their own.
    fn finish_table(&mut self, cut: Option<&[u8]>) -> Result<()> {
        let tombstones = self.tombstones.take_before(cut);
        let mut open = match self.open.take() {
            Some(open) => open,
            None if tombstones.is_empty() => return Ok(()),
            None => self.create_table()?,
        };
        open.bounds.largest = std::mem::take(&mut open.last_key);
        for tombstone in &tombstones {
            if let Some(content) = &mut open.content {
                content.add_tombstone(tombstone);
            }
            open.builder.add_range_tombstone(tombstone)?;
            open.bounds.cover(self.ctx.comparator, tombstone);
        }
        let (properties, size) = open.builder.finish()?;
        if let Some(content) = open.content {
            let path = self.path_of(open.number);
            content.check(&**self.ctx.fs, &path, open.number, self.ctx.comparator)?;
        }
        self.held.entries += properties.num_entries - properties.num_range_deletions;
        self.held.raw_bytes += properties.raw_key_size + properties.raw_value_size;
        let mut meta = FileMetaData {
            number: open.number,
            path_id: self.spec.path_id,
            size,
            smallest: open.bounds.smallest,
            largest: open.bounds.largest,
            smallest_seqno: open.bounds.sequences.map_or(0, |(low, _)| low),
            largest_seqno: open.bounds.sequences.map_or(0, |(_, high)| high),
            need_compaction: open.deletions.needs_compaction(size),
            oldest_blob_file: open.oldest_blob_file,
            epoch_number: self.spec.epoch_number,
            oldest_ancester_time: self.ancester_time(),
            file_creation_time: self.ctx.now,
            tail_size: tail_size(&properties, size),
            has_no_range_tombstones: properties.num_range_deletions == 0,
            ..FileMetaData::default()
        };
        let sum = open.digest.map_or_else(Vec::new, |digest| digest.sum());
        file_checksum::note(sum, &mut meta);
        self.files.push(meta);
        self.check_allowed_space()
    }

    /// Fails a compaction that has brought the files to all the space that is allowed. What a flush
    /// writes is kept, and checked afterwards.
    fn check_allowed_space(&self) -> Result<()> {
        match &self.ctx.db.sst_file_manager {
            Some(manager) if !self.spec.flush => manager.check_allowed_space(),
            _ => Ok(()),
        }
    }

    /// Returns the finished tables and blob files, and keeps them.
    fn keep(mut self) -> (Vec<FileMetaData>, Vec<BlobFileMetaData>) {
        self.created.clear();
        let blobs = self.blob_output.take().map(BlobOutput::keep);
        (std::mem::take(&mut self.files), blobs.unwrap_or_default())
    }
}

impl Drop for Outputs<'_> {
    /// Removes what is not kept (upholds I3), also after panics of user code. A file that cannot be
    /// removed is found as an orphan at the next open.
    fn drop(&mut self) {
        self.open = None;
        for number in &self.created {
            let _ = self.ctx.fs.remove(&self.path_of(*number));
        }
    }
}

/// The number of bytes from the first block behind the data to the end of the table; 0 if the
/// table does not record it.
pub(crate) fn tail_size(properties: &TableProperties, size: u64) -> u64 {
    let start = properties.raw.get("rocksdb.tail.start.offset");
    let start = start.and_then(|v| get_varint64(&mut v.as_slice()));
    start.map_or(0, |start| size.saturating_sub(start))
}

/// What the manifest records of a table's contents.
#[derive(Default)]
pub(crate) struct Bounds {
    /// The smallest internal key; empty while there are no points and tombstones.
    smallest: Vec<u8>,
    largest: Vec<u8>,
    /// The smallest and the largest sequence number.
    sequences: Option<(SequenceNumber, SequenceNumber)>,
}

impl Bounds {
    fn see_sequence(&mut self, seq: SequenceNumber) {
        let (low, high) = self.sequences.unwrap_or((seq, seq));
        self.sequences = Some((low.min(seq), high.max(seq)));
    }

    /// Adds the next point of a table that is read from its beginning.
    pub fn see_point(&mut self, ikey: &[u8]) {
        if self.smallest.is_empty() {
            self.smallest = ikey.to_vec();
        }
        self.largest.clear();
        self.largest.extend_from_slice(ikey);
        self.see_sequence(key::sequence(ikey));
    }

    /// Stores the bounds in `meta`. Returns `false` if nothing was added.
    pub fn describe(self, meta: &mut FileMetaData) -> bool {
        let Some((low, high)) = self.sequences else {
            return false;
        };
        (meta.smallest, meta.largest) = (self.smallest, self.largest);
        (meta.smallest_seqno, meta.largest_seqno) = (low, high);
        true
    }

    /// Adds a range tombstone, after all points.
    pub fn cover(&mut self, comparator: &InternalComparator, t: &RangeTombstone) {
        let start = internal_key(&t.start, t.seq, ValueType::RangeDeletion);
        if self.smallest.is_empty() || comparator.compare(&start, &self.smallest).is_lt() {
            self.smallest = start;
        }
        let end = exclusive_end(&comparator.user, t);
        if self.largest.is_empty() || comparator.compare(&end, &self.largest).is_gt() {
            self.largest = end;
        }
        self.see_sequence(t.seq);
    }
}

/// The internal key that stands for the end of `t` in the bounds of a table: before all versions
/// of the user key, which the tombstone does not delete.
pub(crate) fn exclusive_end(comparator: &key::UserComparator, t: &RangeTombstone) -> Vec<u8> {
    let end = comparator.first_version(comparator.without_timestamp(&t.end));
    internal_key(&end, MAX_SEQUENCE, ValueType::RangeDeletion)
}

/// Returns range tombstones in key order, split where tables are cut.
struct Splitter<'a> {
    comparator: &'a key::UserComparator,
    /// The tombstones that were not looked at yet, by start key.
    rest: std::iter::Peekable<std::vec::IntoIter<RangeTombstone>>,
    /// The parts behind the last cut of tombstones that cross it.
    crossing: Vec<RangeTombstone>,
}

impl<'a> Splitter<'a> {
    fn new(comparator: &'a key::UserComparator, tombstones: Vec<RangeTombstone>) -> Self {
        Splitter {
            comparator,
            rest: tombstones.into_iter().peekable(),
            crossing: Vec::new(),
        }
    }

    /// Takes what lies before `cut` (everything if `None`) and was not taken yet.
    fn take_before(&mut self, cut: Option<&[u8]>) -> Vec<RangeTombstone> {
        let mut taken = std::mem::take(&mut self.crossing);
        let Some(cut) = cut else {
            taken.extend(self.rest.by_ref());
            return taken;
        };
        let before = |key: &[u8]| self.comparator.compare_keys(key, cut) == Ordering::Less;
        while let Some(t) = self.rest.next_if(|t| before(&t.start)) {
            taken.push(t);
        }
        for t in &mut taken {
            if self.comparator.compare_keys(&t.end, cut) != Ordering::Greater {
                continue;
            }
            let cut = self.comparator.with_timestamp_of(cut, &t.start);
            let rest = RangeTombstone {
                start: cut.clone(),
                end: std::mem::replace(&mut t.end, cut),
                seq: t.seq,
            };
            planted!(RangeTombstoneCutShort => continue);
            self.crossing.push(rest);
        }
        taken
    }
}
