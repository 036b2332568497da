//! Inserting in two steps: all that can be done before the tag is known, and
//! then the linking of the version.

use super::insert::{Place, Reached};
use super::leaf::Version;
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
        place: Place<'t>,
        user_key: &[u8],
        value: &[u8],
    ) -> Prepared {
        check_sizes(user_key, value);
        let (leaf, version) = match self.reach(place, user_key, None, value) {
            Reached::Made(leaf) => (leaf, 0),
            Reached::Found(leaf) => {
                Versions::new(&self.memory, leaf).prefetch_newest();
                let version = Version::create(&self.memory, value);
                (leaf, version.unit())
            }
        };
        Prepared {
            tree: self.id,
            leaf: Ref::leaf(leaf),
            version,
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
        assert_eq!(prepared.tree, self.id, "an entry of another tree");
        let leaf = self.leaf(prepared.leaf);
        let versions = Versions::new(&self.memory, leaf);
        let new = if prepared.version == 0 {
            Unlinked::Inside
        } else {
            // SAFETY: made by `prepare` in this tree, which whoever handed the
            // value to this thread made visible.
            Unlinked::Piece(unsafe { Version::at(&self.memory, prepared.version) })
        };
        // SAFETY: what is prepared owns the version or the place inside the
        // leaf, and is used up here.
        let linked = unsafe { versions.link(new, tag) };
        if let Unlinked::Piece(vain) = new
            && !linked
        {
            self.add_garbage(vain.size());
        }
        linked
    }
}
