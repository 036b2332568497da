//! Block compression.

/// Compression of a block. The discriminants are on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum CompressionType {
    /// Stored as it is.
    #[default]
    None = 0,
    /// Snappy.
    Snappy = 1,
    /// zlib (raw deflate); read and written by a later version.
    Zlib = 2,
    /// bzip2; read and written by a later version.
    Bz2 = 3,
    /// LZ4 block format.
    Lz4 = 4,
    /// LZ4 block format, written with more effort.
    Lz4hc = 5,
    /// Zstandard.
    Zstd = 7,
}
