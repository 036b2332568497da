//! bzip2: a block is one stream. Level and work factor are fixed, as in RocksDB, and there are no
//! dictionaries.

use super::size::{check_len, expect_len, reserve};
use super::{Encode, Reason};
use crate::error::{Error, Result};
use bzip2::{Action, Compress, Compression, Decompress, Status};

/// RocksDB's: blocks of 100 kB, and how soon runs are sorted the slow way.
const LEVEL: u32 = 1;
const WORK_FACTOR: u32 = 30;

/// A bzip2 block holds 900 000 bytes after runs of up to 255 have become 5.
const MAX_BLOCK: usize = 900_000 / 5 * 255;

/// The least bytes of a stream with one block.
const MIN_STREAM: usize = 32;

/// How much memory is allocated at first, whatever the stream claims.
const FIRST_STEP: usize = 1 << 20;

pub(super) struct Encoder;

impl Encode for Encoder {
    fn encode(
        &mut self,
        raw: &[u8],
        room: usize,
        out: &mut Vec<u8>,
    ) -> std::result::Result<bool, Reason> {
        let mut stream = Compress::new(Compression::new(LEVEL), WORK_FACTOR);
        out.reserve(room);
        let status = stream.compress_vec(raw, out, Action::Finish)?;
        // Any other status means that the output did not fit.
        Ok(status == Status::StreamEnd)
    }
}

pub(super) fn decode(mut src: &[u8], len: usize) -> Result<Vec<u8>> {
    check_len(len, (src.len() / MIN_STREAM + 1).saturating_mul(MAX_BLOCK))?;
    let bad =
        |what: &dyn std::fmt::Display| Error::corruption(format_args!("bad bzip2 block: {what}"));
    let mut stream = Decompress::new(false);
    let mut out = Vec::new();
    loop {
        // One byte more than the size, to detect the end.
        let step = (len + 1 - out.len()).min(out.len().max(FIRST_STEP));
        reserve(&mut out, step)?;
        let (read, written) = (stream.total_in(), out.len());
        let status = stream.decompress_vec(src, &mut out).map_err(|e| bad(&e))?;
        src = &src[(stream.total_in() - read) as usize..];
        if status == Status::StreamEnd {
            break;
        }
        if out.len() > len || (out.len() == written && src.is_empty()) {
            return Err(bad(&"the stream does not end where it should"));
        }
    }
    expect_len(out.len(), len)?;
    Ok(out)
}
