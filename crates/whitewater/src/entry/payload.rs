//! What an entry's type and stored bytes say about its key.
//!
//! This is the only place that knows which types give a value, which delete, and where in the
//! stored bytes the value is. Look-ups and iterators share it.

use std::ops::Range;
use whitewater_storage::entity::{self, ColumnValue};
use whitewater_storage::key::ValueType;
use whitewater_storage::{Error, Result};

/// What an entry means for its user key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Payload {
    /// A base value, which is this part of the stored bytes.
    Value(Range<usize>),
    /// A base value in a blob file. This part of the stored bytes is its index.
    Blob(Range<usize>),
    /// A merge operand, which is all of the stored bytes.
    Operand,
    /// The key is deleted.
    Deletion,
}

/// Determines what an entry of type `ty` with the bytes `stored` means.
///
/// The value of a wide-column entity is its default column, for reads and for merges; an entity
/// without a default column is an empty value, as in RocksDB.
///
/// # Errors
/// `NotSupported` for entry types that the engine does not read; `Corruption` for bytes that do
/// not fit the type.
#[inline]
pub(crate) fn payload(ty: ValueType, stored: &[u8]) -> Result<Payload> {
    match ty {
        ValueType::Value => Ok(Payload::Value(0..stored.len())),
        ValueType::Deletion | ValueType::SingleDeletion | ValueType::DeletionWithTimestamp => {
            Ok(Payload::Deletion)
        }
        ValueType::Merge => Ok(Payload::Operand),
        _ => unusual(ty, stored),
    }
}

#[cold]
fn unusual(ty: ValueType, stored: &[u8]) -> Result<Payload> {
    match ty {
        ValueType::ValuePreferredSeqno => match stored.len().checked_sub(8) {
            Some(len) => Ok(Payload::Value(0..len)),
            None => Err(Error::corruption(format_args!(
                "value with a preferred sequence number of {} bytes",
                stored.len()
            ))),
        },
        ValueType::WideColumnEntity => Ok(match entity::default_column(stored)? {
            Some(ColumnValue::Inline(range)) => Payload::Value(range),
            Some(ColumnValue::Blob(range)) => Payload::Blob(range),
            None => Payload::Value(0..0),
        }),
        ValueType::BlobIndex => Ok(Payload::Blob(0..stored.len())),
        _ => Err(Error::corruption(format_args!(
            "entry of type {ty:?} among the points"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::testing::{entity_v1, entity_v2};
    use whitewater_storage::ErrorKind;

    #[test]
    fn an_entity_is_its_default_column() {
        let ty = ValueType::WideColumnEntity;
        for make in [entity_v1, entity_v2] {
            let columns: &[(&[u8], &[u8])] = &[(b"", b"hello"), (b"a", b"x")];
            let whole = make(columns);
            let Payload::Value(range) = payload(ty, &whole).unwrap() else {
                panic!("no value");
            };
            assert_eq!(&whole[range], b"hello");
            let bare = make(&columns[1..]);
            assert_eq!(payload(ty, &bare), Ok(Payload::Value(0..0)));
        }
        assert!(payload(ty, b"").is_err());
    }

    #[test]
    fn types_that_are_not_read_say_so() {
        let kind = |ty| payload(ty, b"12345678").unwrap_err().kind();
        assert_eq!(kind(ValueType::RangeDeletion), ErrorKind::Corruption);
        let ty = ValueType::ValuePreferredSeqno;
        assert_eq!(payload(ty, b"v12345678"), Ok(Payload::Value(0..1)));
        assert!(payload(ty, b"1234567").is_err());
        let ty = ValueType::BlobIndex;
        assert_eq!(payload(ty, b"1234567"), Ok(Payload::Blob(0..7)));
    }
}
