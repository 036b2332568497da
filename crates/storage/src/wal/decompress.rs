//! Decompresses the records of compressed logs.
//!
//! Each logical record is one zstd frame. Memory grows with the bytes that were really
//! decompressed, up to a limit, whatever the frame's header claims. [`super::compress`] keeps to
//! the same limit.

use crate::batch;
#[cfg(feature = "zstd")]
use zstd::stream::raw::{Decoder, Operation};

/// The largest record that is compressed or decompressed, in bytes. Every batch fits.
pub const MAX_DECOMPRESSED: u64 = batch::MAX_SIZE;

/// How many bytes are decompressed at a time.
#[cfg(feature = "zstd")]
const STEP: usize = 64 * 1024;

/// Decompresses `compressed` into `out`, which is empty.
///
/// # Errors
/// A text that says what is wrong with the bytes.
pub(super) fn decompress(compressed: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
    let max = usize::try_from(MAX_DECOMPRESSED).unwrap_or(usize::MAX - 1);
    decompress_at_most(compressed, out, max)
}

/// Fails: compressed logs cannot be read in this build.
#[cfg(not(feature = "zstd"))]
pub(super) fn decompress_at_most(
    _compressed: &[u8],
    _out: &mut Vec<u8>,
    _max: usize,
) -> Result<(), String> {
    Err("zstd is not built in".to_owned())
}

#[cfg(feature = "zstd")]
pub(super) fn decompress_at_most(
    mut compressed: &[u8],
    out: &mut Vec<u8>,
    max: usize,
) -> Result<(), String> {
    if compressed.is_empty() {
        return Ok(());
    }
    let mut decoder = Decoder::new().map_err(|e| e.to_string())?;
    loop {
        let filled = out.len();
        let step = STEP.max(filled).min(max + 1 - filled);
        out.resize(filled + step, 0);
        let status = decoder
            .run_on_buffers(compressed, &mut out[filled..])
            .map_err(|e| format!("bad compressed bytes ({e})"))?;
        out.truncate(filled + status.bytes_written);
        compressed = &compressed[status.bytes_read..];
        if out.len() > max {
            return Err(format!("more than {max} bytes compressed in one record"));
        }
        if status.remaining == 0 {
            break;
        }
        if compressed.is_empty() && status.bytes_written == 0 {
            return Err("compressed bytes end too early".to_owned());
        }
    }
    if compressed.is_empty() {
        Ok(())
    } else {
        Err("bytes behind the compressed record".to_owned())
    }
}

#[cfg(all(test, feature = "zstd"))]
mod tests {
    use super::*;

    fn compress(data: &[u8]) -> Vec<u8> {
        let mut compressor = zstd::bulk::Compressor::new(3).unwrap();
        compressor.compress(data).unwrap()
    }

    #[test]
    fn frames_decompress_up_to_the_cap() {
        let data: Vec<u8> = (0..300_000u32).map(|i| (i / 100) as u8).collect();
        let compressed = compress(&data);
        let mut out = Vec::new();
        decompress(&compressed, &mut out).unwrap();
        assert_eq!(out, data);
        out.clear();
        decompress_at_most(&compressed, &mut out, data.len()).unwrap();
        assert_eq!(out, data);
        out.clear();
        let e = decompress_at_most(&compressed, &mut out, data.len() - 1).unwrap_err();
        assert!(e.contains("more than"), "{e}");
        assert!(out.len() <= data.len());
    }

    #[test]
    fn every_batch_that_may_be_in_a_log_is_decompressed() {
        assert_eq!(MAX_DECOMPRESSED, batch::MAX_SIZE);
    }

    #[test]
    fn every_truncation_is_an_error() {
        let compressed = compress(b"some bytes, some more bytes, some bytes");
        for n in 1..compressed.len() {
            let mut out = Vec::new();
            assert!(decompress(&compressed[..n], &mut out).is_err(), "{n}");
        }
        let mut longer = compressed.clone();
        longer.push(0);
        assert!(decompress(&longer, &mut Vec::new()).is_err());
    }
}
