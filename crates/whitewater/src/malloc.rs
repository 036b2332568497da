//! The allocator jemalloc (cargo feature `jemalloc`).
//!
//! The program chooses its allocator, not this crate. [`Jemalloc`] can be chosen, and its
//! statistics can be read.

use std::fmt::Write;
use tikv_jemalloc_ctl::{epoch, stats};

pub use tikv_jemallocator::Jemalloc;

type Figure = (&'static str, fn() -> tikv_jemalloc_ctl::Result<usize>);

/// jemalloc's statistics, by jemalloc's own names. Bytes.
const FIGURES: [Figure; 6] = [
    ("allocated", stats::allocated::read),
    ("active", stats::active::read),
    ("metadata", stats::metadata::read),
    ("resident", stats::resident::read),
    ("mapped", stats::mapped::read),
    ("retained", stats::retained::read),
];

/// A line with the current statistics.
pub(crate) fn stats_text() -> String {
    let mut text = "MALLOC STATS (jemalloc, bytes):".to_owned();
    // Statistics are those of the last epoch.
    let outcome = epoch::advance().and_then(|_| {
        FIGURES.iter().try_for_each(|(name, read)| {
            // Writing to a string cannot fail.
            let _ = write!(text, " {name}: {}", read()?);
            Ok(())
        })
    });
    if let Err(e) = outcome {
        let _ = write!(text, " not available: {e}");
    }
    text
}
