//! Integration tests of the storage layer.

mod fswal;
mod sst;
