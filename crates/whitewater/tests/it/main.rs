//! Integration tests of the public API, in one binary.

mod api;
mod concurrency;
mod corruption;
mod crash;
mod faults;
mod harness;
mod model;
mod power_cut;
