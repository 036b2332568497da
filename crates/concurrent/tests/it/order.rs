//! The order that the tests use: user keys bytewise, greater tags first.

use std::cmp::{Ordering, Reverse};

use whitewater_concurrent::skiplist::KeyOrder;

/// Bytewise, then by descending tag.
#[derive(Debug)]
pub struct Bytewise;

impl KeyOrder for Bytewise {
    fn compare(&self, a: (&[u8], u64), b: (&[u8], u64)) -> Ordering {
        a.0.cmp(b.0).then(b.1.cmp(&a.1))
    }
}

/// A key that sorts in a `BTreeMap` as [`Bytewise`] does.
pub type ModelKey = (Vec<u8>, Reverse<u64>);

/// The parts of an internal key.
pub fn split(internal_key: &[u8]) -> ModelKey {
    let (user_key, tag) = internal_key.split_last_chunk::<8>().unwrap();
    (user_key.to_vec(), Reverse(u64::from_le_bytes(*tag)))
}
