//! The text form of a block cache: RocksDB's table option `block_cache`, read and written.

use super::text::{OptionText, split_assignments};
use whitewater_storage::cache::CacheOptions;
use whitewater_storage::{Error, Result};

/// The name of the option.
pub(crate) const BLOCK_CACHE: &str = "block_cache";

/// The cache that `text` describes, or `None` for the default one. The text is a capacity, or
/// options with or without braces.
///
/// # Errors
/// `InvalidArgument` naming the option and the text; `NotSupported` for a kind of cache that is
/// not built in.
pub(crate) fn parse_block_cache(text: &str) -> Result<Option<CacheOptions>> {
    let text = text.trim();
    if text.starts_with("null") {
        return Ok(None);
    }
    if text.contains("://") {
        return Err(Error::not_supported(format_args!(
            "option {BLOCK_CACHE}={text}: there is only the built-in cache"
        )));
    }
    let options = if text.contains('=') {
        CacheOptions::parse(text)
    } else {
        parse_size(text).map(CacheOptions::with_capacity)
    };
    options
        .map(Some)
        .ok_or_else(|| Error::invalid(format_args!("option {BLOCK_CACHE} cannot be {text:?}")))
}

/// Parses a number of bytes, which may end in one of RocksDB's suffixes K, M, G or T (in either
/// case) for powers of 1024.
fn parse_size(text: &str) -> Option<usize> {
    let shift = match text.bytes().last()?.to_ascii_uppercase() {
        b'K' => 10,
        b'M' => 20,
        b'G' => 30,
        b'T' => 40,
        _ => return text.parse().ok(),
    };
    let number: usize = text[..text.len() - 1].parse().ok()?;
    number.checked_mul(1 << shift)
}

/// The form is `{name=value;...}`; an option that is left out has its default. RocksDB's
/// `low_pri_pool_ratio` is accepted only if it is 0, because there is no such pool.
impl OptionText for CacheOptions {
    fn print(&self) -> String {
        format!(
            "{{capacity={};num_shard_bits={};strict_capacity_limit={};high_pri_pool_ratio={}}}",
            self.capacity,
            self.num_shard_bits,
            self.strict_capacity_limit,
            self.high_pri_pool_ratio
        )
    }

    fn parse(text: &str) -> Option<Self> {
        let braced = text.strip_prefix('{').and_then(|t| t.strip_suffix('}'));
        let mut options = CacheOptions::default();
        for (name, text) in split_assignments(braced.unwrap_or(text)).ok()? {
            match name {
                "capacity" => options.capacity = parse_size(text)?,
                "num_shard_bits" => options.num_shard_bits = OptionText::parse(text)?,
                "strict_capacity_limit" => {
                    options.strict_capacity_limit = OptionText::parse(text)?;
                }
                "high_pri_pool_ratio" => options.high_pri_pool_ratio = OptionText::parse(text)?,
                "low_pri_pool_ratio" if f64::parse(text)? == 0.0 => {}
                _ => return None,
            }
        }
        options.is_valid().then_some(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use whitewater_storage::ErrorKind;

    #[test]
    fn caches_are_written_and_read() {
        let options = CacheOptions {
            capacity: 1 << 20,
            num_shard_bits: 4,
            strict_capacity_limit: true,
            high_pri_pool_ratio: 0.25,
        };
        let text = options.print();
        assert_eq!(
            text,
            "{capacity=1048576;num_shard_bits=4;strict_capacity_limit=true;\
             high_pri_pool_ratio=0.25}"
        );
        assert_eq!(parse_block_cache(&text), Ok(Some(options)));
        let braces_taken_off = &text[1..text.len() - 1];
        assert_eq!(parse_block_cache(braces_taken_off), Ok(Some(options)));
        let with = |capacity| Ok(Some(CacheOptions::with_capacity(capacity)));
        for (text, capacity) in [
            ("0", 0),
            ("1234", 1234),
            (" 3k ", 3 << 10),
            ("capacity=8M", 8 << 20),
            ("{capacity=2G;low_pri_pool_ratio=0.0}", 2 << 30),
        ] {
            assert_eq!(parse_block_cache(text), with(capacity), "{text}");
        }
        assert_eq!(parse_block_cache("nullptr"), Ok(None));
    }

    #[test]
    fn what_is_no_cache_is_refused() {
        for text in [
            "",
            "M",
            "-1",
            "12X",
            "99999999999T",
            "capacity=1;size=2",
            "capacity=1;num_shard_bits=20",
            "capacity=1;high_pri_pool_ratio=1.1",
            "capacity=1;high_pri_pool_ratio=NaN",
            "capacity=1;low_pri_pool_ratio=0.1",
            "capacity=1;strict_capacity_limit=maybe",
        ] {
            let e = parse_block_cache(text).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::InvalidArgument, "{text}");
            assert!(e.to_string().contains("block_cache"), "{e}");
        }
        let e = parse_block_cache("tiered://capacity=1").unwrap_err();
        assert_eq!(e.kind(), ErrorKind::NotSupported);
    }
}
