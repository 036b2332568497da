//! Inserting in two steps: first everything that can be done before the tag is known,
//! then linking the version.

use super::insert::{Position, Reached};
use super::leaf::{Leaf, Version};
use super::node::Ref;
use super::versions::{Unlinked, Versions};
use super::{Art, check_sizes};

/// An entry that has its key and value in a tree, but no tag: no reader sees it yet. To
/// be passed to [`Art::publish`]. An entry that is dropped leaves a little garbage in the
/// tree, and perhaps a key without versions, which readers do not see either.
#[derive(Debug)]
#[must_use = "an entry is visible only once it is published"]
pub struct Prepared {
    /// The tree it belongs to.
    tree: u64,
    /// The leaf's [`Ref`], and in the upper half the version's offset, or 0 for the version
    /// inside the leaf. In both cases the version belongs to this value.
    ///
    /// One word, so that an entry is passed in two registers: memory that is written as two
    /// words and read as one right after makes the processor wait.
    place: u64,
}

impl Prepared {
    #[inline]
    fn leaf(&self) -> Ref {
        Ref(self.place as u32)
    }

    #[inline]
    fn version(&self) -> u32 {
        (self.place >> 32) as u32
    }
}

/// The skip pointer, still to be set, of an entry that was published as the newest of its
/// key. To be passed to [`Art::link_skip_pointer`]. Without it, reads that look for older
/// entries of the key take a step for this one.
#[derive(Debug)]
#[must_use = "searches are slower without the skip pointer"]
pub struct PendingSkipPointer(Prepared);

impl Art {
    /// Does everything for an entry except making it visible: creates the path to its key
    /// and a leaf if they are missing, allocates memory, and copies key and value.
    ///
    /// # Panics
    /// As for [`Art::insert`].
    pub fn prepare(&self, user_key: &[u8], value: &[u8]) -> Prepared {
        self.prepare_at(self.top(), user_key, value)
    }

    /// [`Art::prepare`] from a position on the path to the key.
    #[inline]
    pub(super) fn prepare_at<'t>(
        &'t self,
        position: Position<'t>,
        user_key: &[u8],
        value: &[u8],
    ) -> Prepared {
        check_sizes(user_key, value);
        if position.at.is_leaf() && self.memory.can_undo(Version::size_for(value)) {
            // The leaf is most likely the key's. It may not have arrived from memory yet,
            // so work that does not read it comes first, if it is cheap.
            let version = Version::create(&self.memory, value);
            let leaf = self.leaf(position.at);
            if leaf.is_of(user_key) {
                return self.prepare_version(leaf, version);
            }
            self.discard(version);
        }
        match self.reach(position, user_key, None, value) {
            Reached::Made(leaf) => self.prepared(leaf, 0),
            Reached::Found(leaf) => {
                let version = Version::create(&self.memory, value);
                self.prepare_version(leaf, version)
            }
        }
    }

    /// Links a version that was just made to the newest one of a leaf.
    #[inline]
    fn prepare_version<'t>(&'t self, leaf: Leaf<'t>, version: Version<'t>) -> Prepared {
        let versions = Versions::new(&self.memory, leaf);
        let newest = versions.newest();
        // The thread that publishes the entry will read it.
        versions.prefetch(newest);
        // SAFETY: the caller has just made the version.
        unsafe { version.set_next(newest) };
        self.prepared(leaf, version.offset())
    }

    #[inline]
    fn prepared(&self, leaf: Leaf<'_>, version: u32) -> Prepared {
        Prepared {
            tree: self.id,
            place: u64::from(Ref::leaf(leaf).0) | u64::from(version) << 32,
        }
    }

    /// Undoes the allocation of a version that no other thread knows.
    fn discard(&self, version: Version<'_>) {
        let bytes = version.size();
        if !self.memory.undo_allocate(version.offset(), bytes) {
            self.add_garbage(bytes);
        }
    }

    /// Makes a prepared entry visible under `tag`. Returns `false` (and does nothing) if
    /// the key has an entry with this tag. As long as the tags of a key come nearly in
    /// order, this takes one compare-and-swap and no lock.
    ///
    /// # Panics
    /// If the entry was prepared by another tree.
    pub fn publish(&self, prepared: Prepared, tag: u64) -> bool {
        let versions = self.versions_of(&prepared);
        let new = match self.version_of(&prepared) {
            None => Unlinked::Inside,
            Some(version) => Unlinked::Version(version),
        };
        // SAFETY: the prepared entry owns the version, or the one inside the leaf, and is
        // consumed here.
        let linked = unsafe { versions.link(new, tag) };
        if let Unlinked::Version(unused) = new
            && !linked
        {
            self.add_garbage(unused.size());
        }
        linked
    }

    /// Fast path of [`Art::publish`] that does not read the newest version of the key. It
    /// succeeds if that is still the version that was there when the entry was prepared.
    /// Otherwise, or if the entry is the first of its key, nothing is done and the entry
    /// is returned.
    ///
    /// `tag` must have been given out after `prepare`, and must be higher than all tags
    /// that were given out before it. Otherwise versions get out of order, and reads find
    /// wrong ones.
    ///
    /// # Errors
    /// The entry, to be passed to [`Art::publish`].
    ///
    /// # Panics
    /// As for [`Art::publish`].
    #[inline]
    pub fn publish_newest(
        &self,
        prepared: Prepared,
        tag: u64,
    ) -> Result<PendingSkipPointer, Prepared> {
        let versions = self.versions_of(&prepared);
        let Some(version) = self.version_of(&prepared) else {
            return Err(prepared);
        };
        // SAFETY: the prepared entry owns the version, and is consumed if this succeeds.
        if unsafe { versions.push_newest(version, tag) } {
            Ok(PendingSkipPointer(prepared))
        } else {
            Err(prepared)
        }
    }

    /// Sets the skip pointer of an entry that was [published as the
    /// newest](Art::publish_newest).
    ///
    /// # Panics
    /// If the entry is of another tree.
    #[inline]
    pub fn link_skip_pointer(&self, pending: PendingSkipPointer) {
        let versions = self.versions_of(&pending.0);
        if let Some(version) = self.version_of(&pending.0) {
            // SAFETY: the version was linked in this tree by the holder of its token,
            // which is consumed here.
            unsafe { versions.link_skip_pointer(version) };
        }
    }

    /// # Panics
    /// If the entry was prepared by another tree.
    #[inline]
    fn versions_of(&self, prepared: &Prepared) -> Versions<'_> {
        assert_eq!(prepared.tree, self.id, "an entry of another tree");
        Versions::new(&self.memory, self.leaf(prepared.leaf()))
    }

    /// The version of an entry of this tree, unless it is the one inside the leaf.
    #[inline]
    fn version_of(&self, prepared: &Prepared) -> Option<Version<'_>> {
        let version = prepared.version();
        // SAFETY: made by `prepare` in this tree; what handed `prepared` to this thread
        // made the version visible.
        (version != 0).then(|| unsafe { Version::at(&self.memory, version) })
    }
}
