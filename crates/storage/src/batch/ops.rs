//! The operations of a batch: their tags and how they are decoded.

use super::{HEADER_SIZE, PrepareKind, has_value};
use crate::coding::{get_length_prefixed, get_varint32};
use crate::error::{Error, Result};
use crate::key::ValueType;

/// The size of the time at the end of the value of an entry of type `ValuePreferredSeqno`: when it
/// was written, in seconds since 1970.
pub const TIME_SIZE: usize = 8;

/// Tags that occur only in batches.
pub(super) mod tags {
    pub const LOG_DATA: u8 = 0x03;
    pub const NOOP: u8 = 0x0d;
    pub const CF_DELETION: u8 = 0x04;
    pub const CF_VALUE: u8 = 0x05;
    pub const CF_MERGE: u8 = 0x06;
    pub const CF_SINGLE_DELETION: u8 = 0x08;
    pub const CF_RANGE_DELETION: u8 = 0x0e;
    pub const CF_BLOB_INDEX: u8 = 0x10;
    pub const CF_WIDE_COLUMN_ENTITY: u8 = 0x17;
    pub const CF_VALUE_PREFERRED_SEQNO: u8 = 0x19;
    pub const BEGIN_PREPARE: u8 = 0x09;
    pub const END_PREPARE: u8 = 0x0a;
    pub const COMMIT: u8 = 0x0b;
    pub const ROLLBACK: u8 = 0x0c;
    pub const BEGIN_PERSISTED_PREPARE: u8 = 0x12;
    pub const BEGIN_UNPREPARED: u8 = 0x13;
    pub const COMMIT_WITH_TIMESTAMP: u8 = 0x15;
}

/// One operation of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op<'a> {
    /// An operation that takes a sequence number and is inserted into a memtable. For
    /// `RangeDeletion`, `key` and `value` are the begin and end keys.
    Entry {
        /// Column family id.
        cf: u32,
        /// Its type.
        ty: ValueType,
        /// User key.
        key: &'a [u8],
        /// Value, operand or end key; empty for deletions.
        value: &'a [u8],
    },
    /// Application bytes that go to the log only.
    LogData(&'a [u8]),
    /// Nothing. A transaction's batch begins with it, and [`Batch::mark_prepared`] makes it the
    /// beginning of a prepared section. Under [`Numbering::PerBatch`] it also ends a batch within a
    /// log record.
    ///
    /// [`Batch::mark_prepared`]: super::Batch::mark_prepared
    /// [`Numbering::PerBatch`]: super::Numbering::PerBatch
    Noop,
    /// The beginning of a prepared section: the operations up to [`Op::EndPrepare`] belong to a
    /// transaction that is decided later.
    BeginPrepare(PrepareKind),
    /// The end of a prepared section, with the name of its transaction.
    EndPrepare(&'a [u8]),
    /// The transaction of that name is committed.
    Commit(&'a [u8]),
    /// The same, with the timestamp that its keys get.
    CommitAt {
        /// The commit timestamp, as it stands behind user keys.
        timestamp: &'a [u8],
        /// Name of the transaction.
        xid: &'a [u8],
    },
    /// The transaction of that name is rolled back.
    Rollback(&'a [u8]),
}

impl Op<'_> {
    /// The name of a marker of two-phase commit, as RocksDB's tools print it; `None` for all other
    /// operations.
    pub fn marker(&self) -> Option<&'static str> {
        match self {
            Op::Entry { .. } | Op::LogData(_) | Op::Noop => None,
            Op::BeginPrepare(PrepareKind::Unprepared) => Some("BEGIN_PREPARE(true)"),
            Op::BeginPrepare(_) => Some("BEGIN_PREPARE(false)"),
            Op::EndPrepare(_) => Some("END_PREPARE"),
            Op::Commit(_) => Some("COMMIT"),
            Op::CommitAt { .. } => Some("COMMIT_WITH_TIMESTAMP"),
            Op::Rollback(_) => Some("ROLLBACK"),
        }
    }
}

/// The operations of the batch `rep`.
pub fn ops(rep: &[u8]) -> Ops<'_> {
    Ops {
        rest: rep.get(HEADER_SIZE..).unwrap_or(&[]),
        len: rep.len(),
    }
}

/// The operations of the batch `rep` that take a sequence number: column family, type, key and
/// value.
pub(super) fn entries(rep: &[u8]) -> impl Iterator<Item = Result<(u32, ValueType, &[u8], &[u8])>> {
    ops(rep).filter_map(|op| match op {
        Ok(Op::Entry { cf, ty, key, value }) => Some(Ok((cf, ty, key, value))),
        Ok(_) => None,
        Err(e) => Some(Err(e)),
    })
}

/// Iterates over operations, and ends after the first error.
#[derive(Debug, Clone)]
pub struct Ops<'a> {
    rest: &'a [u8],
    len: usize,
}

impl<'a> Ops<'a> {
    /// Ends the iteration.
    pub(super) fn stop(&mut self) {
        self.rest = &[];
    }

    /// Bytes of the batch before the next operation.
    pub(super) fn offset(&self) -> usize {
        self.len - self.rest.len()
    }

    fn decode(&mut self) -> Result<Op<'a>> {
        let at = self.offset();
        let bad = |what: &str| bad_operation(what, at);
        let Some((&tag, rest)) = self.rest.split_first() else {
            return Err(bad("missing operation"));
        };
        let mut src = rest;
        let mut bytes = |what| get_length_prefixed(&mut src).ok_or_else(|| bad(what));
        let op = match tag {
            tags::LOG_DATA => Op::LogData(bytes("torn log data")?),
            tags::NOOP => Op::Noop,
            tags::BEGIN_PREPARE => Op::BeginPrepare(PrepareKind::Committed),
            tags::BEGIN_PERSISTED_PREPARE => Op::BeginPrepare(PrepareKind::Persisted),
            tags::BEGIN_UNPREPARED => Op::BeginPrepare(PrepareKind::Unprepared),
            tags::END_PREPARE => Op::EndPrepare(bytes("torn transaction name")?),
            tags::COMMIT => Op::Commit(bytes("torn transaction name")?),
            tags::ROLLBACK => Op::Rollback(bytes("torn transaction name")?),
            tags::COMMIT_WITH_TIMESTAMP => Op::CommitAt {
                timestamp: bytes("torn commit timestamp")?,
                xid: bytes("torn transaction name")?,
            },
            _ => {
                let Some((ty, in_cf)) = entry_type(tag) else {
                    return Err(unknown_tag(tag, at));
                };
                entry(&mut src, ty, in_cf).map_err(bad)?
            }
        };
        self.rest = src;
        Ok(op)
    }
}

// These two are apart so that decoding needs no room for their formatting.

#[cold]
fn bad_operation(what: &str, at: usize) -> Error {
    Error::corruption(format_args!("{what} at byte {at} of a write batch"))
}

#[cold]
fn unknown_tag(tag: u8, at: usize) -> Error {
    bad_operation(&format!("unknown tag {tag:#04x}"), at)
}

/// The type of the entry with tag `tag`, and whether it names its column family.
#[inline]
fn entry_type(tag: u8) -> Option<(ValueType, bool)> {
    let ty = match tag {
        tags::CF_DELETION => ValueType::Deletion,
        tags::CF_VALUE => ValueType::Value,
        tags::CF_MERGE => ValueType::Merge,
        tags::CF_SINGLE_DELETION => ValueType::SingleDeletion,
        tags::CF_RANGE_DELETION => ValueType::RangeDeletion,
        tags::CF_BLOB_INDEX => ValueType::BlobIndex,
        tags::CF_WIDE_COLUMN_ENTITY => ValueType::WideColumnEntity,
        tags::CF_VALUE_PREFERRED_SEQNO => ValueType::ValuePreferredSeqno,
        _ => {
            let ty = ValueType::from_u8(tag)?;
            return (ty != ValueType::DeletionWithTimestamp).then_some((ty, false));
        }
    };
    Some((ty, true))
}

/// Decodes the fields of an entry of type `ty`. The error says what is wrong.
#[inline]
fn entry<'a>(src: &mut &'a [u8], ty: ValueType, in_cf: bool) -> Result<Op<'a>, &'static str> {
    let cf = if in_cf {
        get_varint32(src).ok_or("torn column family id")?
    } else {
        0
    };
    let key = get_length_prefixed(src).ok_or("torn key")?;
    let value = if has_value(ty) {
        get_length_prefixed(src).ok_or("torn value")?
    } else {
        &[]
    };
    if ty == ValueType::ValuePreferredSeqno && value.len() < TIME_SIZE {
        return Err("value without its time");
    }
    Ok(Op::Entry { cf, ty, key, value })
}

impl<'a> Iterator for Ops<'a> {
    type Item = Result<Op<'a>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let op = self.decode();
        if op.is_err() {
            self.stop();
        }
        Some(op)
    }
}
