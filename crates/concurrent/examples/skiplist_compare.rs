//! Measures variants of the skip list beside each other, in turn:
//! `skiplist_compare [entries] [rounds] [layouts|pages|splices]` prints medians
//! of this thread's processor time per operation, which other programs disturb
//! least.
//!
//! * inline against a pointer to the entry (16 random bytes, no values);
//! * plain pages against huge ones, fresh against kept;
//! * a plain descent against the cached splice and the splice of a batch, for
//!   random, sorted and clustered keys.

#[cfg(unix)]
fn main() {
    unix::main();
}

#[cfg(not(unix))]
fn main() {
    eprintln!("needs a clock of the thread's processor time");
}

#[cfg(unix)]
mod unix {
    use std::hint::black_box;
    use std::sync::Arc;

    use rand::rngs::StdRng;
    use rand::seq::SliceRandom;
    use rand::{Rng, SeedableRng};
    use whitewater_concurrent::arena::ArenaOptions;
    use whitewater_concurrent::region::{Claim, HugePages, set_pool_limit};
    use whitewater_concurrent::skiplist::{
        Bytewise, EntryLayout, Indirect, Inline, SkipList, Splice,
    };

    type Key = [u8; 16];
    type List<L> = SkipList<Bytewise, L>;

    const BLOCK: usize = 1 << 20;
    const BATCH: usize = 64;

    /// Nanoseconds of this thread's processor time per operation.
    fn busy(per: usize, run: impl FnOnce()) -> f64 {
        let now = || {
            let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
            time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
        };
        let start = now();
        run();
        (now() - start) / per as f64
    }

    fn create<L: EntryLayout>(pages: HugePages) -> Arc<List<L>> {
        let block_size = BLOCK;
        Arc::new(SkipList::with_layout(
            Bytewise,
            ArenaOptions { block_size, pages },
        ))
    }

    /// Insert, get, scan.
    fn layout<L: EntryLayout>(
        keys: &[Key],
        shuffled: &[Key],
        value: &[u8],
        pages: HugePages,
    ) -> Vec<f64> {
        let list = create::<L>(pages);
        let insert = busy(keys.len(), || {
            for key in keys {
                list.insert(key, 1, value);
            }
        });
        let get = busy(keys.len(), || {
            for key in shuffled {
                list.scan_from(key, u64::MAX, &mut |found, _, _| {
                    assert_eq!(found, key);
                    false
                });
            }
        });
        let scan = busy(keys.len(), || {
            let mut iter = list.iter();
            iter.seek_to_first();
            while iter.valid() {
                black_box(iter.key()[0]);
                black_box(iter.value());
                iter.next();
            }
        });
        vec![
            insert,
            get,
            scan,
            list.used_bytes() as f64 / keys.len() as f64,
        ]
    }

    /// A plain descent, the list's own splice, a splice for each batch.
    fn splices(keys: &[Key], value: &[u8]) -> Vec<f64> {
        let n = keys.len();
        let list = create::<Inline>(HugePages::Transparent);
        let plain = busy(n, || {
            for key in keys {
                list.insert_concurrently(key, 1, value);
            }
        });
        let list = create::<Inline>(HugePages::Transparent);
        let cached = busy(n, || {
            for key in keys {
                list.insert(key, 1, value);
            }
        });
        let list = create::<Inline>(HugePages::Transparent);
        let batch = busy(n, || {
            for keys in keys.chunks(BATCH) {
                let mut splice = Splice::default();
                for key in keys {
                    list.insert_with_splice(&mut splice, key, 1, value);
                }
            }
        });
        vec![plain, cached, batch]
    }

    fn medians(rounds: Vec<Vec<f64>>) -> Vec<f64> {
        let lines = 0..rounds[0].len();
        let line = |i: usize| {
            let mut samples: Vec<f64> = rounds.iter().map(|round| round[i]).collect();
            samples.sort_by(f64::total_cmp);
            samples[samples.len() / 2]
        };
        lines.map(line).collect()
    }

    fn print(title: &str, names: &[&str], figures: &[f64]) {
        println!("{title}");
        for (name, figure) in names.iter().zip(figures) {
            println!("  {name:40}{figure:>9.1}");
        }
    }

    fn compare_layouts(keys: &[Key], value: &[u8], rounds: usize) {
        let mut shuffled = keys.to_vec();
        shuffled.shuffle(&mut StdRng::seed_from_u64(7));
        let (mut inline, mut indirect) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let pages = HugePages::Transparent;
            inline.push(layout::<Inline>(keys, &shuffled, value, pages));
            indirect.push(layout::<Indirect>(keys, &shuffled, value, pages));
        }
        // Of neighbouring runs, as the machine's state changes with time.
        let ratios = inline.iter().zip(&indirect).map(|(a, b)| {
            let pairs = a.iter().zip(b);
            pairs.map(|(a, b)| b / a).collect()
        });
        let ratios = medians(ratios.collect());
        let (inline, indirect) = (medians(inline), medians(indirect));
        println!(
            "16 random bytes, values of {}: inline, indirect, ratio",
            value.len()
        );
        let names = ["insert", "get", "scan", "bytes per entry"];
        let figures = inline.iter().zip(&indirect).zip(&ratios);
        for (name, ((a, b), ratio)) in names.iter().zip(figures) {
            println!("  {name:20}{a:>9.1}{b:>9.1}{ratio:>9.2}");
        }
    }

    /// Plain pages or huge ones, fresh from the system or kept by the pool.
    fn compare_pages(keys: &[Key], value: &[u8], rounds: usize) {
        let mut shuffled = keys.to_vec();
        shuffled.shuffle(&mut StdRng::seed_from_u64(7));
        let kinds = [
            ("plain, fresh", HugePages::Off, 0),
            ("plain, kept", HugePages::Off, 1 << 30),
            ("huge, fresh", HugePages::Transparent, 0),
            ("huge, kept", HugePages::Transparent, 1 << 30),
        ];
        let mut all = [const { Vec::new() }; 4];
        // As live memtables of a database would.
        let _claim = Claim::new(1 << 30);
        for round in 0..=rounds {
            for ((_, pages, limit), figures) in kinds.iter().zip(&mut all) {
                set_pool_limit(*limit);
                if *limit > 0 {
                    layout::<Inline>(&keys[..keys.len()], &shuffled[..1], value, *pages);
                }
                let figure = layout::<Inline>(keys, &shuffled, value, *pages);
                if round > 0 {
                    figures.push(figure);
                }
            }
        }
        println!("pages, values of {}: insert, get, scan, bytes", value.len());
        for ((kind, ..), figures) in kinds.iter().zip(all) {
            let figures = medians(figures);
            print!("  {kind:16}");
            figures.iter().for_each(|figure| print!("{figure:>9.1}"));
            println!();
        }
    }

    pub fn main() {
        let mut args = std::env::args()
            .skip(1)
            .take(2)
            .map(|a| a.parse().expect("a number"));
        let n: usize = args.next().unwrap_or(1_000_000);
        let rounds = args.next().unwrap_or(5);
        let mut rng = StdRng::seed_from_u64(1);
        let random: Vec<Key> = (0..n).map(|_| rng.random()).collect();
        let only = std::env::args().nth(3);
        let wanted = |part: &str| only.as_deref().is_none_or(|only| only == part);
        if wanted("pages") {
            compare_pages(&random, b"", rounds);
            compare_pages(&random[..n / 2], &[b'v'; 100], rounds);
        }
        if wanted("layouts") {
            compare_layouts(&random, b"", rounds);
        }
        if wanted("splices") {
            compare_splices(random, rounds);
        }
    }

    fn compare_splices(random: Vec<Key>, rounds: usize) {
        let mut rng = StdRng::seed_from_u64(2);
        let mut sorted = random.clone();
        sorted.sort_unstable();
        let mut clustered: Vec<Key> = Vec::new();
        let mut chunks: Vec<_> = sorted.chunks(16).collect();
        chunks.shuffle(&mut rng);
        for chunk in chunks {
            let from = clustered.len();
            clustered.extend(chunk);
            clustered[from..].shuffle(&mut rng);
        }
        let kinds = [
            ("random", random),
            ("sorted", sorted),
            ("16 neighbours at a time, shuffled", clustered),
        ];
        for (kind, keys) in kinds {
            let figures = medians((0..rounds).map(|_| splices(&keys, b"")).collect());
            let names = [
                "plain descent",
                "the list's own splice",
                "a splice for 64 at a time",
            ];
            print(kind, &names, &figures);
        }
    }
}
