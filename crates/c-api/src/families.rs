//! Column families.

use crate::border::{Result, given, invalid};
use crate::db::{Db, on_db};
use std::sync::Arc;
use whitewater::{AsColumnFamilyRef, ColumnFamilyHandle, DEFAULT_COLUMN_FAMILY_NAME};

/// A column family. It does not keep its database open.
pub struct rocksdb_column_family_handle_t(pub ColumnFamilyHandle);

/// The column family of a handle.
pub(crate) fn family(
    handle: Option<&rocksdb_column_family_handle_t>,
) -> Result<&ColumnFamilyHandle> {
    Ok(&given(handle)?.0)
}

/// The column family `name` of a database.
pub fn named(db: &Arc<Db>, name: &str) -> Result<Box<rocksdb_column_family_handle_t>> {
    let handle = on_db!(db, db => match db.cf_handle(name) {
        Some(family) => Some(family.inner().clone()),
        None if name == DEFAULT_COLUMN_FAMILY_NAME => Some(db.default_family()),
        None => None,
    });
    let handle = handle.ok_or_else(|| invalid(&format!("Column family not found: {name}")))?;
    Ok(Box::new(rocksdb_column_family_handle_t(handle)))
}
