//! What takes memory, by part: the property `whitewater.memory`, and the sums of
//! `perf::MemoryUsageBuilder`.
//!
//! A database's own parts are its memtables, prepared transactions, open tables, logs, and what
//! it knows of its files. Caches, and the budgets that are charged to them, may be shared by
//! databases, so they stand apart: who adds up several databases counts each once. Memory that is
//! kept for later memtables and cached blocks belongs to the process.

use super::Engine;
use crate::memtable::Memtable;
use crate::version::{TableFile, Version};
use crate::write_buffer_manager::Budget;
use std::collections::BTreeMap;
use std::mem::size_of;
use std::ops::AddAssign;
use std::sync::Arc;
use whitewater_concurrent::{region, slab};
use whitewater_storage::cache::BlockCache;

/// What a database takes, caches not included. Bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct OwnMemory {
    /// Memtables that take writes, room for further entries included.
    pub active_memtables: u64,
    /// Full memtables that are not flushed.
    pub immutable_memtables: u64,
    /// Flushed memtables that something still holds, such as an iterator.
    pub flushed_memtables: u64,
    /// What prepared transactions have logged.
    pub prepared: u64,
    /// Indexes, filters and properties of open tables that are in no cache.
    pub table_readers: u64,
    /// What logs keep until they are flushed, and the pages of those that are mapped.
    pub logs: u64,
    /// What is known of table files, in all versions that are in use.
    pub file_metadata: u64,
}

impl OwnMemory {
    /// All parts with their names.
    pub fn parts(&self) -> [(&'static str, u64); 7] {
        [
            ("active-memtables", self.active_memtables),
            ("immutable-memtables", self.immutable_memtables),
            ("flushed-memtables", self.flushed_memtables),
            ("prepared-transactions", self.prepared),
            ("table-readers", self.table_readers),
            ("logs", self.logs),
            ("file-metadata", self.file_metadata),
        ]
    }

    /// The sum.
    pub fn total(&self) -> u64 {
        self.parts().iter().map(|(_, bytes)| bytes).sum()
    }
}

impl AddAssign for OwnMemory {
    fn add_assign(&mut self, other: Self) {
        self.active_memtables += other.active_memtables;
        self.immutable_memtables += other.immutable_memtables;
        self.flushed_memtables += other.flushed_memtables;
        self.prepared += other.prepared;
        self.table_readers += other.table_readers;
        self.logs += other.logs;
        self.file_metadata += other.file_metadata;
    }
}

/// Caches that are counted once, however many databases and column families share them.
#[derive(Debug, Default)]
pub(crate) struct Caches<'a> {
    caches: Vec<BlockCache>,
    budgets: Vec<&'a Budget>,
}

impl<'a> Caches<'a> {
    /// Adds a cache, unless it is there.
    pub fn add(&mut self, cache: &BlockCache) {
        if !self.caches.iter().any(|c| c.is_same(cache)) {
            self.caches.push(cache.clone());
        }
    }

    /// Adds a budget of memtables, which may be charged to a cache.
    fn add_budget(&mut self, budget: &'a Budget) {
        if !self.budgets.iter().any(|b| std::ptr::eq(*b, budget)) {
            self.budgets.push(budget);
        }
    }

    /// The bytes that the caches take: entries with their cost, and memory kept for further ones.
    /// What is charged to them for memtables is not theirs.
    pub fn memory(&self) -> u64 {
        let of = |cache: &BlockCache| (cache.usage() + cache.spare_usage()) as u64;
        let all: u64 = self.caches.iter().map(of).sum();
        let charges = self.budgets.iter().filter_map(|b| b.cache_charge());
        let counted = charges.filter(|(cache, _)| self.caches.iter().any(|c| c.is_same(cache)));
        all.saturating_sub(counted.map(|(_, bytes)| bytes as u64).sum())
    }
}

/// What the process keeps for later use, which belongs to no database. Bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeptMemory {
    pub for_memtables: u64,
    pub for_cached_blocks: u64,
}

impl KeptMemory {
    /// What is kept now.
    pub fn now() -> Self {
        KeptMemory {
            for_memtables: (region::pool_bytes() + region::prepared_bytes()) as u64,
            for_cached_blocks: slab::usage().free as u64,
        }
    }

    /// All parts with their names.
    pub fn parts(&self) -> [(&'static str, u64); 2] {
        [
            ("kept-for-memtables", self.for_memtables),
            ("kept-for-cached-blocks", self.for_cached_blocks),
        ]
    }

    /// The sum.
    pub fn total(&self) -> u64 {
        self.for_memtables + self.for_cached_blocks
    }
}

impl Engine {
    /// What this database takes, caches not included.
    pub(crate) fn own_memory(&self) -> OwnMemory {
        let mut own = OwnMemory {
            prepared: self.commit.sections.memory(),
            logs: self.commit.wal.memory_usage(),
            ..OwnMemory::default()
        };
        let taken = |mem: &Arc<Memtable>| mem.memory_taken() as u64;
        for cf in self.column_families() {
            own.table_readers += self.table_readers_bytes(&cf);
            // A column family that was dropped meanwhile counts as 0. What is held is dropped
            // without the mutex.
            let parts = self.with_cf(&cf, |c| {
                own.active_memtables += taken(&c.mem);
                own.immutable_memtables += c.imm.iter().map(taken).sum::<u64>();
                (c.held.memtables(), c.held.versions(), c.version.clone())
            });
            if let Some((held, mut versions, current)) = parts {
                own.flushed_memtables += held.iter().map(taken).sum::<u64>();
                versions.push(current);
                own.file_metadata += metadata_bytes(&versions);
            }
        }
        own
    }

    /// Adds the caches of all column families and the cache of rows.
    pub(crate) fn add_caches(&self, caches: &mut Caches<'_>) {
        for cf in self.column_families() {
            let options = cf.options();
            let of_cf = [&options.table.block_cache, &options.blob_cache];
            of_cf
                .into_iter()
                .flatten()
                .for_each(|cache| caches.add(cache));
        }
        if let Some(rows) = self.files.tables.row_cache() {
            caches.add(rows);
        }
    }

    /// Adds the budget of the memtables, if there is one.
    pub(crate) fn add_budget<'a>(&'a self, caches: &mut Caches<'a>) {
        if let Some(client) = &self.commit.budget_client {
            caches.add_budget(client.budget());
        }
    }

    /// The property `whitewater.memory`.
    pub(super) fn memory_map(&self) -> BTreeMap<String, String> {
        let own = self.own_memory();
        let mut caches = Caches::default();
        self.add_caches(&mut caches);
        self.add_budget(&mut caches);
        let (cached, kept) = (caches.memory(), KeptMemory::now());
        let others = [
            ("caches", cached),
            ("total", own.total() + cached + kept.total()),
        ];
        let all = (own.parts().into_iter()).chain(kept.parts()).chain(others);
        all.map(|(name, bytes)| (name.to_owned(), bytes.to_string()))
            .collect()
    }
}

/// The bytes of versions of a column family and of what they know of their files.
fn metadata_bytes(versions: &[Arc<Version>]) -> u64 {
    let mut files = BTreeMap::new();
    let mut bytes = 0;
    for version in versions {
        bytes += size_of::<Version>();
        for file in version.levels.iter().flatten() {
            bytes += size_of::<Arc<TableFile>>();
            files.insert(file.meta.number, file);
        }
    }
    let of_file = |file: &&Arc<TableFile>| {
        let meta = &file.meta;
        size_of::<TableFile>() + meta.smallest.capacity() + meta.largest.capacity()
    };
    (bytes + files.values().map(of_file).sum::<usize>()) as u64
}
