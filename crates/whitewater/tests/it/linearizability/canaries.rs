//! The checks can fail: bad histories and bad stores are noticed.

use super::faults::{FAULTS, Fault, Faulty};
use super::history::{History, Kind, Op, Read, What};
use super::protocol::{Promise, protocols};
use super::store::DbStore;
use super::workload::{Plan, record};
use super::{LONG, Round, SLOTS, Setup, Tally, WHOLE, must_detect, rules, search};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// A call from `call` to `end` with unknown sequence numbers.
fn op(call: u64, end: u64, what: What) -> Op {
    Op {
        thread: 0,
        call,
        end,
        latest: (0, u64::MAX),
        what,
    }
}

fn write(call: u64, end: u64, slots: &[(usize, u32)]) -> Op {
    op(call, end, What::Write(slots.to_vec()))
}

fn read(call: u64, end: u64, slots: &[(usize, u32)]) -> Op {
    let read = Read {
        how: "read",
        seen: slots.to_vec(),
        sequence: None,
        again: Vec::new(),
    };
    op(call, end, What::Read(read))
}

/// A read of a snapshot with a sequence number.
fn snapshot(call: u64, end: u64, sequence: u64, slots: &[(usize, u32)]) -> Op {
    let mut op = read(call, end, slots);
    if let What::Read(read) = &mut op.what {
        read.sequence = Some(sequence);
    }
    op
}

/// A write whose sequence numbers are in `(above, most]`.
fn numbered(mut op: Op, above: u64, most: u64) -> Op {
    op.latest = (above, most);
    op
}

fn history(ops: &[Op]) -> History {
    History {
        initial: vec![0; 4],
        ops: ops.to_vec(),
    }
}

/// Bad histories, and what the rules call them.
fn bad() -> Vec<(&'static str, History, Kind)> {
    let both = |n| [(0, n), (1, n)];
    vec![
        (
            "a stale read",
            history(&[
                write(1, 2, &[(0, 1)]),
                write(3, 4, &[(0, 2)]),
                read(5, 6, &[(0, 1)]),
            ]),
            Kind::Stale,
        ),
        (
            "a lost write",
            history(&[write(1, 2, &[(0, 1)]), read(3, 4, &[(0, 0)])]),
            Kind::Stale,
        ),
        (
            "a delete that did not happen",
            history(&[
                write(1, 2, &[(0, 1)]),
                write(3, 4, &[(0, 0)]),
                read(5, 6, &[(0, 1)]),
            ]),
            Kind::Stale,
        ),
        (
            "a read from the future",
            history(&[read(1, 2, &[(0, 1)]), write(3, 4, &[(0, 1)])]),
            Kind::Future,
        ),
        (
            "a value that nobody wrote",
            history(&[write(1, 2, &[(0, 1)]), read(3, 4, &[(0, 9)])]),
            Kind::Unknown,
        ),
        (
            "half a batch over nothing",
            history(&[write(1, 6, &both(1)), read(2, 3, &[(0, 1), (1, 0)])]),
            Kind::Torn,
        ),
        (
            "halves of two concurrent batches",
            history(&[
                write(1, 6, &both(1)),
                write(2, 7, &both(2)),
                read(3, 4, &[(0, 1), (1, 2)]),
            ]),
            Kind::Torn,
        ),
        (
            "half a batch, and a delete from before it",
            history(&[
                write(1, 2, &[(1, 7)]),
                write(3, 4, &[(1, 0)]),
                write(5, 9, &both(1)),
                read(6, 7, &[(0, 1), (1, 0)]),
            ]),
            Kind::Torn,
        ),
        (
            // Each read by itself may be right.
            "reads that disagree about the order",
            history(&[
                write(1, 20, &[(0, 1)]),
                write(2, 21, &[(1, 2)]),
                read(3, 4, &[(0, 1), (1, 0)]),
                read(5, 6, &[(0, 0), (1, 2)]),
            ]),
            Kind::Disagree,
        ),
    ]
}

#[test]
fn bad_histories_are_rejected() {
    for (name, history, kind) in bad() {
        let found = rules::check(&history).expect_err(name);
        assert_eq!(found.kind, kind, "{name}: {found}");
        assert!(
            !search::is_linearizable(&history),
            "{name}: the checker accepts it"
        );
        let found = search::check(&history).expect_err(name);
        assert_eq!(found.kind, Kind::Order);
        assert!(found.history.ops.len() <= history.ops.len());
    }
}

/// What only the search can find: three reads in a circle.
#[test]
fn the_search_sees_longer_circles() {
    let circle = history(&[
        write(1, 30, &[(0, 1)]),
        write(2, 31, &[(1, 2)]),
        write(3, 32, &[(2, 3)]),
        read(4, 20, &[(0, 1), (1, 0)]),
        read(5, 21, &[(1, 2), (2, 0)]),
        read(6, 22, &[(2, 3), (0, 0)]),
    ]);
    assert!(!search::is_linearizable(&circle));
    for missing in 3..6 {
        let mut arc = circle.clone();
        arc.ops.remove(missing);
        assert!(search::is_linearizable(&arc), "without call {missing}");
    }
}

/// What only sequence numbers and second readings show.
#[test]
fn bad_snapshots_are_rejected() {
    let one = numbered(write(1, 20, &[(0, 1)]), 10, 11);
    let two = numbered(write(2, 21, &[(0, 2)]), 11, 12);
    let cases = [
        (
            "newer than its number",
            snapshot(3, 4, 10, &[(0, 1)]),
            Kind::Future,
        ),
        (
            "older than its number",
            snapshot(3, 4, 12, &[(0, 1)]),
            Kind::Stale,
        ),
        (
            "without a write of its number",
            snapshot(3, 4, 11, &[(0, 0)]),
            Kind::Stale,
        ),
    ];
    for (name, snapshot, kind) in cases {
        let found = rules::check(&history(&[one.clone(), two.clone(), snapshot])).expect_err(name);
        assert_eq!(found.kind, kind, "{name}: {found}");
    }
    // A call whose numbers are unknown.
    let (one, two) = (write(1, 20, &[(0, 1)]), write(2, 21, &[(0, 2)]));
    let with = |a, b| history(&[one.clone(), two.clone(), a, b]);
    let same = with(snapshot(3, 4, 12, &[(0, 1)]), snapshot(5, 6, 12, &[(0, 2)]));
    assert_eq!(
        rules::check(&same).expect_err("one number").kind,
        Kind::Disagree
    );
    let mut back = with(snapshot(3, 4, 11, &[(0, 1)]), snapshot(5, 6, 12, &[(0, 2)]));
    rules::check(&back).expect("in order");
    back.ops.push(snapshot(7, 8, 13, &[(0, 1)]));
    assert_eq!(rules::check(&back).expect_err("back").kind, Kind::Disagree);

    let mut moved = history(&[write(1, 2, &[(0, 1)]), read(3, 4, &[(0, 1)])]);
    rules::check(&moved).expect("it stays");
    if let What::Read(read) = &mut moved.ops[1].what {
        read.again.push(("scan", vec![(0, 1)]));
        read.again.push(("scan", vec![(0, 2)]));
    }
    assert_eq!(
        rules::check(&moved).expect_err("it moves").kind,
        Kind::Moved
    );
}

/// A random history of few calls. Values are guessed, so most histories are bad.
fn random_history(rng: &mut StdRng) -> History {
    let calls = rng.random_range(2..=6u32);
    let mut ops = Vec::new();
    for n in 1..=calls {
        let call = rng.random_range(0..10) * 100 + u64::from(n);
        let end = call + rng.random_range(1..5) * 100 + 50;
        let slots: Vec<usize> = (0..2).filter(|_| rng.random_bool(0.7)).collect();
        if slots.is_empty() {
            continue;
        }
        if rng.random_bool(0.5) {
            let delete = rng.random_bool(0.2);
            let value = if delete { 0 } else { n };
            let slots: Vec<_> = slots.iter().map(|slot| (*slot, value)).collect();
            ops.push(write(call, end, &slots));
        } else {
            let seen: Vec<_> = slots
                .iter()
                .map(|slot| (*slot, rng.random_range(0..=calls)))
                .collect();
            ops.push(read(call, end, &seen));
        }
    }
    let mut history = history(&ops);
    history.initial.truncate(2);
    // Makes most reads see a value that was written.
    let written: Vec<Op> = history
        .ops
        .iter()
        .filter(|op| !op.is_read())
        .cloned()
        .collect();
    for op in history.ops.iter_mut().filter(|op| op.is_read()) {
        for (slot, value) in op.slots_mut() {
            let choices: Vec<u32> = written
                .iter()
                .filter_map(|w| w.at(*slot))
                .chain([0])
                .collect();
            *value = choices[*value as usize % choices.len()];
        }
    }
    history
}

/// Tries all orders.
fn some_order_explains(history: &History) -> bool {
    fn go(state: &[u32], left: &[&Op]) -> bool {
        let first_end = left.iter().map(|op| op.end).min();
        let Some(first_end) = first_end else {
            return true;
        };
        (0..left.len())
            .filter(|n| left[*n].call < first_end)
            .any(|n| {
                let mut state = state.to_vec();
                let mut rest = left.to_vec();
                let op = rest.remove(n);
                for (slot, value) in op.slots() {
                    if op.is_read() && state[*slot] != *value {
                        return false;
                    }
                    state[*slot] = *value;
                }
                go(&state, &rest)
            })
    }
    go(&history.initial, &history.ops.iter().collect::<Vec<_>>())
}

/// The checker is right about small histories, and the rules never reject a history that has an
/// order.
#[test]
fn the_checker_agrees_with_trying_all_orders() {
    let mut rng = StdRng::seed_from_u64(1);
    let (mut good, mut bad, mut by_rules) = (0, 0, 0);
    for n in 0..6_000 {
        let history = random_history(&mut rng);
        let explained = some_order_explains(&history);
        assert_eq!(
            search::is_linearizable(&history),
            explained,
            "{n}:\n{history}"
        );
        let rules = rules::check(&history);
        if explained {
            good += 1;
            if let Err(violation) = rules {
                panic!("{n}: the rules reject a good history:\n{violation}\nof {history}");
            }
        } else {
            bad += 1;
            by_rules += u32::from(rules.is_err());
            let least = search::shrink(&history);
            assert!(
                !some_order_explains(&least),
                "{n}: shrunk too far:\n{least}"
            );
        }
    }
    println!("{good} good, {bad} bad, {by_rules} of them by the rules");
    assert!(
        good > 1_000 && bad > 1_000 && by_rules * 4 > bad * 3,
        "{good}, {bad}, {by_rules}"
    );
}

/// Records until the check of `round` notices `fault`. Returns its complaint.
fn detect(round: Round, fault: Fault, one_in: u64) -> Kind {
    let protocol = protocols()[0];
    let what = format!("{fault:?} by {}", round.test);
    let found = must_detect(&what, 1..60, |seed| {
        let plan = Plan {
            // With several threads and something to be torn. Otherwise the fault has no effect.
            threads: 4,
            batches: 60,
            pairs: 10,
            ..(round.plan)(seed)
        };
        let setup = Setup {
            slow_logs: false,
            slow_inserts: false,
            ..Setup::new(seed)
        };
        let db = setup.open(protocol, seed);
        let store = Faulty::new(DbStore::new(&db, plan.slots), plan.slots, fault, one_in);
        record(&plan, &store).iter().try_for_each(round.check)
    });
    println!("{what}: {found}");
    found.kind
}

/// Every fault is found in a store that has it once in a thousand calls of its kind.
#[test]
fn bad_stores_are_noticed_by_the_rules() {
    for fault in FAULTS {
        assert_ne!(detect(LONG, fault, 1_000), Kind::Order);
    }
}

/// The search alone finds it in shorter runs, in which it is more frequent.
#[test]
fn bad_stores_are_noticed_by_the_search() {
    let whole = Round {
        check: search::check,
        ..WHOLE
    };
    for fault in FAULTS {
        assert_eq!(detect(whole, fault, 20), Kind::Order);
    }
    for fault in [Fault::StaleGet, Fault::LostWrite, Fault::LateWrite] {
        assert_eq!(detect(SLOTS, fault, 200), Kind::Order);
    }
}

/// Nothing is found where nothing is wrong.
#[test]
#[should_panic(expected = "nothing was detected")]
fn a_good_store_is_not_suspected() {
    let good = protocols()
        .into_iter()
        .find(|p| p.promise == Promise::Everything);
    // If there is no such protocol, there is nothing to detect either.
    must_detect("a good store", 1..5, |seed| {
        good.map_or(Ok(Tally::default()), |p| WHOLE.once(p, seed))
    });
}
