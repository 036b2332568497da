//! Random calls on a batch with an index, beside a model: what the batch says, what it says over
//! the database and over snapshots of it, and iterators of all kinds that live on while the batch
//! and the database change.

use crate::harness::{self, Db, campaign, tiny};
use rand::rngs::StdRng;
use rand::seq::{IndexedMutRandom, IndexedRandom};
use rand::{Rng, SeedableRng};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use whitewater::{
    ColumnFamilyDescriptor, DBRawIteratorWithThreadMode, ErrorKind, IndexedOperation, Options,
    ReadOptions, SliceTransform, WideColumns, WriteBatchWithIndex,
};

type Key = Vec<u8>;
type Content = BTreeMap<Key, Vec<u8>>;
type RawIter<'a> = DBRawIteratorWithThreadMode<'a, Db>;

/// The families: the second one orders keys backwards, the third one has prefixes, the fourth one
/// a memtable that groups keys by prefix.
const FAMILIES: [&str; 4] = ["default", "backwards", "prefixes", "hashed"];

/// How an iterator chooses the prefix that it keeps to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Prefixes {
    None,
    /// `prefix_same_as_start`.
    Start,
    /// What a memtable of prefixes does by itself.
    Seek,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Change {
    Put(Vec<u8>),
    /// An entity with this default column, and with the key in another one.
    PutEntity(Vec<u8>),
    Delete,
    SingleDelete,
    Merge(Vec<u8>),
}

type Change3 = (usize, Key, Change);

/// Applies a change to the value of a key.
fn apply(value: Option<Vec<u8>>, change: &Change) -> Option<Vec<u8>> {
    match change {
        Change::Put(value) | Change::PutEntity(value) => Some(value.clone()),
        Change::Delete | Change::SingleDelete => None,
        Change::Merge(operand) => Some(match value {
            Some(value) => [&value[..], operand].join(&b','),
            None => operand.clone(),
        }),
    }
}

fn columns<'a>(key: &'a [u8], value: &'a [u8]) -> [(&'a [u8], &'a [u8]); 2] {
    [(b"of", key), (b"", value)]
}

/// An operation with its key and its value, of an entity its default column.
type Shown<'a> = (&'static str, &'a [u8], Vec<u8>);

fn shown(operation: IndexedOperation<'_>) -> Shown<'_> {
    match operation {
        IndexedOperation::Put { key, value } => ("put", key, value.to_vec()),
        IndexedOperation::PutEntity { key, entity } => {
            let columns = WideColumns::deserialize(entity).unwrap();
            assert_eq!((columns.len(), columns.get("of")), (2, Some(key)));
            ("entity", key, columns.default_column().unwrap().to_vec())
        }
        IndexedOperation::Merge { key, value } => ("merge", key, value.to_vec()),
        IndexedOperation::Delete { key } => ("delete", key, Vec::new()),
        IndexedOperation::SingleDelete { key } => ("single", key, Vec::new()),
    }
}

fn prefix(key: &[u8]) -> Option<&[u8]> {
    key.get(..2)
}

/// What an iterator must show.
struct Walk<'a> {
    iter: RawIter<'a>,
    /// In the order of the family.
    content: Vec<(Key, Vec<u8>)>,
    backwards: bool,
    lower: Option<Key>,
    upper: Option<Key>,
    prefixes: Prefixes,
    /// What may be shown since the last seek, and where the iterator stands in it.
    view: Vec<(Key, Vec<u8>)>,
    at: Option<usize>,
}

impl Walk<'_> {
    fn order(&self, a: &[u8], b: &[u8]) -> Ordering {
        if self.backwards { b.cmp(a) } else { a.cmp(b) }
    }

    fn keep_to(&mut self, prefix_of: Option<&[u8]>) {
        self.view = (self.content.iter())
            .filter(|(key, _)| {
                self.lower
                    .as_ref()
                    .is_none_or(|l| self.order(key, l).is_ge())
                    && self
                        .upper
                        .as_ref()
                        .is_none_or(|u| self.order(key, u).is_lt())
            })
            .filter(|(key, _)| match prefix_of.and_then(prefix) {
                Some(wanted) => prefix(key) == Some(wanted),
                None => true,
            })
            .cloned()
            .collect();
    }

    /// The key whose prefix an iterator sent to `target` keeps to.
    fn limit<'k>(&'k self, target: &'k [u8], forward: bool) -> Option<&'k [u8]> {
        let bound = match forward {
            true => self
                .lower
                .as_ref()
                .filter(|l| self.order(target, l).is_lt()),
            false => self
                .upper
                .as_ref()
                .filter(|u| self.order(target, u).is_ge()),
        };
        match self.prefixes {
            Prefixes::None => None,
            Prefixes::Start => Some(target),
            Prefixes::Seek => Some(bound.map_or(target, |bound| bound)),
        }
    }

    fn step(&mut self, rng: &mut StdRng) {
        let kind = rng.random_range(0..if self.at.is_some() { 16 } else { 4 });
        let step = match kind {
            0 => {
                self.iter.seek_to_first();
                self.keep_to(None);
                let first = self.view.first().map(|(key, _)| key.clone());
                if self.prefixes == Prefixes::Start {
                    self.keep_to(first.as_deref());
                }
                let find = |(key, _): &(Key, Vec<u8>)| Some(key) == first.as_ref();
                self.at = self.view.iter().position(find);
                "seek_to_first".to_owned()
            }
            1 => {
                self.iter.seek_to_last();
                self.keep_to(None);
                let last = self.view.last().map(|(key, _)| key.clone());
                if self.prefixes == Prefixes::Start {
                    self.keep_to(last.as_deref());
                }
                let find = |(key, _): &(Key, Vec<u8>)| Some(key) == last.as_ref();
                self.at = self.view.iter().position(find);
                "seek_to_last".to_owned()
            }
            2 => {
                let target = key(rng);
                self.iter.seek(&target);
                let limit = self.limit(&target, true).map(<[u8]>::to_vec);
                self.keep_to(limit.as_deref());
                let find = |(key, _): &(Key, Vec<u8>)| self.order(key, &target).is_ge();
                self.at = self.view.iter().position(find);
                format!("seek {}", harness::show(&target))
            }
            3 => {
                let target = key(rng);
                self.iter.seek_for_prev(&target);
                let limit = self.limit(&target, false).map(<[u8]>::to_vec);
                self.keep_to(limit.as_deref());
                let find = |(key, _): &(Key, Vec<u8>)| self.order(key, &target).is_le();
                self.at = self.view.iter().rposition(find);
                format!("seek_for_prev {}", harness::show(&target))
            }
            4..=10 => {
                self.iter.next();
                self.at = self.at.map(|at| at + 1).filter(|&at| at < self.view.len());
                "next".to_owned()
            }
            _ => {
                self.iter.prev();
                self.at = self.at.and_then(|at| at.checked_sub(1));
                "prev".to_owned()
            }
        };
        self.iter.status().unwrap();
        let wanted = self
            .at
            .map(|at| (&self.view[at].0[..], &self.view[at].1[..]));
        let (lower, upper) = (&self.lower, &self.upper);
        let columns = self.iter.columns().unwrap_or_default();
        let others: Vec<_> = columns.iter().filter(|c| !c.name.is_empty()).collect();
        assert!(others.len() <= 1, "{others:?}");
        if let [other] = others[..] {
            assert_eq!(
                (other.name, Some(other.value)),
                (&b"of"[..], self.iter.key())
            );
        }
        assert_eq!(
            self.iter.item(),
            wanted,
            "{step} in {lower:?}..{upper:?}, {:?}",
            self.prefixes
        );
    }
}

/// Few keys, some without a prefix.
fn key(rng: &mut StdRng) -> Key {
    let len = rng.random_range(1..=3);
    (0..len).map(|_| *b"abc".choose(rng).unwrap()).collect()
}

struct Model<'a> {
    db: &'a Db,
    batch: WriteBatchWithIndex,
    overwrite: bool,
    /// The database, by family.
    base: [Content; 4],
    changes: Vec<Change3>,
    savepoints: Vec<usize>,
    walks: Vec<Walk<'a>>,
    values: u32,
}

impl<'a> Model<'a> {
    /// The changes to a key, oldest first.
    fn on<'m>(&'m self, family: usize, key: &'m [u8]) -> impl Iterator<Item = &'m Change> {
        (self.changes.iter())
            .filter(move |(f, k, _)| *f == family && k == key)
            .map(|(.., change)| change)
    }

    fn over(&self, base: &Content, family: usize) -> Content {
        let mut content = base.clone();
        for (_, key, change) in self.changes.iter().filter(|(f, ..)| *f == family) {
            let value = apply(content.remove(key), change);
            value.and_then(|value| content.insert(key.clone(), value));
        }
        content
    }

    fn value(&mut self) -> Vec<u8> {
        self.values += 1;
        format!("v{}", self.values).into_bytes()
    }

    fn change(&mut self, rng: &mut StdRng) {
        let (family, key) = (rng.random_range(0..4), key(rng));
        let cf = self.db.cf_handle(FAMILIES[family]).unwrap();
        let named = family != 0 || rng.random();
        let value = self.value();
        let batch = &mut self.batch;
        let change = match (rng.random_range(0..12), named) {
            (10 | 11, true) => {
                batch.put_entity_cf(&cf, &key, columns(&key, &value));
                Change::PutEntity(value)
            }
            (10 | 11, false) => {
                batch.put_entity(&key, columns(&key, &value));
                Change::PutEntity(value)
            }
            (0..=3, true) => {
                batch.put_cf(&cf, &key, &value);
                Change::Put(value)
            }
            (0..=3, false) => {
                batch.put(&key, &value);
                Change::Put(value)
            }
            (4..=6, true) => {
                batch.merge_cf(&cf, &key, &value);
                Change::Merge(value)
            }
            (4..=6, false) => {
                batch.merge(&key, &value);
                Change::Merge(value)
            }
            (7 | 8, true) => {
                batch.delete_cf(&cf, &key);
                Change::Delete
            }
            (7 | 8, false) => {
                batch.delete(&key);
                Change::Delete
            }
            (_, true) => {
                batch.single_delete_cf(&cf, &key);
                Change::SingleDelete
            }
            (_, false) => {
                batch.single_delete(&key);
                Change::SingleDelete
            }
        };
        self.changes.push((family, key, change));
    }

    /// Writes to the database, beside the batch.
    fn write_beside(&mut self, rng: &mut StdRng) {
        let (family, key, value) = (rng.random_range(0..4), key(rng), self.value());
        let cf = self.db.cf_handle(FAMILIES[family]).unwrap();
        let content = &mut self.base[family];
        match rng.random_range(0..5) {
            4 => {
                let columns = columns(&key, &value);
                self.db.put_entity_cf(&cf, &key, columns).unwrap();
                content.insert(key, value);
            }
            0 => {
                self.db.delete_cf(&cf, &key).unwrap();
                content.remove(&key);
            }
            1 => {
                self.db.merge_cf(&cf, &key, &value).unwrap();
                let merged = apply(content.remove(&key), &Change::Merge(value));
                content.insert(key, merged.unwrap());
            }
            2 if rng.random_ratio(1, 4) => self.db.flush_cf(&cf).unwrap(),
            _ => {
                self.db.put_cf(&cf, &key, &value).unwrap();
                content.insert(key, value);
            }
        }
    }

    /// Writes the batch. What it deletes singly must have been put once, so such deletions are left
    /// to batches that are never written.
    fn write(&mut self) {
        if (self.changes.iter()).any(|(.., change)| *change == Change::SingleDelete) {
            return;
        }
        self.db.write_wbwi(self.batch.clone()).unwrap();
        for family in 0..4 {
            self.base[family] = self.over(&self.base[family], family);
        }
        self.batch.clear();
        self.changes.clear();
        self.savepoints.clear();
    }

    fn savepoint(&mut self, rng: &mut StdRng) {
        let outcome = match rng.random_range(0..5) {
            0..=2 => {
                self.batch.set_savepoint();
                self.savepoints.push(self.changes.len());
                return;
            }
            3 => {
                let last = self.savepoints.pop();
                last.inspect(|&len| self.changes.truncate(len));
                (self.batch.rollback_to_savepoint(), last)
            }
            _ => (self.batch.pop_savepoint(), self.savepoints.pop()),
        };
        match outcome {
            (outcome, Some(_)) => outcome.unwrap(),
            (outcome, None) => assert_eq!(outcome.unwrap_err().kind(), ErrorKind::NotFound),
        }
    }

    fn get(&self, rng: &mut StdRng) {
        let (family, key) = (rng.random_range(0..4), key(rng));
        let cf = self.db.cf_handle(FAMILIES[family]).unwrap();
        let in_base = self.base[family].get(&key).cloned();
        let wanted = self.on(family, &key).fold(in_base, apply);
        let readopts = ReadOptions::default();
        let found = (self.batch).get_from_batch_and_db_cf(self.db, &readopts, &cf, &key);
        assert_eq!(found.unwrap(), wanted);
        let decided = self
            .on(family, &key)
            .any(|c| !matches!(c, Change::Merge(_)));
        let alone = self.batch.get_from_batch_cf(&cf, &key);
        if decided || self.on(family, &key).count() == 0 {
            assert_eq!(alone.unwrap(), self.on(family, &key).fold(None, apply));
        } else {
            assert_eq!(alone.unwrap_err().kind(), ErrorKind::MergeInProgress);
        }
        if family == 0 {
            let found = self.batch.get_from_batch_and_db(self.db, &readopts, &key);
            assert_eq!(found.unwrap(), wanted);
        }
    }

    fn new_walk(&mut self, rng: &mut StdRng) {
        let family = rng.random_range(0..4);
        let cf = self.db.cf_handle(FAMILIES[family]).unwrap();
        let backwards = family == 1;
        let mut readopts = ReadOptions::default();
        let mut bounds = [(); 2].map(|()| rng.random_ratio(1, 3).then(|| key(rng)));
        if let [Some(a), Some(b)] = &bounds
            && (a > b) != backwards
        {
            bounds.reverse();
        }
        let [lower, upper] = bounds;
        lower
            .iter()
            .for_each(|key| readopts.set_iterate_lower_bound(&key[..]));
        upper
            .iter()
            .for_each(|key| readopts.set_iterate_upper_bound(&key[..]));
        let prefixes = match (family, rng.random_range(0..3)) {
            (2 | 3, 0) => Prefixes::Start,
            (3, 1) => Prefixes::Seek,
            _ => Prefixes::None,
        };
        readopts.set_prefix_same_as_start(prefixes == Prefixes::Start);
        readopts.set_total_order_seek(prefixes == Prefixes::None);
        let content = self.over(&self.base[family], family);
        let mut base = match family {
            0 if rng.random() => self.db.raw_iterator_opt(readopts),
            _ => self.db.raw_iterator_cf_opt(&cf, readopts),
        };
        if rng.random() {
            base.seek_to_last(); // where it stands does not matter
        }
        let mut content: Vec<_> = content.into_iter().collect();
        if backwards {
            content.reverse();
        }
        self.walks.push(Walk {
            iter: self.batch.iterator_with_base(base),
            content,
            backwards,
            lower,
            upper,
            prefixes,
            view: Vec::new(),
            at: None,
        });
    }

    /// The operations on a family, both ways.
    fn check_operations(&self, rng: &mut StdRng) {
        let family = rng.random_range(0..4);
        let cf = self.db.cf_handle(FAMILIES[family]).unwrap();
        let changes = self.changes.iter().filter(|(f, ..)| *f == family);
        let mut keys: Vec<&Key> = changes.map(|(_, key, _)| key).collect();
        keys.sort();
        keys.dedup();
        if family == 1 {
            keys.reverse();
        }
        let mut wanted = Vec::new();
        for key in &keys {
            let mut on: Vec<&Change> = self.on(family, key).collect();
            on.reverse();
            if self.overwrite {
                let merge = |change: &&&Change| matches!(change, Change::Merge(_));
                let merges = on.iter().take_while(merge).count();
                on.truncate(merges + 1);
            }
            wanted.extend(on.into_iter().map(|change| -> Shown<'_> {
                match change {
                    Change::Put(value) => ("put", key, value.clone()),
                    Change::PutEntity(value) => ("entity", key, value.clone()),
                    Change::Merge(value) => ("merge", key, value.clone()),
                    Change::Delete => ("delete", key, Vec::new()),
                    Change::SingleDelete => ("single", key, Vec::new()),
                }
            }));
        }
        let mut operations = self.batch.iterator_cf(&cf);
        operations.seek_to_first();
        for operation in &wanted {
            assert_eq!(operations.operation().map(shown).as_ref(), Some(operation));
            operations.next();
        }
        assert!(!operations.valid());
        operations.seek_to_last();
        for operation in wanted.iter().rev() {
            assert_eq!(operations.operation().map(shown).as_ref(), Some(operation));
            operations.prev();
        }
        assert!(!operations.valid());
        operations.status().unwrap();
    }

    fn step(&mut self, rng: &mut StdRng) {
        match rng.random_range(0..200) {
            0..60 => self.change(rng),
            60..75 => self.write_beside(rng),
            75..90 => self.savepoint(rng),
            90..110 => self.get(rng),
            110..120 => self.check_operations(rng),
            120 | 121 => self.write(),
            122 => {
                self.batch.clear();
                self.changes.clear();
                self.savepoints.clear();
            }
            123 | 124 => self.batch.put_log_data("note"),
            125..135 => self.new_walk(rng),
            135..140 if !self.walks.is_empty() => {
                self.walks
                    .swap_remove(rng.random_range(0..self.walks.len()));
            }
            _ => {
                if let Some(walk) = self.walks.choose_mut(rng) {
                    (0..4).for_each(|_| walk.step(rng));
                }
            }
        }
        assert_eq!(self.batch.count(), self.changes.len());
    }
}

fn options() -> (Options, Vec<ColumnFamilyDescriptor>) {
    let family = |name: &str| {
        let mut o = tiny();
        match name {
            "backwards" => o.set_comparator("backwards", Box::new(|a, b| b.cmp(a))),
            "prefixes" => o.set_prefix_extractor(SliceTransform::create_fixed_prefix(2)),
            "hashed" => {
                harness::set_memtable(&mut o, "hash_skip_list"); // with prefixes of 2 bytes
            }
            _ => {}
        }
        ColumnFamilyDescriptor::new(name, o)
    };
    (tiny(), FAMILIES.iter().map(|name| family(name)).collect())
}

#[test]
fn random_calls_match_the_model() {
    campaign(
        "indexed_batch::model::random_calls_match_the_model",
        1,
        6,
        |seed| {
            let rng = &mut StdRng::seed_from_u64(seed);
            let dir = tempfile::tempdir().unwrap();
            let (options, families) = options();
            let db = Db::open_cf_descriptors(&options, dir.path(), families).unwrap();
            let overwrite = rng.random();
            let mut model = Model {
                db: &db,
                batch: WriteBatchWithIndex::new(0, overwrite),
                overwrite,
                base: Default::default(),
                changes: Vec::new(),
                savepoints: Vec::new(),
                walks: Vec::new(),
                values: 0,
            };
            for _ in 0..3000 {
                model.step(rng);
            }
        },
    );
}
