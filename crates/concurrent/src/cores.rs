//! The number of processors that sharded structures spread over.

use std::sync::OnceLock;
use std::thread::available_parallelism;

/// The number assumed if the system does not tell.
const UNKNOWN: usize = 8;

/// The number of processors that this process may use. It is determined once, at the
/// first call, since finding it out takes a dozen system calls.
pub(crate) fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| available_parallelism().map_or(UNKNOWN, usize::from))
}
