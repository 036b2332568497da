//! Random operations with a model of their result.

use super::tools;
use crate::content::{self, Content};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use whitewater::{DB, WriteBatch};

/// One operation. A family is given by its index in [`Workload::families`], which is also its
/// number.
#[derive(Debug, Clone)]
pub enum Op {
    Put(usize, Vec<u8>, Vec<u8>),
    Delete(usize, Vec<u8>),
    SingleDelete(usize, Vec<u8>),
    DeleteRange(usize, Vec<u8>, Vec<u8>),
}

impl Op {
    /// As `ldb dump_wal` prints it.
    pub fn dumped(&self) -> String {
        let hex = |bytes: &Vec<u8>| tools::hex(bytes);
        match self {
            Op::Put(f, key, value) => format!("PUT({f}) : {} : {}", hex(key), hex(value)),
            Op::Delete(f, key) => format!("DELETE({f}) : {}", hex(key)),
            Op::SingleDelete(f, key) => format!("SINGLE_DELETE({f}) : {}", hex(key)),
            Op::DeleteRange(f, from, to) => {
                format!("DELETE_RANGE({f}) : {} {}", hex(from), hex(to))
            }
        }
    }
}

/// A source of operations.
pub struct Workload {
    pub families: Vec<String>,
    /// The result of the operations so far.
    pub model: Content,
    pub rng: StdRng,
    /// Most bytes of a value.
    pub longest: usize,
    /// Keys that were written once and may be single-deleted, by family.
    once: Vec<Vec<Vec<u8>>>,
    /// Number of ordinary keys.
    keys: u32,
    next_once: u32,
}

impl Workload {
    /// A generator for each `seed`. The number in `WHITEWATER_SEED` is added to it, for campaigns.
    pub fn new(seed: u64, families: &[&str], keys: u32) -> Workload {
        let more = std::env::var("WHITEWATER_SEED").unwrap_or_default();
        let more: u64 = more.parse().unwrap_or(0);
        println!("seed {seed} + {more} (WHITEWATER_SEED)");
        let seed = seed + more;
        Workload {
            families: families.iter().map(|&f| f.to_owned()).collect(),
            model: families
                .iter()
                .map(|&f| (f.to_owned(), Default::default()))
                .collect(),
            rng: StdRng::seed_from_u64(seed),
            longest: usize::MAX,
            once: vec![Vec::new(); families.len()],
            keys,
            next_once: 0,
        }
    }

    /// Makes the operations of one batch and applies them to the model.
    pub fn batch(&mut self, length: usize) -> Vec<Op> {
        (0..length)
            .map(|_| {
                let op = self.operation();
                self.apply(&op);
                op
            })
            .collect()
    }

    /// Writes a batch that was made.
    pub fn write(&self, db: &DB, operations: &[Op]) {
        let mut batch = WriteBatch::default();
        for op in operations {
            let (Op::Put(f, ..)
            | Op::Delete(f, _)
            | Op::SingleDelete(f, _)
            | Op::DeleteRange(f, ..)) = op;
            let cf = content::cf(db, &self.families[*f]);
            match op {
                Op::Put(_, key, value) => batch.put_cf(&cf, key, value),
                Op::Delete(_, key) => batch.delete_cf(&cf, key),
                Op::SingleDelete(_, key) => batch.single_delete_cf(&cf, key),
                Op::DeleteRange(_, from, to) => batch.delete_range_cf(&cf, from, to),
            }
        }
        db.write(batch).unwrap();
    }

    /// Makes and writes batches.
    pub fn run(&mut self, db: &DB, batches: usize) -> Vec<Vec<Op>> {
        (0..batches)
            .map(|_| {
                let length = self.rng.random_range(1..8);
                let operations = self.batch(length);
                self.write(db, &operations);
                operations
            })
            .collect()
    }

    fn operation(&mut self) -> Op {
        let family = self.rng.random_range(0..self.families.len());
        match self.rng.random_range(0..100) {
            0..70 => Op::Put(family, self.key(), self.value()),
            70..82 => Op::Delete(family, self.key()),
            82..90 => {
                self.next_once += 1;
                let key = format!("once{:06}", self.next_once).into_bytes();
                self.once[family].push(key.clone());
                Op::Put(family, key, self.value())
            }
            90..95 if !self.once[family].is_empty() => {
                let at = self.rng.random_range(0..self.once[family].len());
                Op::SingleDelete(family, self.once[family].swap_remove(at))
            }
            95..98 => {
                let from = self.rng.random_range(0..self.keys);
                let to = from + self.rng.random_range(1..=self.keys / 20);
                Op::DeleteRange(family, ordinary(from), ordinary(to))
            }
            _ => Op::Put(family, self.binary_key(), self.value()),
        }
    }

    /// An ordinary key.
    pub fn key(&mut self) -> Vec<u8> {
        ordinary(self.rng.random_range(0..self.keys))
    }

    /// Any bytes, or none, that sort below the ordinary keys.
    fn binary_key(&mut self) -> Vec<u8> {
        let length = self.rng.random_range(0..12);
        let mut key: Vec<u8> = (0..length).map(|_| self.rng.random()).collect();
        if let Some(first) = key.first_mut() {
            *first %= b'k';
        }
        key
    }

    /// A value. Half of its bytes are random. Some values are empty, and a few are longer than a
    /// block of a log.
    pub fn value(&mut self) -> Vec<u8> {
        let length = match self.rng.random_range(0..200) {
            0..5 => 0,
            5..195 => self.rng.random_range(1..160),
            195..199 => self.rng.random_range(1_000..6_000),
            _ => self.rng.random_range(30_000..40_000),
        };
        let length = length.min(self.longest);
        let mut value = vec![b'.'; length];
        self.rng.fill(&mut value[..length / 2]);
        value
    }

    /// Applies an operation to the model.
    pub fn apply(&mut self, op: &Op) {
        let (Op::Put(f, ..) | Op::Delete(f, _) | Op::SingleDelete(f, _) | Op::DeleteRange(f, ..)) =
            op;
        let pairs = self.model.get_mut(&self.families[*f]).expect("listed");
        match op {
            Op::Put(_, key, value) => {
                pairs.insert(key.clone(), value.clone());
            }
            Op::Delete(_, key) | Op::SingleDelete(_, key) => {
                pairs.remove(key);
            }
            Op::DeleteRange(_, from, to) => pairs.retain(|key, _| key < from || key >= to),
        }
    }
}

fn ordinary(number: u32) -> Vec<u8> {
    format!("k{number:06}").into_bytes()
}
