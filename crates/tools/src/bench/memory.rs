//! An engine for unit tests: a map behind a lock. It keeps nothing across
//! openings and has no log, flushes or compactions.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::Path;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::engine::{Batch, Cursor, Engine, Failure, Result};
use super::flags::{Flags, MergeOperator};
use super::merge;

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

thread_local! {
    /// The level the thread was told to measure at.
    static MEASURING: Cell<i32> = const { Cell::new(0) };
}

/// The database.
pub struct Memory {
    map: RwLock<Map>,
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
}

impl Engine for Memory {
    type Batch = Vec<(Vec<u8>, Option<Vec<u8>>)>;
    type WriteMode = ();
    type Value<'a> = Vec<u8>;
    type Cursor<'a> = MapCursor<'a>;

    const COUNTED: bool = false;

    fn title() -> String {
        "Memory:     for tests".into()
    }

    fn open(_directory: &Path, flags: &Flags) -> Result<Self> {
        let map = RwLock::default();
        Ok(Self {
            map,
            operator: flags.merge()?,
            statistics: flags.statistics,
        })
    }

    fn destroy(_directory: &Path, _flags: &Flags) -> Result<()> {
        Ok(())
    }

    fn write_mode(_sync: bool, _flags: &Flags) {}

    fn put(&self, key: &[u8], value: &[u8], (): &()) -> Result<()> {
        self.change().insert(key.to_vec(), value.to_vec());
        Ok(())
    }

    fn merge(&self, key: &[u8], operand: &[u8], (): &()) -> Result<()> {
        let operator = self
            .operator
            .ok_or_else(|| Failure("no merge operator".into()))?;
        let mut map = self.change();
        let old = map.get(key).map(Vec::as_slice);
        let operands = std::iter::once(operand);
        let new = match operator {
            MergeOperator::Put => merge::put(old, operands),
            MergeOperator::UInt64Add => merge::uint64_add(old, operands),
            MergeOperator::StringAppend => merge::string_append(old, operands),
        };
        map.insert(key.to_vec(), new);
        Ok(())
    }

    fn delete(&self, key: &[u8], (): &()) -> Result<()> {
        self.change().remove(key);
        Ok(())
    }

    fn write(&self, batch: Self::Batch, (): &()) -> Result<()> {
        let mut map = self.change();
        for (key, value) in batch {
            match value {
                Some(value) => map.insert(key, value),
                None => map.remove(&key),
            };
        }
        Ok(())
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.read().get(key).cloned())
    }

    fn cursor(&self) -> MapCursor<'_> {
        MapCursor {
            engine: self,
            at: None,
        }
    }

    fn flush(&self) -> Result<()> {
        Ok(())
    }

    fn compact(&self) {}

    fn measure_this_thread(level: i32) -> Result<()> {
        MEASURING.set(level);
        Ok(())
    }

    fn measured() -> String {
        format!("level = {}, threads = 1", MEASURING.get())
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
}

impl Batch for Vec<(Vec<u8>, Option<Vec<u8>>)> {
    fn with_capacity(_bytes: usize) -> Self {
        Self::new()
    }

    fn put(&mut self, key: &[u8], value: &[u8]) {
        self.push((key.to_vec(), Some(value.to_vec())));
    }

    fn delete(&mut self, key: &[u8]) {
        self.push((key.to_vec(), None));
    }
}

/// A position in the map.
pub struct MapCursor<'a> {
    engine: &'a Memory,
    at: Option<(Vec<u8>, Vec<u8>)>,
}

impl MapCursor<'_> {
    fn go(&mut self, find: impl Fn(&Map, Option<&[u8]>) -> Option<(Vec<u8>, Vec<u8>)>) {
        let here = self.at.take();
        self.at = find(
            &self.engine.read(),
            here.as_ref().map(|(key, _)| key.as_slice()),
        );
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
