//! Random operations with random options, and an account of every byte.

use super::{FRAME, RECORD_HEADER, blob_files, compact, delete_range, open, options, state};
use crate::harness::walk::{Content, collect};
use crate::harness::{append, campaign};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use whitewater::Options;
use whitewater::fs::mem::MemFs;

/// The smallest value that goes into a blob file in all openings, so that it is known at the end
/// which values are in one.
const MIN_SIZE: usize = 50;

fn draw(rng: &mut StdRng, fs: &MemFs) -> Options {
    let mut o = options(fs);
    o.set_merge_operator_associative("append", append);
    o.set_min_blob_size(MIN_SIZE as u64);
    o.set_blob_file_size([1 << 28, 1, 500, 5_000][rng.random_range(0..4)]);
    o.set_enable_blob_gc(rng.random());
    o.set_blob_gc_age_cutoff([0.0, 0.25, 0.5, 1.0][rng.random_range(0..4)]);
    o.set_blob_gc_force_threshold([1.0, 0.3, 0.0][rng.random_range(0..3)]);
    o.set_blob_compaction_readahead_size([0, 700][rng.random_range(0..2)]);
    o.set_disable_auto_compactions(rng.random());
    o.set_max_subcompactions([1, 3][rng.random_range(0..2)]);
    o.set_target_file_size_base([1_000, 1 << 20][rng.random_range(0..2)]);
    o.set_level_zero_file_num_compaction_trigger(2);
    o
}

/// At the end, when everything is compacted, what is in blob files and no garbage is exactly the
/// large values.
#[test]
fn every_byte_of_blob_files_is_accounted_for() {
    campaign("every_byte_of_blob_files_is_accounted_for", 1, 30, |seed| {
        let mut rng = StdRng::seed_from_u64(seed);
        let fs = MemFs::new();
        let mut o = draw(&mut rng, &fs);
        let mut db = open(&o);
        let mut content = Content::new();
        for _ in 0..400 {
            let key = vec![
                b'a' + rng.random_range(0..26),
                b'a' + rng.random_range(0..3),
            ];
            let value = vec![rng.random(); rng.random_range(0..2 * MIN_SIZE)];
            match rng.random_range(0..100) {
                0..=59 => {
                    db.put(&key, &value).unwrap();
                    content.insert(key, value);
                }
                60..=69 => {
                    db.delete(&key).unwrap();
                    content.remove(&key);
                }
                70..=71 => {
                    let end = vec![key[0] + 1];
                    delete_range(&db, &key, &end);
                    content.retain(|k, _| *k < key || *k >= end);
                }
                72..=81 => {
                    db.merge(&key, &value).unwrap();
                    content
                        .entry(key)
                        .and_modify(|old| *old = [old, &b","[..], &value].concat())
                        .or_insert(value);
                }
                82..=93 => db.flush().unwrap(),
                94..=97 => compact(&db),
                _ => {
                    drop(db);
                    o = draw(&mut rng, &fs);
                    db = open(&o);
                }
            }
        }
        assert!(collect(db.raw_iterator()).unwrap() == content);
        db.flush().unwrap();
        compact(&db);
        db.wait_for_compact(&Default::default()).unwrap();
        assert!(collect(db.raw_iterator()).unwrap() == content);
        let large = content.iter().filter(|(_, v)| v.len() >= MIN_SIZE);
        let live: u64 = large
            .map(|(k, v)| RECORD_HEADER + (k.len() + v.len()) as u64)
            .sum();
        let (files, size, garbage) = state(&db);
        assert_eq!(size - garbage - files * FRAME, live);
        assert_eq!(blob_files(&fs).len() as u64, files);
        drop(db);
        let db = open(&draw(&mut rng, &fs));
        assert!(collect(db.raw_iterator()).unwrap() == content);
    });
}
