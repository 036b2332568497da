//! Iterators and snapshots of a database.

use super::{DBCommon, DBInner, ThreadMode};
use crate::api::column_family::AsColumnFamilyRef;
use crate::api::iterator::{
    DBIteratorWithThreadMode, DBRawIteratorWithThreadMode, Direction, IteratorMode,
};
use crate::api::multi_cf_iterator::{AttributeGroupIterator, CoalescingIterator, Member, Members};
use crate::api::options::ReadOptions;
use crate::api::snapshot::SnapshotWithThreadMode;
use whitewater_storage::Error;

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

    /// An iterator over the keys of all of `cfs` that shows each key once, with its columns of all
    /// of them together: of columns of one name, that of the last of `cfs`. It sees the database
    /// as it was when it was made. RocksDB's `NewCoalescingIterator`, which the `rocksdb` crate
    /// does not have.
    ///
    /// # Errors
    /// `InvalidArgument` when `cfs` is empty, or the comparators of two of them differ.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let mut options = whitewater::Options::default();
    /// # options.create_if_missing(true);
    /// # options.create_missing_column_families(true);
    /// # let db = whitewater::DB::open_cf(&options, dir.path(), ["names", "places"])?;
    /// let names = db.cf_handle("names").expect("named at open");
    /// let places = db.cf_handle("places").expect("named at open");
    /// use whitewater::WideColumn;
    ///
    /// db.put_entity_cf(&names, "7", [("first", "ada"), ("nick", "a")])?;
    /// db.put_entity_cf(&places, "7", [("home", "london"), ("nick", "l")])?;
    /// let mut people = db.coalescing_iterator(&[&names, &places])?;
    /// people.seek_to_first();
    /// assert_eq!(people.key(), Some(&b"7"[..]));
    /// let columns = [("first", "ada"), ("home", "london"), ("nick", "l")];
    /// let columns = columns.map(|(name, value)| WideColumn::new(name, value));
    /// assert_eq!(people.columns(), Some(columns.to_vec()));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn coalescing_iterator<'a: 'b, 'b>(
        &'a self,
        cfs: &[&impl AsColumnFamilyRef],
    ) -> Result<CoalescingIterator<'b, Self>, Error> {
        self.coalescing_iterator_opt(cfs, ReadOptions::default())
    }

    /// [`coalescing_iterator`](Self::coalescing_iterator) with options.
    ///
    /// # Errors
    /// The same; `NotSupported` for a tailing iterator and for one that shows several versions of
    /// a key.
    pub fn coalescing_iterator_opt<'a: 'b, 'b>(
        &'a self,
        cfs: &[&impl AsColumnFamilyRef],
        readopts: ReadOptions,
    ) -> Result<CoalescingIterator<'b, Self>, Error> {
        Ok(CoalescingIterator::new(self.members(cfs, readopts)?))
    }

    /// An iterator over the keys of all of `cfs` that shows each key once, with its columns by
    /// column family. It sees the database as it was when it was made. RocksDB's
    /// `NewAttributeGroupIterator`, which the `rocksdb` crate does not have.
    ///
    /// # Errors
    /// As [`coalescing_iterator`](Self::coalescing_iterator).
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let mut options = whitewater::Options::default();
    /// # options.create_if_missing(true);
    /// # options.create_missing_column_families(true);
    /// # let db = whitewater::DB::open_cf(&options, dir.path(), ["names", "places"])?;
    /// let names = db.cf_handle("names").expect("named at open");
    /// let places = db.cf_handle("places").expect("named at open");
    /// db.put_cf(&names, "7", "ada")?;
    /// db.put_entity_cf(&places, "7", [("home", "london")])?;
    /// let mut people = db.attribute_group_iterator(&[&names, &places])?;
    /// people.seek_to_first();
    /// let groups = people.attribute_groups().expect("it stands on a key");
    /// let of: Vec<_> = groups.iter().map(|group| group.column_family_name()).collect();
    /// assert_eq!(of, ["names", "places"]);
    /// assert_eq!(groups[1].columns()[0].value, b"london");
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn attribute_group_iterator<'a: 'b, 'b>(
        &'a self,
        cfs: &[&impl AsColumnFamilyRef],
    ) -> Result<AttributeGroupIterator<'b, Self>, Error> {
        self.attribute_group_iterator_opt(cfs, ReadOptions::default())
    }

    /// [`attribute_group_iterator`](Self::attribute_group_iterator) with options.
    ///
    /// # Errors
    /// As [`coalescing_iterator_opt`](Self::coalescing_iterator_opt).
    pub fn attribute_group_iterator_opt<'a: 'b, 'b>(
        &'a self,
        cfs: &[&impl AsColumnFamilyRef],
        readopts: ReadOptions,
    ) -> Result<AttributeGroupIterator<'b, Self>, Error> {
        Ok(AttributeGroupIterator::new(self.members(cfs, readopts)?))
    }

    /// Iterators over `cfs` that see the same.
    fn members<'a: 'b, 'b>(
        &'a self,
        cfs: &[&impl AsColumnFamilyRef],
        mut readopts: ReadOptions,
    ) -> Result<Members<'b, Self>, Error> {
        if readopts.spec.tailing || readopts.spec.iter_start_ts.is_some() {
            return Err(Error::not_supported(
                "iterators over several column families that are tailing or show several versions",
            ));
        }
        // A secondary instance has no snapshots; its views stay as they are meanwhile.
        let one_age = self.engine().views_of_one_age();
        if readopts.spec.snapshot.is_none() && self.engine().has_snapshots() {
            readopts.set_snapshot(&self.snapshot());
        }
        let member = |cf: &&_| {
            let cf = AsColumnFamilyRef::inner(*cf);
            let spec = readopts.spec.clone();
            Member {
                cf: cf.clone(),
                iterator: DBRawIteratorWithThreadMode::new_cf(self, cf, ReadOptions { spec }),
            }
        };
        let members = cfs.iter().map(member).collect();
        drop(one_age);
        Members::new(members)
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
