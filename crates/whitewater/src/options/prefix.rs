//! Prefix extractors: which part of a user key groups it with others.
//!
//! Hash memtables choose buckets by the prefix, filters of tables contain prefixes, and
//! iterators may end with a prefix. A prefix must depend on nothing but the key; keys with the
//! same prefix must be adjacent in the column family's order; and a prefix must itself be the
//! beginning of its keys. Functions supplied by the user may panic, as comparators may; reads
//! and writes turn a panic into an error.

use super::text::OptionText;
use std::fmt;
use std::sync::Arc;
use whitewater_storage::sst::PrefixTransform;

/// Extracts the prefix of a key.
pub(crate) type TransformFn = for<'a> fn(&'a [u8]) -> &'a [u8];
/// Says whether a key has a prefix.
pub(crate) type InDomainFn = fn(&[u8]) -> bool;
/// A function of the user with state that returns the length of a key's prefix, or `None` if the
/// key has no prefix.
pub(crate) type PrefixLengthFn = dyn Fn(&[u8]) -> Option<usize> + Send + Sync;

impl PrefixExtractor {
    /// Whether this runs functions of the user.
    pub fn runs_user_code(&self) -> bool {
        matches!(self, Self::Custom(_) | Self::Counted(_))
    }
}

/// How the prefix of a key is determined.
#[derive(Clone)]
pub(crate) enum PrefixExtractor {
    /// The first bytes of the key; a shorter key has no prefix.
    Fixed(usize),
    /// The first bytes of the key; the prefix of a shorter key is all of it.
    Capped(usize),
    /// The whole key.
    Noop,
    /// Computed by functions that the user supplies.
    Custom(Arc<CustomPrefix>),
    /// Computed by a function with state that the user supplies.
    Counted(Arc<CountedPrefix>),
}

/// A prefix extractor with state.
pub(crate) struct CountedPrefix {
    pub name: String,
    pub length: Box<PrefixLengthFn>,
}

/// A prefix extractor supplied by the user.
pub(crate) struct CustomPrefix {
    pub name: String,
    pub transform: TransformFn,
    /// Decides whether a key has a prefix. When unset, every key has one.
    pub in_domain: Option<InDomainFn>,
}

const FIXED: &str = "rocksdb.FixedPrefix";
const CAPPED: &str = "rocksdb.CappedPrefix";
const NOOP: &str = "rocksdb.Noop";
/// RocksDB's text for "no object".
const NONE: &str = "nullptr";

impl PrefixExtractor {
    /// The prefix of `user_key`; `None` when it has none.
    #[inline]
    pub fn prefix<'a>(&self, user_key: &'a [u8]) -> Option<&'a [u8]> {
        match self {
            PrefixExtractor::Fixed(len) => user_key.get(..*len),
            PrefixExtractor::Capped(len) => Some(&user_key[..user_key.len().min(*len)]),
            PrefixExtractor::Noop => Some(user_key),
            PrefixExtractor::Custom(custom) => custom.prefix(user_key),
            PrefixExtractor::Counted(counted) => user_key.get(..(counted.length)(user_key)?),
        }
    }

    /// The same extractor, in the form that tables use.
    pub fn shared(&self) -> Arc<dyn PrefixTransform> {
        Arc::new(self.clone())
    }

    /// Whether this extracts the same prefixes as `other`. Extractors of the user are compared by
    /// name.
    pub fn is_like(&self, other: &PrefixExtractor) -> bool {
        match (self, other) {
            (PrefixExtractor::Fixed(a), PrefixExtractor::Fixed(b))
            | (PrefixExtractor::Capped(a), PrefixExtractor::Capped(b)) => a == b,
            (PrefixExtractor::Noop, PrefixExtractor::Noop) => true,
            (PrefixExtractor::Custom(a), PrefixExtractor::Custom(b)) => a.name == b.name,
            (PrefixExtractor::Counted(a), PrefixExtractor::Counted(b)) => a.name == b.name,
            _ => false,
        }
    }

    /// RocksDB's identifier of the extractor, which is written to options files and table
    /// properties.
    pub fn name(&self) -> String {
        match self {
            PrefixExtractor::Fixed(len) => format!("{FIXED}.{len}"),
            PrefixExtractor::Capped(len) => format!("{CAPPED}.{len}"),
            PrefixExtractor::Noop => NOOP.to_owned(),
            PrefixExtractor::Custom(custom) => custom.name.clone(),
            PrefixExtractor::Counted(counted) => counted.name.clone(),
        }
    }

    /// The built-in extractor that RocksDB calls `name`, in any of the spellings that RocksDB
    /// reads.
    fn by_name(name: &str) -> Option<Self> {
        if name == NOOP {
            return Some(PrefixExtractor::Noop);
        }
        type Make = fn(usize) -> PrefixExtractor;
        let spellings: [(&str, char, Make); 4] = [
            (FIXED, '.', PrefixExtractor::Fixed),
            ("fixed", ':', PrefixExtractor::Fixed),
            (CAPPED, '.', PrefixExtractor::Capped),
            ("capped", ':', PrefixExtractor::Capped),
        ];
        spellings.iter().find_map(|(kind, separator, make)| {
            let len = name.strip_prefix(kind)?.strip_prefix(*separator)?;
            let digits = !len.is_empty() && len.bytes().all(|b| b.is_ascii_digit());
            digits.then(|| len.parse().ok().map(make)).flatten()
        })
    }
}

impl CustomPrefix {
    fn prefix<'a>(&self, user_key: &'a [u8]) -> Option<&'a [u8]> {
        let in_domain = self.in_domain.is_none_or(|in_domain| in_domain(user_key));
        in_domain.then(|| (self.transform)(user_key))
    }
}

impl PrefixTransform for PrefixExtractor {
    fn name(&self) -> String {
        PrefixExtractor::name(self)
    }
    fn prefix<'a>(&self, user_key: &'a [u8]) -> Option<&'a [u8]> {
        PrefixExtractor::prefix(self, user_key)
    }
}

impl fmt::Debug for PrefixExtractor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

/// The text form is RocksDB's identifier, or `nullptr` for none. Only built-in extractors can
/// be made from text, because the user's extractors consist of functions.
impl OptionText for Option<PrefixExtractor> {
    fn print(&self) -> String {
        let name = self.as_ref().map(PrefixExtractor::name);
        name.unwrap_or_else(|| NONE.to_owned())
    }
    fn parse(text: &str) -> Option<Self> {
        // In the form with properties, `id` names the object.
        let text = text.strip_prefix("id=").unwrap_or(text);
        let text = text.strip_suffix(';').unwrap_or(text);
        if text.is_empty() || text == NONE {
            return Some(None);
        }
        PrefixExtractor::by_name(text).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_those_of_rocksdb() {
        let fixed = PrefixExtractor::Fixed(2);
        assert_eq!(fixed.prefix(b"abc"), Some(&b"ab"[..]));
        assert_eq!(fixed.prefix(b"ab"), Some(&b"ab"[..]));
        assert_eq!(fixed.prefix(b"a"), None);
        let capped = PrefixExtractor::Capped(2);
        assert_eq!(capped.prefix(b"abc"), Some(&b"ab"[..]));
        assert_eq!(capped.prefix(b""), Some(&b""[..]));
        assert_eq!(PrefixExtractor::Noop.prefix(b"abc"), Some(&b"abc"[..]));
        let custom = PrefixExtractor::Custom(Arc::new(CustomPrefix {
            name: "up to the colon".to_owned(),
            transform: |key| &key[..key.iter().position(|b| *b == b':').unwrap_or(0)],
            in_domain: Some(|key| key.contains(&b':')),
        }));
        assert_eq!(custom.prefix(b"ab:c"), Some(&b"ab"[..]));
        assert_eq!(custom.prefix(b"abc"), None);
        assert_eq!(custom.name(), "up to the colon");
    }

    #[test]
    fn names_are_read_in_every_spelling() {
        let read = |text| Option::<PrefixExtractor>::parse(text).map(|found| found.print());
        for (text, name) in [
            ("rocksdb.FixedPrefix.4", "rocksdb.FixedPrefix.4"),
            ("fixed:4", "rocksdb.FixedPrefix.4"),
            ("rocksdb.CappedPrefix.12", "rocksdb.CappedPrefix.12"),
            ("capped:0", "rocksdb.CappedPrefix.0"),
            ("rocksdb.Noop", "rocksdb.Noop"),
            ("id=rocksdb.Noop;", "rocksdb.Noop"),
            ("nullptr", "nullptr"),
            ("", "nullptr"),
        ] {
            assert_eq!(read(text).as_deref(), Some(name), "{text}");
        }
        for bad in ["fixed", "fixed:", "fixed:+4", "fixed:4x", "mine"] {
            assert_eq!(read(bad), None, "{bad}");
        }
        assert_eq!(read("rocksdb.FixedPrefix.99999999999999999999"), None);
    }
}
