//! Compaction: which tables to merge, and merging them.
//!
//! * [`score`]: whether a compaction is due.
//! * [`pick`]: automatic and manual picks, by compaction style. Pure functions over a version.
//! * [`reason`]: why a compaction was picked.
//! * [`job`]: runs a picked compaction; `subcompaction`: its parts, side by side;
//!   [`part_events`]: the parts' events for listeners.
//! * [`trim`]: writes tables again without what is newer than a time.
//!
//! [`table_writer`](crate::table_writer) decides what is written, and into which tables.

pub(crate) mod job;
pub(crate) mod part_events;
pub(crate) mod pick;
pub(crate) mod reason;
pub(crate) mod score;
mod subcompaction;
#[cfg(test)]
mod tests;
pub(crate) mod trim;
