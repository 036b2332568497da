//! What an entry's type and stored bytes say about its key.
//!
//! The one place that knows which types give a value, which delete, and where
//! in the stored bytes the value is. Shared by look-ups and iterators.

use std::ops::Range;
use whitewater_storage::coding::{get_length_prefixed, get_varint32};
use whitewater_storage::key::ValueType;
use whitewater_storage::{Error, Result};

/// What an entry means for its user key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Payload {
    /// A base value: this part of the stored bytes.
    Value(Range<usize>),
    /// A wide-column entity without a default column: plain reads see an empty
    /// value, a merge sees no value.
    NoDefaultColumn,
    /// An operand: all of the stored bytes.
    Operand,
    /// The key is deleted.
    Deletion,
}

/// What an entry of type `ty` with the bytes `stored` means.
///
/// # Errors
/// `NotSupported` for entry types the engine does not read, `Corruption` for
/// bytes that do not fit the type.
#[inline]
pub(crate) fn payload(ty: ValueType, stored: &[u8]) -> Result<Payload> {
    match ty {
        ValueType::Value => Ok(Payload::Value(0..stored.len())),
        ValueType::Deletion | ValueType::SingleDeletion => Ok(Payload::Deletion),
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
        ValueType::WideColumnEntity => {
            Ok(default_column(stored)?.map_or(Payload::NoDefaultColumn, Payload::Value))
        }
        ValueType::BlobIndex => Err(Error::not_supported("values in blob files")),
        ValueType::DeletionWithTimestamp => Err(Error::not_supported("user-defined timestamps")),
        _ => Err(Error::corruption(format_args!(
            "entry of type {ty:?} among the points"
        ))),
    }
}

/// Where the value of the default column is in a wide-column entity; `None`
/// when the entity has no default column. Columns are sorted by name and the
/// default column's name is empty, so it can only be the first.
///
/// # Errors
/// `Corruption` for bytes that are no entity, `NotSupported` for newer layouts
/// and for a default column in a blob file.
pub(crate) fn default_column(entity: &[u8]) -> Result<Option<Range<usize>>> {
    let mut src = entity;
    let version = get_varint32(&mut src).ok_or_else(bad_entity)?;
    let columns = get_varint32(&mut src).ok_or_else(bad_entity)?;
    if version == 0 {
        return Err(bad_entity());
    }
    if version > 2 {
        return Err(Error::not_supported(format_args!(
            "wide-column entity of version {version}"
        )));
    }
    if columns == 0 {
        return Ok(None);
    }
    // Every column takes at least two bytes, so the count is bounded by the
    // bytes at hand before anything loops over it.
    if columns as usize > src.len() / 2 {
        return Err(bad_entity());
    }
    let size = match version {
        1 => first_size_v1(&mut src, columns),
        _ => first_size_v2(&mut src, columns as usize),
    }?;
    let Some(size) = size else { return Ok(None) };
    let start = entity.len() - src.len();
    if size > src.len() {
        return Err(bad_entity());
    }
    Ok(Some(start..start + size))
}

/// Version 1: `columns` times (length-prefixed name, value size), then values.
/// Leaves `src` at the values; gives the default column's size.
fn first_size_v1(src: &mut &[u8], columns: u32) -> Result<Option<usize>> {
    let mut first = None;
    for i in 0..columns {
        let name = get_length_prefixed(src).ok_or_else(bad_entity)?;
        let size = get_varint32(src).ok_or_else(bad_entity)?;
        if i == 0 && name.is_empty() {
            first = Some(size as usize);
        }
    }
    Ok(first)
}

/// Version 2: byte lengths of the three sections, a type byte per column, name
/// sizes, value sizes, names, then values. Leaves `src` at the values; gives
/// the default column's size.
fn first_size_v2(src: &mut &[u8], columns: usize) -> Result<Option<usize>> {
    let mut section = || get_varint32(src).map(|n| n as usize).ok_or_else(bad_entity);
    let (name_sizes, value_sizes, names) = (section()?, section()?, section()?);
    let types = take(src, columns)?;
    let mut name_sizes = take(src, name_sizes)?;
    let mut value_sizes = take(src, value_sizes)?;
    take(src, names)?;
    let name = get_varint32(&mut name_sizes).ok_or_else(bad_entity)?;
    let size = get_varint32(&mut value_sizes).ok_or_else(bad_entity)?;
    if name != 0 {
        return Ok(None);
    }
    match types[0] {
        0x01 => Ok(Some(size as usize)),
        0x11 => Err(Error::not_supported("values in blob files")),
        _ => Err(bad_entity()),
    }
}

fn take<'a>(src: &mut &'a [u8], len: usize) -> Result<&'a [u8]> {
    let (head, rest) = src.split_at_checked(len).ok_or_else(bad_entity)?;
    *src = rest;
    Ok(head)
}

fn bad_entity() -> Error {
    Error::corruption("malformed wide-column entity")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::testing::{entity_v1, entity_v2};
    use whitewater_storage::ErrorKind;

    fn default_of(entity: &[u8]) -> Option<&[u8]> {
        default_column(entity).unwrap().map(|r| &entity[r])
    }

    #[test]
    fn the_default_column_is_found_in_both_versions() {
        for make in [entity_v1, entity_v2] {
            let columns: &[(&[u8], &[u8])] = &[(b"", b"hello"), (b"a", b"x"), (b"b", b"")];
            assert_eq!(default_of(&make(columns)), Some(&b"hello"[..]));
            assert_eq!(default_of(&make(&columns[1..])), None);
            assert_eq!(default_of(&make(&[(b"", b"")])), Some(&b""[..]));
            assert_eq!(default_of(&make(&[])), None);
        }
    }

    #[test]
    fn damaged_entities_are_errors_or_other_values_but_never_panics() {
        for make in [entity_v1, entity_v2] {
            let good = make(&[(b"", b"hello"), (b"name", b"value"), (b"z", b"1")]);
            for len in 0..good.len() {
                let _ = default_column(&good[..len]);
                for flip in 0..8 {
                    let mut bad = good.clone();
                    bad[len] ^= 1 << flip;
                    if let Ok(Some(r)) = default_column(&bad) {
                        assert!(r.end <= bad.len());
                    }
                }
            }
            for len in 0..8 {
                assert!(default_column(&good[..len]).is_err(), "{len}");
            }
        }
        let kind = |e: &[u8]| default_column(e).unwrap_err().kind();
        assert_eq!(kind(&[]), ErrorKind::Corruption);
        assert_eq!(kind(&[0, 0]), ErrorKind::Corruption);
        assert_eq!(kind(&[3, 0]), ErrorKind::NotSupported);
        assert_eq!(kind(&[1, 0xff, 0xff, 0xff, 0x7f]), ErrorKind::Corruption);
    }

    #[test]
    fn types_that_are_not_read_say_so() {
        let kind = |ty| payload(ty, b"12345678").unwrap_err().kind();
        assert_eq!(kind(ValueType::BlobIndex), ErrorKind::NotSupported);
        assert_eq!(
            kind(ValueType::DeletionWithTimestamp),
            ErrorKind::NotSupported
        );
        assert_eq!(kind(ValueType::RangeDeletion), ErrorKind::Corruption);
        let ty = ValueType::ValuePreferredSeqno;
        assert_eq!(payload(ty, b"v12345678"), Ok(Payload::Value(0..1)));
        assert!(payload(ty, b"1234567").is_err());
    }
}
