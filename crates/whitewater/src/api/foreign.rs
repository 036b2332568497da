//! What an interface to another language needs beyond the public API: options by name, options of
//! reads that can be reset, handles of column families without the database. Hidden in the
//! documentation, and not stable.

use super::column_family::{AsColumnFamilyRef, ColumnFamilyHandle};
use super::db::{DBAccess, DBCommon, DBInner, ThreadMode};
use super::iterator::DBRawIteratorWithThreadMode;
use super::options::{Options, ReadOptions, WriteOptions};
use super::slice_transform::SliceTransform;
use super::snapshot::SnapshotHandle;
use super::write_batch::WriteBatchWithTransaction;
use super::write_batch_with_index::WriteBatchWithIndex;
use crate::options::prefix::{CountedPrefix, PrefixExtractor};
use std::borrow::Cow;
use std::sync::Arc;
use whitewater_storage::Error;
use whitewater_storage::bounds::Bounds;

const DEFAULT_CF: u32 = 0;

impl ColumnFamilyHandle {
    /// The number of the column family.
    pub fn family_id(&self) -> u32 {
        self.id()
    }

    /// The name of the column family.
    pub fn family_name(&self) -> &str {
        &self.data().name
    }
}

impl SnapshotHandle {
    /// Whether both stand for one snapshot, or for none.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self.guard(), other.guard()) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (a, b) => a.is_none() && b.is_none(),
        }
    }
}

impl AsColumnFamilyRef for ColumnFamilyHandle {
    fn inner(&self) -> &ColumnFamilyHandle {
        self
    }
}

impl<T: ThreadMode, D: DBInner> DBCommon<T, D> {
    /// A handle of the default column family.
    #[doc(hidden)]
    pub fn default_family(&self) -> ColumnFamilyHandle {
        let engine = self.engine();
        ColumnFamilyHandle::new(engine, engine.default_cf().clone())
    }

    /// Handles of all column families.
    #[doc(hidden)]
    pub fn families(&self) -> Vec<ColumnFamilyHandle> {
        let engine = self.engine();
        let families = engine.column_families().into_iter();
        families
            .map(|data| ColumnFamilyHandle::new(engine, data))
            .collect()
    }

    /// Writes a batch that the caller keeps.
    ///
    /// # Errors
    /// As [`DB::write`](crate::DBWithThreadMode::write).
    #[doc(hidden)]
    pub fn write_batch<const TRANSACTION: bool>(
        &self,
        batch: &WriteBatchWithTransaction<TRANSACTION>,
        writeopts: &WriteOptions,
    ) -> Result<(), Error> {
        let (batch, stamped) = batch.clone().into_batch()?;
        self.engine().write(batch, &stamped, &writeopts.spec)
    }

    /// Writes an indexed batch that the caller keeps.
    ///
    /// # Errors
    /// As [`DB::write_wbwi`](crate::DBWithThreadMode::write_wbwi).
    #[doc(hidden)]
    pub fn write_indexed_batch(
        &self,
        batch: &WriteBatchWithIndex,
        writeopts: &WriteOptions,
    ) -> Result<(), Error> {
        batch.check()?;
        let (batch, stamped) = batch.to_write_batch().into_batch()?;
        self.engine().write(batch, &stamped, &writeopts.spec)
    }
}

impl WriteBatchWithIndex {
    /// The batch, with the keys of the default column family sorted as `db` sorts them: a batch in
    /// C is made without knowing the database.
    ///
    /// # Errors
    /// `Aborted` if the user's comparator panics.
    #[doc(hidden)]
    pub fn sorted_for<T: ThreadMode, D: DBInner>(
        &self,
        db: &DBCommon<T, D>,
    ) -> Result<Cow<'_, Self>, Error> {
        let comparator = &db.engine().default_cf().comparator.user;
        Ok(match self.inner.resorted(DEFAULT_CF, comparator)? {
            None => Cow::Borrowed(self),
            Some(inner) => {
                let mut sorted = self.clone();
                (sorted.inner, sorted.comparator) = (inner, comparator.clone());
                Cow::Owned(sorted)
            }
        })
    }

    /// [`iterator_with_base`](Self::iterator_with_base) with the keys sorted as `base` sorts them.
    #[doc(hidden)]
    pub fn sorted_iterator_with_base<'b, D: DBAccess>(
        &self,
        base: DBRawIteratorWithThreadMode<'b, D>,
    ) -> DBRawIteratorWithThreadMode<'b, D> {
        base.with_batch(|id, comparator| {
            self.check()?;
            match self.inner.resorted(id, comparator)? {
                Some(sorted) => sorted.cursor(id, comparator),
                None => self.inner.cursor(id, comparator),
            }
        })
    }
}

impl ReadOptions {
    /// A copy.
    #[doc(hidden)]
    pub fn duplicate(&self) -> Self {
        ReadOptions {
            spec: self.spec.clone(),
        }
    }

    /// Reads at the snapshot of `handle`; at the time of the call if it stands for none.
    #[doc(hidden)]
    pub fn set_snapshot_handle(&mut self, handle: &SnapshotHandle) {
        self.spec.snapshot = handle.guard().cloned();
    }

    /// Takes the snapshot away.
    #[doc(hidden)]
    pub fn reset_snapshot(&mut self) {
        self.clear_snapshot();
    }

    /// Sets the bounds of iterators, or takes them away.
    #[doc(hidden)]
    pub fn reset_bounds(&mut self, lower: Option<Vec<u8>>, upper: Option<Vec<u8>>) {
        self.spec.bounds = Bounds::new(lower, upper);
    }

    /// Takes the timestamps away.
    #[doc(hidden)]
    pub fn reset_timestamps(&mut self, read: Option<Vec<u8>>, start: Option<Vec<u8>>) {
        (self.spec.timestamp, self.spec.iter_start_ts) = (read, start);
    }
}

impl SliceTransform {
    /// A prefix extractor made of a function with state: it returns the length of a key's prefix,
    /// or `None` for a key without one.
    #[doc(hidden)]
    pub fn with_length(
        name: String,
        length: impl Fn(&[u8]) -> Option<usize> + Send + Sync + 'static,
    ) -> Self {
        let length = Box::new(length);
        let counted = Arc::new(CountedPrefix { name, length });
        SliceTransform {
            extractor: Ok(PrefixExtractor::Counted(counted)),
        }
    }
}

impl Options {
    /// Sets the option `name` from RocksDB's text form. A value that cannot be taken is refused at
    /// open, until the option gets another one.
    #[doc(hidden)]
    pub fn set_by_name(&mut self, name: &str, value: &str) {
        match self.assign_text(name, value) {
            Ok(()) => self.accept_named(name),
            Err(e) => self.refuse_by_name(name, e),
        }
    }

    /// The option `name` in RocksDB's text form, if there is one.
    #[doc(hidden)]
    pub fn get_by_name(&self, name: &str) -> Option<String> {
        self.texts()
            .find(|(own, _)| *own == name)
            .map(|(_, text)| text)
    }
}
