//! Wide-column entities: several named values under one key.
//!
//! An entity is stored as the value of an entry of type `WideColumnEntity`. Columns are sorted by
//! name. The column without a name is the *default column*, which plain reads return. Version 1
//! holds its values in place; in version 2 a column may be a [blob index](crate::blob::BlobIndex).

use crate::coding::{get_length_prefixed, get_varint32, put_length_prefixed, put_varint32};
use crate::error::{Error, Result};
use std::ops::Range;

/// The type of a column whose value is in place.
const INLINE: u8 = 0x01;
/// The type of a column whose value is in a blob file.
const BLOB: u8 = 0x11;

/// The location of a column's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnValue {
    /// The value is these bytes of the entity.
    Inline(Range<usize>),
    /// These bytes of the entity are a blob index, which points to the value.
    Blob(Range<usize>),
}

/// One column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column<'a> {
    /// Its name; empty for the default column.
    pub name: &'a [u8],
    /// Its value.
    pub value: ColumnValue,
}

/// The value of the default column; `None` if there is no such column. It can only be the first
/// column, because columns are sorted by name.
///
/// # Errors
/// `Corruption` for bytes that are not an entity; `NotSupported` for newer versions.
pub fn default_column(entity: &[u8]) -> Result<Option<ColumnValue>> {
    let first = Columns::new(entity)?.next().transpose()?;
    Ok(first.filter(|c| c.name.is_empty()).map(|c| c.value))
}

/// All columns, in the order of their names.
///
/// # Errors
/// As [`default_column`], and `Corruption` for columns that are out of order.
pub fn columns(entity: &[u8]) -> Result<Vec<Column<'_>>> {
    let columns = Columns::new(entity)?.collect::<Result<Vec<_>>>()?;
    if columns.windows(2).all(|w| w[0].name < w[1].name) {
        Ok(columns)
    } else {
        Err(out_of_order())
    }
}

/// A column of a wide-column entity: its name and its value, borrowed. The column without a name is
/// the default column, the one that plain reads return.
///
/// Pairs are columns, too: what takes columns takes `("name", "value")`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct WideColumn<'a> {
    /// The name; empty for the default column.
    pub name: &'a [u8],
    /// The value.
    pub value: &'a [u8],
}

/// The name of the default column, which is empty.
pub const DEFAULT_WIDE_COLUMN_NAME: &[u8] = b"";

impl<'a> WideColumn<'a> {
    /// A column.
    pub fn new<N, V>(name: &'a N, value: &'a V) -> Self
    where
        N: AsRef<[u8]> + ?Sized,
        V: AsRef<[u8]> + ?Sized,
    {
        WideColumn {
            name: name.as_ref(),
            value: value.as_ref(),
        }
    }
}

impl<'a, N, V> From<(&'a N, &'a V)> for WideColumn<'a>
where
    N: AsRef<[u8]> + ?Sized,
    V: AsRef<[u8]> + ?Sized,
{
    fn from((name, value): (&'a N, &'a V)) -> Self {
        WideColumn::new(name, value)
    }
}

impl<'a, N: AsRef<[u8]>, V: AsRef<[u8]>> From<&'a (N, V)> for WideColumn<'a> {
    fn from((name, value): &'a (N, V)) -> Self {
        WideColumn::new(name, value)
    }
}

impl<'a> From<&WideColumn<'a>> for WideColumn<'a> {
    fn from(column: &WideColumn<'a>) -> Self {
        *column
    }
}

/// What is known of an entity once all of it was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// The value of the default column, if there is one.
    pub default: Option<ColumnValue>,
    /// Whether a column is in a blob file.
    pub has_blobs: bool,
}

/// Checks all of an entity, without collecting its columns.
///
/// # Errors
/// As [`columns`].
pub fn shape(entity: &[u8]) -> Result<Shape> {
    let (mut default, mut has_blobs) = (None, false);
    let mut last: Option<&[u8]> = None;
    for column in Columns::new(entity)? {
        let Column { name, value } = column?;
        if last.is_some_and(|last| last >= name) {
            return Err(out_of_order());
        }
        last = Some(name);
        has_blobs |= matches!(value, ColumnValue::Blob(_));
        if name.is_empty() {
            default = Some(value);
        }
    }
    Ok(Shape { default, has_blobs })
}

/// Encodes an entity of version 1 from columns in any order.
///
/// # Errors
/// RocksDB's: `Corruption` for two columns of one name, `InvalidArgument` for more columns or
/// bytes than the format has room for.
pub fn encode_sorted(mut columns: Vec<(&[u8], &[u8])>) -> Result<Vec<u8>> {
    let limit = u32::MAX as usize;
    if columns.len() > limit {
        return Err(Error::invalid("Too many wide columns"));
    }
    columns.sort_unstable_by_key(|(name, _)| *name);
    if columns.windows(2).any(|w| w[0].0 == w[1].0) {
        return Err(out_of_order());
    }
    for (name, value) in &columns {
        if name.len() > limit {
            return Err(Error::invalid("Wide column name too long"));
        }
        if value.len() > limit {
            return Err(Error::invalid("Wide column value too long"));
        }
    }
    Ok(encode(&columns))
}

/// Encodes an entity of version 1. The columns must be sorted by name.
pub fn encode(columns: &[(&[u8], &[u8])]) -> Vec<u8> {
    let mut dst = Vec::new();
    put_varint32(&mut dst, 1);
    put_varint32(&mut dst, columns.len() as u32);
    for (name, value) in columns {
        put_length_prefixed(&mut dst, name);
        put_varint32(&mut dst, value.len() as u32);
    }
    for (_, value) in columns {
        dst.extend_from_slice(value);
    }
    dst
}

/// Decodes an entity column by column.
struct Columns<'a> {
    encoding: Encoding<'a>,
    left: usize,
    /// The offset of the next value.
    at: usize,
    end: usize,
}

/// The descriptions of the remaining columns, by version.
enum Encoding<'a> {
    /// For each column its name, prefixed with its length, and the size of its value.
    V1(&'a [u8]),
    V2 {
        types: &'a [u8],
        name_sizes: &'a [u8],
        value_sizes: &'a [u8],
        names: &'a [u8],
    },
}

impl<'a> Columns<'a> {
    fn new(entity: &'a [u8]) -> Result<Self> {
        let mut src = entity;
        let version = get_varint32(&mut src).ok_or_else(bad)?;
        let count = get_varint32(&mut src).ok_or_else(bad)? as usize;
        if version == 0 {
            return Err(bad());
        }
        if version > 2 {
            return Err(Error::not_supported(format_args!(
                "wide-column entity of version {version}"
            )));
        }
        // Every column takes at least two bytes, so the bytes bound the count before any loop
        // over it.
        if count > src.len() / 2 {
            return Err(bad());
        }
        let encoding = match version {
            _ if count == 0 => Encoding::V1(&[]),
            1 => {
                let index = src;
                for _ in 0..count {
                    get_length_prefixed(&mut src).ok_or_else(bad)?;
                    get_varint32(&mut src).ok_or_else(bad)?;
                }
                Encoding::V1(&index[..index.len() - src.len()])
            }
            _ => {
                let mut size = || get_varint32(&mut src).map(|n| n as usize).ok_or_else(bad);
                let (name_sizes, value_sizes, names) = (size()?, size()?, size()?);
                Encoding::V2 {
                    types: take(&mut src, count)?,
                    name_sizes: take(&mut src, name_sizes)?,
                    value_sizes: take(&mut src, value_sizes)?,
                    names: take(&mut src, names)?,
                }
            }
        };
        Ok(Columns {
            encoding,
            left: count,
            at: entity.len() - src.len(),
            end: entity.len(),
        })
    }

    fn read(&mut self) -> Result<Column<'a>> {
        let (name, size, ty) = match &mut self.encoding {
            Encoding::V1(index) => {
                let name = get_length_prefixed(index).ok_or_else(bad)?;
                (name, get_varint32(index).ok_or_else(bad)?, INLINE)
            }
            Encoding::V2 {
                types,
                name_sizes,
                value_sizes,
                names,
            } => {
                let name = get_varint32(name_sizes).ok_or_else(bad)? as usize;
                let size = get_varint32(value_sizes).ok_or_else(bad)?;
                (take(names, name)?, size, take(types, 1)?[0])
            }
        };
        let start = self.at;
        self.at = start.checked_add(size as usize).ok_or_else(bad)?;
        if self.at > self.end {
            return Err(bad());
        }
        let range = start..self.at;
        Ok(Column {
            name,
            value: match ty {
                INLINE => ColumnValue::Inline(range),
                BLOB => ColumnValue::Blob(range),
                _ => return Err(bad()),
            },
        })
    }
}

impl<'a> Iterator for Columns<'a> {
    type Item = Result<Column<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let column = self.read();
        if column.is_err() {
            self.left = 0;
        }
        Some(column)
    }
}

fn take<'a>(src: &mut &'a [u8], len: usize) -> Result<&'a [u8]> {
    let (head, rest) = src.split_at_checked(len).ok_or_else(bad)?;
    *src = rest;
    Ok(head)
}

fn bad() -> Error {
    Error::corruption("malformed wide-column entity")
}

/// RocksDB's text.
fn out_of_order() -> Error {
    Error::corruption("Wide columns out of order")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    /// An entity of version 2; columns with a type other than 1 are not inline.
    fn v2(columns: &[(&[u8], u8, &[u8])]) -> Vec<u8> {
        let (mut name_sizes, mut value_sizes) = (Vec::new(), Vec::new());
        for (name, _, value) in columns {
            put_varint32(&mut name_sizes, name.len() as u32);
            put_varint32(&mut value_sizes, value.len() as u32);
        }
        let names: usize = columns.iter().map(|(n, ..)| n.len()).sum();
        let mut e = Vec::new();
        for n in [2, columns.len(), name_sizes.len(), value_sizes.len(), names] {
            put_varint32(&mut e, n as u32);
        }
        e.extend(columns.iter().map(|(_, ty, _)| ty));
        e.extend_from_slice(&name_sizes);
        e.extend_from_slice(&value_sizes);
        columns.iter().for_each(|(n, ..)| e.extend_from_slice(n));
        columns.iter().for_each(|(.., v)| e.extend_from_slice(v));
        e
    }

    fn v2_inline(columns: &[(&[u8], &[u8])]) -> Vec<u8> {
        v2(&columns.iter().map(|(n, v)| (*n, 1, *v)).collect::<Vec<_>>())
    }

    fn inline<'a>(entity: &'a [u8], value: &ColumnValue) -> &'a [u8] {
        match value {
            ColumnValue::Inline(range) => &entity[range.clone()],
            ColumnValue::Blob(_) => panic!("a blob"),
        }
    }

    #[test]
    fn columns_are_found_in_both_versions() {
        for make in [encode, v2_inline] {
            let all: &[(&[u8], &[u8])] = &[(b"", b"hello"), (b"a", b"x"), (b"b", b"")];
            for some in [all, &all[1..], &all[..1], &[]] {
                let entity = make(some);
                let found = columns(&entity).unwrap();
                let found: Vec<(&[u8], &[u8])> = (found.iter())
                    .map(|c| (c.name, inline(&entity, &c.value)))
                    .collect();
                assert_eq!(found, some);
                let default = default_column(&entity).unwrap();
                let expected = some.first().filter(|(name, _)| name.is_empty());
                assert_eq!(
                    default.map(|value| inline(&entity, &value)),
                    expected.map(|(_, value)| *value)
                );
            }
        }
    }

    #[test]
    fn blob_columns_are_told_from_others() {
        let entity = v2(&[(b"", 0x11, b"index"), (b"a", 1, b"x")]);
        let Some(ColumnValue::Blob(range)) = default_column(&entity).unwrap() else {
            panic!("not a blob");
        };
        assert_eq!(&entity[range], b"index");
        assert!(default_column(&v2(&[(b"", 0x12, b"index")])).is_err());
        assert!(columns(&v2_inline(&[(b"b", b""), (b"a", b"")])).is_err());
    }

    #[test]
    fn columns_are_sorted_and_a_name_counts_once() {
        let some: Vec<(&[u8], &[u8])> = vec![(b"b", b"2"), (b"", b"0"), (b"a", b"1")];
        let sorted: &[(&[u8], &[u8])] = &[(b"", b"0"), (b"a", b"1"), (b"b", b"2")];
        assert_eq!(encode_sorted(some).unwrap(), encode(sorted));
        assert_eq!(encode_sorted(Vec::new()).unwrap(), encode(&[]));
        let twice = encode_sorted(vec![(b"a", b"1"), (b"b", b""), (b"a", b"2")]).unwrap_err();
        assert_eq!(twice.kind(), ErrorKind::Corruption);
        assert_eq!(twice.to_string(), "Corruption: Wide columns out of order");
    }

    #[test]
    fn the_shape_of_an_entity_is_that_of_its_columns() {
        for entity in [
            encode(&[]),
            encode(&[(b"", b"v"), (b"a", b"x")]),
            v2_inline(&[(b"a", b"x"), (b"b", b"")]),
            v2(&[(b"", 0x11, b"index"), (b"a", 1, b"x")]),
            v2(&[(b"", 1, b"v"), (b"a", 0x11, b"index")]),
        ] {
            let found = shape(&entity).unwrap();
            assert_eq!(found.default, default_column(&entity).unwrap());
            let columns = columns(&entity).unwrap();
            let mut all = columns.iter();
            let has_blobs = all.any(|c| matches!(c.value, ColumnValue::Blob(_)));
            assert_eq!(found.has_blobs, has_blobs);
            for len in 0..entity.len() {
                assert!(shape(&entity[..len]).is_err(), "{len}");
            }
        }
        assert!(shape(&v2_inline(&[(b"b", b""), (b"a", b"")])).is_err());
    }

    #[test]
    fn damaged_entities_are_errors_or_other_values_but_never_panics() {
        for make in [encode, v2_inline] {
            let good = make(&[(b"", b"hello"), (b"name", b"value"), (b"z", b"1")]);
            for len in 0..good.len() {
                assert!(columns(&good[..len]).is_err(), "{len}");
                for flip in 0..8 {
                    let mut bad = good.clone();
                    bad[len] ^= 1 << flip;
                    if let Ok(Some(ColumnValue::Inline(r))) = default_column(&bad) {
                        assert!(r.end <= bad.len());
                    }
                }
            }
        }
        let kind = |e: &[u8]| default_column(e).unwrap_err().kind();
        assert_eq!(kind(&[]), ErrorKind::Corruption);
        assert_eq!(kind(&[0, 0]), ErrorKind::Corruption);
        assert_eq!(kind(&[3, 0]), ErrorKind::NotSupported);
        assert_eq!(kind(&[1, 0xff, 0xff, 0xff, 0x7f]), ErrorKind::Corruption);
    }
}
