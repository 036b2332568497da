//! Recorded histories of concurrent calls, checked for linearizability.
//!
//! Two to eight threads put, delete, write batches over column families, get, scan, take snapshots
//! and read them again, on few hot keys, while memtables are switched, flushed and compacted. What
//! each call saw is recorded with the time of the call, and one total order must explain all of it.
//! `search` asks an established checker, which is exact, about short histories. `rules` checks what
//! follows for one or two reads, of long histories, too. `canaries` shows that bad histories and
//! bad stores are noticed. `undecided` records histories over unordered commit whose writes readers
//! pass over until they are inserted.
//!
//! A round is a seed. `WHITEWATER_PROTOCOL` chooses a commit protocol, and `WHITEWATER_MEMTABLE` a
//! memtable. The seed does not determine the timing of threads, so a seed that failed may need some
//! rounds to fail again.

mod canaries;
mod delay;
mod faults;
mod history;
mod protocol;
mod rules;
mod search;
mod store;
mod undecided;
mod workload;

use crate::harness::hooked::HookedLogs;
use crate::harness::{DIR, Db, campaign, open_named, seeds, watched};
use delay::{Dice, comparator};
use history::{History, Violation};
use protocol::{Promise, Protocol, options_for, protocols};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use std::cell::Cell;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use store::{DbStore, FAMILIES};
use whitewater::fs::mem::MemFs;
use whitewater::{MemtableFactory, Options};
use workload::{Plan, record};

/// Seconds after which a round counts as hung.
const HANGS: u64 = 300;

/// The settings of a round's database, besides the plan.
#[derive(Debug, Clone)]
struct Setup {
    slow_logs: bool,
    /// Only with skip lists: radix trees call no comparator.
    slow_inserts: bool,
    one_in: u64,
    concurrent_inserts: bool,
    adaptive_yield: bool,
    group_bytes: usize,
}

impl Setup {
    fn new(seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed ^ 0x5e7);
        let memtable = std::env::var("WHITEWATER_MEMTABLE").ok();
        let skip_list = memtable.is_none_or(|name| name == "skip_list");
        Setup {
            slow_logs: rng.random_bool(0.5),
            slow_inserts: rng.random_bool(0.5) && skip_list,
            one_in: 1 << rng.random_range(2..7),
            concurrent_inserts: rng.random_bool(0.8),
            adaptive_yield: rng.random_bool(0.5),
            group_bytes: *[600, 8 << 10, 1 << 20].choose(&mut rng).expect("some"),
        }
    }

    fn open(&self, protocol: Protocol, seed: u64) -> Db {
        let options = self.options(protocol, seed);
        let names = FAMILIES.map(str::to_owned);
        open_named(&options, Path::new(DIR), &names).expect("opens")
    }

    fn options(&self, protocol: Protocol, seed: u64) -> Options {
        let dice = Dice::new(seed, self.one_in);
        let mut options = options_for(protocol);
        if self.slow_logs {
            options.set_fs(Arc::new(HookedLogs::new(dice.clone())));
        } else {
            options.set_fs(Arc::new(MemFs::new()));
        }
        if self.slow_inserts {
            options.set_memtable_factory(MemtableFactory::SkipList);
            options.set_comparator("slow", comparator(dice));
        }
        let one_by_one = protocol.one_by_one && !self.concurrent_inserts;
        options.set_allow_concurrent_memtable_write(!one_by_one);
        options.set_enable_write_thread_adaptive_yield(self.adaptive_yield);
        options.set_max_write_batch_group_size_bytes(self.group_bytes);
        options
    }
}

impl Plan {
    /// The plan of a seed, with `calls` calls of all threads together in each of `episodes`.
    fn new(seed: u64, episodes: usize, calls: usize) -> Plan {
        let mut rng = StdRng::seed_from_u64(seed);
        let threads = *[2, 3, 4, 6, 8].choose(&mut rng).expect("some");
        Plan {
            seed,
            threads,
            slots: rng.random_range(4..=search::MAX_SLOTS),
            episodes,
            calls: calls / threads,
            patience: 1,
            sync: *[0, 20, 100].choose(&mut rng).expect("some"),
            no_wal: *[0, 0, 20, 100].choose(&mut rng).expect("some"),
            value_len: *[16, 400, 2_000].choose(&mut rng).expect("some"),
            deletes: rng.random_bool(0.5),
            batches: *[20, 60, 100].choose(&mut rng).expect("some"),
            decoys: 10,
            writes: *[[45, 45], [100, 0], [90, 0]]
                .choose(&mut rng)
                .expect("some"),
            yields: *[0, 20].choose(&mut rng).expect("some"),
            pairs: *[10, 95].choose(&mut rng).expect("some"),
            views: true,
            maintenance: *[40, 300].choose(&mut rng).expect("some"),
        }
    }
}

type Check = fn(&History) -> Result<(), Violation>;

/// A kind of round: what is run and how it is checked.
#[derive(Clone, Copy)]
struct Round {
    test: &'static str,
    plan: fn(u64) -> Plan,
    check: Check,
    /// The check that a protocol must fail if it promises only slots. `None` if it must pass
    /// `check`, too.
    must_fail: Option<Check>,
}

/// Long histories of single slots.
const SLOTS: Round = Round {
    test: "slots_are_linearizable",
    plan: |seed| Plan {
        views: false,
        ..Plan::new(seed, 4, 1_600)
    },
    check: search::check_slots,
    must_fail: None,
};

/// Short histories of the whole store.
const WHOLE: Round = Round {
    test: "batches_and_snapshots_are_linearizable",
    plan: |seed| Plan::new(seed, 12, 160),
    check: |history| {
        rules::check(history)?;
        search::check(history)
    },
    must_fail: Some(search::check),
};

/// Histories that are too long to search.
const LONG: Round = Round {
    test: "long_histories_keep_the_rules",
    plan: |seed| Plan {
        patience: 10,
        ..Plan::new(seed, 2, 12_000)
    },
    check: rules::check,
    must_fail: Some(rules::views_stay),
};

/// Shows that a campaign was one: rounds, calls, how many met a write, and table files.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    rounds: usize,
    calls: usize,
    overlapping: usize,
    tables: usize,
}

impl Round {
    fn once(&self, protocol: Protocol, seed: u64) -> Result<Tally, String> {
        let mut plan = (self.plan)(seed);
        if protocol.promise == Promise::SlotsOnly {
            // Half a batch may be seen, so these may fail.
            plan.decoys = 0;
        }
        let setup = Setup::new(seed);
        let db = setup.open(protocol, seed);
        let histories = record(&plan, &DbStore::new(&db, plan.slots));
        let checked = histories.iter().try_for_each(self.check);
        checked.map_err(|violation| {
            format!(
                "{violation}\nprotocol {}, {setup:?}, {plan:?}\nreplay: WHITEWATER_PROTOCOL={} \
                 WHITEWATER_SEED={seed} WHITEWATER_ROUNDS=1 cargo test -p whitewater --test it {} \
                 (with WHITEWATER_MEMTABLE as it was; timing differs: try several times)",
                protocol.name, protocol.name, self.test
            )
        })?;
        Ok(Tally {
            rounds: 1,
            calls: histories.iter().map(|h| h.ops.len()).sum(),
            overlapping: histories.iter().map(History::overlapping).sum(),
            tables: db.live_files().expect("known").len(),
        })
    }

    /// Rounds of each protocol: all good, or one of them bad.
    fn campaign(self, default_rounds: u64) {
        let protocols = protocols();
        let rounds = default_rounds.div_ceil(protocols.len() as u64);
        for protocol in protocols {
            match (protocol.promise, self.must_fail) {
                (Promise::SlotsOnly, Some(check)) => {
                    let bad = Round { check, ..self };
                    let round = |seed| bad.watched(protocol, seed);
                    let found = must_detect(self.test, seeds(1, 50 * rounds), round);
                    println!("{}, as it should be: {found}", protocol.name);
                }
                _ => self.all_good(protocol, rounds),
            }
        }
    }

    fn all_good(self, protocol: Protocol, rounds: u64) {
        let all = Cell::new(Tally::default());
        campaign(self.test, 1, rounds, |seed| {
            match self.watched(protocol, seed) {
                Ok(tally) => {
                    let sum = all.get();
                    all.set(Tally {
                        rounds: sum.rounds + tally.rounds,
                        calls: sum.calls + tally.calls,
                        overlapping: sum.overlapping + tally.overlapping,
                        tables: sum.tables + tally.tables,
                    });
                }
                Err(text) => panic!("{text}"),
            }
        });
        let all = all.get();
        println!("{}: {}: {all:?}", self.test, protocol.name);
        // A round that is replayed may be one without.
        let some = all.rounds < 10 || all.overlapping > 0 && all.tables > 0;
        assert!(some, "no call met a write, or nothing was flushed: {all:?}");
    }

    fn watched(self, protocol: Protocol, seed: u64) -> Result<Tally, String> {
        watched(self.test, HANGS, move || self.once(protocol, seed))
    }
}

/// Runs rounds until one is bad, and returns what was found.
///
/// # Panics If none is bad: then the check sees nothing, or there is nothing to see.
fn must_detect<T, E>(what: &str, seeds: Range<u64>, round: impl Fn(u64) -> Result<T, E>) -> E {
    let found = seeds.clone().find_map(|seed| round(seed).err());
    found.unwrap_or_else(|| panic!("{what}: nothing was detected with seeds {seeds:?}"))
}

/// Gets, puts, deletes and batches, slot by slot.
#[test]
fn slots_are_linearizable() {
    SLOTS.campaign(32);
}

/// All slots together, exactly.
#[test]
fn batches_and_snapshots_are_linearizable() {
    WHOLE.campaign(48);
}

/// More calls than can be searched, and views held for longer.
#[test]
fn long_histories_keep_the_rules() {
    LONG.campaign(10);
}
