//! Inserting many entries at once.
//!
//! Descending a large tree is a chain of cache misses. Here several keys descend in
//! turns, so that their misses overlap: each step prefetches the cache line that the
//! key's next step will read. Then the entries are inserted, each from the position that
//! its key has reached. Nothing is locked on the way down, so a position may be out of
//! date when it is used; the insert notices this.

use super::Art;
use super::insert::Position;
use super::prepare::Prepared;

/// How many keys descend together.
const LANES: usize = 16;

/// A key that descends.
#[derive(Clone, Copy)]
struct Lane<'t, 'k> {
    key: &'k [u8],
    value: &'k [u8],
    /// The entry's tag; unused when the entry is only prepared.
    tag: u64,
    position: Position<'t>,
    done: bool,
}

impl Art {
    /// Inserts entries `(user_key, tag, value)` in the order given, faster
    /// than one by one. Returns how many were inserted, which is all of them
    /// unless an equal key was there.
    ///
    /// # Panics
    /// As for [`Art::insert`]. The entries before the one that panics are inserted.
    pub fn insert_batch<'k>(
        &self,
        entries: impl IntoIterator<Item = (&'k [u8], u64, &'k [u8])>,
    ) -> usize {
        let mut inserted = 0;
        self.in_lanes(entries, |lane| {
            let Lane {
                key, value, tag, ..
            } = *lane;
            inserted += usize::from(self.insert_at(lane.position, key, tag, value));
        });
        inserted
    }

    /// [`Art::prepare`] for many entries `(user_key, value)`, in the order
    /// given, faster than one by one.
    ///
    /// # Panics
    /// As for [`Art::insert`].
    pub fn prepare_batch<'k>(
        &self,
        entries: impl IntoIterator<Item = (&'k [u8], &'k [u8])>,
        mut take: impl FnMut(Prepared),
    ) {
        let entries = entries.into_iter().map(|(key, value)| (key, 0, value));
        self.in_lanes(entries, |lane| {
            take(self.prepare_at(lane.position, lane.key, lane.value));
        });
    }

    /// Descends for many entries together, and calls `arrived` for each in order.
    #[inline(always)]
    fn in_lanes<'k>(
        &self,
        entries: impl IntoIterator<Item = (&'k [u8], u64, &'k [u8])>,
        mut arrived: impl FnMut(&Lane<'_, 'k>),
    ) {
        let mut entries = entries.into_iter();
        let first = Lane {
            key: &[],
            value: &[],
            tag: 0,
            position: self.top(),
            done: false,
        };
        let mut lanes = [first; LANES];
        loop {
            let mut count = 0;
            let top = self.top();
            for (lane, (key, tag, value)) in lanes.iter_mut().zip(&mut entries) {
                *lane = Lane {
                    key,
                    value,
                    tag,
                    position: top,
                    done: false,
                };
                count += 1;
            }
            self.descend(&mut lanes[..count]);
            // Not `for_each(&mut arrived)`, which may become a call for each.
            for lane in &lanes[..count] {
                arrived(lane);
            }
            if count < LANES {
                return;
            }
        }
    }

    /// Takes every lane as far down as possible without changing the tree.
    fn descend<'t>(&'t self, lanes: &mut [Lane<'t, '_>]) {
        let mut left = lanes.len();
        while left > 0 {
            for lane in lanes.iter_mut().filter(|lane| !lane.done) {
                lane.done = !self.descend_one(lane);
                left -= usize::from(lane.done);
            }
        }
    }

    /// Descends by one node and prefetches the next one. Returns whether there may be
    /// more.
    #[inline]
    fn descend_one<'t>(&'t self, lane: &mut Lane<'t, '_>) -> bool {
        let Some(position) = self.step(lane.position, lane.key) else {
            return false;
        };
        lane.position = position;
        if position.at.is_leaf() {
            self.prefetch_leaf(position.at, lane.key);
            return false;
        }
        self.memory.prefetch(position.at.offset(), 0);
        self.memory.prefetch(position.at.offset(), 1);
        true
    }
}
