//! Latches that keep plain writes away from what a committing transaction validates.
//!
//! An optimistic transaction checks at its commit that nobody has written its keys since
//! it read them, and then writes. Between the two, nobody else may write these keys. Keys
//! are hashed to buckets. A transaction latches the buckets of its keys
//! ([`ValidationLatches::latch`]) from before it validates until its writes are inserted.
//! A plain write is in flight in the buckets of its keys ([`ValidationLatches::enter`])
//! from before it has a sequence number until it is inserted. Writes in flight do not
//! keep each other away.
//!
//! Between entering and leaving, and under a latch, a thread waits for nothing that needs
//! another to leave or unlatch. A stall is no such thing: flushes and compactions do neither.
//!
//! A bucket is one word: whether it is latched, whether somebody sleeps until it changes,
//! and how many writes are in flight. Sleepers share a few event counts.
//!
//! Invariants:
//! * O1: a plain write is inserted before a transaction that has latched its bucket
//!   validates, or gets its sequence number after that transaction has inserted. A
//!   transaction validates only when nobody is in flight and its mark keeps others out;
//!   leaving and unlatching release, entering and latching acquire.
//! * O2: buckets are taken in ascending order, each once ([`Buckets`]), so waits form no
//!   circle.
//! * O3: no lost wake-up. A thread about to sleep reads the epoch, then announces itself
//!   in the word by a read-modify-write that finds a reason to wait; who removes the reason
//!   changes the same word and sees the announcement.

use crate::key_hash::KeyHasher;
use crate::sync::{AtomicU32, MODELLED, Ordering};
use crate::waiter::{CallSite, EventCount, YieldPolicy, spin, yield_for};
use crossbeam_utils::CachePadded;

/// A transaction has latched the bucket, or waits until nobody is in flight.
const LATCHED: u32 = 1 << 31;
/// Somebody sleeps until the bucket changes.
const AWAITED: u32 = 1 << 30;
/// The bits that count writes in flight.
const IN_FLIGHT: u32 = AWAITED - 1;

/// The numbers of buckets and of event counts.
const FEWEST: usize = if MODELLED { 2 } else { 1 << 16 };
const MOST: usize = 1 << 20;
const EVENTS: usize = if MODELLED { 1 } else { 64 };

/// Buckets of one table in ascending order, each once. Keeps its memory for other buckets.
#[derive(Debug, Clone, Default)]
pub struct Buckets(Vec<u32>);

impl Buckets {
    /// No buckets.
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces the buckets by these, which come in any order.
    pub fn fill(&mut self, buckets: impl IntoIterator<Item = u32>) {
        self.0.clear();
        self.0.extend(buckets);
        self.0.sort_unstable();
        self.0.dedup();
    }
}

impl FromIterator<u32> for Buckets {
    fn from_iter<I: IntoIterator<Item = u32>>(buckets: I) -> Self {
        let mut all = Buckets::new();
        all.fill(buckets);
        all
    }
}

/// See the [module](self).
#[derive(Debug)]
pub struct ValidationLatches {
    /// Written by: plain writes that enter (Acquire) and leave (Release), transactions that
    /// latch (Acquire) and unlatch (Release), and threads about to sleep (relaxed); all by
    /// read-modify-writes. Read by: the same. Publish: what was inserted, to transactions
    /// that validate and to writes that enter after them (O1).
    words: Box<[AtomicU32]>,
    /// Where threads sleep until a bucket changes, by the bucket's low bits.
    events: Box<[CachePadded<EventCount>]>,
    site: CallSite,
    hasher: KeyHasher,
}

/// A plain write in flight. Dropped when it is inserted, or has failed.
#[derive(Debug)]
#[must_use = "a write is in flight as long as this is kept"]
pub struct InFlight<'a> {
    latches: &'a ValidationLatches,
    buckets: Held<'a>,
}

/// The latches of a transaction that commits. Dropped when it is inserted, or has failed.
#[derive(Debug)]
#[must_use = "buckets are latched as long as this is kept"]
pub struct Latched<'a> {
    latches: &'a ValidationLatches,
    buckets: &'a Buckets,
}

#[derive(Debug)]
enum Held<'a> {
    One(u32),
    All(&'a Buckets),
}

impl ValidationLatches {
    /// At least so many buckets; 65,536 to 1,048,576 are made. Each takes four bytes.
    pub fn new(buckets: usize) -> Self {
        let count = buckets.clamp(FEWEST, MOST).next_power_of_two();
        let event = |_| CachePadded::new(EventCount::new());
        ValidationLatches {
            words: (0..count).map(|_| AtomicU32::new(0)).collect(),
            events: (0..EVENTS).map(event).collect(),
            site: CallSite::new(),
            hasher: KeyHasher::new(),
        }
    }

    /// The bucket of a key.
    #[inline]
    pub fn bucket(&self, family: u32, key: &[u8]) -> u32 {
        (self.hasher.hash(family, key) & (self.words.len() as u64 - 1)) as u32
    }

    /// Begins a plain write of keys in `buckets`; waits while one of them is latched. To be
    /// called before the write gets its sequence number.
    pub fn enter<'a>(&'a self, buckets: &'a Buckets) -> InFlight<'a> {
        buckets
            .0
            .iter()
            .for_each(|&bucket| self.enter_bucket(bucket));
        InFlight {
            latches: self,
            buckets: Held::All(buckets),
        }
    }

    /// As [`ValidationLatches::enter`], for a write of one key, whose
    /// [`bucket`](ValidationLatches::bucket) it takes.
    #[inline]
    pub fn enter_one(&self, bucket: u32) -> InFlight<'_> {
        self.enter_bucket(bucket);
        InFlight {
            latches: self,
            buckets: Held::One(bucket),
        }
    }

    /// Keeps plain writes and other transactions away from `buckets`, and waits until none
    /// is there. To be called before validating.
    pub fn latch<'a>(&'a self, buckets: &'a Buckets) -> Latched<'a> {
        for &bucket in &buckets.0 {
            self.latch_bucket(bucket);
        }
        Latched {
            latches: self,
            buckets,
        }
    }

    #[inline]
    fn enter_bucket(&self, bucket: u32) {
        let word = &self.words[bucket as usize];
        let mut seen = word.load(Ordering::Relaxed);
        loop {
            if seen & LATCHED != 0 {
                seen = self.wait_while(bucket, LATCHED);
                continue;
            }
            // Acquire: pairs with `unlatch_bucket` (O1).
            match word.compare_exchange_weak(seen, seen + 1, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => seen = now,
            }
        }
    }

    #[inline]
    fn leave_bucket(&self, bucket: u32) {
        // Release: pairs with `latch_bucket` (O1).
        let before = self.words[bucket as usize].fetch_sub(1, Ordering::Release);
        debug_assert!(before & IN_FLIGHT > 0, "a write leaves once");
        if before & (IN_FLIGHT | AWAITED) == AWAITED | 1 {
            self.event(bucket).notify_all();
        }
    }

    fn latch_bucket(&self, bucket: u32) {
        let word = &self.words[bucket as usize];
        // Acquire: pairs with `unlatch_bucket`, and, where nobody is in flight, with
        // `leave_bucket` (O1).
        let mut before = word.fetch_or(LATCHED, Ordering::Acquire);
        while before & LATCHED != 0 {
            self.wait_while(bucket, LATCHED);
            before = word.fetch_or(LATCHED, Ordering::Acquire);
        }
        if before & IN_FLIGHT != 0 {
            self.wait_while(bucket, IN_FLIGHT);
            // Acquire: pairs with `leave_bucket`. Those that left before the last one
            // changed the word by read-modify-writes, too, as did those that came to sleep.
            let after = word.load(Ordering::Acquire);
            debug_assert!(after & IN_FLIGHT == 0, "nobody enters a latched bucket");
        }
    }

    fn unlatch_bucket(&self, bucket: u32) {
        // Release: pairs with `enter_bucket` and `latch_bucket` (O1).
        let word = &self.words[bucket as usize];
        let before = word.fetch_and(!(LATCHED | AWAITED), Ordering::Release);
        debug_assert!(before & LATCHED != 0, "a bucket is unlatched once");
        if before & AWAITED != 0 {
            self.event(bucket).notify_all();
        }
    }

    fn event(&self, bucket: u32) -> &EventCount {
        &self.events[bucket as usize % EVENTS]
    }

    /// Waits until none of `bits` is set in a bucket's word, and returns it. Orders nothing.
    #[cold]
    fn wait_while(&self, bucket: u32, bits: u32) -> u32 {
        let word = &self.words[bucket as usize];
        let changed = || {
            let now = word.load(Ordering::Relaxed);
            (now & bits == 0).then_some(now)
        };
        if let Some(now) = spin(changed) {
            return now;
        }
        if let Some(now) = yield_for(changed, &self.site, YieldPolicy::default()) {
            return now;
        }
        loop {
            let epoch = self.event(bucket).epoch();
            let seen = word.load(Ordering::Relaxed);
            if seen & bits == 0 {
                return seen;
            }
            // O3. Relaxed: it publishes nothing, and continues release sequences.
            let announced =
                word.compare_exchange(seen, seen | AWAITED, Ordering::Relaxed, Ordering::Relaxed);
            if announced.is_ok() {
                self.event(bucket).sleep(epoch);
            }
        }
    }
}

impl Drop for InFlight<'_> {
    #[inline]
    fn drop(&mut self) {
        match self.buckets {
            Held::One(bucket) => self.latches.leave_bucket(bucket),
            Held::All(buckets) => {
                let all = buckets.0.iter();
                all.for_each(|&bucket| self.latches.leave_bucket(bucket));
            }
        }
    }
}

impl Drop for Latched<'_> {
    fn drop(&mut self) {
        let all = self.buckets.0.iter();
        all.for_each(|&bucket| self.latches.unlatch_bucket(bucket));
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    use std::thread;

    #[test]
    fn buckets_are_sorted_and_each_is_there_once() {
        let mut buckets: Buckets = [3, 1, 3, 2, 1].into_iter().collect();
        assert_eq!(buckets.0, [1, 2, 3]);
        buckets.fill([9]);
        assert_eq!(buckets.0, [9]);
        let latches = ValidationLatches::new(0);
        assert_eq!(latches.words.len(), FEWEST);
        assert_eq!(ValidationLatches::new(usize::MAX).words.len(), MOST);
        let seen = (0..1_000_u32).map(|i| latches.bucket(i % 3, &i.to_le_bytes()));
        let seen: Buckets = seen.inspect(|n| assert!((*n as usize) < FEWEST)).collect();
        assert!(seen.0.len() > 900);
    }

    #[test]
    fn everything_is_free_again_after_guards_are_dropped() {
        let latches = ValidationLatches::new(0);
        let both: Buckets = [5, 6].into_iter().collect();
        let entered = (latches.enter(&both), latches.enter_one(5));
        drop(entered);
        drop(latches.latch(&both));
        drop(latches.latch(&both));
        assert!(latches.words.iter().all(|word| word.load(Relaxed) == 0));
    }

    /// Plain writers put numbers in order into slots; transactions check that a slot has
    /// not changed since it was noted, and write it.
    #[test]
    fn no_plain_write_comes_between_validation_and_insert() {
        const SLOTS: usize = 4;
        let latches = ValidationLatches::new(0);
        let newest: [AtomicU64; SLOTS] = std::array::from_fn(|_| AtomicU64::new(0));
        let (last, committed) = (AtomicU64::new(0), AtomicU64::new(0));
        let (newest, latches, last) = (&newest, &latches, &last);
        let insert = |slot: usize| {
            let number = last.fetch_add(1, Relaxed) + 1;
            thread::yield_now();
            newest[slot].fetch_max(number, Relaxed);
            number
        };
        let insert = &insert;
        thread::scope(|scope| {
            for worker in 0..4 {
                let committed = &committed;
                scope.spawn(move || {
                    for round in 0..2_000 {
                        let slots = [(round + worker) % SLOTS, (round * worker) % SLOTS];
                        let buckets: Buckets = slots.iter().map(|&slot| slot as u32).collect();
                        if worker % 2 == 0 {
                            let _in_flight = latches.enter(&buckets);
                            slots.iter().for_each(|&slot| _ = insert(slot));
                            continue;
                        }
                        let noted = last.load(Relaxed);
                        let _latched = latches.latch(&buckets);
                        let unchanged = |&slot: &usize| newest[slot].load(Relaxed) <= noted;
                        if !slots.iter().all(unchanged) {
                            continue;
                        }
                        for slot in slots {
                            let own = insert(slot);
                            assert_eq!(newest[slot].load(Relaxed), own, "O1");
                        }
                        committed.fetch_add(1, Relaxed);
                    }
                });
            }
        });
        assert!(committed.into_inner() > 0);
        assert!(latches.words.iter().all(|word| word.load(Relaxed) == 0));
    }
}
