//! Block compression.
//!
//! Snappy, LZ4 and Zstandard are written and read; zlib and bzip2 are named
//! in the error of the first block that needs them. What a block says about
//! its uncompressed size is checked against what its codec can reach at all
//! before memory is taken for it.

use crate::coding::{get_varint32, put_varint32};
use crate::error::{Error, Result};
use bytes::Bytes;
use lz4_flex::block as lz4;
use std::cell::RefCell;
use std::fmt;
use zstd::zstd_safe::{self, DCtx, DDict};

/// Compression of a block. The discriminants are on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
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
    /// LZ4 block format, written with more effort. Read; written by a later
    /// version.
    Lz4hc = 5,
    /// Zstandard.
    Zstd = 7,
}

impl CompressionType {
    /// The type stored as `b`, or `None` for one not listed here.
    pub fn from_u8(b: u8) -> Option<Self> {
        Some(match b {
            0 => CompressionType::None,
            1 => CompressionType::Snappy,
            2 => CompressionType::Zlib,
            3 => CompressionType::Bz2,
            4 => CompressionType::Lz4,
            5 => CompressionType::Lz4hc,
            7 => CompressionType::Zstd,
            _ => return None,
        })
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
}

/// No block is larger: offsets inside a block are 32 bits.
const MAX_BLOCK: usize = i32::MAX as usize;

/// The level RocksDB uses for Zstandard when none is asked for.
const ZSTD_DEFAULT_LEVEL: i32 = 3;

/// Compresses blocks, one after the other, with one set of buffers.
pub(crate) struct Compressor {
    codec: Codec,
    out: Vec<u8>,
}

enum Codec {
    None,
    Snappy(Box<snap::raw::Encoder>),
    Lz4(Box<lz4::CompressTable>),
    Zstd(zstd::bulk::Compressor<'static>),
}

impl Compressor {
    /// # Errors
    /// `NotSupported` for a type that is not written.
    pub(crate) fn new(ty: CompressionType, level: Option<i32>) -> Result<Self> {
        let codec = match ty {
            CompressionType::None => Codec::None,
            CompressionType::Snappy => Codec::Snappy(Box::new(snap::raw::Encoder::new())),
            CompressionType::Lz4 => Codec::Lz4(Box::default()),
            CompressionType::Zstd => {
                let range = zstd::compression_level_range();
                let level = level
                    .unwrap_or(ZSTD_DEFAULT_LEVEL)
                    .clamp(*range.start(), *range.end());
                let c = zstd::bulk::Compressor::new(level)
                    .map_err(|e| Error::invalid(format_args!("zstd level {level}: {e}")))?;
                Codec::Zstd(c)
            }
            CompressionType::Zlib | CompressionType::Bz2 | CompressionType::Lz4hc => {
                return Err(Error::not_supported(format_args!(
                    "writing tables compressed with {}",
                    ty.property_name()
                )));
            }
        };
        Ok(Compressor {
            codec,
            out: Vec::new(),
        })
    }

    /// What to store for the block `raw`, and how it is compressed. A block
    /// that does not shrink by an eighth is stored as it is.
    pub(crate) fn compress<'a>(&'a mut self, raw: &'a [u8]) -> Result<(&'a [u8], CompressionType)> {
        let stored = (raw, CompressionType::None);
        if raw.len() > MAX_BLOCK {
            return Ok(stored);
        }
        let fail = |e: &dyn fmt::Display| {
            Err(Error::invalid(format_args!("block does not compress: {e}")))
        };
        self.out.clear();
        let ty = match &mut self.codec {
            Codec::None => return Ok(stored),
            Codec::Snappy(encoder) => {
                self.out.resize(snap::raw::max_compress_len(raw.len()), 0);
                match encoder.compress(raw, &mut self.out) {
                    Ok(n) => self.out.truncate(n),
                    Err(e) => return fail(&e),
                }
                CompressionType::Snappy
            }
            Codec::Lz4(table) => {
                put_varint32(&mut self.out, raw.len() as u32);
                let start = self.out.len();
                self.out
                    .resize(start + lz4::get_maximum_output_size(raw.len()), 0);
                match lz4::compress_into_with_table(raw, &mut self.out[start..], table) {
                    Ok(n) => self.out.truncate(start + n),
                    Err(e) => return fail(&e),
                }
                CompressionType::Lz4
            }
            Codec::Zstd(compressor) => {
                put_varint32(&mut self.out, raw.len() as u32);
                let start = self.out.len();
                self.out
                    .resize(start + zstd_safe::compress_bound(raw.len()), 0);
                match compressor.compress_to_buffer(raw, &mut self.out[start..]) {
                    Ok(n) => self.out.truncate(start + n),
                    Err(e) => return fail(&e),
                }
                CompressionType::Zstd
            }
        };
        if self.out.len() >= raw.len() - raw.len() / 8 {
            return Ok(stored);
        }
        Ok((&self.out, ty))
    }
}

/// The compression dictionary of a file, made ready for its codecs.
pub(crate) struct Dictionary {
    raw: Bytes,
    zstd: DDict<'static>,
}

impl Dictionary {
    pub(crate) fn new(raw: Bytes) -> Result<Self> {
        let zstd = DDict::try_create(&raw)
            .ok_or_else(|| Error::corruption("bad compression dictionary"))?;
        Ok(Dictionary { raw, zstd })
    }

    /// Bytes of memory held.
    pub(crate) fn memory_usage(&self) -> usize {
        self.raw.len() + self.zstd.sizeof()
    }
}

impl fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dictionary({} bytes)", self.raw.len())
    }
}

/// Decompresses the block payload `src` of compression type `ty`, which is
/// not 0.
///
/// # Errors
/// `NotSupported` naming the type when it is known but not read here;
/// `Corruption` when the bytes are not what their type says.
pub(crate) fn decompress(ty: u8, src: &[u8], dictionary: Option<&Dictionary>) -> Result<Vec<u8>> {
    match CompressionType::from_u8(ty) {
        Some(CompressionType::Snappy) => unsnap(src),
        Some(CompressionType::Lz4 | CompressionType::Lz4hc) => unlz4(src, dictionary),
        Some(CompressionType::Zstd) => unzstd(src, dictionary),
        Some(ty @ (CompressionType::Zlib | CompressionType::Bz2)) => Err(Error::not_supported(
            format_args!("block compressed with {}", ty.property_name()),
        )),
        Some(CompressionType::None) => Ok(src.to_vec()),
        None if ty == 6 => Err(Error::not_supported("block compressed with Xpress")),
        None if (0x80..0xff).contains(&ty) => Err(Error::not_supported(format_args!(
            "block with custom compression {ty:#04x}"
        ))),
        None => Err(Error::corruption(format_args!(
            "unknown compression type {ty:#04x}"
        ))),
    }
}

fn unsnap(src: &[u8]) -> Result<Vec<u8>> {
    let bad = |e| Error::corruption(format_args!("bad Snappy block: {e}"));
    let len = snap::raw::decompress_len(src).map_err(bad)?;
    // A copy of up to 64 bytes takes 3.
    let mut out = zeroed(len, src.len().saturating_mul(22))?;
    let n = snap::raw::Decoder::new()
        .decompress(src, &mut out)
        .map_err(bad)?;
    expect_len(n, len)?;
    Ok(out)
}

fn unlz4(mut src: &[u8], dictionary: Option<&Dictionary>) -> Result<Vec<u8>> {
    let len = claimed_len(&mut src)?;
    // Every byte of a match length stands for 255 bytes at most.
    let mut out = zeroed(len, src.len().saturating_mul(255))?;
    let n = match dictionary {
        None => lz4::decompress_into(src, &mut out),
        Some(d) => lz4::decompress_into_with_dict(src, &mut out, &d.raw),
    }
    .map_err(|e| Error::corruption(format_args!("bad LZ4 block: {e}")))?;
    expect_len(n, len)?;
    Ok(out)
}

thread_local! {
    /// Setting one up costs more than decompressing a block.
    static ZSTD_CONTEXT: RefCell<DCtx<'static>> = RefCell::new(DCtx::create());
}

fn unzstd(mut src: &[u8], dictionary: Option<&Dictionary>) -> Result<Vec<u8>> {
    let len = claimed_len(&mut src)?;
    if let Ok(Some(content)) = zstd_safe::get_frame_content_size(src) {
        expect_len(usize::try_from(content).unwrap_or(usize::MAX), len)?;
    }
    // A run of up to 128 KiB takes 4 bytes.
    check_len(len, (src.len() / 4).saturating_mul(128 << 10))?;
    let mut out = Vec::new();
    reserve(&mut out, len)?;
    let n = ZSTD_CONTEXT
        .with_borrow_mut(|ctx| match dictionary {
            None => ctx.decompress(&mut out, src),
            Some(d) => ctx.decompress_using_ddict(&mut out, src, &d.zstd),
        })
        .map_err(|code| {
            let name = zstd_safe::get_error_name(code);
            Error::corruption(format_args!("bad Zstandard block: {name}"))
        })?;
    expect_len(n, len)?;
    Ok(out)
}

/// The uncompressed size in front of a block.
fn claimed_len(src: &mut &[u8]) -> Result<usize> {
    get_varint32(src)
        .map(|n| n as usize)
        .ok_or_else(|| Error::corruption("compressed block without a size"))
}

fn check_len(claimed: usize, reachable: usize) -> Result<()> {
    if claimed > reachable.min(MAX_BLOCK) {
        return Err(Error::corruption(format_args!(
            "compressed block claims {claimed} bytes, more than it can hold"
        )));
    }
    Ok(())
}

fn zeroed(len: usize, reachable: usize) -> Result<Vec<u8>> {
    check_len(len, reachable)?;
    let mut out = Vec::new();
    reserve(&mut out, len)?;
    out.resize(len, 0);
    Ok(out)
}

fn reserve(out: &mut Vec<u8>, len: usize) -> Result<()> {
    out.try_reserve_exact(len)
        .map_err(|_| Error::corruption(format_args!("no memory for a block of {len} bytes")))
}

fn expect_len(got: usize, claimed: usize) -> Result<()> {
    if got != claimed {
        return Err(Error::corruption(format_args!(
            "compressed block claims {claimed} bytes and holds {got}"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    const WRITTEN: [CompressionType; 3] = [
        CompressionType::Snappy,
        CompressionType::Lz4,
        CompressionType::Zstd,
    ];

    #[test]
    fn blocks_round_trip() {
        let zeros = vec![0u8; 300_000];
        let text = b"a table of many words, words, words ".repeat(50);
        for ty in WRITTEN {
            let mut c = Compressor::new(ty, None).expect("written");
            for raw in [&zeros[..], &text, &zeros[..5000]] {
                let (packed, got) = c.compress(raw).expect("compresses");
                assert_eq!(got, ty);
                assert!(packed.len() < raw.len());
                let back = decompress(ty as u8, packed, None).expect("decompresses");
                assert_eq!(back, raw);
            }
            let (stored, got) = c.compress(b"xyz").expect("too short to shrink");
            assert_eq!((stored, got), (&b"xyz"[..], CompressionType::None));
        }
    }

    #[test]
    fn what_is_not_available_is_named() {
        for (ty, name) in [
            (CompressionType::Zlib, "Zlib"),
            (CompressionType::Bz2, "BZip2"),
        ] {
            let e = decompress(ty as u8, b"abc", None).expect_err("not read");
            assert_eq!(e.kind(), ErrorKind::NotSupported);
            assert!(e.to_string().contains(name), "{e}");
        }
        for ty in [
            CompressionType::Zlib,
            CompressionType::Bz2,
            CompressionType::Lz4hc,
        ] {
            let e = Compressor::new(ty, None).err().expect("not written");
            assert_eq!(e.kind(), ErrorKind::NotSupported);
        }
        let kind = |ty| decompress(ty, b"abc", None).expect_err("bad").kind();
        assert_eq!(kind(0x81), ErrorKind::NotSupported);
        assert_eq!(kind(9), ErrorKind::Corruption);
    }

    #[test]
    fn damaged_blocks_are_corruption_or_the_right_length() {
        let raw = b"0123456789abcdef0123456789abcdef-".repeat(40);
        for ty in WRITTEN {
            let mut c = Compressor::new(ty, None).expect("written");
            let good = c.compress(&raw).expect("compresses").0.to_vec();
            for at in 0..good.len() {
                let cut = decompress(ty as u8, &good[..at], None).expect_err("cut short");
                assert_eq!(cut.kind(), ErrorKind::Corruption);
                for bit in 0..8 {
                    let mut bad = good.clone();
                    bad[at] ^= 1 << bit;
                    match decompress(ty as u8, &bad, None) {
                        Ok(out) => assert!(out.len() <= raw.len() * 300),
                        Err(e) => assert_eq!(e.kind(), ErrorKind::Corruption),
                    }
                }
            }
        }
    }

    #[test]
    fn bombs_are_refused_before_memory_is_taken() {
        let mut bomb = Vec::new();
        put_varint32(&mut bomb, u32::MAX);
        bomb.extend_from_slice(&[0x1f, 0, 1, 0xff]);
        for ty in WRITTEN {
            let e = decompress(ty as u8, &bomb, None).expect_err("a bomb");
            assert_eq!(e.kind(), ErrorKind::Corruption);
        }
    }
}
