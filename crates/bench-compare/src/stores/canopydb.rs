//! canopydb, a copy-on-write B+ tree with a log.
//!
//! *Settings*: a page cache of the given size; one transaction for each operation, exclusive for
//! writes; its log on, not synced, neither by commits nor in the background; checkpoints by
//! default. It has no compression of small values. A pop finds and deletes in one write
//! transaction. Settling makes a checkpoint.

use std::path::Path;

use canopydb::{Database, DbOptions, EnvOptions};

use super::{End, Settings, Store};
use crate::Result;

/// How it is set up.
pub const SETUP: &str = "log without sync, one transaction an operation; no compression";

const TREE: &[u8] = b"records";

/// A database with one tree.
pub struct Canopydb {
    database: Database,
}

impl Store for Canopydb {
    fn open(directory: &Path, settings: &Settings) -> Result<Self> {
        let mut env = EnvOptions::new(directory);
        env.page_cache_size = settings.cache_bytes as usize;
        env.wal_background_sync_interval = None;
        let database = Database::with_options(env, DbOptions::new())?;
        let txn = database.begin_write()?;
        drop(txn.get_or_create_tree(TREE)?);
        txn.commit()?;
        Ok(Self { database })
    }

    fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        let txn = self.database.begin_write()?;
        txn.get_or_create_tree(TREE)?.insert(key, value)?;
        txn.commit()?;
        Ok(())
    }

    fn get(&self, key: &[u8], see: impl FnOnce(&[u8])) -> Result<bool> {
        let txn = self.database.begin_read()?;
        let Some(tree) = txn.get_tree(TREE)? else {
            return Ok(false);
        };
        Ok(tree.get(key)?.map(|value| see(&value)).is_some())
    }

    fn scan(&self, from: &[u8], count: usize, mut see: impl FnMut(&[u8], &[u8])) -> Result<usize> {
        let txn = self.database.begin_read()?;
        let Some(tree) = txn.get_tree(TREE)? else {
            return Ok(0);
        };
        let mut seen = 0;
        for entry in tree.range(from..)?.take(count) {
            let (key, value) = entry?;
            see(&key, &value);
            seen += 1;
        }
        Ok(seen)
    }

    fn pop(&self, end: End, mut see: impl FnMut(&[u8], &[u8])) -> Result<bool> {
        let txn = self.database.begin_write()?;
        let mut tree = txn.get_or_create_tree(TREE)?;
        let found = match end {
            End::First => tree.iter()?.next(),
            End::Last => tree.iter()?.next_back(),
        };
        let Some((key, value)) = found.transpose()? else {
            return Ok(false);
        };
        see(&key, &value);
        tree.delete(&key)?;
        drop(tree);
        txn.commit()?;
        Ok(true)
    }

    fn settle(&self) -> Result<()> {
        Ok(self.database.checkpoint()?)
    }
}
