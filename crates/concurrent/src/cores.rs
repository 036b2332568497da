//! How many processors there are to spread over.

use std::sync::OnceLock;
use std::thread::available_parallelism;

/// Taken where the system does not say.
const UNKNOWN: usize = 8;

/// Processors that this process may use, as it was when first asked: finding out
/// takes a dozen system calls.
pub(crate) fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| available_parallelism().map_or(UNKNOWN, usize::from))
}
