use super::chunks::CHUNK;
use super::*;
use std::collections::HashSet;

/// Slabs of a test's own. They live for ever, as pieces may.
macro_rules! slabs {
    () => {{
        static OWN: Slabs = Slabs::new();
        &OWN
    }};
}

/// Bytes that tell pieces apart.
fn pattern(number: usize, len: usize) -> Vec<u8> {
    (0..len).map(|i| (number * 31 + i) as u8).collect()
}

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) as usize % n
    }
}

#[test]
fn memory_of_a_class_fits_its_blocks_and_is_little_more() {
    for len in (0..10_000).chain([65_535, 65_536, 1 << 20]) {
        let class = class(len);
        assert!(
            class >= len && class <= len + len / 16 + 16,
            "{len}: {class}"
        );
        assert_eq!(super::class(class), class);
    }
}

#[test]
fn each_class_has_a_number_of_its_own_and_pieces_that_fill_nine_tenths_of_a_slab() {
    let mut numbers = HashSet::new();
    let mut sizes = HashSet::new();
    for len in LEAST + 1..=MOST {
        let class = class_of(len).unwrap();
        assert!(class.size >= len && class.number < CLASSES);
        assert_eq!(class.size, super::class(len));
        assert_eq!(numbers.insert(class.number), sizes.insert(class.size));
        let slab = sizes::SLABS[class.kind];
        let pieces = slab / class.size;
        assert!((7..=60).contains(&pieces), "{len}: {pieces}");
        assert!(pieces * class.size * 10 > slab * 9, "{len}");
    }
    assert_eq!(numbers.len(), CLASSES);
    assert!(class_of(LEAST).is_none() && class_of(MOST + 1).is_none());
}

#[test]
fn pieces_keep_their_content_while_others_come_and_go() {
    let slabs = slabs!();
    let mut random = Random(7);
    let mut held: Vec<(usize, Piece)> = Vec::new();
    let (most, steps) = if cfg!(miri) { (20, 200) } else { (800, 10_000) };
    for step in 0..steps {
        if random.below(most) < held.len() {
            let (number, piece) = held.swap_remove(random.below(held.len()));
            assert_eq!(piece[..], pattern(number, piece.len()));
        } else {
            let largest = if random.below(10) == 0 { MOST } else { 5_000 };
            let len = LEAST + 1 + random.below(largest - LEAST);
            held.push((step, slabs.copy(&pattern(step, len)).unwrap()));
        }
        if step % (steps / 4) == 0 {
            slabs.trim();
        }
    }
    assert!(held.len() > most / 4);
    for (number, piece) in held {
        assert_eq!(piece[..], pattern(number, piece.len()));
    }
    assert_eq!(slabs.usage().used, 0);
}

#[test]
fn all_but_one_chunk_goes_back_when_nothing_is_used() {
    let slabs = slabs!();
    let count = if cfg!(miri) { 20 } else { 3_000 };
    let pieces: Vec<Piece> = (0..count)
        .map(|i| slabs.copy(&pattern(i, 4_000 + i % 90)).unwrap())
        .collect();
    let usage = slabs.usage();
    assert!(usage.used >= count * 4_000 && usage.used < count * 4_400);
    drop(pieces);
    let free = CHUNK;
    assert_eq!(slabs.usage(), Usage { used: 0, free });
    slabs.trim();
    assert_eq!(slabs.usage(), Usage::default());
}

#[test]
fn the_lowest_free_piece_is_used_next() {
    let slabs = slabs!();
    let mut pieces: Vec<Piece> = (0..100)
        .map(|i| slabs.copy(&pattern(i, 4_096)).unwrap())
        .collect();
    let freed: Vec<_> = [80, 3, 41]
        .into_iter()
        .map(|i| pieces.remove(i).start)
        .collect();
    let next: Vec<Piece> = (0..3)
        .map(|i| slabs.copy(&pattern(i, 4_096)).unwrap())
        .collect();
    let next: Vec<_> = next.iter().map(|piece| piece.start).collect();
    assert_eq!(next, [freed[1], freed[2], freed[0]]);
}

#[test]
fn free_memory_goes_back_once_it_is_a_quarter_of_what_is_used() {
    let slabs = slabs!();
    let count = if cfg!(miri) { 40 } else { 4_000 };
    let mut pieces: Vec<Option<Piece>> =
        (0..count).map(|i| slabs.copy(&pattern(i, 4_096))).collect();
    let whole = slabs.usage();
    pieces.iter_mut().step_by(8).for_each(|piece| *piece = None);
    slabs.trim();
    let eighth = slabs.usage();
    assert!(
        eighth.free >= whole.used / 8,
        "it was too little: {eighth:?}"
    );
    pieces.iter_mut().step_by(2).for_each(|piece| *piece = None);
    assert!(slabs.usage().free >= whole.used / 2);
    slabs.trim();
    assert_eq!(slabs.usage().free, 0);
    // What is used next may be memory that was given back.
    for (i, piece) in pieces.iter_mut().enumerate() {
        match piece {
            Some(piece) => assert_eq!(piece[..], pattern(i, 4_096)),
            None => *piece = slabs.copy(&pattern(i, 4_096)),
        }
    }
    let mut all = pieces.iter().flatten().enumerate();
    assert!(all.all(|(i, piece)| piece[..] == pattern(i, 4_096)));
    assert_eq!(slabs.usage().used, whole.used);
}

#[test]
fn a_piece_may_be_dropped_by_another_thread() {
    let slabs = slabs!();
    let rounds = if cfg!(miri) { 3 } else { 200 };
    std::thread::scope(|scope| {
        let (give, take) = std::sync::mpsc::sync_channel::<(usize, Piece)>(50);
        for thread in 0..2 {
            let give = give.clone();
            scope.spawn(move || {
                for i in 0..rounds {
                    let number = thread * rounds + i;
                    let piece = slabs.copy(&pattern(number, 2_000 + i * 7)).unwrap();
                    give.send((number, piece)).unwrap();
                }
            });
        }
        drop(give);
        let all = take.into_iter().map(|(number, piece)| {
            assert_eq!(piece[..], pattern(number, piece.len()));
        });
        assert_eq!(all.count(), 2 * rounds);
    });
    assert_eq!(slabs.usage().used, 0);
}

/// A search from a hint once went over a sixth of all slabs for each block.
#[test]
fn the_lowest_number_is_known_whatever_comes_and_goes() {
    let mut random = Random(3);
    let mut numbers = numbers::Numbers::default();
    let mut expected = std::collections::BTreeSet::new();
    numbers.remove(7);
    for _ in 0..if cfg!(miri) { 300 } else { 20_000 } {
        let number = random.below(10) * 4096 + random.below(70);
        if random.below(2) == 0 {
            numbers.insert(number);
            expected.insert(number);
        } else {
            let number = expected.first().copied().unwrap_or(number);
            numbers.remove(number);
            expected.remove(&number);
        }
        assert_eq!(numbers.lowest(), expected.first().copied());
    }
}

#[test]
fn what_is_free_is_what_was_used_or_kept_after_every_step() {
    let slabs = slabs!();
    let walked = || {
        let mut usage = Usage::default();
        for class in &slabs.classes {
            class.lock().add_usage(&mut usage);
        }
        usage
    };
    let mut random = Random(11);
    let mut held: Vec<Piece> = Vec::new();
    let (mut used, mut most) = (0, 0);
    for step in 0..if cfg!(miri) { 100 } else { 5_000 } {
        if held.len() > random.below(600) {
            used -= class(held.swap_remove(random.below(held.len())).len());
        } else {
            let len = 3_000 + random.below(20) * 300;
            used += class(len);
            held.push(slabs.copy(&pattern(step, len)).unwrap());
        }
        most = most.max(used);
        assert_eq!(walked().used, used);
        assert!(walked().free <= 21 * 64 * 1024 + most);
    }
    slabs.trim();
    held.clear();
    assert_eq!(walked(), Usage::default());
}
