//! A write, in the two forms that the protocols want it in.
//!
//! The steps work on a [`Write`], which borrows what it can. A leader works on the
//! requests of other threads, which have to own their batch: [`WriteRequest`].
//!
//! A write of two-phase commit ([`SectionWrite`]) is always a request.
//!
//! Operations come as a batch, the form of the log and of requests. A single operation
//! whose writer does everything by itself needs no batch: the log takes it in parts
//! ([`Record`](super::record::Record)).

use crate::memtable::operations::Operations;
use crate::memtable::sections::SectionWrite;
use whitewater_storage::batch::Batch;
use whitewater_storage::planted;

/// How to commit a write.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WriteFlags {
    pub sync: bool,
    pub disable_wal: bool,
    /// See [`WriteSpec`](crate::options::read::WriteSpec).
    pub insert_hint: bool,
    /// Fail with `Incomplete` instead of waiting for a write stall to end.
    pub no_slowdown: bool,
    /// Give way to compactions when they are behind.
    pub low_pri: bool,
    /// The insert reads everything before it (`db::merge_folding`), so it begins only when all of
    /// that is in the memtables.
    pub reads_own_prefix: bool,
    /// It takes a number in a group even if it is log data alone: in databases that number the
    /// operations of logs by batches (`Numbering::PerBatch`), where its record uses up one.
    pub takes_number: bool,
}

/// What is committed. Operations on column families that do not exist take their numbers
/// and are not inserted.
#[derive(Debug)]
enum Content {
    Batch(Batch),
    Section(SectionWrite),
}

/// A write that owns its operations.
#[derive(Debug)]
pub(crate) struct WriteRequest {
    content: Content,
    pub flags: WriteFlags,
}

impl WriteRequest {
    /// Commits `batch`.
    #[inline]
    pub fn new(batch: Batch, flags: WriteFlags) -> Self {
        WriteRequest {
            content: Content::Batch(batch),
            flags,
        }
    }

    /// Commits a write of two-phase commit, which is always logged.
    pub fn of_section(write: SectionWrite, flags: WriteFlags) -> Self {
        let mut is_logged = true;
        planted!(DecisionNotLogged => is_logged = match write {
            SectionWrite::Prepare(_) => true,
            _ => !flags.disable_wal,
        });
        WriteRequest {
            content: Content::Section(write),
            flags: WriteFlags {
                disable_wal: !is_logged,
                ..flags
            },
        }
    }

    /// The form that the steps work on.
    #[inline]
    pub fn write(&self) -> Write<'_> {
        let operations = match &self.content {
            Content::Batch(batch) => Operations::Batch(batch),
            Content::Section(write) => Operations::Section(write),
        };
        Write {
            operations,
            flags: self.flags,
        }
    }

    /// The write of two-phase commit that it is.
    #[inline]
    pub fn section(&self) -> Option<&SectionWrite> {
        match &self.content {
            Content::Batch(_) => None,
            Content::Section(write) => Some(write),
        }
    }

    /// What is logged.
    #[inline]
    pub fn logged(&self) -> &Batch {
        match &self.content {
            Content::Batch(batch) => batch,
            Content::Section(write) => write.logged(),
        }
    }

    /// Sequence numbers that it takes in a group: none for log data alone, but for
    /// [`takes_number`](WriteFlags::takes_number).
    #[inline]
    pub fn numbers(&self) -> u64 {
        match &self.content {
            Content::Batch(batch) => {
                u64::from(batch.count()).max(u64::from(self.flags.takes_number))
            }
            Content::Section(write) => write.numbers(),
        }
    }

    /// Whether its record must not be merged with others. RocksDB counts the numbers of what
    /// follows a section or a decision in a record by other rules.
    #[inline]
    pub fn has_own_record(&self) -> bool {
        self.section().is_some()
    }

    /// The batch, for its memory.
    #[inline]
    pub fn into_batch(self) -> Option<Batch> {
        match self.content {
            Content::Batch(batch) => Some(batch),
            Content::Section(_) => None,
        }
    }
}

/// Operations to commit, and how.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Write<'a> {
    pub operations: Operations<'a>,
    pub flags: WriteFlags,
}
