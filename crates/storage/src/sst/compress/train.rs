//! Makes the dictionary of a table from samples of its blocks.
//!
//! The samples are those that RocksDB takes: from the middle block on, in steps that are coprime to
//! the number of blocks. So they are spread over the table, and the same blocks give the same
//! samples.

use super::{CompressionOptions, CompressionType};
use bytes::Bytes;

/// A prime larger than any number of blocks.
const STEP: u64 = 545_055_921_143;

/// The dictionary for a table of compression type `ty` that begins with `blocks`. `None` if there
/// are no samples, or if the trainer finds nothing in them.
pub(crate) fn train<B: AsRef<[u8]>>(
    ty: CompressionType,
    options: &CompressionOptions,
    blocks: &[B],
) -> Option<Bytes> {
    let max_len = options.max_dict_bytes as usize;
    let max_train = options.zstd_max_train_bytes as usize;
    let trained = ty == CompressionType::Zstd && max_train > 0;
    let (samples, lens) = sample(blocks, if trained { max_train } else { max_len });
    let dictionary = if trained {
        trained_by_zstd(&samples, &lens, max_len)
    } else {
        samples
    };
    (!dictionary.is_empty()).then(|| dictionary.into())
}

/// Up to `max` bytes of whole blocks, the last one cut, and their lengths.
fn sample<B: AsRef<[u8]>>(blocks: &[B], max: usize) -> (Vec<u8>, Vec<usize>) {
    let (mut samples, mut lens) = (Vec::new(), Vec::new());
    let count = blocks.len();
    if count == 0 {
        return (samples, lens);
    }
    let step = (STEP % count as u64) as usize;
    let mut at = count / 2;
    for _ in 0..count {
        let room = max - samples.len();
        if room == 0 {
            break;
        }
        let block = blocks[at].as_ref();
        let taken = &block[..block.len().min(room)];
        samples.extend_from_slice(taken);
        lens.push(taken.len());
        at = (at + step) % count;
    }
    (samples, lens)
}

/// The dictionary that Zstandard's trainer makes of the samples. Empty, as in RocksDB, if they are
/// too few or too similar.
#[cfg(feature = "zstd")]
fn trained_by_zstd(samples: &[u8], lens: &[usize], max_len: usize) -> Vec<u8> {
    zstd::dict::from_continuous(samples, lens, max_len).unwrap_or_default()
}

#[cfg(not(feature = "zstd"))]
fn trained_by_zstd(_samples: &[u8], _lens: &[usize], _max_len: usize) -> Vec<u8> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_spread_and_each_block_is_taken_once() {
        let blocks: Vec<Vec<u8>> = (0..10u8).map(|i| vec![i; 3]).collect();
        let (all, lens) = sample(&blocks, 1000);
        assert_eq!(lens, [3; 10]);
        assert_eq!(all[..3], [5; 3], "from the middle on");
        let mut firsts: Vec<u8> = all.iter().step_by(3).copied().collect();
        firsts.sort_unstable();
        assert_eq!(firsts, (0..10).collect::<Vec<u8>>());
        let (some, lens) = sample(&blocks, 7);
        assert_eq!((&some[..], &lens[..]), (&all[..7], &[3, 3, 1][..]));
        assert_eq!(sample(&blocks[..0], 7), (vec![], vec![]));
        assert_eq!(sample(&blocks, 0), (vec![], vec![]));
        assert_eq!(sample(&blocks[..1], 7), (vec![0; 3], vec![3]));
    }

    #[test]
    fn only_zstandard_trains() {
        let options = CompressionOptions {
            max_dict_bytes: 1000,
            zstd_max_train_bytes: 100_000,
            ..CompressionOptions::default()
        };
        let blocks: Vec<Vec<u8>> = (0..100)
            .map(|i| {
                format!("name=user{i};mail=user{i}@example.org;")
                    .repeat(20)
                    .into_bytes()
            })
            .collect();
        let raw = train(CompressionType::Zlib, &options, &blocks).expect("samples");
        assert_eq!(raw.len(), 1000);
        if CompressionType::Zstd.missing_feature().is_none() {
            let trained = train(CompressionType::Zstd, &options, &blocks).expect("trained");
            assert_eq!(trained[..4], 0xec30_a437u32.to_le_bytes());
            assert!(trained.len() <= 1000);
            let few = train(CompressionType::Zstd, &options, &blocks[..1]);
            assert_eq!(few, None);
        }
    }
}
