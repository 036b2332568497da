//! Transactions, and the indexed write batch that they collect their writes in.
//!
//! * [`indexed_batch`]: a batch whose operations can be looked up and iterated over.

pub(crate) mod indexed_batch;
