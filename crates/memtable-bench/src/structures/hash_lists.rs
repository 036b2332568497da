//! This project's hash tables of lists, hashed by the first bytes of the key.

use std::sync::Arc;

use whitewater_concurrent::hash_buckets::{
    HashLinkList, HashSkipList, LinkListOptions, SkipListOptions,
};
use whitewater_concurrent::skiplist::Bytewise;

use crate::structure::{Direction, Entry, Handle, Operation, Shape, Structure};

/// The maximum size of a prefix in bytes. A bucket has the keys of several prefixes.
const PREFIX: usize = 8;

/// The hash of a key's prefix. Its high bits choose the bucket.
fn hash(key: &[u8]) -> u64 {
    let mut prefix = [0; PREFIX];
    let len = key.len().min(PREFIX);
    prefix[..len].copy_from_slice(&key[..len]);
    // A multiplication only carries upwards, so the high bits are first folded down.
    let word = u64::from_le_bytes(prefix);
    (word ^ (word >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The number of buckets: one for each entry, on average.
fn buckets(shape: &Shape) -> usize {
    shape.entries.max(1)
}

/// Defines a table of one kind; both kinds are used in the same way.
macro_rules! hash_table {
    ($(#[$doc:meta])* $name:ident, $way:ident, $table:ident, $called:literal, $about:literal, $options:expr) => {
        $(#[$doc])*
        pub(super) struct $name(Arc<$table<Bytewise>>);

        pub(super) struct $way<'a>(&'a Arc<$table<Bytewise>>);

        impl Structure for $name {
            const NAME: &'static str = $called;
            const ABOUT: &'static str = $about;
            const COUNTS_RMW: bool = true;
            type Handle<'a> = $way<'a>;

            fn refuses(_: &Shape, operation: Operation) -> Option<&'static str> {
                (operation == Operation::Seek)
                    .then_some("a seek beyond one prefix sorts everything first")
            }

            fn new(shape: &Shape) -> Self {
                $name(Arc::new($table::new(Bytewise, $options(shape))))
            }

            fn handle(&self) -> $way<'_> {
                $way(&self.0)
            }

            fn own_bytes(&self) -> Option<usize> {
                Some(self.0.used_bytes())
            }
        }

        impl Handle for $way<'_> {
            #[inline]
            fn insert(&mut self, entry: Entry<'_>) -> bool {
                self.0.insert(hash(entry.key), entry.key, entry.tag, entry.value)
            }

            fn get(&mut self, key: &[u8], visit: &mut impl FnMut(&[u8])) -> bool {
                let mut found = false;
                self.0.scan_from(hash(key), key, u64::MAX, &mut |there, _, value| {
                    if there == key {
                        found = true;
                        visit(value);
                    }
                    false
                });
                found
            }

            fn seek(&mut self, _: &[u8], _: &mut impl FnMut(&[u8], &[u8]) -> bool) {
                unreachable!("refused");
            }

            fn scan(&mut self, direction: Direction, visit: &mut impl FnMut(&[u8], &[u8])) {
                walk!(&mut self.0.sorted(), direction, visit);
            }
        }
    };
}

hash_table!(
    /// A hash table whose buckets are skip lists.
    SkipLists,
    SkipListsWay,
    HashSkipList,
    "hash_skip_list",
    "this project's hash table of skip lists; a scan sorts it first",
    |shape| SkipListOptions {
        buckets: buckets(shape),
        height: 4,
        branching: 4,
        arena: super::arena(shape),
    }
);

hash_table!(
    /// A hash table whose buckets are linked lists.
    LinkedLists,
    LinkedListsWay,
    HashLinkList,
    "hash_linked_list",
    "this project's hash table of linked lists; a scan sorts it first",
    |shape| LinkListOptions {
        buckets: buckets(shape),
        threshold: 256,
        arena: super::arena(shape),
    }
);
