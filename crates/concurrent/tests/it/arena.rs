//! The arena: allocations, accounting, contention.

use std::thread;

use proptest::collection::vec;
use proptest::prelude::*;
use whitewater_concurrent::arena::{ALIGN, ArenaOptions, ConcurrentArena};
use whitewater_concurrent::region::{Claim, HugePages};

/// An allocation filled with a pattern of its own.
struct Allocation {
    start: *mut u8,
    len: usize,
    pattern: u8,
}

// SAFETY: only the holder of an allocation accesses its memory.
unsafe impl Send for Allocation {}

impl Allocation {
    fn take(arena: &ConcurrentArena, len: usize, pattern: u8) -> Self {
        let start = arena.allocate(len).as_ptr();
        assert_eq!(start.addr() % ALIGN, 0);
        // SAFETY: the allocation has `len` bytes.
        unsafe { start.write_bytes(pattern, len) };
        Allocation {
            start,
            len,
            pattern,
        }
    }

    /// Whether no other thread has written into it.
    fn is_intact(&self) -> bool {
        // SAFETY: the allocation has `len` bytes, which are initialized and not being
        // written.
        let bytes = unsafe { std::slice::from_raw_parts(self.start, self.len) };
        bytes.iter().all(|&byte| byte == self.pattern)
    }
}

fn arena(block_size: usize, pages: HugePages) -> ConcurrentArena {
    ConcurrentArena::new(ArenaOptions { block_size, pages })
}

fn rounded(len: usize) -> usize {
    len.max(1).next_multiple_of(ALIGN)
}

fn assert_disjoint(allocations: &[Allocation]) {
    let mut spans: Vec<_> = allocations
        .iter()
        .map(|allocation| (allocation.start.addr(), rounded(allocation.len)))
        .collect();
    spans.sort_unstable();
    for pair in spans.windows(2) {
        assert!(pair[0].0 + pair[0].1 <= pair[1].0, "allocations overlap");
    }
}

fn length() -> impl Strategy<Value = usize> {
    prop_oneof![6 => 0..200_usize, 2 => 0..5_000_usize, 1 => 0..40_000_usize]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn allocations_are_disjoint_and_counted(
        block in prop_oneof![Just(0), Just(4097), 0..100_000_usize],
        lengths in vec(length(), 0..200),
    ) {
        let arena = ConcurrentArena::new(block);
        prop_assert_eq!((arena.used_bytes(), arena.allocated_bytes()), (0, 0));
        let mut used = 0;
        let mut allocations = Vec::new();
        for (i, len) in lengths.into_iter().enumerate() {
            allocations.push(Allocation::take(&arena, len, i as u8));
            used += rounded(len);
            prop_assert_eq!(arena.used_bytes(), used);
            prop_assert_eq!(arena.allocations(), allocations.len());
            prop_assert!(arena.allocated_bytes() >= used);
        }
        assert_disjoint(&allocations);
        prop_assert!(allocations.iter().all(Allocation::is_intact));
    }
}

#[test]
fn blocks_are_used_up_before_new_ones_come() {
    let arena = ConcurrentArena::new(1 << 20);
    for _ in 0..(4 << 20) / 128 {
        arena.allocate(128);
    }
    // Threads of this binary may already use shards, so allow the slack of one region.
    assert_eq!(arena.used_bytes(), 4 << 20);
    assert!(arena.allocated_bytes() <= 5 << 20);
}

#[test]
fn large_allocations_do_not_waste_the_block() {
    let arena = ConcurrentArena::new(64 << 10);
    arena.allocate(8);
    let before = arena.allocated_bytes();
    arena.allocate(1 << 20);
    assert_eq!(arena.allocated_bytes() - before, 1 << 20);
    arena.allocate(8);
    assert_eq!(arena.allocated_bytes() - before, 1 << 20, "same block");
}

#[test]
#[should_panic(expected = "size overflow")]
fn impossible_sizes_are_refused() {
    ConcurrentArena::new(4096).allocate(usize::MAX);
}

#[test]
fn threads_get_disjoint_allocations() {
    const THREADS: usize = 8;
    const ALLOCATIONS: usize = 10_000;
    let arena = ConcurrentArena::new(256 << 10);
    let allocations: Vec<Allocation> = thread::scope(|scope| {
        let workers: Vec<_> = (0..THREADS)
            .map(|thread| {
                let arena = &arena;
                scope.spawn(move || {
                    (0..ALLOCATIONS)
                        .map(|i| Allocation::take(arena, (i * 13 + thread) % 300, thread as u8))
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        let lists = workers.into_iter().map(|worker| worker.join().unwrap());
        lists.flatten().collect()
    });
    assert_disjoint(&allocations);
    assert!(allocations.iter().all(Allocation::is_intact));
    let used: usize = allocations
        .iter()
        .map(|allocation| rounded(allocation.len))
        .sum();
    assert_eq!(arena.used_bytes(), used);
    assert_eq!(arena.allocations(), THREADS * ALLOCATIONS);
    // The slack: one region per shard, and what is lost at the ends of blocks.
    assert!(arena.allocated_bytes() < used + used / 4 + (1 << 20));
}

/// Compares the bytes that many threads hold, in allocations of many sizes, with what the
/// arena reports: the used bytes are exact, the bytes taken from the system are within
/// 5%.
fn assert_accounting(pages: HugePages) {
    const THREADS: usize = 16;
    const EACH: usize = 8 << 20;
    let arena = arena(1 << 20, pages);
    let totals: Vec<(usize, usize)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..THREADS)
            .map(|thread| {
                let arena = &arena;
                scope.spawn(move || {
                    let (mut bytes, mut allocations, mut x) = (0, 0, thread + 1);
                    while bytes < EACH {
                        x = x.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(11);
                        let most = [100, 100, 300, 300, 300, 3_000, 20_000, 150_000];
                        let len = (x >> 40) % most[(x >> 32) % most.len()];
                        let allocation = Allocation::take(arena, len, thread as u8);
                        assert!(allocation.is_intact());
                        bytes += rounded(len);
                        allocations += 1;
                    }
                    (bytes, allocations)
                })
            })
            .collect();
        let totals = workers.into_iter().map(|worker| worker.join().unwrap());
        totals.collect()
    });
    let used: usize = totals.iter().map(|(bytes, _)| bytes).sum();
    assert_eq!(arena.used_bytes(), used);
    assert_eq!(
        arena.allocations(),
        totals
            .iter()
            .map(|(_, allocations)| allocations)
            .sum::<usize>()
    );
    let allocated = arena.allocated_bytes();
    assert!(allocated >= used);
    assert!(
        allocated <= used + used / 20,
        "{allocated} taken for {used} bytes"
    );
}

#[test]
fn accounting_is_exact_with_many_threads_and_sizes() {
    assert_accounting(HugePages::Off);
}

#[test]
fn accounting_is_exact_on_huge_pages() {
    assert_accounting(HugePages::Transparent);
    // Systems without reserved pages use transparent ones.
    assert_accounting(HugePages::Reserved(2 << 20));
}

#[test]
fn little_takes_no_huge_page() {
    let arena = arena(1 << 20, HugePages::Transparent);
    arena.allocate(8);
    assert_eq!(arena.allocated_bytes(), 4 << 10);
    while arena.used_bytes() < (1 << 20) - (64 << 10) {
        arena.allocate(1024);
        let taken = arena.allocated_bytes();
        assert!(taken <= 4 * arena.used_bytes().max(4 << 10), "{taken}");
        assert!(taken <= 1 << 20, "{taken}");
    }
    while arena.used_bytes() < 5 << 20 {
        arena.allocate(1024);
    }
    let huge = arena.allocated_bytes() - (1 << 20);
    assert!((4 << 20..=6 << 20).contains(&huge), "{huge}");
    assert!(huge.is_multiple_of(2 << 20), "{huge}");
}

/// The loss at the ends of growing blocks stays small, whatever the sizes are.
#[test]
fn a_small_arena_takes_little_more_than_it_hands_out() {
    for len in [8, 100, 1_000, 3_000, 10_000, 60_000] {
        let arena = arena(1 << 20, HugePages::Off);
        for _ in 0..200 {
            arena.allocate(len);
            let (taken, used) = (arena.allocated_bytes(), arena.used_bytes());
            assert!(taken <= (4 << 10) + 4 * used, "{taken} for {used} by {len}");
        }
    }
}

/// Blocks of a dropped arena are used again, whatever they contain.
#[test]
fn blocks_are_used_again() {
    let _claim = Claim::new(64 << 20);
    for pages in [HugePages::Off, HugePages::Transparent] {
        for round in 0..3 {
            let arena = arena(512 << 10, pages);
            let allocations: Vec<_> = (0..40)
                .map(|i| Allocation::take(&arena, 30_000, round * 40 + i))
                .collect();
            assert_disjoint(&allocations);
            assert!(allocations.iter().all(Allocation::is_intact));
        }
    }
}
