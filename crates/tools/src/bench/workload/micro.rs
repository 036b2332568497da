//! Checksums and compression of blocks, without a database.

use whitewater_storage::checksum::{ChecksumType, checksum};
use whitewater_storage::sst::{CompressionOptions, CompressionType, Compressor, decompress_block};

use super::super::check::Sizes;
use super::super::engine::{Engine, Failure, Result};
use super::super::flags::Compression;
use super::super::stats::Operation;
use super::super::worker::Worker;

/// The number of bytes that each thread checksums; the same as RocksDB's.
const CHECKSUM_BYTES: u64 = 5000 << 20;
/// The number of bytes that each thread compresses, or gets by uncompressing; the same
/// as RocksDB's.
const COMPRESSION_BYTES: u64 = 1 << 30;

/// # Errors
/// The functions of this engine cannot be called on their own.
fn check_engine<E: Engine>(worker: &Worker<'_, E>) -> Result<()> {
    if E::COUNTED {
        Ok(())
    } else {
        Err(Failure(format!(
            "{}: {} offers no call for it",
            worker.job().benchmark.name,
            E::title()
        )))
    }
}

fn block_size<E: Engine>(worker: &Worker<'_, E>) -> Result<usize> {
    Ok(usize::try_from(worker.shared.flags.block_size)?)
}

/// Computes the checksum of a block repeatedly, as tables do.
pub fn checksums<E: Engine>(worker: &mut Worker<'_, E>, kind: ChecksumType) -> Result<()> {
    check_engine(worker)?;
    let size = block_size(worker)?;
    let block = vec![b'x'; size];
    let operation = match kind {
        ChecksumType::CRC32c => Operation::Crc,
        _ => Operation::Hash,
    };
    let mut pace = worker.pace(CHECKSUM_BYTES.div_ceil(size as u64));
    let mut sum = 0_u32;
    while pace.more(1) {
        sum = sum.wrapping_add(checksum(kind, std::hint::black_box(&block)));
        worker.stats.bytes += size as u64;
        worker.finished(1, operation);
    }
    // The results are used, so that they are not optimised away.
    std::hint::black_box(sum);
    worker.stats.message = format!("({size} per op)");
    Ok(())
}

fn codec(compression: Compression) -> CompressionType {
    match compression {
        Compression::None => CompressionType::None,
        Compression::Snappy => CompressionType::Snappy,
        Compression::Zlib => CompressionType::Zlib,
        Compression::Bzip2 => CompressionType::Bz2,
        Compression::Lz4 => CompressionType::Lz4,
        Compression::Lz4hc => CompressionType::Lz4hc,
        Compression::Zstd => CompressionType::Zstd,
    }
}

/// A block of values, and a compressor for `compression_type` that accepts any result,
/// however small its gain. As in RocksDB, it uses the codec's default level.
fn prepare<'r, E: Engine>(worker: &Worker<'r, E>) -> Result<(&'r [u8], Compressor)> {
    check_engine(worker)?;
    let size = block_size(worker)?;
    let mut values = worker.shared.pool.values(worker.id, size, Sizes::Fixed);
    let options = CompressionOptions {
        max_compressed_bytes_per_kb: 1024,
        ..CompressionOptions::default()
    };
    let kind = codec(worker.shared.flags.compression()?);
    Ok((values.take(), Compressor::new(kind, &options, None)?))
}

/// What RocksDB's program prints for a block that it cannot compress.
const FAILED: &str = "(compression failure)";

/// Compresses a block repeatedly.
pub fn compress<E: Engine>(worker: &mut Worker<'_, E>) -> Result<()> {
    let (block, mut compressor) = prepare(worker)?;
    let mut pace = worker.pace(COMPRESSION_BYTES.div_ceil(block.len() as u64));
    let (mut bytes, mut produced) = (0, 0);
    while pace.more(1) {
        let (compressed, kind) = compressor.compress(block)?;
        if kind == CompressionType::None {
            worker.stats.message = FAILED.into();
            return Ok(());
        }
        produced += compressed.len() as u64;
        bytes += block.len() as u64;
        worker.finished(1, Operation::Compress);
    }
    worker.stats.bytes += bytes;
    let percent = produced as f64 * 100.0 / bytes.max(1) as f64;
    worker.stats.message = format!("(output: {percent:.1}%)");
    Ok(())
}

/// Uncompresses a block repeatedly.
pub fn uncompress<E: Engine>(worker: &mut Worker<'_, E>) -> Result<()> {
    let (block, mut compressor) = prepare(worker)?;
    let (compressed, kind) = compressor.compress(block)?;
    if kind == CompressionType::None {
        worker.stats.message = FAILED.into();
        return Ok(());
    }
    let mut pace = worker.pace(COMPRESSION_BYTES.div_ceil(block.len() as u64));
    while pace.more(1) {
        let raw = decompress_block(kind, compressed)?;
        worker.stats.bytes += raw.len() as u64;
        worker.finished(1, Operation::Uncompress);
    }
    Ok(())
}
