use super::*;
use rand_xoshiro::rand_core::SeedableRng;

const DRAWS: u64 = 400_000;

fn near(seen: f64, expected: f64, tolerance: f64) {
    let error = (seen / expected - 1.0).abs();
    assert!(error <= tolerance, "{seen} instead of {expected}");
}

/// How often each of `items` items was drawn, as a share.
fn shares(items: usize, mut draw: impl FnMut(&mut Rng) -> u64) -> Vec<f64> {
    let mut rng = Rng::seed_from_u64(7);
    let mut counts = vec![0.0; items];
    for _ in 0..DRAWS {
        counts[draw(&mut rng) as usize] += 1.0 / DRAWS as f64;
    }
    counts
}

#[test]
fn zipfian_shares_are_those_of_the_definition() {
    let zipfian = Zipfian::new(1000, THETA);
    let seen = shares(1000, |rng| zipfian.next(rng));
    let share = |k: usize| 1.0 / (k as f64 + 1.0).powf(THETA) / zipfian.zeta();
    near(seen[0], share(0), 0.02);
    near(seen[1], share(1), 0.02);
    for head in [10, 100, 500] {
        let expected: f64 = (0..head).map(share).sum();
        near(seen[..head].iter().sum(), expected, 0.06);
    }
    assert!(seen[999] > 0.0);
}

#[test]
fn a_zipfian_that_grew_is_the_same_as_one_made_larger() {
    let mut grown = Zipfian::new(10, THETA);
    grown.grow(1000);
    let made = Zipfian::new(1000, THETA);
    near(grown.zeta(), made.zeta(), 1e-12);
    let (mut one, mut other) = (Rng::seed_from_u64(1), Rng::seed_from_u64(1));
    for _ in 0..1000 {
        assert_eq!(grown.next(&mut one), made.next(&mut other));
    }
}

/// By the Euler-Maclaurin formula, which needs few terms.
#[test]
fn the_constant_of_the_scrambled_distribution_is_its_zeta() {
    let head = 1000_u64;
    let (a, b) = (head as f64, SCRAMBLED_ITEMS as f64);
    let sum = Zipfian::new(head, THETA).zeta();
    let integral = (b.powf(1.0 - THETA) - a.powf(1.0 - THETA)) / (1.0 - THETA);
    let ends = (b.powf(-THETA) - a.powf(-THETA)) / 2.0;
    let slopes = -THETA * (b.powf(-THETA - 1.0) - a.powf(-THETA - 1.0)) / 12.0;
    near(
        Zipfian::scrambled().zeta(),
        sum + integral + ends + slopes,
        1e-9,
    );
}

#[test]
fn the_hash_is_fnv_1a_over_eight_bytes() {
    // Of the reference implementation: eight zero bytes.
    assert_eq!(
        fnv_hash(0),
        0xa8c7_f832_281a_39c5_u64.cast_signed().unsigned_abs()
    );
    assert_ne!(fnv_hash(1), fnv_hash(1 << 56));
}

#[test]
fn hot_records_are_spread_and_exist() {
    let mut chooser = Chooser::new(Distribution::Zipfian, 1000, 0);
    let seen = shares(1000, |rng| chooser.next(rng, 1000));
    let hottest = (fnv_hash(0) % 1000) as usize;
    // The others with this remainder have their share in 1000 of the rest.
    let expected = 1.0 / Zipfian::scrambled().zeta();
    near(seen[hottest], expected + (1.0 - expected) / 1000.0, 0.05);
    let second = (fnv_hash(1) % 1000) as usize;
    assert!(seen[second] < seen[hottest] && seen[second] > 0.015);
    let mut growing = Chooser::new(Distribution::Zipfian, 1000, 500);
    let seen = shares(2000, |rng| growing.next(rng, 1200));
    assert!(seen[1200..].iter().all(|share| *share == 0.0));
    assert!(seen[1000..1200].iter().sum::<f64>() > 0.05);
}

#[test]
fn the_latest_record_is_the_hottest_while_records_are_added() {
    let mut chooser = Chooser::new(Distribution::Latest, 900, 100);
    let mut limit = 900;
    let zeta = Zipfian::new(1000, THETA).zeta();
    let _ = shares(1000, |rng| {
        limit = (limit + 1).min(1000);
        let number = chooser.next(rng, limit);
        assert!(number < limit);
        number
    });
    let seen = shares(1000, |rng| chooser.next(rng, 1000));
    near(seen[999], 1.0 / zeta, 0.02);
    near(seen[998], 0.5_f64.powf(THETA) / zeta, 0.03);
}

#[test]
fn uniform_records_are_equally_likely() {
    let mut chooser = Chooser::new(Distribution::Uniform, 100, 0);
    for share in shares(100, |rng| chooser.next(rng, 100)) {
        near(share, 0.01, 0.1);
    }
}

#[test]
fn a_record_exists_once_all_before_it_do() {
    let numbers = Acknowledged::from(10);
    let (a, b, c) = (numbers.next(), numbers.next(), numbers.next());
    assert_eq!((a, b, c), (10, 11, 12));
    numbers.acknowledge(b);
    numbers.acknowledge(c);
    assert_eq!(numbers.limit(), 10);
    numbers.acknowledge(a);
    assert_eq!(numbers.limit(), 13);
}

#[test]
fn threads_insert_every_number_once() {
    let numbers = Acknowledged::from(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50_000 {
                    let number = numbers.next();
                    numbers.acknowledge(number);
                }
            });
        }
    });
    assert_eq!(numbers.limit(), 200_000);
    assert_eq!(numbers.next(), 200_000);
}
