//! The height of a new node.
//!
//! Heights are drawn from an xorshift generator of each thread, so that inserters share
//! nothing. The quality of the numbers matters little: a bad draw costs a few
//! comparisons, never correctness.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use super::node::{BRANCHING, MAX_HEIGHT};

thread_local! {
    /// The generator's state; 0 until the thread first draws.
    static STATE: Cell<u64> = const { Cell::new(0) };
}

/// The number of levels of a new node: 1, and each further level with probability 1/4, up
/// to [`MAX_HEIGHT`].
#[inline]
pub(super) fn random_height() -> usize {
    // Every pair of zero bits at the low end is one success with probability 1/4.
    let rises = draw().trailing_zeros() / BRANCHING.trailing_zeros();
    (1 + rises as usize).min(MAX_HEIGHT)
}

/// The number of levels of a new node: 1, and each further level with probability
/// 1/`branching`, up to `max`.
pub(crate) fn random_height_of(max: usize, branching: u32) -> usize {
    let mut height = 1;
    while height < max && draw() < u32::MAX / branching {
        height += 1;
    }
    height
}

/// 32 random bits.
#[inline]
fn draw() -> u32 {
    STATE.with(|state| {
        let mut x = state.get();
        if x == 0 {
            x = seed();
        }
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        state.set(x);
        // The multiplication mixes the low bits, xorshift's weak side; the
        // high half of the product is used.
        (x.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as u32
    })
}

/// A seed other than 0, different for every thread.
#[cold]
fn seed() -> u64 {
    /// The number of threads that have drawn. Written and read by: threads at their first
    /// draw. Publishes nothing.
    static THREADS: AtomicU64 = AtomicU64::new(1);
    let thread = match crate::system::number() {
        None => THREADS.fetch_add(1, Ordering::Relaxed),
        Some(number) => number as u64 + 1,
    };
    // The result is odd, so never 0. The factor spreads small numbers over all bits.
    thread.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn heights_fall_off_by_four() {
        const DRAWS: usize = 400_000;
        let mut at_least = [0_usize; MAX_HEIGHT + 2];
        for _ in 0..DRAWS {
            let height = random_height();
            assert!((1..=MAX_HEIGHT).contains(&height));
            for count in &mut at_least[..=height] {
                *count += 1;
            }
        }
        let mut expected = DRAWS as f64;
        for (height, &count) in at_least.iter().enumerate().take(7).skip(1) {
            let off = (count as f64 - expected).abs();
            assert!(off < 6.0 * expected.sqrt(), "{count} of height {height}");
            expected /= BRANCHING as f64;
        }
    }
}
