//! Tests of the storage crate through its public interface.

mod sst;
