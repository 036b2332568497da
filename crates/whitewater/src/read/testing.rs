//! Sources and helpers for the tests of this folder.

use crate::column_family::SuperVersion;
use crate::memtable::{Home, Memtable};
use crate::operators::merge::MergeOperator;
use crate::options::CfOptions;
use crate::version::paths::DataPaths;
use crate::version::table_cache::{OpenWith, TableCache};
use crate::version::{TableFile, Version};
use std::cell::Cell;
use std::cmp::Ordering;
use std::sync::{Arc, LazyLock};
use whitewater_concurrent::object_pool::ObjectPool;
use whitewater_storage::coding::{put_length_prefixed, put_varint32};
use whitewater_storage::fs::mem::MemFs;
use whitewater_storage::internal_iterator::{BoxedIterator, InternalIterator};
use whitewater_storage::key::{
    Comparator, InternalComparator, MAX_SEQUENCE, UserComparator, ValueType, append_internal_key,
    internal_key,
};
use whitewater_storage::manifest::FileMetaData;
use whitewater_storage::{Error, Result};

/// Joins operands with commas; the operand `FAIL` makes it fail.
pub(crate) struct Append;

impl MergeOperator for Append {
    fn name(&self) -> &str {
        "append"
    }
    fn full_merge(&self, _: &[u8], existing: Option<&[u8]>, ops: &[&[u8]]) -> Option<Vec<u8>> {
        let parts: Vec<&[u8]> = existing.into_iter().chain(ops.iter().copied()).collect();
        (!ops.contains(&&b"FAIL"[..])).then(|| parts.join(&b','))
    }
    fn partial_merge(&self, key: &[u8], ops: &[&[u8]]) -> Option<Vec<u8>> {
        self.full_merge(key, None, ops)
    }
}

/// Runs `f`, whose panics are expected, without printing them.
pub(crate) fn quietly<T>(f: impl FnOnce() -> T) -> T {
    thread_local!(static QUIET: Cell<bool> = const { Cell::new(false) });
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let print = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                print(info);
            }
        }));
    });
    QUIET.set(true);
    let result = f();
    QUIET.set(false);
    result
}

/// Orders keys by length, then by bytes.
struct ByLength;

impl Comparator for ByLength {
    fn name(&self) -> &str {
        "test.ByLength"
    }
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        a.len().cmp(&b.len()).then_with(|| a.cmp(b))
    }
}

/// One comparator of each kind.
pub(crate) fn comparators() -> [UserComparator; 3] {
    [
        UserComparator::Bytewise,
        UserComparator::ReverseBytewise,
        UserComparator::Custom(Arc::new(ByLength)),
    ]
}

/// A cursor over sorted entries in memory.
pub(crate) struct VecIterator {
    comparator: InternalComparator,
    entries: Vec<(Vec<u8>, Vec<u8>)>,
    /// The current index; `entries.len()` when not valid.
    at: usize,
}

impl VecIterator {
    /// A cursor over `entries`, which it sorts.
    pub fn new(comparator: InternalComparator, mut entries: Vec<(Vec<u8>, Vec<u8>)>) -> Self {
        entries.sort_by(|a, b| comparator.compare(&a.0, &b.0));
        VecIterator {
            at: entries.len(),
            comparator,
            entries,
        }
    }
    /// A cursor over `entries` in the given order, as a damaged table might have them.
    pub fn unsorted(comparator: InternalComparator, entries: Vec<(Vec<u8>, Vec<u8>)>) -> Self {
        VecIterator {
            at: entries.len(),
            comparator,
            entries,
        }
    }
    fn before(&self, target: &[u8], or_at: bool) -> usize {
        self.entries
            .partition_point(|(k, _)| match self.comparator.compare(k, target) {
                Ordering::Less => true,
                Ordering::Equal => or_at,
                Ordering::Greater => false,
            })
    }
    fn back_to(&mut self, past: usize) {
        self.at = past.checked_sub(1).unwrap_or(self.entries.len());
    }
}

impl InternalIterator for VecIterator {
    fn valid(&self) -> bool {
        self.at < self.entries.len()
    }
    fn seek_to_first(&mut self) {
        self.at = 0;
    }
    fn seek_to_last(&mut self) {
        self.back_to(self.entries.len());
    }
    fn seek(&mut self, target: &[u8]) {
        self.at = self.before(target, false);
    }
    fn seek_for_prev(&mut self, target: &[u8]) {
        self.back_to(self.before(target, true));
    }
    fn next(&mut self) {
        assert!(self.valid());
        self.at += 1;
    }
    fn prev(&mut self) {
        assert!(self.valid());
        self.back_to(self.at);
    }
    fn key(&self) -> &[u8] {
        &self.entries[self.at].0
    }
    fn value(&self) -> &[u8] {
        &self.entries[self.at].1
    }
    fn status(&self) -> Result<()> {
        Ok(())
    }
    fn release(&mut self) -> bool {
        self.at = self.entries.len();
        true
    }
}

/// Fails at the `after`-th movement since the last failure; the failure lasts
/// until the next positioning call.
pub(crate) struct FailingIterator {
    inner: BoxedIterator,
    after: usize,
    moves: usize,
    failed: bool,
}

impl FailingIterator {
    pub fn new(inner: BoxedIterator, after: usize) -> Self {
        FailingIterator {
            inner,
            after,
            moves: 0,
            failed: false,
        }
    }
    fn step(&mut self, step: impl FnOnce(&mut BoxedIterator)) {
        self.moves += 1;
        self.failed = self.moves >= self.after;
        if self.failed {
            self.moves = 0;
        } else {
            step(&mut self.inner);
        }
    }
}

impl InternalIterator for FailingIterator {
    fn valid(&self) -> bool {
        !self.failed && self.inner.valid()
    }
    fn seek_to_first(&mut self) {
        self.step(|i| i.seek_to_first());
    }
    fn seek_to_last(&mut self) {
        self.step(|i| i.seek_to_last());
    }
    fn seek(&mut self, target: &[u8]) {
        self.step(|i| i.seek(target));
    }
    fn seek_for_prev(&mut self, target: &[u8]) {
        self.step(|i| i.seek_for_prev(target));
    }
    fn next(&mut self) {
        assert!(self.valid());
        self.step(|i| i.next());
    }
    fn prev(&mut self) {
        assert!(self.valid());
        self.step(|i| i.prev());
    }
    fn key(&self) -> &[u8] {
        assert!(self.valid());
        self.inner.key()
    }
    fn value(&self) -> &[u8] {
        assert!(self.valid());
        self.inner.value()
    }
    fn status(&self) -> Result<()> {
        if self.failed {
            Err(Error::corruption("planted failure"))
        } else {
            self.inner.status()
        }
    }
}

/// A wide-column entity of version 1; `columns` sorted by name.
pub(crate) fn entity_v1(columns: &[(&[u8], &[u8])]) -> Vec<u8> {
    let mut e = Vec::new();
    put_varint32(&mut e, 1);
    put_varint32(&mut e, columns.len() as u32);
    for (name, value) in columns {
        put_length_prefixed(&mut e, name);
        put_varint32(&mut e, value.len() as u32);
    }
    columns.iter().for_each(|(_, v)| e.extend_from_slice(v));
    e
}

/// A wide-column entity of version 2; `columns` sorted by name.
pub(crate) fn entity_v2(columns: &[(&[u8], &[u8])]) -> Vec<u8> {
    let (mut name_sizes, mut value_sizes) = (Vec::new(), Vec::new());
    for (name, value) in columns {
        put_varint32(&mut name_sizes, name.len() as u32);
        put_varint32(&mut value_sizes, value.len() as u32);
    }
    let names: usize = columns.iter().map(|(n, _)| n.len()).sum();
    let mut e = Vec::new();
    for n in [2, columns.len(), name_sizes.len(), value_sizes.len(), names] {
        put_varint32(&mut e, n as u32);
    }
    e.extend(columns.iter().map(|_| 0x01));
    e.extend_from_slice(&name_sizes);
    e.extend_from_slice(&value_sizes);
    columns.iter().for_each(|(n, _)| e.extend_from_slice(n));
    columns.iter().for_each(|(_, v)| e.extend_from_slice(v));
    e
}

/// The key of a put.
pub(crate) fn point(user: &[u8], seq: u64) -> Vec<u8> {
    internal_key(user, seq, ValueType::Value)
}

/// The largest key of a file that ends with a range tombstone to `user`.
pub(crate) fn exclusive(user: &[u8]) -> Vec<u8> {
    let mut k = Vec::new();
    append_internal_key(&mut k, user, MAX_SEQUENCE, ValueType::RangeDeletion as u8);
    k
}

/// What an iterator reads whose sources a test has made: nothing.
pub(crate) fn no_view() -> Arc<SuperVersion> {
    static VIEW: LazyLock<Arc<SuperVersion>> = LazyLock::new(|| {
        let options = CfOptions::default();
        let home = Home {
            family: "default",
            budget_client: None,
        };
        Arc::new(SuperVersion {
            mem: Memtable::new(&options, home, 0, 0),
            imm: Vec::new(),
            version: Arc::new(Version::empty(1, OpenWith::default())),
            tables: Arc::new(TableCache::new(Arc::new(MemFs::new()), -1)),
            options: Arc::new(options),
            empty_ranges: Arc::default(),
            latencies: Arc::default(),
            number: 0,
            idle: ObjectPool::default(),
        })
    });
    VIEW.clone()
}

/// A file of a version, without a file on disk.
pub(crate) fn table_file(number: u64, smallest: &[u8], largest: &[u8]) -> Arc<TableFile> {
    let meta = FileMetaData {
        number,
        smallest: smallest.to_vec(),
        largest: largest.to_vec(),
        ..FileMetaData::default()
    };
    TableFile::new(meta, 0, DataPaths::default().first(), Arc::default())
}
