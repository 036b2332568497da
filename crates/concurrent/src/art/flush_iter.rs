//! A walk over a whole tree, for a flush.
//!
//! A flush reads all bytes of every entry, and most of the cost of handing them out is
//! waiting for memory. So a *prefetch cursor* runs ahead through the nodes and finds
//! leaves without reading them. Each leaf then passes the stages of a *prefetch pipeline*
//! before its turn. Each stage reads one more part of the leaf, which the stage before
//! has prefetched, and prefetches what that part leads to:
//!
//! ```text
//!  cursor --> [head of the leaf] --> [rest of the leaf, or     --> [value, --> [next] --> walk
//!                                     head of newest version]      next]
//! ```
//!
//! All of this affects only speed. The pipeline keeps the order of the prefetch cursor,
//! whose frames give the guarantees of any cursor. Versions are read again when the walk
//! comes to their leaf.

use std::fmt;

use super::Art;
use super::cursor::Cursor;
use super::iter::Iter;
use super::leaf::Link;
use super::node::Ref;
use super::versions::Versions;

/// The number of leaves between the prefetch cursor and the walk. A flush takes some
/// dozens of nanoseconds for an entry, and memory a few hundred.
const PIPELINE: usize = 32;

/// How many leaves before the walk the stages are: what one stage prefetches arrives
/// before the next.
const HEAD_STAGE: usize = 22;
const VALUE_STAGE: usize = 13;
const OLDER_STAGE: usize = 5;

/// A cursor like [`Iter`] for one walk forward that reads all bytes of many entries. It
/// can do everything else, too, but not as fast.
pub struct FlushIter<const REVERSED: bool = false> {
    /// The walk's current entry. While there is a pipeline, the frames of this cursor lag
    /// behind.
    iter: Iter<REVERSED>,
    /// Made at the first step forward, and dropped when the cursor is moved otherwise.
    pipeline: Option<Box<PrefetchPipeline<REVERSED>>>,
}

/// The leaves that come after the walk's current one.
struct PrefetchPipeline<const REVERSED: bool> {
    prefetch_cursor: Cursor<REVERSED>,
    /// A ring; [`Ref::NONE`] where the prefetch cursor has found no more leaves.
    leaves: [Ref; PIPELINE],
    /// The oldest version known so far of each leaf; [`Link::END`] if none.
    versions: [Link; PIPELINE],
    /// The slot of the next leaf.
    next: usize,
}

impl<const REVERSED: bool> PrefetchPipeline<REVERSED> {
    /// The pipeline of the leaves after a cursor.
    fn after(tree: &Art, cursor: &Cursor<REVERSED>) -> Self {
        let mut pipeline = PrefetchPipeline {
            prefetch_cursor: cursor.clone(),
            leaves: [Ref::NONE; PIPELINE],
            versions: [Link::END; PIPELINE],
            next: 0,
        };
        for _ in 0..PIPELINE {
            pipeline.step(tree);
        }
        pipeline
    }

    /// Takes the next leaf, if there is one, and adds a new one to the pipeline.
    #[inline(always)]
    fn step(&mut self, tree: &Art) -> Ref {
        let coming = self.prefetch_cursor.next_leaf_ref(tree);
        let slot = self.next % PIPELINE;
        let leaf = std::mem::replace(&mut self.leaves[slot], coming);
        self.versions[slot] = Link::END;
        self.next = (slot + 1) % PIPELINE;
        if !coming.is_none() {
            tree.memory.prefetch(coming.offset(), 0);
        }
        self.read_head(tree, (self.next + HEAD_STAGE) % PIPELINE);
        self.read_version(tree, (self.next + VALUE_STAGE) % PIPELINE);
        self.read_next(tree, (self.next + OLDER_STAGE) % PIPELINE);
        leaf
    }

    #[inline(always)]
    fn read_head(&mut self, tree: &Art, slot: usize) {
        let leaf = self.leaves[slot];
        if leaf.is_none() {
            return;
        }
        let leaf = tree.leaf(leaf);
        let newest = Versions::new(&tree.memory, leaf).newest();
        self.versions[slot] = newest;
        if newest.is_version() {
            tree.memory.prefetch(newest.0, 0);
            // The tag of the oldest version is here, too.
            let key = leaf.size_before_value();
            tree.memory.prefetch_bytes(leaf.offset(), 0, key);
        } else {
            tree.memory.prefetch_bytes(leaf.offset(), 0, leaf.size());
        }
    }

    #[inline(always)]
    fn read_version(&mut self, tree: &Art, slot: usize) {
        let newest = self.versions[slot];
        if newest.is_version() {
            let versions = Versions::new(&tree.memory, tree.leaf(self.leaves[slot]));
            let size = versions.version(newest).size();
            tree.memory.prefetch_bytes(newest.0, 0, size);
            self.prefetch_older(tree, versions, slot);
        }
    }

    #[inline(always)]
    fn read_next(&mut self, tree: &Art, slot: usize) {
        if self.versions[slot].is_version() {
            let versions = Versions::new(&tree.memory, tree.leaf(self.leaves[slot]));
            self.prefetch_older(tree, versions, slot);
        }
    }

    /// Prefetches the tag of the version after the oldest one known so far: a flush seldom
    /// uses older versions, but reads their tags.
    #[inline(always)]
    fn prefetch_older(&mut self, tree: &Art, versions: Versions<'_>, slot: usize) {
        let older = versions.older(self.versions[slot]);
        self.versions[slot] = older;
        if older.is_version() {
            tree.memory.prefetch(older.0, 0);
        }
    }
}

impl<const REVERSED: bool> FlushIter<REVERSED> {
    pub(super) fn new(iter: Iter<REVERSED>) -> Self {
        FlushIter {
            iter,
            pipeline: None,
        }
    }

    /// As [`Iter::valid`].
    #[inline]
    pub fn valid(&self) -> bool {
        self.iter.valid()
    }

    /// As [`Iter::key`].
    ///
    /// # Panics
    /// If the cursor is not valid.
    #[inline]
    pub fn key(&self) -> &[u8] {
        self.iter.key()
    }

    /// As [`Iter::value`].
    ///
    /// # Panics
    /// If the cursor is not valid.
    #[inline]
    pub fn value(&self) -> &[u8] {
        self.iter.value()
    }

    /// Moves forward. Nothing happens if the cursor is not valid.
    #[inline]
    pub fn next(&mut self) {
        if !self.valid() {
            return;
        }
        let (tree, cursor) = (&self.iter.tree, &mut self.iter.cursor);
        if !cursor.older(tree) {
            let pipeline = match &mut self.pipeline {
                Some(pipeline) => pipeline,
                none => none.insert(Box::new(PrefetchPipeline::after(tree, cursor))),
            };
            while !cursor.move_to(tree, pipeline.step(tree)) {}
        }
        self.iter.assemble();
    }

    /// Moves backward. Nothing happens if the cursor is not valid.
    pub fn prev(&mut self) {
        if self.valid() {
            if self.pipeline.take().is_some() {
                // Position the cursor with its frames at the walk's entry.
                let key = self.key().to_vec();
                if let Some((user_key, tag)) = key.split_last_chunk() {
                    self.iter.seek(user_key, u64::from_le_bytes(*tag));
                }
            }
            self.iter.prev();
        }
    }

    /// As [`Iter::seek`].
    pub fn seek(&mut self, user_key: &[u8], tag: u64) {
        self.pipeline = None;
        self.iter.seek(user_key, tag);
    }

    /// As [`Iter::seek_for_prev`].
    pub fn seek_for_prev(&mut self, user_key: &[u8], tag: u64) {
        self.pipeline = None;
        self.iter.seek_for_prev(user_key, tag);
    }

    /// Moves to the first entry.
    pub fn seek_to_first(&mut self) {
        self.pipeline = None;
        self.iter.seek_to_first();
    }

    /// Moves to the last entry.
    pub fn seek_to_last(&mut self) {
        self.pipeline = None;
        self.iter.seek_to_last();
    }
}

impl<const REVERSED: bool> fmt::Debug for FlushIter<REVERSED> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FlushIter")
            .field("iter", &self.iter)
            .finish_non_exhaustive()
    }
}
