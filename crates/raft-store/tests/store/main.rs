//! The store beside openraft: what a power cut leaves, syncs, snapshots on their way.
//!
//! * `logs`: entries and votes.
//! * `states`: states and their snapshots.
//! * `entries`: entries and requests for both.

mod entries;
mod logs;
mod states;
