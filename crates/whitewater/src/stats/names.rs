//! Enums whose variants have names.

use std::fmt;

/// The error for a text that is none of the names.
#[derive(Debug, Clone)]
pub struct NameParseError;

impl fmt::Display for NameParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unrecognized name")
    }
}

impl std::error::Error for NameParseError {}

/// Makes an enum of named variants, numbered from 0.
macro_rules! named_enum {
    ($(#[$meta:meta])* pub enum $type:ident {
        $($(#[$more:meta])* $variant:ident = $text:literal,)+
    }) => {
        $(#[$meta])*
        #[derive(Debug, Copy, Clone, PartialEq, Eq)]
        #[repr(u32)]
        pub enum $type {
            $(#[doc = concat!("`", $text, "`")] $(#[$more])* $variant,)+
        }

        impl $type {
            const VARIANTS: &'static [$type] = &[$($type::$variant,)+];

            /// The number of variants.
            pub(crate) const COUNT: usize = Self::VARIANTS.len();

            /// The name, as RocksDB spells it.
            pub const fn name(&self) -> &'static str {
                match self {
                    $($type::$variant => $text,)+
                }
            }

            /// All variants, in order.
            pub fn iter() -> ::std::slice::Iter<'static, $type> {
                Self::VARIANTS.iter()
            }
        }

        impl ::std::str::FromStr for $type {
            type Err = $crate::stats::names::NameParseError;
            fn from_str(s: &str) -> Result<Self, Self::Err> {
                match s {
                    $($text => Ok($type::$variant),)+
                    _ => Err($crate::stats::names::NameParseError),
                }
            }
        }

        impl ::std::fmt::Display for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                self.name().fmt(f)
            }
        }
    };
}

pub(super) use named_enum;

#[cfg(test)]
mod tests {
    use crate::stats::{Histogram, Ticker};

    #[test]
    fn names_lead_back_to_their_variants() {
        for (place, ticker) in Ticker::iter().enumerate() {
            assert_eq!(*ticker as usize, place);
            assert_eq!(ticker.name().parse::<Ticker>().unwrap(), *ticker);
        }
        for (place, histogram) in Histogram::iter().enumerate() {
            assert_eq!(*histogram as usize, place);
            assert_eq!(
                histogram.to_string().parse::<Histogram>().unwrap(),
                *histogram
            );
        }
        let error = "rocksdb.nothing".parse::<Ticker>().unwrap_err();
        assert_eq!(error.to_string(), "unrecognized name");
    }

    #[test]
    fn rocksdbs_come_first_under_its_numbers() {
        let own = |name: &str| name.starts_with("whitewater.");
        assert_eq!(Ticker::iter().position(|t| own(t.name())), Some(263));
        assert_eq!(Histogram::iter().position(|h| own(h.name())), Some(62));
        assert_eq!(Histogram::AsyncReadBytes.name(), "rocksdb.async.read.bytes");
        assert_eq!(
            Ticker::BlockCacheIndexMiss.to_string(),
            "rocksdb.block.cache.index.miss"
        );
    }
}
