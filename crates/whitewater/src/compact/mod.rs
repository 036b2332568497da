//! Compaction: which tables to merge, and merging them.
//!
//! * [`score`]: level targets and scores.
//! * [`pick`]: automatic and manual picks. Pure functions over a version.
//! * [`merge_rules`]: which entries a merge drops or keeps. Also used by flush.
//! * [`output`]: writes a merged stream into one or more tables.
//! * [`job`]: runs a picked compaction.

pub(crate) mod job;
pub(crate) mod merge_rules;
pub(crate) mod output;
pub(crate) mod pick;
mod score;
#[cfg(test)]
mod tests;
