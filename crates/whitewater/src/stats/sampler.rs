//! Which calls of a thread are looked at, one in a number of them.

use std::cell::Cell;
use whitewater_concurrent::system;

/// Chooses calls of the thread that it belongs to. Gaps between them are random, so that calls that
/// alternate in a pattern all have their turn. In a simulation no call has: a run would depend on
/// what the thread did before.
pub(crate) struct Sampler {
    /// The state of the generator of gaps; 0 before the first call.
    state: Cell<u32>,
    /// The number of calls until the next one that has its turn.
    gap: Cell<u32>,
}

impl Sampler {
    /// For a thread's local storage.
    pub const fn new() -> Self {
        Sampler {
            state: Cell::new(0),
            gap: Cell::new(0),
        }
    }

    /// Whether the call that begins is one of those chosen, about one in `rate`. A thread's first
    /// call is not: threads that call little would otherwise count for much.
    #[inline]
    pub fn is_turn(&self, rate: u32) -> bool {
        let gap = self.gap.get();
        if gap > 1 {
            self.gap.set(gap - 1);
            return false;
        }
        self.begin_gap(rate)
    }

    #[cold]
    fn begin_gap(&self, rate: u32) -> bool {
        if system::is_simulated() {
            return false;
        }
        let is_first = self.state.get() == 0;
        let mut state = if is_first { seed() } else { self.state.get() };
        // Marsaglia's xorshift with 32 bits, which never comes to 0.
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        self.state.set(state);
        self.gap.set(state % (2 * rate) + 1);
        !is_first
    }
}

/// A number other than 0 that differs between threads.
fn seed() -> u32 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(std::thread::current().id()) as u32 | 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_call_in_a_thousand_has_its_turn_and_none_of_short_threads() {
        let sampler = Sampler::new();
        let sampled = (0..1000 * 1024).filter(|_| sampler.is_turn(1024)).count();
        assert!((800..1250).contains(&sampled), "{sampled}");
        for _ in 0..100 {
            assert!(!Sampler::new().is_turn(1024));
        }
    }
}
