//! Wide columns as readers and writers have them.

use super::blobs::Blobs;
use bytes::Bytes;
use std::fmt;
use std::ops::Range;
use whitewater_storage::entity::{self, ColumnValue};
pub use whitewater_storage::entity::{DEFAULT_WIDE_COLUMN_NAME, WideColumn};
use whitewater_storage::{Error, Result, planted};

/// The bytes of an entity with `columns`, which may come in any order.
///
/// # Errors
/// `Corruption` for two columns of one name.
pub(crate) fn encode_columns<'a, I>(columns: I) -> Result<Vec<u8>>
where
    I: IntoIterator,
    I::Item: Into<WideColumn<'a>>,
{
    let columns = columns.into_iter().map(Into::into);
    entity::encode_sorted(columns.map(|c| (c.name, c.value)).collect())
}

/// The columns of a key, sorted by name. A plain value is one column, the default one.
///
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let db = whitewater::DB::open_default(dir.path())?;
/// db.put_entity("ada", [("born", "1815"), ("", "Ada Lovelace")])?;
/// let columns = db.get_entity("ada")?.expect("written above");
/// assert_eq!(columns.get("born"), Some(&b"1815"[..]));
/// assert_eq!(columns.default_column(), Some(&b"Ada Lovelace"[..]));
/// let names: Vec<_> = columns.iter().map(|column| column.name).collect();
/// assert_eq!(names, [&b""[..], b"born"]);
/// # Ok::<(), whitewater::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct WideColumns {
    bytes: Bytes,
    /// Where name and value of each column are in the bytes.
    places: Vec<(Range<usize>, Range<usize>)>,
}

impl WideColumns {
    /// The column that a plain value is.
    pub(crate) fn plain(value: Bytes) -> Self {
        let places = vec![(0..0, 0..value.len())];
        WideColumns {
            bytes: value,
            places,
        }
    }

    /// The columns of the entity `stored` of `key`.
    ///
    /// # Errors
    /// `Corruption` for bytes that are not an entity; errors of reading a blob.
    pub(crate) fn decode(key: &[u8], stored: Bytes, blobs: &dyn Blobs) -> Result<Self> {
        if entity::shape(&stored)?.has_blobs {
            let stored = in_place(key, &stored, blobs)?;
            return Self::of(stored.into());
        }
        Self::of(stored)
    }

    /// The columns of an entity as batches and logs have it: RocksDB's bytes.
    ///
    /// # Errors
    /// `Corruption` for bytes that are not an entity; `NotSupported` for columns in blob files,
    /// which batches and logs do not have, and for newer versions of the format.
    pub fn deserialize(entity: &[u8]) -> Result<Self> {
        if entity::shape(entity)?.has_blobs {
            return Err(columns_in_blobs());
        }
        Self::of(Bytes::copy_from_slice(entity))
    }

    /// The columns of an entity that has all of them in place.
    ///
    /// # Errors
    /// `Corruption` for bytes that are not an entity.
    pub(crate) fn of(stored: Bytes) -> Result<Self> {
        let start = stored.as_ptr() as usize;
        let columns = entity::columns(&stored)?;
        let places = columns.into_iter().map(|column| {
            let name = column.name.as_ptr() as usize - start;
            let (ColumnValue::Inline(value) | ColumnValue::Blob(value)) = column.value;
            (name..name + column.name.len(), value)
        });
        let places = places.collect();
        Ok(WideColumns {
            bytes: stored,
            places,
        })
    }

    /// The value that the columns are made of, if it is a plain one.
    pub(crate) fn as_plain(&self) -> Option<&Bytes> {
        // The value of an entity's column stands behind a header.
        let is_plain = matches!(&self.places[..], [(_, value)] if value.start == 0);
        is_plain.then_some(&self.bytes)
    }

    /// The bytes of an entity with these columns.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let columns: Vec<_> = self.iter().map(|c| (c.name, c.value)).collect();
        entity::encode(&columns)
    }

    /// The columns with another default column.
    pub(crate) fn with_default(&self, value: &[u8]) -> Self {
        planted!(ColumnsLostInMerge => return Self::plain(Bytes::copy_from_slice(value)));
        let others = self.iter().filter(|column| !column.name.is_empty());
        let mut columns = vec![(&b""[..], value)];
        columns.extend(others.map(|column| (column.name, column.value)));
        Self::of(entity::encode(&columns).into()).unwrap_or_default()
    }

    /// The same, sharing no memory.
    pub(crate) fn copied(&self) -> Self {
        WideColumns {
            bytes: Bytes::copy_from_slice(&self.bytes),
            places: self.places.clone(),
        }
    }

    /// The number of columns.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are no columns: an entity may have none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The columns, in the order of their names.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = WideColumn<'_>> + ExactSizeIterator {
        self.places.iter().map(|(name, value)| WideColumn {
            name: &self.bytes[name.clone()],
            value: &self.bytes[value.clone()],
        })
    }

    /// The value of the column `name`, if there is one.
    pub fn get<N: AsRef<[u8]>>(&self, name: N) -> Option<&[u8]> {
        let name = name.as_ref();
        let found = (self.places).binary_search_by(|(at, _)| self.bytes[at.clone()].cmp(name));
        let (_, value) = &self.places[found.ok()?];
        Some(&self.bytes[value.clone()])
    }

    /// The value of the default column, if there is one.
    pub fn default_column(&self) -> Option<&[u8]> {
        self.get(DEFAULT_WIDE_COLUMN_NAME)
    }

    /// The bytes of all names and values together.
    pub fn payload_size(&self) -> usize {
        self.iter().map(|c| c.name.len() + c.value.len()).sum()
    }
}

impl PartialEq for WideColumns {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for WideColumns {}

impl fmt::Debug for WideColumns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |bytes: &[u8]| bytes.escape_ascii().to_string();
        let columns = self.iter().map(|c| (text(c.name), text(c.value)));
        f.debug_map().entries(columns).finish()
    }
}

/// The columns of an entity that was checked, and has all of them in place.
pub(crate) fn columns_of(entity: &[u8]) -> Vec<WideColumn<'_>> {
    let columns = entity::columns(entity).unwrap_or_default().into_iter();
    let in_place = columns.map(|column| {
        let (ColumnValue::Inline(range) | ColumnValue::Blob(range)) = column.value;
        WideColumn {
            name: column.name,
            value: &entity[range],
        }
    });
    in_place.collect()
}

/// Refuses an entity that cannot be written.
///
/// # Errors
/// Those of [`WideColumns::deserialize`].
pub(crate) fn check_entity(entity: &[u8]) -> Result<()> {
    match entity::shape(entity)?.has_blobs {
        true => Err(columns_in_blobs()),
        false => Ok(()),
    }
}

#[cold]
fn columns_in_blobs() -> Error {
    Error::not_supported("a wide-column entity with columns in blob files, outside of tables")
}

/// The entity `stored` of `key` with all its columns in place.
///
/// # Errors
/// `Corruption` for bytes that are not an entity; errors of reading a blob.
pub(crate) fn in_place(key: &[u8], stored: &[u8], blobs: &dyn Blobs) -> Result<Vec<u8>> {
    let columns = entity::columns(stored)?;
    let mut values = Vec::with_capacity(columns.len());
    for column in &columns {
        values.push(match &column.value {
            ColumnValue::Inline(range) => Bytes::copy_from_slice(&stored[range.clone()]),
            ColumnValue::Blob(range) => blobs.read(key, &stored[range.clone()])?,
        });
    }
    let pairs = columns.iter().zip(&values);
    let pairs: Vec<(&[u8], &[u8])> = pairs.map(|(c, v)| (c.name, &v[..])).collect();
    Ok(entity::encode(&pairs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::blobs::NoBlobs;

    fn pairs(columns: &WideColumns) -> Vec<(&[u8], &[u8])> {
        columns.iter().map(|c| (c.name, c.value)).collect()
    }

    #[test]
    fn columns_are_found_by_name() {
        let stored = encode_columns([("b", "2"), ("", "0"), ("a", "")]).unwrap();
        let columns = WideColumns::decode(b"k", stored.into(), &NoBlobs).unwrap();
        assert_eq!(
            pairs(&columns),
            [(&b""[..], &b"0"[..]), (b"a", b""), (b"b", b"2")]
        );
        assert_eq!(columns.get("a"), Some(&b""[..]));
        assert_eq!(
            (columns.get("c"), columns.default_column()),
            (None, Some(&b"0"[..]))
        );
        assert_eq!((columns.len(), columns.payload_size()), (3, 4));
        assert_eq!(columns.copied(), columns);
        let plain = WideColumns::plain(Bytes::from_static(b"v"));
        assert_eq!(pairs(&plain), [(&b""[..], &b"v"[..])]);
        let none = WideColumns::of(encode_columns(None::<WideColumn<'_>>).unwrap().into());
        assert!(none.unwrap().is_empty());
    }

    #[test]
    fn another_default_column_replaces_the_first_or_comes_before_all() {
        for columns in [&[("", "0"), ("a", "1")][..], &[("a", "1")]] {
            let stored = encode_columns(columns).unwrap();
            let merged = WideColumns::of(stored.into()).unwrap().with_default(b"9");
            assert_eq!(pairs(&merged), [(&b""[..], &b"9"[..]), (b"a", b"1")]);
        }
    }
}
