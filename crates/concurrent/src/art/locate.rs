//! Going down to a key before its entry is there.
//!
//! An insert waits for the leaf of its key longer than for anything else, since
//! that is in no cache, mostly. Whoever has something to do before, as to write a
//! log record, goes down first, and the processor fetches the leaf meanwhile.
//!
//! Nothing is locked, so a place may be out of date when it is used; the insert
//! then notices, as it does with its own way down.

use super::Art;
use super::insert::{Owner, Position};
use super::node::Ref;
use super::prepare::Prepared;

/// How far the way to a key has led. Goes to [`Art::prepare_with_hint`].
#[derive(Clone, Copy, Debug)]
#[must_use = "without use it was for nothing"]
pub struct LeafHint<'k> {
    /// The tree it belongs to.
    tree: u64,
    key: &'k [u8],
    /// A [`Position`]; the owner is a node, for a byte, or the tree.
    owner: Option<(Ref, u8)>,
    at: Ref,
    depth: usize,
}

impl Art {
    /// Goes down to `user_key`, and asks the processor for the leaf that is there.
    pub fn locate<'k>(&self, user_key: &'k [u8]) -> LeafHint<'k> {
        let (mut position, mut node) = (self.top(), Ref::NONE);
        while let Some(farther) = self.step(position, user_key) {
            node = position.at;
            position = farther;
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

    /// [`Art::prepare`] for a key that was foreseen. (If in another tree, it is of no
    /// use.)
    ///
    /// # Panics
    /// As for [`Art::insert`].
    pub fn prepare_with_hint(&self, foreseen: LeafHint<'_>, value: &[u8]) -> Prepared {
        let LeafHint {
            tree,
            key,
            owner,
            at,
            depth,
        } = foreseen;
        if tree != self.id {
            return self.prepare(key, value);
        }
        // So both names were read from this tree, and whoever handed the value to
        // this thread made visible what they name.
        let owner = match owner {
            None => Owner::Root,
            Some((node, byte)) => Owner::Node(self.node(node), byte),
        };
        self.prepare_at(Position { owner, at, depth }, key, value)
    }
}
