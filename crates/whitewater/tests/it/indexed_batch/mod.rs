//! Batches with an index (`WriteBatchWithIndex`): a model, and RocksDB's cases by name. `stamps`:
//! keys with timestamps.

mod cases;
mod model;
mod stamps;
