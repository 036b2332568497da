//! Values read without a copy.

use crate::DB;
use bytes::Bytes;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use whitewater_storage::Error;
use whitewater_storage::sst::PinnedValue;

/// A value that shares the memory it was found in (a block of the cache, for
/// one) instead of copying it. Dropping it lets go of that memory.
///
/// It cannot outlive the database it was read from:
///
/// ```compile_fail
/// # let dir = tempfile::tempdir().unwrap();
/// let db = whitewater::DB::open_default(dir.path()).unwrap();
/// let value = db.get_pinned(b"k").unwrap();
/// drop(db);
/// drop(value);
/// ```
pub struct DBPinnableSlice<'a> {
    value: PinnedValue,
    db: PhantomData<&'a DB>,
}

impl DBPinnableSlice<'_> {
    pub(crate) fn new(value: impl Into<PinnedValue>) -> Self {
        DBPinnableSlice {
            value: value.into(),
            db: PhantomData,
        }
    }
}

/// What a look-up has found, for the caller.
pub(crate) fn pinned<'a>(
    found: Result<Option<PinnedValue>, Error>,
) -> Result<Option<DBPinnableSlice<'a>>, Error> {
    Ok(found?.map(DBPinnableSlice::new))
}

impl AsRef<[u8]> for DBPinnableSlice<'_> {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Deref for DBPinnableSlice<'_> {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.value
    }
}

impl fmt::Debug for DBPinnableSlice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.value, f)
    }
}

// Makes the borrow of the database last until the value is dropped.
impl Drop for DBPinnableSlice<'_> {
    fn drop(&mut self) {}
}

/// A value that owns its memory, as
/// [`DBCommon::key_may_exist_cf_opt_value`](crate::DBCommon::key_may_exist_cf_opt_value)
/// returns it.
#[derive(Debug)]
pub struct CSlice(Bytes);

impl CSlice {
    pub(crate) fn new(bytes: Bytes) -> Self {
        CSlice(bytes)
    }
}

impl AsRef<[u8]> for CSlice {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}
