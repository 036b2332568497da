//! Tests of the storage layer through its public interface.

mod fswal;
mod sst;
