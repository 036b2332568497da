//! Where the bytes of an entry are: in its node, or behind a pointer.
//!
//! [`Inline`] is the layout to use. [`Indirect`] exists to measure what it gains: the
//! same code over nodes that hold a pointer to the entry, as in RocksDB's first skip
//! list.

/// A layout: [`Inline`] or [`Indirect`].
pub trait EntryLayout: sealed::Sealed + 'static {}

/// Key and value follow the node's links. An entry takes one allocation, and a comparison
/// reads the memory that the link led to.
#[derive(Clone, Copy, Debug)]
pub enum Inline {}

/// The node holds a pointer to key and value. An entry takes two allocations, and a
/// comparison follows a second pointer. Nodes and entries come from different blocks, as
/// in RocksDB, whose arena allocates aligned memory (nodes) from the front of a block and
/// other memory (keys) from its end.
#[derive(Clone, Copy, Debug)]
pub enum Indirect {}

impl EntryLayout for Inline {}
impl EntryLayout for Indirect {}

/// What the list requires of a layout.
pub(super) mod sealed {
    use std::ptr::NonNull;

    use crate::arena::{ArenaOptions, ConcurrentArena};

    /// See the enclosing module.
    pub trait Sealed {
        /// Whether the entry follows the links.
        const INLINE: bool;

        /// The memory for entries that are not in their nodes.
        type Apart: Apart;
    }

    /// The memory for entries that are not in their nodes.
    pub trait Apart {
        /// An instance that takes no memory yet.
        fn new(options: ArenaOptions) -> Self;
        /// As [`ConcurrentArena::allocate`].
        fn allocate(&self, bytes: usize) -> NonNull<u8>;
        /// As [`ConcurrentArena::used_bytes`] and
        /// [`ConcurrentArena::allocated_bytes`].
        fn bytes(&self) -> (usize, usize);
    }

    impl Sealed for super::Inline {
        const INLINE: bool = true;
        type Apart = Nowhere;
    }

    impl Sealed for super::Indirect {
        const INLINE: bool = false;
        type Apart = ConcurrentArena;
    }

    /// For lists whose entries are all in their nodes.
    #[derive(Debug)]
    pub struct Nowhere;

    impl Apart for Nowhere {
        fn new(_: ArenaOptions) -> Self {
            Nowhere
        }
        fn allocate(&self, _: usize) -> NonNull<u8> {
            unreachable!("inline entries are in their nodes")
        }
        fn bytes(&self) -> (usize, usize) {
            (0, 0)
        }
    }

    impl Apart for ConcurrentArena {
        fn new(options: ArenaOptions) -> Self {
            ConcurrentArena::new(options)
        }
        fn allocate(&self, bytes: usize) -> NonNull<u8> {
            self.allocate(bytes)
        }
        fn bytes(&self) -> (usize, usize) {
            (self.used_bytes(), self.allocated_bytes())
        }
    }
}
