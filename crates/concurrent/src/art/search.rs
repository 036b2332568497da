//! Finding a key.

use super::Art;
use super::insert::{Owner, Position};
use super::leaf::Leaf;
use super::node::{Kind, Ref};
use crate::sync::MODELLED;

impl Art {
    /// The leaf of a key, if there is one; it may have no versions yet.
    ///
    /// Prefixes are not compared on the way down: if one does not match, the leaf at the
    /// end has another key.
    #[inline]
    pub(super) fn find(&self, key: &[u8]) -> Option<Leaf<'_>> {
        let mut at = self.root();
        let mut depth = 0;
        while !at.is_none() {
            if at.is_leaf() {
                let leaf = self.leaf(at);
                return leaf.is_of(key).then_some(leaf);
            }
            let node = self.node(at);
            depth = node.prefix().end(depth);
            at = match key.get(depth) {
                Some(&byte) => node.child(byte),
                None if depth == key.len() => node.terminal(),
                None => return None,
            };
            depth += 1;
        }
        None
    }

    /// The position one node further down on the path to a key, if there is one.
    #[inline(always)]
    pub(super) fn step<'t>(&'t self, position: Position<'t>, key: &[u8]) -> Option<Position<'t>> {
        let Position { at, depth, .. } = position;
        if at.is_none() || at.is_leaf() {
            return None;
        }
        let node = self.node(at);
        let prefix = node.prefix();
        let common = prefix.common(&self.memory, key, depth);
        if common < prefix.len as usize {
            return None;
        }
        let byte = *key.get(depth + common)?;
        let child = node.child(byte);
        (!child.is_none()).then(|| Position {
            owner: Owner::Node(node, byte),
            at: child,
            depth: depth + common + 1,
        })
    }

    /// Goes down to a key through nodes of 256, whose children are indexed by byte. Prefetches the
    /// leaf or the smaller node below them, and the one beside it that a walk up or down reaches
    /// next. Returns that leaf or node, if there is one. A hint.
    pub(super) fn expect(&self, key: &[u8], up: bool) -> Ref {
        let mut at = self.root();
        let mut depth = 0;
        while !at.is_none() && !at.is_leaf() {
            let node = self.node(at);
            if !node.is_wide() {
                break;
            }
            depth = node.prefix().end(depth);
            let Some(&byte) = key.get(depth) else {
                return Ref::NONE;
            };
            node.prefetch_beside(&self.memory, byte, up);
            at = node.child(byte);
            depth += 1;
        }
        if !at.is_none() {
            self.memory.prefetch(at.offset(), 0);
            self.memory.prefetch(at.offset(), 1);
        }
        at
    }

    /// Prefetches the children of the node that [`Art::expect`] has returned, if it is of the
    /// smallest kind. A hint.
    pub(super) fn expect_children(&self, at: Ref) {
        if !at.is_none() && !at.is_leaf() && self.node(at).kind() == Kind::N4 {
            self.node(at).prefetch_children(&self.memory);
        }
    }

    /// Prefetches a leaf, up to the end of its key if that is `key`.
    #[inline(always)]
    pub(super) fn prefetch_leaf(&self, leaf: Ref, key: &[u8]) {
        if !MODELLED {
            let end = Leaf::size_before_tag(key);
            self.memory.prefetch_bytes(leaf.offset(), 0, end);
        }
    }
}
