//! The filter policy: which filter a table gets.

use std::fmt;

/// Which filter a table gets.
///
/// The text forms are RocksDB's: `bloomfilter:BITS` and `ribbonfilter:BITS:LEVEL`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FilterPolicy {
    /// A Bloom filter. Before format version 5 it has the old format.
    Bloom {
        /// Bits per key. Less than half a bit means no filter; more than 100 count as 100.
        bits_per_key: f64,
    },
    /// A Ribbon filter. It is about 30 % smaller than a Bloom filter of the same accuracy, and
    /// takes several times the work to build. Tables with few keys get a Bloom filter, which is
    /// smaller then.
    Ribbon {
        /// The accuracy, given as the bits per key of a Bloom filter of the same accuracy.
        bloom_equivalent_bits_per_key: f64,
        /// Levels before this one get Bloom filters of that accuracy. A flush counts as level -1.
        bloom_before_level: i32,
    },
}

impl FilterPolicy {
    /// Bits per key of the Bloom filter, or of a Bloom filter of the same accuracy.
    pub fn bits_per_key(&self) -> f64 {
        match *self {
            FilterPolicy::Bloom { bits_per_key } => bits_per_key,
            FilterPolicy::Ribbon {
                bloom_equivalent_bits_per_key,
                ..
            } => bloom_equivalent_bits_per_key,
        }
    }

    /// The name in the property `rocksdb.filter.policy`.
    pub(crate) fn property_name(&self) -> &'static str {
        match self {
            FilterPolicy::Bloom { .. } => BLOOM,
            FilterPolicy::Ribbon { .. } => RIBBON,
        }
    }

    /// Thousandths of a bit per key; `None` if they are too few for a filter.
    pub(super) fn millibits(&self) -> Option<u64> {
        let bits = self.bits_per_key();
        if bits.is_nan() || bits < 0.5 {
            return None;
        }
        Some((bits.clamp(1.0, 100.0) * 1000.0).round() as u64)
    }

    /// The policy that `text` names.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(':');
        let name = parts.next()?;
        let bits = parts.next()?.parse().ok()?;
        let last = parts.next();
        if parts.next().is_some() {
            return None;
        }
        match name {
            // A third part used to choose a format that RocksDB no longer has.
            BLOOM | "rocksdb.BloomFilter" if matches!(last, None | Some("true" | "false")) => {
                Some(FilterPolicy::Bloom { bits_per_key: bits })
            }
            RIBBON | "rocksdb.RibbonFilter" => Some(FilterPolicy::Ribbon {
                bloom_equivalent_bits_per_key: bits,
                bloom_before_level: last.map_or(Some(0), |l| l.parse().ok())?,
            }),
            _ => None,
        }
    }
}

const BLOOM: &str = "bloomfilter";
const RIBBON: &str = "ribbonfilter";

impl fmt::Display for FilterPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.property_name(), self.bits_per_key())?;
        match self {
            FilterPolicy::Bloom { .. } => Ok(()),
            FilterPolicy::Ribbon {
                bloom_before_level, ..
            } => write!(f, ":{bloom_before_level}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trips() {
        for text in ["bloomfilter:10", "bloomfilter:9.9", "ribbonfilter:10:-1"] {
            assert_eq!(FilterPolicy::parse(text).expect(text).to_string(), text);
        }
        let same = [
            ("bloomfilter:10:false", "bloomfilter:10"),
            ("rocksdb.BloomFilter:10:true", "bloomfilter:10"),
            ("ribbonfilter:8.5", "ribbonfilter:8.5:0"),
        ];
        for (text, printed) in same {
            assert_eq!(FilterPolicy::parse(text).expect(text).to_string(), printed);
        }
        for bad in [
            "",
            "bloomfilter",
            "bloomfilter:x",
            "bloomfilter:1:2",
            "ribbonfilter:1:x",
            "b:1",
        ] {
            assert_eq!(FilterPolicy::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn half_a_bit_is_the_least() {
        let millibits = |bits_per_key| FilterPolicy::Bloom { bits_per_key }.millibits();
        assert_eq!(millibits(0.4), None);
        assert_eq!(millibits(f64::NAN), None);
        assert_eq!(millibits(0.5), Some(1000));
        assert_eq!(millibits(1e9), Some(100_000));
    }
}
