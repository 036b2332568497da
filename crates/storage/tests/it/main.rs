//! Integration tests of the storage layer.

mod fswal;
mod fuzz;
#[path = "../../../concurrent/tests/common/skip.rs"]
mod skip;
#[path = "../../../concurrent/tests/common/source_files.rs"]
mod source_files;
mod sst;
mod tidy;
