//! Where an entry's bytes are: in its node, or behind a pointer.
//!
//! [`Inline`] is the layout to use. [`Indirect`] exists to show what it gains
//! (seed 000 compares the two): the same code over nodes that hold a pointer
//! to the entry, as RocksDB's first skip list did.

/// A layout: [`Inline`] or [`Indirect`].
pub trait EntryLayout: sealed::Sealed + 'static {}

/// Key and value follow the node's links: one allocation for an entry, and a
/// comparison reads the memory that the link led to.
#[derive(Clone, Copy, Debug)]
pub enum Inline {}

/// The node holds a pointer to key and value: two allocations for an entry,
/// and a comparison follows a second pointer. Nodes and entries come from
/// different blocks, as they did in RocksDB: its arena hands out aligned pieces
/// (nodes) from the front of a block and others (keys) from its end.
#[derive(Clone, Copy, Debug)]
pub enum Indirect {}

impl EntryLayout for Inline {}
impl EntryLayout for Indirect {}

/// What the list asks of a layout.
pub(super) mod sealed {
    use std::ptr::NonNull;

    use crate::arena::{ArenaOptions, ConcurrentArena};

    /// See the module around.
    pub trait Sealed {
        /// Whether the entry follows the links.
        const INLINE: bool;

        /// Memory for entries apart from their nodes.
        type Apart: Apart;
    }

    /// Memory for entries apart from their nodes.
    pub trait Apart {
        /// Takes no memory yet.
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

    /// There are no entries apart from their nodes.
    #[derive(Debug)]
    pub struct Nowhere;

    impl Apart for Nowhere {
        fn new(_: ArenaOptions) -> Self {
            Nowhere
        }
        fn allocate(&self, _: usize) -> NonNull<u8> {
            unreachable!("entries are in their nodes")
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
