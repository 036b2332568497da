//! Adding keys and versions.
//!
//! A search without locks finds where a key belongs. Then the node to change is locked,
//! and what the search has seen is checked again. If the node was replaced meanwhile, the
//! search restarts from the root.
//!
//! A tree can change in four ways: a byte gets its first child (the node may have to grow
//! for it); a key ends at a node; a leaf is where another key belongs, so a node replaces
//! it; a key differs from a node's prefix, so the prefix is split.

use super::leaf::{Leaf, Version};
use super::lock::Locked;
use super::node::{Kind, Node, Parts, Prefix, Ref, Reserved, common_len};
use super::versions::{Unlinked, Versions};
use super::{Art, check_sizes};
use crate::sync::Ordering;
use smallvec::{SmallVec, smallvec};

/// The owner of the slot that leads to a position in the tree.
#[derive(Clone, Copy)]
pub(super) enum Owner<'t> {
    /// The tree itself, with its root slot.
    Root,
    /// A node, with its slot for a byte.
    Node(Node<'t>, u8),
}

/// A position on the path to a key: all bytes of the key before `depth` agree with the
/// path that leads to `at`.
#[derive(Clone, Copy)]
pub(super) struct Position<'t> {
    pub(super) owner: Owner<'t>,
    pub(super) at: Ref,
    pub(super) depth: usize,
}

/// A leaf to be inserted, made when it is first needed.
struct NewLeaf<'t, 'k> {
    tree: &'t Art,
    key: &'k [u8],
    /// Without a tag, the leaf is made without a version.
    tag: Option<u64>,
    value: &'k [u8],
    made: Option<Leaf<'t>>,
}

impl<'t> NewLeaf<'t, '_> {
    fn get(&mut self) -> Leaf<'t> {
        let NewLeaf { key, value, .. } = *self;
        *self
            .made
            .get_or_insert_with(|| Leaf::create(&self.tree.memory, key, self.tag, value))
    }
}

/// How a key's leaf was obtained.
pub(super) enum Reached<'t> {
    /// It existed.
    Found(Leaf<'t>),
    /// It was made and inserted.
    Made(Leaf<'t>),
}

/// What the search has seen has changed meanwhile (a node is obsolete, or a slot leads
/// elsewhere): restart from the root.
struct Retry;

impl Art {
    /// Inserts an entry, concurrently with other inserts and readers.
    /// Returns `false` (and inserts nothing) if an equal key is there.
    ///
    /// # Panics
    /// If key or value are longer than 4 GiB less a few bytes, or if the tree
    /// would exceed 16 GiB.
    pub fn insert(&self, user_key: &[u8], tag: u64, value: &[u8]) -> bool {
        self.insert_at(self.top(), user_key, tag, value)
    }

    /// Inserts an entry from a position on the path to its key.
    #[inline]
    pub(super) fn insert_at(
        &self,
        position: Position<'_>,
        user_key: &[u8],
        tag: u64,
        value: &[u8],
    ) -> bool {
        check_sizes(user_key, value);
        let leaf = match self.reach(position, user_key, Some(tag), value) {
            Reached::Made(_) => return true,
            Reached::Found(leaf) => leaf,
        };
        let versions = Versions::new(&self.memory, leaf);
        if versions.has(tag) {
            return false;
        }
        let version = Version::create(&self.memory, value);
        // SAFETY: just made, and not linked yet.
        let linked = unsafe { versions.link(Unlinked::Version(version), tag) };
        if !linked {
            self.add_garbage(version.size());
        }
        linked
    }

    /// The position at which the path to every key begins.
    #[inline(always)]
    pub(super) fn top(&self) -> Position<'_> {
        Position {
            owner: Owner::Root,
            at: self.root(),
            depth: 0,
        }
    }

    /// Finds the leaf of a key, or inserts one made of `tag` and `value`.
    #[inline]
    pub(super) fn reach<'t>(
        &'t self,
        position: Position<'t>,
        key: &[u8],
        tag: Option<u64>,
        value: &[u8],
    ) -> Reached<'t> {
        let mut new = NewLeaf {
            tree: self,
            key,
            tag,
            value,
            made: None,
        };
        let mut position = position;
        let reached = loop {
            match self.reach_from(position, &mut new) {
                Ok(reached) => break reached,
                Err(Retry) => position = self.top(),
            }
        };
        if let (Reached::Found(_), Some(unused)) = (&reached, new.made) {
            self.add_garbage(unused.size());
        }
        reached
    }

    #[inline(always)]
    fn reach_from<'t>(
        &'t self,
        mut position: Position<'t>,
        new: &mut NewLeaf<'t, '_>,
    ) -> Result<Reached<'t>, Retry> {
        loop {
            if position.at.is_none() {
                return self.plant(new);
            }
            if position.at.is_leaf() {
                let leaf = self.leaf(position.at);
                if leaf.is_of(new.key) {
                    return Ok(Reached::Found(leaf));
                }
                return self.split_leaf(position, leaf, new);
            }
            let node = self.node(position.at);
            let prefix = node.prefix();
            let common = prefix.common(&self.memory, new.key, position.depth);
            if common < prefix.len as usize {
                return self.split_prefix(position, node, common, new);
            }
            position.depth += common;
            let Some(&byte) = new.key.get(position.depth) else {
                return self.end_at(node, new);
            };
            let child = node.child(byte);
            if child.is_none() {
                return self.add_child(position, node, byte, new);
            }
            position = Position {
                owner: Owner::Node(node, byte),
                at: child,
                depth: position.depth + 1,
            };
        }
    }

    /// Inserts the leaf into an empty tree.
    #[cold]
    fn plant<'t>(&'t self, new: &mut NewLeaf<'t, '_>) -> Result<Reached<'t>, Retry> {
        let leaf = new.get();
        let mut lock = self.lock(Owner::Root, Ref::NONE)?;
        self.replace(Owner::Root, &mut lock, Ref::leaf(leaf));
        Ok(Reached::Made(leaf))
    }

    /// Makes the leaf the terminal of a node, at which its key ends.
    #[cold]
    fn end_at<'t>(
        &'t self,
        node: Node<'t>,
        new: &mut NewLeaf<'t, '_>,
    ) -> Result<Reached<'t>, Retry> {
        let mut there = node.terminal();
        if there.is_none() {
            let leaf = new.get();
            let mut lock = node.lock().ok_or(Retry)?;
            there = node.terminal();
            if there.is_none() {
                node.set_terminal(&mut lock, Ref::leaf(leaf));
                return Ok(Reached::Made(leaf));
            }
        }
        Ok(Reached::Found(self.leaf(there)))
    }

    /// Adds the leaf as the child of a byte that has none.
    #[inline]
    fn add_child<'t>(
        &'t self,
        position: Position<'t>,
        node: Node<'t>,
        byte: u8,
        new: &mut NewLeaf<'t, '_>,
    ) -> Result<Reached<'t>, Retry> {
        // Made before the lock is taken, since the first touch of fresh memory can be
        // slow.
        let leaf = new.get();
        {
            let mut lock = node.lock().ok_or(Retry)?;
            if !node.child(byte).is_none() {
                return Err(Retry);
            }
            if node.try_add(&mut lock, byte, Ref::leaf(leaf)) {
                return Ok(Reached::Made(leaf));
            }
        }
        self.grow(position, node, byte, leaf)
    }

    /// Replaces a full node by a larger one that also has the leaf.
    #[cold]
    #[inline(never)]
    fn grow<'t>(
        &'t self,
        position: Position<'t>,
        node: Node<'t>,
        byte: u8,
        leaf: Leaf<'t>,
    ) -> Result<Reached<'t>, Retry> {
        let reserved = Reserved::new(&self.memory, node.kind().larger());
        let mut owner_lock = self.lock(position.owner, position.at)?;
        let mut lock = node.lock().ok_or(Retry)?;
        if !node.child(byte).is_none() {
            return Err(Retry);
        }
        // A node that was full stays full until it is obsolete.
        let mut parts = node.parts(&lock);
        parts.grow();
        parts.children.push((byte, Ref::leaf(leaf)));
        let larger = parts.build(reserved);
        self.replace(position.owner, &mut owner_lock, larger);
        lock.make_obsolete();
        self.add_garbage(node.size());
        Ok(Reached::Made(leaf))
    }

    /// Replaces a leaf that has another key by a node whose children are that leaf and
    /// the new one.
    fn split_leaf<'t>(
        &'t self,
        position: Position<'t>,
        old: Leaf<'t>,
        new: &mut NewLeaf<'t, '_>,
    ) -> Result<Reached<'t>, Retry> {
        let Position { owner, at, depth } = position;
        let leaf = new.get();
        let common = common_len(&old.key()[depth..], &new.key[depth..]);
        let mut parts = Parts {
            kind: Kind::N4,
            prefix: Prefix::of(old, depth, common),
            terminal: Ref::NONE,
            children: SmallVec::new(),
        };
        for leaf in [old, leaf] {
            match leaf.key().get(depth + common) {
                Some(&byte) => parts.children.push((byte, Ref::leaf(leaf))),
                None => parts.terminal = Ref::leaf(leaf),
            }
        }
        let both = parts.build(Reserved::new(&self.memory, Kind::N4));
        match self.lock(owner, at) {
            Ok(mut lock) => self.replace(owner, &mut lock, both),
            Err(again) => {
                self.add_garbage(self.node(both).size());
                return Err(again);
            }
        }
        Ok(Reached::Made(leaf))
    }

    /// Splits the prefix of a node, with which the key has `common` bytes in common: a
    /// new node takes these bytes, and a copy of the old node with the rest of the prefix
    /// becomes its child.
    #[cold]
    #[inline(never)]
    fn split_prefix<'t>(
        &'t self,
        position: Position<'t>,
        node: Node<'t>,
        common: usize,
        new: &mut NewLeaf<'t, '_>,
    ) -> Result<Reached<'t>, Retry> {
        let Position { owner, at, depth } = position;
        let leaf = new.get();
        let reserved_rest = Reserved::new(&self.memory, node.kind());
        let reserved_fork = Reserved::new(&self.memory, Kind::N4);
        let mut owner_lock = self.lock(owner, at)?;
        let mut lock = node.lock().ok_or(Retry)?;
        let (before, byte, after) = node.prefix().split(&self.memory, depth, common);
        let mut parts = node.parts(&lock);
        parts.prefix = after;
        let rest = parts.build(reserved_rest);
        let mut fork = Parts {
            kind: Kind::N4,
            prefix: before,
            terminal: Ref::NONE,
            children: smallvec![(byte, rest)],
        };
        match new.key.get(depth + common) {
            Some(&byte) => fork.children.push((byte, Ref::leaf(leaf))),
            None => fork.terminal = Ref::leaf(leaf),
        }
        let fork = fork.build(reserved_fork);
        self.replace(owner, &mut owner_lock, fork);
        lock.make_obsolete();
        self.add_garbage(node.size());
        Ok(Reached::Made(leaf))
    }

    /// Locks an owner, if its slot still leads to `at`.
    #[inline]
    fn lock<'t>(&'t self, owner: Owner<'t>, at: Ref) -> Result<Locked<'t>, Retry> {
        let (lock, there) = match owner {
            Owner::Root => {
                let lock = Locked::wait(&self.root_lock);
                (lock, self.root())
            }
            Owner::Node(node, byte) => {
                let lock = node.lock().ok_or(Retry)?;
                (lock, node.child(byte))
            }
        };
        if there == at { Ok(lock) } else { Err(Retry) }
    }

    /// Changes what a locked owner's slot leads to.
    #[inline]
    fn replace<'t>(&'t self, owner: Owner<'t>, lock: &mut Locked<'t>, with: Ref) {
        match owner {
            // Release: partner of the Acquire in `Art::root`.
            Owner::Root => self.root.store(with.0, Ordering::Release),
            Owner::Node(node, byte) => node.replace(lock, byte, with),
        }
    }
}
