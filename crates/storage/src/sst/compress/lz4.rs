//! LZ4: one block of its block format.
//!
//! The crate has one level; the speed-up by negative levels, which RocksDB
//! passes on, is not in it, and a negative level is the same as any other.

use super::dictionary::Dictionary;
use super::size::{expect_len, zeroed};
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
    fn encode(&mut self, raw: &[u8], out: &mut Vec<u8>) -> std::result::Result<bool, Reason> {
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

pub(super) fn decode(src: &[u8], len: usize, dictionary: Option<&Dictionary>) -> Result<Vec<u8>> {
    // Every byte of a match length stands for 255 bytes at most.
    let mut out = zeroed(len, src.len().saturating_mul(255))?;
    let n = match dictionary {
        None => lz4::decompress_into(src, &mut out),
        Some(d) => lz4::decompress_into_with_dict(src, &mut out, d.raw()),
    }
    .map_err(|e| Error::corruption(format_args!("bad LZ4 block: {e}")))?;
    expect_len(n, len)?;
    Ok(out)
}
