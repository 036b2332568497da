//! Orders of user keys, and keys that a `BTreeMap` sorts by them.

use std::cmp::Ordering;
use std::fmt::Debug;
use std::marker::PhantomData;

use whitewater_concurrent::skiplist::KeyOrder;

/// An order of user keys. Within a key, greater tags always come first.
pub trait UserOrder: Debug + Clone + Send + Sync + 'static {
    fn compare(a: &[u8], b: &[u8]) -> Ordering;
}

#[derive(Debug, Clone)]
pub struct Bytewise;

impl UserOrder for Bytewise {
    fn compare(a: &[u8], b: &[u8]) -> Ordering {
        a.cmp(b)
    }
}

/// Greater bytes first; a key comes after those that begin with it.
#[derive(Debug, Clone)]
pub struct ReverseBytewise;

impl UserOrder for ReverseBytewise {
    fn compare(a: &[u8], b: &[u8]) -> Ordering {
        b.cmp(a)
    }
}

/// The skip list's order of the same name.
#[derive(Debug)]
pub struct By<U>(pub PhantomData<U>);

impl<U: UserOrder> KeyOrder for By<U> {
    fn compare(&self, a: (&[u8], u64), b: (&[u8], u64)) -> Ordering {
        U::compare(a.0, b.0).then(b.1.cmp(&a.1))
    }
}

/// User key and tag, sorted by `U` and then by descending tag.
#[derive(Debug, Clone)]
pub struct EntryKey<U> {
    pub key: Vec<u8>,
    pub tag: u64,
    order: PhantomData<U>,
}

impl<U> EntryKey<U> {
    pub fn new(key: &[u8], tag: u64) -> Self {
        EntryKey {
            key: key.to_vec(),
            tag,
            order: PhantomData,
        }
    }

    /// The parts of an internal key.
    pub fn of(internal_key: &[u8]) -> Self {
        let (user_key, tag) = internal_key.split_last_chunk::<8>().unwrap();
        EntryKey::new(user_key, u64::from_le_bytes(*tag))
    }
}

impl<U: UserOrder> Ord for EntryKey<U> {
    fn cmp(&self, other: &Self) -> Ordering {
        U::compare(&self.key, &other.key).then(other.tag.cmp(&self.tag))
    }
}

impl<U: UserOrder> PartialOrd for EntryKey<U> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<U: UserOrder> PartialEq for EntryKey<U> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<U: UserOrder> Eq for EntryKey<U> {}
