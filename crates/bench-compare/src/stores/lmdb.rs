//! LMDB, by the `heed` crate.
//!
//! *Settings*: `NO_SYNC` and `WRITE_MAP`, the fastest that survives the end of the process (a
//! crash of the system may destroy the file, where the stores with a log lose the end of it:
//! this favours LMDB); one transaction for each operation. LMDB has no cache of its own and no
//! compression: the system's page cache holds the file, whatever the size of the others' caches,
//! so its memory counts as shared memory or as file pages. The map is large enough for all
//! records several times. With a limited memory, `NO_READ_AHEAD`, as LMDB's documentation advises
//! for data larger than memory. Readers keep their slots (`WithTls`). A pop finds and deletes in
//! one write transaction. Settling does nothing: LMDB puts nothing off.

use std::ops::Bound;
use std::path::Path;

use heed::types::Bytes;
use heed::{Database, Env, EnvFlags, EnvOpenOptions, WithTls};

use super::{End, Settings, Store};
use crate::Result;

/// How it is set up.
pub const SETUP: &str = "NO_SYNC and WRITE_MAP, one transaction an operation; no compression, \
    cached by the system";

/// An environment with one database.
pub struct Lmdb {
    env: Env<WithTls>,
    database: Database<Bytes, Bytes>,
}

/// The size of the map for all records, in bytes.
fn map_size(settings: &Settings) -> usize {
    // Pages of a B-tree are between half full and full; keys, headers and free pages come on top.
    let record = settings.value_size as u64 + 64;
    let bytes = (1_u64 << 30).saturating_add(settings.records.saturating_mul(record * 4));
    bytes.next_multiple_of(1 << 20) as usize
}

impl Store for Lmdb {
    #[allow(
        unsafe_code,
        reason = "heed leaves it to its callers that files are opened once"
    )]
    fn open(directory: &Path, settings: &Settings) -> Result<Self> {
        let mut flags = EnvFlags::NO_SYNC | EnvFlags::WRITE_MAP;
        if settings.limited {
            flags |= EnvFlags::NO_READ_AHEAD;
        }
        let mut options = EnvOpenOptions::new();
        options.map_size(map_size(settings)).max_readers(1024);
        // SAFETY: these flags give up durability when the system crashes, and protection from
        // stray writes of this process; no code here writes to the map.
        unsafe { options.flags(flags) };
        // SAFETY: the directory is this process' own, so nobody else opens or changes its files.
        let env = unsafe { options.open(directory)? };
        let mut txn = env.write_txn()?;
        let database = env.create_database(&mut txn, None)?;
        txn.commit()?;
        Ok(Self { env, database })
    }

    fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        let mut txn = self.env.write_txn()?;
        self.database.put(&mut txn, key, value)?;
        Ok(txn.commit()?)
    }

    fn get(&self, key: &[u8], see: impl FnOnce(&[u8])) -> Result<bool> {
        let txn = self.env.read_txn()?;
        Ok(self.database.get(&txn, key)?.map(see).is_some())
    }

    fn scan(&self, from: &[u8], count: usize, mut see: impl FnMut(&[u8], &[u8])) -> Result<usize> {
        let txn = self.env.read_txn()?;
        let range = (Bound::Included(from), Bound::Unbounded);
        let mut seen = 0;
        for entry in self.database.range(&txn, &range)?.take(count) {
            let (key, value) = entry?;
            see(key, value);
            seen += 1;
        }
        Ok(seen)
    }

    fn pop(&self, end: End, mut see: impl FnMut(&[u8], &[u8])) -> Result<bool> {
        let mut txn = self.env.write_txn()?;
        let found = match end {
            End::First => self.database.first(&txn)?,
            End::Last => self.database.last(&txn)?,
        };
        let Some((key, value)) = found else {
            return Ok(false);
        };
        see(key, value);
        // It is in a page that the deletion may change.
        let key = key.to_vec();
        self.database.delete(&mut txn, &key)?;
        txn.commit()?;
        Ok(true)
    }

    fn settle(&self) -> Result<()> {
        Ok(())
    }
}
