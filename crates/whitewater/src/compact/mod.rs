//! Compaction: which tables to merge, and merging them.
//!
//! * [`score`]: whether a compaction is due.
//! * [`pick`]: automatic and manual picks, by compaction style. Pure functions
//!   over a version.
//! * [`merge_rules`]: which entries a merge drops or keeps. Also used by flush.
//! * [`filter`]: user code that removes or changes values on the way.
//! * `source`: the entries of a part of the keys, until the job is cancelled.
//! * [`output`]: writes a merged stream into one or more tables.
//! * `output_file`: their files: rate limiter and write-back.
//! * `grandparents`: ends tables that would overlap too much below.
//! * `blob_flow`: counts the blobs that are dropped.
//! * [`deletions`]: finds tables with many deletions in them.
//! * [`job`]: runs a picked compaction; `subcompaction`: its parts, side by side;
//!   `part_events`: what listeners are told of them.

pub(crate) mod job;
pub(crate) mod part_events;
pub(crate) mod pick;
pub(crate) mod score;
mod subcompaction;
#[cfg(test)]
mod tests;
