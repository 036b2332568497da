//! Random steps with transactions, and a model of what they lead to.

use super::{FAMILIES, Shown};
use crate::content::Content;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Keys of a family.
const KEYS: u32 = 30;

/// More transactions than these are not left prepared at once.
const UNDECIDED: usize = 4;

/// Family, key, and value or deletion.
type Change = (usize, String, Option<String>);

/// A source of steps. `scripts/InteropTransactions.java` says what a step is.
pub struct Script {
    rng: StdRng,
    content: Content,
    /// The changes of the prepared transactions, by name, and whose turn it was.
    prepared: BTreeMap<String, (bool, Vec<Change>)>,
    /// How many were begun so far.
    begun: u32,
    /// How many were decided by the engine that did not prepare them.
    pub decided_elsewhere: u32,
    steps: String,
    shown: Vec<Shown>,
}

impl Script {
    pub fn new(seed: u64) -> Script {
        let family = |name: &str| (name.to_owned(), Default::default());
        Script {
            rng: StdRng::seed_from_u64(seed),
            content: FAMILIES.map(family).into(),
            prepared: BTreeMap::new(),
            begun: 0,
            decided_elsewhere: 0,
            steps: String::new(),
            shown: Vec::new(),
        }
    }

    /// The steps of the next turn, one a line, and what they must show. `theirs` is whether it is
    /// RocksDB's, which compacts, too.
    pub fn turn(&mut self, theirs: bool) -> (String, Vec<Shown>) {
        self.show();
        for _ in 0..30 {
            match self.rng.random_range(0..20) {
                0..6 => {
                    let change = self.change();
                    self.write("", &change);
                    self.apply(&[change]);
                }
                6..13 => self.transaction(theirs),
                13..16 => self.decide(theirs),
                16..18 => self.in_a_family("flush"),
                18 => self.in_a_family(if theirs { "compact" } else { "flush" }),
                _ => {
                    self.step("reopen");
                    self.show();
                }
            }
        }
        self.show();
        let steps = std::mem::take(&mut self.steps);
        (steps, std::mem::take(&mut self.shown))
    }

    fn step(&mut self, step: &str) {
        writeln!(self.steps, "{step}").expect("strings take everything");
    }

    fn show(&mut self) {
        self.step("show");
        let names = self.prepared.keys().cloned().collect();
        self.shown.push((names, self.content.clone()));
    }

    fn in_a_family(&mut self, what: &str) {
        let family = FAMILIES[self.rng.random_range(0..2)];
        self.step(&format!("{what} {family}"));
    }

    /// A change of a key that no prepared transaction has locked, or would have: in RocksDB, those
    /// that an opening has found hold no locks.
    fn change(&mut self) -> Change {
        loop {
            let family = self.rng.random_range(0..2);
            let key = format!("k{:02}", self.rng.random_range(0..KEYS));
            let changes = self.prepared.values().flat_map(|(_, changes)| changes);
            if changes.into_iter().any(|c| (c.0, &c.1) == (family, &key)) {
                continue;
            }
            let value = self.rng.random_range(0..1_000_000);
            let put = self.rng.random_range(0..4) > 0;
            return (family, key, put.then(|| format!("v{value}")));
        }
    }

    /// A step that makes a change; `who` is empty or the name of a transaction and a space.
    fn write(&mut self, who: &str, (family, key, value): &Change) {
        let family = FAMILIES[*family];
        match value {
            Some(value) => self.step(&format!("{who}put {family} {key} {value}")),
            None => self.step(&format!("{who}delete {family} {key}")),
        }
    }

    fn apply(&mut self, changes: &[Change]) {
        for (family, key, value) in changes {
            let pairs = self.content.get_mut(FAMILIES[*family]).expect("there");
            match value {
                Some(value) => pairs.insert(key.clone().into(), value.clone().into()),
                None => pairs.remove(key.as_bytes()),
            };
        }
    }

    /// Begins a transaction, which often changes a key twice, and ends it or leaves it prepared.
    ///
    /// Of its changes at most one is of a key that it has changed before. When RocksDB 11.8 recovers
    /// what was flushed under `WRITE_PREPARED`, it forgets a key that it has just found again, so
    /// it counts too few numbers with the next one, and shows changes that are not committed.
    fn transaction(&mut self, theirs: bool) {
        let name = format!("t{:03}", self.begun);
        self.begun += 1;
        self.step(&format!("begin {name}"));
        let mut changes: Vec<Change> = Vec::new();
        for _ in 0..self.rng.random_range(1..6) {
            let change = self.change();
            if !changes.iter().any(|c| (c.0, &c.1) == (change.0, &change.1)) {
                changes.push(change);
            }
        }
        if self.rng.random_range(0..2) == 0 {
            let again = self.rng.random_range(0..changes.len());
            let (family, key) = (changes[again].0, changes[again].1.clone());
            let at = self.rng.random_range(again + 1..=changes.len());
            let (_, _, value) = self.change();
            changes.insert(at, (family, key, value));
        }
        for change in &changes {
            self.write(&format!("{name} "), change);
        }
        let how = self.rng.random_range(0..10);
        if how < 6 {
            self.step(&format!("prepare {name}"));
        }
        match how {
            0..3 if self.prepared.len() < UNDECIDED => {
                self.prepared.insert(name, (theirs, changes));
            }
            3 | 9 => self.step(&format!("rollback {name}")),
            _ => {
                self.step(&format!("commit {name}"));
                self.apply(&changes);
            }
        }
    }

    /// Commits or rolls back one of those that are prepared.
    fn decide(&mut self, theirs: bool) {
        if self.prepared.is_empty() {
            return;
        }
        let at = self.rng.random_range(0..self.prepared.len());
        let name = self.prepared.keys().nth(at).expect("counted").clone();
        let (whose, changes) = self.prepared.remove(&name).expect("listed");
        self.decided_elsewhere += u32::from(whose != theirs);
        if self.rng.random_range(0..3) == 0 {
            self.step(&format!("rollback {name}"));
        } else {
            self.step(&format!("commit {name}"));
            self.apply(&changes);
        }
    }
}
