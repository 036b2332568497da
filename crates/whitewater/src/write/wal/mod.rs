//! The write-ahead log of a database: the current file, older files that are still needed,
//! and recycling.
//!
//! Writers append to the current [`Segment`] concurrently, each at the place that its
//! generation has reserved for it. No lock here is held meanwhile.
//!
//! Invariants:
//! * L1: `closed` holds, oldest first, the logs that were switched out and whose records
//!   were not all synced yet. A synced write syncs them before the current one (upholds C4).
//! * L2: a log file is deleted or recycled only below the number that the manifest says is
//!   needed.
//! * L3: the first record of a log with a predecessor is a [`Link`] to it. Logs are not
//!   synced when they are switched out, so a power cut may lose the tail of one and keep
//!   the next; recovery notices the gap by the link.
//! * L4: a log is extended and closed under `Extender::extending`, and never extended once it is
//!   closed. A thread that comes later to extend it changes nothing.
//!
//! `extension` says when logs grow, and by how much.

mod extension;

use super::generation::End;
use extension::Extender;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use whitewater_concurrent::system::Mutex;
use whitewater_storage::Result;
use whitewater_storage::batch::{self, Batch, HEADER_SIZE, Op};
use whitewater_storage::filename;
use whitewater_storage::fs::window::WindowFile;
use whitewater_storage::fs::{Fs, SharedOptions};
use whitewater_storage::key::SequenceNumber;
use whitewater_storage::planted;
use whitewater_storage::wal::{CompressedRecord, Segment};

/// What a log says about its predecessor. It is stored as the log data of a batch without
/// operations, which other engines skip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Link {
    /// Number of the preceding log.
    pub log_number: u64,
    /// Where the last record of the preceding log ends, in bytes. 0 if that log failed:
    /// then nothing is known about its end.
    pub size: u64,
}

impl Link {
    const MARK: &[u8] = b"whitewater.log.before";

    /// The log record, between the numbers `last` and `last + 1`.
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

    /// The link in a log record that was checked, if the record is one.
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

/// The logs of an open database.
///
/// Lock order: `Extender::extending` before `logs`. No lock is held during a sync, but
/// the former while an extension is initialized.
#[derive(Debug)]
pub(crate) struct Wal {
    fs: Arc<dyn Fs>,
    dir: PathBuf,
    options: WalOptions,
    logs: Mutex<Logs>,
    extender: Arc<Extender>,
    /// Bytes of the logs in `Logs::older`.
    /// Written by: under the lock. Read by: writers that keep to a limit
    /// (relaxed). Publishes nothing.
    older_bytes: AtomicU64,
    /// Bytes of all logs that were switched out, including recycled and deleted ones. A
    /// statistic.
    ended_bytes: AtomicU64,
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
            extender: Arc::new(Extender::new(options.expected, options.shared.initialize)),
            older_bytes: AtomicU64::new(0),
            ended_bytes: AtomicU64::new(0),
            bytes_per_sync: AtomicU64::new(options.bytes_per_sync),
            options,
        }
    }

    /// Changes [`WalOptions::bytes_per_sync`].
    pub fn set_bytes_per_sync(&self, bytes: u64) {
        self.bytes_per_sync.store(bytes, Ordering::Relaxed);
    }

    /// The first log since the database was opened, and the last number before it. All
    /// other logs begin with a [`Link`].
    pub fn first(&self) -> Option<(u64, SequenceNumber)> {
        self.logs.lock().first
    }

    /// The directory of the logs.
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

    /// Bytes of memory that the logs take which are open: what they keep until a flush, and pages
    /// of mapped files.
    pub fn memory_usage(&self) -> u64 {
        let logs = self.open_logs();
        logs.iter().map(|log| log.memory_usage()).sum()
    }

    /// The logs that are open: those that may have to be synced, oldest first, and the current one.
    fn open_logs(&self) -> Vec<Arc<Segment>> {
        let logs = self.logs.lock();
        let closed = logs.closed.iter().map(|one| &one.log);
        closed.chain(&logs.current).cloned().collect()
    }

    /// Creates log `number`, with room for the first records. It gets none before it is
    /// [installed](Wal::install).
    ///
    /// # Errors
    /// A full disk, for one. Then no file is left, neither the log's nor the one that was
    /// to be reused, whose state is unknown.
    pub fn create(&self, number: u64) -> Result<Arc<Segment>> {
        let path = filename::wal(&self.dir, number);
        let old = self.logs.lock().recyclable.pop_front();
        let old = old.map(|old| filename::wal(&self.dir, old));
        let made = self.make(number, &path, old.as_deref());
        made.inspect_err(|_| {
            for unused in [Some(path), old].into_iter().flatten() {
                // If the removal fails, the next open finds that the file is not needed.
                let _ = self.fs.remove(&unused);
            }
        })
    }

    fn make(&self, number: u64, path: &Path, old: Option<&Path>) -> Result<Arc<Segment>> {
        let mut file = self.fs.open_shared(path, old, self.options.shared)?;
        let mut buffers = self.options.manual_flush;
        planted!(AckBeforeLog => buffers = true);
        if buffers {
            file = Box::new(WindowFile::new(file, path.to_path_buf()));
        }
        let mut log = Segment::new(file, number, self.options.recycle_limit > 0);
        if self.options.compressed {
            log = log.compressed();
        }
        log.initialize(self.extender.initializes());
        log.extend(self.extender.first())?;
        Ok(Arc::new(log))
    }

    /// Makes `log` the current one, with a link to its predecessor, which has handed out
    /// numbers up to `end.last`. Returns where its first write begins. Writers may reserve
    /// places in it afterwards.
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

    /// Begins `log`, the successor of `between`, a log and where it ends, or of a current log that
    /// failed: nothing above the number `last` is part of the database. Returns where the first
    /// write begins. [`Wal::restart`] comes next, or a crash, after which all of these logs may
    /// exist.
    pub fn begin_successor(
        &self,
        log: &Segment,
        between: Option<(u64, u64)>,
        last: SequenceNumber,
    ) -> Result<u64> {
        if let Some((log_number, size)) = between {
            return self.begin(log, Some(Link { log_number, size }), last);
        }
        let current = self.logs.lock().current.clone();
        let link = current.map(|before| Link {
            log_number: before.log_number(),
            size: 0,
        });
        self.begin(log, link, last)
    }

    /// Writes the beginning of a log, in which no place is reserved yet. Upholds L3, if
    /// `link` leads to the preceding log, whose last number is `last`. Returns where the
    /// first write begins.
    fn begin(&self, log: &Segment, link: Option<Link>, last: SequenceNumber) -> Result<u64> {
        let start = if self.options.compressed {
            log.begin_compressed()?
        } else {
            0
        };
        let Some(link) = link else {
            return Ok(start);
        };
        self.begin_with(log, start, &link.encode(last))
    }

    /// Writes a record to `log` at `at`, before places in it can be reserved. Returns where
    /// the record ends.
    fn begin_with(&self, log: &Segment, at: u64, record: &[u8]) -> Result<u64> {
        let compressed = self.compress(&[&record[HEADER_SIZE..]])?;
        let len = compressed.as_ref().map_or(record.len(), |c| c.len());
        let end = log.end_of_record(at, len);
        self.extender.extend_to(log, end)?;
        match compressed {
            Some(compressed) => {
                let header = record.first_chunk().unwrap_or(&[0; HEADER_SIZE]);
                log.put(at, &compressed.with_header(header))?;
            }
            None => log.put(at, &[record])?,
        }
        Ok(end)
    }

    /// Writes `records` to `log` from `at` on, and makes them durable, before places in it
    /// can be reserved. Returns where the first write begins.
    ///
    /// # Errors
    /// Errors of the file system. The log is to be [discarded](Self::discard).
    pub fn begin_with_all(&self, log: &Segment, at: u64, records: &[Vec<u8>]) -> Result<u64> {
        let put = |at, record: &Vec<u8>| self.begin_with(log, at, record);
        let end = records.iter().try_fold(at, put)?;
        log.sync()?;
        self.sync_names()?;
        Ok(end)
    }

    /// Whether records are compressed.
    #[inline]
    pub fn compresses(&self) -> bool {
        self.options.compressed
    }

    /// Compresses a record, the concatenation of `parts` without its header, if records are
    /// compressed.
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

    /// Makes `log`, begun by [`Wal::begin_successor`], the current one, behind `between`, a durable
    /// log and its size, if there is one. The contents of all earlier logs are in tables, and the
    /// manifest says so. Returns their files, to be deleted: none is reused, since a write or sync
    /// of it may have failed.
    #[must_use]
    pub fn restart(&self, log: &Arc<Segment>, between: Option<(u64, u64)>) -> Vec<PathBuf> {
        let before = self.logs.lock().current.clone();
        before.iter().for_each(|log| self.extender.give_up(log));
        let mut logs = self.logs.lock();
        let older = logs.older.drain(..).map(|(number, _)| number);
        let mut numbers: Vec<u64> = older.collect();
        numbers.extend(logs.current.replace(log.clone()).map(|l| l.log_number()));
        logs.dir_synced = false;
        logs.closed.clear();
        logs.older.extend(between);
        let older_bytes = between.map_or(0, |(_, size)| size);
        self.older_bytes.store(older_bytes, Ordering::Relaxed);
        let path = |number| filename::wal(&self.dir, number);
        numbers.into_iter().map(path).collect()
    }

    /// Deletes a log that was [created](Wal::create) and got no writes.
    pub fn discard(&self, log: &Segment) {
        // If it stays, recovery accepts it: it has nothing that other logs lack.
        let _ = self.fs.remove(&filename::wal(&self.dir, log.log_number()));
    }

    /// See [`Extender::extend_to`].
    pub fn extend_to(&self, log: &Segment, upto: u64) -> Result<()> {
        self.extender.extend_to(log, upto)
    }

    /// See [`Extender::extend_ahead`]. Also asks the system to write the log back, if that is due.
    #[inline]
    pub fn extend_ahead(&self, log: &Arc<Segment>, end: u64) -> bool {
        let bytes_per_sync = self.bytes_per_sync.load(Ordering::Relaxed);
        if bytes_per_sync > 0 {
            log.write_back(end, bytes_per_sync);
        }
        self.extender.extend_ahead(log, end)
    }

    /// See [`Extender::freeze`].
    pub fn freeze(&self, frozen: bool) {
        self.extender.freeze(frozen);
    }

    /// Closes a log that was switched out and that ends at `len`, without syncing it. Writes
    /// to reserved places may be under way.
    pub fn trim(&self, log: &Segment, len: u64) -> Result<()> {
        self.extender.close(log, len)
    }

    /// Hands the records that are kept in memory to the operating system, oldest log first,
    /// up to the first record that is still being written.
    pub fn flush(&self) -> Result<()> {
        self.open_logs().iter().try_for_each(|log| log.flush())
    }

    /// Makes everything in the logs durable, oldest log first. All records up to the number
    /// `upto` are in the logs. Returns the logs that are now durable to their end and were
    /// not before.
    pub fn sync(&self, upto: SequenceNumber) -> Result<Vec<Synced>> {
        let (current, dir_synced) = {
            let logs = self.logs.lock();
            (logs.current.clone(), logs.dir_synced)
        };
        let synced = self.sync_closed(upto)?; // first, by L1
        let Some(current) = current else {
            return Ok(synced);
        };
        if !dir_synced {
            self.sync_names()?;
            let mut logs = self.logs.lock();
            // Another log may be the current one by now.
            let same = |now: &Arc<Segment>| Arc::ptr_eq(now, &current);
            logs.dir_synced |= logs.current.as_ref().is_some_and(same);
        }
        current.sync()?;
        self.extender.note_sync();
        Ok(synced)
    }

    /// Makes the logs before the current one durable. All records up to the number `upto`
    /// are in the logs. A flush of one column family calls this first if there are others:
    /// a power cut could otherwise keep the flushed family's later writes and lose earlier
    /// ones of the others. Returns the logs that are now durable to their end.
    pub fn sync_closed(&self, upto: SequenceNumber) -> Result<Vec<Synced>> {
        let closed = self.logs.lock().closed.clone();
        if closed.is_empty() {
            return Ok(Vec::new());
        }
        self.sync_names()?;
        for one in &closed {
            one.log.sync()?;
        }
        // A log that still gets records has to be synced again for them (L1).
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

    /// The oldest log that is not known to be durable to its end.
    pub fn oldest_unsynced(&self) -> u64 {
        let logs = self.logs.lock();
        let closed = logs.closed.iter().map(|one| &one.log);
        let oldest = closed.chain(&logs.current).next();
        oldest.map_or(0, |log| log.log_number())
    }

    /// Makes the names of all logs durable. Once any sync of the directory has failed, all
    /// later ones fail (C4): upheld by
    /// [`NamesFs`](whitewater_storage::fs::names::NamesFs).
    fn sync_names(&self) -> Result<()> {
        self.fs.sync_dir(&self.dir)
    }

    /// Forgets logs below `min_needed`, keeping some for reuse. Returns the numbers of the
    /// others, to be deleted. Upholds L2 if the number is from the manifest, and no writer
    /// writes to the logs: what they held was flushed.
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

    /// Closes the current log, which ends at `len`, without syncing it. No write is under
    /// way.
    pub fn close(&self, len: u64) -> Result<()> {
        let current = {
            let mut logs = self.logs.lock();
            logs.closed.clear();
            logs.current.take()
        };
        match current {
            Some(log) => self.extender.close(&log, len),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
