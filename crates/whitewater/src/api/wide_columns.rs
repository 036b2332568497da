//! Wide columns: entities, and groups of their attributes.

use super::column_family::{AsColumnFamilyRef, ColumnFamilyHandle};
use crate::DB;
use crate::entry::columns::{WideColumn, WideColumns};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

/// Columns that share the memory they were found in instead of copying it, as
/// [`DBPinnableSlice`](crate::DBPinnableSlice) does for values. They cannot outlive the database.
pub struct PinnableWideColumns<'a> {
    columns: WideColumns,
    db: PhantomData<&'a DB>,
}

impl PinnableWideColumns<'_> {
    pub(crate) fn new(columns: WideColumns) -> Self {
        PinnableWideColumns {
            columns,
            db: PhantomData,
        }
    }
}

impl Deref for PinnableWideColumns<'_> {
    type Target = WideColumns;
    fn deref(&self) -> &WideColumns {
        &self.columns
    }
}

impl fmt::Debug for PinnableWideColumns<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.columns, f)
    }
}

// Makes the borrow of the database last until the columns are dropped.
impl Drop for PinnableWideColumns<'_> {
    fn drop(&mut self) {}
}

/// The columns of a key in one column family, where those of one key are spread over several.
/// RocksDB's class of this name, for
/// [`put_attribute_groups`](crate::DBCommon::put_attribute_groups).
pub struct AttributeGroup<'a> {
    pub(crate) cf: ColumnFamilyHandle,
    pub(crate) columns: Vec<WideColumn<'a>>,
}

impl<'a> AttributeGroup<'a> {
    /// The columns that a key is to have in `cf`.
    pub fn new<I>(cf: &impl AsColumnFamilyRef, columns: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<WideColumn<'a>>,
    {
        AttributeGroup {
            cf: cf.inner().clone(),
            columns: columns.into_iter().map(Into::into).collect(),
        }
    }

    /// The name of the column family.
    pub fn column_family_name(&self) -> &str {
        &self.cf.data().name
    }

    /// The columns.
    pub fn columns(&self) -> &[WideColumn<'a>] {
        &self.columns
    }
}

impl fmt::Debug for AttributeGroup<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AttributeGroup")
            .field("cf", &self.cf.id())
            .field("columns", &self.columns)
            .finish()
    }
}
