//! Integration tests of the storage layer.

mod fswal;
mod fuzz;
#[path = "../../../concurrent/tests/common/skip.rs"]
mod skip;
mod sst;
mod tidy;
