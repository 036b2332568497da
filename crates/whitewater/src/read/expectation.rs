//! Where a look-up expects to find its key.
//!
//! Most look-ups of a thread find their keys in the same level, mostly the last one, so what most
//! of the thread's last look-ups have found is expected of the next, whatever its database and
//! column family are. Two questions are asked. Which level does the look-up [end in](likely_level)?
//! It can search that level's index before it asks newer sources. And does it find its key in the
//! level that it [has come to](of_level)? The filter of a table has to be read before the index if
//! it rules the key out, and could as well be read beside the index if it does not. A wrong guess
//! costs a search of the index, or the wait for memory. It changes no answer.
//!
//! Both are saturating counters of two bits, as branch predictors have: where most look-ups are of
//! one kind, a single one of the other does not change what is expected.

use std::cell::Cell;

thread_local! {
    /// The counters of levels, two bits each: 0 and 1 expect nothing, 2 and 3 the key.
    static COUNTERS: Cell<u64> = const { Cell::new(0) };
    static LIKELY: Cell<Likely> = const { Cell::new(Likely { level: None, sureness: 0 }) };
}

/// Where look-ups end.
#[derive(Clone, Copy)]
struct Likely {
    /// The level. `None` if memtables have the key, or nothing has.
    level: Option<u8>,
    /// How sure that is: 0 and 1 expect nothing, 2 and 3 the level.
    sureness: u8,
}

/// The level in which a look-up expects to end, if that is not in memtables.
#[inline]
pub(super) fn likely_level() -> Option<usize> {
    let likely = LIKELY.get();
    likely
        .level
        .filter(|_| likely.sureness > 1)
        .map(usize::from)
}

/// Whether a look-up expects to end in a table.
#[inline]
pub(crate) fn is_of_tables() -> bool {
    likely_level().is_some()
}

/// Notes the level in which a look-up has ended, or that it has ended in none.
#[inline]
pub(crate) fn learn_end(level: Option<usize>) {
    let level = level.and_then(|level| u8::try_from(level).ok());
    let likely = LIKELY.get();
    let (level, sureness) = match likely.sureness {
        3 if level == likely.level => return,
        0 => (level, 1),
        sure if level == likely.level => (level, sure + 1),
        sure => (likely.level, sure - 1),
    };
    LIKELY.set(Likely { level, sureness });
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
    fn a_look_up_expects_to_end_where_most_have() {
        let after = |ends: &[Option<usize>]| {
            ends.iter().for_each(|&end| learn_end(end));
            likely_level()
        };
        assert_eq!(after(&[]), None);
        assert_eq!(after(&[Some(6)]), None, "one is too few");
        assert_eq!(after(&[Some(6)]), Some(6));
        assert_eq!(
            after(&[Some(6), None]),
            Some(6),
            "one exception does not count"
        );
        assert_eq!(
            after(&[Some(0), Some(6), Some(5), Some(6)]),
            Some(6),
            "one in two"
        );
        assert_eq!(after(&[Some(0); 4]), Some(0));
        assert_eq!(after(&[None; 6]), None, "all end in memtables");
        assert_eq!(after(&[Some(1000); 9]), None, "a level that does not exist");
    }

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
