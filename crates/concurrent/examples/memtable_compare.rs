//! Measures the radix tree beside the skip list: times per operation and bytes
//! per entry. `memtable_compare [entries] [rounds]`; prints medians. Times are
//! processor time, but for two threads. `HUGE=1` asks for huge pages.
//!
//! Nothing else should run meanwhile; the load average is printed, too.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use whitewater_concurrent::arena::ArenaOptions;
use whitewater_concurrent::art::{Art, Options};
use whitewater_concurrent::region::HugePages;
use whitewater_concurrent::skiplist::{Bytewise, SkipList, Splice};

type List = SkipList<Bytewise>;
type Key = Box<[u8]>;

/// What both structures can do.
trait Set: Send + Sync + 'static {
    fn create(bytes: usize) -> Arc<Self>;
    fn insert(&self, key: &[u8], tag: u64, value: &[u8]) -> bool;
    fn insert_all(&self, keys: &[Key], first_tag: u64, value: &[u8]);
    fn get(&self, key: &[u8]) -> bool;
    /// Seeks to each key; the number found.
    fn seek_all(self: &Arc<Self>, keys: &[Key]) -> usize;
    fn forward(self: &Arc<Self>) -> usize;
    fn backward(self: &Arc<Self>) -> usize;
    fn used(&self) -> usize;
}

macro_rules! common {
    () => {
        fn seek_all(self: &Arc<Self>, keys: &[Key]) -> usize {
            let mut iter = self.iter();
            let found = keys.iter().filter(|key| {
                iter.seek(key, u64::MAX);
                iter.valid() && iter.key().starts_with(key)
            });
            found.count()
        }
        fn forward(self: &Arc<Self>) -> usize {
            let mut iter = self.iter();
            iter.seek_to_first();
            let mut count = 0;
            while iter.valid() {
                black_box(iter.key()[0]);
                black_box(iter.value());
                count += 1;
                iter.next();
            }
            count
        }
        fn backward(self: &Arc<Self>) -> usize {
            let mut iter = self.iter();
            iter.seek_to_last();
            let mut count = 0;
            while iter.valid() {
                black_box(iter.key()[0]);
                black_box(iter.value());
                count += 1;
                iter.prev();
            }
            count
        }
        fn used(&self) -> usize {
            self.used_bytes()
        }
    };
}

impl Set for List {
    fn create(_: usize) -> Arc<Self> {
        let arena = ArenaOptions {
            block_size: 1 << 20,
            pages: huge_pages(),
        };
        Arc::new(SkipList::new(Bytewise, arena))
    }
    fn insert(&self, key: &[u8], tag: u64, value: &[u8]) -> bool {
        SkipList::insert(self, key, tag, value)
    }
    fn insert_all(&self, keys: &[Key], first_tag: u64, value: &[u8]) {
        let mut splice = Splice::default();
        for (i, key) in keys.iter().enumerate() {
            self.insert_with_splice(&mut splice, key, first_tag + i as u64, value);
        }
    }
    fn get(&self, key: &[u8]) -> bool {
        let mut found = false;
        self.scan_from(key, u64::MAX, &mut |there, _, value| {
            found = there == key;
            black_box(value);
            false
        });
        found
    }
    common!();
}

impl Set for Art {
    fn create(bytes: usize) -> Arc<Self> {
        Arc::new(Art::new(Options {
            capacity: bytes,
            huge_pages: huge_pages(),
        }))
    }
    fn insert(&self, key: &[u8], tag: u64, value: &[u8]) -> bool {
        Art::insert(self, key, tag, value)
    }
    fn insert_all(&self, keys: &[Key], first_tag: u64, value: &[u8]) {
        let entries = keys.iter().zip(first_tag..);
        self.insert_batch(entries.map(|(key, tag)| (&key[..], tag, value)));
    }
    fn get(&self, key: &[u8]) -> bool {
        let mut found = false;
        self.scan_from(key, u64::MAX, &mut |there, _, value| {
            found = there == key;
            black_box(value);
            false
        });
        found
    }
    common!();
}

fn huge_pages() -> HugePages {
    match std::env::var_os("HUGE") {
        Some(_) => HugePages::Transparent,
        None => HugePages::Off,
    }
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}

/// Nanoseconds of `run`, each of `per` operations.
fn time(per: usize, run: impl FnOnce()) -> f64 {
    let start = Instant::now();
    run();
    start.elapsed().as_nanos() as f64 / per as f64
}

/// As [`time`], but of this thread's processor time, where that is known: what
/// other programs take does not count.
fn busy(per: usize, run: impl FnOnce()) -> f64 {
    #[cfg(unix)]
    {
        let now = || {
            let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
            time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
        };
        let start = now();
        run();
        (now() - start) / per as f64
    }
    #[cfg(not(unix))]
    time(per, run)
}

const LINES: [&str; 9] = [
    "insert one by one",
    "insert, two threads",
    "insert, batches of 512",
    "get",
    "seek",
    "scan forward",
    "scan backward",
    "bytes per entry",
    "two threads over one",
];

/// One round over all lines.
fn round<S: Set>(keys: &[Key], shuffled: &[Key], value: &[u8]) -> [f64; 9] {
    let n = keys.len();
    let bytes = n * (keys[0].len() + value.len() + 96);
    let batch = S::create(bytes);
    let batches = busy(n, || {
        for (i, keys) in keys.chunks(512).enumerate() {
            batch.insert_all(keys, 1 + i as u64 * 512, value);
        }
    });
    drop(batch);
    let two = S::create(bytes);
    let parallel = time(n, || {
        std::thread::scope(|scope| {
            for half in keys.chunks(n.div_ceil(2)) {
                let two = &two;
                scope.spawn(move || {
                    for key in half {
                        two.insert(key, 1, value);
                    }
                });
            }
        });
    });
    drop(two);
    let set = S::create(bytes);
    let single = busy(n, || {
        for (i, key) in keys.iter().enumerate() {
            set.insert(key, 1 + i as u64, value);
        }
    });
    let get = busy(n, || {
        assert!(shuffled.iter().all(|key| set.get(key)));
    });
    let seek = busy(n, || assert_eq!(set.seek_all(shuffled), n));
    let mut entries = set.forward();
    let forward = busy(entries, || entries = set.forward());
    let backward = busy(entries, || assert_eq!(set.backward(), entries));
    let used = set.used() as f64 / entries as f64;
    let ratio = single / parallel;
    [
        single, parallel, batches, get, seek, forward, backward, used, ratio,
    ]
}

fn compare(title: &str, keys: Vec<Key>, value: &[u8], rounds: usize) {
    let mut shuffled = keys.clone();
    shuffled.shuffle(&mut StdRng::seed_from_u64(7));
    let mut list = Vec::new();
    let mut art = Vec::new();
    for _ in 0..rounds {
        list.push(round::<List>(&keys, &shuffled, value));
        art.push(round::<Art>(&keys, &shuffled, value));
    }
    println!(
        "\n{title}\n{:26}{:>10}{:>10}{:>8}",
        "", "skip list", "tree", "ratio"
    );
    for (line, name) in LINES.iter().enumerate() {
        let list = median(list.iter().map(|r| r[line]).collect());
        let art = median(art.iter().map(|r| r[line]).collect());
        println!("{name:26}{list:>10.1}{art:>10.1}{:>8.2}", list / art);
    }
}

fn keys(n: usize, make: impl FnMut(usize) -> Vec<u8>) -> Vec<Key> {
    (0..n).map(make).map(Vec::into_boxed_slice).collect()
}

fn main() {
    let mut args = std::env::args().skip(1);
    let n: usize = args
        .next()
        .map_or(1_000_000, |a| a.parse().expect("entries"));
    let rounds = args.next().map_or(5, |a| a.parse().expect("rounds"));
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!("{n} entries, {rounds} rounds, load {}", load.trim());
    let mut rng = StdRng::seed_from_u64(1);
    let random = keys(n, |_| rng.random::<[u8; 16]>().to_vec());
    compare(
        "16 random bytes, empty values (S3)",
        random.clone(),
        b"",
        rounds,
    );
    compare(
        "16 random bytes, 100-byte values",
        random,
        &[b'v'; 100],
        rounds,
    );
    let padded = keys(n, |_| {
        let mut key = vec![b'0'; 35];
        key[..8].copy_from_slice(&rng.random_range(0..n as u64).to_be_bytes());
        key
    });
    compare(
        "35 bytes as db_bench's, 100-byte values",
        padded,
        &[b'v'; 100],
        rounds,
    );
    let dense = |_| keys(n / 5, |i| (i as u64).to_be_bytes().to_vec());
    compare(
        "8 dense bytes, 16-byte values (S1)",
        dense(()),
        &[b'v'; 16],
        rounds,
    );
    compare(
        "8 dense bytes, 136-byte values (S2)",
        dense(()),
        &[b'v'; 136],
        rounds,
    );
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!("\nload {}", load.trim());
}
