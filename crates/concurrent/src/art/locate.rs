//! Finding the leaf of a key before its entry is inserted.
//!
//! An insert waits longest for the leaf of its key, which usually is not cached. A caller
//! that has something to do before the insert, such as writing a log record, locates the
//! leaf first, and the processor fetches it meanwhile.
//!
//! Nothing is locked, so a position may be out of date when it is used. The insert
//! notices this, as it does for positions that it finds itself.

use super::Art;
use super::insert::{Owner, Position};
use super::node::Ref;
use super::prepare::Prepared;

/// Where the leaf of a key was found. To be passed to [`Art::prepare_with_hint`].
#[derive(Clone, Copy, Debug)]
#[must_use = "locating a leaf serves only a later insert"]
pub struct LeafHint<'k> {
    /// The tree it belongs to.
    tree: u64,
    key: &'k [u8],
    /// The parts of a [`Position`]. The owner is a node and a byte, or the tree if
    /// `None`.
    owner: Option<(Ref, u8)>,
    at: Ref,
    depth: usize,
}

impl Art {
    /// Finds the leaf of `user_key`, or where it would be, and prefetches it.
    pub fn locate<'k>(&self, user_key: &'k [u8]) -> LeafHint<'k> {
        let (mut position, mut node) = (self.top(), Ref::NONE);
        while let Some(next) = self.step(position, user_key) {
            node = position.at;
            position = next;
        }
        let Position { owner, at, depth } = position;
        if at.is_leaf() {
            self.prefetch_leaf(at, user_key);
        }
        LeafHint {
            tree: self.id,
            key: user_key,
            owner: match owner {
                Owner::Root => None,
                Owner::Node(_, byte) => Some((node, byte)),
            },
            at,
            depth,
        }
    }

    /// [`Art::prepare`] for a key that was located before. (A hint of another tree is
    /// ignored.)
    ///
    /// # Panics
    /// As for [`Art::insert`].
    pub fn prepare_with_hint(&self, hint: LeafHint<'_>, value: &[u8]) -> Prepared {
        let LeafHint {
            tree,
            key,
            owner,
            at,
            depth,
        } = hint;
        if tree != self.id {
            return self.prepare(key, value);
        }
        // The hint is of this tree, so both `Ref`s were read from it. What handed the
        // hint to this thread made visible what they refer to.
        let owner = match owner {
            None => Owner::Root,
            Some((node, byte)) => Owner::Node(self.node(node), byte),
        };
        self.prepare_at(Position { owner, at, depth }, key, value)
    }
}
