//! Pinned entries: I4 and I5, and I1 for all readers of random histories.

use super::*;

fn ranges(of: &[(SequenceNumber, SequenceNumber)]) -> Option<Arc<UndecidedRanges>> {
    let range = |&(first, last): &(u64, u64)| NumberRange { first, last };
    UndecidedRanges::new(&of.iter().map(range).collect::<Vec<_>>())
}

/// The same case with some numbers pinned.
fn pin<'a>(numbers: &[SequenceNumber], case: Case<'a>) -> Case<'a> {
    let each: Vec<_> = numbers.iter().map(|n| (*n, *n)).collect();
    Case {
        pinned: ranges(&each),
        ..case
    }
}

/// Nothing of `input` is dropped or changed.
fn unchanged(case: &Case<'_>, input: &str, tombstones: &str) {
    check(case, input, tombstones, input);
}

#[test]
fn an_undecided_version_stays_under_what_hides_it() {
    unchanged(&pin(&[5], middle(&[])), "a9=x a5=y", "");
    unchanged(&pin(&[5], middle(&[])), "a9- a5=y", "");
    unchanged(&pin(&[5], middle(&[])), "a9! a5=y", "");
    unchanged(&pin(&[5, 6], middle(&[])), "a9=x a6- a5=y", "");
    // What is decided is hidden as ever, above and below.
    let input = "a9=x a7=z a5=y a3=w";
    check(&pin(&[5], middle(&[])), input, "", "a9=x a5=y");
    check(&pin(&[5], bottom(&[])), input, "", "a9=x a5=y");
    let input = "a9=x a8! a5=y a3=w";
    check(&pin(&[5], middle(&[])), input, "", "a9=x a8! a5=y");
    check(&pin(&[5], middle(&[4])), input, "", "a9=x a8! a5=y a3=w");
}

#[test]
fn an_undecided_version_hides_nothing() {
    for input in ["a9=y a5=x", "a9- a5=x", "a9! a5=x", "a9+y a5=x"] {
        unchanged(&pin(&[9], middle(&[])), input, "");
        unchanged(&pin(&[9], middle(&[3])), input, "");
    }
    let input = "a9=y a8- a5=x a3=w";
    check(&pin(&[8, 9], middle(&[])), input, "", "a9=y a8- a5=x");
    let input = "a9! a5=x a3! a2=w";
    check(&pin(&[9], middle(&[])), input, "", "a9! a5=x");
}

#[test]
fn a_range_tombstone_does_not_cover_what_is_undecided() {
    check(
        &pin(&[5], middle(&[])),
        "a5=x a4=y b5=z",
        "a-c@7",
        "a5=x b5=z",
    );
    check(&pin(&[5], bottom(&[])), "a5=x a4=y", "a-c@7", "a5=x");
}

#[test]
fn an_undecided_range_tombstone_covers_nothing_and_stays() {
    let kept = |case: Case<'_>, tombstones: &str| {
        let (out, kept) = run(&case, &parse("a5=x b3=y"), &parse_tombstones(tombstones)).unwrap();
        assert_eq!(out.len(), 2);
        kept.iter().map(|t| t.seq).collect::<Vec<_>>()
    };
    assert_eq!(kept(pin(&[7], middle(&[])), "a-c@7"), [7]);
    assert_eq!(kept(pin(&[7], bottom(&[])), "a-c@7"), [7]);
    // Nor does it make an older one needless.
    assert_eq!(kept(pin(&[7], middle(&[])), "a-e@7 c-d@6"), [7, 6]);
}

/// With the undecided version, which is older, it would change places.
#[test]
fn nothing_above_an_undecided_version_gets_the_number_0() {
    unchanged(&pin(&[5], bottom(&[])), "a9=x a5=y", "");
    unchanged(&pin(&[5], bottom(&[])), "b9=x", "");
    check(&pin(&[5], bottom(&[])), "a9+x a8=y", "", "a9=y,x");
    // Below it, numbers do not matter.
    check(
        &pin(&[5], bottom(&[])),
        "a5=x a4=y b3=z",
        "",
        "a5=x a0=y b0=z",
    );
    check(&pin(&[5], bottom(&[])), "a5+x a4+y a3=z", "", "a5+x a0=z,y");
}

#[test]
fn a_deletion_stays_while_something_older_is_undecided() {
    unchanged(&pin(&[5], bottom(&[])), "a9- a5=y", "");
    unchanged(&pin(&[5], bottom(&[])), "a9! a5=y", "");
    check(&pin(&[5], bottom(&[])), "a9! a8=x a5=y", "", "a9! a5=y");
    check(&pin(&[5], bottom(&[])), "a5=y a4- b4! b3=x", "", "a5=y");
    let kept = |case: Case<'_>| run(&case, &[], &parse_tombstones("a-c@7")).unwrap().1.len();
    assert_eq!(kept(pin(&[5], bottom(&[]))), 1);
    assert_eq!(kept(pin(&[9], bottom(&[]))), 0);
}

#[test]
fn operands_do_not_merge_across_what_is_undecided() {
    unchanged(&pin(&[6], middle(&[])), "a9+x a6+y a5=z", "");
    unchanged(&pin(&[6], middle(&[])), "a9+x a6=y a5=z", "");
    unchanged(&pin(&[6], middle(&[])), "a9+x a6- a5=z", "");
    unchanged(&pin(&[6], middle(&[])), "a9+x a6! a5=z", "");
    unchanged(&pin(&[6], bottom(&[])), "a9+x a6=y", "");
    let input = "a9+x a8+w a6+y a5+v a4=z a3=u";
    let expected = "a9+w,x a6+y a5=z,v";
    check(&pin(&[6], middle(&[])), input, "", expected);
    // What is undecided itself is not merged.
    unchanged(&pin(&[8, 9], middle(&[])), "a9+x a8+w", "");
}

/// What a single deletion was written for may be the version that is undecided.
#[test]
fn a_single_deletion_does_not_meet_a_value_beyond_what_is_undecided() {
    let case = |numbers: &[u64]| pin(numbers, middle(&[]));
    check(&case(&[7]), "a9! a7=x a5=y", "", "a9! a7=x");
    unchanged(&case(&[7]), "a9! a8! a7=x", "");
    check(&case(&[7]), "b9=x b8! b7=y b6! b5=z", "", "b9=x b8! b7=y");
    check(&case(&[5]), "a9! a7=x a6! a5=y", "", "a9! a6! a5=y");
    unchanged(&case(&[9]), "a9! a5=x", "");
    unchanged(&pin(&[7], bottom(&[])), "b9=x b8! b7=y", "");
}

/// Removes everything.
struct RemoveAll;

impl FilterSource for RemoveAll {
    fn name(&self) -> String {
        "all".to_owned()
    }
    fn start<'a>(&'a self, _: CompactionFilterContext) -> Box<dyn EntryFilter + 'a> {
        Box::new(RemoveAll)
    }
}

impl EntryFilter for RemoveAll {
    fn filter(&mut self, _: u32, _: &[u8], _: &[u8]) -> Verdict {
        Verdict::Remove
    }
}

#[test]
fn a_filter_does_not_see_what_is_undecided() {
    let with = |numbers: &[u64]| Case {
        filter: Some(&RemoveAll),
        ..pin(numbers, bottom(&[]))
    };
    unchanged(&with(&[9]), "a9=x", "");
    // The newest that is decided is not the newest of its key.
    check(&with(&[9]), "a9=x a5=y", "", "a9=x a0=y");
    // What it removes still hides what is undecided.
    check(&with(&[5]), "a9=x a5=y", "", "a9- a5=y");
    check(&with(&[5]), "a4=x", "", "");
}

/// A history, of which some parts are rewritten several times while less and less of it is
/// undecided and asked for.
struct Rewritten {
    entries: Vec<Entry>,
    tombstones: Vec<RangeTombstone>,
    /// What lies below the next job, and what it reads.
    below: (Vec<Entry>, Vec<RangeTombstone>),
    input: (Vec<Entry>, Vec<RangeTombstone>),
    snapshots: Vec<SequenceNumber>,
    undecided: Vec<(SequenceNumber, SequenceNumber)>,
}

impl Rewritten {
    fn random(rng: &mut StdRng) -> Self {
        let len = rng.random_range(1..40);
        let (entries, tombstones) = history(rng, len);
        let split = match rng.random_ratio(1, 2) {
            true => 0,
            false => rng.random_range(0..=len),
        };
        let mut snapshots: Vec<u64> = (0..rng.random_range(0..4))
            .map(|_| rng.random_range(split..=len))
            .collect();
        snapshots.sort_unstable();
        snapshots.dedup();
        let mut undecided = Vec::new();
        let mut from = 1;
        for _ in 0..rng.random_range(0..4) {
            let first = from + rng.random_range(0..12);
            let last = first + rng.random_range(0..4);
            undecided.push((first, last));
            from = last + 1;
        }
        let (below, input) = (entries.iter().cloned()).partition(|(_, seq, ..)| *seq <= split);
        let (below_t, input_t) = tombstones.iter().cloned().partition(|t| t.seq <= split);
        Rewritten {
            entries,
            tombstones,
            below: (below, below_t),
            input: (input, input_t),
            snapshots,
            undecided,
        }
    }

    /// Runs a job, and compares what all readers see.
    fn rewrite(&mut self, boundary: Option<SequenceNumber>, seed: u64) {
        let (below, below_t) = &self.below;
        let case = Case {
            snapshots: &self.snapshots,
            boundary,
            pinned: ranges(&self.undecided),
            bottommost: below.is_empty() && below_t.is_empty(),
            below: below.iter().map(|(key, ..)| key.clone()).collect(),
            ..Case::default()
        };
        let pinned =
            |seq| (self.undecided.iter()).any(|(first, last)| (*first..=*last).contains(&seq));
        let before = print(&self.input.0);
        let (after, after_t) = run(&case, &self.input.0, &self.input.1).unwrap();
        let of = |entries: &[Entry]| -> Vec<Entry> {
            let mut found: Vec<_> = entries.iter().filter(|e| pinned(e.1)).cloned().collect();
            found.sort();
            found
        };
        assert_eq!(of(&self.input.0), of(&after), "seed {seed}: upholds I4");
        self.input = (after, after_t);
        let all = [&self.below.0[..], &self.input.0].concat();
        let all_t = [&self.below.1[..], &self.input.1].concat();
        for key in (b'a'..b'h').map(|k| vec![k]) {
            for at in self.snapshots.iter().copied().chain([MAX_SEQUENCE]) {
                for hidden in 0..1 << self.undecided.len() {
                    let hides = |seq| {
                        let mut ranges = self.undecided.iter().enumerate();
                        ranges.any(|(i, (first, last))| {
                            hidden >> i & 1 == 1 && (*first..=*last).contains(&seq)
                        })
                    };
                    let sees = |seq| seq <= at && !hides(seq);
                    assert_eq!(
                        read_by(&all, &all_t, &key, sees),
                        read_by(&self.entries, &self.tombstones, &key, sees),
                        "seed {seed}: key {} at {at}, hidden {hidden:b} of {:?}, snapshots {:?}\n\
                         {}\n{before}\n{}",
                        key[0] as char,
                        self.undecided,
                        self.snapshots,
                        print(&self.entries),
                        print(&self.input.0),
                    );
                }
            }
        }
    }

    /// Decides some writes and releases some snapshots; the next job may read what lies below,
    /// too.
    fn go_on(&mut self, rng: &mut StdRng) {
        self.undecided.retain(|_| rng.random());
        self.snapshots.retain(|_| rng.random());
        if rng.random() {
            self.take_all();
        }
    }

    fn take_all(&mut self) {
        self.input.0.append(&mut self.below.0);
        self.input.1.append(&mut self.below.1);
    }
}

#[test]
fn every_reader_reads_the_same_whichever_undecided_writes_it_sees() {
    for seed in 0..2000 {
        let rng = &mut StdRng::seed_from_u64(seed);
        let mut history = Rewritten::random(rng);
        for _ in 0..rng.random_range(1..4) {
            let boundary = rng.random_ratio(1, 4).then(|| rng.random_range(0..40));
            history.rewrite(boundary, seed);
            history.go_on(rng);
        }
        // When all is decided and nobody asks, nothing is left but what is read.
        history.take_all();
        history.undecided.clear();
        history.snapshots.clear();
        history.rewrite(None, seed);
        let (left, tombstones) = &history.input;
        let values = |e: &Entry| (e.1, e.2) == (0, ValueType::Value);
        assert!(left.iter().all(values), "seed {seed}: {}", print(left));
        assert!(tombstones.is_empty());
    }
}
