//! Inserting in two phases: locate the entry before its sequence number is known,
//! link it afterwards.
//!
//! Most of the time of an insert goes into finding the leaf of the key and copying
//! the value, and neither needs the number. Done before the writer reserves its
//! numbers, they do not lengthen the time in which later writers wait for it.
//!
//! The tokens are opaque. They belong to the representation that made them, which
//! takes them back by value, so that each is used once.

use std::fmt::Debug;
use whitewater_concurrent::art;

/// Where the descent to a key ended. Made by [`TwoPhaseInsert::find_leaf`].
#[derive(Debug)]
pub(crate) struct LeafHint<'k>(pub(super) art::LeafHint<'k>);

/// An entry whose leaf was found and whose value was copied, without a sequence
/// number. No reader sees it; a dropped one leaves a little garbage.
#[derive(Debug)]
pub(super) struct UnlinkedEntry(pub(super) art::Prepared);

/// A linked entry whose skip pointer past older versions is missing: reads of those
/// take an extra step until it is there.
#[derive(Debug)]
pub(super) struct DeferredLink(pub(super) art::PendingSkipPointer);

/// The key already has an entry with this tag.
#[derive(Debug)]
pub(super) struct DuplicateTag;

/// A representation that inserts in two phases.
pub(super) trait TwoPhaseInsert: Debug + Send + Sync {
    /// Descends to the leaf of `user_key` and prefetches it, so that
    /// [`locate`](Self::locate) need not wait for it.
    fn find_leaf<'k>(&self, user_key: &'k [u8]) -> LeafHint<'k>;
    /// The first phase. `hint`, if set, is of the same key.
    fn locate(&self, user_key: &[u8], value: &[u8], hint: Option<LeafHint<'_>>) -> UnlinkedEntry;
    /// The first phase for entries `(user_key, value)`, passed to `take` in order.
    fn locate_batch(&self, entries: &[(&[u8], &[u8])], take: &mut dyn FnMut(UnlinkedEntry));
    /// The second phase.
    ///
    /// # Errors
    /// [`DuplicateTag`].
    fn link(&self, entry: UnlinkedEntry, tag: u64) -> Result<(), DuplicateTag>;
    /// The second phase without reading the version below. `tag` must have been
    /// allocated after the entry was located, and be higher than all allocated
    /// before it. Returns what is left to [do later](Self::run_deferred).
    ///
    /// # Errors
    /// [`DuplicateTag`].
    fn link_newest(
        &self,
        entry: UnlinkedEntry,
        tag: u64,
    ) -> Result<Option<DeferredLink>, DuplicateTag>;
    /// Completes an entry that was linked as the newest.
    fn run_deferred(&self, deferred: DeferredLink);
    /// Steps of a search for the version of `user_key` at `tag`.
    #[cfg(test)]
    fn version_steps(&self, user_key: &[u8], tag: u64) -> usize;
}
