//! The bindings to real engines, written once: the engine crate and the `rocksdb`
//! crate have the same names and signatures.
//!
//! This module contains the databases. `options` turns flags into options for both
//! engines; `own_options` and `peer_options` have what only one of them offers.

mod options;
mod own_options;
#[cfg(feature = "peer-rocksdb")]
mod peer_options;

/// Defines a module with a `Database` that implements
/// [`Engine`](super::engine::Engine) over one of the crates.
macro_rules! engine_binding {
    ($module:ident, $package:ident, $title:expr, $counted:literal) => {
        #[doc = concat!("The binding to the crate `", stringify!($package), "`.")]
        pub mod $module {
            use std::ops::Deref;
            use std::path::{Path, PathBuf};

            use std::sync::Arc;

            use $package::{
                BottommostLevelCompaction, BoundColumnFamily, ColumnFamilyDescriptor,
                CompactOptions, CompactionDecision, DBPinnableSlice, DBRawIteratorWithThreadMode,
                DBWithThreadMode, DEFAULT_COLUMN_FAMILY_NAME, FlushOptions,
                IngestExternalFileOptions, MultiThreaded, Options, PerfContext, Range, ReadOptions,
                SnapshotWithThreadMode, SstFileWriter, WriteBatch, WriteOptions,
            };

            use crate::bench::binding::options::$module::{options, set_write, verify};
            use crate::bench::engine::{
                Batch, Bounds, Cursor, Engine, External, Failure, Result, Snapshot,
            };
            use crate::bench::expiry::Expired;
            use crate::bench::families;
            use crate::bench::flags::Flags;
            use crate::bench::levels::$module as own_levels;

            /// The database type, in which column families can be created while it is in use.
            type DB = DBWithThreadMode<MultiThreaded>;
            type DBRawIterator<'a> = DBRawIteratorWithThreadMode<'a, DB>;

            /// An open database.
            pub struct Database {
                db: DB,
                options: Options,
                reads: ReadOptions,
                how: Reads,
                multiread_batched: bool,
            }

            /// A value that was read, in the form in which the call returned it.
            pub enum Read<'a> {
                Pinned(DBPinnableSlice<'a>),
                Copied(Vec<u8>),
            }

            impl Deref for Read<'_> {
                type Target = [u8];

                fn deref(&self) -> &[u8] {
                    match self {
                        Self::Pinned(value) => value,
                        Self::Copied(value) => value,
                    }
                }
            }

            /// A snapshot, with the options to read it.
            pub struct View<'a> {
                snapshot: SnapshotWithThreadMode<'a, DB>,
                how: Reads,
            }

            impl Snapshot for View<'_> {
                fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
                    Ok(self.snapshot.get_opt(key, self.how.options())?)
                }
            }

            /// The options of reads.
            #[derive(Clone, Copy)]
            struct Reads {
                verify_checksums: bool,
                prefix_same_as_start: bool,
                total_order_seek: bool,
                readahead: usize,
                tailing: bool,
            }

            impl Reads {
                fn options(self) -> ReadOptions {
                    let mut reads = ReadOptions::default();
                    reads.set_verify_checksums(self.verify_checksums);
                    reads.set_prefix_same_as_start(self.prefix_same_as_start);
                    reads.set_total_order_seek(self.total_order_seek);
                    reads.set_readahead_size(self.readahead);
                    reads.set_tailing(self.tailing);
                    reads
                }
            }

            impl Engine for Database {
                type Batch = WriteBatch;
                type WriteMode = WriteOptions;
                type Family<'a> = Arc<BoundColumnFamily<'a>>;
                type Value<'a> = Read<'a>;
                type Cursor<'a> = DBRawIterator<'a>;
                type External<'a> = SstFileWriter<'a>;
                type Snapshot<'a> = View<'a>;

                const COUNTED: bool = $counted;

                fn title() -> String {
                    ($title).to_owned()
                }

                fn open(directory: &Path, flags: &Flags, expired: Option<Expired>) -> Result<Self> {
                    let mut options = options(flags)?;
                    if let Some(expired) = expired {
                        let judge = move |_: u32, key: &[u8], _: &[u8]| {
                            if expired.is(key) {
                                CompactionDecision::Remove
                            } else {
                                CompactionDecision::Keep
                            }
                        };
                        options.set_compaction_filter("ExpiredTimeFilter", judge);
                    }
                    let how = Reads {
                        verify_checksums: flags.verify_checksum,
                        prefix_same_as_start: flags.prefix_same_as_start,
                        total_order_seek: flags.total_order_seek,
                        readahead: usize::try_from(flags.readahead_size)?,
                        tailing: flags.use_tailing_iterator,
                    };
                    // Batched reads need a handle of each family, which exists for the
                    // default one only if it is named.
                    let families = match flags.hot_families() {
                        1 if !flags.multiread_batched => 0,
                        hot => hot,
                    };
                    let named = (0..families).map(|index| (families::name(index), options.clone()));
                    let db = if flags.readonly {
                        DB::open_cf_with_opts_for_read_only(&options, directory, named, false)?
                    } else if flags.use_secondary_db {
                        let own = families::secondary_directory(flags);
                        let named =
                            named.map(|(name, options)| ColumnFamilyDescriptor::new(name, options));
                        DB::open_cf_descriptors_as_secondary(
                            &options,
                            directory,
                            own.as_path(),
                            named,
                        )?
                    } else {
                        DB::open_cf_with_opts(&options, directory, named)?
                    };
                    Ok(Self {
                        db,
                        options,
                        reads: how.options(),
                        how,
                        multiread_batched: flags.multiread_batched,
                    })
                }

                fn destroy(directory: &Path, flags: &Flags) -> Result<()> {
                    DB::destroy(&options(flags)?, directory)?;
                    Ok(())
                }

                fn create_family(&self, name: &str) -> Result<()> {
                    Ok(self.db.create_cf(name, &self.options)?)
                }

                fn family(&self, name: &str) -> Result<Self::Family<'_>> {
                    self.db
                        .cf_handle(name)
                        .ok_or_else(|| Failure(format!("there is no column family {name}")))
                }

                fn catch_up(&self) -> Result<()> {
                    Ok(self.db.try_catch_up_with_primary()?)
                }

                fn write_mode(sync: bool, flags: &Flags) -> WriteOptions {
                    let mut mode = WriteOptions::default();
                    mode.set_sync(sync);
                    mode.disable_wal(flags.disable_wal);
                    mode.set_memtable_insert_hint_per_batch(flags.memtable_insert_hint_per_batch);
                    set_write(&mut mode, flags);
                    mode
                }

                fn put(&self, key: &[u8], value: &[u8], mode: &WriteOptions) -> Result<()> {
                    Ok(self.db.put_opt(key, value, mode)?)
                }

                fn merge(&self, key: &[u8], operand: &[u8], mode: &WriteOptions) -> Result<()> {
                    Ok(self.db.merge_opt(key, operand, mode)?)
                }

                fn delete(&self, key: &[u8], mode: &WriteOptions) -> Result<()> {
                    Ok(self.db.delete_opt(key, mode)?)
                }

                fn put_in(
                    &self,
                    family: &Self::Family<'_>,
                    key: &[u8],
                    value: &[u8],
                    mode: &WriteOptions,
                ) -> Result<()> {
                    Ok(self.db.put_cf_opt(family, key, value, mode)?)
                }

                fn merge_in(
                    &self,
                    family: &Self::Family<'_>,
                    key: &[u8],
                    operand: &[u8],
                    mode: &WriteOptions,
                ) -> Result<()> {
                    Ok(self.db.merge_cf_opt(family, key, operand, mode)?)
                }

                fn batch_put_in(
                    batch: &mut WriteBatch,
                    family: &Self::Family<'_>,
                    key: &[u8],
                    value: &[u8],
                ) {
                    batch.put_cf(family, key, value);
                }

                fn batch_delete_in(batch: &mut WriteBatch, family: &Self::Family<'_>, key: &[u8]) {
                    batch.delete_cf(family, key);
                }

                fn batch_delete_range_in(
                    batch: &mut WriteBatch,
                    family: &Self::Family<'_>,
                    begin: &[u8],
                    end: &[u8],
                ) {
                    batch.delete_range_cf(family, begin, end);
                }

                fn get_in(
                    &self,
                    family: &Self::Family<'_>,
                    key: &[u8],
                ) -> Result<Option<Read<'_>>> {
                    let found = self.db.get_pinned_cf_opt(family, key, &self.reads)?;
                    Ok(found.map(Read::Pinned))
                }

                fn write(&self, batch: WriteBatch, mode: &WriteOptions) -> Result<()> {
                    Ok(self.db.write_opt(batch, mode)?)
                }

                fn get(&self, key: &[u8]) -> Result<Option<Read<'_>>> {
                    Ok(self.db.get_pinned_opt(key, &self.reads)?.map(Read::Pinned))
                }

                fn multi_get(&self, keys: &[&[u8]]) -> Result<Vec<Option<Read<'_>>>> {
                    if self.multiread_batched {
                        let family = self
                            .db
                            .cf_handle(DEFAULT_COLUMN_FAMILY_NAME)
                            .ok_or_else(|| Failure("the default family has no handle".into()))?;
                        let found = self.db.batched_multi_get_cf_opt(
                            &family,
                            keys.iter().copied(),
                            false,
                            &self.reads,
                        );
                        let found = found.into_iter().map(|one| Ok(one?.map(Read::Pinned)));
                        return found.collect();
                    }
                    let found = self.db.multi_get_opt(keys, &self.reads);
                    found
                        .into_iter()
                        .map(|one| Ok(one?.map(Read::Copied)))
                        .collect()
                }

                fn snapshot(&self) -> View<'_> {
                    View {
                        snapshot: self.db.snapshot(),
                        how: self.how,
                    }
                }

                fn cursor_within(&self, bounds: Bounds) -> DBRawIterator<'_> {
                    let mut reads = self.how.options();
                    if let Some(key) = bounds.lower {
                        reads.set_iterate_lower_bound(key);
                    }
                    if let Some(key) = bounds.upper {
                        reads.set_iterate_upper_bound(key);
                    }
                    self.db.raw_iterator_opt(reads)
                }

                fn approximate_sizes(&self, ranges: &[(&[u8], &[u8])]) -> Vec<u64> {
                    let ranges: Vec<_> = ranges
                        .iter()
                        .map(|(begin, end)| Range::new(begin, end))
                        .collect();
                    self.db.get_approximate_sizes(&ranges)
                }

                fn flush(&self, families: &[Self::Family<'_>]) -> Result<()> {
                    if families.is_empty() {
                        return Ok(self.db.flush()?);
                    }
                    let families: Vec<_> = families.iter().collect();
                    Ok(self.db.flush_cfs_opt(&families, &FlushOptions::default())?)
                }

                fn compact(&self, bottommost: bool) {
                    let mut how = CompactOptions::default();
                    if bottommost {
                        let force = BottommostLevelCompaction::ForceOptimized;
                        how.set_bottommost_level_compaction(force);
                    }
                    self.db
                        .compact_range_opt(None::<&[u8]>, None::<&[u8]>, &how);
                }

                fn external(&self, file: &Path) -> Result<SstFileWriter<'_>> {
                    let table = SstFileWriter::create(&self.options);
                    table.open(file)?;
                    Ok(table)
                }

                fn ingest(&self, files: Vec<PathBuf>) -> Result<()> {
                    let mut how = IngestExternalFileOptions::default();
                    how.set_move_files(true);
                    Ok(self.db.ingest_external_file_opts(&how, files)?)
                }

                fn measure_this_thread(level: i32) -> Result<()> {
                    $package::perf::set_perf_stats(own_levels::perf(level)?);
                    PerfContext::default().reset();
                    Ok(())
                }

                fn measured() -> String {
                    PerfContext::default().report(true)
                }

                fn verify(&self, whole_files: bool) -> Result<()> {
                    verify(&self.db, whole_files)
                }

                fn change_options(&self, options: &[(&str, &str)]) -> Result<()> {
                    Ok(self.db.set_options(options)?)
                }

                fn property(&self, name: &str) -> Option<String> {
                    self.db.property_value(name).ok().flatten()
                }

                fn property_in(&self, family: &Self::Family<'_>, name: &str) -> Option<String> {
                    self.db.property_value_cf(family, name).ok().flatten()
                }
            }

            impl External for SstFileWriter<'_> {
                fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
                    Ok(SstFileWriter::put(self, key, value)?)
                }

                fn finish(mut self) -> Result<()> {
                    Ok(SstFileWriter::finish(&mut self)?)
                }
            }

            impl Batch for WriteBatch {
                fn with_capacity(bytes: usize) -> Self {
                    Self::with_capacity_bytes(bytes)
                }

                fn put(&mut self, key: &[u8], value: &[u8]) {
                    WriteBatch::put(self, key, value);
                }

                fn delete(&mut self, key: &[u8]) {
                    WriteBatch::delete(self, key);
                }

                fn single_delete(&mut self, key: &[u8]) {
                    WriteBatch::single_delete(self, key);
                }

                fn delete_range(&mut self, begin: &[u8], end: &[u8]) {
                    WriteBatch::delete_range(self, begin, end);
                }
            }

            impl Cursor for DBRawIterator<'_> {
                fn seek_to_first(&mut self) {
                    DBRawIterator::seek_to_first(self);
                }

                fn seek_to_last(&mut self) {
                    DBRawIterator::seek_to_last(self);
                }

                fn seek(&mut self, key: &[u8]) {
                    DBRawIterator::seek(self, key);
                }

                fn next(&mut self) {
                    DBRawIterator::next(self);
                }

                fn prev(&mut self) {
                    DBRawIterator::prev(self);
                }

                fn item(&self) -> Option<(&[u8], &[u8])> {
                    DBRawIterator::item(self)
                }

                fn status(&self) -> Result<()> {
                    Ok(DBRawIterator::status(self)?)
                }
            }
        }
    };
}

engine_binding!(
    own,
    whitewater,
    concat!("Whitewater: version ", env!("CARGO_PKG_VERSION")),
    true
);

#[cfg(feature = "peer-rocksdb")]
engine_binding!(
    peer,
    rocksdb,
    "RocksDB:    as bundled by the rocksdb crate 0.25",
    false
);
