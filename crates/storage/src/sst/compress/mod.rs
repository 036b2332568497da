//! Block compression.
//!
//! There is a file per codec: `snappy`, `zlib`, `bz2`, `lz4` and `lz4hc`, `zstandard`. Each is
//! behind a cargo feature. The first block or table that needs a codec which is not built in fails
//! with an error that names it. `options`: levels and the like. `dictionary`: bytes that the blocks
//! of a table may refer to; `train` makes it. `size`: checks the uncompressed size that a block
//! claims against what its codec can reach, before memory is allocated for it.

#[cfg(feature = "bzip2")]
mod bz2;
mod dictionary;
#[cfg(feature = "lz4")]
mod lz4;
#[cfg(feature = "lz4")]
mod lz4hc;
mod options;
// Not needed without codecs.
#[cfg(any(
    feature = "snappy",
    feature = "lz4",
    feature = "zstd",
    feature = "zlib",
    feature = "bzip2"
))]
mod size;
#[cfg(feature = "snappy")]
mod snappy;
#[cfg(test)]
mod tests;
mod train;
#[cfg(feature = "zlib")]
mod zlib;
#[cfg(feature = "zstd")]
mod zstandard;

pub(crate) use dictionary::Dictionary;
pub use options::{CompressionOptions, DEFAULT_LEVEL};
pub(crate) use train::train;

use crate::coding::{get_varint32, put_varint32};
use crate::error::{Error, Result};
use crate::sst::events::{BlockCompression, BlockStep, TableEvents, timed};
use bytes::Bytes;
use std::sync::Arc;

/// Compression of a block. The discriminants are on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum CompressionType {
    /// Stored uncompressed.
    #[default]
    None = 0,
    /// Snappy.
    Snappy = 1,
    /// zlib: raw deflate.
    Zlib = 2,
    /// bzip2.
    Bz2 = 3,
    /// LZ4 block format.
    Lz4 = 4,
    /// LZ4 block format, written with more effort.
    Lz4hc = 5,
    /// Zstandard.
    Zstd = 7,
}

impl CompressionType {
    /// All of them.
    pub const ALL: [CompressionType; 7] = [
        CompressionType::None,
        CompressionType::Snappy,
        CompressionType::Zlib,
        CompressionType::Bz2,
        CompressionType::Lz4,
        CompressionType::Lz4hc,
        CompressionType::Zstd,
    ];

    /// The type stored as `b`, or `None` for one not listed here.
    pub fn from_u8(b: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|ty| *ty as u8 == b)
    }

    /// The name in the property `rocksdb.compression`.
    pub(crate) fn property_name(self) -> &'static str {
        match self {
            CompressionType::None => "NoCompression",
            CompressionType::Snappy => "Snappy",
            CompressionType::Zlib => "Zlib",
            CompressionType::Bz2 => "BZip2",
            CompressionType::Lz4 => "LZ4",
            CompressionType::Lz4hc => "LZ4HC",
            CompressionType::Zstd => "ZSTD",
        }
    }

    /// The cargo feature that is missing, if the codec is not built in.
    pub fn missing_feature(self) -> Option<&'static str> {
        let (feature, on) = match self {
            CompressionType::None => return None,
            CompressionType::Snappy => ("snappy", cfg!(feature = "snappy")),
            CompressionType::Zlib => ("zlib", cfg!(feature = "zlib")),
            CompressionType::Bz2 => ("bzip2", cfg!(feature = "bzip2")),
            CompressionType::Lz4 | CompressionType::Lz4hc => ("lz4", cfg!(feature = "lz4")),
            CompressionType::Zstd => ("zstd", cfg!(feature = "zstd")),
        };
        (!on).then_some(feature)
    }

    fn check_built_in(self) -> Result<()> {
        match self.missing_feature() {
            None => Ok(()),
            Some(feature) => Err(Error::not_supported(format_args!(
                "compression {} is not built in (cargo feature {feature})",
                self.property_name()
            ))),
        }
    }

    /// Whether the codec uses dictionaries.
    pub(crate) fn takes_dictionary(self) -> bool {
        matches!(
            self,
            CompressionType::Zlib
                | CompressionType::Lz4
                | CompressionType::Lz4hc
                | CompressionType::Zstd
        )
    }
}

/// The largest block that is compressed, in bytes: offsets inside a block have 32 bits.
const MAX_BLOCK: usize = i32::MAX as usize;

/// Why a codec failed.
type Reason = Box<dyn std::error::Error + Send + Sync>;

/// A codec that compresses, and the state it keeps from block to block.
trait Encode: Send {
    /// Appends the compressed form of `raw` to `out`. Returns `false` if it gave up because the
    /// result would have more than `room` bytes; then the content of `out` is unspecified. A codec
    /// need not give up.
    ///
    /// # Errors
    /// Errors of the codec: lack of memory, or a bug.
    fn encode(
        &mut self,
        raw: &[u8],
        room: usize,
        out: &mut Vec<u8>,
    ) -> std::result::Result<bool, Reason>;
}

/// Compresses blocks one after the other, reusing its buffers.
pub struct Compressor {
    ty: CompressionType,
    /// `None` if blocks are stored uncompressed.
    codec: Option<Box<dyn Encode>>,
    /// The largest compressed size that is accepted, in bytes per KiB of the block.
    max_bytes_per_kb: u64,
    out: Vec<u8>,
    /// The listener, if there is one.
    events: Option<Arc<dyn TableEvents>>,
}

impl Compressor {
    /// The most bytes that can be compressed at a time.
    pub const MOST: usize = MAX_BLOCK;

    /// Compresses with `ty`, and with `dictionary` if there is one.
    ///
    /// # Errors
    /// `NotSupported` for a type that is not built in; the errors of
    /// [`CompressionOptions::check`].
    pub fn new(
        ty: CompressionType,
        options: &CompressionOptions,
        dictionary: Option<&Bytes>,
    ) -> Result<Self> {
        ty.check_built_in()?;
        options.check("compression_opts", ty)?;
        Ok(Compressor {
            ty,
            codec: codec(ty, options, dictionary)?,
            max_bytes_per_kb: u64::try_from(options.max_compressed_bytes_per_kb).unwrap_or(0),
            out: Vec::new(),
            events: None,
        })
    }

    /// The same compressor, which reports each block to `events`.
    pub(crate) fn with_events(mut self, events: Option<Arc<dyn TableEvents>>) -> Self {
        self.events = events;
        self
    }

    /// The stored form of the block `raw`, and its compression. A block that does not shrink
    /// enough is stored uncompressed.
    ///
    /// # Errors
    /// `InvalidArgument` if the codec fails.
    pub fn compress<'a>(&'a mut self, raw: &'a [u8]) -> Result<(&'a [u8], CompressionType)> {
        let stored = (raw, CompressionType::None);
        let events = self.events.as_deref();
        let tell = |outcome, len| {
            if let Some(events) = events {
                events.compressed(outcome, raw.len(), len);
            }
        };
        let codec = match &mut self.codec {
            Some(codec) if raw.len() <= MAX_BLOCK => codec,
            _ => {
                tell(BlockCompression::Bypassed, raw.len());
                return Ok(stored);
            }
        };
        self.out.clear();
        if self.ty != CompressionType::Snappy {
            put_varint32(&mut self.out, raw.len() as u32);
        }
        let out = &mut self.out;
        let smaller = timed(events, BlockStep::Compress, || {
            codec.encode(raw, raw.len(), out)
        });
        let smaller = smaller.map_err(|e| {
            Error::invalid(format_args!(
                "compressing a block with {} failed: {e}",
                self.ty.property_name()
            ))
        })?;
        let limit = (raw.len() as u64 * self.max_bytes_per_kb) >> 10;
        let len = self.out.len() as u64;
        if !smaller || len > limit || self.out.len() >= raw.len() {
            tell(BlockCompression::Rejected, raw.len());
            return Ok(stored);
        }
        tell(BlockCompression::Compressed, self.out.len());
        Ok((&self.out, self.ty))
    }

    /// The compressed form of `raw`, even if it is larger; with [`CompressionType::None`], `raw`
    /// itself. For values in blob files, which all have the same compression.
    ///
    /// # Errors
    /// `InvalidArgument` if the codec fails, and for more than [`Compressor::MOST`] bytes.
    pub fn compress_whatever<'a>(&'a mut self, raw: &'a [u8]) -> Result<&'a [u8]> {
        let Some(codec) = &mut self.codec else {
            return Ok(raw);
        };
        let failed = |e: &dyn std::fmt::Display| {
            Error::invalid(format_args!(
                "compressing a value with {} failed: {e}",
                self.ty.property_name()
            ))
        };
        if raw.len() > MAX_BLOCK {
            return Err(failed(&"it is too large"));
        }
        self.out.clear();
        if self.ty != CompressionType::Snappy {
            put_varint32(&mut self.out, raw.len() as u32);
        }
        match codec.encode(raw, most_compressed(raw.len()), &mut self.out) {
            Ok(true) => Ok(&self.out),
            Ok(false) => Err(failed(&"it became too large")),
            Err(e) => Err(failed(&e)),
        }
    }
}

/// The largest compressed size of `len` bytes, whatever the codec. RocksDB's estimate.
fn most_compressed(len: usize) -> usize {
    len + len / 16 * 3 + 3 + 604
}

#[cfg_attr(
    not(feature = "zstd"),
    expect(clippy::unnecessary_wraps, reason = "Zstandard's can fail")
)]
fn codec(
    ty: CompressionType,
    options: &CompressionOptions,
    dictionary: Option<&Bytes>,
) -> Result<Option<Box<dyn Encode>>> {
    // Unused without codecs.
    let _ = (options, dictionary);
    Ok(match ty {
        #[cfg(feature = "snappy")]
        CompressionType::Snappy => Some(Box::new(snappy::Encoder::new())),
        #[cfg(feature = "zlib")]
        CompressionType::Zlib => Some(Box::new(zlib::Encoder::new(options, dictionary))),
        #[cfg(feature = "bzip2")]
        CompressionType::Bz2 => Some(Box::new(bz2::Encoder)),
        #[cfg(feature = "lz4")]
        CompressionType::Lz4 => Some(Box::new(lz4::Encoder::new(dictionary))),
        #[cfg(feature = "lz4")]
        CompressionType::Lz4hc => Some(Box::new(lz4hc::Encoder::new(options, dictionary))),
        #[cfg(feature = "zstd")]
        CompressionType::Zstd => {
            let encoder = zstandard::Encoder::new(options, dictionary)
                .map_err(|e| Error::invalid(format_args!("zstd level {}: {e}", options.level)))?;
            Some(Box::new(encoder))
        }
        _ => None,
    })
}

/// Decompresses a block that [`Compressor::compress`] compressed as `ty` without a dictionary.
///
/// # Errors
/// `NotSupported` for a type that is not built in; `Corruption` if the bytes do not fit the type.
pub fn decompress_block(ty: CompressionType, src: &[u8]) -> Result<Vec<u8>> {
    decompress(ty as u8, src, None)
}

/// Decompresses a single value of compression type `ty`, which is not 0.
///
/// # Errors
/// As [`decompress`].
pub(crate) fn decompress_value(ty: u8, src: &[u8]) -> Result<Vec<u8>> {
    decompress(ty, src, None)
}

/// Decompresses the block payload `src` of compression type `ty`, which is
/// not 0.
///
/// # Errors
/// `NotSupported` naming the type if it is known but cannot be read; `Corruption` if the bytes do
/// not fit the type.
pub(crate) fn decompress(ty: u8, src: &[u8], dictionary: Option<&Dictionary>) -> Result<Vec<u8>> {
    let Some(known) = CompressionType::from_u8(ty) else {
        return Err(match ty {
            6 => Error::not_supported("block compressed with Xpress"),
            0x80..=0xfe => {
                Error::not_supported(format_args!("block with custom compression {ty:#04x}"))
            }
            _ => Error::corruption(format_args!("unknown compression type {ty:#04x}")),
        });
    };
    known.check_built_in()?;
    let mut rest = src;
    let len = match known {
        CompressionType::None | CompressionType::Snappy => 0,
        _ => get_varint32(&mut rest)
            .ok_or_else(|| Error::corruption("compressed block without a size"))?,
    } as usize;
    // Unused without codecs.
    let _ = (len, dictionary);
    match known {
        #[cfg(feature = "snappy")]
        CompressionType::Snappy => snappy::decode(src),
        #[cfg(feature = "zlib")]
        CompressionType::Zlib => zlib::decode(rest, len, dictionary),
        #[cfg(feature = "bzip2")]
        CompressionType::Bz2 => bz2::decode(rest, len),
        #[cfg(feature = "lz4")]
        CompressionType::Lz4 | CompressionType::Lz4hc => lz4::decode(rest, len, dictionary),
        #[cfg(feature = "zstd")]
        CompressionType::Zstd => zstandard::decode(rest, len, dictionary),
        // No other type is built in.
        _ => Ok(src.to_vec()),
    }
}
