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

use super::generation::End;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use whitewater_storage::batch::{self, Batch, Op};
use whitewater_storage::filename;
use whitewater_storage::fs::{Fs, SharedOptions};
use whitewater_storage::key::SequenceNumber;
use whitewater_storage::wal::Segment;
use whitewater_storage::{Error, Result};

/// What a log says about the log before it: a batch without operations whose
/// log data is this. Other engines skip it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Link {
    /// Number of the log before.
    pub log_number: u64,
    /// Where its last record ends. Bytes.
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
}

impl WalOptions {
    /// Bytes by which a log is extended.
    fn step(&self) -> u64 {
        (self.expected / 16).clamp(64 << 10, 4 << 20)
    }
}

/// The logs of an open database.
///
/// Lock order: `extending` before `logs`; `naming` is a leaf. No other lock is
/// held during a sync.
#[derive(Debug)]
pub(crate) struct Wal {
    fs: Arc<dyn Fs>,
    dir: PathBuf,
    options: WalOptions,
    logs: Mutex<Logs>,
    /// Held by whoever extends the current log.
    extending: Mutex<()>,
    /// The first failure to make the directory durable. Held while that is
    /// tried: the system reports an error once, so it is never tried again (C4).
    naming: Mutex<Option<Error>>,
    /// Bytes of the logs in `Logs::older`.
    /// Written by: under the lock. Read by: writers that keep to a limit
    /// (relaxed). Publishes nothing.
    older_bytes: AtomicU64,
}

#[derive(Debug)]
struct Logs {
    current: Option<Arc<Segment>>,
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
    /// The last number handed out in it: it has all its records when this is
    /// visible.
    last: SequenceNumber,
}

impl Wal {
    /// No log yet.
    pub fn new(fs: Arc<dyn Fs>, dir: PathBuf, options: WalOptions) -> Self {
        Wal {
            fs,
            dir,
            options,
            logs: Mutex::new(Logs {
                current: None,
                dir_synced: false,
                closed: Vec::new(),
                older: VecDeque::new(),
                recyclable: VecDeque::new(),
            }),
            extending: Mutex::new(()),
            naming: Mutex::new(None),
            older_bytes: AtomicU64::new(0),
        }
    }

    /// Bytes of the logs before the current one that may be needed for
    /// recovery.
    pub fn older_bytes(&self) -> u64 {
        self.older_bytes.load(Ordering::Relaxed)
    }

    /// Creates log `number`, with room for the first records. Nobody writes to
    /// it before it is [installed](Wal::install).
    pub fn create(&self, number: u64) -> Result<Arc<Segment>> {
        let path = filename::wal(&self.dir, number);
        let old = self.logs.lock().recyclable.pop_front();
        let old = old.map(|old| filename::wal(&self.dir, old));
        let file = self
            .fs
            .open_shared(&path, old.as_deref(), self.options.shared)?;
        let log = Segment::new(file, number, self.options.recycle_limit > 0);
        log.extend(self.options.step())?;
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
            return Ok(0);
        };
        logs.older.push_back((before.log_number(), end.offset));
        self.older_bytes.fetch_add(end.offset, Ordering::Relaxed);
        let link = Link {
            log_number: before.log_number(),
            size: end.offset,
        };
        logs.closed.push(Closed {
            log: before,
            last: end.last,
        });
        drop(logs);
        let record = link.encode(end.last);
        log.put(0, &[&record])?;
        Ok(Segment::end_of(0, record.len(), log.is_recyclable()))
    }

    /// Extends `log`, if it is not there yet, to `upto` and a good way beyond.
    /// A closed log stays what it is: nobody gets a place in it, and its file
    /// may be another log's by now.
    ///
    /// # Errors
    /// A full disk, for one. The log is what it was, and the next writer tries
    /// again.
    pub fn make_room(&self, log: &Segment, upto: u64) -> Result<()> {
        let _one_at_a_time = self.extending.lock();
        if upto <= log.allocated() || log.is_closed() {
            return Ok(());
        }
        log.extend(upto + self.options.step())
    }

    /// The same ahead of need, by one writer, if `end` is near the end of what
    /// is allocated; returns whether it was this one. A failure is left to
    /// whoever will need the room.
    #[inline]
    pub fn keep_ahead(&self, log: &Segment, end: u64) -> bool {
        let allocated = log.allocated();
        end + self.options.step() / 2 > allocated && self.extend_ahead(log, allocated)
    }

    #[cold]
    fn extend_ahead(&self, log: &Segment, allocated: u64) -> bool {
        let Some(_one_at_a_time) = self.extending.try_lock() else {
            return false;
        };
        !log.is_closed()
            && log.allocated() == allocated
            && log.extend(allocated + self.options.step()).is_ok()
    }

    /// Gives back what was allocated beyond `end`, where `log` ends for good.
    /// Writes below it may be under way.
    pub fn trim(&self, log: &Segment, end: u64) -> Result<()> {
        // Not beside an extension: a file that was recycled is not ours.
        let _one_at_a_time = self.extending.lock();
        log.close(end)
    }

    /// Makes everything durable that is in the logs, oldest log first. All
    /// records up to the number `upto` are.
    pub fn sync(&self, upto: SequenceNumber) -> Result<()> {
        let (current, dir_synced) = {
            let logs = self.logs.lock();
            (logs.current.clone(), logs.dir_synced)
        };
        self.sync_closed(upto)?;
        let Some(current) = current else {
            return Ok(());
        };
        if !dir_synced {
            self.sync_names()?;
            let mut logs = self.logs.lock();
            // It may not be the current one any more.
            let same = |now: &Arc<Segment>| Arc::ptr_eq(now, &current);
            logs.dir_synced |= logs.current.as_ref().is_some_and(same);
        }
        current.sync()
    }

    /// Makes the logs before the current one durable, in which all records up
    /// to the number `upto` are. A flush of one column family calls this first
    /// when there are others, or a power cut could keep the flushed family's
    /// later writes and lose the others' earlier ones.
    pub fn sync_closed(&self, upto: SequenceNumber) -> Result<()> {
        let closed = self.logs.lock().closed.clone();
        if closed.is_empty() {
            return Ok(());
        }
        self.sync_names()?;
        for one in &closed {
            one.log.sync()?;
        }
        // One that still gets records has to be synced again for them.
        let synced =
            |one: &Closed| one.last <= upto && closed.iter().any(|c| Arc::ptr_eq(&c.log, &one.log));
        self.logs.lock().closed.retain(|one| !synced(one));
        Ok(())
    }

    /// Makes the names of all logs durable.
    fn sync_names(&self) -> Result<()> {
        let mut failed = self.naming.lock();
        if let Some(first) = &*failed {
            return Err(first.clone());
        }
        let synced = self.fs.sync_dir(&self.dir);
        synced.inspect_err(|e| *failed = Some(e.clone()))
    }

    /// Forgets logs below `min_needed`, keeping some for reuse; returns the
    /// files to be deleted. Upholds L2 if the number is from the manifest, and
    /// nobody writes to them: what they held was flushed.
    #[must_use]
    pub fn forget_below(&self, min_needed: u64) -> Vec<PathBuf> {
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
                obsolete.push(filename::wal(&self.dir, number));
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
    use std::path::Path;
    use whitewater_storage::fs::fault::{FaultFs, FaultOp, OpSet, Rule};
    use whitewater_storage::fs::mem::MemFs;

    fn wal(fs: Arc<dyn Fs>) -> Wal {
        let options = WalOptions {
            recycle_limit: 1,
            expected: 1 << 20,
            shared: SharedOptions::default(),
        };
        fs.create_dir_all(Path::new("/wal")).unwrap();
        Wal::new(fs, PathBuf::from("/wal"), options)
    }

    /// A writer that was slow since it finished, and one that waited for room.
    #[test]
    fn a_closed_log_is_not_extended() {
        let wal = wal(Arc::new(MemFs::new()));
        let log = wal.create(1).unwrap();
        let end = Segment::end_of(0, 12, true);
        log.put(0, &[&[0; 12]]).unwrap();
        wal.trim(&log, end).unwrap();
        assert_eq!(log.allocated(), end);
        assert!(!wal.keep_ahead(&log, end));
        wal.make_room(&log, 1 << 20).unwrap();
        assert_eq!(log.allocated(), end);
    }

    #[test]
    fn a_failed_sync_of_the_directory_is_not_tried_again() {
        let faults = Arc::new(FaultFs::new(Arc::new(MemFs::new())));
        let wal = wal(faults.clone());
        let log = wal.create(1).unwrap();
        wal.install(&log, End { last: 0, offset: 0 }).unwrap();
        faults.add_rule(Rule::nth(OpSet::of(&[FaultOp::SyncDir]), 1));
        let first = wal.sync(0).unwrap_err();
        assert_eq!(wal.sync(0).unwrap_err().to_string(), first.to_string());
    }
}
