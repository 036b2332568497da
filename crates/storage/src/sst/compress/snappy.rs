//! Snappy: a block is one raw Snappy block, which contains its size.

use super::size::{expect_len, zeroed};
use super::{Encode, Reason};
use crate::error::{Error, Result};

pub(super) struct Encoder(snap::raw::Encoder);

impl Encoder {
    pub(super) fn new() -> Self {
        Encoder(snap::raw::Encoder::new())
    }
}

impl Encode for Encoder {
    fn encode(
        &mut self,
        raw: &[u8],
        _: usize,
        out: &mut Vec<u8>,
    ) -> std::result::Result<bool, Reason> {
        let start = out.len();
        out.resize(start + snap::raw::max_compress_len(raw.len()), 0);
        let n = self.0.compress(raw, &mut out[start..])?;
        out.truncate(start + n);
        Ok(true)
    }
}

pub(super) fn decode(src: &[u8]) -> Result<Vec<u8>> {
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
