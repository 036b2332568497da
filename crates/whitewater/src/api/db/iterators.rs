//! Iterators and snapshots of a database.

use super::{DBCommon, DBInner, ThreadMode};
use crate::api::column_family::AsColumnFamilyRef;
use crate::api::iterator::{
    DBIteratorWithThreadMode, DBRawIteratorWithThreadMode, Direction, IteratorMode,
};
use crate::api::options::ReadOptions;
use crate::api::snapshot::SnapshotWithThreadMode;

/// Iterators. A failure to make or move one is the iterator's next item, or
/// the [`status`](DBRawIteratorWithThreadMode::status) of a raw one.
impl<T: ThreadMode, D: DBInner> DBCommon<T, D> {
    /// An iterator over the default column family.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = whitewater::DB::open_default(dir.path())?;
    /// use whitewater::{Direction, IteratorMode};
    ///
    /// for key in ["a", "b", "c"] {
    ///     db.put(key, "")?;
    /// }
    /// let from_b = IteratorMode::From(b"b", Direction::Forward);
    /// let keys = db.iterator(from_b).map(|entry| entry.map(|(key, _)| key));
    /// assert_eq!(keys.collect::<Result<Vec<_>, _>>()?, [(*b"b").into(), (*b"c").into()]);
    /// assert_eq!(db.iterator(IteratorMode::End).count(), 3); // backwards
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn iterator<'a: 'b, 'b>(
        &'a self,
        mode: IteratorMode<'_>,
    ) -> DBIteratorWithThreadMode<'b, Self> {
        self.iterator_opt(mode, ReadOptions::default())
    }

    /// [`iterator`](Self::iterator) with options.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = whitewater::DB::open_default(dir.path())?;
    /// use whitewater::{IteratorMode, ReadOptions};
    ///
    /// for key in ["a", "b", "c", "d"] {
    ///     db.put(key, "")?;
    /// }
    /// let mut range = ReadOptions::default();
    /// range.set_iterate_lower_bound("b");
    /// range.set_iterate_upper_bound("d"); // not included
    /// assert_eq!(db.iterator_opt(IteratorMode::Start, range).count(), 2);
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn iterator_opt<'a: 'b, 'b>(
        &'a self,
        mode: IteratorMode<'_>,
        readopts: ReadOptions,
    ) -> DBIteratorWithThreadMode<'b, Self> {
        DBIteratorWithThreadMode::new(self.raw_iterator_opt(readopts), mode)
    }

    /// [`iterator_cf`](Self::iterator_cf) with options.
    pub fn iterator_cf_opt<'a: 'b, 'b>(
        &'a self,
        cf_handle: &impl AsColumnFamilyRef,
        readopts: ReadOptions,
        mode: IteratorMode<'_>,
    ) -> DBIteratorWithThreadMode<'b, Self> {
        DBIteratorWithThreadMode::new(self.raw_iterator_cf_opt(cf_handle, readopts), mode)
    }

    /// An iterator over all keys in order, whatever the prefix extractor: see
    /// [`ReadOptions::set_total_order_seek`].
    pub fn full_iterator<'a: 'b, 'b>(
        &'a self,
        mode: IteratorMode<'_>,
    ) -> DBIteratorWithThreadMode<'b, Self> {
        let mut readopts = ReadOptions::default();
        readopts.set_total_order_seek(true);
        self.iterator_opt(mode, readopts)
    }

    /// An iterator from the first key at or after `prefix` on that ends with
    /// the keys that share its prefix, as the
    /// [prefix extractor](crate::Options::set_prefix_extractor) has it:
    /// [`ReadOptions::set_prefix_same_as_start`]. Without an extractor, or when
    /// that finds no prefix in `prefix`, it goes on to the last key. For all
    /// keys that begin with some bytes and no others, see
    /// [`PrefixRange`](crate::PrefixRange).
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// use whitewater::{DB, Options, SliceTransform};
    ///
    /// let mut options = Options::default();
    /// options.create_if_missing(true);
    /// options.set_prefix_extractor(SliceTransform::create_fixed_prefix(4));
    /// let db = DB::open(&options, dir.path())?;
    /// for key in ["2025/1", "2026/1", "2026/2", "2027/1"] {
    ///     db.put(key, "")?;
    /// }
    /// assert_eq!(db.prefix_iterator("2026").count(), 2);
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn prefix_iterator<'a: 'b, 'b, P: AsRef<[u8]>>(
        &'a self,
        prefix: P,
    ) -> DBIteratorWithThreadMode<'b, Self> {
        let mut readopts = ReadOptions::default();
        readopts.set_prefix_same_as_start(true);
        let mode = IteratorMode::From(prefix.as_ref(), Direction::Forward);
        self.iterator_opt(mode, readopts)
    }

    /// An iterator over `cf_handle`.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let mut options = whitewater::Options::default();
    /// # options.create_if_missing(true);
    /// # options.create_missing_column_families(true);
    /// # let db = whitewater::DB::open_cf(&options, dir.path(), ["users"])?;
    /// let users = db.cf_handle("users").expect("named at open");
    /// use whitewater::IteratorMode;
    ///
    /// db.put_cf(&users, "7", "ada")?;
    /// db.put_cf(&users, "8", "bea")?;
    /// assert_eq!(db.iterator_cf(&users, IteratorMode::Start).count(), 2);
    /// assert_eq!(db.iterator(IteratorMode::Start).count(), 0);
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn iterator_cf<'a: 'b, 'b>(
        &'a self,
        cf_handle: &impl AsColumnFamilyRef,
        mode: IteratorMode<'_>,
    ) -> DBIteratorWithThreadMode<'b, Self> {
        self.iterator_cf_opt(cf_handle, ReadOptions::default(), mode)
    }

    /// [`full_iterator`](Self::full_iterator) over `cf_handle`.
    pub fn full_iterator_cf<'a: 'b, 'b>(
        &'a self,
        cf_handle: &impl AsColumnFamilyRef,
        mode: IteratorMode<'_>,
    ) -> DBIteratorWithThreadMode<'b, Self> {
        let mut readopts = ReadOptions::default();
        readopts.set_total_order_seek(true);
        self.iterator_cf_opt(cf_handle, readopts, mode)
    }

    /// [`prefix_iterator`](Self::prefix_iterator) over `cf_handle`.
    pub fn prefix_iterator_cf<'a, P: AsRef<[u8]>>(
        &'a self,
        cf_handle: &impl AsColumnFamilyRef,
        prefix: P,
    ) -> DBIteratorWithThreadMode<'a, Self> {
        let mut readopts = ReadOptions::default();
        readopts.set_prefix_same_as_start(true);
        let mode = IteratorMode::From(prefix.as_ref(), Direction::Forward);
        self.iterator_cf_opt(cf_handle, readopts, mode)
    }

    /// A raw iterator over the default column family.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = whitewater::DB::open_default(dir.path())?;
    /// db.put("a", "1")?;
    /// db.put("b", "2")?;
    /// let mut iterator = db.raw_iterator();
    /// iterator.seek_to_first();
    /// while iterator.valid() {
    ///     println!("{:?}: {:?}", iterator.key(), iterator.value());
    ///     iterator.next();
    /// }
    /// iterator.status()?; // the end, or a failure?
    /// iterator.seek_for_prev("aa");
    /// assert_eq!(iterator.key(), Some(&b"a"[..]));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn raw_iterator<'a: 'b, 'b>(&'a self) -> DBRawIteratorWithThreadMode<'b, Self> {
        self.raw_iterator_opt(ReadOptions::default())
    }

    /// A raw iterator over `cf_handle`.
    pub fn raw_iterator_cf<'a: 'b, 'b>(
        &'a self,
        cf_handle: &impl AsColumnFamilyRef,
    ) -> DBRawIteratorWithThreadMode<'b, Self> {
        self.raw_iterator_cf_opt(cf_handle, ReadOptions::default())
    }

    /// [`raw_iterator`](Self::raw_iterator) with options.
    pub fn raw_iterator_opt<'a: 'b, 'b>(
        &'a self,
        readopts: ReadOptions,
    ) -> DBRawIteratorWithThreadMode<'b, Self> {
        DBRawIteratorWithThreadMode::new(self, readopts)
    }

    /// [`raw_iterator_cf`](Self::raw_iterator_cf) with options.
    pub fn raw_iterator_cf_opt<'a: 'b, 'b>(
        &'a self,
        cf_handle: &impl AsColumnFamilyRef,
        readopts: ReadOptions,
    ) -> DBRawIteratorWithThreadMode<'b, Self> {
        DBRawIteratorWithThreadMode::new_cf(self, cf_handle.inner(), readopts)
    }

    /// Takes a snapshot of all column families.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = whitewater::DB::open_default(dir.path())?;
    /// db.put("river", "blue")?;
    /// let snapshot = db.snapshot();
    /// db.put("river", "white")?;
    /// assert_eq!(snapshot.get("river")?.as_deref(), Some(&b"blue"[..]));
    /// assert_eq!(db.get("river")?.as_deref(), Some(&b"white"[..]));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn snapshot(&self) -> SnapshotWithThreadMode<'_, Self> {
        SnapshotWithThreadMode::new(self)
    }
}
