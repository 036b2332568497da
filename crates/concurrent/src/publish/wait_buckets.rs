//! Where threads sleep that wait for a number to become visible.
//!
//! Sleepers are spread over *buckets* by the numbers they wait for; neighbouring numbers
//! share a bucket. So a mover makes no system call when no thread sleeps, and one call
//! for each bucket that it has passed, however many threads sleep there. A mover that has
//! passed many buckets wakes some of them and leaves the others to the threads that it
//! woke: waking takes microseconds of the waker's time for each sleeper, and the next
//! sync may wait for the mover.
//!
//! Invariants:
//! * B1: no lost wake-up. A sleeper sets the bit of its wait bucket, then checks its
//!   condition; a mover changes what the condition depends on, then looks at the bits; a
//!   full fence lies between the two steps on either side (the mover's is in its own
//!   code). A thread that clears a bit owes the wait bucket a wake-up.
//! * B2: while wake-ups are pending, some thread is going to look at them. A thread that
//!   stops waking has notified a wait bucket in which a thread counted as a sleeper. A
//!   thread that counts as a sleeper looks at the pending wake-ups before it sleeps, and
//!   again after it has ceased to count. The wait bucket's epoch orders the first look
//!   behind the notification, if that came too early to end the sleep. A full fence on
//!   either side orders the second look.

use crate::cores::cores;
use crate::sync::{AtomicU32, AtomicU64, MODELLED, Ordering, fence};
use crate::waiter::EventCount;
use crossbeam_utils::CachePadded;

/// The number of buckets: the bits of a word.
const BUCKETS: u64 = if MODELLED { 2 } else { 64 };

/// How many neighbouring numbers share a bucket. They are usually passed together; a
/// thread that is woken too early goes back to sleep.
pub(super) const BUCKET_WIDTH: u64 = if MODELLED { 1 } else { 8 };

/// With at least this many cores, threads that are woken wake others. With fewer, the
/// threads that a mover wakes keep all cores busy.
const MANY_CORES: usize = 8;

#[derive(Debug)]
struct Bucket {
    event: EventCount,
    /// The number of threads that sleep here, are about to, or did until just now.
    /// Written by: sleepers (relaxed). Read by: threads that wake the bucket (relaxed,
    /// after B2's fence). Publishes nothing.
    sleepers: AtomicU32,
}

/// See the [module](self).
#[derive(Debug)]
pub(super) struct WaitBuckets {
    /// The buckets in which threads may sleep, one bit each.
    /// Written by: sleepers (setting, relaxed; B1's fence orders it) and movers
    /// (clearing, relaxed). Read by: movers, after B1's fence. Publishes nothing.
    occupied: CachePadded<AtomicU64>,
    /// The buckets whose bit in `occupied` was cleared and that were not woken yet.
    /// Written by: movers (setting, relaxed) and wakers (clearing, relaxed). Read by:
    /// sleepers (relaxed; ordered by B2). Publishes nothing.
    pending_wakes: CachePadded<AtomicU64>,
    buckets: Box<[CachePadded<Bucket>]>,
    /// How many occupied buckets one thread wakes, if their sleepers can wake the rest.
    wake_fan_out: u32,
}

impl WaitBuckets {
    /// Buckets without sleepers.
    pub fn new() -> Self {
        // Tests are to cover the fan-out on any machine.
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

    /// Sleeps in the bucket of `number` until `outcome` returns something.
    pub fn sleep<T>(&self, number: u64, outcome: impl Fn() -> Option<T>) -> T {
        let at = number / BUCKET_WIDTH % BUCKETS;
        let bucket = &self.buckets[at as usize];
        bucket.sleepers.fetch_add(1, Ordering::Relaxed);
        let found = loop {
            let epoch = bucket.event.epoch();
            // Each time, since a thread that wakes the bucket clears the bit.
            self.occupied.fetch_or(1 << at, Ordering::Relaxed);
            fence(Ordering::SeqCst); // B1, with the mover's
            if let Some(found) = outcome() {
                break found;
            }
            // After reading the epoch: upholds B2.
            self.wake_pending();
            bucket.event.sleep(epoch);
        };
        bucket.sleepers.fetch_sub(1, Ordering::Relaxed);
        fence(Ordering::SeqCst); // B2, with the one in `wake_while_pending`
        self.wake_pending();
        found
    }

    /// Wakes the threads that sleep for a number above `from` and up to `to`, or leaves
    /// some of them to others (B2). To be called after the mover's fence (B1).
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
        // Another thread may be waking some of them.
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

    /// Wakes pending buckets until there are none, or until enough sleepers are awake to
    /// wake the others (B2).
    #[inline]
    fn wake_pending(&self) {
        let pending = self.pending_wakes.load(Ordering::Relaxed);
        if pending != 0 {
            self.wake_while_pending(pending);
        }
    }

    #[cold]
    fn wake_while_pending(&self, mut pending: u64) {
        let mut helpers = 0;
        while pending != 0 && helpers < self.wake_fan_out {
            let lowest = pending & pending.wrapping_neg();
            let before = self.pending_wakes.fetch_and(!lowest, Ordering::Relaxed);
            if before & lowest != 0 {
                let bucket = self.bucket_of(lowest);
                // After the pending bit is cleared: upholds B2 for threads that come now.
                bucket.event.notify_all();
                fence(Ordering::SeqCst); // B2, with the one in `sleep`
                if bucket.sleepers.load(Ordering::Relaxed) > 0 {
                    helpers += 1;
                }
            }
            pending = self.pending_wakes.load(Ordering::Relaxed);
        }
    }

    /// Wakes all threads, whatever they wait for.
    pub fn wake_all(&self) {
        for bucket in &self.buckets {
            bucket.event.notify_all();
        }
    }

    /// How many buckets may have sleepers.
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
    fn all_buckets_are_woken_by_threads_that_slept() {
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
            // A thread may have come back to a bucket that was passed.
            buckets.wake(0, u64::from(SLEEPERS) * BUCKET_WIDTH);
        }
    }

    #[test]
    fn the_buckets_of_a_range() {
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
