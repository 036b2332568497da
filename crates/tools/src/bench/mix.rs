//! The distributions of `mixgraph`: the next operation, its key, the size of a
//! value and the length of a scan. They are those of RocksDB's program, which were
//! fitted to the traces of a social graph.

use rand_xoshiro::rand_core::{RngCore, SeedableRng};

use super::engine::{Failure, Result};
use super::flags::Flags;
use super::keygen::Rng;

/// The kinds of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Query {
    /// Read a key.
    Get,
    /// Write a key.
    Put,
    /// Seek a key and scan from there.
    Seek,
}

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The kind of the operation.
    pub query: Query,
    /// The number of its key.
    pub key: u64,
    /// The size in bytes of the value that a [`Query::Put`] writes.
    pub value_size: usize,
    /// The number of entries that a [`Query::Seek`] reads.
    pub scan: u64,
}

/// The mix of operations that the flags describe.
#[derive(Clone, Debug)]
pub struct Mix {
    keys: u64,
    /// The upper limits of reads, writes and scans, out of 1000 (or a few more, if the
    /// shares are not whole thousandths).
    limits: [u64; 3],
    /// The shares of reads, writes and scans.
    shares: [f64; 3],
    choice: Choice,
    value: Pareto,
    value_most: u64,
    scan: Pareto,
    scan_most: u64,
}

/// How a random number is turned into the number of a key.
#[derive(Clone, Debug)]
enum Choice {
    /// The number is used as it is.
    Any,
    /// A power law over all keys chooses the key.
    Law(Law),
    /// The number chooses a range of keys by the ranges' shares, then a key of the range.
    Ranges(Ranges, Law),
}

/// The maximum size of a value in bytes, whatever `mix_max_value_size` is.
const LARGEST_VALUE: u64 = 1 << 20;
/// The minimum size of a value in bytes.
const SMALLEST_VALUE: u64 = 10;
/// A share below this counts as none.
const NO_SHARE: f64 = 1e-16;

impl Mix {
    /// The mix that `flags` describe, over `keys` keys.
    ///
    /// # Errors
    /// Shares are negative or all 0, or a range has no keys or no share.
    pub fn new(flags: &Flags, keys: u64) -> Result<Self> {
        let ratios = [
            flags.mix_get_ratio,
            flags.mix_put_ratio,
            flags.mix_seek_ratio,
        ];
        let sum: f64 = ratios.iter().sum();
        if ratios.iter().any(|ratio| *ratio < 0.0) || sum <= 0.0 {
            return Err(Failure(format!(
                "--mix_get_ratio={}, --mix_put_ratio={} and --mix_seek_ratio={}: none may be negative, and not all 0",
                ratios[0], ratios[1], ratios[2]
            )));
        }
        let shares = ratios.map(|ratio| ratio / sum);
        let mut limit = 0;
        let limits = shares.map(|share| {
            limit += (share * 1000.0).ceil() as u64;
            limit
        });
        let law = Law {
            a: flags.key_dist_a,
            b: flags.key_dist_b,
        };
        let terms = [
            flags.keyrange_dist_a,
            flags.keyrange_dist_b,
            flags.keyrange_dist_c,
            flags.keyrange_dist_d,
        ];
        let choice = match (law.is_none(), terms == [0.0; 4]) {
            // As in RocksDB, ranges count only together with a law for their keys.
            (true, _) => Choice::Any,
            (false, true) => Choice::Law(law),
            (false, false) => Choice::Ranges(Ranges::new(keys, flags.keyrange_num, terms)?, law),
        };
        Ok(Self {
            keys,
            limits,
            shares,
            choice,
            value: Pareto {
                theta: flags.value_theta,
                k: flags.value_k,
                sigma: flags.value_sigma,
            },
            value_most: flags
                .mix_max_value_size
                .unsigned_abs()
                .clamp(1, LARGEST_VALUE),
            scan: Pareto {
                theta: flags.iter_theta,
                k: flags.iter_k,
                sigma: flags.iter_sigma,
            },
            scan_most: flags.mix_max_scan_len.unsigned_abs().max(1),
        })
    }

    /// The share of operations that read, by key or by seek.
    pub fn reading(&self) -> f64 {
        self.shares[0] + self.shares[2]
    }

    /// The operation that a random number, below the number of keys, stands for.
    pub fn step(&self, number: u64) -> Step {
        let keys = self.keys.max(1);
        let uniform = (number % keys) as f64 / keys as f64;
        let [get, put, all] = self.limits;
        let query = match number % keys % all {
            at if at < get => Query::Get,
            at if at < put => Query::Put,
            _ => Query::Seek,
        };
        let key = match &self.choice {
            Choice::Any => number,
            Choice::Law(law) => scattered(law.seed(uniform)) % keys,
            Choice::Ranges(ranges, law) => ranges.key(number, *law),
        };
        let value_size = match self.value.at(uniform) {
            size if size < SMALLEST_VALUE => SMALLEST_VALUE,
            size if size > self.value_most => size % self.value_most,
            size => size,
        };
        Step {
            query,
            key,
            value_size: value_size as usize,
            scan: self.scan.at(uniform) % self.scan_most,
        }
    }
}

/// Spreads hot seeds over all numbers. The same seed always gives the same number.
fn scattered(seed: u64) -> u64 {
    Rng::seed_from_u64(seed).next_u64()
}

/// The power law `a * x^b`.
#[derive(Clone, Copy, Debug)]
struct Law {
    a: f64,
    b: f64,
}

impl Law {
    fn is_none(self) -> bool {
        self.a == 0.0 || self.b == 0.0
    }

    /// The x of a share, rounded up.
    fn seed(self, share: f64) -> u64 {
        whole((share / self.a).powf(1.0 / self.b))
    }
}

/// The generalized Pareto distribution.
#[derive(Clone, Copy, Debug)]
struct Pareto {
    theta: f64,
    k: f64,
    sigma: f64,
}

impl Pareto {
    /// The value that the given share of all values exceeds, rounded up.
    fn at(self, share: f64) -> u64 {
        whole(match self.k {
            0.0 => self.theta - self.sigma * share.ln(),
            k => self.theta + self.sigma * (share.powf(-k) - 1.0) / k,
        })
    }
}

/// A number rounded up; 0 if it is negative or not finite.
fn whole(number: f64) -> u64 {
    if number.is_finite() {
        number.ceil() as u64
    } else {
        0
    }
}

/// Ranges of keys, each with its share of all operations.
#[derive(Clone, Debug)]
struct Ranges {
    keys_each: u64,
    /// Where the share of each range begins, in ascending order.
    starts: Vec<u64>,
    shares: u64,
}

impl Ranges {
    fn new(keys: u64, count: i64, [a, b, c, d]: [f64; 4]) -> Result<Self> {
        let count = count.max(1);
        let refused = |why: &str| {
            Failure(format!(
                "--keyrange_num={count} over {keys} keys, with --keyrange_dist_a={a} b={b} c={c} d={d}: {why}"
            ))
        };
        let keys_each = keys / count.unsigned_abs();
        if keys_each == 0 && keys > 0 {
            return Err(refused("a range has no keys"));
        }
        // The smallest share becomes about 1, so that all shares are whole numbers.
        let mut scale = 0.0;
        let mut sizes: Vec<u64> = Vec::new();
        for range in (1..=count).rev() {
            let at = range as f64;
            let share = a * (b * at).exp() + c * (d * at).exp();
            let share = if share < NO_SHARE { 0.0 } else { share };
            if scale == 0.0 && share > 0.0 {
                scale = (1.0 / share).floor() + 1.0;
            }
            sizes.push((scale * share).floor() as u64);
        }
        let shares = sizes
            .iter()
            .fold(0_u64, |sum, size| sum.saturating_add(*size));
        if shares == 0 {
            return Err(refused("no range has a share"));
        }
        // The same flags always spread hot ranges over the keys in the same way.
        let mut rng = Rng::seed_from_u64(shares);
        for at in 0..sizes.len() {
            let other = (rng.next_u64() % sizes.len() as u64) as usize;
            sizes.swap(at, other);
        }
        let mut start = 0_u64;
        let starts = sizes
            .iter()
            .map(|size| {
                let here = start;
                start = start.saturating_add(*size);
                here
            })
            .collect();
        Ok(Self {
            keys_each,
            starts,
            shares,
        })
    }

    fn key(&self, number: u64, law: Law) -> u64 {
        let at = number % self.shares;
        let range = self.starts.partition_point(|start| *start <= at).max(1) - 1;
        let each = self.keys_each.max(1);
        let share = (number % each) as f64 / each as f64;
        each * range as u64 + scattered(law.seed(share)) % each
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The flags of the "all random" and "prefix-dist" runs in RocksDB's wiki, scaled
    /// down.
    fn flags() -> Flags {
        Flags {
            num: 100_000,
            mix_get_ratio: 0.83,
            mix_put_ratio: 0.14,
            mix_seek_ratio: 0.03,
            key_dist_a: 0.002312,
            key_dist_b: 0.3467,
            keyrange_dist_a: 14.18,
            keyrange_dist_b: -2.917,
            keyrange_dist_c: 0.0164,
            keyrange_dist_d: -0.08082,
            keyrange_num: 30,
            ..Flags::default()
        }
    }

    fn steps(mix: &Mix, keys: u64, count: u64) -> Vec<Step> {
        let mut rng = Rng::seed_from_u64(5);
        (0..count)
            .map(|_| mix.step(rng.next_u64() % keys))
            .collect()
    }

    #[test]
    fn shares_are_those_asked_for() {
        let mix = Mix::new(&flags(), 100_000).expect("valid");
        assert!((mix.reading() - 0.86).abs() < 1e-9);
        let steps = steps(&mix, 100_000, 20_000);
        let count = |query| steps.iter().filter(|step| step.query == query).count();
        assert!((16_200..17_000).contains(&count(Query::Get)));
        assert!((2_500..3_100).contains(&count(Query::Put)));
        assert!((450..750).contains(&count(Query::Seek)));
        for step in &steps {
            assert!(step.key < 100_000, "{step:?}");
            assert!((1..=1024).contains(&step.value_size), "{step:?}");
            assert!(step.scan < 10_000, "{step:?}");
        }
        let sum: usize = steps.iter().map(|step| step.value_size).sum();
        let mean = sum / steps.len();
        assert!((30..45).contains(&mean), "{mean}");
    }

    #[test]
    fn few_ranges_and_few_keys_get_most() {
        let mix = Mix::new(&flags(), 100_000).expect("valid");
        let mut each = vec![0_u32; 30];
        for step in steps(&mix, 100_000, 30_000) {
            each[(step.key / 3334).min(29) as usize] += 1;
        }
        each.sort_unstable();
        assert!(each[29] > 15_000, "{each:?}");
        let law = Flags {
            keyrange_dist_a: 0.0,
            keyrange_dist_b: 0.0,
            keyrange_dist_c: 0.0,
            keyrange_dist_d: 0.0,
            ..flags()
        };
        let mix = Mix::new(&law, 100_000).expect("valid");
        let mut keys: Vec<_> = steps(&mix, 100_000, 30_000)
            .iter()
            .map(|step| step.key)
            .collect();
        keys.sort_unstable();
        keys.dedup();
        // A uniform distribution would give about 26,000.
        assert!(keys.len() < 24_000, "{}", keys.len());
    }

    #[test]
    fn without_a_law_keys_are_uniform() {
        let plain = Flags::default();
        let mix = Mix::new(&plain, 10).expect("valid");
        assert_eq!(mix.step(7).key, 7);
        assert_eq!(
            mix.step(0).value_size,
            10,
            "an endless value is a small one"
        );
        assert_eq!(Mix::new(&plain, 0).expect("valid").step(0).key, 0);
    }

    #[test]
    fn ranges_need_keys_and_shares() {
        let many = Flags {
            keyrange_num: 1000,
            ..flags()
        };
        let error = Mix::new(&many, 10).expect_err("no keys").to_string();
        assert!(error.contains("keyrange_num=1000"), "{error}");
        let none = Flags {
            keyrange_dist_a: -1.0,
            keyrange_dist_c: 0.0,
            ..flags()
        };
        assert!(Mix::new(&none, 1000).is_err());
    }
}
