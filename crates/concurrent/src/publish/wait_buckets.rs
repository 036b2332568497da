//! Where those sleep who wait for a number.
//!
//! Sleepers lie in *buckets* by their number, neighbours together, so that a mover
//! makes no system call when nobody sleeps, and one for each bucket that it has
//! passed however many sleep there. Where it has passed many, it wakes some
//! and leaves the others to those: waking takes microseconds of the waker's
//! time for each sleeper, and the mover may be the one whom the next sync waits
//! for. (Seed 002's fan-out, as a tree. The scaling model proposed it.)
//!
//! Invariants:
//! * B1: no lost wake-up. A sleeper sets the bit of its bucket, then looks at what
//!   it waits for; a mover changes that, then looks at the bits; a full fence
//!   lies between the two steps on either side (the mover's is its own
//!   business). Whoever clears a bit owes the bucket a wake-up.
//! * B2: while buckets are owed, somebody is going to look at that. Who stops
//!   waking has let a bucket through in which somebody counted as a sleeper; who
//!   counts looks at what is owed before it sleeps, and after it has ceased to
//!   count. The turn of the bucket orders the first look behind the wake-up, if
//!   that came too early for it, and a full fence on either side the second.

use crate::cores::cores;
use crate::sync::{AtomicU32, AtomicU64, MODELLED, Ordering, fence};
use crate::waiter::EventCount;
use crossbeam_utils::CachePadded;

/// WaitBuckets: the bits of a word.
const BUCKETS: u64 = if MODELLED { 2 } else { 64 };

/// Neighbouring numbers that share a bucket. They are mostly passed together; who
/// is woken too early sleeps on.
pub(super) const BUCKET_WIDTH: u64 = if MODELLED { 1 } else { 8 };

/// Cores from which on those who are woken wake others: fewer are busy enough
/// with the ones that a mover wakes.
const MANY_CORES: usize = 8;

#[derive(Debug)]
struct Bucket {
    event: EventCount,
    /// Who sleeps here, or is about to, or was until just now.
    /// Written by: sleepers (relaxed). Read by: whoever wakes the bucket (relaxed,
    /// after B2's fence). Publishes nothing.
    sleepers: AtomicU32,
}

/// See the [module](self).
#[derive(Debug)]
pub(super) struct WaitBuckets {
    /// The buckets that somebody may sleep in, a bit for each.
    /// Written by: sleepers (setting, relaxed; B1's fence orders it) and movers
    /// (clearing, relaxed). Read by: movers, after B1's fence. Publishes
    /// nothing.
    occupied: CachePadded<AtomicU64>,
    /// The buckets whose bit was cleared and that were not woken yet.
    /// Written by: movers (setting, relaxed) and whoever wakes (clearing,
    /// relaxed). Read by: sleepers (relaxed; ordered by B2). Publishes nothing.
    pending_wakes: CachePadded<AtomicU64>,
    buckets: Box<[CachePadded<Bucket>]>,
    /// WaitBuckets that one thread wakes, if those who sleep there can wake the rest.
    wake_fan_out: u32,
}

impl WaitBuckets {
    /// Nobody sleeps.
    pub fn new() -> Self {
        // Tests are to see it on any machine.
        let many_cores = cfg!(feature = "simulation") || cores() >= MANY_CORES;
        Self::with_fan_out(match (MODELLED, many_cores) {
            (true, _) => 1,
            (false, true) => 2,
            (false, false) => u32::MAX,
        })
    }

    fn with_fan_out(fan_out: u32) -> Self {
        let bucket = || Bucket {
            event: EventCount::new(),
            sleepers: AtomicU32::new(0),
        };
        WaitBuckets {
            occupied: CachePadded::new(AtomicU64::new(0)),
            pending_wakes: CachePadded::new(AtomicU64::new(0)),
            buckets: (0..BUCKETS).map(|_| CachePadded::new(bucket())).collect(),
            wake_fan_out: fan_out,
        }
    }

    /// Sleeps, for `number`, until `outcome` says something.
    pub fn sleep<T>(&self, number: u64, outcome: impl Fn() -> Option<T>) -> T {
        let at = number / BUCKET_WIDTH % BUCKETS;
        let bucket = &self.buckets[at as usize];
        bucket.sleepers.fetch_add(1, Ordering::Relaxed);
        let found = loop {
            let epoch = bucket.event.epoch();
            // Each time: whoever wakes a bucket takes the bit away.
            self.occupied.fetch_or(1 << at, Ordering::Relaxed);
            fence(Ordering::SeqCst); // B1, with the mover's
            if let Some(found) = outcome() {
                break found;
            }
            // Behind the turn: upholds B2.
            self.wake_pending();
            bucket.event.sleep(epoch);
        };
        bucket.sleepers.fetch_sub(1, Ordering::Relaxed);
        fence(Ordering::SeqCst); // B2, with the one in `wake_fan_out`
        self.wake_pending();
        found
    }

    /// Sees to it that those wake who sleep for a number above `from` and up to
    /// `to`. After the mover's fence (B1).
    #[inline]
    pub fn wake(&self, from: u64, to: u64) {
        let occupied = self.occupied.load(Ordering::Relaxed);
        if occupied != 0 {
            self.wake_some(occupied & buckets_of(from, to));
        }
    }

    #[cold]
    fn wake_some(&self, wanted: u64) {
        if wanted == 0 {
            return;
        }
        // Somebody else may be waking some of them.
        let mut taken = wanted & self.occupied.fetch_and(!wanted, Ordering::Relaxed);
        if taken.count_ones() > self.wake_fan_out {
            self.pending_wakes.fetch_or(taken, Ordering::Relaxed);
            self.wake_pending();
            return;
        }
        while taken != 0 {
            self.bucket_of(taken).event.notify_all();
            taken &= taken - 1;
        }
    }

    /// Wakes buckets that are owed, until there are none, or enough sleepers to
    /// wake the others (B2).
    #[inline]
    fn wake_pending(&self) {
        let pending = self.pending_wakes.load(Ordering::Relaxed);
        if pending != 0 {
            self.wake_fan_out(pending);
        }
    }

    #[cold]
    fn wake_fan_out(&self, mut pending: u64) {
        let mut helpers = 0;
        while pending != 0 && helpers < self.wake_fan_out {
            let lowest = pending & pending.wrapping_neg();
            let before = self.pending_wakes.fetch_and(!lowest, Ordering::Relaxed);
            if before & lowest != 0 {
                let bucket = self.bucket_of(lowest);
                // Behind what is owed: upholds B2 for those who come now.
                bucket.event.notify_all();
                fence(Ordering::SeqCst); // B2, with the one in `sleep`
                if bucket.sleepers.load(Ordering::Relaxed) > 0 {
                    helpers += 1;
                }
            }
            pending = self.pending_wakes.load(Ordering::Relaxed);
        }
    }

    /// Wakes everybody, whatever they wait for.
    pub fn wake_all(&self) {
        for bucket in &self.buckets {
            bucket.event.notify_all();
        }
    }

    /// How many may have somebody in them.
    #[cfg(all(test, not(any(loom, shuttle))))]
    pub fn occupied(&self) -> u32 {
        self.occupied.load(Ordering::Relaxed).count_ones()
    }

    /// The bucket of the lowest bit.
    fn bucket_of(&self, bits: u64) -> &Bucket {
        &self.buckets[bits.trailing_zeros() as usize]
    }
}

/// The buckets of the numbers above `from` and up to `to`.
fn buckets_of(from: u64, to: u64) -> u64 {
    let first = (from + 1) / BUCKET_WIDTH;
    let count = to / BUCKET_WIDTH + 1 - first;
    if count >= BUCKETS {
        return u64::MAX >> (u64::BITS as u64 - BUCKETS);
    }
    let buckets = (1 << count) - 1u64;
    buckets.rotate_left((first % BUCKETS) as u32)
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn all_beds_are_woken_by_those_who_slept() {
        const SLEEPERS: u32 = 40;
        let buckets = WaitBuckets::with_fan_out(1);
        for _ in 0..50 {
            let passed = AtomicBool::new(false);
            let reached = || passed.load(Ordering::Acquire).then_some(());
            std::thread::scope(|scope| {
                for number in 1..=u64::from(SLEEPERS) {
                    let (buckets, reached) = (&buckets, &reached);
                    scope.spawn(move || buckets.sleep(number * BUCKET_WIDTH, reached));
                }
                while buckets.occupied() < SLEEPERS {
                    std::thread::yield_now();
                }
                passed.store(true, Ordering::Release);
                fence(Ordering::SeqCst);
                buckets.wake(0, u64::from(SLEEPERS) * BUCKET_WIDTH);
            });
            assert_eq!(buckets.pending_wakes.load(Ordering::Relaxed), 0);
            // Somebody may have come back to a bucket that was passed.
            buckets.wake(0, u64::from(SLEEPERS) * BUCKET_WIDTH);
        }
    }

    #[test]
    fn the_beds_of_a_range() {
        let blocks = |from: u64, to: u64| buckets_of(from * BUCKET_WIDTH - 1, to * BUCKET_WIDTH);
        assert_eq!(buckets_of(0, 1), 0b1);
        assert_eq!(buckets_of(BUCKET_WIDTH - 2, BUCKET_WIDTH), 0b11);
        assert_eq!(blocks(62, 65), 0b11 << 62 | 0b11);
        assert_eq!(blocks(6, 5 + 63), !(1 << 5));
        assert_eq!(blocks(1, 64), u64::MAX);
        assert_eq!(blocks(1, 100), u64::MAX);
        assert_eq!(buckets_of(BUCKET_WIDTH - 1, BUCKET_WIDTH - 1), 0);
    }
}
