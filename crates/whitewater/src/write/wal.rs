//! The write-ahead log of a database: the file being written, older files
//! that still matter, and recycling.
//!
//! Writers put their records into the current [`Segment`] side by side, each
//! at the place that its generation gave it; nothing here is in their way.
//!
//! Invariants:
//! * L1: `closed` holds, oldest first, logs that were switched out and whose
//!   records were not all synced yet; a synced write syncs them before the
//!   current one (upholds C4).
//! * L2: a log file is deleted or recycled only below the number the manifest
//!   says is needed.
//! * L3: the first record of a log that follows another one is a [`Link`] to
//!   it. Logs are not synced when they are switched out, so a power cut may
//!   lose the tail of one and keep the next; recovery sees the hole by the link.
//! * L4: a log is extended and closed under `extending`, and not extended after
//!   it was closed: a writer that is late to look after it touches nothing.

use super::generation::End;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use whitewater_concurrent::system::Mutex;
use whitewater_storage::Result;
use whitewater_storage::batch::{self, Batch, HEADER_SIZE, Op};
use whitewater_storage::filename;
use whitewater_storage::fs::window::WindowFile;
use whitewater_storage::fs::{Fs, SharedOptions};
use whitewater_storage::key::SequenceNumber;
use whitewater_storage::planted::{Bug, planted};
use whitewater_storage::wal::{CompressedRecord, Segment};

/// What a log says about the log before it: a batch without operations whose
/// log data is this. Other engines skip it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Link {
    /// Number of the log before.
    pub log_number: u64,
    /// Where its last record ends, or 0 if that log failed: then nothing is
    /// promised of it. Bytes.
    pub size: u64,
}

impl Link {
    const MARK: &[u8] = b"whitewater.log.before";

    /// The log record, between the numbers `last` and the next one.
    fn encode(self, last: SequenceNumber) -> Vec<u8> {
        let mut data = Self::MARK.to_vec();
        data.extend_from_slice(&self.log_number.to_le_bytes());
        data.extend_from_slice(&self.size.to_le_bytes());
        let mut batch = Batch::default();
        batch.push_log_data(&data);
        let mut record = batch.bytes().to_vec();
        record[..8].copy_from_slice(&(last + 1).to_le_bytes());
        record
    }

    /// The link in a log record that was checked, if it is one.
    pub fn decode(record: &[u8]) -> Option<Link> {
        if batch::count(record) != 0 {
            return None;
        }
        let Some(Ok(Op::LogData(data))) = batch::ops(record).next() else {
            return None;
        };
        let numbers = data.strip_prefix(Self::MARK)?;
        let number = |at: usize| Some(u64::from_le_bytes(*numbers.get(at..)?.first_chunk()?));
        Some(Link {
            log_number: number(0)?,
            size: number(8)?,
        })
    }
}

/// How logs are written.
#[derive(Debug, Clone)]
pub(crate) struct WalOptions {
    /// Obsolete logs kept for reuse.
    pub recycle_limit: usize,
    /// Expected size of a log. Bytes.
    pub expected: u64,
    pub shared: SharedOptions,
    /// Keep records in memory until [`Wal::flush`] or a sync.
    pub manual_flush: bool,
    /// Bytes after which the system is asked to write a log back; 0 is never.
    pub bytes_per_sync: u64,
    /// Records are [`CompressedRecord`].
    pub compressed: bool,
}

/// A log begins with that much room, and is doubled from there: how it is best
/// made ready shows by then.
const FIRST_STEP: u64 = 256 << 10;

/// When syncs are less than this many bytes apart, the space for the log is
/// initialized, which makes each of them cheaper.
const INITIALIZED_PER_SYNC: u64 = 64 << 10;

impl WalOptions {
    /// Bytes by which a log is extended at most.
    fn step(&self) -> u64 {
        (self.expected / 16).clamp(64 << 10, 4 << 20)
    }

    /// Bytes by which a log is extended that has `ready`.
    fn step_from(&self, ready: u64) -> u64 {
        ready.max(FIRST_STEP).min(self.step())
    }
}

/// The logs of an open database.
///
/// Lock order: `extending` before `logs`. No lock is held during a sync, but
/// `extending` while an extension is initialized.
#[derive(Debug)]
pub(crate) struct Wal {
    fs: Arc<dyn Fs>,
    dir: PathBuf,
    options: WalOptions,
    logs: Mutex<Logs>,
    /// Held by whoever extends the current log.
    extending: Mutex<()>,
    /// Bytes of the logs in `Logs::older`.
    /// Written by: under the lock. Read by: writers that keep to a limit
    /// (relaxed). Publishes nothing.
    older_bytes: AtomicU64,
    /// Bytes of all logs that were switched out, recycled and deleted ones
    /// included. A statistic.
    ended_bytes: AtomicU64,
    /// Syncs since the current log was last extended.
    /// Written by: whoever syncs, and whoever extends (relaxed). Read by: the
    /// latter. Publishes nothing.
    syncs: AtomicU64,
    /// Whether logs are initialized at present.
    /// Written by: whoever extends, under `extending` (relaxed). Read by:
    /// whoever creates a log. Publishes nothing.
    initializes: AtomicBool,
    /// Bytes after which the system is asked to write a log back; 0 is never.
    /// Written by: changes of options. Read by: writers. Publishes nothing:
    /// relaxed.
    bytes_per_sync: AtomicU64,
}

#[derive(Debug)]
struct Logs {
    current: Option<Arc<Segment>>,
    /// The first log since the database was opened, and the last number before
    /// it.
    first: Option<(u64, SequenceNumber)>,
    /// Whether the current log's directory entry is durable.
    dir_synced: bool,
    /// L1.
    closed: Vec<Closed>,
    /// Number and size of logs older than the current one, oldest first.
    older: VecDeque<(u64, u64)>,
    /// Obsolete logs kept for reuse.
    recyclable: VecDeque<u64>,
}

/// A log that was switched out.
#[derive(Debug, Clone)]
struct Closed {
    log: Arc<Segment>,
    /// Where it ended.
    end: End,
}

/// A log that is durable to its end: number and size in bytes.
pub(crate) type Synced = (u64, u64);

impl Wal {
    /// No log yet.
    pub fn new(fs: Arc<dyn Fs>, dir: PathBuf, options: WalOptions) -> Self {
        Wal {
            fs,
            dir,
            logs: Mutex::new(Logs {
                current: None,
                first: None,
                dir_synced: false,
                closed: Vec::new(),
                older: VecDeque::new(),
                recyclable: VecDeque::new(),
            }),
            extending: Mutex::new(()),
            older_bytes: AtomicU64::new(0),
            ended_bytes: AtomicU64::new(0),
            syncs: AtomicU64::new(0),
            initializes: AtomicBool::new(options.shared.initialize),
            bytes_per_sync: AtomicU64::new(options.bytes_per_sync),
            options,
        }
    }

    /// Changes [`WalOptions::bytes_per_sync`].
    pub fn set_bytes_per_sync(&self, bytes: u64) {
        self.bytes_per_sync.store(bytes, Ordering::Relaxed);
    }

    /// The first log since the database was opened, and the last number before
    /// it. Others begin with a [`Link`].
    pub fn first(&self) -> Option<(u64, SequenceNumber)> {
        self.logs.lock().first
    }

    /// Where the logs are.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Bytes of the logs before the current one that may be needed for
    /// recovery.
    pub fn older_bytes(&self) -> u64 {
        self.older_bytes.load(Ordering::Relaxed)
    }

    /// Bytes of all logs before the current one since the database was opened.
    pub fn ended_bytes(&self) -> u64 {
        self.ended_bytes.load(Ordering::Relaxed)
    }

    /// Creates log `number`, with room for the first records. Nobody writes to
    /// it before it is [installed](Wal::install).
    ///
    /// # Errors
    /// A full disk, for one. Then no file is left, neither the log's nor the
    /// one that was to be reused: what state that is in is not known.
    pub fn create(&self, number: u64) -> Result<Arc<Segment>> {
        let path = filename::wal(&self.dir, number);
        let old = self.logs.lock().recyclable.pop_front();
        let old = old.map(|old| filename::wal(&self.dir, old));
        let made = self.make(number, &path, old.as_deref());
        made.inspect_err(|_| {
            for leftover in [Some(path), old].into_iter().flatten() {
                // One that stays is not needed, which the next open finds out.
                let _ = self.fs.remove(&leftover);
            }
        })
    }

    fn make(&self, number: u64, path: &Path, old: Option<&Path>) -> Result<Arc<Segment>> {
        let mut file = self.fs.open_shared(path, old, self.options.shared)?;
        if self.options.manual_flush || planted(Bug::AckBeforeLog) {
            file = Box::new(WindowFile::new(file, path.to_path_buf()));
        }
        let mut log = Segment::new(file, number, self.options.recycle_limit > 0);
        if self.options.compressed {
            log = log.compressed();
        }
        log.initialize(self.initializes.load(Ordering::Relaxed));
        log.extend(self.options.step_from(0))?;
        Ok(Arc::new(log))
    }

    /// Makes `log` the current one, with a link to the one before, in which
    /// numbers up to `end.last` were handed out; returns where its first write
    /// begins. Places in it may be handed out afterwards.
    pub fn install(&self, log: &Arc<Segment>, end: End) -> Result<u64> {
        let mut logs = self.logs.lock();
        let before = logs.current.replace(log.clone());
        logs.dir_synced = false;
        let Some(before) = before else {
            logs.first = Some((log.log_number(), end.last));
            drop(logs);
            return self.begin(log, None, end.last);
        };
        let link = Link {
            log_number: before.log_number(),
            size: end.offset,
        };
        logs.older.push_back((before.log_number(), end.offset));
        self.older_bytes.fetch_add(end.offset, Ordering::Relaxed);
        self.ended_bytes.fetch_add(end.offset, Ordering::Relaxed);
        logs.closed.push(Closed { log: before, end }); // upholds L1
        drop(logs);
        self.begin(log, Some(link), end.last)
    }

    /// Number and size of the logs before the current one, oldest first.
    pub fn older(&self) -> Vec<(u64, u64)> {
        self.logs.lock().older.iter().copied().collect()
    }

    /// Begins `log`, which is to follow a current one that failed: nothing
    /// behind the number `last` is part of the database. Returns where the first
    /// write begins. [`Wal::restart`] comes next, or a crash, after which both
    /// logs may be there.
    pub fn begin_anew(&self, log: &Segment, last: SequenceNumber) -> Result<u64> {
        let current = self.logs.lock().current.clone();
        let link = current.map(|before| Link {
            log_number: before.log_number(),
            size: 0,
        });
        self.begin(log, link, last)
    }

    /// Writes what a log begins with; nobody has a place in it. Upholds L3, if
    /// `link` leads to the log before, whose last number is `last`. Returns
    /// where the first write begins.
    fn begin(&self, log: &Segment, link: Option<Link>, last: SequenceNumber) -> Result<u64> {
        let start = match self.options.compressed {
            true => log.begin_compressed()?,
            false => 0,
        };
        let Some(link) = link else {
            return Ok(start);
        };
        let record = link.encode(last);
        let len = match self.compress(&[&record[HEADER_SIZE..]])? {
            Some(compressed) => {
                let header = record.first_chunk().unwrap_or(&[0; HEADER_SIZE]);
                log.put(start, &compressed.with_header(header))?;
                compressed.len()
            }
            None => {
                log.put(start, &[&record])?;
                record.len()
            }
        };
        Ok(log.end_of_record(start, len))
    }

    /// Whether records are compressed.
    #[inline]
    pub fn compresses(&self) -> bool {
        self.options.compressed
    }

    /// Compresses a record, the concatenation of `parts` behind a header, if
    /// records are to be compressed.
    #[inline]
    pub fn compress(&self, parts: &[&[u8]]) -> Result<Option<CompressedRecord>> {
        if !self.options.compressed {
            return Ok(None);
        }
        match parts {
            [one] => CompressedRecord::new(one),
            many => CompressedRecord::new(&many.concat()),
        }
        .map(Some)
    }

    /// Makes `log` the current one, which was [begun anew](Wal::begin_anew): what
    /// the logs before held is elsewhere, and the manifest says so. Returns their files, to be
    /// deleted; none is used again, for a write or sync of it may have failed.
    #[must_use]
    pub fn restart(&self, log: &Arc<Segment>) -> Vec<PathBuf> {
        let mut logs = self.logs.lock();
        let older = logs.older.drain(..).map(|(number, _)| number);
        let mut numbers: Vec<u64> = older.collect();
        numbers.extend(logs.current.replace(log.clone()).map(|l| l.log_number()));
        logs.dir_synced = false;
        logs.closed.clear();
        self.older_bytes.store(0, Ordering::Relaxed);
        let path = |number| filename::wal(&self.dir, number);
        numbers.into_iter().map(path).collect()
    }

    /// Deletes a log that was [created](Wal::create) and not used.
    pub fn discard(&self, log: &Segment) {
        // A leftover is empty, which recovery does not mind.
        let _ = self.fs.remove(&filename::wal(&self.dir, log.log_number()));
    }

    /// Extends `log`, if it is not there yet, to `upto` and a good way beyond.
    /// A closed log stays what it is: nobody gets a place in it, and its file
    /// may be another log's by now.
    ///
    /// # Errors
    /// A full disk, for one. The log is what it was, and the next writer tries
    /// again.
    pub fn extend_to(&self, log: &Segment, upto: u64) -> Result<()> {
        let _one_at_a_time = self.extending.lock(); // upholds L4
        if upto <= log.allocated() || log.is_closed() {
            return Ok(());
        }
        let ready = log.ready().max(upto);
        self.extend(log, upto + self.options.step_from(ready))
    }

    /// Looks after `log`, in which a write has ended at `end`. Extends it ahead
    /// of need, by one writer, if that is near the end of what is ready; returns
    /// whether it was this one. A failure is left to whoever will need the room.
    /// Asks the system to write it back, if that is due.
    #[inline]
    pub fn extend_ahead(&self, log: &Segment, end: u64) -> bool {
        let bytes_per_sync = self.bytes_per_sync.load(Ordering::Relaxed);
        if bytes_per_sync > 0 {
            log.write_back(end, bytes_per_sync);
        }
        self.is_near_end(log, end) && self.extend_step_ahead(log, end)
    }

    #[inline]
    fn is_near_end(&self, log: &Segment, end: u64) -> bool {
        let ready = log.ready();
        // Half of the last step is left, or less.
        end + self.options.step_from(ready / 2) / 2 > ready
    }

    #[cold]
    fn extend_step_ahead(&self, log: &Segment, end: u64) -> bool {
        let Some(_one_at_a_time) = self.extending.try_lock() else {
            return false;
        };
        let ready = log.ready();
        self.is_near_end(log, end)
            && self
                .extend(log, ready + self.options.step_from(ready))
                .is_ok()
    }

    /// Extends `log` to `len`. Under `extending`.
    fn extend(&self, log: &Segment, len: u64) -> Result<()> {
        let apart = self.options.step_from(log.ready() / 2);
        let syncs = self.syncs.swap(0, Ordering::Relaxed);
        let initialize = syncs.saturating_mul(INITIALIZED_PER_SYNC) >= apart;
        self.initializes.store(initialize, Ordering::Relaxed);
        log.initialize(initialize);
        log.extend(len)
    }

    /// Closes a log that was switched out and that ends at `len`, without
    /// syncing it. Writes to places in it may be under way.
    pub fn trim(&self, log: &Segment, len: u64) -> Result<()> {
        let _not_extended_meanwhile = self.extending.lock(); // upholds L4
        log.close(len)
    }

    /// Hands records that are kept in memory to the operating system, oldest
    /// log first: all that have none before them that is still being written.
    pub fn flush(&self) -> Result<()> {
        let (closed, current) = {
            let logs = self.logs.lock();
            (logs.closed.clone(), logs.current.clone())
        };
        for one in &closed {
            one.log.flush()?;
        }
        current.map_or(Ok(()), |log| log.flush())
    }

    /// Makes everything durable that is in the logs, oldest log first. All
    /// records up to the number `upto` are. Returns the logs that are durable to
    /// their end now and were not before.
    pub fn sync(&self, upto: SequenceNumber) -> Result<Vec<Synced>> {
        let (current, dir_synced) = {
            let logs = self.logs.lock();
            (logs.current.clone(), logs.dir_synced)
        };
        let synced = match planted(Bug::OlderLogsNotSynced) {
            false => self.sync_closed(upto)?, // first, by L1
            true => Vec::new(),
        };
        let Some(current) = current else {
            return Ok(synced);
        };
        if !dir_synced {
            self.sync_names()?;
            let mut logs = self.logs.lock();
            // It may not be the current one any more.
            let same = |now: &Arc<Segment>| Arc::ptr_eq(now, &current);
            logs.dir_synced |= logs.current.as_ref().is_some_and(same);
        }
        if !planted(Bug::SyncSkipped) {
            current.sync()?;
        }
        self.syncs.fetch_add(1, Ordering::Relaxed);
        Ok(synced)
    }

    /// Makes the logs before the current one durable, in which all records up
    /// to the number `upto` are. A flush of one column family calls this first
    /// when there are others, or a power cut could keep the flushed family's
    /// later writes and lose the others' earlier ones. Returns the logs that are
    /// durable to their end now.
    pub fn sync_closed(&self, upto: SequenceNumber) -> Result<Vec<Synced>> {
        let closed = self.logs.lock().closed.clone();
        if closed.is_empty() {
            return Ok(Vec::new());
        }
        self.sync_names()?;
        for one in &closed {
            one.log.sync()?;
        }
        // One that still gets records has to be synced again for them (L1).
        let whole = |one: &Closed| {
            one.end.last <= upto && closed.iter().any(|c| Arc::ptr_eq(&c.log, &one.log))
        };
        let mut logs = self.logs.lock();
        let done = logs.closed.iter().filter(|one| whole(one));
        let synced = done.map(|one| (one.log.log_number(), one.end.offset));
        let synced = synced.collect();
        logs.closed.retain(|one| !whole(one));
        Ok(synced)
    }

    /// Makes the names of all logs durable. After that has failed, to whomever
    /// syncs the directory, nobody succeeds (C4): upheld by
    /// [`NamesFs`](whitewater_storage::fs::names::NamesFs).
    fn sync_names(&self) -> Result<()> {
        if planted(Bug::LogNameNotSynced) {
            return Ok(());
        }
        self.fs.sync_dir(&self.dir)
    }

    /// Forgets logs below `min_needed`, keeping some for reuse; returns the
    /// numbers of the others, to be deleted. Upholds L2 if the number is from the manifest, and
    /// nobody writes to them: what they held was flushed.
    #[must_use]
    pub fn forget_below(&self, min_needed: u64) -> Vec<u64> {
        let mut logs = self.logs.lock();
        logs.closed.retain(|one| one.log.log_number() >= min_needed);
        let mut obsolete = Vec::new();
        while let Some(&(number, size)) = logs.older.front()
            && number < min_needed
        {
            logs.older.pop_front();
            self.older_bytes.fetch_sub(size, Ordering::Relaxed);
            if logs.recyclable.len() < self.options.recycle_limit {
                logs.recyclable.push_back(number);
            } else {
                obsolete.push(number);
            }
        }
        obsolete
    }

    /// Closes the current log, which ends at `len`, without syncing it. No
    /// write is under way.
    pub fn close(&self, len: u64) -> Result<()> {
        let current = {
            let mut logs = self.logs.lock();
            logs.closed.clear();
            logs.current.take()
        };
        match current {
            Some(log) => self.trim(&log, len),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use whitewater_storage::fs::fault::{Fault, FaultFs, FaultOp, OpSet, Rule};
    use whitewater_storage::fs::mem::MemFs;

    const STEP: u64 = 64 << 10;

    fn wal(fs: &MemFs, compressed: bool) -> Wal {
        wal_on(Arc::new(fs.clone()), compressed)
    }

    fn wal_on(fs: Arc<dyn Fs>, compressed: bool) -> Wal {
        let options = WalOptions {
            recycle_limit: 1,
            expected: 16 * STEP,
            shared: SharedOptions::default(),
            manual_flush: false,
            bytes_per_sync: 0,
            compressed,
        };
        Wal::new(fs, PathBuf::from("/"), options)
    }

    /// Starts log `number`, where `last` is the last number before it and the
    /// log before ends at `offset`.
    fn next(wal: &Wal, number: u64, last: SequenceNumber, offset: u64) -> (Arc<Segment>, u64) {
        let log = wal.create(number).unwrap();
        let start = wal.install(&log, End { last, offset }).unwrap();
        (log, start)
    }

    #[test]
    fn a_recycled_log_is_made_ready_step_by_step() {
        let fs = MemFs::new();
        let wal = wal(&fs, false);
        let (old, _) = next(&wal, 1, 0, 0);
        wal.extend_to(&old, 9 * STEP).unwrap();
        next(&wal, 2, 5, 9 * STEP);
        wal.trim(&old, 9 * STEP).unwrap();
        assert_eq!(wal.forget_below(2), [0; 0], "kept for reuse");
        let (log, _) = next(&wal, 3, 5, 50);
        assert_eq!(log.allocated(), 9 * STEP, "the old file");
        assert_eq!(log.ready(), STEP);
        // Not yet, and then once.
        assert!(!wal.extend_ahead(&log, STEP / 2));
        assert!(wal.extend_ahead(&log, STEP / 2 + 1));
        assert_eq!(log.ready(), 2 * STEP);
        assert!(!wal.extend_ahead(&log, STEP / 2 + 1));
        // Beyond what the old file had.
        wal.extend_to(&log, 9 * STEP + 1).unwrap();
        assert_eq!(log.allocated(), log.ready());
        assert!(log.ready() > 9 * STEP);
    }

    #[test]
    fn a_closed_log_is_not_extended_by_a_late_writer() {
        let fs = MemFs::new();
        let wal = wal(&fs, false);
        let (old, _) = next(&wal, 1, 0, 0);
        next(&wal, 2, 5, 1_000);
        wal.trim(&old, 1_000).unwrap();
        let size = || fs.file_size(Path::new("/000001.log")).unwrap();
        assert_eq!(size(), 1_000);
        assert!(!wal.extend_ahead(&old, 1_000));
        wal.extend_to(&old, 5_000).unwrap();
        assert_eq!(size(), 1_000);
    }

    #[test]
    fn logs_that_were_synced_to_their_end_are_told_once() {
        let fs = MemFs::new();
        let wal = wal(&fs, false);
        next(&wal, 1, 0, 0);
        next(&wal, 2, 5, 100);
        next(&wal, 3, 9, 200);
        assert_eq!(wal.first(), Some((1, 0)));
        assert_eq!(wal.sync(6).unwrap(), [(1, 100)], "9 may still come");
        assert_eq!(wal.sync_closed(6).unwrap(), []);
        assert_eq!(wal.sync_closed(9).unwrap(), [(2, 200)]);
    }

    #[test]
    fn a_compressed_log_begins_by_saying_so_and_its_link_is_read() {
        let fs = MemFs::new();
        let wal = wal(&fs, true);
        let (_, first) = next(&wal, 1, 0, 0);
        assert_eq!(first, 11);
        let (_, start) = next(&wal, 2, 5, 1_234);
        let file = fs.open_sequential(Path::new("/000002.log")).unwrap();
        let mut reader = whitewater_storage::wal::LogReader::new(file, 2);
        let mut record = Vec::new();
        reader.read_record(&mut record).unwrap();
        let link = Link {
            log_number: 1,
            size: 1_234,
        };
        assert_eq!(Link::decode(&record), Some(link));
        assert_eq!(batch::sequence(&record), 6);
        assert_eq!(reader.record_end(), start);
    }

    /// Neither a file of its own nor the one that was to be reused.
    #[test]
    fn a_log_that_could_not_be_made_leaves_no_file() {
        for (op, reused) in [
            (FaultOp::Create, false),
            (FaultOp::Extend, false),
            (FaultOp::Reuse, true),
            (FaultOp::Extend, true),
        ] {
            let mem = MemFs::new();
            let faults = Arc::new(FaultFs::new(Arc::new(mem.clone())));
            let wal = wal_on(faults.clone(), false);
            let files = || mem.list(Path::new("/")).unwrap();
            let (old, _) = next(&wal, 1, 0, 0);
            if reused {
                next(&wal, 2, 5, 0);
                wal.trim(&old, 0).unwrap();
                assert_eq!(wal.forget_below(2), [0; 0], "kept for reuse");
            }
            let before = files().len();
            faults.add_rule(Rule {
                fault: Fault::Enospc,
                ..Rule::nth(OpSet::of(&[op]), 1)
            });
            let e = wal.create(3).unwrap_err();
            assert!(e.is_no_space(), "{op:?}: {e}");
            let left = if reused { "000002.log" } else { "000001.log" };
            assert_eq!(files(), [left], "{op:?}");
            assert_eq!(before, 1 + usize::from(reused));
            // The next one is a file of its own.
            let (log, _) = next(&wal, 4, 5, 0);
            assert_eq!(log.allocated(), STEP);
            assert_eq!(files().len(), 2, "{op:?}");
        }
    }
}
