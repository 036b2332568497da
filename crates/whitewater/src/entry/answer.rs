//! The forms in which a look-up answers: a value, or columns.

use super::blobs::Blobs;
use super::columns::WideColumns;
use super::payload::{Payload, payload};
use bytes::Bytes;
use whitewater_storage::Result;
use whitewater_storage::key::ValueType;
use whitewater_storage::sst::PinnedValue;

/// What a look-up finds for a key that exists.
pub(crate) trait Answer: Sized {
    /// Whether the answer copies the value, so that a look-up need not share a block's memory.
    const COPIES: bool = false;

    /// The answer for a plain value.
    fn of_value(value: PinnedValue) -> Self;

    /// The answer for the wide-column entity `stored` of `key`.
    ///
    /// # Errors
    /// `Corruption` for bytes that are not an entity; errors of reading a blob.
    fn of_entity(key: &[u8], stored: Bytes, blobs: &dyn Blobs) -> Result<Self>;

    /// What merge operands apply to.
    fn merge_base(&self) -> &[u8];

    /// The answer after a merge of its base.
    fn with_merged(&self, merged: Vec<u8>) -> Self;

    /// The number of bytes, for statistics.
    fn size(&self) -> usize;

    /// The answer with `change` made to a plain value.
    ///
    /// # Errors
    /// Errors of `change`.
    fn map_plain(self, change: impl FnOnce(&Bytes) -> Result<Bytes>) -> Result<Self>;
}

impl Answer for Bytes {
    #[inline]
    fn of_value(value: PinnedValue) -> Self {
        value.into_bytes()
    }

    fn of_entity(key: &[u8], stored: Bytes, blobs: &dyn Blobs) -> Result<Self> {
        match payload(ValueType::WideColumnEntity, &stored)? {
            Payload::Value(range) => Ok(stored.slice(range)),
            Payload::Blob(range) => blobs.read(key, &stored[range]),
            Payload::Operand | Payload::Deletion => Ok(Bytes::new()),
        }
    }

    #[inline]
    fn merge_base(&self) -> &[u8] {
        self
    }

    #[inline]
    fn with_merged(&self, merged: Vec<u8>) -> Self {
        merged.into()
    }

    #[inline]
    fn size(&self) -> usize {
        self.len()
    }

    fn map_plain(self, change: impl FnOnce(&Bytes) -> Result<Bytes>) -> Result<Self> {
        change(&self)
    }
}

/// The value, in the memory in which it was found.
impl Answer for PinnedValue {
    #[inline]
    fn of_value(value: PinnedValue) -> Self {
        value
    }

    fn of_entity(key: &[u8], stored: Bytes, blobs: &dyn Blobs) -> Result<Self> {
        Bytes::of_entity(key, stored, blobs).map(Self::from)
    }

    #[inline]
    fn merge_base(&self) -> &[u8] {
        self
    }

    #[inline]
    fn with_merged(&self, merged: Vec<u8>) -> Self {
        merged.into()
    }

    #[inline]
    fn size(&self) -> usize {
        self.len()
    }

    fn map_plain(self, change: impl FnOnce(&Bytes) -> Result<Bytes>) -> Result<Self> {
        change(&self.into_bytes()).map(Self::from)
    }
}

/// The value, copied.
impl Answer for Vec<u8> {
    const COPIES: bool = true;

    // The look-up has made `value` for this answer. Its memory is taken, not copied.
    #[inline]
    fn of_value(value: PinnedValue) -> Self {
        value.into_bytes().into()
    }

    fn of_entity(key: &[u8], stored: Bytes, blobs: &dyn Blobs) -> Result<Self> {
        Bytes::of_entity(key, stored, blobs).map(Self::from)
    }

    #[inline]
    fn merge_base(&self) -> &[u8] {
        self
    }

    #[inline]
    fn with_merged(&self, merged: Vec<u8>) -> Self {
        merged
    }

    #[inline]
    fn size(&self) -> usize {
        self.len()
    }

    fn map_plain(self, change: impl FnOnce(&Bytes) -> Result<Bytes>) -> Result<Self> {
        change(&Bytes::from(self)).map(Self::from)
    }
}

impl Answer for WideColumns {
    fn of_value(value: PinnedValue) -> Self {
        WideColumns::plain(value.into_bytes())
    }

    fn of_entity(key: &[u8], stored: Bytes, blobs: &dyn Blobs) -> Result<Self> {
        WideColumns::decode(key, stored, blobs)
    }

    fn merge_base(&self) -> &[u8] {
        self.default_column().unwrap_or_default()
    }

    fn with_merged(&self, merged: Vec<u8>) -> Self {
        self.with_default(&merged)
    }

    fn size(&self) -> usize {
        self.payload_size()
    }

    fn map_plain(self, change: impl FnOnce(&Bytes) -> Result<Bytes>) -> Result<Self> {
        match self.as_plain() {
            Some(value) => change(value).map(WideColumns::plain),
            None => Ok(self),
        }
    }
}
