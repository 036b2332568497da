//! Whether a look-up counts on finding its key in the table that it comes to.
//!
//! The filter of a table has to be read before the index if it rules the key out, and could as well
//! be read beside the index if it does not. Most look-ups of a thread find their keys in the same
//! level, mostly the last one, so what most of the thread's last look-ups in a level have found is
//! expected of the next, whatever its database and column family are. A wrong guess costs a search
//! of the index, or the wait for the filter. It changes no answer.
//!
//! Each level has a saturating counter of two bits, as branch predictors have: where most look-ups
//! are of one kind, a single one of the other does not change what is expected.

use std::cell::Cell;

thread_local! {
    /// The counters of levels, two bits each: 0 and 1 expect nothing, 2 and 3 the key.
    static COUNTERS: Cell<u64> = const { Cell::new(0) };
}

/// Where a level's counter begins. Levels from the 32nd on share theirs.
fn place(level: usize) -> u32 {
    2 * level.min(31) as u32
}

/// Whether a look-up in a table of `level` counts on its key being there.
#[inline]
pub(super) fn of_level(level: usize) -> bool {
    COUNTERS.with(|counters| counters.get() >> place(level) & 2 != 0)
}

/// Notes whether a look-up in a table of `level` has found its key.
#[inline]
pub(super) fn learn(level: usize, has_found: bool) {
    COUNTERS.with(|counters| {
        let all = counters.get();
        let one = 1 << place(level);
        let counter = all >> place(level) & 3;
        match (has_found, counter) {
            (true, 0..3) => counters.set(all + one),
            (false, 1..) => counters.set(all - one),
            _ => {}
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_expects_what_most_of_its_look_ups_have_found() {
        let after = |found: &[bool]| {
            found.iter().for_each(|&found| learn(6, found));
            of_level(6)
        };
        assert!(!after(&[]));
        assert!(!after(&[true, false, true, false]), "one in two");
        assert!(after(&[true, true, true]));
        assert!(after(&[false, true, false]), "one exception does not count");
        assert!(!after(&[false, false, false, false, true]));
        assert!(after(&[true; 9]));
        assert!(!of_level(5) && !of_level(7) && !of_level(31) && !of_level(1000));
        (0..9).for_each(|_| learn(1000, true));
        assert!(of_level(31) && of_level(6) && !of_level(30));
    }
}
