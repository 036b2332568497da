//! The allocator jemalloc (cargo feature `jemalloc`).
//!
//! The program chooses the allocator, not this crate: [`Jemalloc`] is there to be
//! chosen, and the figures are there to be read.

use std::fmt::Write;
use tikv_jemalloc_ctl::{epoch, stats};

pub use tikv_jemallocator::Jemalloc;

type Figure = (&'static str, fn() -> tikv_jemalloc_ctl::Result<usize>);

/// What jemalloc has, in its own words. Bytes.
const FIGURES: [Figure; 6] = [
    ("allocated", stats::allocated::read),
    ("active", stats::active::read),
    ("metadata", stats::metadata::read),
    ("resident", stats::resident::read),
    ("mapped", stats::mapped::read),
    ("retained", stats::retained::read),
];

/// A line with the figures of this moment.
pub(crate) fn stats_text() -> String {
    let mut text = "MALLOC STATS (jemalloc, bytes):".to_owned();
    // Figures are those of the last epoch.
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
