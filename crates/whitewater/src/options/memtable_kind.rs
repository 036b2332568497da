//! The structure that keeps a memtable's entries sorted.

use whitewater_storage::key::UserComparator;

/// The largest write buffer that a radix tree supports, in bytes. A tree can outgrow it by at
/// least half.
pub(crate) const MAX_TREE_CAPACITY: usize = 8 << 30;

/// The available memtable representations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum MemtableKind {
    /// The radix tree if it supports the comparator's order, otherwise the skip list.
    #[default]
    Auto,
    /// The inline skip list; any order.
    SkipList,
    /// The adaptive radix tree; bytewise order and its reverse.
    Art,
    /// An unsorted vector; any order.
    Vector,
    /// A hash table of skip lists by prefix; any order.
    HashSkipList {
        bucket_count: usize,
        height: i32,
        branching_factor: i32,
    },
    /// A hash table of linked lists by prefix; any order.
    HashLinkList { bucket_count: usize },
}

impl MemtableKind {
    /// Whether the representation supports the order of `comparator`.
    pub fn serves(self, comparator: &UserComparator) -> bool {
        match self {
            MemtableKind::Art => !matches!(comparator, UserComparator::Custom(_)),
            _ => true,
        }
    }

    /// The representation that is used for this choice.
    pub fn resolve(self, comparator: &UserComparator, capacity: usize) -> Self {
        match self {
            MemtableKind::Auto
                if MemtableKind::Art.serves(comparator) && capacity <= MAX_TREE_CAPACITY =>
            {
                MemtableKind::Art
            }
            MemtableKind::Auto => MemtableKind::SkipList,
            chosen => chosen,
        }
    }

    /// Whether the representation groups keys by prefix. If so, it needs a prefix extractor, and
    /// sorts everything to iterate over all keys.
    pub fn groups_by_prefix(self) -> bool {
        matches!(
            self,
            MemtableKind::HashSkipList { .. } | MemtableKind::HashLinkList { .. }
        )
    }
}
