//! How much effort compression makes.

use super::CompressionType;
use crate::error::{Error, Result};

/// RocksDB's number for "the codec's default level".
pub const DEFAULT_LEVEL: i32 = 32_767;

/// Options of a codec. Names, defaults and meanings are RocksDB's; a codec
/// takes no notice of what is not its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompressionOptions {
    /// zlib: minus the base-2 logarithm of its window in bytes, -14 to -9.
    /// Negative says that there is no zlib header, and RocksDB reads windows of
    /// 14 bits at most. Default -14.
    pub window_bits: i32,
    /// Effort; higher is smaller and slower. zlib -1 to 9 (default 6), LZ4HC 1 to
    /// 12 (default 9), Zstandard up to 22 and down to negative ones (default
    /// 3); what is outside is moved inside. The others have no levels.
    /// [`DEFAULT_LEVEL`] is the codec's default. Default that.
    pub level: i32,
    /// zlib: 0 default, 1 filtered, 2 Huffman only, 3 runs, 4 fixed codes.
    /// Default 0.
    pub strategy: i32,
    /// Largest dictionary of a table, in bytes; 0 is no dictionary. Used by
    /// zlib, LZ4, LZ4HC and Zstandard. Default 0.
    pub max_dict_bytes: u32,
    /// Samples that Zstandard's trainer is given to make a dictionary from, in
    /// bytes; 0: samples are the dictionary. Default 0.
    pub zstd_max_train_bytes: u32,
    /// Threads that compress the blocks of one table. Default 1.
    pub parallel_threads: u32,
    /// Whether options of the bottommost level count. Default false.
    pub enabled: bool,
    /// Uncompressed bytes of a table that are held in memory at most to sample
    /// a dictionary from; 0 is the size tables are aimed at. Default 0.
    pub max_dict_buffer_bytes: u64,
    /// Make dictionaries by Zstandard's trainer. `false` (its "finalizer") is
    /// refused. Default true.
    pub use_zstd_dict_trainer: bool,
    /// A block that does not get this small is stored as it is. Bytes per KiB, 0
    /// to 1024. Default 896.
    pub max_compressed_bytes_per_kb: i32,
    /// Zstandard: a checksum in each frame. Default false.
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

/// Threads for one table at most.
const MAX_THREADS: u32 = 1024;

impl CompressionOptions {
    /// The level asked for; `None` is the codec's default.
    #[cfg(any(feature = "lz4", feature = "zstd", feature = "zlib"))]
    pub(crate) fn level(&self) -> Option<i32> {
        (self.level != DEFAULT_LEVEL).then_some(self.level)
    }

    /// Checks what `ty` takes notice of. `option` is the name of the whole.
    ///
    /// # Errors
    /// `InvalidArgument` for numbers outside their range, `NotSupported` for
    /// what RocksDB has and this has not; both name option and number.
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
