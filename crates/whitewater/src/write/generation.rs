//! Generations: what writes go to, and the word that hands out reservations.
//!
//! A [`Generation`] is a log segment, the memtables of all column families, and a tail: one
//! word that counts the sequence numbers and the bytes of log that were handed out. One
//! compare-exchange gives a writer both, so the order of sequence numbers is the order of
//! the log (C1). A switch closes the word, after which the generation refuses
//! reservations, and installs a successor that continues where this one ended. Writers
//! with a reservation finish in it, and the switch does not wait for them.
//!
//! Invariants:
//! * T1: one compare-exchange hands out numbers and log together, so no reservation has one
//!   and lacks the other (C1).
//! * T2: nothing is handed out beyond what is allocated, nor after the close. So no
//!   reservation is ever given back, skipped or filled by another writer.
//! * T3: the close says where the generation ended, once; its successor hands out numbers
//!   from there, without gap or overlap.
//!
//! The tail is a compare-exchange and not an addition for two reasons. Where a record ends
//! depends on where it starts, since a log consists of blocks. And a reservation that is
//! never made beyond what is allocated need not be undone.

use super::MemtableMap;
use std::sync::{Arc, OnceLock};
use whitewater_concurrent::tail::Tail;
use whitewater_concurrent::wait_group::WaitGroup;
use whitewater_storage::key::SequenceNumber;
use whitewater_storage::wal::Segment;

/// Bits of the tail that count numbers: 268 million in one generation. A batch has at
/// most a tenth of that.
const COUNT_BITS: u32 = 28;
const COUNT_MASK: u64 = (1 << COUNT_BITS) - 1;

/// The most numbers of one reservation, in a generation that has handed out none.
pub(super) const MAX_COUNT: u64 = COUNT_MASK;

/// Log bytes that the other bits can count: 64 GiB.
pub(super) const MAX_OFFSET: u64 = (1 << (64 - COUNT_BITS)) - 1;

/// The tail of a closed generation: an offset that no log reaches.
const CLOSED: u64 = u64::MAX;

/// The sequence numbers of a write, and its place in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reservation {
    /// The first sequence number.
    pub first: SequenceNumber,
    /// The last sequence number.
    pub last: SequenceNumber,
    /// Where the record begins in the log, if there is one.
    pub at: u64,
    /// Where the log ends after the record.
    pub end: u64,
}

/// Why a reservation was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The generation is closed: use its successor.
    Closed,
    /// The log must first be extended to this offset.
    NoRoom { upto: u64 },
    /// The generation has no numbers or offsets left.
    Full,
}

/// Where a generation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct End {
    /// The last sequence number handed out.
    pub last: SequenceNumber,
    /// The end of the log.
    pub offset: u64,
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Generation {
    pub memtables: MemtableMap,
    pub wal: Arc<Segment>,
    /// Pending inserts of published writes (`unordered`). It stays at zero once the
    /// generation is closed, its end is visible, and they are done. Shared, for waits
    /// that outlast the generation.
    pub pending: Arc<WaitGroup>,
    /// The last sequence number handed out before it.
    base: SequenceNumber,
    /// Where the log begins to hold writes.
    start: u64,
    /// Numbers handed out (low bits) and the end of the log (high bits), or
    /// [`CLOSED`].
    /// What a reservation gives access to was published with the generation, and what is
    /// written there is published by the publication. Publishes what a caller of
    /// [`Generation::reserved`] has seen.
    tail: Tail,
    /// Where it ended, once it is closed. Written by: the thread that closes it. Read by:
    /// a resumption, if no successor was installed.
    ended: OnceLock<End>,
}

impl Generation {
    /// Hands out numbers from `end.last + 1`, and the log from `end.offset`. `start` is
    /// where the log's first write begins.
    pub fn new(memtables: MemtableMap, wal: Arc<Segment>, start: u64, end: End) -> Self {
        debug_assert!(end.offset < MAX_OFFSET);
        Generation {
            memtables,
            wal,
            pending: Arc::default(),
            base: end.last,
            start,
            tail: Tail::new(end.offset << COUNT_BITS),
            ended: OnceLock::new(),
        }
    }

    /// Allocates `count` numbers (at least 1) and, for a record of `payload` bytes, a
    /// place in the log.
    #[inline(always)]
    pub fn reserve(&self, count: u64, payload: Option<usize>) -> Result<Reservation, Refusal> {
        debug_assert!(count > 0);
        let mut tail = self.tail.load();
        loop {
            if tail == CLOSED {
                return Err(Refusal::Closed);
            }
            let (taken, at) = (tail & COUNT_MASK, tail >> COUNT_BITS);
            let end = payload.map_or(at, |len| self.wal.end_of_record(at, len));
            if taken + count > COUNT_MASK || end >= MAX_OFFSET {
                return Err(Refusal::Full);
            }
            // Upholds T2.
            if end > self.wal.allocated() {
                return Err(Refusal::NoRoom { upto: end });
            }
            // Upholds T1.
            let next = (end << COUNT_BITS) | (taken + count);
            match self.tail.take(tail, next) {
                Ok(_) => {
                    let first = self.base + taken + 1;
                    return Ok(Reservation {
                        first,
                        last: first + count - 1,
                        at,
                        end,
                    });
                }
                Err(now) => tail = now,
            }
        }
    }

    /// Refuses all later reservations. Returns `None` if it was closed before.
    pub fn close(&self) -> Option<End> {
        // Upholds T2 and T3: a reservation precedes the swap or is refused.
        let end = self.decode(self.tail.close(CLOSED))?;
        Some(*self.ended.get_or_init(|| end))
    }

    /// The last number handed out at present; `None` if it is closed. Whoever is given a larger
    /// number later, in this generation or in a later one, has seen all that the caller has.
    pub fn reserved(&self) -> Option<SequenceNumber> {
        self.decode(self.tail.reserved()).map(|end| end.last)
    }

    /// Where it ended, if it is closed.
    pub fn ended(&self) -> Option<End> {
        self.ended.get().copied()
    }

    /// Where it ends at present; `None` if it is closed.
    pub fn end(&self) -> Option<End> {
        self.decode(self.tail.load())
    }

    /// Where it ends at present, or where it ended. `None` for a moment while it is being closed.
    pub fn end_so_far(&self) -> Option<End> {
        self.end().or_else(|| self.ended())
    }

    fn decode(&self, tail: u64) -> Option<End> {
        (tail != CLOSED).then(|| End {
            last: self.base + (tail & COUNT_MASK),
            offset: tail >> COUNT_BITS,
        })
    }

    /// The last sequence number handed out before it.
    pub fn base(&self) -> SequenceNumber {
        self.base
    }

    /// Where the log's first write begins.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Whether the log holds no write, and no place for one is reserved.
    pub fn log_is_empty(&self) -> bool {
        self.end().is_some_and(|end| end.offset == self.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arc_swap::ArcSwap;
    use std::collections::BTreeSet;
    use std::path::Path;
    use std::sync::atomic::{AtomicU64, Ordering};
    use whitewater_storage::fs::mem::MemFs;
    use whitewater_storage::fs::{Fs, SharedOptions};

    fn generation(base: SequenceNumber, allocated: u64) -> Generation {
        let fs = MemFs::new();
        let file = fs
            .open_shared(Path::new("000001.log"), None, SharedOptions::default())
            .unwrap();
        let log = Segment::new(file, 1, false);
        log.extend(allocated).unwrap();
        let end = End {
            last: base,
            offset: 0,
        };
        Generation::new(MemtableMap::default(), Arc::new(log), 0, end)
    }

    #[test]
    fn places_follow_one_another_in_both_orders() {
        let g = generation(10, 1 << 20);
        let a = g.reserve(3, Some(100)).unwrap();
        assert_eq!((a.first, a.last, a.at, a.end), (11, 13, 0, 107));
        let unlogged = g.reserve(1, None).unwrap();
        assert_eq!((unlogged.first, unlogged.at, unlogged.end), (14, 107, 107));
        let b = g.reserve(1, Some(1)).unwrap();
        assert_eq!((b.first, b.at, b.end), (15, 107, 115));
        let end = g.close().unwrap();
        assert_eq!((end.last, end.offset), (15, 115));
        assert_eq!(g.reserve(1, None), Err(Refusal::Closed));
        assert_eq!((g.close(), g.end()), (None, None));
        assert_eq!(g.ended(), Some(end));
    }

    #[test]
    fn nothing_is_handed_out_beyond_what_is_allocated() {
        let g = generation(0, 100);
        assert_eq!(
            g.reserve(1, Some(94)),
            Err(Refusal::NoRoom { upto: 101 }),
            "7 bytes of header"
        );
        assert_eq!(g.reserve(1, Some(93)).unwrap().end, 100);
        assert!(g.reserve(1, None).is_ok(), "needs no room");
        g.wal.extend(1 << 20).unwrap();
        assert_eq!(g.reserve(1, Some(94)).unwrap().at, 100);
    }

    #[test]
    fn a_generation_runs_out_of_numbers() {
        let g = generation(0, 100);
        assert!(g.reserve(COUNT_MASK - 1, None).is_ok());
        assert_eq!(g.reserve(2, None), Err(Refusal::Full));
        assert!(g.reserve(1, None).is_ok());
        assert_eq!(g.end().unwrap().last, COUNT_MASK);
    }

    #[test]
    fn many_threads_share_out_numbers_and_bytes_without_gap() {
        const SIZES: [usize; 4] = [1, 90, 5000, 40_000];
        let g = generation(0, 64 << 20);
        let places: Vec<Reservation> = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..16)
                .map(|t| {
                    let g = &g;
                    scope.spawn(move || {
                        let mut places = Vec::new();
                        for i in 0..200usize {
                            let payload = (i % 5 != 0).then(|| SIZES[(i + t) % 4]);
                            places.push(g.reserve(1 + (i % 7) as u64, payload).unwrap());
                        }
                        places
                    })
                })
                .collect();
            writers
                .into_iter()
                .flat_map(|w| w.join().unwrap())
                .collect()
        });
        let ordered: BTreeSet<_> = places
            .iter()
            .map(|p| (p.first, p.last, p.at, p.end))
            .collect();
        let (mut last, mut offset) = (0, 0);
        for (first, its_last, at, end) in ordered {
            assert_eq!((first, at), (last + 1, offset));
            (last, offset) = (its_last, end);
        }
        assert_eq!(g.close(), Some(End { last, offset }));
    }

    /// Generations are closed one after another under threads that reserve.
    #[test]
    fn a_place_is_before_or_after_a_close_and_none_is_lost() {
        const PLACES: usize = 500;
        let current = ArcSwap::from_pointee(generation(0, 1 << 20));
        let (running, closed) = (AtomicU64::new(8), AtomicU64::new(0));
        let reserve = |t: usize| {
            let mut places = Vec::new();
            while places.len() < PLACES {
                // Nobody is done before a first generation was closed.
                while places.len() == PLACES / 2 && closed.load(Ordering::SeqCst) == 0 {
                    std::thread::yield_now();
                }
                let payload = (places.len() % 5 != 0).then_some(1 + t * 50);
                let g = current.load_full();
                match g.reserve(1 + (t as u64) % 3, payload) {
                    Ok(reservation) => places.push((g.base(), reservation)),
                    Err(Refusal::Closed) => std::thread::yield_now(),
                    Err(e) => panic!("{e:?}"),
                }
            }
            running.fetch_sub(1, Ordering::SeqCst);
            places
        };
        let reserve = &reserve;
        let (places, ends) = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..8).map(|t| scope.spawn(move || reserve(t))).collect();
            let mut ends = Vec::new();
            while running.load(Ordering::SeqCst) > 0 {
                let before = current.load_full();
                if before.end().is_some_and(|end| end.last == before.base()) {
                    std::thread::yield_now();
                    continue; // bases tell generations apart
                }
                let end = before.close().expect("nobody else closes");
                assert_eq!(before.reserve(1, None), Err(Refusal::Closed));
                ends.push((before.base(), end));
                closed.fetch_add(1, Ordering::SeqCst);
                current.store(Arc::new(generation(end.last, 1 << 20)));
            }
            let places = writers.into_iter().flat_map(|w| w.join().unwrap());
            (places.collect::<Vec<_>>(), ends)
        });
        assert!(!ends.is_empty());
        let last = current.load();
        let ends = ends.into_iter().chain([(last.base(), last.end().unwrap())]);
        let ordered: BTreeSet<_> = places
            .iter()
            .map(|(base, p)| (p.first, p.last, p.at, p.end, *base))
            .collect();
        assert_eq!(ordered.len(), 8 * PLACES, "no number twice");
        let mut ordered = ordered.into_iter().peekable();
        for (base, end) in ends {
            // What was reserved in a generation fills it to its end.
            let (mut last, mut offset) = (base, 0);
            while let Some(reservation) = ordered.next_if(|reservation| reservation.4 == base) {
                assert_eq!((reservation.0, reservation.2), (last + 1, offset));
                (last, offset) = (reservation.1, reservation.3);
            }
            assert_eq!(End { last, offset }, end);
        }
        assert_eq!(ordered.next(), None);
    }
}
