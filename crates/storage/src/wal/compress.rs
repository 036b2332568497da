//! Compresses the records of compressed logs.
//!
//! A record of a compressed log is one zstd frame. Its first bytes, the header of a batch, hold the
//! sequence number. That is only known when the record's range in the log is reserved, and the
//! reservation needs the record's size. So the rest is compressed first, and the header stands in
//! the frame uncompressed:
//!
//! ```text
//! frame header | raw block of 12 bytes | the blocks of the compressed rest
//! ```
//!
//! That is a valid frame: blocks refer back by distance, and additional bytes at the front change
//! no distance. The frame header has no size and no checksum, which would depend on the header's
//! bytes. The window need not be larger, because no distance reaches into the header.

use super::decompress::MAX_DECOMPRESSED;
use crate::error::{Error, ErrorKind, Result};
#[cfg(feature = "zstd")]
use {std::cell::Cell, whitewater_concurrent::scratch, zstd::bulk::Compressor};

/// How many bytes of a record are not compressed: the header of a batch.
pub const UNCOMPRESSED_HEADER: usize = 12;

/// Bytes of the frame header: magic number, descriptor, window.
const FRAME_HEADER: usize = 6;

/// Offset of the descriptor. The value 0 means that a window follows, and no dictionary, no size
/// and no checksum.
const DESCRIPTOR: usize = 4;

/// The header of the raw block: 1 bit for "last block", 2 for the kind (0 is raw), 21 for the size.
const RAW_BLOCK: [u8; 3] = [(UNCOMPRESSED_HEADER << 3) as u8, 0, 0];

/// Offset in the frame at which the record's header goes.
const HOLE: usize = FRAME_HEADER + RAW_BLOCK.len();

#[cfg(feature = "zstd")]
thread_local! {
    /// This thread's compressor, kept because making one takes longer than most records.
    static COMPRESSOR: Cell<Option<Compressor<'static>>> = const { Cell::new(None) };
}

/// A compressed record, still without its first [`UNCOMPRESSED_HEADER`] bytes.
#[derive(Debug)]
pub struct CompressedRecord {
    /// The frame without the bytes of the batch's header.
    frame: Vec<u8>,
}

impl CompressedRecord {
    /// Compresses `rest`, at zstd's default level.
    ///
    /// # Errors
    /// `Unknown` with zstd's reason, which is lack of memory; `NotSupported` if zstd is not built
    /// in; `InvalidArgument` for a record that is too large to be decompressed again.
    pub fn new(rest: &[u8]) -> Result<Self> {
        Self::at_most(rest, MAX_DECOMPRESSED)
    }

    fn at_most(rest: &[u8], max: u64) -> Result<Self> {
        let size = (UNCOMPRESSED_HEADER + rest.len()) as u64;
        if size > max {
            return Err(Error::invalid(format_args!(
                "log record of {size} bytes: the most that is compressed is {max}"
            )));
        }
        let mut frame = compress(rest)?;
        if frame.len() < FRAME_HEADER || frame[DESCRIPTOR] != 0 {
            return Err(failed("unexpected frame header"));
        }
        frame.splice(FRAME_HEADER..FRAME_HEADER, RAW_BLOCK);
        Ok(CompressedRecord { frame })
    }

    /// Bytes of the whole record.
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        self.frame.len() + UNCOMPRESSED_HEADER
    }

    /// The parts of the complete record, which begins with `header`.
    pub fn with_header<'a>(&'a self, header: &'a [u8; UNCOMPRESSED_HEADER]) -> [&'a [u8]; 3] {
        let (before, behind) = self.frame.split_at(HOLE);
        [before, header, behind]
    }
}

#[cfg(feature = "zstd")]
fn compress(rest: &[u8]) -> Result<Vec<u8>> {
    let mut frame = Vec::with_capacity(zstd::zstd_safe::compress_bound(rest.len()));
    let mut compressor = match scratch::take(&COMPRESSOR) {
        Some(compressor) => compressor,
        None => compressor().map_err(failed)?,
    };
    let done = compressor.compress_to_buffer(rest, &mut frame);
    scratch::keep(&COMPRESSOR, Some(compressor));
    done.map_err(failed)?;
    Ok(frame)
}

#[cfg(not(feature = "zstd"))]
fn compress(_rest: &[u8]) -> Result<Vec<u8>> {
    Err(Error::not_supported(
        "compressed logs: zstd is not built in (cargo feature zstd)",
    ))
}

#[cfg(feature = "zstd")]
fn compressor() -> std::io::Result<Compressor<'static>> {
    let mut compressor = Compressor::new(zstd::DEFAULT_COMPRESSION_LEVEL)?;
    compressor.include_contentsize(false)?;
    compressor.include_checksum(false)?;
    compressor.include_dictid(false)?;
    Ok(compressor)
}

fn failed(e: impl std::fmt::Display) -> Error {
    Error::new(
        ErrorKind::Unknown,
        format_args!("compressing a log record: {e}"),
    )
}

#[cfg(all(test, feature = "zstd"))]
mod tests {
    use super::super::decompress::{decompress, decompress_at_most};
    use super::*;
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};

    /// What may be in a batch: repetition near and far, and noise.
    fn rest(rng: &mut StdRng, len: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(len);
        while out.len() < len {
            let n = rng.random_range(1..200).min(len - out.len());
            if !out.is_empty() && rng.random_bool(0.5) {
                let from = rng.random_range(0..out.len());
                let copy: Vec<u8> = out[from..].iter().copied().cycle().take(n).collect();
                out.extend_from_slice(&copy);
            } else if rng.random_bool(0.5) {
                out.extend((0..n).map(|_| rng.random::<u8>()));
            } else {
                out.extend(std::iter::repeat_n(rng.random::<u8>(), n));
            }
        }
        out
    }

    #[test]
    fn a_frame_with_a_hole_decodes_at_every_size() {
        let mut rng = StdRng::seed_from_u64(7);
        let sizes = (1..300)
            .chain([1011, 1012, 1013, 1023, 1024, 1025, 2047, 2049])
            .chain([65_535, 131_060, 131_071, 131_072, 131_073, 131_085])
            .chain([262_144, 1 << 20, 9_000_000]);
        for size in sizes {
            let rest = rest(&mut rng, size);
            let header: [u8; UNCOMPRESSED_HEADER] = std::array::from_fn(|i| (i + size) as u8);
            let compressed = CompressedRecord::new(&rest).unwrap();
            let frame = compressed.with_header(&header).concat();
            assert_eq!(frame.len(), compressed.len());
            let mut out = Vec::new();
            decompress(&frame, &mut out).unwrap_or_else(|e| panic!("{size}: {e}"));
            assert_eq!(out[..UNCOMPRESSED_HEADER], header, "{size}");
            assert!(out[UNCOMPRESSED_HEADER..] == rest, "{size}");
            // And as others read it: all at once.
            let all = zstd::decode_all(&frame[..]).unwrap();
            assert!(all == out, "{size}");
        }
    }

    #[test]
    fn what_would_not_be_decompressed_is_not_compressed() {
        let rest = [b'x'; 1000];
        let max = (UNCOMPRESSED_HEADER + rest.len()) as u64;
        let compressed = CompressedRecord::at_most(&rest, max).unwrap();
        let frame = compressed.with_header(&[1; UNCOMPRESSED_HEADER]).concat();
        let mut out = Vec::new();
        decompress_at_most(&frame, &mut out, max as usize).unwrap();
        assert_eq!(out.len() as u64, max);
        let e = CompressedRecord::at_most(&rest, max - 1).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::InvalidArgument);
        assert!(e.to_string().contains("log record of 1012 bytes"), "{e}");
        out.clear();
        decompress_at_most(&frame, &mut out, max as usize - 1).unwrap_err();
    }

    #[test]
    fn what_repeats_gets_small() {
        let compressed = CompressedRecord::new(&[b'x'; 10_000]).unwrap();
        assert!(compressed.len() < 60, "{}", compressed.len());
    }
}
