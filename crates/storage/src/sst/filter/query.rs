//! What filters are asked for.

use crate::sst::format::hash64::hash64;
use std::cell::OnceCell;

/// A query to filters: whether they may hold a key, or a prefix. The first filter that needs the
/// key's hash has it computed, for all filters that are asked after it.
#[derive(Debug, Clone)]
pub struct FilterQuery<'a> {
    key: &'a [u8],
    hash: OnceCell<u64>,
}

impl<'a> FilterQuery<'a> {
    /// A query for a user key, given without its timestamp if such keys have one, or for a prefix.
    #[inline]
    pub fn new(key: &'a [u8]) -> Self {
        let hash = OnceCell::new();
        FilterQuery { key, hash }
    }

    #[inline]
    pub(crate) fn key(&self) -> &'a [u8] {
        self.key
    }

    /// The 64-bit hash of the key.
    #[inline]
    pub(crate) fn hash(&self) -> u64 {
        *self.hash.get_or_init(|| hash64(self.key))
    }
}
