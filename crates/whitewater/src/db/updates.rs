//! Reading back what was logged since a sequence number, from archived and live logs,
//! beside writers.
//!
//! * U1: only batches up to the visible number are shown, and none that a resumption gave
//!   up. Every other batch with such a number is completely in its log. Bytes beyond may be
//!   half copied, and are never judged.
//! * U2: what was read of a log that is being written becomes stale. The reader is given
//!   the bytes again ([`OpenLog::refresh`]) before it concludes that there is no more.
//! * U3: reading moves on to the next log only if the log was closed before its bytes were
//!   given, so that there can be no more in it. If the next log says how long it was
//!   ([`Link`]), all of that must have been read.
//! * U4: nothing is skipped silently, except numbers that no log ever had, or that a power
//!   cut took from the last log. The manifest may know these numbers, so that no write gets
//!   them again.
//!
//! A file stays open while it is read, so archiving and deleting it do no harm. A log that
//! was recycled under the reader no longer holds its records, as every record shows. It is
//! missing like one that was deleted before its turn, which is an error by U3.

use super::{Engine, archive};
use crate::stats::Ticker;
use crate::write::generation::Generation;
use crate::write::wal::Link;
use std::collections::BTreeMap;
use std::sync::Arc;
use whitewater_storage::batch::{self, Batch, Numbering, Op};
use whitewater_storage::filename;
use whitewater_storage::fs::{Part, RandomAccessFile};
use whitewater_storage::key::SequenceNumber;
use whitewater_storage::wal::{LogReader, ReadOutcome};
use whitewater_storage::{Error, ErrorKind, Result, planted};

/// A logged batch.
pub(crate) struct Update {
    /// The number of its first entry.
    pub first: SequenceNumber,
    /// The last number that it used up, as far as that is known: the section that a commit
    /// inserted may have been logged before the first batch that was read.
    pub last: SequenceNumber,
    pub batch: Batch,
}

/// Reads logged batches in order.
pub(crate) struct Updates {
    engine: Arc<Engine>,
    log: OpenLog,
    /// The last number that was read.
    last: SequenceNumber,
    /// The number of entries of the prepared sections that were read, by name.
    sections: BTreeMap<Vec<u8>, u64>,
}

/// The log that is being read.
struct OpenLog {
    number: u64,
    file: Arc<dyn RandomAccessFile>,
    reader: LogReader,
    /// The visible number when the reader was given its bytes.
    seen: SequenceNumber,
    /// Whether the log was closed then.
    closed: bool,
    /// Whether all records that the log had then were visible.
    whole: bool,
}

/// The result of a step.
enum Step {
    Batch(SequenceNumber, Batch),
    /// There is nothing more in what the reader was given.
    Nothing,
}

impl Engine {
    /// Returns the batches that were logged since `seq`, beginning with the batch that has
    /// `seq` or comes next.
    ///
    /// # Errors
    /// `NotFound` for a number that is not written yet, `Corruption` when logs after it no
    /// longer exist, `NotSupported` with a write policy that inserts at the prepare; errors of
    /// reading.
    pub(crate) fn updates_since(self: &Arc<Self>, seq: SequenceNumber) -> Result<Updates> {
        self.tick(Ticker::GetUpdatesSinceCalls, 1);
        self.check_writer()?;
        if self.options.write_policy.inserts_undecided() {
            return Err(other_policy());
        }
        if seq > self.commit.publication.visible() {
            return Err(Error::new(
                ErrorKind::NotFound,
                "Requested sequence not yet written in the db",
            ));
        }
        let logs = self.readable_logs(0)?;
        for number in logs.iter().rev() {
            let log = OpenLog::open(self, *number);
            let log = match log {
                // The log was deleted meanwhile, as older ones will be.
                Err(e) if e.kind() == ErrorKind::NotFound => break,
                log => log?,
            };
            let first = self.first_in(log)?;
            if first.is_some_and(|first| first <= seq + 1) {
                return Ok(Updates {
                    log: OpenLog::open(self, *number)?,
                    engine: self.clone(),
                    last: 0,
                    sections: BTreeMap::new(),
                });
            }
        }
        Err(Error::corruption(
            "Gap in sequence number. Could not seek to required sequence number",
        ))
    }

    /// The numbers of the logs after `after`, archived ones included, ascending, up to the
    /// current one.
    fn readable_logs(&self, after: u64) -> Result<Vec<u64>> {
        let current = self.commit.generations.load().wal.log_number();
        // Live logs are listed first, so a log that is moved meanwhile is found twice
        // rather than never.
        let mut logs = archive::logs_in(&*self.files.fs, self.commit.wal.dir())?;
        let archive = filename::archive(self.commit.wal.dir());
        logs.extend(archive::logs_in(&*self.files.fs, &archive)?);
        logs.retain(|number| (after + 1..=current).contains(number));
        logs.sort_unstable();
        logs.dedup();
        Ok(logs)
    }

    /// The number at which log `number` begins; `None` if it holds nothing.
    ///
    /// # Errors
    /// `NotFound` if there is no such log; errors of reading it.
    pub(super) fn first_number_in(&self, number: u64) -> Result<Option<SequenceNumber>> {
        self.first_in(OpenLog::open(self, number)?)
    }

    /// The number at which a log begins; `None` if it holds nothing.
    fn first_in(&self, mut log: OpenLog) -> Result<Option<SequenceNumber>> {
        if let Some((first_log, base)) = self.commit.wal.first()
            && first_log == log.number
        {
            return Ok(Some(base + 1));
        }
        let mut record = Vec::new();
        match log.reader.read_record(&mut record)? {
            ReadOutcome::Record => {
                log.check(&record)?;
                Ok(Some(batch::sequence(&record)))
            }
            ReadOutcome::Corrupt(e) if log.whole => Err(log.damage(self, e)),
            _ => Ok(None),
        }
    }

    fn open_log(&self, number: u64) -> Result<Arc<dyn RandomAccessFile>> {
        let live = filename::wal(self.commit.wal.dir(), number);
        match self.files.fs.open_random(&live) {
            Err(e) if e.is_missing_file() => {}
            opened => return opened,
        }
        let archived = filename::wal(&filename::archive(self.commit.wal.dir()), number);
        match self.files.fs.open_random(&archived) {
            Err(e) if e.is_missing_file() => Err(gap()),
            opened => opened,
        }
    }
}

/// The error for what other write policies have logged, in RocksDB's words.
fn other_policy() -> Error {
    Error::not_supported(
        "This API is not yet compatible with write-prepared/write-unprepared transactions",
    )
}

fn gap() -> Error {
    Error::new(ErrorKind::NotFound, "Gap in sequence numbers")
}

impl OpenLog {
    fn open(engine: &Engine, number: u64) -> Result<OpenLog> {
        let file = engine.open_log(number)?;
        let empty = Box::new(Part::new(&file, 0, 0));
        let mut log = OpenLog {
            number,
            reader: LogReader::new(empty, number),
            file,
            seen: 0,
            closed: false,
            whole: false,
        };
        log.refresh(engine)?;
        Ok(log)
    }

    /// Gives the reader the bytes that exist now.
    fn refresh(&mut self, engine: &Engine) -> Result<()> {
        if engine.options.manual_wal_flush {
            engine.flush_wal(false)?;
        }
        let generation = engine.commit.generations.load();
        let seen = engine.commit.publication.visible();
        let end = self.end_in(&generation);
        self.seen = seen;
        self.closed = self.number < generation.wal.log_number();
        let (to, last) = match end {
            // The end was read after the visible number, so everything visible lies before
            // it.
            Some(end) => end,
            None => (self.file.len()?, generation.base()),
        };
        self.whole = self.closed_or(end.is_some()) && seen >= last;
        let from = self.reader.resume_from();
        self.reader
            .resume(Box::new(Part::new(&self.file, from, to)))
    }

    /// A log that is neither closed nor current was switched out just now.
    fn closed_or(&self, current: bool) -> bool {
        self.closed || current
    }

    /// Where the log ends, and the last number in it, if it is the current log.
    fn end_in(&self, generation: &Generation) -> Option<(u64, SequenceNumber)> {
        let end = generation.end_so_far()?;
        (generation.wal.log_number() == self.number).then_some((end.offset, end.last))
    }

    /// The error for damage `e`. A file that got another name while it was read holds, or will
    /// hold, the records of another log. It is not damaged; the log no longer exists.
    fn damage(&self, engine: &Engine, e: Error) -> Error {
        engine.open_log(self.number).err().unwrap_or(e)
    }

    /// Checks that a record is a batch.
    fn check(&self, record: &[u8]) -> Result<()> {
        batch::check_logged(record)
            .map_err(|e| e.in_file(self.file.path(), Some(self.reader.record_offset())))
    }

    /// Returns the next of the batches that were visible when the bytes were given. `last`
    /// is the last number read.
    fn step(
        &mut self,
        engine: &Engine,
        last: SequenceNumber,
        record: &mut Vec<u8>,
    ) -> Result<Step> {
        let publication = &engine.commit.publication;
        loop {
            match self.reader.read_record(record)? {
                ReadOutcome::Record => {}
                // Failed writes whose numbers were given up may have left a hole.
                ReadOutcome::Corrupt(_) if publication.gave_up(last + 1, self.seen) => {
                    return Ok(Step::Nothing);
                }
                // The record is half copied, unless everything was there.
                ReadOutcome::Corrupt(e) if self.whole => return Err(self.damage(engine, e)),
                ReadOutcome::TornTail { offset, .. } if self.whole && !self.closed => {
                    return Err(Error::corruption_in(
                        self.file.path(),
                        offset,
                        "truncated record",
                    ));
                }
                _ => return Ok(Step::Nothing),
            }
            self.check(record)?;
            let first = batch::sequence(record);
            if Link::decode(record).is_some() {
                self.reader.mark();
                continue;
            }
            if first > self.seen || publication.gave_up(first, first) {
                return Ok(Step::Nothing); // upholds U1
            }
            self.reader.mark();
            let batch = Batch::from_bytes(std::mem::take(record))?;
            return Ok(Step::Batch(first, batch));
        }
    }
}

impl Updates {
    /// Returns the next batch; `None` when everything visible was read.
    ///
    /// # Errors
    /// `NotFound` when the logs that come next no longer exist, `Corruption` for damage;
    /// errors of the file system.
    pub(crate) fn next(&mut self) -> Result<Option<Update>> {
        let mut record = Vec::new();
        let mut fresh = false;
        loop {
            if let Step::Batch(first, batch) =
                self.log.step(&self.engine, self.last, &mut record)?
            {
                planted!(MarkersPassedOver => if batch.count() == 0 { continue });
                // A record with log data alone takes a number, too.
                let last = first + self.numbers_of(&batch)?.max(1) - 1;
                if first < self.last {
                    continue; // a section that a resumption has logged again
                }
                self.last = last;
                return Ok(Some(Update { first, last, batch }));
            }
            if !fresh {
                fresh = true;
                self.log.refresh(&self.engine)?; // upholds U2
                continue;
            }
            if self.last >= self.log.seen {
                return Ok(None);
            }
            let Some(next) = self.next_log()? else {
                return Ok(None);
            };
            if !self.log.closed {
                self.log.refresh(&self.engine)?; // upholds U3
                continue;
            }
            let read_to = self.log.reader.marked();
            let before = std::mem::replace(&mut self.log, OpenLog::open(&self.engine, next)?);
            if !self.continues(&before, read_to)? {
                self.log = before;
                return Ok(None);
            }
        }
    }

    /// How many numbers the record of `batch` has used up.
    ///
    /// # Errors
    /// `NotSupported` for what another write policy has logged, in RocksDB's words.
    fn numbers_of(&mut self, batch: &Batch) -> Result<u64> {
        let mut walk = Numbering::PerEntry.walk(batch.bytes());
        let mut entries = None;
        while let Some(next) = walk.next() {
            let (op, _) = next.map_err(|e| match e.kind() {
                ErrorKind::NotSupported => other_policy(),
                _ => e,
            })?;
            match op {
                Op::BeginPrepare(_) => entries = Some(0),
                Op::Entry { .. } => entries = entries.map(|n| n + 1),
                Op::EndPrepare(name) => {
                    let entries = entries.take().unwrap_or(0);
                    self.sections.insert(name.to_vec(), entries);
                }
                Op::Commit(name) | Op::CommitAt { xid: name, .. } => {
                    walk.use_up(self.sections.remove(name).unwrap_or(0))?;
                }
                Op::Rollback(name) => {
                    self.sections.remove(name);
                }
                Op::LogData(_) | Op::Noop => {}
            }
        }
        Ok(walk.used())
    }

    fn next_log(&self) -> Result<Option<u64>> {
        let logs = self.engine.readable_logs(self.log.number)?;
        Ok(logs.first().copied())
    }

    /// Whether the log begins where reading of `before` ended. False if writes before it
    /// are still under way (U3).
    fn continues(&self, before: &OpenLog, read_to: u64) -> Result<bool> {
        let mut peek = OpenLog::open(&self.engine, self.log.number)?;
        let mut record = Vec::new();
        let ReadOutcome::Record = peek.reader.read_record(&mut record)? else {
            return Ok(true);
        };
        let Some(link) = Link::decode(&record) else {
            return Ok(true);
        };
        let all_numbers = batch::sequence(&record) <= self.last + 1;
        if all_numbers || link.log_number == before.number && link.size <= read_to {
            return Ok(true);
        }
        if before.seen + 1 < batch::sequence(&record) {
            return Ok(false);
        }
        Err(gap())
    }
}
