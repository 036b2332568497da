//! Integration tests of the public API, in one binary.

mod api;
mod budget;
mod concurrency;
mod content;
mod corruption;
mod crash;
mod faults;
mod fixtures;
mod harness;
mod interop;
mod linearizability;
mod model;
mod perf;
mod power_cut;
mod prefix;
mod races;
mod resume;
mod statistics;
mod wal;
