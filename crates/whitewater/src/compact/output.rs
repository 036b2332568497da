//! Writes a merged stream into tables.
//!
//! The drop rules are [`super::merge_rules`]'s; this module decides where one
//! table ends and the next begins, and what the manifest says of each.
//!
//! Invariants:
//! * I1: a cut falls between two user keys, never inside one.
//! * I2: range tombstones are split at cuts: a table that ends at the cut `k`
//!   has the exclusive end `(k, max sequence, RangeDeletion)`, which sorts
//!   before everything of `k`, so consecutive tables do not overlap.
//! * I3: on an error no file is left behind.

use super::merge_rules::{CompactionIter, Rules};
use crate::options::CfOptions;
use crate::read::rangedel::FragmentedTombstones;
use crate::version::set::VersionSet;
use std::cmp::Ordering;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{SystemTime, UNIX_EPOCH};
use whitewater_storage::coding::get_varint64;
use whitewater_storage::fs::{BufferedWriter, Fs};
use whitewater_storage::iter::BoxedIterator;
use whitewater_storage::key::{
    self, InternalComparator, MAX_SEQUENCE, SequenceNumber, ValueType, internal_key,
};
use whitewater_storage::manifest::FileMetaData;
use whitewater_storage::rangedel::RangeTombstone;
use whitewater_storage::sst::{TableBuilder, TableBuilderOptions, TableProperties};
use whitewater_storage::{Error, ErrorKind, Result, filename};

/// Bytes collected before they are handed to the file system.
const WRITE_BUFFER: usize = 1 << 20;

/// Entries between two looks at `OutputContext::cancel`.
const CANCEL_INTERVAL: u64 = 1024;

/// What every table writer of a database shares.
pub(crate) struct OutputContext<'a> {
    pub fs: &'a Arc<dyn Fs>,
    pub dir: &'a Path,
    pub versions: &'a VersionSet,
    pub options: &'a CfOptions,
    pub comparator: &'a InternalComparator,
    pub cf_id: u32,
    pub cf_name: &'a str,
    pub db_id: &'a str,
    pub session_id: &'a str,
    /// Live snapshots, ascending.
    pub snapshots: &'a [SequenceNumber],
    /// Set when the database is closing: the job stops with `ShutdownInProgress`.
    pub cancel: &'a AtomicBool,
}

/// Where the tables go and what may be dropped on the way.
pub(crate) struct OutputSpec {
    pub level: usize,
    /// Nothing older exists below: tombstones can go, sequence numbers become 0
    /// where no snapshot needs them.
    pub bottommost: bool,
    /// Start a new table at about this many bytes; `u64::MAX` writes one.
    pub max_file_size: u64,
    /// Epoch number of the outputs.
    pub epoch_number: u64,
    /// Unix seconds of the oldest ancestor; 0 is now.
    pub oldest_ancester_time: u64,
}

/// What was written.
#[derive(Debug, Default)]
pub(crate) struct Written {
    /// The tables, in key order.
    pub files: Vec<FileMetaData>,
    /// Entries read from the source.
    pub input_entries: u64,
}

/// Merges `source` and `tombstones` into new tables, applying the drop rules.
/// On error every file it created is removed. The tables are synced; the
/// directory is not.
///
/// # Errors
/// Those of the source, the file system and the merge operator;
/// `ShutdownInProgress` when the job was cancelled.
pub(crate) fn write_tables(
    ctx: &OutputContext<'_>,
    spec: &OutputSpec,
    source: BoxedIterator,
    tombstones: Vec<RangeTombstone>,
    key_not_below: &dyn Fn(&[u8]) -> bool,
) -> Result<Vec<FileMetaData>> {
    write_and_count(ctx, spec, source, tombstones, key_not_below).map(|written| written.files)
}

/// [`write_tables`], telling also how much was read.
pub(crate) fn write_and_count(
    ctx: &OutputContext<'_>,
    spec: &OutputSpec,
    source: BoxedIterator,
    tombstones: Vec<RangeTombstone>,
    key_not_below: &dyn Fn(&[u8]) -> bool,
) -> Result<Written> {
    let fragments = FragmentedTombstones::new(&tombstones, &ctx.comparator.user);
    drop(tombstones);
    let rules = Rules {
        comparator: ctx.comparator,
        snapshots: ctx.snapshots,
        tombstones: &fragments,
        merge_operator: ctx.options.merge_operator.as_deref(),
        bottommost: spec.bottommost,
        key_not_below,
    };
    let tombstones = Splitter::new(&ctx.comparator.user, rules.kept_tombstones());
    let mut outputs = Outputs {
        ctx,
        spec,
        tombstones,
        open: None,
        files: Vec::new(),
        created: Vec::new(),
        now: unix_seconds(),
    };
    let mut entries = CompactionIter::new(rules, source);
    match outputs.write_all(&mut entries) {
        Ok(()) => Ok(Written {
            files: outputs.files,
            input_entries: entries.consumed(),
        }),
        Err(e) => {
            outputs.remove_created();
            Err(e)
        }
    }
}

/// The tables written so far and the one being written.
struct Outputs<'a> {
    ctx: &'a OutputContext<'a>,
    spec: &'a OutputSpec,
    tombstones: Splitter<'a>,
    open: Option<OpenOutput>,
    files: Vec<FileMetaData>,
    /// Numbers of all files created.
    created: Vec<u64>,
    /// Unix seconds at the start of the job.
    now: u64,
}

/// A table being written.
struct OpenOutput {
    number: u64,
    builder: TableBuilder,
    bounds: Bounds,
    /// The internal key added last.
    last_key: Vec<u8>,
}

impl Outputs<'_> {
    fn write_all(&mut self, entries: &mut CompactionIter<'_>) -> Result<()> {
        let mut until_check = 0;
        entries.seek_to_first()?;
        while entries.valid() {
            if until_check == 0 {
                self.check_cancelled()?;
                until_check = CANCEL_INTERVAL;
            }
            until_check -= 1;
            self.add(entries.key(), entries.value())?;
            entries.next()?;
        }
        self.check_cancelled()?;
        self.finish_table(None)
    }

    fn check_cancelled(&self) -> Result<()> {
        // Relaxed: nothing is read because of it.
        match self.ctx.cancel.load(Relaxed) {
            true => Err(Error::new(
                ErrorKind::ShutdownInProgress,
                "the job was cancelled",
            )),
            false => Ok(()),
        }
    }

    fn add(&mut self, ikey: &[u8], value: &[u8]) -> Result<()> {
        if let Some(open) = &self.open
            && open.builder.file_size() >= self.spec.max_file_size
            && self.differs(&open.last_key, ikey)
        {
            self.finish_table(Some(key::user_key(ikey)))?;
        }
        if self.open.is_none() {
            self.open = Some(self.create_table()?);
        }
        // In its place: a builder is large.
        let Some(open) = &mut self.open else {
            unreachable!("opened above");
        };
        open.builder.add(ikey, value)?;
        if open.last_key.is_empty() {
            open.bounds.smallest = ikey.to_vec();
        }
        open.last_key.clear();
        open.last_key.extend_from_slice(ikey);
        open.bounds.see_sequence(key::sequence(ikey));
        Ok(())
    }

    fn differs(&self, a: &[u8], b: &[u8]) -> bool {
        let (a, b) = (key::user_key(a), key::user_key(b));
        self.ctx.comparator.compare_user(a, b) != Ordering::Equal
    }

    fn create_table(&mut self) -> Result<OpenOutput> {
        let ctx = self.ctx;
        let number = ctx.versions.new_file_number();
        self.created.push(number);
        let file = ctx.fs.create(&filename::table(ctx.dir, number))?;
        let file = Box::new(BufferedWriter::new(file, WRITE_BUFFER));
        let options = TableBuilderOptions {
            table: ctx.options.table.clone(),
            comparator: ctx.comparator.clone(),
            compression: ctx
                .options
                .compression_for(self.spec.level, self.spec.bottommost),
            compression_level: ctx.options.compression_level,
            column_family_id: ctx.cf_id,
            column_family_name: ctx.cf_name.to_owned(),
            merge_operator: (ctx.options.merge_operator.as_ref())
                .map_or_else(String::new, |m| m.name().to_owned()),
            prefix_extractor: (ctx.options.prefix_extractor.as_ref())
                .map_or_else(String::new, |p| p.name()),
            creation_time: self.ancester_time(),
            oldest_key_time: 0,
            file_creation_time: self.now,
            db_id: ctx.db_id.to_owned(),
            session_id: ctx.session_id.to_owned(),
            file_number: number,
        };
        Ok(OpenOutput {
            number,
            builder: TableBuilder::new(options, file)?,
            bounds: Bounds::default(),
            last_key: Vec::new(),
        })
    }

    fn ancester_time(&self) -> u64 {
        match self.spec.oldest_ancester_time {
            0 => self.now,
            known => known,
        }
    }

    /// Ends the open table at the user key `cut` (at the end of the stream
    /// without one) and puts into it the range tombstones before that. At the
    /// end of the stream they may need a table of their own.
    fn finish_table(&mut self, cut: Option<&[u8]>) -> Result<()> {
        let tombstones = self.tombstones.take_before(cut);
        let mut open = match self.open.take() {
            Some(open) => open,
            None if tombstones.is_empty() => return Ok(()),
            None => self.create_table()?,
        };
        open.bounds.largest = std::mem::take(&mut open.last_key);
        for tombstone in &tombstones {
            open.builder.add_range_tombstone(tombstone)?;
            open.bounds.cover(self.ctx.comparator, tombstone);
        }
        let (properties, size) = open.builder.finish()?;
        self.files.push(FileMetaData {
            number: open.number,
            size,
            smallest: open.bounds.smallest,
            largest: open.bounds.largest,
            smallest_seqno: open.bounds.sequences.map_or(0, |(low, _)| low),
            largest_seqno: open.bounds.sequences.map_or(0, |(_, high)| high),
            epoch_number: self.spec.epoch_number,
            oldest_ancester_time: self.ancester_time(),
            file_creation_time: self.now,
            tail_size: tail_size(&properties, size),
            ..FileMetaData::default()
        });
        Ok(())
    }

    /// Removes all files created (upholds I3). One that cannot be removed is
    /// found as an orphan at the next open.
    fn remove_created(&mut self) {
        self.open = None;
        for number in &self.created {
            let _ = self.ctx.fs.remove(&filename::table(self.ctx.dir, *number));
        }
    }
}

/// Bytes from the first block behind the data to the end of the table; 0 when
/// the table does not say.
fn tail_size(properties: &TableProperties, size: u64) -> u64 {
    let start = properties.raw.get("rocksdb.tail.start.offset");
    let start = start.and_then(|v| get_varint64(&mut v.as_slice()));
    start.map_or(0, |start| size.saturating_sub(start))
}

fn unix_seconds() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

/// What the manifest says of a table's content.
#[derive(Default)]
struct Bounds {
    /// Empty while there are no points and tombstones.
    smallest: Vec<u8>,
    largest: Vec<u8>,
    /// Smallest and largest sequence number.
    sequences: Option<(SequenceNumber, SequenceNumber)>,
}

impl Bounds {
    fn see_sequence(&mut self, seq: SequenceNumber) {
        let (low, high) = self.sequences.unwrap_or((seq, seq));
        self.sequences = Some((low.min(seq), high.max(seq)));
    }

    fn cover(&mut self, comparator: &InternalComparator, t: &RangeTombstone) {
        let start = internal_key(&t.start, t.seq, ValueType::RangeDeletion);
        if self.smallest.is_empty() || comparator.compare(&start, &self.smallest).is_lt() {
            self.smallest = start;
        }
        let end = internal_key(&t.end, MAX_SEQUENCE, ValueType::RangeDeletion);
        if self.largest.is_empty() || comparator.compare(&end, &self.largest).is_gt() {
            self.largest = end;
        }
        self.see_sequence(t.seq);
    }
}

/// Gives out range tombstones in key order, split where tables are cut.
struct Splitter<'a> {
    comparator: &'a key::UserComparator,
    /// By start key; those that were not looked at yet.
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

    /// What lies before `cut` (everything without one) and was not given yet.
    fn take_before(&mut self, cut: Option<&[u8]>) -> Vec<RangeTombstone> {
        let mut taken = std::mem::take(&mut self.crossing);
        let Some(cut) = cut else {
            taken.extend(self.rest.by_ref());
            return taken;
        };
        let before = |key: &[u8]| self.comparator.compare(key, cut) == Ordering::Less;
        while let Some(t) = self.rest.next_if(|t| before(&t.start)) {
            taken.push(t);
        }
        for t in &mut taken {
            if self.comparator.compare(&t.end, cut) != Ordering::Greater {
                continue;
            }
            self.crossing.push(RangeTombstone {
                start: cut.to_vec(),
                end: std::mem::replace(&mut t.end, cut.to_vec()),
                seq: t.seq,
            });
        }
        taken
    }
}
