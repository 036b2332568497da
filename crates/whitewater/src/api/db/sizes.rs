//! About how many bytes and entries are in a range of keys.

use super::inspect::Range;
use super::{DBCommon, DBInner, ThreadMode};
use crate::api::column_family::AsColumnFamilyRef;
use crate::column_family::ColumnFamilyData;
use crate::db::inspect::SizesSpec;
use crate::memtable::MemTableStats;
use std::sync::Arc;
use whitewater_storage::Error;

/// What [`DBCommon::get_approximate_sizes_opt`] includes, and how exact it is. RocksDB's
/// `SizeApproximationOptions`.
#[derive(Debug, Clone, Default)]
pub struct SizeApproximationOptions {
    spec: SizesSpec,
}

impl SizeApproximationOptions {
    /// Whether what memtables hold is included, in bytes of memory. Default `false`.
    pub fn set_include_memtables(&mut self, include: bool) {
        self.spec.memtables = include;
    }

    /// Whether table files are included. Default `true`.
    pub fn set_include_files(&mut self, include: bool) {
        self.spec.files = include;
    }

    /// Whether blob files are included: as large a share of them as of the table files, which is
    /// wrong where values are larger at some keys than at others. Default `false`.
    pub fn set_include_blob_files(&mut self, include: bool) {
        self.spec.blob_files = include;
    }

    /// How far the size of table files may be wrong, as a share of that of the files that lie in
    /// the range as a whole, so that fewer files need to be read: if all files that reach over an
    /// end of the range have less than this share together, half of their size is taken. 0 and
    /// below: each of these is read. Default -1.
    pub fn set_files_size_error_margin(&mut self, margin: f64) {
        self.spec.margin = margin;
    }
}

/// About how many bytes and entries are in a range of keys.
impl<T: ThreadMode, D: DBInner> DBCommon<T, D> {
    /// About how many bytes of files hold each of `ranges` of the default
    /// column family.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = whitewater::DB::open_default(dir.path())?;
    /// use whitewater::Range;
    ///
    /// for key in 0..1_000 {
    ///     db.put(format!("{key:04}"), [key as u8; 100])?;
    /// }
    /// db.flush()?;
    /// let ranges = [Range::new(b"0000", b"0500"), Range::new(b"5", b"6")];
    /// let sizes = db.get_approximate_sizes(&ranges);
    /// assert!(sizes[0] > 0);
    /// assert_eq!(sizes[1], 0);
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn get_approximate_sizes(&self, ranges: &[Range<'_>]) -> Vec<u64> {
        self.approximate_sizes(self.engine().default_cf(), ranges, &SizesSpec::default())
    }

    /// [`get_approximate_sizes`](Self::get_approximate_sizes) of `cf`.
    pub fn get_approximate_sizes_cf(
        &self,
        cf: &impl AsColumnFamilyRef,
        ranges: &[Range<'_>],
    ) -> Vec<u64> {
        self.approximate_sizes(cf.inner().data(), ranges, &SizesSpec::default())
    }

    /// [`get_approximate_sizes`](Self::get_approximate_sizes) of what `opts` includes. Not in the
    /// `rocksdb` crate.
    ///
    /// # Errors
    /// `InvalidArgument` when `opts` includes nothing.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = whitewater::DB::open_default(dir.path())?;
    /// use whitewater::{Range, SizeApproximationOptions};
    ///
    /// db.put("river", "blue")?;
    /// let mut opts = SizeApproximationOptions::default();
    /// opts.set_include_memtables(true);
    /// let sizes = db.get_approximate_sizes_opt(&opts, &[Range::new(b"r", b"s")])?;
    /// assert!(sizes[0] >= 9); // nothing was flushed
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn get_approximate_sizes_opt(
        &self,
        opts: &SizeApproximationOptions,
        ranges: &[Range<'_>],
    ) -> Result<Vec<u64>, Error> {
        check(&opts.spec)?;
        Ok(self.approximate_sizes(self.engine().default_cf(), ranges, &opts.spec))
    }

    /// [`get_approximate_sizes_opt`](Self::get_approximate_sizes_opt) of `cf`.
    ///
    /// # Errors
    /// The same.
    pub fn get_approximate_sizes_cf_opt(
        &self,
        cf: &impl AsColumnFamilyRef,
        opts: &SizeApproximationOptions,
        ranges: &[Range<'_>],
    ) -> Result<Vec<u64>, Error> {
        check(&opts.spec)?;
        Ok(self.approximate_sizes(cf.inner().data(), ranges, &opts.spec))
    }

    fn approximate_sizes(
        &self,
        cf: &Arc<ColumnFamilyData>,
        ranges: &[Range<'_>],
        spec: &SizesSpec,
    ) -> Vec<u64> {
        let ranges: Vec<_> = ranges.iter().map(Range::bounds).collect();
        self.engine().approximate_sizes(cf, &ranges, spec)
    }

    /// About how many entries the memtables of the default column family hold in `range`, and how
    /// many bytes these take. RocksDB's `GetApproximateMemTableStats`, which the `rocksdb` crate
    /// does not have.
    ///
    /// Up to 128 entries of a memtable are counted. The radix tree and the skip list estimate more
    /// than that; the order of magnitude is right. The other memtables count all of them, and sort
    /// their entries first.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = whitewater::DB::open_default(dir.path())?;
    /// use whitewater::Range;
    ///
    /// for key in 0..100 {
    ///     db.put(format!("{key:02}"), "value")?;
    /// }
    /// let stats = db.get_approximate_memtable_stats(Range::new(b"20", b"30"));
    /// assert_eq!(stats.count, 10);
    /// assert!(stats.size >= 70);
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn get_approximate_memtable_stats(&self, range: Range<'_>) -> MemTableStats {
        let engine = self.engine();
        engine.approximate_memtable_stats(engine.default_cf(), range.bounds())
    }

    /// [`get_approximate_memtable_stats`](Self::get_approximate_memtable_stats) of `cf`.
    pub fn get_approximate_memtable_stats_cf(
        &self,
        cf: &impl AsColumnFamilyRef,
        range: Range<'_>,
    ) -> MemTableStats {
        self.engine()
            .approximate_memtable_stats(cf.inner().data(), range.bounds())
    }
}

fn check(spec: &SizesSpec) -> Result<(), Error> {
    if spec.memtables || spec.files || spec.blob_files {
        return Ok(());
    }
    Err(Error::invalid("Invalid options"))
}
