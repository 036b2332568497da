//! Writes of a transaction.

use super::Transaction;
use crate::api::column_family::{AsColumnFamilyRef, ColumnFamilyHandle};
use crate::txn::transaction::Conflicts;
use whitewater_storage::Error;
use whitewater_storage::key::ValueType;

/// Writes. They are done when the transaction is committed. In a
/// [`TransactionDB`](crate::TransactionDB) each locks its key for this transaction alone. It fails
/// with
/// * `TimedOut` if another transaction has the key locked for too long;
/// * `Busy` if the key was changed since the transaction's snapshot, and with the text `Deadlock`
///   if [that is found out](crate::TransactionOptions::set_deadlock_detect);
/// * `Aborted` if too many keys are locked, or the batch has
///   [too many bytes](crate::TransactionOptions::set_max_write_batch_size);
/// * `InvalidArgument` after [`prepare`](Self::prepare) and for a column family that was dropped.
///
/// The transaction can be used on then.
impl<DB> Transaction<'_, DB> {
    fn write(
        &self,
        cf: Option<&ColumnFamilyHandle>,
        ty: ValueType,
        key: &[u8],
        value: &[u8],
        conflicts: Conflicts,
    ) -> Result<(), Error> {
        let cf = match cf {
            Some(cf) => cf.data(),
            None => self.core.engine().default_cf(),
        };
        self.core.write(cf, ty, key, value, conflicts)
    }

    /// Sets `key` to `value`.
    ///
    /// # Errors
    /// As listed above.
    pub fn put<K: AsRef<[u8]>, V: AsRef<[u8]>>(&self, key: K, value: V) -> Result<(), Error> {
        let (key, value) = (key.as_ref(), value.as_ref());
        self.write(None, ValueType::Value, key, value, Conflicts::Checked)
    }

    /// Sets `key` of `cf` to `value`.
    ///
    /// # Errors
    /// As listed above.
    pub fn put_cf<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        value: V,
    ) -> Result<(), Error> {
        let (cf, key, value) = (cf.inner(), key.as_ref(), value.as_ref());
        self.write(Some(cf), ValueType::Value, key, value, Conflicts::Checked)
    }

    /// Merges `value` into `key` by the [merge operator](crate::Options::set_merge_operator).
    ///
    /// # Errors
    /// As listed above.
    pub fn merge<K: AsRef<[u8]>, V: AsRef<[u8]>>(&self, key: K, value: V) -> Result<(), Error> {
        let (key, value) = (key.as_ref(), value.as_ref());
        self.write(None, ValueType::Merge, key, value, Conflicts::Checked)
    }

    /// Merges `value` into `key` of `cf` by its merge operator.
    ///
    /// # Errors
    /// As listed above.
    pub fn merge_cf<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        value: V,
    ) -> Result<(), Error> {
        let (cf, key, value) = (cf.inner(), key.as_ref(), value.as_ref());
        self.write(Some(cf), ValueType::Merge, key, value, Conflicts::Checked)
    }

    /// Removes `key`; fine when it does not exist.
    ///
    /// # Errors
    /// As listed above.
    pub fn delete<K: AsRef<[u8]>>(&self, key: K) -> Result<(), Error> {
        let key = key.as_ref();
        self.write(None, ValueType::Deletion, key, &[], Conflicts::Checked)
    }

    /// Removes `key` of `cf`; fine when it does not exist.
    ///
    /// # Errors
    /// As listed above.
    pub fn delete_cf<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
    ) -> Result<(), Error> {
        let (cf, key) = (cf.inner(), key.as_ref());
        self.write(Some(cf), ValueType::Deletion, key, &[], Conflicts::Checked)
    }

    /// Removes `key`, which was put exactly once since it was last removed and never merged;
    /// otherwise the result is undefined. Not in the `rocksdb` crate.
    ///
    /// # Errors
    /// As listed above.
    pub fn single_delete<K: AsRef<[u8]>>(&self, key: K) -> Result<(), Error> {
        let (key, ty) = (key.as_ref(), ValueType::SingleDeletion);
        self.write(None, ty, key, &[], Conflicts::Checked)
    }

    /// [`single_delete`](Self::single_delete) in `cf`. Not in the `rocksdb` crate.
    ///
    /// # Errors
    /// As listed above.
    pub fn single_delete_cf<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
    ) -> Result<(), Error> {
        let (key, ty) = (key.as_ref(), ValueType::SingleDeletion);
        self.write(Some(cf.inner()), ty, key, &[], Conflicts::Checked)
    }

    /// [`put`](Self::put) that locks the key, and does not care whether it was changed since the
    /// snapshot. Not in the `rocksdb` crate, as the others that are called `untracked`.
    ///
    /// # Errors
    /// As listed above.
    pub fn put_untracked<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        key: K,
        value: V,
    ) -> Result<(), Error> {
        let (key, value) = (key.as_ref(), value.as_ref());
        self.write(None, ValueType::Value, key, value, Conflicts::Ignored)
    }

    /// [`put_untracked`](Self::put_untracked) in `cf`.
    ///
    /// # Errors
    /// As listed above.
    pub fn put_untracked_cf<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        value: V,
    ) -> Result<(), Error> {
        let (cf, key, value) = (cf.inner(), key.as_ref(), value.as_ref());
        self.write(Some(cf), ValueType::Value, key, value, Conflicts::Ignored)
    }

    /// [`merge`](Self::merge), as [`put_untracked`](Self::put_untracked) is to `put`.
    ///
    /// # Errors
    /// As listed above.
    pub fn merge_untracked<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        key: K,
        value: V,
    ) -> Result<(), Error> {
        let (key, value) = (key.as_ref(), value.as_ref());
        self.write(None, ValueType::Merge, key, value, Conflicts::Ignored)
    }

    /// [`merge_untracked`](Self::merge_untracked) in `cf`.
    ///
    /// # Errors
    /// As listed above.
    pub fn merge_untracked_cf<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        value: V,
    ) -> Result<(), Error> {
        let (cf, key, value) = (cf.inner(), key.as_ref(), value.as_ref());
        self.write(Some(cf), ValueType::Merge, key, value, Conflicts::Ignored)
    }

    /// [`delete`](Self::delete), as [`put_untracked`](Self::put_untracked) is to `put`.
    ///
    /// # Errors
    /// As listed above.
    pub fn delete_untracked<K: AsRef<[u8]>>(&self, key: K) -> Result<(), Error> {
        let key = key.as_ref();
        self.write(None, ValueType::Deletion, key, &[], Conflicts::Ignored)
    }

    /// [`delete_untracked`](Self::delete_untracked) in `cf`.
    ///
    /// # Errors
    /// As listed above.
    pub fn delete_untracked_cf<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
    ) -> Result<(), Error> {
        let (cf, key) = (cf.inner(), key.as_ref());
        self.write(Some(cf), ValueType::Deletion, key, &[], Conflicts::Ignored)
    }

    /// [`single_delete`](Self::single_delete), as [`put_untracked`](Self::put_untracked) is to
    /// `put`.
    ///
    /// # Errors
    /// As listed above.
    pub fn single_delete_untracked<K: AsRef<[u8]>>(&self, key: K) -> Result<(), Error> {
        let (key, ty) = (key.as_ref(), ValueType::SingleDeletion);
        self.write(None, ty, key, &[], Conflicts::Ignored)
    }

    /// [`single_delete_untracked`](Self::single_delete_untracked) in `cf`.
    ///
    /// # Errors
    /// As listed above.
    pub fn single_delete_untracked_cf<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
    ) -> Result<(), Error> {
        let (key, ty) = (key.as_ref(), ValueType::SingleDeletion);
        self.write(Some(cf.inner()), ty, key, &[], Conflicts::Ignored)
    }

    /// Lets the transaction's reads and iterators not see its later writes, which saves time. Not
    /// in the `rocksdb` crate.
    pub fn disable_indexing(&self) {
        self.core.set_indexing(false);
    }

    /// Ends [`disable_indexing`](Self::disable_indexing). Writes in between stay unseen. Not in
    /// the `rocksdb` crate.
    pub fn enable_indexing(&self) {
        self.core.set_indexing(true);
    }

    /// Sets `key` to `value` when the transaction, which must be [prepared](Self::prepare) then,
    /// is committed. It locks nothing, and reads do not see it. Not in the `rocksdb` crate:
    /// RocksDB's `GetCommitTimeWriteBatch`.
    ///
    /// # Errors
    /// `InvalidArgument` for keys and values that are too long.
    pub fn put_at_commit<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        key: K,
        value: V,
    ) -> Result<(), Error> {
        let cf = self.core.engine().default_cf();
        let (key, value) = (key.as_ref(), value.as_ref());
        self.core.write_at_commit(cf, ValueType::Value, key, value)
    }

    /// [`put_at_commit`](Self::put_at_commit) in `cf`.
    ///
    /// # Errors
    /// As [`put_at_commit`](Self::put_at_commit).
    pub fn put_at_commit_cf<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        value: V,
    ) -> Result<(), Error> {
        let (cf, key, value) = (cf.inner().data(), key.as_ref(), value.as_ref());
        self.core.write_at_commit(cf, ValueType::Value, key, value)
    }
}
