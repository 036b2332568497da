//! The versions of one key.
//!
//! They form a list, newest first, that begins at the leaf's head. Each
//! [`Version`] also has a [`SkipPointer`]: a *jump* to some older one, so that a version is
//! found in logarithmically many steps as long as versions arrive nearly in order,
//! and a *depth*, which counts the versions below; each eighth is a *landmark*
//! (here each third):
//!
//! ```text
//!  head -> 10 -> [9] -> 8 -> 7 -> [6] -> 5 -> 4 -> [3] -> 2 -> 1 -> [0] -> inside
//!           `---> ^     `----`---> ^     `----`---> ^     `----`---> ^
//!                 |                `--------------> `--------------> |
//!                 `------------------------------------------------> `
//! ```
//!
//! A version jumps to the last landmark, which the one below it knows. A landmark
//! jumps to an older one by the rule of Myers' applicative random-access stack: as
//! far as the last landmark's jump's jump if these two jumps span equally many,
//! and else to the last landmark.
//!
//! So the way of a version that is put on top takes a look at the one below, which
//! is in no cache, mostly. Who puts it there may be in a hurry
//! ([`Versions::push_newest`]), and has its way follow later
//! ([`Versions::link_skip_pointer`]); until then searches go past it by its link.
//!
//! The version inside the leaf has no link of its own, so it ends the list. In
//! the rare case that an older one arrives, a *proxy* takes its place.
//!
//! # Invariants
//! * V1: tags fall strictly along `next`, and a jump leads to a lower tag than
//!   its origin's. So skipping along a jump whose end is still too new misses
//!   nothing, whatever was put in between later.
//! * V2: what has been in a list stays in it; a version's link, once changed,
//!   leads to a version that leads to where it led before.
//! * V3: a version is linked by compare-and-swap from what was read while its
//!   place was found. Under the rule of contiguous publication everything
//!   newer than a version that still arrives is itself unpublished, so no
//!   reader at a published sequence misses it.
//! * V4: a way is written once. The one of a version that is no landmark has a jump,
//!   which leads to the last one below. A way is made of that of a version farther
//!   down the list, whose depth is one less, or else begins a row with depth 0, a
//!   landmark. So the landmarks that `skip_pointer_above` looks at have ways. (A tree ends
//!   before depths do.)
//! * V5: what goes on top without a look at the newest version has a higher tag: the
//!   newest is still the one that was there before the tag was given out, and tags
//!   are given out in rising order.

use super::leaf::{Leaf, Link, SkipPointer, Version};
use super::memory::Memory;
use crate::sync::{AtomicU32, MODELLED, Ordering};

/// The versions of a leaf.
#[derive(Clone, Copy)]
pub(super) struct Versions<'t> {
    memory: &'t Memory,
    leaf: Leaf<'t>,
}

/// A version that is not linked yet.
#[derive(Clone, Copy)]
pub(super) enum Unlinked<'t> {
    /// The place inside the leaf, which the caller owns.
    Inside,
    /// A piece of its own.
    Version(Version<'t>),
}

/// Where a tag belongs.
enum InsertPoint<'t> {
    /// In this link, which held that value.
    In(&'t AtomicU32, Link),
    /// After the version inside, to which this link led.
    AfterInside(&'t AtomicU32),
    /// It is there already.
    Taken,
}

impl<'t> Versions<'t> {
    pub(super) fn new(memory: &'t Memory, leaf: Leaf<'t>) -> Self {
        Versions { memory, leaf }
    }

    /// The version a link leads to, which must have been read with Acquire
    /// from this leaf's list.
    #[inline(always)]
    pub(super) fn version(self, link: Link) -> Version<'t> {
        debug_assert!(link.is_version());
        // SAFETY: links of the list and jumps name versions of this memory;
        // reading them with Acquire made those visible.
        unsafe { Version::at(self.memory, link.0) }
    }

    /// The tag of what a link leads to, not [`Link::END`].
    #[inline(always)]
    pub(super) fn tag(self, link: Link) -> u64 {
        if link == Link::INSIDE {
            self.leaf.tag()
        } else {
            self.version(link).tag()
        }
    }

    /// Tag and value of what a link leads to, not [`Link::END`].
    #[inline(always)]
    pub(super) fn entry(self, link: Link) -> (u64, &'t [u8]) {
        if link == Link::INSIDE {
            return (self.leaf.tag(), self.leaf.value());
        }
        let version = self.version(link);
        if version.is_proxy() {
            (version.tag(), self.leaf.value())
        } else {
            (version.tag(), version.value())
        }
    }

    /// The newest version.
    #[inline(always)]
    pub(super) fn newest(self) -> Link {
        // Acquire: partner of the Release in `swap`.
        Link(self.leaf.head().load(Ordering::Acquire))
    }

    /// The next older version.
    #[inline(always)]
    pub(super) fn older(self, link: Link) -> Link {
        if link.is_version() {
            // Acquire: as in `newest`.
            Link(self.version(link).next().load(Ordering::Acquire))
        } else {
            Link::END
        }
    }

    /// The newest version at or below `tag`, or [`Link::END`].
    #[inline]
    pub(super) fn at_or_below(self, tag: u64) -> Link {
        let newest = self.newest();
        if newest == Link::END || self.tag(newest) <= tag {
            return newest;
        }
        self.around(newest, tag).1
    }

    /// The oldest version at or above `tag`, or [`Link::END`].
    pub(super) fn at_or_above(self, tag: u64) -> Link {
        match tag.checked_sub(1) {
            Some(below) => self.above(below),
            None => self.oldest(),
        }
    }

    /// The oldest version above `tag`, or [`Link::END`].
    pub(super) fn above(self, tag: u64) -> Link {
        let newest = self.newest();
        if newest == Link::END || self.tag(newest) <= tag {
            return Link::END;
        }
        self.around(newest, tag).0
    }

    /// The oldest version, or [`Link::END`].
    pub(super) fn oldest(self) -> Link {
        let newest = self.newest();
        if newest == Link::END {
            return newest;
        }
        let mut at = newest;
        loop {
            let farther = match self.jump(at) {
                Some(jump) => jump,
                None => self.older(at),
            };
            if farther == Link::END {
                return at;
            }
            at = farther;
        }
    }

    /// From a version above `tag` on: the last one that is, and the one it led
    /// to, which is not. The two were read together: whoever reads the link
    /// again may find a newer version that has come in between since.
    #[inline(always)]
    fn around(self, from: Link, tag: u64) -> (Link, Link) {
        self.around_counted(from, tag, || ())
    }

    /// How many steps [`Versions::around`] takes from the newest version, for
    /// tests.
    pub(super) fn steps(self, tag: u64) -> usize {
        let newest = self.newest();
        let mut steps = 0;
        if newest != Link::END && self.tag(newest) > tag {
            self.around_counted(newest, tag, || steps += 1);
        }
        steps
    }

    #[inline(always)]
    fn around_counted(self, from: Link, tag: u64, mut step: impl FnMut()) -> (Link, Link) {
        let mut at = from;
        loop {
            step();
            if let Some(jump) = self.jump(at)
                && self.tag(jump) > tag
            {
                at = jump;
                continue;
            }
            let next = self.older(at);
            if next == Link::END || self.tag(next) <= tag {
                return (at, next);
            }
            at = next;
        }
    }

    #[inline(always)]
    fn jump(self, at: Link) -> Option<Link> {
        if !at.is_version() {
            return None;
        }
        let jump = self.version(at).skip_pointer()?.jump;
        (jump != 0).then_some(Link(jump))
    }

    /// Where `tag` belongs now.
    fn insert_point(self, tag: u64) -> InsertPoint<'t> {
        let mut link = self.leaf.head();
        loop {
            // Acquire: as in `newest`.
            let target = Link(link.load(Ordering::Acquire));
            if target == Link::END {
                return InsertPoint::In(link, target);
            }
            let there = self.tag(target);
            if there == tag {
                return InsertPoint::Taken;
            }
            if there < tag {
                return InsertPoint::In(link, target);
            }
            // Once more from the link found, as it may have changed since.
            let (last, _) = self.around(target, tag);
            if last == Link::INSIDE {
                return self.insert_point_after_inside();
            }
            link = self.version(last).next();
        }
    }

    /// The link that leads to the version inside, which ends the list.
    #[cold]
    fn insert_point_after_inside(self) -> InsertPoint<'t> {
        let mut link = self.leaf.head();
        let mut target = self.newest();
        while target.is_version() {
            let version = self.version(target);
            if let Some(jump) = self.jump(target) {
                target = jump;
                continue;
            }
            link = version.next();
            // Acquire: as in `newest`.
            target = Link(link.load(Ordering::Acquire));
        }
        InsertPoint::AfterInside(link)
    }

    /// Whether there is a version with this tag.
    pub(super) fn has(self, tag: u64) -> bool {
        matches!(self.insert_point(tag), InsertPoint::Taken)
    }

    /// Links a version with `tag`; `false`, and nothing is linked, if there is
    /// one already. Returns once the version is visible to everybody.
    ///
    /// # Safety
    /// The caller must own `new`, which must not have been linked before.
    pub(super) unsafe fn link(self, new: Unlinked<'t>, tag: u64) -> bool {
        if let Unlinked::Inside = new {
            // SAFETY: the caller owns the inside place.
            unsafe { self.leaf.set_tag(tag) };
        }
        loop {
            let linked = match self.insert_point(tag) {
                InsertPoint::Taken => return false,
                // SAFETY: the caller's promise; nothing is linked yet.
                InsertPoint::In(link, target) => unsafe { self.link_in(new, tag, link, target) },
                // SAFETY: as above.
                InsertPoint::AfterInside(link) => unsafe { self.link_last(new, tag, link) },
            };
            if linked {
                return true;
            }
        }
    }

    /// Puts a version between a link and its target, if it still leads there.
    ///
    /// # Safety
    /// As for [`Versions::link`].
    unsafe fn link_in(self, new: Unlinked<'t>, tag: u64, link: &AtomicU32, target: Link) -> bool {
        let version = match new {
            Unlinked::Inside if target == Link::END => return swap(link, target, Link::INSIDE),
            // Something older is there, so the one inside cannot be linked.
            Unlinked::Inside => Version::create_proxy(self.memory),
            Unlinked::Version(version) => version,
        };
        // SAFETY: made above or owned by the caller, and not published.
        unsafe { self.prepare_between(version, tag, target) };
        swap(link, target, Link(version.offset()))
    }

    /// Puts a version after the one inside, to which `link` leads: as the last
    /// one, behind a proxy.
    ///
    /// # Safety
    /// As for [`Versions::link`].
    #[cold]
    unsafe fn link_last(self, new: Unlinked<'t>, tag: u64, link: &AtomicU32) -> bool {
        let Unlinked::Version(version) = new else {
            unreachable!("the version inside is linked once");
        };
        // SAFETY: the caller owns it, and it is not published.
        unsafe { self.prepare_between(version, tag, Link::END) };
        let proxy = Version::create_proxy(self.memory);
        // SAFETY: just made.
        unsafe { self.prepare_between(proxy, self.leaf.tag(), Link(version.offset())) };
        swap(link, Link::INSIDE, Link(proxy.offset()))
    }

    /// Gives a version that is to be linked before `next` all that it takes.
    ///
    /// # Safety
    /// It must have been made by the caller, and not be published.
    unsafe fn prepare_between(self, version: Version<'t>, tag: u64, next: Link) {
        // SAFETY: the caller's promise.
        unsafe { version.set_tag(tag) };
        // SAFETY: as above.
        unsafe { version.set_next(next) };
        // SAFETY: as above; whatever it jumps to was read from the list.
        unsafe { version.set_skip_pointer(self.skip_pointer_before(next)) };
    }

    /// Puts a version on top, if the newest is still the one that it
    /// [has a link](Version::set_next) to, of which nothing is read. Its way
    /// is to [follow](Versions::link_skip_pointer). Otherwise it can still be
    /// [linked](Versions::link).
    ///
    /// # Safety
    /// As for [`Versions::link`]. And `tag` was given out after that version had been
    /// read from this list: upholds V5. (Where that fails no memory is at risk, but
    /// the order.)
    #[inline]
    pub(super) unsafe fn push_newest(self, version: Version<'t>, tag: u64) -> bool {
        // Relaxed: nobody else knows the version.
        let below = Link(version.next().load(Ordering::Relaxed));
        debug_assert!(
            below == Link::END || self.newest() != below || self.tag(below) < tag,
            "V5"
        );
        // SAFETY: the caller's promise.
        unsafe { version.set_tag(tag) };
        swap(self.leaf.head(), below, Link(version.offset()))
    }

    /// Gives a version its way that was linked without one.
    ///
    /// # Safety
    /// The caller must have made and linked it, and calls this once.
    #[inline]
    pub(super) unsafe fn link_skip_pointer(self, version: Version<'t>) {
        // Others may have come in between meanwhile, but older ones.
        let next = self.older(Link(version.offset()));
        // SAFETY: the caller's promise; whatever it jumps to was read from the list.
        unsafe { version.set_skip_pointer(self.skip_pointer_before(next)) };
    }

    /// Asks the processor for a version.
    #[inline]
    pub(super) fn prefetch(self, link: Link) {
        if !MODELLED && link.is_version() {
            self.memory.prefetch(link.0, 0);
        }
    }

    /// The way of a version that comes before `next`. Those that are still without
    /// one are passed over; if they are many, a new row begins.
    #[inline]
    fn skip_pointer_before(self, next: Link) -> SkipPointer {
        let mut below = next;
        for _ in 0..MAX_PASSED {
            if !below.is_version() {
                break;
            }
            let version = self.version(below);
            if let Some(pointer) = version.skip_pointer() {
                return self.skip_pointer_above(version.offset(), pointer);
            }
            below = self.older(below);
        }
        SkipPointer::default()
    }

    /// The way of a version above `below`, whose way is `its`.
    fn skip_pointer_above(self, below: u32, its: SkipPointer) -> SkipPointer {
        let depth = its.depth + 1;
        let last = if is_skip_node(its.depth) {
            below
        } else {
            its.jump // there is one: V4
        };
        let jump = if is_skip_node(depth) {
            self.jump_of_skip_node(depth, last)
        } else {
            last
        };
        SkipPointer { jump, depth }
    }

    /// Where a landmark at `depth` jumps to; `last` is the one below it.
    fn jump_of_skip_node(self, depth: u32, last: u32) -> u32 {
        if !jumps_are_paired(depth / STRIDE - 1) {
            return last;
        }
        // Both of these jumps are of one length, and so there (V4); the new one
        // spans them.
        let both = self.jump(Link(last)).and_then(|middle| self.jump(middle));
        both.map_or(last, |farther| farther.0)
    }
}

/// How many versions without a way are passed over, at most. There can be as many in
/// a row as writers that have put a version on this key and wait for one before
/// them; so a row seldom begins anew, and what leads past it is not lost.
const MAX_PASSED: u32 = if MODELLED { 2 } else { 1024 };

/// One of so many versions is a landmark. Models have short lists.
const STRIDE: u32 = if MODELLED { 2 } else { 8 };

#[inline(always)]
fn is_skip_node(depth: u32) -> bool {
    depth.is_multiple_of(STRIDE)
}

/// Whether the landmark with `rank` others below it jumps as far as the one it
/// jumps to.
///
/// Jumps are of 1, 3, 7, ... landmarks, and those met on the way down from one
/// are what makes its rank up: the longest that fits at the bottom, then the
/// longest that fits in the rest. (Skew binary numbers, in which at most the
/// last length comes twice.) So the rank alone tells, and no other version has
/// to be fetched for it.
fn jumps_are_paired(mut rank: u32) -> bool {
    while rank > 0 {
        let longest = (1 << (rank + 1).ilog2()) - 1;
        match rank - longest {
            0 => return false,
            rest if rest == longest => return true,
            rest => rank = rest,
        }
    }
    false
}

/// Publishes a version in a link, if the link is as it was.
fn swap(link: &AtomicU32, from: Link, to: Link) -> bool {
    // Release: partner of the Acquire in `newest` and `older`. Relaxed on
    // failure: the place is looked for again.
    link.compare_exchange(from.0, to.0, Ordering::Release, Ordering::Relaxed)
        .is_ok()
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::jumps_are_paired;

    /// Builds the jumps of a list from the lengths themselves.
    #[test]
    fn the_rank_tells_what_the_lengths_of_jumps_say() {
        let mut jumps: Vec<u32> = vec![0];
        for rank in 0..5000u32 {
            let first = jumps[rank as usize];
            let second = jumps[first as usize];
            let paired = rank > 0 && rank - first == first - second;
            assert_eq!(jumps_are_paired(rank), paired, "{rank}");
            jumps.push(if paired { second } else { rank });
        }
    }
}
