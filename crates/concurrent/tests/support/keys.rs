//! Keys that are hard for a structure, and values that contain their key.

use std::collections::BTreeSet;

/// A value that contains its key and tag.
pub fn value(key: &[u8], tag: u64) -> Vec<u8> {
    let mut value = key[key.len().saturating_sub(20)..].to_vec();
    value.extend_from_slice(&tag.to_be_bytes()[..(tag % 9) as usize]);
    value
}

/// Every key over two letters of at most `longest` bytes: many are prefixes of each
/// other.
pub fn two_letters(letters: [u8; 2], longest: usize) -> Vec<Vec<u8>> {
    let of_len = |len: usize| {
        (0..1usize << len).map(move |bits| (0..len).map(|i| letters[bits >> i & 1]).collect())
    };
    (0..=longest).flat_map(of_len).collect()
}

/// Keys with a common prefix of 1 KiB that differ from it at various points.
pub fn shared_prefix() -> Vec<Vec<u8>> {
    let shared: Vec<u8> = (0..1024).map(|i| (i / 7) as u8).collect();
    let mut keys = Vec::new();
    for cut in [0, 1, 3, 4, 5, 511, 1019, 1020, 1023, 1024] {
        for tail in [&b""[..], b"\0", b"x", b"xy", b"\xff\xff"] {
            keys.push([&shared[..cut], tail].concat());
        }
    }
    keys
}

/// The adversarial keys, in order of their bytes: the empty key, all zeros, all 0xff,
/// prefixes of each other, long ones, whole nodes.
pub fn adversarial() -> Vec<Vec<u8>> {
    let mut keys: BTreeSet<Vec<u8>> = BTreeSet::new();
    for len in 0..12 {
        keys.insert(vec![0; len]);
        keys.insert(vec![0xff; len]);
        keys.insert([vec![b'a'; len], vec![0]].concat());
        keys.insert([vec![0; len], vec![0xff]].concat());
    }
    keys.extend(two_letters(*b"ab", 7));
    keys.extend(two_letters([0, 0xff], 5));
    keys.extend(shared_prefix());
    // Keys of 64 KiB that differ late.
    for i in 0..6u8 {
        let mut key = vec![b'k'; 64 << 10];
        key[(64 << 10) - 1 - usize::from(i) * 9000] = i;
        keys.insert(key);
    }
    // All children of one node, and of a node below it.
    for byte in 0..=255 {
        keys.insert(vec![b'n', byte]);
        keys.insert(vec![b'n', 7, byte, 1]);
    }
    keys.into_iter().collect()
}

/// Keys and tags to read at, near every key: tags below `tags` and the extremes.
pub fn probes(keys: &[Vec<u8>], tags: u64) -> Vec<(Vec<u8>, u64)> {
    let mut probes = vec![(vec![], 0), (vec![0xff; 20], 3)];
    for (i, key) in keys.iter().enumerate() {
        for tag in [0, i as u64 % (tags + 2), u64::MAX] {
            probes.push((key.clone(), tag));
        }
        let mut near = key.clone();
        if let Some(last) = near.last_mut() {
            *last = last.wrapping_add(1);
            probes.push((near.clone(), 1));
            near.pop();
            probes.push((near, 2));
        }
        probes.push(([key, &b"\0"[..]].concat(), 1));
        probes.push(([key, &b"m"[..]].concat(), 1));
    }
    probes
}
