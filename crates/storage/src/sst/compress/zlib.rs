//! zlib: a block is one raw deflate stream.

use super::dictionary::Dictionary;
use super::size::{expect_len, zeroed};
use super::{CompressionOptions, Encode, Reason};
use crate::error::{Error, Result};
use bytes::Bytes;
use std::cell::Cell;
use whitewater_concurrent::scratch;
use zlib_rs::{Deflate, DeflateConfig, DeflateFlush, Inflate, InflateFlush, Status, Strategy};

/// RocksDB's.
const MEM_LEVEL: i32 = 8;

pub(super) struct Encoder {
    deflate: Deflate,
    dictionary: Option<Bytes>,
}

impl Encoder {
    /// `options` were checked for zlib.
    pub(super) fn new(options: &CompressionOptions, dictionary: Option<&Bytes>) -> Self {
        let config = DeflateConfig {
            level: options.level().unwrap_or(-1).clamp(-1, 9),
            window_bits: options.window_bits.clamp(-14, -9),
            mem_level: MEM_LEVEL,
            strategy: match options.strategy {
                1 => Strategy::Filtered,
                2 => Strategy::HuffmanOnly,
                3 => Strategy::Rle,
                4 => Strategy::Fixed,
                _ => Strategy::Default,
            },
            ..DeflateConfig::default()
        };
        Encoder {
            deflate: Deflate::new_with_config(config),
            dictionary: dictionary.cloned(),
        }
    }
}

impl Encode for Encoder {
    fn encode(
        &mut self,
        raw: &[u8],
        room: usize,
        out: &mut Vec<u8>,
    ) -> std::result::Result<bool, Reason> {
        self.deflate.reset();
        if let Some(dictionary) = &self.dictionary {
            (self.deflate.set_dictionary(dictionary)).map_err(|e| e.as_str())?;
        }
        let start = out.len();
        out.resize(start + room, 0);
        let status = self
            .deflate
            .compress(raw, &mut out[start..], DeflateFlush::Finish)
            .map_err(|e| e.as_str())?;
        out.truncate(start + self.deflate.total_out() as usize);
        // Any other status means that the output did not fit.
        Ok(status == Status::StreamEnd)
    }
}

/// The largest window, which can read streams of every window size.
const WINDOW_BITS: u8 = 15;

thread_local! {
    /// Kept because setting one up costs more than decompressing a block.
    static INFLATE: Cell<Option<Inflate>> = const { Cell::new(None) };
}

pub(super) fn decode(src: &[u8], len: usize, dictionary: Option<&Dictionary>) -> Result<Vec<u8>> {
    // A match of 258 bytes takes 2 bits.
    let mut out = zeroed(len, src.len().saturating_mul(1032))?;
    let mut inflate = scratch::take(&INFLATE).unwrap_or_else(|| Inflate::new(false, WINDOW_BITS));
    let done = decode_into(&mut out, src, dictionary, &mut inflate);
    scratch::keep(&INFLATE, Some(inflate));
    done?;
    Ok(out)
}

fn decode_into(
    out: &mut [u8],
    src: &[u8],
    dictionary: Option<&Dictionary>,
    inflate: &mut Inflate,
) -> Result<()> {
    let bad = |what: &str| Error::corruption(format_args!("bad zlib block: {what}"));
    inflate.reset(false);
    if let Some(dictionary) = dictionary {
        (inflate.set_dictionary(dictionary.raw())).map_err(|e| bad(e.as_str()))?;
    }
    match inflate.decompress(src, out, InflateFlush::Finish) {
        Ok(Status::StreamEnd) => {}
        Ok(_) => return Err(bad("the stream does not end where it should")),
        Err(e) => return Err(bad(e.as_str())),
    }
    expect_len(inflate.total_out() as usize, out.len())
}
