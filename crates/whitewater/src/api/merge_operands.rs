//! Reading the merge operands of a key.

use super::column_family::AsColumnFamilyRef;
use super::db::{DBCommon, DBInner, ThreadMode};
use super::options::ReadOptions;
use super::pinnable::DBPinnableSlice;
use crate::column_family::ColumnFamilyData;
use crate::db::merge_operands::OperandsWanted;
use crate::entry::get_context::WantsMore;
use std::fmt;
use std::sync::Arc;
use whitewater_storage::Result;

/// Which merge operands of a key [`get_merge_operands`](DBCommon::get_merge_operands) returns.
pub struct GetMergeOperandsOptions {
    expected_max: usize,
    continue_cb: Option<ContinueCallback>,
}

type ContinueCallback = Box<dyn Fn(&[u8]) -> bool + Send + Sync>;

impl Default for GetMergeOperandsOptions {
    fn default() -> Self {
        GetMergeOperandsOptions {
            expected_max: usize::MAX,
            continue_cb: None,
        }
    }
}

impl GetMergeOperandsOptions {
    /// The most operands that are returned. If there are more, none is, and the call fails with
    /// `Incomplete`. A number; default: no limit (RocksDB's is 0, which has to be changed).
    pub fn set_expected_max_number_of_operands(&mut self, number: usize) {
        self.expected_max = number;
    }

    /// A function that is called with each operand, newest first, but not with a value below
    /// them. Where it returns `false`, the read ends, and this operand is the oldest one that is
    /// returned. Default: none, all operands are read. If it panics, the read fails with `Aborted`.
    pub fn set_continue_cb<F>(&mut self, continue_cb: F)
    where
        F: Fn(&[u8]) -> bool + Send + Sync + 'static,
    {
        self.continue_cb = Some(Box::new(continue_cb));
    }

    fn wanted(&self) -> OperandsWanted<'_> {
        let wants_more = self.continue_cb.as_deref();
        OperandsWanted {
            most: self.expected_max,
            wants_more: wants_more.map(|f| f as WantsMore<'_>),
        }
    }
}

impl fmt::Debug for GetMergeOperandsOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GetMergeOperandsOptions")
            .field("expected_max_number_of_operands", &self.expected_max)
            .field("continue_cb", &self.continue_cb.is_some())
            .finish()
    }
}

/// Merge operands before they are merged: RocksDB's `GetMergeOperands`. Not in the `rocksdb` crate.
impl<T: ThreadMode, D: DBInner> DBCommon<T, D> {
    /// The merge operands of `key`, oldest first, not copied and not merged. The value that they
    /// apply to, if there is one, is the first; of a wide-column entity, the default column.
    /// Nothing is returned for a key that does not exist. Operands that flushes, compactions or
    /// [`set_max_successive_merges`](crate::Options::set_max_successive_merges) have merged are
    /// returned merged.
    ///
    /// # Errors
    /// As [`get`](Self::get); `Incomplete` for more operands than expected.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let mut options = whitewater::Options::default();
    /// # options.create_if_missing(true);
    /// # options.set_merge_operator_associative("append", |_, existing, operands| {
    /// #     let parts = existing.into_iter().chain(operands);
    /// #     Some(parts.collect::<Vec<_>>().concat())
    /// # });
    /// # let db = whitewater::DB::open(&options, dir.path())?;
    /// // `options` name a merge operator.
    /// use whitewater::GetMergeOperandsOptions;
    ///
    /// for operand in ["a", "b", "c"] {
    ///     db.merge("log", operand)?;
    /// }
    /// let all = db.get_merge_operands("log", &GetMergeOperandsOptions::default())?;
    /// assert_eq!(all.iter().map(|o| &o[..]).collect::<Vec<_>>(), [b"a", b"b", b"c"]);
    ///
    /// let mut newest = GetMergeOperandsOptions::default();
    /// newest.set_continue_cb(|_| false);
    /// assert_eq!(&db.get_merge_operands("log", &newest)?[0][..], b"c");
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn get_merge_operands<K: AsRef<[u8]>>(
        &self,
        key: K,
        options: &GetMergeOperandsOptions,
    ) -> Result<Vec<DBPinnableSlice<'_>>> {
        self.get_merge_operands_opt(key, options, &ReadOptions::default())
    }

    /// [`get_merge_operands`](Self::get_merge_operands) with options of the read.
    ///
    /// # Errors
    /// As [`get_merge_operands`](Self::get_merge_operands).
    pub fn get_merge_operands_opt<K: AsRef<[u8]>>(
        &self,
        key: K,
        options: &GetMergeOperandsOptions,
        readopts: &ReadOptions,
    ) -> Result<Vec<DBPinnableSlice<'_>>> {
        self.merge_operands_in(self.engine().default_cf(), key.as_ref(), options, readopts)
    }

    /// The merge operands of `key` in `cf`.
    ///
    /// # Errors
    /// As [`get_merge_operands`](Self::get_merge_operands).
    pub fn get_merge_operands_cf<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        options: &GetMergeOperandsOptions,
    ) -> Result<Vec<DBPinnableSlice<'_>>> {
        self.get_merge_operands_cf_opt(cf, key, options, &ReadOptions::default())
    }

    /// [`get_merge_operands_cf`](Self::get_merge_operands_cf) with options of the read.
    ///
    /// # Errors
    /// As [`get_merge_operands`](Self::get_merge_operands).
    pub fn get_merge_operands_cf_opt<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        options: &GetMergeOperandsOptions,
        readopts: &ReadOptions,
    ) -> Result<Vec<DBPinnableSlice<'_>>> {
        self.merge_operands_in(cf.inner().data(), key.as_ref(), options, readopts)
    }

    fn merge_operands_in(
        &self,
        cf: &Arc<ColumnFamilyData>,
        key: &[u8],
        options: &GetMergeOperandsOptions,
        readopts: &ReadOptions,
    ) -> Result<Vec<DBPinnableSlice<'_>>> {
        let engine = self.engine();
        let found = engine.merge_operands(cf, key, &readopts.spec, options.wanted())?;
        Ok(found.into_iter().map(DBPinnableSlice::new).collect())
    }
}
