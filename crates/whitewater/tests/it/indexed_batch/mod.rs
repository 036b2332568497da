//! Batches with an index (`WriteBatchWithIndex`): a model, and RocksDB's cases by name.

mod cases;
mod model;
