//! The memtable benchmark: workloads over ordered concurrent structures of this project
//! and of other crates. This crate has what `memtablerep_bench` and `cargo bench -p
//! whitewater-memtable-bench` have in common; command lines, pages and progress bars are
//! up to the programs.
//!
//! * [`input`]: the keys and values, made before anything is timed
//! * [`structure`]: what a structure must be able to do; [`structures`]: the
//!   structures, one file each, and their list
//! * [`workload`]: what the threads do, and what they must find
//! * [`measure`]: a plan of cells, run in alternating rounds
//! * [`table`]: the result as text; [`machine`]: what it was measured on
//!
//! # What is measured
//! The time from the start of the first thread to the end of the last. Keys are stored
//! in the order in which they are used, so that fetching them costs little, and costs
//! the same everywhere. Whatever is read is added to a checksum. Both the checksum and
//! the number of entries found must be right: a run that finds less than it should is
//! an error.
//!
//! Figures can be compared only within one run on one machine.

pub mod input;
pub mod machine;
pub mod measure;
pub mod structure;
pub mod structures;
pub mod table;
pub mod workload;
