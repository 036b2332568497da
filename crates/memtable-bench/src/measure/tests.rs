use super::*;
use crate::input::Spread;
use crate::structure::Shape;
use crate::structures;
use whitewater_concurrent::region::HugePages;

fn input(key_size: usize, value_size: usize, spread: Spread) -> Input {
    let shape = Shape {
        entries: 500,
        key_size,
        value_size,
        pages: HugePages::Off,
    };
    Input::new(shape, spread, 7).expect("enough keys")
}

fn plan() -> Plan {
    Plan {
        kinds: structures::ALL.iter().collect(),
        workloads: Workload::ALL.to_vec(),
        threads: vec![1, 2, 5],
        rounds: 2,
        batch_size: 7,
        scans: 2,
        seek_nexts: 3,
        keep_memory: true,
    }
}

/// Every structure finds what it should in every workload, or says why it cannot do the
/// workload. The run itself checks what is found.
#[test]
fn every_structure_does_every_workload() {
    let plan = plan();
    for (key_size, value_size, spread) in [
        (16, 20, Spread::Random),
        (8, 8, Spread::Random),
        (8, 0, Spread::Dense),
        (35, 100, Spread::Dense),
        (3, 1, Spread::Random),
    ] {
        let input = input(key_size, value_size, spread);
        let mut steps = 0;
        let cells = plan.run(&input, &mut |_| steps += 1).expect("all found");
        assert_eq!(steps, plan.steps());
        assert_eq!(cells.len(), plan.kinds.len() * Workload::ALL.len() * 3);
        for Cell { place, outcome } in &cells {
            match outcome {
                Ok(figures) => {
                    assert_eq!(figures.samples.len(), 2, "{place}");
                    let expected = operations(place);
                    for sample in &figures.samples {
                        match expected {
                            Some(count) => assert_eq!(sample.operations, count, "{place}"),
                            None => assert_eq!(sample.writes, 250, "{place}"),
                        }
                        assert!(sample.seconds > 0.0, "{place}");
                    }
                }
                Err(_) => assert!(
                    place.kind.name == "congee" || sorts_to_seek(place),
                    "{place}"
                ),
            }
        }
    }
}

/// The number of operations of a place, if it does not depend on chance.
fn operations(place: &Place) -> Option<u64> {
    match place.workload {
        Workload::ReadSeq | Workload::ReadReverse => Some(1000 * place.threads as u64),
        Workload::ReadWrite if place.threads == 1 => Some(500),
        Workload::ReadWrite => None,
        _ => Some(500),
    }
}

/// Whether this is a seek in a structure that would sort everything for it.
fn sorts_to_seek(place: &Place) -> bool {
    let sorted_late = ["vector", "hash_skip_list", "hash_linked_list"];
    place.workload == Workload::SeekRandom && sorted_late.contains(&place.kind.name)
}

#[test]
fn words_are_refused_by_nobody_but_backwards_by_congee() {
    let plan = plan();
    for (key_size, refused_by_congee) in [(8, Some(Workload::ReadReverse)), (9, None)] {
        for cell in plan.cells(&input(key_size, 8, Spread::Random)) {
            let Cell { place, outcome } = &cell;
            let congee = place.kind.name == "congee"
                && refused_by_congee.is_none_or(|only| place.workload == only);
            let expected = congee || sorts_to_seek(place);
            assert_eq!(outcome.is_err(), expected, "{place}");
        }
    }
}

#[test]
fn own_accounts_hold_the_entries() {
    let plan = Plan {
        workloads: vec![Workload::FillRandom, Workload::FillSeq],
        threads: vec![1],
        rounds: 1,
        ..plan()
    };
    let cells = plan.run(&input(16, 20, Spread::Random), &mut |_| ());
    for Cell { place, outcome } in cells.expect("all found") {
        // The test's allocator does not count bytes.
        match outcome.ok().and_then(|figures| figures.bytes_per_entry) {
            Some(Bytes::Own(bytes)) => assert!((36.0..500.0).contains(&bytes), "{place} {bytes}"),
            Some(Bytes::Heap(_)) => panic!("{place}: nothing counts the heap"),
            None => assert!(!["skip_list", "art", "skl"].contains(&place.kind.name)),
        }
    }
}

/// A structure that loses entries, which a run must detect.
mod lossy {
    use std::sync::Mutex;

    use crate::structure::{Direction, Entry, Handle, Shape, Structure};

    pub struct Lossy(Mutex<Vec<(Vec<u8>, Vec<u8>)>>);

    impl Structure for Lossy {
        const NAME: &'static str = "lossy";
        const ABOUT: &'static str = "keeps nine of ten";
        type Handle<'a> = &'a Lossy;

        fn new(_: &Shape) -> Self {
            Lossy(Mutex::default())
        }

        fn handle(&self) -> &Lossy {
            self
        }
    }

    impl Handle for &Lossy {
        fn insert(&mut self, entry: Entry<'_>) -> bool {
            let mut entries = self.0.lock().expect("nobody panics");
            if !entry.tag.is_multiple_of(10) {
                entries.push((entry.key.to_vec(), entry.value.to_vec()));
            }
            true
        }

        fn get(&mut self, key: &[u8], visit: &mut impl FnMut(&[u8])) -> bool {
            let entries = self.0.lock().expect("nobody panics");
            let found = entries.iter().find(|(there, _)| there == key);
            found.map(|(_, value)| visit(value)).is_some()
        }

        fn seek(&mut self, _: &[u8], _: &mut impl FnMut(&[u8], &[u8]) -> bool) {}

        fn scan(&mut self, _: Direction, visit: &mut impl FnMut(&[u8], &[u8])) {
            for (key, _) in self.0.lock().expect("nobody panics").iter() {
                visit(key, b"another value");
            }
        }
    }
}

#[test]
fn a_structure_that_finds_less_is_an_error() {
    static LOSSY: Kind = Kind::of::<lossy::Lossy>();
    let input = input(16, 20, Spread::Random);
    let failure = |workload| {
        let plan = Plan {
            kinds: vec![&LOSSY],
            workloads: vec![workload],
            threads: vec![2],
            rounds: 1,
            ..plan()
        };
        plan.run(&input, &mut |_| ()).expect_err("less is found")
    };
    assert_eq!(
        failure(Workload::ReadRandom),
        "lossy, readrandom, 2 threads: found 450 of 500 entries"
    );
    assert!(failure(Workload::SeekRandom).contains("found 0 of 500"));
    assert!(failure(Workload::ReadSeq).contains("found 1800 of 2000"));
    assert!(failure(Workload::ReadWrite).contains("found "));
}

#[test]
fn medians() {
    assert_eq!(median([].into_iter()), 0.0);
    assert_eq!(median([3.0, 1.0, 2.0].into_iter()), 2.0);
    assert_eq!(median([4.0, 1.0, 2.0, 3.0].into_iter()), 2.5);
}

#[test]
fn a_panicking_thread_ends_the_run() {
    struct Broken;
    impl Subject for Broken {
        fn work(&self, job: &Job<'_>, _: &Input, _: usize) -> Tally {
            panic!("{} is broken", job.workload.name());
        }
        fn own_bytes(&self) -> Option<usize> {
            None
        }
    }
    let input = input(16, 20, Spread::Random);
    let plan = plan();
    let runs = Runs {
        plan: &plan,
        input: &input,
        held: OnceLock::new(),
        cells: Vec::new(),
    };
    let job = runs.job(Workload::ReadWrite, 3);
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        run_threads(&Broken, &job, &input).map(|tallies| tallies.len())
    }));
    assert!(caught.is_err());
}
