//! Point reads.

use super::{DBCommon, DBInner, ThreadMode};
use crate::api::column_family::AsColumnFamilyRef;
use crate::api::options::ReadOptions;
use crate::api::pinnable::{CSlice, DBPinnableSlice, pinned};
use crate::column_family::ColumnFamilyData;
use crate::entry::answer::Answer;
use std::sync::Arc;
use whitewater_storage::Error;

/// Point reads. `None` means that the key does not exist. Every form fails
/// with `Corruption` naming a damaged file, `IOError` when a file cannot be
/// read, and `Corruption` when the merge operator fails.
impl<T: ThreadMode, D: DBInner> DBCommon<T, D> {
    /// [`get`](Self::get) with options.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = whitewater::DB::open_default(dir.path())?;
    /// use whitewater::ReadOptions;
    ///
    /// db.put("river", "blue")?;
    /// let mut at_snapshot = ReadOptions::default();
    /// at_snapshot.set_snapshot(&db.snapshot());
    /// db.put("river", "white")?;
    /// assert_eq!(db.get_opt("river", &at_snapshot)?, Some(b"blue".to_vec()));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn get_opt<K: AsRef<[u8]>>(
        &self,
        key: K,
        readopts: &ReadOptions,
    ) -> Result<Option<Vec<u8>>, Error> {
        let engine = self.engine();
        engine.get(engine.default_cf(), key.as_ref(), &readopts.spec)
    }

    /// The value of `key`, copied. [`get_pinned`](Self::get_pinned) saves the
    /// copy.
    ///
    /// # Errors
    /// As listed above.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = whitewater::DB::open_default(dir.path())?;
    /// db.put("river", "blue")?;
    /// assert_eq!(db.get("river")?, Some(b"blue".to_vec()));
    /// assert_eq!(db.get("stream")?, None);
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn get<K: AsRef<[u8]>>(&self, key: K) -> Result<Option<Vec<u8>>, Error> {
        self.get_opt(key, &ReadOptions::default())
    }

    /// [`get_cf`](Self::get_cf) with options.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn get_cf_opt<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        readopts: &ReadOptions,
    ) -> Result<Option<Vec<u8>>, Error> {
        let cf = cf.inner().data();
        self.engine().get(cf, key.as_ref(), &readopts.spec)
    }

    /// The value of `key` in `cf`, copied.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let mut options = whitewater::Options::default();
    /// # options.create_if_missing(true);
    /// # options.create_missing_column_families(true);
    /// # let db = whitewater::DB::open_cf(&options, dir.path(), ["users"])?;
    /// let users = db.cf_handle("users").expect("named at open");
    /// db.put_cf(&users, "7", "ada")?;
    /// assert_eq!(db.get_cf(&users, "7")?, Some(b"ada".to_vec()));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn get_cf<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
    ) -> Result<Option<Vec<u8>>, Error> {
        self.get_cf_opt(cf, key, &ReadOptions::default())
    }

    /// [`get_pinned`](Self::get_pinned) with options.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn get_pinned_opt<K: AsRef<[u8]>>(
        &self,
        key: K,
        readopts: &ReadOptions,
    ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        let engine = self.engine();
        pinned(engine.get(engine.default_cf(), key.as_ref(), &readopts.spec))
    }

    /// The value of `key`, not copied.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = whitewater::DB::open_default(dir.path())?;
    /// db.put("river", vec![1; 1 << 20])?;
    /// // Borrows from the memtable or the block cache instead of copying 1 MiB.
    /// let value = db.get_pinned("river")?.expect("written above");
    /// assert_eq!(value.len(), 1 << 20);
    /// assert_eq!(value[0], 1);
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn get_pinned<K: AsRef<[u8]>>(&self, key: K) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        self.get_pinned_opt(key, &ReadOptions::default())
    }

    /// [`get_pinned_cf`](Self::get_pinned_cf) with options.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn get_pinned_cf_opt<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        readopts: &ReadOptions,
    ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        let cf = cf.inner().data();
        pinned(self.engine().get(cf, key.as_ref(), &readopts.spec))
    }

    /// The value of `key` in `cf`, not copied.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn get_pinned_cf<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
    ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        self.get_pinned_cf_opt(cf, key, &ReadOptions::default())
    }

    /// The values of `keys`, in their order, as of one moment.
    ///
    /// ```
    /// # fn main() -> Result<(), whitewater::Error> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path();
    /// let db = whitewater::DB::open_default(path)?;
    /// db.put(b"a", b"1")?;
    /// let values: Result<Vec<_>, _> = db.multi_get([b"z", b"a"]).into_iter().collect();
    /// assert_eq!(values?, [None, Some(b"1".to_vec())]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn multi_get<K, I>(&self, keys: I) -> Vec<Result<Option<Vec<u8>>, Error>>
    where
        K: AsRef<[u8]>,
        I: IntoIterator<Item = K>,
    {
        self.multi_get_opt(keys, &ReadOptions::default())
    }

    /// [`multi_get`](Self::multi_get) with options.
    pub fn multi_get_opt<K, I>(
        &self,
        keys: I,
        readopts: &ReadOptions,
    ) -> Vec<Result<Option<Vec<u8>>, Error>>
    where
        K: AsRef<[u8]>,
        I: IntoIterator<Item = K>,
    {
        let cf = self.engine().default_cf();
        let keys: Vec<_> = keys.into_iter().map(|key| (cf, key)).collect();
        self.multi_get_in(&keys, readopts)
    }

    /// The values of keys of column families, in their order, as of one
    /// moment.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let mut options = whitewater::Options::default();
    /// # options.create_if_missing(true);
    /// # options.create_missing_column_families(true);
    /// # let db = whitewater::DB::open_cf(&options, dir.path(), ["users"])?;
    /// let users = db.cf_handle("users").expect("named at open");
    /// db.put_cf(&users, "7", "ada")?;
    /// let found = db.multi_get_cf([(&users, "7"), (&users, "8")]);
    /// let found = found.into_iter().collect::<Result<Vec<_>, _>>()?;
    /// assert_eq!(found, [Some(b"ada".to_vec()), None]);
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn multi_get_cf<'a, 'b: 'a, K, I, W>(
        &'a self,
        keys: I,
    ) -> Vec<Result<Option<Vec<u8>>, Error>>
    where
        K: AsRef<[u8]>,
        I: IntoIterator<Item = (&'b W, K)>,
        W: 'b + AsColumnFamilyRef,
    {
        self.multi_get_cf_opt(keys, &ReadOptions::default())
    }

    /// [`multi_get_cf`](Self::multi_get_cf) with options.
    pub fn multi_get_cf_opt<'a, 'b: 'a, K, I, W>(
        &'a self,
        keys: I,
        readopts: &ReadOptions,
    ) -> Vec<Result<Option<Vec<u8>>, Error>>
    where
        K: AsRef<[u8]>,
        I: IntoIterator<Item = (&'b W, K)>,
        W: 'b + AsColumnFamilyRef,
    {
        let keys: Vec<_> = keys
            .into_iter()
            .map(|(cf, key)| (cf.inner().data(), key))
            .collect();
        self.multi_get_in(&keys, readopts)
    }

    /// The values of `keys` of `cf`, in their order, not copied.
    /// `sorted_input` is a hint that the keys ascend.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let mut options = whitewater::Options::default();
    /// # options.create_if_missing(true);
    /// # options.create_missing_column_families(true);
    /// # let db = whitewater::DB::open_cf(&options, dir.path(), ["users"])?;
    /// let users = db.cf_handle("users").expect("named at open");
    /// db.put_cf(&users, "7", "ada")?;
    /// db.put_cf(&users, "9", "eve")?;
    /// let found = db.batched_multi_get_cf(&users, ["7", "8", "9"], true);
    /// let found = found.into_iter().collect::<Result<Vec<_>, _>>()?;
    /// assert_eq!(found[0].as_deref(), Some(&b"ada"[..]));
    /// assert!(found[1].is_none());
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn batched_multi_get_cf<'a, K, I>(
        &self,
        cf: &impl AsColumnFamilyRef,
        keys: I,
        sorted_input: bool,
    ) -> Vec<Result<Option<DBPinnableSlice<'_>>, Error>>
    where
        K: AsRef<[u8]> + 'a + ?Sized,
        I: IntoIterator<Item = &'a K>,
    {
        self.batched_multi_get_cf_opt(cf, keys, sorted_input, &ReadOptions::default())
    }

    /// [`batched_multi_get_cf`](Self::batched_multi_get_cf) with options.
    pub fn batched_multi_get_cf_opt<'a, K, I>(
        &self,
        cf: &impl AsColumnFamilyRef,
        keys: I,
        _sorted_input: bool,
        readopts: &ReadOptions,
    ) -> Vec<Result<Option<DBPinnableSlice<'_>>, Error>>
    where
        K: AsRef<[u8]> + 'a + ?Sized,
        I: IntoIterator<Item = &'a K>,
    {
        let cf = cf.inner().data();
        let keys: Vec<_> = keys.into_iter().map(|key| (cf, key)).collect();
        let found = self.multi_get_in(&keys, readopts);
        found.into_iter().map(pinned).collect()
    }

    fn multi_get_in<A: Answer, K: AsRef<[u8]>>(
        &self,
        keys: &[(&Arc<ColumnFamilyData>, K)],
        readopts: &ReadOptions,
    ) -> Vec<Result<Option<A>, Error>> {
        let keys: Vec<_> = keys.iter().map(|(cf, key)| (*cf, key.as_ref())).collect();
        self.engine().multi_get(&keys, &readopts.spec)
    }

    /// `false` when `key` certainly does not exist, found out without reading
    /// values from files.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = whitewater::DB::open_default(dir.path())?;
    /// db.put("river", "blue")?;
    /// assert!(db.key_may_exist("river"));
    /// // `false` is certain, `true` is not.
    /// if db.key_may_exist("stream") {
    ///     assert_eq!(db.get("stream")?, None);
    /// }
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn key_may_exist<K: AsRef<[u8]>>(&self, key: K) -> bool {
        self.key_may_exist_opt(key, &ReadOptions::default())
    }

    /// [`key_may_exist`](Self::key_may_exist) with options.
    pub fn key_may_exist_opt<K: AsRef<[u8]>>(&self, key: K, readopts: &ReadOptions) -> bool {
        let engine = self.engine();
        let cf = engine.default_cf();
        engine.key_may_exist(cf, key.as_ref(), &readopts.spec).0
    }

    /// [`key_may_exist`](Self::key_may_exist) in `cf`.
    pub fn key_may_exist_cf<K: AsRef<[u8]>>(&self, cf: &impl AsColumnFamilyRef, key: K) -> bool {
        self.key_may_exist_cf_opt(cf, key, &ReadOptions::default())
    }

    /// [`key_may_exist_cf`](Self::key_may_exist_cf) with options.
    pub fn key_may_exist_cf_opt<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        readopts: &ReadOptions,
    ) -> bool {
        self.key_may_exist_cf_opt_value(cf, key, readopts).0
    }

    /// [`key_may_exist_cf_opt`](Self::key_may_exist_cf_opt) and the value, when
    /// it was met on the way.
    pub fn key_may_exist_cf_opt_value<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        readopts: &ReadOptions,
    ) -> (bool, Option<CSlice>) {
        let cf = cf.inner().data();
        let (may_exist, value) = self
            .engine()
            .key_may_exist(cf, key.as_ref(), &readopts.spec);
        (may_exist, value.map(CSlice::new))
    }
}
