//! Cursors over the buckets of a [`HashLinkList`].

use std::fmt;
use std::sync::Arc;

use super::HashLinkList;
use super::link::Content;
use crate::skiplist::node::{Entry, Node};
use crate::skiplist::{Iter, KeyOrder};

/// A cursor over the bucket of its last seek. It sees every entry that was inserted
/// before the seek; entries inserted meanwhile may or may not appear. It is not valid at
/// first.
pub struct LinkIter<O> {
    /// Keeps the nodes alive.
    table: Arc<HashLinkList<O>>,
    bucket: usize,
    at: At<O>,
}

enum At<O> {
    Nowhere,
    /// A node of the bucket's list. The bucket may have become a skip list since.
    List(Node),
    Skip(Iter<Arc<O>>),
}

// SAFETY: the node is kept alive by the table, which shares its nodes between
// threads itself.
unsafe impl<O: KeyOrder> Send for LinkIter<O> {}
// SAFETY: as for `Send`; a shared cursor only reads published entries.
unsafe impl<O: KeyOrder> Sync for LinkIter<O> {}

impl<O: KeyOrder> LinkIter<O> {
    pub(super) fn new(table: Arc<HashLinkList<O>>) -> Self {
        LinkIter {
            table,
            bucket: 0,
            at: At::Nowhere,
        }
    }

    /// Whether the cursor is at an entry.
    #[inline]
    pub fn valid(&self) -> bool {
        match &self.at {
            At::Nowhere => false,
            At::List(_) => true,
            At::Skip(iter) => iter.valid(),
        }
    }

    /// The entry's internal key: user key followed by the little-endian tag.
    ///
    /// # Panics
    /// If the cursor is not valid.
    #[inline]
    pub fn key(&self) -> &[u8] {
        match &self.at {
            At::Skip(iter) => iter.key(),
            _ => self.entry().internal_key,
        }
    }

    /// The entry's value.
    ///
    /// # Panics
    /// If the cursor is not valid.
    #[inline]
    pub fn value(&self) -> &[u8] {
        match &self.at {
            At::Skip(iter) => iter.value(),
            _ => self.entry().value,
        }
    }

    /// Moves forward in the bucket. Nothing happens if the cursor is not valid.
    #[inline]
    pub fn next(&mut self) {
        match &mut self.at {
            At::Nowhere => {}
            At::Skip(iter) => iter.next(),
            At::List(node) => {
                // SAFETY: a node of a list of the table, which is alive.
                let next = unsafe { node.next(0) };
                self.move_to(next);
            }
        }
    }

    /// Moves backward in the bucket: a fresh search. Nothing happens if the
    /// cursor is not valid.
    pub fn prev(&mut self) {
        match &mut self.at {
            At::Nowhere => {}
            At::Skip(iter) => iter.prev(),
            At::List(node) => {
                let node = *node;
                self.move_before(node);
            }
        }
    }

    /// Moves to the first entry at or after the given key in the bucket of `hash`.
    pub fn seek(&mut self, hash: u64, user_key: &[u8], tag: u64) {
        self.bucket = self.table.slot(hash);
        match self.table.content_owned(self.bucket) {
            Content::Skip(skip) => {
                let mut iter = skip.iter();
                iter.seek(user_key, tag);
                self.at = At::Skip(iter);
            }
            Content::List(first) => {
                // SAFETY: a node of a bucket of this table.
                let (_, next) = unsafe { self.table.neighbors(first, (user_key, tag), false) };
                self.move_to(next);
            }
        }
    }

    /// Moves to the last entry at or before the given key in the bucket of `hash`.
    pub fn seek_for_prev(&mut self, hash: u64, user_key: &[u8], tag: u64) {
        self.bucket = self.table.slot(hash);
        match self.table.content_owned(self.bucket) {
            Content::Skip(skip) => {
                let mut iter = skip.iter();
                iter.seek_for_prev(user_key, tag);
                self.at = At::Skip(iter);
            }
            Content::List(first) => {
                // SAFETY: a node of a bucket of this table.
                let (prev, _) = unsafe { self.table.neighbors(first, (user_key, tag), true) };
                self.move_to(prev);
            }
        }
    }

    /// Moves to the entry before that of `node` in the bucket.
    fn move_before(&mut self, node: Node) {
        // SAFETY: a node of a list of the table, which is alive.
        let key = unsafe { node.key() };
        match self.table.content_owned(self.bucket) {
            Content::Skip(skip) => {
                // The skip list has a copy of the node (L2).
                let mut iter = skip.iter();
                iter.seek(key.0, key.1);
                iter.prev();
                self.at = At::Skip(iter);
            }
            Content::List(first) => {
                // SAFETY: a node of a bucket of this table.
                let (prev, _) = unsafe { self.table.neighbors(first, key, false) };
                self.move_to(prev);
            }
        }
    }

    fn move_to(&mut self, node: Option<Node>) {
        self.at = node.map_or(At::Nowhere, At::List);
    }

    fn entry(&self) -> Entry<'_> {
        let At::List(node) = &self.at else {
            panic!("the cursor is not valid");
        };
        // SAFETY: a published node of a list; the table lives as long as
        // `self`.
        unsafe { node.entry() }
    }
}

impl<O> fmt::Debug for LinkIter<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LinkIter")
            .field("table", &self.table)
            .field("bucket", &self.bucket)
            .finish_non_exhaustive()
    }
}
