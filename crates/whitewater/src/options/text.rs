//! The text form of option values, in RocksDB's names and spellings.

use super::compaction::nested_text;
use crate::logger::LogLevel;
use crate::options::commit_protocol::CommitProtocol;
use std::path::PathBuf;
use whitewater_storage::checksum::ChecksumType;
use whitewater_storage::fs::SharedAccess;
use whitewater_storage::sst::{
    CompressionType, DataBlockIndexType, FilterPolicy, IndexType, MetadataCacheOptions,
    PinningTier, PrepopulateBlockCache,
};
use whitewater_storage::wal::RecoveryMode;
use whitewater_storage::{Error, Result};

/// A value with a text form: `parse(print(v)) == v`.
pub(crate) trait OptionText: Sized {
    /// The value as text.
    fn print(&self) -> String;
    /// Parses `text`; `None` if it is not a valid value.
    fn parse(text: &str) -> Option<Self>;
    /// Parses `text` as `parse` does, but takes the parts of the value that `text` does not name
    /// from `self`.
    fn parse_over(&self, text: &str) -> Option<Self> {
        Self::parse(text)
    }
}

/// Parses the value of the option `name`.
///
/// # Errors
/// `InvalidArgument` naming the option and the text.
pub(crate) fn parse<T: OptionText>(name: &str, text: &str) -> Result<T> {
    T::parse(text.trim()).ok_or_else(|| bad_value(name, text))
}

/// Sets the value of the option `name`, or only the parts of it that `text` names. Fails as
/// [`parse`] does.
pub(crate) fn assign<T: OptionText>(value: &mut T, name: &str, text: &str) -> Result<()> {
    *value = (value.parse_over(text.trim())).ok_or_else(|| bad_value(name, text))?;
    Ok(())
}

fn bad_value(name: &str, text: &str) -> Error {
    Error::invalid(format_args!("option {name} cannot be {text:?}"))
}

macro_rules! text_by_from_str {
    ($($ty:ty),*) => {$(
        impl OptionText for $ty {
            fn print(&self) -> String {
                self.to_string()
            }
            fn parse(text: &str) -> Option<Self> {
                text.parse().ok()
            }
        }
    )*};
}
text_by_from_str!(bool, f64);

/// Implements the text form of whole numbers, in which RocksDB's suffixes stand for powers of
/// 1024.
macro_rules! text_of_number {
    ($($ty:ty),*) => {$(
        impl OptionText for $ty {
            fn print(&self) -> String {
                self.to_string()
            }
            fn parse(text: &str) -> Option<Self> {
                <$ty>::try_from(whole_number(text)?).ok()
            }
        }
    )*};
}
text_of_number!(i32, i64, u32, u64, usize);

/// Parses a whole number that may end in K, M, G or T, in either case.
fn whole_number(text: &str) -> Option<i128> {
    let shift = match text.as_bytes().last()?.to_ascii_lowercase() {
        b'k' => 10,
        b'm' => 20,
        b'g' => 30,
        b't' => 40,
        _ => return text.parse().ok(),
    };
    let digits = text[..text.len() - 1].parse::<i128>().ok()?;
    digits.checked_mul(1 << shift)
}

/// Implements the text form of enums by RocksDB's spelling of each variant.
macro_rules! text_by_name {
    ($ty:ty { $($variant:ident = $text:literal),* $(,)? }) => {
        impl OptionText for $ty {
            fn print(&self) -> String {
                match self {
                    $(<$ty>::$variant => $text.to_owned(),)*
                }
            }
            fn parse(text: &str) -> Option<Self> {
                match text {
                    $($text => Some(<$ty>::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

pub(crate) use text_by_name;

text_by_name!(PinningTier {
    Fallback = "kFallback",
    None = "kNone",
    FlushAndSimilar = "kFlushedAndSimilar",
    All = "kAll",
});

text_by_name!(PrepopulateBlockCache {
    Disable = "kDisable",
    FlushOnly = "kFlushOnly",
    FlushAndCompaction = "kFlushAndCompaction",
});

nested_text!(MetadataCacheOptions {
    top_level_index_pinning,
    partition_pinning,
    unpartitioned_pinning,
} fixed {});

text_by_name!(CompressionType {
    None = "kNoCompression",
    Snappy = "kSnappyCompression",
    Zlib = "kZlibCompression",
    Bz2 = "kBZip2Compression",
    Lz4 = "kLZ4Compression",
    Lz4hc = "kLZ4HCCompression",
    Zstd = "kZSTD",
});

text_by_name!(RecoveryMode {
    TolerateCorruptedTailRecords = "kTolerateCorruptedTailRecords",
    AbsoluteConsistency = "kAbsoluteConsistency",
    PointInTime = "kPointInTimeRecovery",
    SkipAnyCorruptedRecord = "kSkipAnyCorruptedRecords",
});

text_by_name!(LogLevel {
    Debug = "DEBUG_LEVEL",
    Info = "INFO_LEVEL",
    Warn = "WARN_LEVEL",
    Error = "ERROR_LEVEL",
    Fatal = "FATAL_LEVEL",
    Header = "HEADER_LEVEL",
});

text_by_name!(SharedAccess {
    Auto = "auto",
    Mapped = "mmap",
    Positioned = "pwrite",
});

/// The empty text means that no protocol is chosen.
impl OptionText for Option<CommitProtocol> {
    fn print(&self) -> String {
        self.map_or("", CommitProtocol::name).to_owned()
    }
    fn parse(text: &str) -> Option<Self> {
        match text {
            "" => Some(None),
            name => CommitProtocol::from_name(name).map(Some),
        }
    }
}

text_by_name!(ChecksumType {
    NoChecksum = "kNoChecksum",
    CRC32c = "kCRC32c",
    XXHash = "kxxHash",
    XXHash64 = "kxxHash64",
    XXH3 = "kXXH3",
});

text_by_name!(IndexType {
    BinarySearch = "kBinarySearch",
    HashSearch = "kHashSearch",
    TwoLevelIndexSearch = "kTwoLevelIndexSearch",
    BinarySearchWithFirstKey = "kBinarySearchWithFirstKey",
});

text_by_name!(DataBlockIndexType {
    BinarySearch = "kDataBlockBinarySearch",
    BinaryAndHash = "kDataBlockBinaryAndHash",
});

/// The text form is RocksDB's identifier, or `nullptr` for none.
impl OptionText for Option<FilterPolicy> {
    fn print(&self) -> String {
        self.map_or_else(|| "nullptr".to_owned(), |policy| policy.to_string())
    }
    fn parse(text: &str) -> Option<Self> {
        match text {
            "" | "nullptr" => Some(None),
            text => FilterPolicy::parse(text).map(Some),
        }
    }
}

/// The empty text is `None`. A path that is not UTF-8 is printed with replacement characters.
impl OptionText for Option<PathBuf> {
    fn print(&self) -> String {
        self.as_ref()
            .map_or_else(String::new, |p| p.to_string_lossy().into_owned())
    }
    fn parse(text: &str) -> Option<Self> {
        Some((!text.is_empty()).then(|| PathBuf::from(text)))
    }
}

/// `None` prints as RocksDB's name for "no compression set here".
impl OptionText for Option<CompressionType> {
    fn print(&self) -> String {
        self.map_or_else(|| "kDisableCompressionOption".to_owned(), |c| c.print())
    }
    fn parse(text: &str) -> Option<Self> {
        if text == "kDisableCompressionOption" {
            return Some(None);
        }
        CompressionType::parse(text).map(Some)
    }
}

/// Values are separated by colons; the empty text has no values.
impl<T: OptionText> OptionText for Vec<T> {
    fn print(&self) -> String {
        let parts: Vec<_> = self.iter().map(OptionText::print).collect();
        parts.join(":")
    }
    fn parse(text: &str) -> Option<Self> {
        if text.is_empty() {
            return Some(Vec::new());
        }
        text.split(':').map(|part| T::parse(part.trim())).collect()
    }
}

/// The text of `None` is `default`.
impl OptionText for Option<i32> {
    fn print(&self) -> String {
        self.map_or_else(|| "default".to_owned(), |v| v.to_string())
    }
    fn parse(text: &str) -> Option<Self> {
        if text == "default" {
            return Some(None);
        }
        text.parse().ok().map(Some)
    }
}

/// The text of `None` is `none`.
impl OptionText for Option<f64> {
    fn print(&self) -> String {
        self.map_or_else(|| "none".to_owned(), |v| v.to_string())
    }
    fn parse(text: &str) -> Option<Self> {
        if text == "none" {
            return Some(None);
        }
        text.parse().ok().map(Some)
    }
}

/// Splits `name=value;name={name=value;...}` at its outermost semicolons and first equal signs,
/// and removes braces around a value.
///
/// # Errors
/// `InvalidArgument` for text without an equal sign and for braces that do not match.
pub(crate) fn split_assignments(text: &str) -> Result<Vec<(&str, &str)>> {
    let mut out = Vec::new();
    let mut depth = 0usize;
    let mut start = 0;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 0 => return Err(unbalanced(text)),
            b'}' => depth -= 1,
            b';' if depth == 0 => {
                push_assignment(&mut out, &text[start..at])?;
                start = at + 1;
            }
            _ => {}
        }
    }
    if depth > 0 {
        return Err(unbalanced(text));
    }
    push_assignment(&mut out, &text[start..])?;
    Ok(out)
}

fn unbalanced(text: &str) -> Error {
    Error::invalid(format_args!("braces do not match in options {text:?}"))
}

fn push_assignment<'a>(out: &mut Vec<(&'a str, &'a str)>, part: &'a str) -> Result<()> {
    let part = part.trim();
    if part.is_empty() {
        return Ok(());
    }
    let (name, value) = part
        .split_once('=')
        .ok_or_else(|| Error::invalid(format_args!("option without a value: {part:?}")))?;
    let value = value.trim();
    let value = value
        .strip_prefix('{')
        .and_then(|v| v.strip_suffix('}'))
        .unwrap_or(value);
    out.push((name.trim(), value));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use whitewater_storage::ErrorKind;

    #[test]
    fn assignments_split_at_the_outermost_semicolons() {
        let got = split_assignments(" a=1; table={b=2;c={d=3}} ;e=x=y;").unwrap();
        assert_eq!(got, [("a", "1"), ("table", "b=2;c={d=3}"), ("e", "x=y")]);
        assert_eq!(split_assignments("  ").unwrap(), []);
        for bad in ["a", "a={b=1", "a=1}", "a=1;b"] {
            let err = split_assignments(bad).unwrap_err();
            assert_eq!(err.kind(), ErrorKind::InvalidArgument, "{bad}");
        }
    }

    #[test]
    fn a_value_that_is_none_names_the_option() {
        let err = parse::<u64>("max_total_wal_size", "many").unwrap_err();
        assert_eq!(
            err.to_string(),
            "Invalid argument: option max_total_wal_size cannot be \"many\""
        );
        assert!(parse::<bool>("b", "yes").is_err());
        for bad in ["", "K", "1KB", "1.5G", "16E", "20000000T", "\u{212a}"] {
            assert!(parse::<u64>("n", bad).is_err(), "{bad}");
        }
        for (text, number) in [
            ("4k", 4096),
            ("2M", 2 << 20),
            ("3G", 3 << 30),
            ("1t", 1 << 40),
        ] {
            assert_eq!(parse::<u64>("n", text), Ok(number));
        }
        assert_eq!(parse::<i32>("n", "-1K"), Ok(-1024));
        assert!(parse::<i32>("n", "2G").is_err());
        assert!(parse::<Vec<CompressionType>>("c", "kZSTD:").is_err());
    }
}
