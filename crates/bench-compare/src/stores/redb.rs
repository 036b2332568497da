//! redb.
//!
//! *Settings*: a cache of the given size; one transaction for each operation, with
//! `Durability::None`. redb writes such transactions to the file with the next durable one only,
//! which is made when it is asked to settle: it is the only store here that loses writes when the
//! process ends, since its other kind of durability waits for the disk. This favours redb. It has
//! no compression. A pop finds and deletes in one write transaction.

use std::path::Path;

use redb::{Database, Durability, ReadableDatabase, TableDefinition};

use super::{End, Settings, Store};
use crate::Result;

/// How it is set up.
pub const SETUP: &str = "Durability::None (lost when the process ends), one transaction an \
    operation; no compression";

const TABLE: TableDefinition<'static, &[u8], &[u8]> = TableDefinition::new("records");

/// A database with one table.
pub struct Redb {
    database: Database,
}

impl Redb {
    /// Writes in a transaction.
    fn write<T>(
        &self,
        durability: Durability,
        work: impl FnOnce(&mut redb::Table<'_, &'static [u8], &'static [u8]>) -> Result<T>,
    ) -> Result<T> {
        let mut txn = self.database.begin_write()?;
        txn.set_durability(durability)?;
        let done = work(&mut txn.open_table(TABLE)?)?;
        txn.commit()?;
        Ok(done)
    }
}

impl Store for Redb {
    fn open(directory: &Path, settings: &Settings) -> Result<Self> {
        let mut builder = Database::builder();
        builder.set_cache_size(settings.cache_bytes as usize);
        let database = builder.create(directory.join("redb"))?;
        let opened = Self { database };
        opened.write(Durability::Immediate, |_| Ok(()))?;
        Ok(opened)
    }

    fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        self.write(Durability::None, |table| {
            table.insert(key, value)?;
            Ok(())
        })
    }

    fn get(&self, key: &[u8], see: impl FnOnce(&[u8])) -> Result<bool> {
        let txn = self.database.begin_read()?;
        let value = txn.open_table(TABLE)?.get(key)?;
        Ok(value.map(|value| see(value.value())).is_some())
    }

    fn scan(&self, from: &[u8], count: usize, mut see: impl FnMut(&[u8], &[u8])) -> Result<usize> {
        let txn = self.database.begin_read()?;
        let table = txn.open_table(TABLE)?;
        let mut seen = 0;
        for entry in table.range(from..)?.take(count) {
            let (key, value) = entry?;
            see(key.value(), value.value());
            seen += 1;
        }
        Ok(seen)
    }

    fn pop(&self, end: End, mut see: impl FnMut(&[u8], &[u8])) -> Result<bool> {
        self.write(Durability::None, |table| {
            let popped = match end {
                End::First => table.pop_first()?,
                End::Last => table.pop_last()?,
            };
            let popped = popped.map(|(key, value)| see(key.value(), value.value()));
            Ok(popped.is_some())
        })
    }

    fn settle(&self) -> Result<()> {
        self.write(Durability::Immediate, |_| Ok(()))
    }
}
