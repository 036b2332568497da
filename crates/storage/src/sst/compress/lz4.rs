//! LZ4: a block is one block of LZ4's block format.
//!
//! The crate for LZ4 has one level. RocksDB passes negative levels to LZ4 as a speed-up; here a
//! negative level is the same as any other.

use super::dictionary::Dictionary;
use super::size::{check_len, expect_len, zeroed};
use super::{Encode, Reason};
use crate::error::{Error, Result};
use bytes::Bytes;
use lz4_flex::block as lz4;

pub(super) struct Encoder {
    table: Box<lz4::CompressTable>,
    dictionary: Option<Bytes>,
}

impl Encoder {
    pub(super) fn new(dictionary: Option<&Bytes>) -> Self {
        Encoder {
            table: Box::default(),
            dictionary: dictionary.cloned(),
        }
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
        out.resize(start + lz4::get_maximum_output_size(raw.len()), 0);
        let space = &mut out[start..];
        let n = match &self.dictionary {
            None => lz4::compress_into_with_table(raw, space, &mut self.table)?,
            Some(dictionary) => lz4::compress_into_with_dict(raw, space, dictionary)?,
        };
        out.truncate(start + n);
        Ok(true)
    }
}

/// Blocks up to this size are decompressed into memory that is not zeroed first, and whose
/// allocation aborts on failure.
const USUAL: usize = 1 << 20;

pub(super) fn decode(src: &[u8], len: usize, dictionary: Option<&Dictionary>) -> Result<Vec<u8>> {
    let bad = |e| Error::corruption(format_args!("bad LZ4 block: {e}"));
    // Every byte of a match length stands for at most 255 bytes.
    let reachable = src.len().saturating_mul(255);
    let dictionary = dictionary.map_or(&[][..], |d| d.raw());
    if len <= USUAL {
        check_len(len, reachable)?;
        let out = lz4::decompress_with_dict(src, len, dictionary).map_err(bad)?;
        expect_len(out.len(), len)?;
        return Ok(out);
    }
    let mut out = zeroed(len, reachable)?;
    let n = lz4::decompress_into_with_dict(src, &mut out, dictionary).map_err(bad)?;
    expect_len(n, len)?;
    Ok(out)
}
