//! Integration tests of the storage layer.

mod fswal;
mod fuzz;
mod sst;
