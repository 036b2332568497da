//! The memtable benchmark: workloads over ordered concurrent structures, this
//! project's and other crates'. What `memtablerep_bench` and `cargo bench -p
//! whitewater-memtable-bench` have in common; command lines, pages and progress
//! bars are the programs' business.
//!
//! * [`input`]: the keys and values, made before anything is timed
//! * [`structure`]: what a structure must be able to do; [`structures`]: the
//!   structures, one file each, and their list
//! * [`workload`]: what the threads do, and what they must find
//! * [`measure`]: a plan of cells, run in alternating rounds
//! * [`table`]: the result as text; [`machine`]: what it was measured on
//!
//! # What is measured
//! The time from the start of the first thread to the end of the last. Keys
//! lie ready in the order they are used, so that fetching them costs the same
//! everywhere and little. Whatever is read is added to a checksum, and both
//! the checksum and the number of entries found must be right: a run that
//! finds less than it should is an error.
//!
//! Figures compare within one run on one machine only.

pub mod input;
pub mod machine;
pub mod measure;
pub mod structure;
pub mod structures;
pub mod table;
pub mod workload;
