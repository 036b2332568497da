//! Random writes, decisions, snapshots, reads and walks, against a map of all versions.

use super::{Db, KINDS};
use crate::db::timestamps::Stamped;
use crate::options::read::{ReadSpec, WriteSpec};
use crate::read::db_iter::DbIter;
use rand::rngs::StdRng;
use rand::seq::{IndexedMutRandom, IndexedRandom};
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use whitewater_concurrent::undecided::NumberRange;
use whitewater_storage::batch::Batch;
use whitewater_storage::key::ValueType;

const KEYS: [&str; 7] = ["a", "a1", "a2", "b", "b1", "c", "d"];

/// A key's versions: number, type and value, oldest first.
type Versions = Vec<(u64, ValueType, String)>;

/// What a read sees.
#[derive(Clone)]
struct Point {
    upto: u64,
    hidden: Vec<NumberRange>,
}

impl Point {
    fn sees(&self, number: u64) -> bool {
        let is_in = |r: &NumberRange| (r.first..=r.last).contains(&number);
        number <= self.upto && !self.hidden.iter().any(is_in)
    }
}

/// A walk: what it shows, and where it is.
struct Walk {
    it: DbIter,
    shown: Vec<(String, String)>,
    at: Option<usize>,
}

impl Walk {
    fn step(&mut self, rng: &mut StdRng) {
        let target = *KEYS.choose(rng).unwrap();
        let shown = &self.shown;
        let (it, target_bytes) = (&mut self.it, target.as_bytes());
        self.at = match rng.random_range(0..12) {
            0 => {
                it.seek_to_first();
                Some(0)
            }
            1 => {
                it.seek_to_last();
                shown.len().checked_sub(1)
            }
            2 => {
                it.seek(target_bytes);
                Some(shown.partition_point(|(key, _)| &key[..] < target))
            }
            3 => {
                it.seek_for_prev(target_bytes);
                let past = shown.partition_point(|(key, _)| &key[..] <= target);
                past.checked_sub(1)
            }
            4..8 => {
                it.next();
                self.at.map(|at| at + 1)
            }
            _ => {
                it.prev();
                self.at.and_then(|at| at.checked_sub(1))
            }
        };
        self.at = self.at.filter(|at| *at < shown.len());
        let expected = self.at.map(|at| &shown[at]);
        let expected = expected.map(|(key, value)| (key.as_bytes(), value.as_bytes()));
        assert_eq!(self.it.key().zip(self.it.value()), expected);
        assert_eq!(self.it.status(), Ok(()));
    }
}

struct Run {
    versions: BTreeMap<&'static str, Versions>,
    open: Vec<NumberRange>,
    snapshots: Vec<(ReadSpec, Point)>,
    walks: Vec<Walk>,
    db: Db,
}

impl Run {
    fn write(&mut self, rng: &mut StdRng) {
        let count = rng.random_range(1..4);
        let first = self.db.next_number();
        let mut batch = Batch::default();
        for number in first..first + count {
            let key = *KEYS.choose(rng).unwrap();
            let (ty, value) = match rng.random_range(0..5) {
                0 => (ValueType::Deletion, String::new()),
                1 | 2 => (ValueType::Merge, format!("m{number}")),
                _ => (ValueType::Value, format!("v{number}")),
            };
            batch.push(0, ty, key.as_bytes(), value.as_bytes());
            let versions = self.versions.entry(key).or_default();
            versions.push((number, ty, value));
        }
        let last = first + count - 1;
        if rng.random_ratio(1, 3) {
            let range = NumberRange { first, last };
            self.db.undecided().enter([range]);
            self.open.push(range);
        }
        let spec = WriteSpec::default();
        let engine = self.db.engine();
        engine.write(batch, &Stamped::default(), &spec).unwrap();
        assert_eq!(engine.latest_sequence_number(), last);
    }

    fn decide(&mut self, rng: &mut StdRng) {
        let mut firsts = Vec::new();
        for _ in 0..rng.random_range(1..4) {
            if !self.open.is_empty() {
                let at = rng.random_range(0..self.open.len());
                firsts.push(self.open.swap_remove(at).first);
            }
        }
        self.db.undecided().decide(firsts);
    }

    /// A read now or at a snapshot, and what it sees.
    fn any_read(&self, rng: &mut StdRng) -> (ReadSpec, Point) {
        if let Some(snapshot) = self.snapshots.choose(rng)
            && rng.random()
        {
            return snapshot.clone();
        }
        (self.db.now(), self.now())
    }

    fn now(&self) -> Point {
        Point {
            upto: self.db.engine().latest_sequence_number(),
            hidden: self.open.clone(),
        }
    }

    fn value(&self, key: &str, point: &Point) -> Option<String> {
        let mut value: Option<String> = None;
        for (number, ty, operand) in self.versions.get(key)? {
            if !point.sees(*number) {
                continue;
            }
            value = match (ty, value) {
                (ValueType::Deletion, _) => None,
                (ValueType::Merge, Some(below)) => Some(format!("{below},{operand}")),
                _ => Some(operand.clone()),
            };
        }
        value
    }

    fn all(&self, point: &Point) -> Vec<(String, String)> {
        let found = |key: &&str| Some((key.to_string(), self.value(key, point)?));
        KEYS.iter().filter_map(found).collect()
    }

    fn step(&mut self, rng: &mut StdRng) {
        let (spec, point) = self.any_read(rng);
        match rng.random_range(0..30) {
            0..8 => self.write(rng),
            8..11 => self.decide(rng),
            11 if self.snapshots.len() < 4 => {
                self.snapshots.push((self.db.snapshot(), self.now()));
            }
            11 => drop(self.snapshots.swap_remove(rng.random_range(0..4))),
            12 if self.walks.len() < 3 => self.walks.push(Walk {
                it: self.db.iter(&spec),
                shown: self.all(&point),
                at: None,
            }),
            12 => drop(self.walks.swap_remove(rng.random_range(0..3))),
            13..25 => {
                let walk = self.walks.choose_mut(rng);
                if let Some(walk) = walk {
                    walk.step(rng);
                }
            }
            25..28 => {
                let key = KEYS.choose(rng).unwrap();
                assert_eq!(self.db.value(key, &spec), self.value(key, &point), "{key}");
            }
            28 => assert_eq!(self.db.all(&spec), self.all(&point)),
            _ if self.may_flush() && rng.random_ratio(1, 4) => self.db.flush(),
            _ => {}
        }
    }

    fn may_flush(&self) -> bool {
        let mut points = self.snapshots.iter().map(|(_, point)| point);
        self.open.is_empty() && points.all(|point| point.hidden.is_empty())
    }
}

#[test]
fn random_reads_beside_undecided_writes_match_the_model() {
    for seed in 0..40 {
        for kind in &KINDS {
            let rng = &mut StdRng::seed_from_u64(seed);
            let mut run = Run {
                db: Db::open(kind),
                versions: BTreeMap::new(),
                open: Vec::new(),
                snapshots: Vec::new(),
                walks: Vec::new(),
            };
            for _ in 0..400 {
                run.step(rng);
            }
        }
    }
}
