//! Options of the codecs, such as levels.

use super::CompressionType;
use crate::error::{Error, Result};

/// RocksDB's number for "the codec's default level".
pub const DEFAULT_LEVEL: i32 = 32_767;

/// Options of a codec. Names, defaults and meanings are RocksDB's. A codec ignores options that are
/// not its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompressionOptions {
    /// zlib: minus the base-2 logarithm of the window size in bytes, -14 to -9. A negative value
    /// means that there is no zlib header. RocksDB reads windows of at most 14 bits. Default -14.
    pub window_bits: i32,
    /// Compression level: a higher one gives smaller blocks and is slower. zlib has -1 to 9
    /// (default 6), LZ4HC 1 to 12 (default 9), Zstandard negative levels up to 22 (default 3).
    /// Levels outside the range are clamped. The other codecs have no levels. [`DEFAULT_LEVEL`],
    /// the default, stands for the codec's default.
    pub level: i32,
    /// zlib: 0 default, 1 filtered, 2 Huffman only, 3 runs, 4 fixed codes.
    /// Default 0.
    pub strategy: i32,
    /// The largest size of a table's dictionary in bytes; 0 means no dictionary. Used by zlib,
    /// LZ4, LZ4HC and Zstandard. Default 0.
    pub max_dict_bytes: u32,
    /// How many bytes of samples Zstandard's trainer gets to make a dictionary from. 0 means that
    /// the samples themselves are the dictionary. Default 0.
    pub zstd_max_train_bytes: u32,
    /// How many threads compress the blocks of one table. Default 1.
    pub parallel_threads: u32,
    /// Whether the options for the bottommost level take effect. Default false.
    pub enabled: bool,
    /// The most uncompressed bytes of a table that are held in memory to sample a dictionary
    /// from. 0 stands for the target size of tables. Default 0.
    pub max_dict_buffer_bytes: u64,
    /// Whether Zstandard's trainer makes dictionaries. `false`, which stands for its "finalizer",
    /// is refused. Default true.
    pub use_zstd_dict_trainer: bool,
    /// The largest compressed size that is accepted, in bytes per KiB of the block, 0 to 1024.
    /// Larger blocks are stored uncompressed. Default 896.
    pub max_compressed_bytes_per_kb: i32,
    /// Zstandard: whether each frame has a checksum. Default false.
    pub checksum: bool,
}

impl Default for CompressionOptions {
    fn default() -> Self {
        CompressionOptions {
            window_bits: -14,
            level: DEFAULT_LEVEL,
            strategy: 0,
            max_dict_bytes: 0,
            zstd_max_train_bytes: 0,
            parallel_threads: 1,
            enabled: false,
            max_dict_buffer_bytes: 0,
            use_zstd_dict_trainer: true,
            max_compressed_bytes_per_kb: 896,
            checksum: false,
        }
    }
}

/// The most threads for one table.
const MAX_THREADS: u32 = 1024;

impl CompressionOptions {
    /// The chosen level; `None` for the codec's default.
    #[cfg(any(feature = "lz4", feature = "zstd", feature = "zlib"))]
    pub(crate) fn level(&self) -> Option<i32> {
        (self.level != DEFAULT_LEVEL).then_some(self.level)
    }

    /// Checks the options that `ty` uses. `option` is the name of the option that holds them all.
    ///
    /// # Errors
    /// `InvalidArgument` for values outside their range; `NotSupported` for values that RocksDB
    /// supports and this crate does not. Both name option and value.
    pub fn check(&self, option: &str, ty: CompressionType) -> Result<()> {
        let outside = |name: &str, value: i64, range: &str| {
            Err(Error::invalid(format_args!(
                "option {option}: {name} = {value} is outside {range} for {}",
                ty.property_name()
            )))
        };
        if self.parallel_threads == 0 || self.parallel_threads > MAX_THREADS {
            return outside("parallel_threads", self.parallel_threads.into(), "1..=1024");
        }
        let kb = self.max_compressed_bytes_per_kb;
        if !(0..=1024).contains(&kb) {
            return outside("max_compressed_bytes_per_kb", kb.into(), "0..=1024");
        }
        match ty {
            CompressionType::Zlib => {
                if self.window_bits > 0 || self.window_bits < -14 {
                    return Err(Error::not_supported(format_args!(
                        "option {option}: window_bits = {} for zlib: RocksDB reads raw deflate with windows of \
                         14 bits at most, -14..=-9",
                        self.window_bits
                    )));
                }
                if self.window_bits > -9 {
                    return outside("window_bits", self.window_bits.into(), "-14..=-9");
                }
                if !(0..=4).contains(&self.strategy) {
                    return outside("strategy", self.strategy.into(), "0..=4");
                }
            }
            CompressionType::Zstd
                if self.max_dict_bytes > 0
                    && self.zstd_max_train_bytes > 0
                    && !self.use_zstd_dict_trainer =>
            {
                return Err(Error::not_supported(format_args!(
                    "option {option}: use_zstd_dict_trainer = false: dictionaries are made by \
                     the trainer"
                )));
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn a_codec_checks_only_its_own() {
        let defaults = CompressionOptions::default();
        let odd = CompressionOptions {
            window_bits: 15,
            strategy: 9,
            ..defaults
        };
        let untrained = CompressionOptions {
            max_dict_bytes: 1,
            zstd_max_train_bytes: 1,
            use_zstd_dict_trainer: false,
            ..defaults
        };
        for ty in CompressionType::ALL {
            assert_eq!(defaults.check("o", ty), Ok(()));
            assert_eq!(
                odd.check("o", ty).is_ok(),
                ty != CompressionType::Zlib,
                "{ty:?}"
            );
            assert_eq!(
                untrained.check("o", ty).is_ok(),
                ty != CompressionType::Zstd,
                "{ty:?}"
            );
        }
        let kind =
            |o: CompressionOptions| o.check("o", CompressionType::Zlib).map_err(|e| e.kind());
        let with_window = |window_bits| CompressionOptions {
            window_bits,
            ..defaults
        };
        assert_eq!(kind(with_window(-9)), Ok(()));
        assert_eq!(kind(with_window(-8)), Err(ErrorKind::InvalidArgument));
        assert_eq!(kind(with_window(-15)), Err(ErrorKind::NotSupported));
        let threads = |parallel_threads| CompressionOptions {
            parallel_threads,
            ..defaults
        };
        assert_eq!(kind(threads(0)), Err(ErrorKind::InvalidArgument));
        assert_eq!(kind(threads(2000)), Err(ErrorKind::InvalidArgument));
    }
}
