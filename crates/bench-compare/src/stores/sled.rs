//! sled.
//!
//! *Settings*: a cache of the given size; `Mode::HighThroughput`; no periodic flush, which would
//! sync. sled gathers writes in buffers of its log and writes those to the system when full, so
//! that the end of the process loses the last ones: this favours sled a little. Its compression
//! is zstd only and stays off. A pop is `pop_min` or `pop_max`. Settling flushes, which syncs.

use std::path::Path;

use super::{End, Settings, Store};
use crate::Result;

/// How it is set up.
pub const SETUP: &str = "HighThroughput, no periodic flush; no compression";

/// A database with the default tree.
pub struct Sled {
    db: sled::Db,
}

impl Store for Sled {
    fn open(directory: &Path, settings: &Settings) -> Result<Self> {
        let config = sled::Config::default()
            .path(directory.join("sled"))
            .cache_capacity(settings.cache_bytes)
            .mode(sled::Mode::HighThroughput)
            .flush_every_ms(None);
        Ok(Self { db: config.open()? })
    }

    fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        self.db.insert(key, value)?;
        Ok(())
    }

    fn get(&self, key: &[u8], see: impl FnOnce(&[u8])) -> Result<bool> {
        Ok(self.db.get(key)?.map(|value| see(&value)).is_some())
    }

    fn scan(&self, from: &[u8], count: usize, mut see: impl FnMut(&[u8], &[u8])) -> Result<usize> {
        let mut seen = 0;
        for entry in self.db.range(from..).take(count) {
            let (key, value) = entry?;
            see(&key, &value);
            seen += 1;
        }
        Ok(seen)
    }

    fn pop(&self, end: End, mut see: impl FnMut(&[u8], &[u8])) -> Result<bool> {
        let popped = match end {
            End::First => self.db.pop_min()?,
            End::Last => self.db.pop_max()?,
        };
        Ok(popped.map(|(key, value)| see(&key, &value)).is_some())
    }

    fn settle(&self) -> Result<()> {
        self.db.flush()?;
        Ok(())
    }
}
