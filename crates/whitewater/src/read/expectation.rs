//! Whether a look-up counts on finding its key in the table that it comes to.
//!
//! The filter of a table has to be read before the index if it rules the key out, and could as well
//! be read beside the index if it does not. Most look-ups of a thread find their keys in the same
//! level, mostly the last one, so what the thread's last look-up found in a level is expected of
//! the next, whatever its database and column family are. A wrong guess costs a search of the
//! index, or the wait for the filter. It changes no answer.

use std::cell::Cell;

thread_local! {
    /// A bit for each level: whether the thread's last look-up in it has found its key.
    static FOUND: Cell<u64> = const { Cell::new(0) };
}

/// The bit of a level. Levels from the 64th on share theirs.
fn bit(level: usize) -> u64 {
    1 << level.min(63)
}

/// Whether a look-up in a table of `level` counts on its key being there.
#[inline]
pub(super) fn of_level(level: usize) -> bool {
    FOUND.with(|found| found.get() & bit(level) != 0)
}

/// Notes whether a look-up in a table of `level` has found its key.
#[inline]
pub(super) fn learn(level: usize, has_found: bool) {
    FOUND.with(|found| {
        let others = found.get() & !bit(level);
        found.set(if has_found {
            others | bit(level)
        } else {
            others
        });
    });
}
