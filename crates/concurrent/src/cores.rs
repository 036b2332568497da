//! The number of processors that sharded structures spread over.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::available_parallelism;

/// The number assumed if the system does not tell.
const UNKNOWN: usize = 8;

/// The number of processors that this process may use. It is determined once, at the
/// first call, since finding it out takes a dozen system calls. (Callers that are first
/// at the same time each determine it.)
///
/// Not a lock of std's, whose code ThreadSanitizer cannot see (`.ci/sanitize`).
pub(crate) fn cores() -> usize {
    /// The answer; 0 is not known yet. Written by: the first callers. Read by: all
    /// callers. Publishes nothing: relaxed. Not a model checker's atomic, since the
    /// number is no part of a structure.
    static CORES: AtomicUsize = AtomicUsize::new(0);
    let known = CORES.load(Ordering::Relaxed);
    if known != 0 {
        return known;
    }
    let cores = available_parallelism().map_or(UNKNOWN, usize::from);
    CORES.store(cores, Ordering::Relaxed);
    cores
}
