//! User code that changes values: what the engine asks of it, and how its panics are caught.
//!
//! * [`merge`]: the merge operator, and how operands are combined.
//! * [`compaction_filter`]: removes or changes values while they are compacted.

pub(crate) mod compaction_filter;
pub(crate) mod merge;
