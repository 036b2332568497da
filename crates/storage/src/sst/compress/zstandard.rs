//! Zstandard: a block is one frame.

use super::dictionary::Dictionary;
use super::size::{check_len, expect_len, for_block};
use super::{CompressionOptions, Encode, Reason};
use crate::error::{Error, Result};
use bytes::Bytes;
use std::cell::Cell;
use whitewater_concurrent::scratch;
use zstd::zstd_safe::{self, DCtx};

/// The level that RocksDB uses by default.
const DEFAULT_LEVEL: i32 = 3;

pub(super) struct Encoder(zstd::bulk::Compressor<'static>);

impl Encoder {
    pub(super) fn new(
        options: &CompressionOptions,
        dictionary: Option<&Bytes>,
    ) -> std::io::Result<Self> {
        let range = zstd::compression_level_range();
        let level = options
            .level()
            .unwrap_or(DEFAULT_LEVEL)
            .clamp(*range.start(), *range.end());
        let mut compressor = match dictionary {
            None => zstd::bulk::Compressor::new(level)?,
            Some(dictionary) => zstd::bulk::Compressor::with_dictionary(level, dictionary)?,
        };
        compressor.include_checksum(options.checksum)?;
        Ok(Encoder(compressor))
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
        out.resize(start + zstd_safe::compress_bound(raw.len()), 0);
        let n = self.0.compress_to_buffer(raw, &mut out[start..])?;
        out.truncate(start + n);
        Ok(true)
    }
}

thread_local! {
    /// Kept because setting one up costs more than decompressing a block.
    static CONTEXT: Cell<Option<DCtx<'static>>> = const { Cell::new(None) };
}

pub(super) fn decode(src: &[u8], len: usize, dictionary: Option<&Dictionary>) -> Result<Vec<u8>> {
    if let Ok(Some(content)) = zstd_safe::get_frame_content_size(src) {
        expect_len(usize::try_from(content).unwrap_or(usize::MAX), len)?;
    }
    // A run of up to 128 KiB takes 4 bytes.
    check_len(len, (src.len() / 4).saturating_mul(128 << 10))?;
    let dictionary = dictionary.map(Dictionary::zstd).transpose()?;
    let mut out = for_block(len)?;
    let mut context = scratch::take(&CONTEXT).unwrap_or_else(DCtx::create);
    let n = match dictionary {
        None => context.decompress(&mut out, src),
        Some(d) => context.decompress_using_ddict(&mut out, src, d),
    };
    scratch::keep(&CONTEXT, Some(context));
    let n = n.map_err(|code| {
        let name = zstd_safe::get_error_name(code);
        Error::corruption(format_args!("bad Zstandard block: {name}"))
    })?;
    expect_len(n, len)?;
    Ok(out)
}
