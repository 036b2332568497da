//! The bindings to real engines, written once: the engine crate and the `rocksdb`
//! crate have the same names and signatures.
//!
//! This module contains the engines, and `bases` the types of databases of each:
//! without transactions, and with them. `options` turns flags into options for both
//! engines; `own_options` and `peer_options` have what only one of them offers.

mod bases;
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

            use $package::backup::{BackupEngine, RestoreOptions};
            use $package::{
                BottommostLevelCompaction, CompactOptions, CompactionDecision, DBPinnableSlice,
                DBRawIteratorWithThreadMode, Env, IngestExternalFileOptions, Options, PerfContext,
                ReadOptions, SnapshotWithThreadMode, SstFileWriter, WriteOptions,
            };

            pub use crate::bench::binding::bases::$module::{Base, Locking, Optimistic, Plain};

            use crate::bench::binding::bases::$module::{Family, InFamilies};
            use crate::bench::binding::options::$module::{Watch, backups, options, set_write};
            use crate::bench::engine::{
                Bounds, Cursor, Engine, External, Failure, Result, Snapshot,
            };
            use crate::bench::expiry::Expired;
            use crate::bench::families;
            use crate::bench::flags::Flags;
            use crate::bench::levels::$module as own_levels;

            /// An open database.
            pub struct Database<D = Plain> {
                db: D,
                options: Options,
                reads: ReadOptions,
                how: Reads,
                multiread_batched: bool,
                /// Ends with the database.
                _watch: Option<Watch>,
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
            pub struct View<'a, D: Base> {
                snapshot: SnapshotWithThreadMode<'a, D>,
                how: Reads,
            }

            impl<D: Base> Snapshot for View<'_, D> {
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
                async_io: bool,
                tailing: bool,
            }

            impl Reads {
                fn options(self) -> ReadOptions {
                    let mut reads = ReadOptions::default();
                    reads.set_verify_checksums(self.verify_checksums);
                    reads.set_prefix_same_as_start(self.prefix_same_as_start);
                    reads.set_total_order_seek(self.total_order_seek);
                    reads.set_readahead_size(self.readahead);
                    reads.set_async_io(self.async_io);
                    reads.set_tailing(self.tailing);
                    reads
                }
            }

            impl<D: Base> Engine for Database<D> {
                type Batch = D::Batch;
                type WriteMode = WriteOptions;
                type Family<'a> = Family<'a>;
                type Value<'a> = Read<'a>;
                type Cursor<'a> = DBRawIteratorWithThreadMode<'a, D>;
                type External<'a> = SstFileWriter<'a>;
                type Snapshot<'a> = View<'a, D>;
                type Transaction<'a> = D::Transaction<'a>;
                type TransactionMode = D::Begin;

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
                        async_io: flags.async_io,
                        tailing: flags.use_tailing_iterator,
                    };
                    // Batched reads need a handle of each family, which exists for the
                    // default one only if it is named.
                    let families = match flags.hot_families() {
                        1 if !flags.multiread_batched => 0,
                        hot => hot,
                    };
                    let named = (0..families).map(|index| (families::name(index), options.clone()));
                    let db = D::open(directory, &options, named.collect(), flags)?;
                    let watch = db.watched(flags)?;
                    Ok(Self {
                        db,
                        options,
                        _watch: watch,
                        reads: how.options(),
                        how,
                        multiread_batched: flags.multiread_batched,
                    })
                }

                fn destroy(directory: &Path, flags: &Flags) -> Result<()> {
                    Plain::destroy(&options(flags)?, directory)?;
                    Ok(())
                }

                fn create_family(&self, name: &str) -> Result<()> {
                    self.db.create_family(name, &self.options)
                }

                fn family(&self, name: &str) -> Result<Self::Family<'_>> {
                    self.db
                        .family(name)
                        .ok_or_else(|| Failure(format!("there is no column family {name}")))
                }

                fn catch_up(&self) -> Result<()> {
                    self.db.catch_up()
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
                    self.db.put(key, value, mode)
                }

                fn merge(&self, key: &[u8], operand: &[u8], mode: &WriteOptions) -> Result<()> {
                    self.db.merge(key, operand, mode)
                }

                fn delete(&self, key: &[u8], mode: &WriteOptions) -> Result<()> {
                    self.db.delete(key, mode)
                }

                fn put_in(
                    &self,
                    family: &Self::Family<'_>,
                    key: &[u8],
                    value: &[u8],
                    mode: &WriteOptions,
                ) -> Result<()> {
                    self.db.put_in(family, key, value, mode)
                }

                fn merge_in(
                    &self,
                    family: &Self::Family<'_>,
                    key: &[u8],
                    operand: &[u8],
                    mode: &WriteOptions,
                ) -> Result<()> {
                    self.db.merge_in(family, key, operand, mode)
                }

                fn batch_put_in(
                    batch: &mut D::Batch,
                    family: &Self::Family<'_>,
                    key: &[u8],
                    value: &[u8],
                ) {
                    batch.put_in(family, key, value);
                }

                fn batch_delete_in(batch: &mut D::Batch, family: &Self::Family<'_>, key: &[u8]) {
                    batch.delete_in(family, key);
                }

                fn batch_delete_range_in(
                    batch: &mut D::Batch,
                    family: &Self::Family<'_>,
                    begin: &[u8],
                    end: &[u8],
                ) -> Result<()> {
                    batch.delete_range_in(family, begin, end)
                }

                fn get_in(
                    &self,
                    family: &Self::Family<'_>,
                    key: &[u8],
                ) -> Result<Option<Read<'_>>> {
                    let found = self.db.get_in(family, key, &self.reads)?;
                    Ok(found.map(Read::Pinned))
                }

                fn write(&self, batch: D::Batch, mode: &WriteOptions) -> Result<()> {
                    self.db.write(batch, mode)
                }

                fn get(&self, key: &[u8]) -> Result<Option<Read<'_>>> {
                    Ok(self.db.get(key, &self.reads)?.map(Read::Pinned))
                }

                fn multi_get(&self, keys: &[&[u8]]) -> Result<Vec<Option<Read<'_>>>> {
                    if self.multiread_batched {
                        let found = self.db.batched_get(keys, &self.reads)?;
                        let found = found.into_iter().map(|one| Ok(one?.map(Read::Pinned)));
                        return found.collect();
                    }
                    let found = self.db.multi_get(keys, &self.reads);
                    found
                        .into_iter()
                        .map(|one| Ok(one?.map(Read::Copied)))
                        .collect()
                }

                fn snapshot(&self) -> View<'_, D> {
                    View {
                        snapshot: self.db.view(),
                        how: self.how,
                    }
                }

                fn cursor_within(&self, bounds: Bounds) -> DBRawIteratorWithThreadMode<'_, D> {
                    let mut reads = self.how.options();
                    if let Some(key) = bounds.lower {
                        reads.set_iterate_lower_bound(key);
                    }
                    if let Some(key) = bounds.upper {
                        reads.set_iterate_upper_bound(key);
                    }
                    self.db.cursor(reads)
                }

                fn approximate_sizes(&self, ranges: &[(&[u8], &[u8])]) -> Result<Vec<u64>> {
                    self.db.approximate_sizes(ranges)
                }

                fn flush(&self, families: &[Self::Family<'_>]) -> Result<()> {
                    self.db.flush(families)
                }

                fn compact(&self, bottommost: bool) -> Result<()> {
                    let mut how = CompactOptions::default();
                    if bottommost {
                        let force = BottommostLevelCompaction::ForceOptimized;
                        how.set_bottommost_level_compaction(force);
                    }
                    self.db.compact(&how)
                }

                fn back_up(&self, to: &Path, flags: &Flags) -> Result<()> {
                    let options = backups(to, flags)?;
                    let mut backups = BackupEngine::open(&options, &Env::new()?)?;
                    backups.purge_old_backups(0)?;
                    self.db.back_up(&mut backups)
                }

                fn restore(from: &Path, to: &Path, flags: &Flags) -> Result<()> {
                    let options = backups(from, flags)?;
                    let mut backups = BackupEngine::open(&options, &Env::new()?)?;
                    let how = RestoreOptions::default();
                    Ok(backups.restore_from_latest_backup(to, to, &how)?)
                }

                fn external(&self, file: &Path) -> Result<SstFileWriter<'_>> {
                    let table = SstFileWriter::create(&self.options);
                    table.open(file)?;
                    Ok(table)
                }

                fn ingest(&self, files: Vec<PathBuf>) -> Result<()> {
                    let mut how = IngestExternalFileOptions::default();
                    how.set_move_files(true);
                    self.db.ingest(&how, files)
                }

                fn transaction_mode(flags: &Flags) -> D::Begin {
                    D::begin_options(flags)
                }

                fn begin(
                    &self,
                    writes: &WriteOptions,
                    how: &D::Begin,
                ) -> Result<D::Transaction<'_>> {
                    self.db.begin(writes, how, &self.reads)
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
                    self.db.verify(whole_files)
                }

                fn change_options(&self, options: &[(&str, &str)]) -> Result<()> {
                    self.db.change_options(options)
                }

                fn property(&self, name: &str) -> Option<String> {
                    self.db.property(name)
                }

                fn property_in(&self, family: &Self::Family<'_>, name: &str) -> Option<String> {
                    self.db.property_in(family, name)
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

            impl<D: Base> Cursor for DBRawIteratorWithThreadMode<'_, D> {
                fn seek_to_first(&mut self) {
                    DBRawIteratorWithThreadMode::seek_to_first(self);
                }

                fn seek_to_last(&mut self) {
                    DBRawIteratorWithThreadMode::seek_to_last(self);
                }

                fn seek(&mut self, key: &[u8]) {
                    DBRawIteratorWithThreadMode::seek(self, key);
                }

                fn next(&mut self) {
                    DBRawIteratorWithThreadMode::next(self);
                }

                fn prev(&mut self) {
                    DBRawIteratorWithThreadMode::prev(self);
                }

                fn item(&self) -> Option<(&[u8], &[u8])> {
                    DBRawIteratorWithThreadMode::item(self)
                }

                fn status(&self) -> Result<()> {
                    Ok(DBRawIteratorWithThreadMode::status(self)?)
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
