//! Tests of the crate's structures from outside, in one binary.
#![cfg(not(loom))]

mod arena;
mod art;
mod order;
mod skiplist_model;
mod skiplist_stress;
