//! Random histories of a few keys, and what reading them must give, computed in the plainest
//! way. For the tests of look-ups and iterators.

use super::testing::{Append, VecIterator, entity_v1, entity_v2};
use crate::entry::range_tombstones::FragmentedTombstones;
use crate::memtable::{Home, Inserter, Memtable};
use crate::operators::merge::MergeOperator;
use crate::options::CfOptions;
use crate::read::merging::merging_iterator;
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::{IndexedRandom, SliceRandom};
use whitewater_concurrent::undecided::UndecidedRanges;
use whitewater_storage::ErrorKind;
use whitewater_storage::internal_iterator::BoxedIterator;
use whitewater_storage::key::{
    InternalComparator, SequenceNumber, UserComparator, ValueType, internal_key,
};
use whitewater_storage::rangedel::RangeTombstone;

/// The user keys: the empty one, prefixes of one another, extreme bytes.
pub(crate) const KEYS: [&[u8]; 10] = [
    b"",
    b"\0",
    b"a",
    b"a\0",
    b"aa",
    b"aaaaaaaaaaaaaaaaaaa",
    b"ab",
    b"b",
    b"\xff",
    b"\xff\xff",
];

/// One point entry.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub user_key: Vec<u8>,
    pub seq: SequenceNumber,
    pub ty: ValueType,
    pub stored: Vec<u8>,
    /// The value of a base entry, if it can be read.
    value: Option<Vec<u8>>,
}

/// Point entries and range tombstones with random sequence numbers.
#[derive(Debug)]
pub(crate) struct History {
    pub entries: Vec<Entry>,
    pub tombstones: Vec<RangeTombstone>,
    pub last: SequenceNumber,
    comparator: UserComparator,
}

/// The result of reading a key.
pub(crate) type Outcome = Result<Option<Vec<u8>>, ErrorKind>;

/// What a walk shows: user keys with their values, or with the reason why a value cannot be
/// read.
pub(crate) type Shown = Vec<(Vec<u8>, Result<Vec<u8>, ErrorKind>)>;

impl History {
    /// A random history. Entry types that cannot be read, and merges that fail, occur only with
    /// `failures`.
    pub fn random(rng: &mut StdRng, comparator: &UserComparator, failures: bool) -> Self {
        let keys = rng.random_range(1..=KEYS.len());
        // Few writes per key produce deletions and gaps; many writes produce seeks.
        let last = *[5, 30, 200].choose(rng).unwrap();
        let merges = rng.random_range(0..6);
        let deletions = rng.random_range(0..4);
        let tombstones = *[0, 0, 10, 40].choose(rng).unwrap();
        let mut history = History {
            entries: Vec::new(),
            tombstones: Vec::new(),
            last,
            comparator: comparator.clone(),
        };
        for seq in 0..=last {
            if rng.random_ratio(tombstones, 100) {
                history.tombstones.push(RangeTombstone {
                    start: KEYS.choose(rng).unwrap().to_vec(),
                    end: KEYS.choose(rng).unwrap().to_vec(),
                    seq,
                });
                // The tombstones and points of an ingested file have the same number.
                if rng.random_ratio(2, 3) {
                    continue;
                }
            }
            let user_key = KEYS[..keys].choose(rng).unwrap().to_vec();
            let entry = Entry::random(rng, user_key, seq, merges, deletions, failures);
            history.entries.push(entry);
        }
        history
    }

    /// The same without the point entries that have the numbers of `hidden`.
    pub fn without(&self, hidden: &UndecidedRanges) -> Self {
        let mut entries = self.entries.clone();
        entries.retain(|e| !hidden.contains(e.seq));
        History {
            entries,
            tombstones: self.tombstones.clone(),
            last: self.last,
            comparator: self.comparator.clone(),
        }
    }

    /// The result of reading `user_key` at `sequence`.
    pub fn get(&self, user_key: &[u8], sequence: SequenceNumber) -> Outcome {
        let covered_below = self
            .tombstones
            .iter()
            .filter(|t| t.seq <= sequence)
            .filter(|t| self.comparator.compare(&t.start, user_key).is_le())
            .filter(|t| self.comparator.compare(user_key, &t.end).is_lt())
            .map(|t| t.seq)
            .max()
            .unwrap_or(0);
        let mut versions: Vec<&Entry> = self
            .entries
            .iter()
            .filter(|e| e.user_key == user_key && e.seq <= sequence && e.seq >= covered_below)
            .collect();
        versions.sort_by_key(|e| e.seq);
        // The key's state after each write, from the oldest on.
        let mut state: Result<Option<Vec<u8>>, ErrorKind> = Ok(None);
        let mut operands: Vec<&[u8]> = Vec::new();
        for e in versions {
            if e.ty == ValueType::Merge {
                operands.push(&e.stored);
                continue;
            }
            operands.clear();
            state = match e.ty {
                ValueType::Deletion
                | ValueType::SingleDeletion
                | ValueType::DeletionWithTimestamp => Ok(None),
                ValueType::BlobIndex => Err(ErrorKind::Corruption),
                // An entity without a default column is empty.
                _ => Ok(Some(e.value.clone().unwrap_or_default())),
            };
        }
        let base = state?;
        if operands.is_empty() {
            return Ok(base);
        }
        Append
            .full_merge(user_key, base.as_deref(), &operands)
            .map(Some)
            .ok_or(ErrorKind::Corruption)
    }

    /// All keys that show something at `sequence` within the bounds, in order.
    pub fn scan(
        &self,
        sequence: SequenceNumber,
        lower: Option<&[u8]>,
        upper: Option<&[u8]>,
    ) -> Shown {
        let mut keys = KEYS.to_vec();
        keys.sort_by(|a, b| self.comparator.compare(a, b));
        keys.into_iter()
            .filter(|k| lower.is_none_or(|l| self.comparator.compare(k, l).is_ge()))
            .filter(|k| upper.is_none_or(|u| self.comparator.compare(k, u).is_lt()))
            .filter_map(|k| Some((k.to_vec(), self.get(k, sequence).transpose()?)))
            .collect()
    }

    /// The entries, distributed at random over a few sources.
    pub fn cursors(&self, rng: &mut StdRng) -> Vec<BoxedIterator> {
        let n = rng.random_range(1..6);
        let mut parts = vec![Vec::new(); n];
        for e in &self.entries {
            parts[rng.random_range(0..n)].push(e);
        }
        (parts.into_iter())
            .map(|part| self.source(part, rng))
            .collect()
    }

    /// Some of the entries as a source, which may be a memtable.
    pub fn source(&self, entries: Vec<&Entry>, rng: &mut StdRng) -> BoxedIterator {
        if rng.random_ratio(1, 3) {
            return self.in_memory(entries, rng);
        }
        let entries = entries.into_iter();
        let entries = entries.map(|e| (internal_key(&e.user_key, e.seq, e.ty), e.stored.clone()));
        let c = InternalComparator::new(self.comparator.clone());
        Box::new(VecIterator::new(c, entries.collect()))
    }

    /// Some of the entries in a memtable, inserted in random order.
    fn in_memory(&self, mut entries: Vec<&Entry>, rng: &mut StdRng) -> BoxedIterator {
        let options = CfOptions {
            comparator: self.comparator.clone(),
            write_buffer_size: 64 << 10,
            ..CfOptions::default()
        };
        let memtable = Memtable::new(
            &options,
            Home {
                family: "default",
                budget_client: None,
            },
            0,
            0,
        );
        if rng.random() {
            entries.shuffle(rng);
        }
        let mut inserter = Inserter::new(false);
        for e in entries {
            let added = inserter.add(&memtable, e.ty, &e.user_key, &e.stored, e.seq);
            added.expect("each number is used once");
        }
        inserter.finish().expect("each number is used once");
        memtable.iter()
    }

    /// The entries as one source.
    pub fn merged(&self, rng: &mut StdRng) -> BoxedIterator {
        if rng.random_ratio(1, 3) {
            return self.in_memory(self.entries.iter().collect(), rng);
        }
        let c = InternalComparator::new(self.comparator.clone());
        merging_iterator(c, self.cursors(rng))
    }

    /// The tombstones, fragmented.
    pub fn fragments(&self) -> FragmentedTombstones {
        FragmentedTombstones::new(&self.tombstones, &self.comparator)
    }
}

impl Entry {
    fn random(
        rng: &mut StdRng,
        user_key: Vec<u8>,
        seq: SequenceNumber,
        merges: u32,
        deletions: u32,
        failures: bool,
    ) -> Entry {
        let text = format!("v{seq}").into_bytes();
        let (ty, stored, value) = match rng.random_range(0..12) {
            n if n < merges => {
                let fails = failures && rng.random_ratio(1, 30);
                let operand = if fails { b"FAIL".to_vec() } else { text };
                (ValueType::Merge, operand, None)
            }
            n if n < merges + deletions => {
                let ty = *[ValueType::Deletion, ValueType::SingleDeletion]
                    .choose(rng)
                    .unwrap();
                (ty, Vec::new(), None)
            }
            10 => Entry::entity(rng, &text),
            11 if failures => {
                let types = [ValueType::BlobIndex, ValueType::DeletionWithTimestamp];
                (*types.choose(rng).unwrap(), text, None)
            }
            9 => {
                let stored = [&text[..], b"\0\x01\x02\x03\x04\x05\x06\x07"].concat();
                (ValueType::ValuePreferredSeqno, stored, Some(text))
            }
            8 => (ValueType::Value, Vec::new(), Some(Vec::new())),
            _ => (ValueType::Value, text.clone(), Some(text)),
        };
        Entry {
            user_key,
            seq,
            ty,
            stored,
            value,
        }
    }

    fn entity(rng: &mut StdRng, text: &[u8]) -> (ValueType, Vec<u8>, Option<Vec<u8>>) {
        let columns: [(&[u8], &[u8]); 3] = [(b"", text), (b"c1", b"x"), (b"c2", b"")];
        let first = rng.random_range(0..2);
        let make = if rng.random() { entity_v1 } else { entity_v2 };
        let value = (first == 0).then(|| text.to_vec());
        (ValueType::WideColumnEntity, make(&columns[first..]), value)
    }
}
