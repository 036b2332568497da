//! Reading the logs of a database that another engine writes, as they grow.
//!
//! What is read is a prefix of what was written, although writers copy their records side
//! by side and a log may have a gap where a writer is not done:
//!
//! * G1: a log is read up to the first record that is not complete; the next reading
//!   continues there.
//! * G2: reading moves on to the next log when that log says that the one before holds no
//!   more ([`Link`]). If it says nothing, reading moves on if its first number comes next
//!   or if the log before ended cleanly. The next log was listed before the end was read,
//!   so no further write begins in the log before.
//! * G3: unless the next log has a record, a log is read only up to where nothing is
//!   written.

use crate::db::open::Wanted;
use crate::memtable::{Home, Inserter, Memtable};
use crate::options::CfOptions;
use crate::version::set::{CfVersion, Recovered};
use crate::write::wal::Link;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use whitewater_concurrent::undecided::NumberRange;
use whitewater_storage::Result;
use whitewater_storage::batch::replay::{ReplayedEntry, ReplayedSections, Replays};
use whitewater_storage::batch::{self, Numbering};
use whitewater_storage::filename::{self, FileType};
use whitewater_storage::fs::{Fs, Part, RandomAccessFile};
use whitewater_storage::key::SequenceNumber;
use whitewater_storage::wal::{LogReader, ReadOutcome};

/// The column families that are followed.
pub(super) struct Families<'a> {
    recovered: &'a Recovered,
    wanted: &'a Wanted,
}

impl<'a> Families<'a> {
    pub fn new(recovered: &'a Recovered, wanted: &'a Wanted) -> Self {
        Families { recovered, wanted }
    }

    /// The number of the first log that is needed, or that may have a prepared section.
    pub fn first_log(&self) -> u64 {
        self.recovered.first_kept_log()
    }

    /// The column family `id`, if log `number` may hold something that none of its tables
    /// has.
    fn of_log(&self, id: u32, number: u64) -> Option<(&CfVersion, &CfOptions)> {
        let cf = self.recovered.column_families.get(&id)?;
        (number >= cf.log_number).then(|| (cf, &*self.wanted[&cf.name]))
    }
}

/// How far the logs were read, and what was read of them.
#[derive(Debug, Default)]
pub(super) struct Tail {
    /// The logs that were not read to their end, by number. The first is being read.
    logs: BTreeMap<u64, OpenLog>,
    /// Logs up to this number were read to their end.
    done: u64,
    /// Logs before this number are not needed.
    first: u64,
    /// The memtables by column family, oldest first, each with the log that it belongs to
    /// (N3).
    memtables: BTreeMap<u32, Vec<(u64, Arc<Memtable>)>>,
    /// The prepared sections that are not decided yet. They do not show.
    sections: ReplayedSections,
    read_to: SequenceNumber,
    /// Whether a prepared section or a decision was read since the last [`Tail::undecided`].
    sections_changed: bool,
    /// `read_to` is the number of a record without entries of its own, such as log data
    /// alone or a prepared section, for which RocksDB uses up no number.
    repeats: bool,
    next_id: u64,
}

/// A log that is being read.
#[derive(Debug)]
struct OpenLog {
    number: u64,
    file: Arc<dyn RandomAccessFile>,
    reader: LogReader,
    /// The log's first record, once it was read.
    first: Option<First>,
}

/// What the first record of a log says about it.
#[derive(Debug, Clone, Copy)]
struct First {
    sequence: SequenceNumber,
    link: Option<Link>,
}

/// The number of bytes after the current block that are read at first. More are read only
/// if a record is larger, because most of what follows may not be written yet.
const WINDOW: u64 = 32 << 10;

impl OpenLog {
    fn open(fs: &dyn Fs, wal_dir: &Path, number: u64) -> Result<OpenLog> {
        let file = fs.open_random(&filename::wal(wal_dir, number))?;
        Ok(Self::over(file, number))
    }

    fn over(file: Arc<dyn RandomAccessFile>, number: u64) -> OpenLog {
        OpenLog {
            number,
            reader: LogReader::new(Box::new(Part::new(&file, 0, 0)), number),
            file,
            first: None,
        }
    }

    /// Whether nothing is written where the next record would begin (G3), which is at the
    /// current position or in the next block.
    fn is_at_end(&self) -> Result<bool> {
        let len = self.file.len()?;
        let unwritten = |at: u64| {
            let head = len.saturating_sub(at).min(LogReader::HEAD as u64);
            let head = self.file.read_at(at, head as usize);
            // The log was truncated meanwhile; reading it will show that.
            head.is_ok_and(|head| LogReader::is_unwritten(&head, self.number))
        };
        let (here, next) = (self.reader.marked(), self.reader.next_block().min(len));
        // A log that is shorter than what was read of it was replaced by another one.
        Ok(here <= len && unwritten(here) && unwritten(next))
    }

    /// Reads what is there now, batch by batch while `apply` wants more, up to the first
    /// record that is not complete (G1); or, if not `wholly`, up to where nothing is
    /// written (G3). Returns why it stopped.
    fn read(
        &mut self,
        wholly: bool,
        record: &mut Vec<u8>,
        apply: &mut dyn FnMut(&[u8]) -> Result<Goes>,
    ) -> Result<Next> {
        let mut window = if wholly { u64::MAX } else { WINDOW };
        loop {
            if !wholly && self.is_at_end()? {
                return Ok(Next::Unfinished);
            }
            let (from, len) = (self.reader.resume_from(), self.file.len()?);
            let to = self.reader.next_block().saturating_add(window).min(len);
            let part = Part::new(&self.file, from, to);
            self.reader.resume(Box::new(part))?;
            let before = self.reader.marked();
            loop {
                match self.next(record)? {
                    Next::Batch => {}
                    why if to == len => return Ok(why), // G1
                    _ => break,
                }
                let goes = apply(record);
                let goes = goes
                    .map_err(|e| e.in_file(self.file.path(), Some(self.reader.record_offset())))?;
                self.reader.mark();
                if goes == Goes::No {
                    return Ok(Next::Batch);
                }
            }
            if self.reader.marked() == before {
                window = window.saturating_mul(4);
            }
        }
    }

    /// Reads the next batch, or returns why there is none.
    fn next(&mut self, record: &mut Vec<u8>) -> Result<Next> {
        match self.reader.read_record(record)? {
            ReadOutcome::Record if batch::check_logged(record).is_ok() => Ok(Next::Batch),
            ReadOutcome::Eof => Ok(Next::End),
            _ => Ok(Next::Unfinished),
        }
    }

    /// Returns what the first record says. It is read apart from the others. `None` if
    /// there is no record.
    fn first(&mut self) -> Result<Option<First>> {
        if self.first.is_none() {
            let mut beside = OpenLog::over(self.file.clone(), self.number);
            let mut first = None;
            beside.read(false, &mut Vec::new(), &mut |record| {
                first = Some(First {
                    sequence: batch::sequence(record),
                    link: Link::decode(record),
                });
                Ok(Goes::No)
            })?;
            self.first = first;
        }
        Ok(self.first)
    }
}

/// Whether a reader of batches wants the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Goes {
    On,
    No,
}

/// What comes next in a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Batch,
    /// Nothing: the log ends here.
    End,
    /// Something that is not complete, or never will be.
    Unfinished,
}

impl Tail {
    /// Nothing of logs with that numbering was read.
    pub fn new(numbering: Numbering) -> Self {
        Tail {
            sections: ReplayedSections::new(numbering),
            ..Tail::default()
        }
    }

    /// How the logs number their operations.
    pub fn numbering(&self) -> Numbering {
        self.sections.numbering()
    }

    /// What was inserted and is not decided, and whether sections or decisions were read since
    /// the last call.
    pub fn undecided(&mut self) -> (Vec<NumberRange>, bool) {
        let ranges = self.sections.undecided().into_iter();
        let ranges = ranges.map(|(first, last)| NumberRange { first, last });
        let changed = std::mem::take(&mut self.sections_changed);
        (ranges.collect(), changed)
    }

    /// The last number that was read.
    pub fn read_to(&self) -> SequenceNumber {
        self.read_to
    }

    /// Opens new logs from number `first` on, and forgets the logs before it.
    pub fn find_logs(&mut self, fs: &dyn Fs, wal_dir: &Path, first: u64) -> Result<()> {
        self.first = first;
        self.sections.forget_before(first);
        self.logs.retain(|number, _| *number >= first);
        for name in fs.list(wal_dir)? {
            let Some(FileType::Wal(number)) = filename::parse(&name) else {
                continue;
            };
            let known = self.logs.contains_key(&number);
            if number >= first && number > self.done && !known {
                let log = OpenLog::open(fs, wal_dir, number)?;
                self.logs.insert(number, log);
            }
        }
        Ok(())
    }

    /// Continues in the logs that are open. Returns whether no log is missing and all of
    /// them still have their names: of a log that was recycled meanwhile, too little may
    /// have been read.
    pub fn read(&mut self, fs: &dyn Fs, wal_dir: &Path, families: &Families<'_>) -> Result<bool> {
        let numbers: Vec<u64> = self.logs.keys().copied().collect();
        if !self.read_logs(&numbers, families)? {
            return Ok(false);
        }
        for number in numbers {
            if !fs.exists(&filename::wal(wal_dir, number))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns whether no log is missing that one of these logs names.
    fn read_logs(&mut self, numbers: &[u64], families: &Families<'_>) -> Result<bool> {
        let mut record = Vec::new();
        if let Some(&number) = numbers.first()
            && self.misses(number, self.done)?
        {
            return Ok(false);
        }
        for (i, number) in numbers.iter().enumerate() {
            let followed = match numbers.get(i + 1) {
                Some(next) => self.first(*next)?.is_some(),
                None => false,
            };
            let Some(mut log) = self.logs.remove(number) else {
                continue;
            };
            if log.number != self.sections.log() {
                (self.sections).begin(log.number, self.read_to, self.repeats);
            }
            let ended = log.read(followed, &mut record, &mut |record| {
                self.apply(record, *number, families).map(|()| Goes::On)
            });
            let read_to = log.reader.marked();
            self.logs.insert(*number, log);
            let ended = ended? == Next::End;
            let Some(next) = numbers.get(i + 1) else {
                return Ok(true);
            };
            if self.misses(*next, *number)? {
                return Ok(false);
            }
            // Every column family was flushed past a log that is kept for its sections.
            let kept = *number < families.recovered.first_log();
            if !kept && !self.goes_on(*next, (*number, read_to), ended)? {
                return Ok(true);
            }
            self.logs.remove(number);
            self.done = *number;
        }
        Ok(true)
    }

    /// Returns what the first record of log `number` says, if the log is open and has one.
    fn first(&mut self, number: u64) -> Result<Option<First>> {
        let first = self.logs.get_mut(&number).map(OpenLog::first);
        Ok(first.transpose()?.flatten())
    }

    /// Whether log `next` names a log that is needed, comes after log `before` and was not
    /// listed. A listing is no snapshot of a directory.
    fn misses(&mut self, next: u64, before: u64) -> Result<bool> {
        let link = self.first(next)?.and_then(|first| first.link);
        Ok(link.is_some_and(|link| link.log_number > before && link.log_number >= self.first))
    }

    /// Whether nothing is missing between log `next` and what was read of log `before`, up
    /// to an offset (G2).
    fn goes_on(&mut self, next: u64, before: (u64, u64), ended: bool) -> Result<bool> {
        let Some(First { sequence, link }) = self.first(next)? else {
            return Ok(false); // nothing in it yet, or not seen yet
        };
        if let Some(link) = link {
            // Logs between the two were empty, or not needed.
            return Ok(link.log_number != before.0 || link.size <= before.1);
        }
        let repeats = self.repeats && sequence == self.read_to;
        Ok(ended || repeats || sequence == self.read_to + 1)
    }

    fn apply(&mut self, record: &[u8], number: u64, families: &Families<'_>) -> Result<()> {
        // Taken out, because the entries go to this.
        let mut sections = std::mem::take(&mut self.sections);
        let mut to = ToMemtables {
            tail: self,
            families,
            number,
            places: Vec::new(),
        };
        let used = sections.replay(record, &mut to);
        self.sections = sections;
        let mut used = used?;
        self.sections_changed |= batch::ops(record).any(|op| match op {
            Ok(op) => op.marker().is_some(),
            Err(_) => false,
        });
        let noted = used == 0 && Link::decode(record).is_none();
        if noted {
            used = 1; // log data alone, or a section, took a number
        }
        let last = (batch::sequence(record) + used).saturating_sub(1);
        self.repeats = match noted {
            true => self.repeats || last >= self.read_to,
            false => self.repeats && used == 0,
        };
        self.read_to = self.read_to.max(last);
        Ok(())
    }

    fn memtable(&mut self, cf: &CfVersion, options: &CfOptions, log: u64) -> Arc<Memtable> {
        let all = self.memtables.entry(cf.id).or_default();
        match all.last() {
            Some((of, mem)) if *of == log && !mem.is_full() => mem.clone(),
            _ => {
                let home = Home {
                    family: &cf.name,
                    budget_client: None,
                };
                self.next_id += 1;
                let mem = Memtable::new(options, home, log, self.next_id);
                all.push((log, mem.clone()));
                mem
            }
        }
    }

    /// The memtables whose entries are not in tables in `recovered`, by column family,
    /// oldest first. Forgets the others.
    pub fn memtables(&mut self, recovered: &Recovered) -> BTreeMap<u32, Vec<Arc<Memtable>>> {
        self.memtables
            .retain(|id, _| recovered.column_families.contains_key(id));
        let families = self.memtables.iter_mut().map(|(id, all)| {
            let needed_from = recovered.column_families[id].log_number;
            all.retain(|(log, _)| *log >= needed_from);
            (*id, all.iter().map(|(_, mem)| mem.clone()).collect())
        });
        families.collect()
    }
}

/// Puts the entries of one record of log `number` into memtables.
struct ToMemtables<'a, 'b> {
    tail: &'a mut Tail,
    families: &'a Families<'b>,
    number: u64,
    /// The memtables that got entries. All of a record, and of a section that it commits, goes
    /// into one memtable of each column family, because readers may have the view from before
    /// the next one: upholds N1.
    places: Vec<(u32, Arc<Memtable>)>,
}

impl Replays for ToMemtables<'_, '_> {
    fn timestamp_size(&self, cf: u32) -> usize {
        let family = self.families.of_log(cf, u64::MAX);
        family.map_or(0, |(_, options)| options.comparator.timestamp_size())
    }

    fn insert(&mut self, entry: ReplayedEntry<'_>) -> Result<()> {
        let Some((cf, options)) = self.families.of_log(entry.cf, self.number) else {
            return Ok(());
        };
        let mem = match self.places.iter().find(|(of, _)| *of == entry.cf) {
            Some((_, mem)) => mem.clone(),
            None => {
                let mem = self.tail.memtable(cf, options, self.number);
                self.places.push((entry.cf, mem.clone()));
                mem
            }
        };
        let mut inserter = Inserter::new(false);
        inserter.add_logged(&mem, entry.ty, entry.key, entry.value, entry.number)?;
        inserter.finish()?;
        Ok(())
    }
}
