//! Writes outside of transactions. They lock their keys, so that they neither change what a
//! transaction has locked nor come between its check and its commit.

use super::database::{HeldKeys, TransactionDb};
use super::errors::range_deletion;
use crate::db::timestamps::Stamped;
use crate::options::read::WriteSpec;
use whitewater_storage::batch::{Batch, Op};
use whitewater_storage::key::ValueType;
use whitewater_storage::{Result, planted};

impl TransactionDb {
    /// Writes one operation on one key under its lock.
    ///
    /// # Errors
    /// `TimedOut` if the key is locked for too long; errors of [`write_one`].
    ///
    /// [`write_one`]: crate::db::Engine::write_one
    pub fn write_one(
        &self,
        cf: u32,
        ty: ValueType,
        key: &[u8],
        value: &[u8],
        spec: &WriteSpec,
    ) -> Result<()> {
        if self.spec().skip_concurrency_control {
            return self.engine.write_one(cf, ty, key, value, spec);
        }
        planted!(DirectWriteUnlocked => return self.engine.write_one(cf, ty, key, value, spec));
        let _held = HeldKeys::lock(self, vec![(cf, key)])?;
        self.engine.write_one(cf, ty, key, value, spec)
    }

    /// Writes a batch under the locks of its keys; `stamped` tells which of its operations came
    /// with timestamps. Locks are taken in the order of keys, so batches do not wait for each
    /// other in a circle.
    ///
    /// # Errors
    /// `InvalidArgument` for range deletions, which are not locked; `TimedOut` if a key is locked
    /// for too long; errors of [`write`](crate::db::Engine::write). Nothing was written then.
    pub fn write(&self, batch: Batch, stamped: &Stamped, spec: &WriteSpec) -> Result<()> {
        let locked;
        let keys = keys(&batch, |cf| self.engine.timestamp_size(cf))?;
        let _held = if self.spec().skip_concurrency_control {
            None
        } else {
            // The batch is moved into the write while its keys are locked.
            locked = keys
                .into_iter()
                .map(|(cf, key)| (cf, key.to_vec()))
                .collect::<Vec<_>>();
            let keys = locked.iter().map(|(cf, key)| (*cf, &key[..])).collect();
            Some(HeldKeys::lock(self, keys)?)
        };
        self.engine.write(batch, stamped, spec)
    }
}

/// The keys of a batch, sorted, each once, without the timestamps that `timestamp_size` gives the
/// size of, because locks are of all versions.
///
/// # Errors
/// `InvalidArgument` for a range deletion, in RocksDB's words; `Corruption`.
fn keys(batch: &Batch, timestamp_size: impl Fn(u32) -> usize) -> Result<Vec<(u32, &[u8])>> {
    let mut keys = Vec::with_capacity(batch.count() as usize);
    for op in batch.ops() {
        if let Op::Entry { cf, ty, key, .. } = op? {
            if ty == ValueType::RangeDeletion {
                return Err(range_deletion());
            }
            let len = key.len().saturating_sub(timestamp_size(cf));
            keys.push((cf, &key[..len]));
        }
    }
    keys.sort_unstable();
    keys.dedup();
    Ok(keys)
}
