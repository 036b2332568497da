//! Compares the memory that a structure reports with the memory that the process really
//! takes. It is a binary of its own, since nothing else may allocate meanwhile.
#![cfg(all(target_os = "linux", not(any(loom, shuttle))))]

#[path = "common/skip.rs"]
mod skip;

use skip::skip;
use std::cmp::Ordering;
use std::fs;
use std::thread;

use whitewater_concurrent::art::{Art, Options};
use whitewater_concurrent::region::set_pool_limit;
use whitewater_concurrent::skiplist::{KeyOrder, SkipList};

struct Bytewise;

impl KeyOrder for Bytewise {
    fn compare(&self, a: (&[u8], u64), b: (&[u8], u64)) -> Ordering {
        a.0.cmp(b.0).then(b.1.cmp(&a.1))
    }
}

const THREADS: u64 = 4;

/// Inserts entries of this size from some threads, until `used` reports 40 MiB.
fn fill(
    value_len: usize,
    used: impl Fn() -> usize + Sync,
    insert: impl Fn(&[u8], u64, &[u8]) + Sync,
) {
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (used, insert) = (&used, &insert);
            scope.spawn(move || {
                let value = vec![7; value_len];
                for i in 0.. {
                    if i % 256 == 0 && used() > 40 << 20 {
                        return;
                    }
                    let number = (i * THREADS + thread).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                    insert(&number.to_be_bytes(), i % 3, &value);
                }
            });
        }
    });
}

fn within_5_percent(says: usize, takes: usize, what: &str) {
    // An arena's first blocks come from the heap, part of which was resident before.
    let heap = 256 << 10;
    assert!(says <= takes + heap, "{what}: says {says}, takes {takes}");
    let off = takes.abs_diff(says) as f64 / takes as f64;
    assert!(
        off < 0.05,
        "{what}: says {says}, takes {takes}: {off:.3} off"
    );
}

/// The exact number of resident bytes of this process.
fn resident() -> usize {
    let text = fs::read_to_string("/proc/self/smaps_rollup").expect("Linux has it");
    let line = text.lines().find(|line| line.starts_with("Rss:")).unwrap();
    let kib: usize = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib << 10
}

/// A single test, since the tests of a binary run in parallel.
#[test]
fn counters_agree_with_the_memory_taken() {
    if fs::read_to_string("/proc/self/smaps_rollup").is_err() {
        skip("the system does not tell what is resident");
        return;
    }
    if fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled")
        .is_ok_and(|modes| modes.contains("[always]"))
    {
        skip("the system uses huge pages by default, so that no figure is exact");
        return;
    }
    const VALUES: [usize; 4] = [0, 16, 100, 3_000];
    set_pool_limit(0);
    for value_len in VALUES {
        tree_agrees(value_len);
    }
    for value_len in VALUES {
        skip_list_agrees(value_len);
    }
}

fn tree_agrees(value_len: usize) {
    let before = resident();
    let tree = Art::new(Options {
        capacity: 64 << 20,
        ..Options::default()
    });
    let insert = |key: &[u8], tag, value: &[u8]| {
        tree.insert(key, tag, value);
    };
    fill(value_len, || tree.used_bytes(), insert);
    let takes = resident() - before;
    let what = format!("tree, values of {value_len}");
    within_5_percent(tree.used_bytes(), takes, &what);
    let off = tree.allocated_bytes().abs_diff(takes) as f64 / takes as f64;
    assert!(off < 0.05, "{what}: {off:.3} off");
    drop(tree);
    assert!(resident() < before + (4 << 20), "all memory is given back");
}

fn skip_list_agrees(value_len: usize) {
    let before = resident();
    let list = SkipList::new(Bytewise, 1 << 20);
    let insert = |key: &[u8], tag, value: &[u8]| {
        list.insert(key, tag, value);
    };
    fill(value_len, || list.used_bytes(), insert);
    let takes = resident() - before;
    let what = format!("skip list, values of {value_len}");
    within_5_percent(list.used_bytes(), takes, &what);
    let off = list.allocated_bytes().abs_diff(takes) as f64 / takes as f64;
    assert!(off < 0.05, "{what}: {off:.3} off");
    drop(list);
    assert!(resident() < before + (4 << 20), "all memory is given back");
}
