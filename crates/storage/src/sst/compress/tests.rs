use super::*;
use crate::error::ErrorKind;

/// The types that compress, in this build.
fn built_in() -> impl Iterator<Item = CompressionType> {
    let compresses = |ty: &CompressionType| *ty != CompressionType::None;
    (CompressionType::ALL.into_iter())
        .filter(move |ty| compresses(ty) && ty.check_built_in().is_ok())
}

fn compressor(ty: CompressionType) -> Compressor {
    Compressor::new(ty, &CompressionOptions::default(), None).expect("built in")
}

#[test]
fn blocks_round_trip() {
    let zeros = vec![0u8; 300_000];
    let text = b"a table of many words, words, words ".repeat(50);
    for ty in built_in() {
        let mut c = compressor(ty);
        for raw in [&zeros[..], &text, &zeros[..5000]] {
            let (packed, got) = c.compress(raw).expect("compresses");
            assert_eq!(got, ty);
            assert!(packed.len() < raw.len());
            let back = decompress(ty as u8, packed, None).expect("decompresses");
            assert!(back == raw, "{ty:?} of {} bytes", raw.len());
        }
        for short in [&b""[..], b"x", b"xyz"] {
            let (stored, got) = c.compress(short).expect("too short to shrink");
            assert_eq!((stored, got), (short, CompressionType::None), "{ty:?}");
        }
    }
}

#[test]
fn dictionaries_are_referred_to() {
    let mut state = 1u32;
    let mut noise = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    let raw: Vec<u8> = (0..8000).map(|_| noise()).collect();
    let bytes = Bytes::from(raw.clone());
    let dictionary = Dictionary::new(bytes.clone());
    let other = Dictionary::new(Bytes::from_static(b"something else altogether"));
    for ty in built_in() {
        let options = CompressionOptions::default();
        let mut c = Compressor::new(ty, &options, Some(&bytes)).expect("built in");
        for block in [&raw[..4000], &raw[2000..]] {
            let (packed, got) = c.compress(block).expect("compresses");
            if !ty.takes_dictionary() {
                assert_eq!(got, CompressionType::None, "{ty:?}: noise");
                continue;
            }
            assert_eq!(got, ty);
            assert!(packed.len() < 200, "{ty:?}: {}", packed.len());
            let back = decompress(ty as u8, packed, Some(&dictionary)).expect("decompresses");
            assert!(back == block, "{ty:?}");
            let wrong = decompress(ty as u8, packed, Some(&other));
            assert!(
                wrong.is_err_and(|e| e.kind() == ErrorKind::Corruption),
                "{ty:?}"
            );
        }
    }
}

#[test]
fn levels_and_strategies_are_told_to_the_codec() {
    let text: Vec<u8> = (0..4000u32)
        .flat_map(|i| format!("{}-{};", i * i % 977, i % 50).into_bytes())
        .collect();
    let size = |ty, options| {
        let mut c = Compressor::new(ty, &options, None).expect("built in");
        let (packed, got) = c.compress(&text).expect("compresses");
        assert_eq!(got, ty);
        assert!(decompress(ty as u8, packed, None).expect("decompresses") == text);
        packed.len()
    };
    let defaults = CompressionOptions::default();
    let level = |level| CompressionOptions { level, ..defaults };
    for ty in built_in() {
        let by_level = [-1, 1, 9, 1000].map(|l| size(ty, level(l)));
        let differ = by_level[0] > by_level[3];
        let has_levels = matches!(
            ty,
            CompressionType::Zlib | CompressionType::Lz4hc | CompressionType::Zstd
        );
        if ty == CompressionType::Zlib || ty == CompressionType::Lz4hc {
            // Both begin at their default below their lowest level.
            assert!(by_level[1] > by_level[2], "{ty:?}: {by_level:?}");
        } else {
            assert_eq!(differ, has_levels, "{ty:?}: {by_level:?}");
        }
    }
    if CompressionType::Zlib.check_built_in().is_ok() {
        let strategy = |strategy| CompressionOptions {
            strategy,
            ..defaults
        };
        let sizes = [0, 1, 2, 3, 4].map(|s| size(CompressionType::Zlib, strategy(s)));
        assert!(sizes[2] > sizes[0] && sizes[3] > sizes[0], "{sizes:?}");
        let narrow = CompressionOptions {
            window_bits: -9,
            ..defaults
        };
        assert!(size(CompressionType::Zlib, narrow) > sizes[0]);
    }
    if CompressionType::Zstd.check_built_in().is_ok() {
        let summed = CompressionOptions {
            checksum: true,
            ..defaults
        };
        assert_eq!(
            size(CompressionType::Zstd, summed),
            size(CompressionType::Zstd, defaults) + 4
        );
    }
}

#[test]
fn a_block_is_stored_unless_it_gets_small_enough() {
    let text = b"a table of many words, words, words ".repeat(50);
    for ty in built_in() {
        let with = |max_compressed_bytes_per_kb| {
            let options = CompressionOptions {
                max_compressed_bytes_per_kb,
                ..CompressionOptions::default()
            };
            let mut c = Compressor::new(ty, &options, None).expect("built in");
            c.compress(&text).expect("compresses").1
        };
        assert_eq!(with(0), CompressionType::None);
        assert_eq!(with(1024), ty);
    }
}

#[test]
fn what_is_not_known_is_named() {
    let kind = |ty| decompress(ty, b"abc", None).expect_err("bad").kind();
    assert_eq!(kind(0x81), ErrorKind::NotSupported);
    assert_eq!(kind(6), ErrorKind::NotSupported);
    assert_eq!(kind(9), ErrorKind::Corruption);
    for ty in CompressionType::ALL {
        if let Err(e) = ty.check_built_in() {
            assert_eq!(e.kind(), ErrorKind::NotSupported);
            assert!(e.to_string().contains(ty.property_name()), "{e}");
            assert_eq!(decompress(ty as u8, b"abc", None), Err(e.clone()));
            let options = CompressionOptions::default();
            let refused = Compressor::new(ty, &options, None).err();
            assert_eq!(refused, Some(e));
        }
    }
}

#[test]
fn damaged_blocks_are_corruption_or_the_right_length() {
    let raw = b"0123456789abcdef0123456789abcdef-".repeat(40);
    for ty in built_in() {
        let mut c = compressor(ty);
        let good = c.compress(&raw).expect("compresses").0.to_vec();
        for at in 0..good.len() {
            let cut = decompress(ty as u8, &good[..at], None).expect_err("cut short");
            assert_eq!(cut.kind(), ErrorKind::Corruption);
            for bit in 0..8 {
                let mut bad = good.clone();
                bad[at] ^= 1 << bit;
                match decompress(ty as u8, &bad, None) {
                    Ok(out) => assert!(out.len() <= raw.len() * 300),
                    Err(e) => assert_eq!(e.kind(), ErrorKind::Corruption),
                }
            }
        }
    }
}

#[test]
fn bombs_are_refused_before_memory_is_taken() {
    let mut bomb = Vec::new();
    put_varint32(&mut bomb, u32::MAX);
    bomb.extend_from_slice(&[0x1f, 0, 1, 0xff]);
    for ty in built_in() {
        let e = decompress(ty as u8, &bomb, None).expect_err("a bomb");
        assert_eq!(e.kind(), ErrorKind::Corruption);
    }
}

/// RocksDB of every version inflates with a window of 2^14 bytes, whatever the
/// options say.
#[cfg(feature = "zlib")]
#[test]
fn zlib_looks_no_further_back_than_rocksdb_reads() {
    let mut state = 1u32;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    })
    .take(20_000)
    .collect();
    // Nothing gets smaller but what repeats itself within the window.
    for (distance, ty) in [
        (10_000, CompressionType::Zlib),
        (17_000, CompressionType::None),
        (20_000, CompressionType::None),
    ] {
        let raw = noise[..distance].repeat(2);
        let mut c = compressor(CompressionType::Zlib);
        let (_, got) = c.compress(&raw).expect("compresses");
        assert_eq!(got, ty, "repeated after {distance} bytes");
    }
}
