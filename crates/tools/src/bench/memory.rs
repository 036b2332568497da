//! An engine for unit tests: a map behind a lock. It does not persist anything and
//! has no log, flushes or compactions.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::engine::{Batch, Bounds, Cursor, Engine, External, Failure, Result, Snapshot};
use super::expiry::Expired;
use super::families;
use super::flags::{Flags, MergeOperator};
use super::merge;
use super::transactions::NoTransaction;

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

thread_local! {
    /// The level at which this thread was told to measure.
    static MEASURING: Cell<i32> = const { Cell::new(0) };
}

/// The database.
pub struct Memory {
    map: RwLock<Map>,
    /// The column families other than the default one, by name.
    families: RwLock<BTreeMap<String, Map>>,
    operator: Option<MergeOperator>,
    statistics: bool,
}

impl Memory {
    fn read(&self) -> RwLockReadGuard<'_, Map> {
        self.map.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self) -> RwLockWriteGuard<'_, Map> {
        self.map.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `work` with the entries of a column family.
    fn within<R>(&self, family: &str, work: impl FnOnce(&mut Map) -> R) -> R {
        if family == "default" {
            return work(&mut self.change());
        }
        let mut families = self
            .families
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        work(families.entry(family.to_owned()).or_default())
    }
}

impl Engine for Memory {
    type Batch = Vec<(String, Change)>;
    type WriteMode = ();
    type Family<'a> = String;
    type Value<'a> = Vec<u8>;
    type Cursor<'a> = MapCursor<'a>;
    type External<'a> = NoTable;
    type Snapshot<'a> = Map;
    type Transaction<'a> = NoTransaction;
    type TransactionMode = ();

    const COUNTED: bool = false;

    fn title() -> String {
        "Memory:     for tests".into()
    }

    fn open(_directory: &Path, flags: &Flags, _expired: Option<Expired>) -> Result<Self> {
        let families = (1..flags.hot_families()).map(|n| (families::name(n), Map::new()));
        Ok(Self {
            map: RwLock::default(),
            families: RwLock::new(families.collect()),
            operator: flags.merge()?,
            statistics: flags.statistics,
        })
    }

    fn destroy(_directory: &Path, _flags: &Flags) -> Result<()> {
        Ok(())
    }

    fn create_family(&self, name: &str) -> Result<()> {
        self.within(name, |_| ());
        Ok(())
    }

    fn family(&self, name: &str) -> Result<String> {
        let families = self.families.read().unwrap_or_else(PoisonError::into_inner);
        if name == "default" || families.contains_key(name) {
            Ok(name.to_owned())
        } else {
            Err(Failure(format!("there is no column family {name}")))
        }
    }

    fn catch_up(&self) -> Result<()> {
        Ok(())
    }

    fn write_mode(_sync: bool, _flags: &Flags) {}

    fn put(&self, key: &[u8], value: &[u8], (): &()) -> Result<()> {
        self.change().insert(key.to_vec(), value.to_vec());
        Ok(())
    }

    fn merge(&self, key: &[u8], operand: &[u8], mode: &()) -> Result<()> {
        self.merge_in(&"default".to_owned(), key, operand, mode)
    }

    fn put_in(&self, family: &String, key: &[u8], value: &[u8], (): &()) -> Result<()> {
        self.within(family, |map| map.insert(key.to_vec(), value.to_vec()));
        Ok(())
    }

    fn merge_in(&self, family: &String, key: &[u8], operand: &[u8], (): &()) -> Result<()> {
        let operator = self
            .operator
            .ok_or_else(|| Failure("no merge operator".into()))?;
        self.within(family, |map| {
            let old = map.get(key).map(Vec::as_slice);
            let operands = std::iter::once(operand);
            let new = match operator {
                MergeOperator::Put => merge::put(old, operands),
                MergeOperator::UInt64Add => merge::uint64_add(old, operands),
                MergeOperator::StringAppend => merge::string_append(old, operands),
                MergeOperator::Max => merge::max(old, operands),
                MergeOperator::BytesXor => merge::bytes_xor(old, operands),
            };
            map.insert(key.to_vec(), new);
        });
        Ok(())
    }

    fn batch_put_in(batch: &mut Self::Batch, family: &String, key: &[u8], value: &[u8]) {
        let change = Change::Put(key.to_vec(), value.to_vec());
        batch.push((family.clone(), change));
    }

    fn batch_delete_in(batch: &mut Self::Batch, family: &String, key: &[u8]) {
        batch.push((family.clone(), Change::Delete(key.to_vec())));
    }

    fn batch_delete_range_in(
        batch: &mut Self::Batch,
        family: &String,
        begin: &[u8],
        end: &[u8],
    ) -> Result<()> {
        let change = Change::DeleteRange(begin.to_vec(), end.to_vec());
        batch.push((family.clone(), change));
        Ok(())
    }

    fn delete(&self, key: &[u8], (): &()) -> Result<()> {
        self.change().remove(key);
        Ok(())
    }

    fn write(&self, batch: Self::Batch, (): &()) -> Result<()> {
        for (family, change) in batch {
            self.within(&family, |map| match change {
                Change::Put(key, value) => {
                    map.insert(key, value);
                }
                Change::Delete(key) => {
                    map.remove(&key);
                }
                Change::DeleteRange(begin, end) => {
                    map.retain(|key, _| *key < begin || *key >= end);
                }
            });
        }
        Ok(())
    }

    fn get_in(&self, family: &String, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.within(family, |map| map.get(key).cloned()))
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.read().get(key).cloned())
    }

    fn multi_get(&self, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        let map = self.read();
        Ok(keys.iter().map(|key| map.get(*key).cloned()).collect())
    }

    fn snapshot(&self) -> Map {
        self.read().clone()
    }

    fn cursor_within(&self, bounds: Bounds) -> MapCursor<'_> {
        MapCursor {
            engine: self,
            bounds,
            at: None,
        }
    }

    fn approximate_sizes(&self, ranges: &[(&[u8], &[u8])]) -> Result<Vec<u64>> {
        let map = self.read();
        let size = |(begin, end): &(&[u8], &[u8])| {
            let keys = map
                .keys()
                .filter(|key| key[..] >= **begin && key[..] < **end);
            keys.count() as u64
        };
        Ok(ranges.iter().map(size).collect())
    }

    fn flush(&self, _families: &[String]) -> Result<()> {
        Ok(())
    }

    fn compact(&self, _bottommost: bool) -> Result<()> {
        Ok(())
    }

    fn external(&self, _file: &Path) -> Result<NoTable> {
        Err(Failure("there are no tables".into()))
    }

    fn ingest(&self, _files: Vec<PathBuf>) -> Result<()> {
        Err(Failure("there are no tables".into()))
    }

    fn transaction_mode(_flags: &Flags) {}

    fn begin(&self, (): &(), (): &()) -> Result<NoTransaction> {
        Err(NoTransaction::failure())
    }

    fn measure_this_thread(level: i32) -> Result<()> {
        MEASURING.set(level);
        Ok(())
    }

    fn measured() -> String {
        format!("level = {}, threads = 1", MEASURING.get())
    }

    fn verify(&self, _whole_files: bool) -> Result<()> {
        Ok(())
    }

    fn back_up(&self, _to: &Path, _flags: &Flags) -> Result<()> {
        Ok(())
    }

    fn restore(_from: &Path, _to: &Path, _flags: &Flags) -> Result<()> {
        Ok(())
    }

    fn change_options(&self, _options: &[(&str, &str)]) -> Result<()> {
        Ok(())
    }

    fn property(&self, name: &str) -> Option<String> {
        match name {
            "rocksdb.options-statistics" if self.statistics => {
                Some(format!("memory.entries COUNT : {}", self.read().len()))
            }
            "rocksdb.options-statistics" | "rocksdb.sstables" => None,
            "rocksdb.levelstats" => Some("Level Files Size(MB)".into()),
            _ => Some("0".into()),
        }
    }

    fn property_in(&self, _family: &String, name: &str) -> Option<String> {
        self.property(name)
    }
}

/// The external table of this engine, which has no tables.
pub enum NoTable {}

impl External for NoTable {
    fn put(&mut self, _key: &[u8], _value: &[u8]) -> Result<()> {
        match *self {}
    }

    fn finish(self) -> Result<()> {
        match self {}
    }
}

/// One entry of a batch, without its column family.
pub enum Change {
    Put(Vec<u8>, Vec<u8>),
    Delete(Vec<u8>),
    DeleteRange(Vec<u8>, Vec<u8>),
}

impl Batch for Vec<(String, Change)> {
    fn with_capacity(_bytes: usize) -> Self {
        Self::new()
    }

    fn put(&mut self, key: &[u8], value: &[u8]) {
        Memory::batch_put_in(self, &"default".to_owned(), key, value);
    }

    fn delete(&mut self, key: &[u8]) {
        Memory::batch_delete_in(self, &"default".to_owned(), key);
    }

    fn single_delete(&mut self, key: &[u8]) {
        Memory::batch_delete_in(self, &"default".to_owned(), key);
    }

    fn delete_range(&mut self, begin: &[u8], end: &[u8]) -> Result<()> {
        Memory::batch_delete_range_in(self, &"default".to_owned(), begin, end)
    }
}

impl Snapshot for Map {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(Map::get(self, key).cloned())
    }
}

/// A position in the map.
pub struct MapCursor<'a> {
    engine: &'a Memory,
    bounds: Bounds,
    at: Option<(Vec<u8>, Vec<u8>)>,
}

impl MapCursor<'_> {
    fn go(&mut self, find: impl Fn(&Map, Option<&[u8]>) -> Option<(Vec<u8>, Vec<u8>)>) {
        let here = self.at.take();
        self.at = find(
            &self.engine.read(),
            here.as_ref().map(|(key, _)| key.as_slice()),
        )
        .filter(|(key, _)| {
            self.bounds.lower.as_ref().is_none_or(|lower| key >= lower)
                && self.bounds.upper.as_ref().is_none_or(|upper| key < upper)
        });
    }
}

fn owned((key, value): (&Vec<u8>, &Vec<u8>)) -> (Vec<u8>, Vec<u8>) {
    (key.clone(), value.clone())
}

impl Cursor for MapCursor<'_> {
    fn seek_to_first(&mut self) {
        self.go(|map, _| map.iter().next().map(owned));
    }

    fn seek_to_last(&mut self) {
        self.go(|map, _| map.iter().next_back().map(owned));
    }

    fn seek(&mut self, key: &[u8]) {
        self.go(|map, _| {
            map.range::<[u8], _>((Bound::Included(key), Bound::Unbounded))
                .next()
                .map(owned)
        });
    }

    fn next(&mut self) {
        self.go(|map, here| {
            map.range::<[u8], _>((Bound::Excluded(here?), Bound::Unbounded))
                .next()
                .map(owned)
        });
    }

    fn prev(&mut self) {
        self.go(|map, here| {
            map.range::<[u8], _>((Bound::Unbounded, Bound::Excluded(here?)))
                .next_back()
                .map(owned)
        });
    }

    fn item(&self) -> Option<(&[u8], &[u8])> {
        self.at
            .as_ref()
            .map(|(key, value)| (key.as_slice(), value.as_slice()))
    }

    fn status(&self) -> Result<()> {
        Ok(())
    }
}
