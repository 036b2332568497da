use super::*;
use std::sync::atomic::AtomicBool;

fn block(n: usize) -> Bytes {
    Bytes::from(vec![7u8; n])
}

/// Caches a block of `len` bytes that nobody uses, in a cache that refuses none.
fn put(cache: &BlockCache, id: u64, offset: u64, len: usize) {
    put_with(cache, id, offset, len, Priority::Low);
}

fn put_with(cache: &BlockCache, id: u64, offset: u64, len: usize, priority: Priority) {
    let kept = cache.insert(id, offset, block(len), priority);
    assert_eq!(kept, Ok(block(len)));
}

/// A cache of one shard.
fn one_shard(capacity: usize, strict: bool, high_pri_pool_ratio: f64) -> BlockCache {
    BlockCache::with_options(CacheOptions {
        capacity,
        num_shard_bits: 0,
        strict_capacity_limit: strict,
        high_pri_pool_ratio,
    })
}

/// How many of the blocks of file `id` in `offsets` are cached.
fn cached(cache: &BlockCache, id: u64, offsets: std::ops::Range<u64>) -> usize {
    offsets.filter(|&at| cache.get(id, at).is_some()).count()
}

/// What a block of 1000 bytes is charged: the memory it stands in, too.
const CHARGED: usize = 1024 + ENTRY_OVERHEAD;

#[test]
fn clones_share_blocks_and_ids() {
    let a = BlockCache::new(1 << 20);
    let b = a.clone();
    let (x, y) = (a.new_id(), b.new_id());
    assert_ne!(x, y);
    put(&a, x, 0, 100);
    assert_eq!(b.get(x, 0), Some(block(100)));
    assert_eq!(b.get(y, 0), None);
    assert_eq!(b.get(x, 1), None);
    assert!(a.usage() >= 100);
}

#[test]
fn usage_stays_within_the_capacity() {
    let c = BlockCache::new(1 << 20);
    let id = c.new_id();
    for i in 0..2000 {
        put(&c, id, i, 4096);
    }
    assert!(c.usage() <= 1 << 20, "{}", c.usage());
    assert!(c.usage() >= 1 << 19, "{}", c.usage());
    c.set_capacity(1 << 18);
    assert_eq!(c.capacity(), 1 << 18);
    assert!(c.usage() <= 1 << 18, "{}", c.usage());
}

#[test]
fn a_look_in_passing_keeps_nothing() {
    let survivors = |look: fn(&BlockCache, u64, u64) -> Option<Bytes>| {
        let c = one_shard(100 * CHARGED, false, 0.0);
        let id = c.new_id();
        // What has proved its worth takes the room that there is for such.
        for at in 0..200 {
            put(&c, id, at, 1000);
            c.get(id, at);
        }
        for at in 200..210 {
            put(&c, id, at, 1000);
            assert_eq!(look(&c, id, at), Some(block(1000)));
        }
        assert_eq!(c.peek(id, 210), None);
        (1000..1100).for_each(|at| put(&c, id, at, 1000));
        cached(&c, id, 200..210)
    };
    assert_eq!(survivors(BlockCache::peek), 0);
    assert!(survivors(BlockCache::get) > 5);
}

#[test]
fn blocks_in_use_are_pinned() {
    let c = BlockCache::new(1 << 20);
    let id = c.new_id();
    for i in 0..10 {
        put(&c, id, i, 1000);
    }
    assert_eq!(c.pinned_usage(), 0);
    let (a, b) = (c.get(id, 3), c.get(id, 7));
    let part = a.map(|block| block.slice(10..20));
    assert_eq!(c.pinned_usage(), 2 * CHARGED);
    drop(b);
    assert_eq!(c.pinned_usage(), CHARGED);
    drop(part);
    assert_eq!(c.pinned_usage(), 0);
    assert_eq!(c.usage(), 10 * CHARGED);
}

#[test]
fn charges_take_room_from_blocks() {
    let c = BlockCache::new(1 << 20);
    let id = c.new_id();
    let fill = || (0..2000).for_each(|i| put(&c, id, i, 4096));
    fill();
    c.charge(3 << 18, 0);
    assert_eq!(c.charged(), 3 << 18);
    assert_eq!(c.capacity(), 1 << 20);
    assert!(c.usage() <= 1 << 20, "{}", c.usage());
    fill();
    assert!(c.usage() <= 1 << 20, "{}", c.usage());
    c.set_capacity(3 << 18);
    fill();
    assert_eq!(c.usage(), 3 << 18, "no room for blocks");
    c.set_capacity(1 << 20);
    c.charge(1 << 20, 3 << 18);
    assert_eq!(c.usage(), 1 << 20);
    c.charge(0, 1 << 20);
    fill();
    assert!((1 << 19..=1 << 20).contains(&c.usage()), "{}", c.usage());
}

#[test]
fn capacity_zero_keeps_nothing() {
    let c = BlockCache::new(0);
    put(&c, 1, 0, 10);
    assert_eq!(c.get(1, 0), None);
    assert_eq!(c.usage(), 0);
}

#[test]
fn options_come_into_their_ranges() {
    let with = |num_shard_bits, high_pri_pool_ratio| CacheOptions {
        num_shard_bits,
        high_pri_pool_ratio,
        ..CacheOptions::with_capacity(7)
    };
    assert!(CacheOptions::default().is_valid());
    for (given, taken) in [
        (with(20, -0.5), with(19, 0.0)),
        (with(-5, 1.5), with(-5, 1.0)),
        (with(3, f64::NAN), with(3, 0.5)),
    ] {
        assert!(!given.is_valid());
        assert_eq!(given.clamped(), taken);
        assert!(taken.is_valid());
    }
    assert_eq!(
        BlockCache::with_options(with(2, 0.25)).options(),
        with(2, 0.25)
    );
}

#[test]
fn shards_are_as_many_as_asked_for() {
    let count = |num_shard_bits, capacity| {
        let cache = BlockCache::with_options(CacheOptions {
            num_shard_bits,
            ..CacheOptions::with_capacity(capacity)
        });
        let sum = (cache.0.shards.iter())
            .map(|s| s.read().capacity())
            .sum::<u64>();
        assert_eq!(sum, capacity as u64, "no byte is lost, or too many");
        cache.0.shards.len()
    };
    assert_eq!(count(0, 1 << 30), 1);
    assert_eq!(count(6, 1001), 64);
    assert_eq!(count(-1, 100), 1);
    assert!(count(-1, 1 << 30).is_power_of_two());
}

#[test]
fn whoever_comes_second_gets_the_block_that_is_there() {
    let c = BlockCache::new(1 << 20);
    let first = c.insert(1, 0, block(1000), Priority::Low).unwrap();
    let second = c.insert(1, 0, block(1000), Priority::High).unwrap();
    assert_eq!(first.as_ptr(), second.as_ptr());
    assert_eq!(c.usage(), CHARGED);
}

#[test]
fn a_scan_leaves_the_high_priority_pool_alone() {
    // Room for 100 blocks, 50 of them in the pool.
    for (ratio, kept) in [(0.5, 40), (0.2, 20)] {
        let c = one_shard(100 * CHARGED, false, ratio);
        // A full cache first, so that the blocks have to make their way.
        (0..100).for_each(|i| put(&c, 1, i, 1000));
        (0..40).for_each(|i| put_with(&c, 2, i, 1000, Priority::High));
        assert_eq!(cached(&c, 2, 0..40), 40, "ratio {ratio}");
        for scan in 0..100 {
            for i in 0..200 {
                put(&c, 3 + scan, i, 1000);
                // Asked for again, as neighbours on a page are.
                assert!(c.get(3 + scan, i).is_some());
            }
            assert!(c.usage() <= c.capacity(), "{}", c.usage());
        }
        let survivors = cached(&c, 2, 0..40);
        assert!(survivors >= kept, "ratio {ratio}: {survivors}");
        let high = c.0.shards[0].read().high_usage();
        assert_eq!(high as usize, survivors * CHARGED);
    }
}

#[test]
fn the_pool_is_nobodys_until_it_is_needed_and_no_limit() {
    let c = one_shard(100 * CHARGED, false, 0.5);
    (0..100).for_each(|i| put(&c, 1, i, 1000));
    assert!(c.usage() > 95 * CHARGED, "others have all of it");
    let c = one_shard(100 * CHARGED, false, 0.5);
    (0..100).for_each(|i| put_with(&c, 1, i, 1000, Priority::High));
    assert!(cached(&c, 1, 0..100) > 95, "and so do these");
    // Without a pool they are as others.
    let c = one_shard(100 * CHARGED, false, 0.0);
    (0..40).for_each(|i| put_with(&c, 1, i, 1000, Priority::High));
    for i in 0..20_000 {
        put(&c, 2, i, 1000);
        c.get(2, i);
    }
    assert!(cached(&c, 1, 0..40) < 40);
}

#[test]
fn high_priority_gives_way_where_nothing_else_can() {
    let c = one_shard(100 * CHARGED, false, 1.0);
    (0..90).for_each(|i| put_with(&c, 1, i, 1000, Priority::High));
    c.charge(50 * CHARGED, 0);
    assert!(c.usage() <= c.capacity(), "{}", c.usage());
    assert!(cached(&c, 1, 0..90) >= 49);
    c.charge(60 * CHARGED, 0);
    assert_eq!(c.usage(), 110 * CHARGED, "charges alone");
    put(&c, 2, 0, 1000);
    assert_eq!(c.get(2, 0), None);
    assert_eq!(c.0.shards[0].read().high_usage(), 0);
    c.charge(0, 110 * CHARGED);
    (0..90).for_each(|i| put_with(&c, 1, i, 1000, Priority::High));
    assert_eq!(cached(&c, 1, 0..90), 90);
}

#[test]
fn a_strict_cache_refuses_what_blocks_in_use_leave_no_room_for() {
    for priority in [Priority::Low, Priority::High] {
        let c = one_shard(10 * CHARGED, true, 0.5);
        let take = |i| c.insert(1, i, block(1000), priority);
        let mut held: Vec<_> = (0..10).map(|i| take(i).expect("has room")).collect();
        assert_eq!((c.usage(), c.pinned_usage()), (10 * CHARGED, 10 * CHARGED));
        let e = take(10).unwrap_err();
        assert!(e.is_memory_limit());
        assert_eq!(
            e.to_string(),
            "Operation aborted: Memory limit reached: Insert failed due to LRU cache being full."
        );
        assert_eq!(c.get(1, 10), None);
        assert_eq!(cached(&c, 1, 0..10), 10, "none is evicted that is in use");
        assert_eq!(take(3), Ok(block(1000)), "it is there");
        // One that is released makes room for one.
        drop(held.remove(5));
        held.push(take(11).expect("has room"));
        assert_eq!((c.get(1, 5), c.usage()), (None, 10 * CHARGED));
        assert!(take(12).is_err());
        // And so do all.
        held.clear();
        assert_eq!(c.pinned_usage(), 0);
        (20..30).for_each(|i| held.push(take(i).expect("has room")));
        assert_eq!(c.usage(), 10 * CHARGED);
        assert_eq!(cached(&c, 1, 20..30), 10);
        // The limit can be lifted, and set again.
        c.set_strict_capacity_limit(false);
        assert!(take(40).is_ok());
        assert!(c.usage() <= 10 * CHARGED);
    }
}

#[test]
fn charges_count_towards_a_strict_limit() {
    let c = one_shard(10 * CHARGED, true, 0.5);
    let take = |i| c.insert(1, i, block(1000), Priority::Low);
    let held: Vec<_> = (0..6).map(|i| take(i).expect("has room")).collect();
    (6..10).for_each(|i| drop(take(i).expect("has room")));
    let charge = c.reserve(3 * CHARGED).expect("has room");
    assert_eq!(cached(&c, 1, 6..10), 1);
    assert!(c.reserve(2 * CHARGED).is_none());
    assert_eq!(c.charged(), 3 * CHARGED, "what is refused is not charged");
    // Memory that is used anyway is charged all the same.
    c.charge(5 * CHARGED, 0);
    assert_eq!(c.usage(), 14 * CHARGED);
    assert!(take(10).is_err());
    drop(held);
    c.charge(0, CHARGED);
    assert!(c.usage() <= 10 * CHARGED);
    let held: Vec<_> = (20..23).map(|i| take(i).expect("has room")).collect();
    assert!(take(23).is_err());
    drop(charge);
    assert!(take(23).is_ok());
    drop(held);
}

#[test]
fn a_strict_cache_gives_up_its_pool_before_it_refuses() {
    let c = one_shard(10 * CHARGED, true, 1.0);
    (0..10).for_each(|i| put_with(&c, 1, i, 1000, Priority::High));
    let take = |i| c.insert(2, i, block(1000), Priority::Low);
    let held: Vec<_> = (0..10).map(|i| take(i).expect("has room")).collect();
    assert_eq!(cached(&c, 1, 0..10), 0);
    assert!(take(10).is_err());
    drop(held);
}

#[test]
fn blocks_larger_than_a_strict_cache_are_refused() {
    let whole = 10 << 10;
    let c = one_shard(whole + ENTRY_OVERHEAD, true, 0.5);
    assert!(c.insert(1, 0, block(whole + 1), Priority::Low).is_err());
    let held = c.insert(1, 0, block(whole), Priority::High).expect("fits");
    assert_eq!(c.usage(), c.capacity());
    drop(held);
    let none = one_shard(0, true, 0.5);
    assert!(none.insert(1, 0, block(1), Priority::Low).is_err());
    assert!(none.insert(1, 0, Bytes::new(), Priority::High).is_err());
}

#[test]
fn threads_never_push_a_strict_cache_over_its_limit() {
    let c = BlockCache::with_options(CacheOptions {
        num_shard_bits: 1,
        strict_capacity_limit: true,
        ..CacheOptions::with_capacity(20 * CHARGED)
    });
    let refused = AtomicU64::new(0);
    std::thread::scope(|s| {
        for thread in 0..4u64 {
            let (c, refused) = (&c, &refused);
            s.spawn(move || {
                let mut held = Vec::new();
                for i in 0..3000u64 {
                    let at = (i * (thread + 7)) % 61;
                    let priority = match at % 3 {
                        0 => Priority::High,
                        _ => Priority::Low,
                    };
                    match c
                        .get(1, at)
                        .map_or_else(|| c.insert(1, at, block(1000), priority), Ok)
                    {
                        Ok(block) => held.push(block),
                        Err(e) => {
                            assert!(e.is_memory_limit());
                            refused.fetch_add(1, Ordering::Relaxed);
                            held.clear();
                        }
                    }
                    assert!(c.usage() <= 20 * CHARGED);
                    if held.len() > 24 {
                        held.drain(..12);
                    }
                }
            });
        }
    });
    assert!(refused.into_inner() > 0);
    assert_eq!(c.pinned_usage(), 0);
}

#[test]
fn files_are_expected_by_session_and_number() {
    let c = BlockCache::new(1 << 20);
    c.expect(("one".into(), 7), 70);
    c.expect(("two".into(), 7), 71);
    assert_eq!(c.expected(b"one", 7), Some(70));
    assert_eq!(c.expected(b"one", 7), Some(70), "again");
    assert_eq!(c.expected(b"two", 7), Some(71));
    assert_eq!(c.expected(b"one", 8), None);
    (0..MAX_EXPECTED as u64 - 1).for_each(|n| c.expect(("more".into(), n), n));
    assert_eq!(c.expected(b"one", 7), None, "forgotten");
    assert_eq!(c.expected(b"two", 7), Some(71));
}

/// A block that is found elsewhere, and says so.
struct Findable {
    bytes: Bytes,
    used: AtomicBool,
    entered: AtomicBool,
}

impl Placed for Findable {
    fn bytes(&self) -> &Bytes {
        &self.bytes
    }
    fn enter(self: Arc<Self>) {
        self.entered.store(true, Ordering::Relaxed);
    }
    fn leave(&self) {
        self.entered.store(false, Ordering::Relaxed);
    }
    fn is_entered(&self) -> bool {
        false // What holds it in this test counts.
    }
    fn mark(&self) {
        self.used.store(true, Ordering::Relaxed);
    }
    fn unmark(&self) -> bool {
        self.used.swap(false, Ordering::Relaxed)
    }
}

impl Findable {
    fn is_found(&self) -> bool {
        self.entered.load(Ordering::Relaxed)
    }
}

fn put_findable(cache: &BlockCache, id: u64, offset: u64) -> Arc<Findable> {
    let block = Arc::new(Findable {
        bytes: block(1000),
        used: AtomicBool::new(false),
        entered: AtomicBool::new(false),
    });
    let kept = cache.insert_placed(id, offset, block.clone());
    assert_eq!(kept, Ok(super::tests::block(1000)));
    block
}

#[test]
fn a_block_is_found_elsewhere_only_while_it_is_cached() {
    let c = one_shard(100 * CHARGED, false, 0.0);
    let a = put_findable(&c, 1, 0);
    assert_eq!(c.usage(), CHARGED + placed::PLACED_OVERHEAD);
    assert!(a.is_found());
    // Whoever comes second uses what is there.
    let second = put_findable(&c, 1, 0);
    assert!(a.is_found() && !second.is_found());
    c.remove(1, 0);
    assert!(!a.is_found());
    let evicted = put_findable(&c, 1, 1);
    c.set_capacity(CHARGED / 2);
    assert!(!evicted.is_found());
    assert!(!put_findable(&c, 1, 2).is_found(), "no room");
    c.set_capacity(100 * CHARGED);
    let charged_out = put_findable(&c, 1, 3);
    c.charge(100 * CHARGED, 0);
    assert!(!charged_out.is_found());
    c.charge(0, 100 * CHARGED);
    let last = put_findable(&c, 1, 4);
    drop(c);
    assert!(!last.is_found());
}

#[test]
fn a_block_that_can_be_found_elsewhere_replaces_one_that_cannot_but_not_the_other_way() {
    let c = one_shard(100 * CHARGED, false, 0.0);
    put(&c, 1, 0, 1000);
    let a = put_findable(&c, 1, 0);
    assert!(a.is_found());
    assert_eq!((c.len(), c.usage()), (1, CHARGED + placed::PLACED_OVERHEAD));
    put(&c, 1, 0, 1000);
    assert!(a.is_found());
    c.remove(1, 0);
    assert_eq!((c.len(), c.usage()), (0, 0));
    // A strict cache would not see the users of the block that was there.
    put(&c, 1, 0, 1000);
    let held = c.get(1, 0).expect("is there");
    c.set_strict_capacity_limit(true);
    assert!(!put_findable(&c, 1, 0).is_found());
    assert_eq!(c.pinned_usage(), CHARGED);
    drop(held);
    assert_eq!(c.pinned_usage(), 0);
}

#[test]
fn a_block_without_a_place_counts_its_users_and_keeps_its_memory() {
    const LEN: usize = 4000; // large enough for a slab
    let all = shard::weight(&block(LEN)) as usize + placed::PLACED_OVERHEAD;
    let c = one_shard(100 * all, false, 0.0);
    let put_unplaced = |at: u64| c.insert_unplaced(1, at, &block(LEN)).expect("is kept");
    assert_eq!(put_unplaced(0), block(LEN));
    assert_eq!((c.usage(), c.pinned_usage()), (all, 0));
    let hit = c.look_up(1, 0).expect("is there");
    let memory = hit.in_slab.clone().expect("lies in a slab");
    assert!(hit.only_here && memory == hit.bytes && memory.as_ptr() == hit.bytes.as_ptr());
    assert_eq!(c.pinned_usage(), all);
    drop(hit);
    assert_eq!(c.pinned_usage(), 0, "what will be placed is no user");
    // A second copy does not replace it, its place does.
    put(&c, 1, 0, LEN);
    assert_eq!(c.get(1, 0).map(|b| b.as_ptr()), Some(memory.as_ptr()));
    let placed = put_findable(&c, 1, 0);
    assert!(placed.is_found());
    assert_eq!((c.len(), c.usage()), (1, CHARGED + placed::PLACED_OVERHEAD));
    assert!(!c.look_up(1, 0).expect("is there").only_here);
    put_unplaced(0);
    assert!(placed.is_found(), "it replaces nothing");
    drop(placed);
    // A strict cache keeps it where users are counted.
    put_unplaced(1);
    c.set_strict_capacity_limit(true);
    let hit = c.look_up(1, 1).expect("is there");
    assert!(!hit.only_here && hit.in_slab.is_none());
    assert_eq!(c.pinned_usage(), all);
    drop(hit);
    assert_eq!(c.pinned_usage(), 0);
    c.set_capacity(0);
    assert_eq!(c.len(), 0);
    assert_eq!(memory, block(LEN), "its memory is the reader's now");
}

#[test]
fn a_strict_cache_lets_no_block_be_found_elsewhere() {
    let c = one_shard(100 * CHARGED, false, 0.0);
    let before = put_findable(&c, 1, 0);
    c.set_strict_capacity_limit(true);
    assert!(!before.is_found());
    assert!(!put_findable(&c, 1, 1).is_found());
    assert!(c.reserve_directory(8).is_none());
    drop(before);
    assert_eq!(c.pinned_usage(), 0);
    c.set_strict_capacity_limit(false);
    assert!(put_findable(&c, 1, 2).is_found());
}

#[test]
fn all_blocks_may_be_marked_when_room_is_needed() {
    let each = CHARGED + placed::PLACED_OVERHEAD;
    let c = one_shard(50 * each, false, 0.0);
    let mark = |from: u64| {
        (from..from + 50)
            .filter(|&at| c.get(1, at).is_some())
            .count()
    };
    for round in 0..20 {
        for at in 0..50 {
            drop(put_findable(&c, 1, 50 * round + at));
            mark(50 * round);
            assert!(c.usage() <= c.capacity(), "{}", c.usage());
        }
    }
    mark(950);
    c.charge(25 * each, 0);
    assert!(c.usage() <= c.capacity(), "{}", c.usage());
    mark(950);
    c.set_capacity(30 * each);
    assert!(c.usage() <= c.capacity(), "{}", c.usage());
}

#[test]
fn marks_do_not_cost_the_high_priority_pool_its_blocks() {
    let each = CHARGED + placed::PLACED_OVERHEAD;
    let c = one_shard(50 * each, false, 0.5);
    (0..10).for_each(|at| put_with(&c, 2, at, 1000, Priority::High));
    for at in 0..200 {
        drop(put_findable(&c, 1, at));
        cached(&c, 1, 0..at + 1); // all that are there are marked
        assert!(c.usage() <= c.capacity(), "{}", c.usage());
    }
    let high = |at: &u64| c.peek(2, *at).is_some();
    assert_eq!((0..10).filter(high).count(), 10);
}
