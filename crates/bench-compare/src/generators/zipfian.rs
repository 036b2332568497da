//! The zipfian distribution, as Gray et al. ("Quickly Generating Billion-Record Synthetic
//! Databases", SIGMOD 1994) and YCSB compute it.

use rand_xoshiro::rand_core::RngCore;
use whitewater_tools::bench::keygen::Rng;

/// YCSB's exponent.
pub const THETA: f64 = 0.99;
/// The number of items that YCSB's scrambled distribution draws from, whatever the number of
/// records: the distribution stays the same when records are added.
pub const SCRAMBLED_ITEMS: u64 = 10_000_000_000;
/// The sum of 1 / k^0.99 for k from 1 to [`SCRAMBLED_ITEMS`], as YCSB has it.
const SCRAMBLED_ZETA: f64 = 26.469_028_201_783_02;

/// Draws item `k`, counted from 0, with a probability in proportion to 1 / (k + 1)^theta.
/// Exact for the first two items, close for the others.
#[derive(Clone, Debug)]
pub struct Zipfian {
    items: u64,
    theta: f64,
    /// The sum of 1 / k^theta over all items.
    zeta: f64,
    /// What follows from the fields above.
    alpha: f64,
    eta: f64,
}

impl Zipfian {
    /// A distribution over `items` items. Takes time in proportion to them.
    pub fn new(items: u64, theta: f64) -> Self {
        Self::with_zeta(items, theta, zeta(1..=items, theta))
    }

    /// The distribution that YCSB scrambles.
    pub fn scrambled() -> Self {
        Self::with_zeta(SCRAMBLED_ITEMS, THETA, SCRAMBLED_ZETA)
    }

    fn with_zeta(items: u64, theta: f64, zeta: f64) -> Self {
        let mut made = Self {
            items,
            theta,
            zeta,
            alpha: 1.0 / (1.0 - theta),
            eta: 0.0,
        };
        made.derive();
        made
    }

    fn derive(&mut self) {
        let two = zeta(1..=2, self.theta);
        let power = (2.0 / self.items as f64).powf(1.0 - self.theta);
        self.eta = (1.0 - power) / (1.0 - two / self.zeta);
    }

    /// Adds items until there are `items`. Takes time in proportion to those that are new.
    pub fn grow(&mut self, items: u64) {
        if items > self.items {
            self.zeta += zeta(self.items + 1..=items, self.theta);
            self.items = items;
            self.derive();
        }
    }

    /// The sum of 1 / k^theta over all items.
    pub fn zeta(&self) -> f64 {
        self.zeta
    }

    /// Draws an item; 0 is the most likely.
    pub fn next(&self, rng: &mut Rng) -> u64 {
        let uniform = (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        let place = uniform * self.zeta;
        if place < 1.0 || self.items < 2 {
            return 0;
        }
        if place < 1.0 + 0.5_f64.powf(self.theta) {
            return 1;
        }
        let share = (self.eta * uniform - self.eta + 1.0).powf(self.alpha);
        ((self.items as f64 * share) as u64).min(self.items - 1)
    }
}

fn zeta(terms: std::ops::RangeInclusive<u64>, theta: f64) -> f64 {
    terms.map(|k| 1.0 / (k as f64).powf(theta)).sum()
}

/// YCSB's hash of a number, which spreads hot records: the absolute value of FNV-1a, of 64
/// bits, over its bytes from the lowest.
pub fn fnv_hash(number: u64) -> u64 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let octets = number.to_le_bytes().into_iter();
    let hash = octets.fold(OFFSET, |hash, octet| {
        (hash ^ u64::from(octet)).wrapping_mul(PRIME)
    });
    hash.cast_signed().unsigned_abs()
}
