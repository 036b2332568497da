//! Prefixes of keys, as filters know them.

use std::fmt;

/// What part of a user key is its prefix.
///
/// Keys of one prefix stand next to each other in the table's order.
pub trait PrefixTransform: fmt::Debug + Send + Sync {
    /// Its name, which tables keep: filters of prefixes are asked only by a
    /// transform of the same name.
    fn name(&self) -> String;

    /// The prefix of `user_key`; `None` for a key that has none.
    fn prefix<'a>(&self, user_key: &'a [u8]) -> Option<&'a [u8]>;
}
