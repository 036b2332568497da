//! Ranges that are known to hold nothing visible, until a writer puts something into them.
//!
//! What a range is, the caller says (`R`), and which keys are in it. Here is when a range may be
//! relied on. A range is
//! 1. *proposed* ([`WatchedRanges::propose`]);
//! 2. *watched* from then on: [`WatchedRanges::begin`] notes the last number handed out to writes
//!    afterwards;
//! 3. *known* to be empty once a reader that began later has found nothing in it, at a point at or
//!    above that number ([`Watched::is_watched_at`], [`Watched::know_from`]);
//! 4. *extended* by readers that find nothing beyond it, either ([`WatchedRanges::extend`]);
//! 5. *ended* by the first write that puts something into it ([`WatchedRanges::put`]), or when it
//!    is forgotten.
//!
//! Invariants:
//! * E1: a write with a number above `watched_above` that puts something into a range ends the
//!   range before its number is visible. Such a write looks at the list after it has reserved its
//!   number ([`Tail::take`]), and the range was in the list when `watched_above` was read from
//!   where numbers are reserved ([`Tail::reserved`]). A write that finds a range ended, or gone, or
//!   no range at all has seen that it ended, so its readers see that, too.
//! * E2: a range that leaves the list has ended before.
//! * E3: whatever else can make something visible ends all ranges before it does, and none is
//!   proposed until it is done ([`WatchedRanges::suspend`]). A reader takes the list before it pins
//!   what it reads, and makes known only what that list has. So if a range has not ended by then,
//!   what was made visible before the range was proposed is in what the reader has pinned.
//! * E4: a range says how far it can be extended, and a write with a number above `watched_above`
//!   that puts something beside the range narrows that before its number is visible. Both are done
//!   to the present form of the range, under a lock, and what a range says only gets narrower. So
//!   a write with a number above the point of a reader that extends the range has kept it from
//!   being extended over what it puts, or finds it extended and ends it. A write that changes
//!   nothing has found a form of the range that cannot be extended so far.
//!
//! So a reader at a point at or above `known_from` that finds a range not ended sees nothing in it.
//! What is visible there, and was not at `known_from`, was put by a write with a larger number,
//! which had ended the range before the reader's point was taken.
//!
//! [`Tail::take`]: crate::tail::Tail::take
//! [`Tail::reserved`]: crate::tail::Tail::reserved

use crate::sync::Ordering::{Acquire, Relaxed, Release};
use crate::sync::{AtomicBool, AtomicU64, Mutex};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

/// Above all numbers.
const NEVER: u64 = u64::MAX;

/// What a range has in common with its extensions.
#[derive(Debug)]
struct Watch {
    /// Writes with larger numbers end the range (E1); [`NEVER`] until that holds for some. Written
    /// by: the first thread that watches. Read by: readers. Publishes nothing (relaxed).
    above: AtomicU64,
    /// Written by: writers, and threads that change the list. Read by: readers and writers.
    /// Relaxed: what a writer stores here is published by the publication of its number, and what a
    /// suspension stores by the publication of what it is for.
    ended: AtomicBool,
}

/// A range, and what is known about it.
#[derive(Debug)]
pub struct Watched<R> {
    range: R,
    /// The smallest point at which nothing was found; [`NEVER`] before. Written by: a reader.
    /// Read by: readers. Publishes nothing (relaxed).
    known_from: AtomicU64,
    watch: Arc<Watch>,
}

/// What becomes of a range when something is put into a place.
#[derive(Debug)]
pub enum Effect<R> {
    /// Nothing: the place is not in the range, and the range tells that it cannot be extended so
    /// far.
    None,
    /// The place is in the range, which ends.
    Ends,
    /// The place is beside the range, which now tells that it cannot be extended so far.
    Narrows(R),
}

impl<R> Watched<R> {
    fn new(range: R) -> Self {
        Watched {
            range,
            known_from: AtomicU64::new(NEVER),
            watch: Arc::new(Watch {
                above: AtomicU64::new(NEVER),
                ended: AtomicBool::new(false),
            }),
        }
    }

    /// The same range as `range`, known from the point `known_from` on.
    fn replaced(&self, range: R, known_from: u64) -> Self {
        Watched {
            range,
            known_from: AtomicU64::new(known_from),
            watch: self.watch.clone(),
        }
    }

    /// Whether a reader at this point sees nothing in the range.
    #[inline]
    pub fn is_empty_at(&self, point: u64) -> bool {
        self.known_from.load(Relaxed) <= point && !self.has_ended()
    }

    /// Whether the range has ended, with all of its extensions.
    #[inline]
    pub fn has_ended(&self) -> bool {
        self.watch.ended.load(Relaxed)
    }

    fn end(&self) {
        self.watch.ended.store(true, Relaxed);
    }

    /// Whether all writes above `point` end the range.
    pub fn is_watched_at(&self, point: u64) -> bool {
        self.watch.above.load(Relaxed) <= point
    }

    /// Whether both are forms of one range: what it was before or after it was extended or
    /// narrowed.
    fn is_form_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.watch, &other.watch)
    }

    /// Notes that a reader at `point` has found nothing in the range. It began with a list that has
    /// the range, and the range [is watched](Self::is_watched_at) at `point`.
    pub fn know_from(&self, point: u64) {
        // Mostly it is known. Writers read this line, so it is not written to in vain.
        if self.known_from.load(Relaxed) > point {
            self.known_from.fetch_min(point, Relaxed);
        }
    }
}

impl<R> Deref for Watched<R> {
    type Target = R;
    #[inline]
    fn deref(&self) -> &R {
        &self.range
    }
}

/// Ranges, oldest first.
pub type List<R> = Vec<Arc<Watched<R>>>;

/// Where the present list is. What a `store` has seen is seen by a `load` that returns its list.
pub trait Lists<R>: Default {
    /// A list, as long as it is borrowed.
    type Borrowed<'a>: Deref<Target = Arc<List<R>>>
    where
        Self: 'a;
    /// The present list, for a moment.
    fn load(&self) -> Self::Borrowed<'_>;
    /// The present list.
    fn load_full(&self) -> Arc<List<R>>;
    /// Replaces the list.
    fn store(&self, list: Arc<List<R>>);
}

/// See the [module](self).
pub struct WatchedRanges<R, L> {
    /// Whether there are ranges. Written by: threads that change the list, before they add to an
    /// empty one (relaxed: [`Tail::reserved`](crate::tail::Tail::reserved) publishes what
    /// [`WatchedRanges::begin`] has seen), and after they have emptied it (Release). Read by:
    /// readers, and by writers after they have reserved (Acquire). Publishes: that all have ended.
    any: AtomicBool,
    list: L,
    /// Held by threads that change the list. The number of suspensions.
    changes: Mutex<usize>,
    ranges: PhantomData<fn() -> R>,
}

impl<R, L: Lists<R>> Default for WatchedRanges<R, L> {
    fn default() -> Self {
        WatchedRanges {
            any: AtomicBool::new(false),
            list: L::default(),
            changes: Mutex::new(0),
            ranges: PhantomData,
        }
    }
}

impl<R, L: Lists<R>> fmt::Debug for WatchedRanges<R, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchedRanges")
            .field("ranges", &self.list.load().len())
            .finish()
    }
}

impl<R, L: Lists<R>> WatchedRanges<R, L> {
    /// Whether a writer has to call [`WatchedRanges::put`]. Asked after it has reserved.
    #[inline]
    pub fn any(&self) -> bool {
        // Acquire: pairs with `replace`. A writer that finds no ranges has seen that all ended.
        self.any.load(Acquire)
    }

    /// The present list.
    pub fn list(&self) -> L::Borrowed<'_> {
        self.list.load()
    }

    /// Ends the ranges that something is put into, and narrows those that it is put beside. Called
    /// by its writer after it has reserved, and before its number is visible (E1, E4).
    pub fn put(&self, effect: impl Fn(&R) -> Effect<R>) {
        let list = self.list.load();
        let mut live = list.iter().filter(|range| !range.has_ended());
        if live.any(|range| !matches!(effect(&range.range), Effect::None)) {
            self.put_into_present(effect);
        }
    }

    #[cold]
    fn put_into_present(&self, effect: impl Fn(&R) -> Effect<R>) {
        let _changes = self.changes.lock();
        let list = self.list.load();
        self.replace(list.iter().map(|range| match effect(&range.range) {
            Effect::None => range.clone(),
            Effect::Ends => {
                range.end(); // upholds E4
                range.clone()
            }
            Effect::Narrows(narrowed) => {
                Arc::new(range.replaced(narrowed, range.known_from.load(Relaxed)))
            }
        }));
    }

    /// Ends all ranges, as a write does whose keys are not known.
    pub fn end_all(&self) {
        let _changes = self.changes.lock();
        self.forget();
    }

    /// Ends all ranges, and lets none be proposed as long as the result is held (E3).
    pub fn suspend(&self) -> Suspended<'_, R, L> {
        let mut suspensions = self.changes.lock();
        *suspensions += 1;
        self.forget();
        Suspended(self)
    }

    /// The ranges that a reader may use which pins what it reads after this. Watches those that are
    /// not watched yet: `reserved` returns the last number that was handed out to a write, by
    /// [`Tail::reserved`](crate::tail::Tail::reserved), or `None` if that cannot be told now.
    #[inline]
    pub fn begin(&self, reserved: impl FnOnce() -> Option<u64>) -> Option<Arc<List<R>>> {
        // Relaxed: pairs with nothing. A reader that finds no ranges uses none.
        self.any.load(Relaxed).then(|| self.watch(reserved))
    }

    fn watch(&self, reserved: impl FnOnce() -> Option<u64>) -> Arc<List<R>> {
        let list = self.list.load_full();
        let new = |range: &&Arc<Watched<R>>| range.watch.above.load(Relaxed) == NEVER;
        if list.iter().any(|range| new(&range))
            && let Some(last) = reserved()
        {
            for range in list.iter().filter(new) {
                range.watch.above.store(last, Relaxed);
            }
        }
        list
    }

    /// The present form of `range`, if it is still in the list. To a reader that has taken its
    /// point before, and at which the range is known to be empty, it tells of all that was put
    /// beside the range and is visible there (E4).
    pub fn present(&self, range: &Arc<Watched<R>>) -> Option<Arc<Watched<R>>> {
        let list = self.list.load();
        list.iter().find(|form| form.is_form_of(range)).cloned()
    }

    /// Adds a range, unless ranges are suspended. `leaves` says which of the present ones it
    /// replaces, if any.
    pub fn propose(&self, range: R, leaves: impl FnOnce(&[Arc<Watched<R>>]) -> Option<usize>) {
        let suspensions = self.changes.lock();
        if *suspensions > 0 {
            return;
        }
        let mut ranges = List::clone(&self.list.load());
        if let Some(at) = leaves(&ranges) {
            ranges.remove(at).end(); // upholds E2
        }
        ranges.push(Arc::new(Watched::new(range)));
        self.any.store(true, Relaxed);
        self.replace(ranges.into_iter());
    }

    /// Extends `range`, for a reader at `point` that began with a list that has it. The range [is
    /// watched](Watched::is_watched_at) at `point`. `to` gets the present form of it, and says to
    /// what the reader can extend that, having found nothing there.
    pub fn extend(&self, range: &Watched<R>, point: u64, to: impl FnOnce(&R) -> Option<R>) {
        let _changes = self.changes.lock();
        let mut ranges = List::clone(&self.list.load());
        let present = |form: &&mut Arc<Watched<R>>| form.is_form_of(range);
        // A range that was suspended, or has made room, is no longer there.
        let Some(present) = ranges.iter_mut().find(present) else {
            return;
        };
        if let Some(extended) = to(&present.range) {
            *present = Arc::new(present.replaced(extended, point));
            self.replace(ranges.into_iter());
        }
    }

    /// Makes the list that of those of `ranges` that have not ended. Called with `changes` held.
    fn replace(&self, ranges: impl Iterator<Item = Arc<Watched<R>>>) {
        let left: List<R> = ranges.filter(|range| !range.has_ended()).collect();
        let none = left.is_empty();
        self.list.store(Arc::new(left));
        if none {
            // Release: pairs with `any`.
            self.any.store(false, Release);
        }
    }

    /// Ends all ranges. Called with `changes` held.
    fn forget(&self) {
        for range in self.list.load().iter() {
            range.end();
        }
        self.replace(std::iter::empty());
    }
}

/// Keeps ranges from being proposed; see [`WatchedRanges::suspend`].
pub struct Suspended<'a, R, L: Lists<R>>(&'a WatchedRanges<R, L>);

impl<R, L: Lists<R>> fmt::Debug for Suspended<'_, R, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Suspended").finish_non_exhaustive()
    }
}

impl<R, L: Lists<R>> Drop for Suspended<'_, R, L> {
    fn drop(&mut self) {
        *self.0.changes.lock() -= 1;
    }
}
