//! Prefix extractors.

use std::fmt;

/// A prefix extractor: says which part of a user key is its prefix.
///
/// Keys with the same prefix must be adjacent in the table's order.
pub trait PrefixTransform: fmt::Debug + Send + Sync {
    /// The name of the extractor. Tables store it: a filter is queried for prefixes only by an
    /// extractor of the same name.
    fn name(&self) -> String;

    /// The prefix of `user_key`; `None` if it has none.
    fn prefix<'a>(&self, user_key: &'a [u8]) -> Option<&'a [u8]>;
}
