//! Inserting in two steps: all that can be done before the tag is known, and
//! then the linking of the version.

use super::insert::{Position, Reached};
use super::leaf::{Leaf, Version};
use super::node::Ref;
use super::versions::{Unlinked, Versions};
use super::{Art, check_sizes};

/// An entry that has its place in a tree and its value, but no tag: nobody
/// sees it yet. Goes to [`Art::publish`]. One that is dropped leaves a little
/// garbage in the tree, and perhaps a key without versions, which nobody sees
/// either.
#[derive(Debug)]
#[must_use = "an entry is visible only once it is published"]
pub struct Prepared {
    /// The tree it belongs to.
    tree: u64,
    leaf: Ref,
    /// The version's unit, or 0 for the place inside the leaf. Whichever it
    /// is, it belongs to this value.
    version: u32,
}

/// An entry that was published on top of others of its key, with no way yet that
/// leads past them. Goes to [`Art::link_skip_pointer`]: without that, reads that look for older
/// entries of the key take a step for this one.
#[derive(Debug)]
#[must_use = "searches are slower without its way"]
pub struct PendingSkipPointer(Prepared);

impl Art {
    /// Does everything for an entry but making it visible: creates the way to
    /// its key and a leaf where they are missing, takes memory and copies key
    /// and value.
    ///
    /// # Panics
    /// As for [`Art::insert`].
    pub fn prepare(&self, user_key: &[u8], value: &[u8]) -> Prepared {
        self.prepare_at(self.top(), user_key, value)
    }

    /// [`Art::prepare`] from a place on the way to the key.
    #[inline]
    pub(super) fn prepare_at<'t>(
        &'t self,
        position: Position<'t>,
        user_key: &[u8],
        value: &[u8],
    ) -> Prepared {
        check_sizes(user_key, value);
        if position.at.is_leaf() && self.memory.can_undo(Version::size_for(value)) {
            // Most likely the key's. It may be on its way here, so what needs no look
            // at it comes first, if that is not much.
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

    /// Has a version that was just made be linked to the newest one of a leaf.
    #[inline]
    fn prepare_version<'t>(&'t self, leaf: Leaf<'t>, version: Version<'t>) -> Prepared {
        let versions = Versions::new(&self.memory, leaf);
        let newest = versions.newest();
        // For whoever publishes it.
        versions.prefetch(newest);
        // SAFETY: just made, says the caller.
        unsafe { version.set_next(newest) };
        self.prepared(leaf, version.offset())
    }

    #[inline]
    fn prepared(&self, leaf: Leaf<'_>, version: u32) -> Prepared {
        Prepared {
            tree: self.id,
            leaf: Ref::leaf(leaf),
            version,
        }
    }

    /// Gives the memory back of a version that nobody else knows.
    fn discard(&self, version: Version<'_>) {
        let bytes = version.size();
        if !self.memory.undo_allocate(version.offset(), bytes) {
            self.add_garbage(bytes);
        }
    }

    /// Makes a prepared entry visible under `tag`. Returns `false` (and does
    /// nothing) if the key has an entry with this tag. Takes one
    /// compare-and-swap and no lock, as long as tags of a key come nearly in
    /// order.
    ///
    /// # Panics
    /// If the entry was prepared by another tree.
    pub fn publish(&self, prepared: Prepared, tag: u64) -> bool {
        let versions = self.versions_of(&prepared);
        let new = match self.version_of(&prepared) {
            None => Unlinked::Inside,
            Some(version) => Unlinked::Version(version),
        };
        // SAFETY: what is prepared owns the version or the place inside the
        // leaf, and is used up here.
        let linked = unsafe { versions.link(new, tag) };
        if let Unlinked::Version(unused) = new
            && !linked
        {
            self.add_garbage(unused.size());
        }
        linked
    }

    /// [`Art::publish`] without a wait for the newest version of the key, if that is
    /// still the one that was there when the entry was prepared. Otherwise, or if it
    /// is the first of its key, the entry is given back. Then nothing was done.
    ///
    /// `tag` must be one that was given out since it was prepared, and higher than
    /// all that were given out before: otherwise versions get out of order, and reads
    /// find the wrong ones.
    ///
    /// # Errors
    /// The entry, which takes [`Art::publish`].
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
        // SAFETY: what is prepared owns the version, and is used up if this succeeds.
        if unsafe { versions.push_newest(version, tag) } {
            Ok(PendingSkipPointer(prepared))
        } else {
            Err(prepared)
        }
    }

    /// Completes what was published [on top](Art::publish_newest).
    ///
    /// # Panics
    /// If that was in another tree.
    #[inline]
    pub fn link_skip_pointer(&self, pending: PendingSkipPointer) {
        let versions = self.versions_of(&pending.0);
        if let Some(version) = self.version_of(&pending.0) {
            // SAFETY: linked in this tree by whoever had prepared it, whose token is
            // used up here.
            unsafe { versions.link_skip_pointer(version) };
        }
    }

    /// # Panics
    /// If the entry was prepared by another tree.
    #[inline]
    fn versions_of(&self, prepared: &Prepared) -> Versions<'_> {
        assert_eq!(prepared.tree, self.id, "an entry of another tree");
        Versions::new(&self.memory, self.leaf(prepared.leaf))
    }

    /// The version of an entry of this tree, unless it is the one inside the leaf.
    #[inline]
    fn version_of(&self, prepared: &Prepared) -> Option<Version<'_>> {
        // SAFETY: made by `prepare` in this tree, which whoever handed the value to
        // this thread made visible.
        (prepared.version != 0).then(|| unsafe { Version::at(&self.memory, prepared.version) })
    }
}
