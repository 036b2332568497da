use super::*;
use crate::checksum::ChecksumType;
use crate::fs::mem::MemFs;
use crate::fs::{BufferedWriter, Fs, WritableFile};
use crate::sst::compress::{Dictionary, decompress};
use std::path::Path;

/// Records with much in common between blocks and little within them.
fn blocks(count: u32) -> Vec<Vec<u8>> {
    let word = |n: u32| n.wrapping_mul(2_654_435_761) >> 8;
    (0..count)
        .map(|i| {
            (0..20)
                .flat_map(|j| format!("<{:06x}:{:06x}>", word(j), word(i * 31 + j)).into_bytes())
                .collect()
        })
        .collect()
}

struct Written {
    bytes: Vec<u8>,
    handles: Vec<BlockHandle>,
    dictionary: Option<Bytes>,
}

fn write(
    ty: CompressionType,
    options: CompressionOptions,
    target: u64,
    blocks: &[Vec<u8>],
) -> Written {
    let fs = MemFs::new();
    let path = Path::new("/t");
    let file = BufferedWriter::new(fs.create(path).expect("created"), 1000);
    let mut sink = BlockSink::new(file, ChecksumType::CRC32c, 0);
    let mut data = DataBlocks::new(ty, options, target, None).expect("built in");
    for block in blocks {
        data.add(block, false, &mut sink).expect("added");
    }
    data.finish(&mut sink).expect("finished");
    assert_eq!(data.in_flight_bytes(), 0);
    sink.file.sync().expect("synced");
    let bytes = (fs.open_random(path).expect("opens"))
        .read_at(0, sink.offset() as usize)
        .expect("reads");
    Written {
        bytes: bytes.to_vec(),
        handles: data.handles().to_vec(),
        dictionary: data.dictionary().cloned(),
    }
}

fn check(ty: CompressionType, written: &Written, blocks: &[Vec<u8>]) {
    let dictionary = written.dictionary.clone().map(Dictionary::new);
    assert_eq!(written.handles.len(), blocks.len());
    for (handle, block) in written.handles.iter().zip(blocks) {
        let start = handle.offset as usize;
        let end = start + handle.size as usize;
        let payload = &written.bytes[start..end];
        let back = match written.bytes[end] {
            0 => payload.to_vec(),
            ty => decompress(ty, payload, dictionary.as_ref()).expect("decompresses"),
        };
        assert!(back == *block, "{ty:?}");
    }
}

fn built_in() -> impl Iterator<Item = CompressionType> {
    (CompressionType::ALL.into_iter()).filter(|ty| ty.missing_feature().is_none())
}

#[test]
fn dictionaries_make_blocks_smaller_and_are_limited() {
    let blocks = blocks(300);
    let plain = CompressionOptions::default();
    let with = CompressionOptions {
        max_dict_bytes: 2000,
        ..plain
    };
    for ty in built_in() {
        let without = write(ty, plain, 0, &blocks);
        check(ty, &without, &blocks);
        assert_eq!(without.dictionary, None);
        let train = if ty == CompressionType::Zstd { 2 } else { 1 };
        for zstd_max_train_bytes in [0, 100_000].into_iter().take(train) {
            let options = CompressionOptions {
                zstd_max_train_bytes,
                ..with
            };
            let written = write(ty, options, 0, &blocks);
            check(ty, &written, &blocks);
            if !ty.takes_dictionary() {
                assert_eq!(written.dictionary, None);
                continue;
            }
            let dictionary = written.dictionary.as_ref().expect("made");
            assert!(dictionary.len() <= 2000);
            assert!(
                written.bytes.len() < without.bytes.len(),
                "{ty:?}: {} with, {} without",
                written.bytes.len(),
                without.bytes.len()
            );
        }
    }
}

#[test]
fn no_more_is_held_than_a_table_is_aimed_at() {
    let blocks = blocks(200);
    let mut options = CompressionOptions {
        max_dict_bytes: 1 << 20,
        ..CompressionOptions::default()
    };
    let Some(ty) = built_in().find(|ty| ty.takes_dictionary()) else {
        return;
    };
    let len = |target, options| {
        let written = write(ty, options, target, &blocks);
        check(ty, &written, &blocks);
        written.dictionary.expect("made").len()
    };
    let all = len(0, options);
    assert_eq!(all, blocks.iter().map(Vec::len).sum::<usize>());
    let block = blocks[0].len();
    assert_eq!(len(10 * block as u64, options), 11 * block);
    options.max_dict_buffer_bytes = 3 * block as u64;
    assert_eq!(len(0, options), 4 * block);
    assert_eq!(len(10 * block as u64, options), 4 * block);
    assert_eq!(len(block as u64, options), 2 * block);
}

#[test]
fn threads_write_what_one_writes() {
    let blocks = blocks(500);
    for ty in built_in() {
        for max_dict_bytes in [0, 1000] {
            let options = |parallel_threads| CompressionOptions {
                max_dict_bytes,
                parallel_threads,
                ..CompressionOptions::default()
            };
            let serial = write(ty, options(1), 50_000, &blocks);
            for threads in [2, 3, 8] {
                let parallel = write(ty, options(threads), 50_000, &blocks);
                assert!(
                    parallel.bytes == serial.bytes,
                    "{ty:?} with {threads} threads"
                );
                assert_eq!(parallel.handles, serial.handles);
                assert_eq!(parallel.dictionary, serial.dictionary);
            }
        }
    }
}

#[test]
fn no_blocks_make_no_dictionary() {
    for ty in built_in() {
        let options = CompressionOptions {
            max_dict_bytes: 1000,
            parallel_threads: 2,
            ..CompressionOptions::default()
        };
        let written = write(ty, options, 0, &[]);
        assert!(written.bytes.is_empty() && written.dictionary.is_none());
    }
}
