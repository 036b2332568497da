//! The versions of one key.
//!
//! They form a list, newest first, that begins at the leaf's head. Each [`Version`] also
//! has a [`SkipPointer`]: a *jump* to some older version, so that a version is found in a
//! logarithmic number of steps as long as versions arrive nearly in order, and a *depth*,
//! the number of versions below it. Each eighth version is a *skip node* (in the drawing
//! each third):
//!
//! ```text
//!  head -> 10 -> [9] -> 8 -> 7 -> [6] -> 5 -> 4 -> [3] -> 2 -> 1 -> [0] -> inside
//!           `---> ^     `----`---> ^     `----`---> ^     `----`---> ^
//!                 |                `--------------> `--------------> |
//!                 `------------------------------------------------> `
//! ```
//!
//! A version jumps to the last skip node, which the version below it knows. A skip node
//! jumps to an older skip node by the rule of Myers' applicative random-access stack: as
//! far as the jump of the jump of the last skip node if these two jumps span equally many
//! versions, and otherwise to the last skip node.
//!
//! So computing the skip pointer of a new version reads the version below it, which is
//! usually a cache miss. An inserter that should not wait for it can link the version
//! first ([`Versions::push_newest`]) and set the skip pointer later
//! ([`Versions::link_skip_pointer`]). Until then searches follow the version's link.
//!
//! The version inside the leaf has no link of its own, so it ends the list. In the rare
//! case that an older version arrives, a *proxy* takes its place.
//!
//! # Invariants
//! * V1: tags fall strictly along `next`, and a jump leads to a lower tag than that of
//!   its origin. So following a jump whose end is still too new misses nothing, whatever
//!   was inserted in between later.
//! * V2: a version that has been in a list stays in it. A link that changes leads to a
//!   version that leads to where the link led before.
//! * V3: a version is linked by compare-and-swap from the value that was read while its
//!   insert point was found. Sequence numbers are published without gaps, so everything
//!   newer than a version that still arrives is itself unpublished, and no reader at a
//!   published sequence number misses it.
//! * V4: a skip pointer is written once. That of a version that is no skip node has a
//!   jump, which leads to the last skip node below. A skip pointer is derived from that
//!   of a version further down the list, whose depth is one less; otherwise it begins a
//!   new sequence with depth 0, at a skip node. So the skip nodes that
//!   `skip_pointer_above` reads have skip pointers. (A tree is full before depths
//!   overflow.)
//! * V5: a version that is pushed without reading the newest one has a higher tag than
//!   it: the newest is still the one that was there before the tag was given out, and
//!   tags are given out in rising order.

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
    /// The version inside the leaf, which the caller owns.
    Inside,
    /// A version with an allocation of its own.
    Version(Version<'t>),
}

/// Where a tag belongs.
enum InsertPoint<'t> {
    /// In this link, which held this value.
    In(&'t AtomicU32, Link),
    /// After the version inside the leaf, to which this link led.
    AfterInside(&'t AtomicU32),
    /// There is a version with this tag already.
    Taken,
}

impl<'t> Versions<'t> {
    pub(super) fn new(memory: &'t Memory, leaf: Leaf<'t>) -> Self {
        Versions { memory, leaf }
    }

    /// The version that a link leads to. The link must have been read with Acquire from
    /// this leaf's list.
    #[inline(always)]
    pub(super) fn version(self, link: Link) -> Version<'t> {
        debug_assert!(link.is_version());
        // SAFETY: links of the list and jumps lead to versions of this memory; reading
        // them with Acquire made the versions visible.
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

    /// Starting at a version above `tag`: the last version above it, and the version
    /// which that one led to, which is not above it. The link was read once for both; a
    /// second read may find a newer version that was inserted in between.
    #[inline(always)]
    fn around(self, from: Link, tag: u64) -> (Link, Link) {
        self.around_counted(from, tag, || ())
    }

    /// How many steps [`Versions::around`] takes from the newest version. For tests.
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

    /// Where a version with `tag` has to be linked now.
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
            // Once more from the link that was found, since it may have changed.
            let (last, _) = self.around(target, tag);
            if last == Link::INSIDE {
                return self.insert_point_after_inside();
            }
            link = self.version(last).next();
        }
    }

    /// The link that leads to the version inside the leaf, which ends the list.
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

    /// Links a version with `tag`. Returns `false` and links nothing if there is one
    /// already. Otherwise the version is visible to all threads when the function
    /// returns.
    ///
    /// # Safety
    /// The caller must own `new`, which must not have been linked before.
    pub(super) unsafe fn link(self, new: Unlinked<'t>, tag: u64) -> bool {
        if let Unlinked::Inside = new {
            // SAFETY: the caller owns the version inside the leaf.
            unsafe { self.leaf.set_tag(tag) };
        }
        loop {
            let linked = match self.insert_point(tag) {
                InsertPoint::Taken => return false,
                // SAFETY: by this function's contract; nothing is linked yet.
                InsertPoint::In(link, target) => unsafe { self.link_in(new, tag, link, target) },
                // SAFETY: by this function's contract; nothing is linked yet.
                InsertPoint::AfterInside(link) => unsafe { self.link_last(new, tag, link) },
            };
            if linked {
                return true;
            }
        }
    }

    /// Links a version between a link and its target, if the link still leads there.
    ///
    /// # Safety
    /// As for [`Versions::link`].
    unsafe fn link_in(self, new: Unlinked<'t>, tag: u64, link: &AtomicU32, target: Link) -> bool {
        let version = match new {
            Unlinked::Inside if target == Link::END => return swap(link, target, Link::INSIDE),
            // An older version is there, and the one inside has no link to it.
            Unlinked::Inside => Version::create_proxy(self.memory),
            Unlinked::Version(version) => version,
        };
        // SAFETY: made above or owned by the caller, and not published.
        unsafe { self.prepare_between(version, tag, target) };
        swap(link, target, Link(version.offset()))
    }

    /// Links a version after the one inside the leaf, to which `link` leads: as the last
    /// one, behind a proxy.
    ///
    /// # Safety
    /// As for [`Versions::link`].
    #[cold]
    unsafe fn link_last(self, new: Unlinked<'t>, tag: u64, link: &AtomicU32) -> bool {
        let Unlinked::Version(version) = new else {
            unreachable!("the version inside a leaf is linked once");
        };
        // SAFETY: the caller owns it, and it is not published.
        unsafe { self.prepare_between(version, tag, Link::END) };
        let proxy = Version::create_proxy(self.memory);
        // SAFETY: just made.
        unsafe { self.prepare_between(proxy, self.leaf.tag(), Link(version.offset())) };
        swap(link, Link::INSIDE, Link(proxy.offset()))
    }

    /// Sets tag, link and skip pointer of a version that is to be linked before `next`.
    ///
    /// # Safety
    /// It must have been made by the caller, and not be published.
    unsafe fn prepare_between(self, version: Version<'t>, tag: u64, next: Link) {
        // SAFETY: by this function's contract.
        unsafe { version.set_tag(tag) };
        // SAFETY: by this function's contract.
        unsafe { version.set_next(next) };
        // SAFETY: by this function's contract; what it jumps to was read from the list.
        unsafe { version.set_skip_pointer(self.skip_pointer_before(next)) };
    }

    /// Pushes a version as the newest one, if the newest is still the one that it [has a
    /// link](Version::set_next) to; nothing of that version is read. The skip pointer
    /// must be [set](Versions::link_skip_pointer) later. If another version is the
    /// newest, returns `false`, and the version can still be [linked](Versions::link).
    ///
    /// # Safety
    /// As for [`Versions::link`]. Also, `tag` was given out after the newest version had
    /// been read from this list: upholds V5. (If it was not, the order of versions is
    /// broken, but no memory is at risk.)
    #[inline]
    pub(super) unsafe fn push_newest(self, version: Version<'t>, tag: u64) -> bool {
        // Relaxed: no other thread knows the version.
        let below = Link(version.next().load(Ordering::Relaxed));
        debug_assert!(
            below == Link::END || self.newest() != below || self.tag(below) < tag,
            "V5"
        );
        // SAFETY: by this function's contract.
        unsafe { version.set_tag(tag) };
        swap(self.leaf.head(), below, Link(version.offset()))
    }

    /// Sets the skip pointer of a version that was linked without one.
    ///
    /// # Safety
    /// The caller must have made and linked the version, and call this once.
    #[inline]
    pub(super) unsafe fn link_skip_pointer(self, version: Version<'t>) {
        // Other versions may have been inserted in between meanwhile, but only older
        // ones.
        let next = self.older(Link(version.offset()));
        // SAFETY: by this function's contract; what it jumps to was read from the list.
        unsafe { version.set_skip_pointer(self.skip_pointer_before(next)) };
    }

    /// Prefetches a version.
    #[inline]
    pub(super) fn prefetch(self, link: Link) {
        if !MODELLED && link.is_version() {
            self.memory.prefetch(link.0, 0);
        }
    }

    /// The skip pointer for a version that comes before `next`. Versions that still have
    /// none are passed over; if there are too many, a new sequence begins.
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

    /// The skip pointer for a version above `below`, whose skip pointer is `its`.
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

    /// Where a skip node at `depth` jumps to; `last` is the skip node below it.
    fn jump_of_skip_node(self, depth: u32, last: u32) -> u32 {
        if !jumps_are_paired(depth / STRIDE - 1) {
            return last;
        }
        // Both of these jumps have the same length, so they exist (V4); the new jump
        // spans both.
        let both = self.jump(Link(last)).and_then(|middle| self.jump(middle));
        both.map_or(last, |farther| farther.0)
    }
}

/// The most versions without a skip pointer that are passed over. There can be as many in
/// a row as there are writers that have pushed a version of this key and wait for an
/// earlier writer. So a new sequence seldom begins, and older jumps stay in use.
const MAX_PASSED: u32 = if MODELLED { 2 } else { 1024 };

/// One of this many versions is a skip node. Models have short lists.
const STRIDE: u32 = if MODELLED { 2 } else { 8 };

#[inline(always)]
fn is_skip_node(depth: u32) -> bool {
    depth.is_multiple_of(STRIDE)
}

/// Whether the jump of the skip node with `rank` others below it is as long as the jump of
/// the skip node that it leads to.
///
/// Jumps span 1, 3, 7, ... skip nodes. The lengths of the jumps on the path down from a
/// skip node add up to its rank: the longest that fits is at the bottom, then the longest
/// that fits in the rest, and so on. (These are skew binary numbers, in which at most the
/// last length occurs twice.) So the rank alone tells, and no other version has to be
/// read for it.
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

/// Publishes a version in a link, if the link has not changed.
fn swap(link: &AtomicU32, from: Link, to: Link) -> bool {
    // Release: partner of the Acquire in `newest` and `older`. Relaxed on failure: the
    // insert point is looked for again.
    link.compare_exchange(from.0, to.0, Ordering::Release, Ordering::Relaxed)
        .is_ok()
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::jumps_are_paired;

    /// Builds the jumps of a list from the lengths themselves.
    #[test]
    fn the_rank_tells_whether_jumps_are_paired() {
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
