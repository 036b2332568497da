//! The types of databases of a crate, and the calls in which they differ; written
//! once for both engines.

/// The calls that all types of databases have under the same names.
macro_rules! common_calls {
    () => {
        fn put(&self, key: &[u8], value: &[u8], mode: &WriteOptions) -> Result<()> {
            Ok(self.put_opt(key, value, mode)?)
        }

        fn merge(&self, key: &[u8], operand: &[u8], mode: &WriteOptions) -> Result<()> {
            Ok(self.merge_opt(key, operand, mode)?)
        }

        fn delete(&self, key: &[u8], mode: &WriteOptions) -> Result<()> {
            Ok(self.delete_opt(key, mode)?)
        }

        fn put_in(
            &self,
            family: &Family<'_>,
            key: &[u8],
            value: &[u8],
            mode: &WriteOptions,
        ) -> Result<()> {
            Ok(self.put_cf_opt(family, key, value, mode)?)
        }

        fn merge_in(
            &self,
            family: &Family<'_>,
            key: &[u8],
            operand: &[u8],
            mode: &WriteOptions,
        ) -> Result<()> {
            Ok(self.merge_cf_opt(family, key, operand, mode)?)
        }

        fn write(&self, batch: Self::Batch, mode: &WriteOptions) -> Result<()> {
            Ok(self.write_opt(batch, mode)?)
        }

        fn get(&self, key: &[u8], reads: &ReadOptions) -> Result<Option<DBPinnableSlice<'_>>> {
            Ok(self.get_pinned_opt(key, reads)?)
        }

        fn get_in(
            &self,
            family: &Family<'_>,
            key: &[u8],
            reads: &ReadOptions,
        ) -> Result<Option<DBPinnableSlice<'_>>> {
            Ok(self.get_pinned_cf_opt(family, key, reads)?)
        }

        fn multi_get(&self, keys: &[&[u8]], reads: &ReadOptions) -> Vec<Found<Vec<u8>>> {
            self.multi_get_opt(keys, reads)
        }

        fn view(&self) -> SnapshotWithThreadMode<'_, Self> {
            self.snapshot()
        }

        fn cursor(&self, reads: ReadOptions) -> DBRawIteratorWithThreadMode<'_, Self> {
            self.raw_iterator_opt(reads)
        }

        fn create_family(&self, name: &str, options: &Options) -> Result<()> {
            Ok(self.create_cf(name, options)?)
        }

        fn family(&self, name: &str) -> Option<Family<'_>> {
            self.cf_handle(name)
        }

        fn flush(&self, families: &[Family<'_>]) -> Result<()> {
            if families.is_empty() {
                return Ok(self.flush_opt(&FlushOptions::default())?);
            }
            let families: Vec<_> = families.iter().collect();
            Ok(self.flush_cfs_opt(&families, &FlushOptions::default())?)
        }

        fn property(&self, name: &str) -> Option<String> {
            self.property_value(name).ok().flatten()
        }

        fn watched(&self, flags: &Flags) -> Result<Option<Watch>> {
            watch(self, flags)
        }
    };
}

/// The calls that databases with pessimistic transactions lack.
macro_rules! administration {
    () => {
        fn catch_up(&self) -> Result<()> {
            Ok(self.try_catch_up_with_primary()?)
        }

        fn batched_get(
            &self,
            keys: &[&[u8]],
            reads: &ReadOptions,
        ) -> Result<Vec<Found<DBPinnableSlice<'_>>>> {
            let family = self
                .cf_handle(DEFAULT_COLUMN_FAMILY_NAME)
                .ok_or_else(|| Failure("the default family has no handle".into()))?;
            Ok(self.batched_multi_get_cf_opt(&family, keys.iter().copied(), false, reads))
        }

        fn approximate_sizes(&self, ranges: &[(&[u8], &[u8])]) -> Result<Vec<u64>> {
            let ranges: Vec<_> = ranges
                .iter()
                .map(|(begin, end)| Range::new(begin, end))
                .collect();
            Ok(self.get_approximate_sizes(&ranges))
        }

        fn compact(&self, how: &CompactOptions) -> Result<()> {
            self.compact_range_opt(None::<&[u8]>, None::<&[u8]>, how);
            Ok(())
        }

        fn back_up(&self, backups: &mut BackupEngine) -> Result<()> {
            Ok(backups.create_new_backup(self)?)
        }

        fn ingest(&self, how: &IngestExternalFileOptions, files: Vec<PathBuf>) -> Result<()> {
            Ok(self.ingest_external_file_opts(how, files)?)
        }

        fn change_options(&self, options: &[(&str, &str)]) -> Result<()> {
            Ok(self.set_options(options)?)
        }

        fn property_in(&self, family: &Family<'_>, name: &str) -> Option<String> {
            self.property_value_cf(family, name).ok().flatten()
        }
    };
}

/// The calls of all batches.
macro_rules! batch_calls {
    () => {
        fn with_capacity(bytes: usize) -> Self {
            Self::with_capacity_bytes(bytes)
        }

        fn put(&mut self, key: &[u8], value: &[u8]) {
            WriteBatchWithTransaction::put(self, key, value);
        }

        fn delete(&mut self, key: &[u8]) {
            WriteBatchWithTransaction::delete(self, key);
        }

        fn single_delete(&mut self, key: &[u8]) {
            WriteBatchWithTransaction::single_delete(self, key);
        }
    };
}

/// The calls of all batches in column families.
macro_rules! calls_in_families {
    () => {
        fn put_in(&mut self, family: &Family<'_>, key: &[u8], value: &[u8]) {
            self.put_cf(family, key, value);
        }

        fn delete_in(&mut self, family: &Family<'_>, key: &[u8]) {
            self.delete_cf(family, key);
        }
    };
}

/// Defines a module with the types of databases of one of the crates.
macro_rules! bases_binding {
    ($module:ident, $package:ident) => {
        #[doc = concat!("The types of databases of the crate `", stringify!($package), "`.")]
        pub mod $module {
            use std::path::{Path, PathBuf};
            use std::sync::Arc;

            use $package::backup::BackupEngine;
            use $package::{
                BoundColumnFamily, ColumnFamilyDescriptor, CompactOptions, DBAccess,
                DBPinnableSlice, DBRawIteratorWithThreadMode, DBWithThreadMode,
                DEFAULT_COLUMN_FAMILY_NAME, Error, ErrorKind, FlushOptions,
                IngestExternalFileOptions, MultiThreaded, OptimisticTransactionDB,
                OptimisticTransactionOptions, Options, Range, ReadOptions, SnapshotWithThreadMode,
                Transaction as Handle, TransactionDB, TransactionDBOptions, TransactionOptions,
                WriteBatch, WriteBatchWithTransaction, WriteOptions,
            };

            use crate::bench::binding::options::$module::{
                Watch, set_transactions, verify, verify_optimistic, watch,
            };
            use crate::bench::engine::{Batch, Failure, Result};
            use crate::bench::families;
            use crate::bench::flags::Flags;
            use crate::bench::transactions::{Abort, Attempt, Ended, NoTransaction, Transaction};

            /// A column family.
            pub type Family<'a> = Arc<BoundColumnFamily<'a>>;
            /// What a read of one of several keys returned.
            pub type Found<T> = std::result::Result<Option<T>, Error>;

            /// A database without transactions.
            pub type Plain = DBWithThreadMode<MultiThreaded>;
            /// A database with pessimistic transactions.
            pub type Locking = TransactionDB<MultiThreaded>;

            /// A database with optimistic transactions.
            pub type Optimistic = OptimisticTransactionDB<MultiThreaded>;

            /// A type of database, in which column families can be created while it is in
            /// use.
            pub trait Base: DBAccess + Sized + Send + Sync + 'static {
                type Batch: Batch + InFamilies;
                type Transaction<'a>: Transaction;
                /// The options of transactions.
                type Begin: Sync;

                fn open(
                    directory: &Path,
                    options: &Options,
                    named: Vec<(String, Options)>,
                    flags: &Flags,
                ) -> Result<Self>;
                fn put(&self, key: &[u8], value: &[u8], mode: &WriteOptions) -> Result<()>;
                fn merge(&self, key: &[u8], operand: &[u8], mode: &WriteOptions) -> Result<()>;
                fn delete(&self, key: &[u8], mode: &WriteOptions) -> Result<()>;
                fn put_in(
                    &self,
                    family: &Family<'_>,
                    key: &[u8],
                    value: &[u8],
                    mode: &WriteOptions,
                ) -> Result<()>;
                fn merge_in(
                    &self,
                    family: &Family<'_>,
                    key: &[u8],
                    operand: &[u8],
                    mode: &WriteOptions,
                ) -> Result<()>;
                fn write(&self, batch: Self::Batch, mode: &WriteOptions) -> Result<()>;
                fn get(
                    &self,
                    key: &[u8],
                    reads: &ReadOptions,
                ) -> Result<Option<DBPinnableSlice<'_>>>;
                fn get_in(
                    &self,
                    family: &Family<'_>,
                    key: &[u8],
                    reads: &ReadOptions,
                ) -> Result<Option<DBPinnableSlice<'_>>>;
                fn multi_get(&self, keys: &[&[u8]], reads: &ReadOptions) -> Vec<Found<Vec<u8>>>;
                fn view(&self) -> SnapshotWithThreadMode<'_, Self>;
                fn cursor(&self, reads: ReadOptions) -> DBRawIteratorWithThreadMode<'_, Self>;
                fn create_family(&self, name: &str, options: &Options) -> Result<()>;
                fn family(&self, name: &str) -> Option<Family<'_>>;
                fn flush(&self, families: &[Family<'_>]) -> Result<()>;
                fn property(&self, name: &str) -> Option<String>;
                fn watched(&self, flags: &Flags) -> Result<Option<Watch>>;
                fn catch_up(&self) -> Result<()>;
                fn batched_get(
                    &self,
                    keys: &[&[u8]],
                    reads: &ReadOptions,
                ) -> Result<Vec<Found<DBPinnableSlice<'_>>>>;
                fn approximate_sizes(&self, ranges: &[(&[u8], &[u8])]) -> Result<Vec<u64>>;
                fn compact(&self, how: &CompactOptions) -> Result<()>;
                fn back_up(&self, backups: &mut BackupEngine) -> Result<()>;
                fn ingest(
                    &self,
                    how: &IngestExternalFileOptions,
                    files: Vec<PathBuf>,
                ) -> Result<()>;
                fn change_options(&self, options: &[(&str, &str)]) -> Result<()>;
                fn property_in(&self, family: &Family<'_>, name: &str) -> Option<String>;
                fn verify(&self, whole_files: bool) -> Result<()>;
                fn begin_options(flags: &Flags) -> Self::Begin;
                fn begin<'a>(
                    &'a self,
                    mode: &WriteOptions,
                    how: &Self::Begin,
                    reads: &'a ReadOptions,
                ) -> Result<Self::Transaction<'a>>;
            }

            impl Base for Plain {
                type Batch = WriteBatch;
                type Transaction<'a> = NoTransaction;
                type Begin = ();

                common_calls!();
                administration!();

                fn open(
                    directory: &Path,
                    options: &Options,
                    named: Vec<(String, Options)>,
                    flags: &Flags,
                ) -> Result<Self> {
                    if flags.readonly {
                        return Ok(Self::open_cf_with_opts_for_read_only(
                            options, directory, named, false,
                        )?);
                    }
                    if flags.use_secondary_db {
                        let own = families::secondary_directory(flags);
                        return Ok(Self::open_cf_descriptors_as_secondary(
                            options,
                            directory,
                            own.as_path(),
                            described(named),
                        )?);
                    }
                    Ok(Self::open_cf_with_opts(options, directory, named)?)
                }

                fn verify(&self, whole_files: bool) -> Result<()> {
                    verify(self, whole_files)
                }

                fn begin_options(_flags: &Flags) {}

                fn begin(
                    &self,
                    _: &WriteOptions,
                    (): &(),
                    _: &ReadOptions,
                ) -> Result<NoTransaction> {
                    Err(NoTransaction::failure())
                }
            }

            impl Base for Locking {
                type Batch = WriteBatchWithTransaction<true>;
                type Transaction<'a> = Begun<'a, Self>;
                type Begin = TransactionOptions;

                common_calls!();

                fn open(
                    directory: &Path,
                    options: &Options,
                    named: Vec<(String, Options)>,
                    flags: &Flags,
                ) -> Result<Self> {
                    let mut how = TransactionDBOptions::default();
                    set_transactions(&mut how, flags)?;
                    Ok(Self::open_cf_descriptors(
                        options,
                        &how,
                        directory,
                        described(named),
                    )?)
                }

                fn catch_up(&self) -> Result<()> {
                    Err(lacking("catches up with a primary"))
                }

                fn batched_get(
                    &self,
                    _: &[&[u8]],
                    _: &ReadOptions,
                ) -> Result<Vec<Found<DBPinnableSlice<'_>>>> {
                    Err(lacking("reads keys in a batch"))
                }

                fn approximate_sizes(&self, _: &[(&[u8], &[u8])]) -> Result<Vec<u64>> {
                    Err(lacking("tells approximate sizes"))
                }

                fn compact(&self, _: &CompactOptions) -> Result<()> {
                    Err(lacking("compacts"))
                }

                fn back_up(&self, _: &mut BackupEngine) -> Result<()> {
                    Err(lacking("makes backups"))
                }

                fn ingest(&self, _: &IngestExternalFileOptions, _: Vec<PathBuf>) -> Result<()> {
                    Err(lacking("ingests tables"))
                }

                fn change_options(&self, _: &[(&str, &str)]) -> Result<()> {
                    Err(lacking("changes options"))
                }

                fn property_in(&self, _: &Family<'_>, _: &str) -> Option<String> {
                    None
                }

                fn verify(&self, _: bool) -> Result<()> {
                    Err(lacking("verifies tables"))
                }

                fn begin_options(flags: &Flags) -> TransactionOptions {
                    let mut how = TransactionOptions::default();
                    how.set_snapshot(flags.transaction_set_snapshot);
                    how.set_lock_timeout(flags.transaction_lock_timeout);
                    how
                }

                fn begin<'a>(
                    &'a self,
                    mode: &WriteOptions,
                    how: &TransactionOptions,
                    reads: &'a ReadOptions,
                ) -> Result<Begun<'a, Self>> {
                    let transaction = self.transaction_opt(mode, how);
                    Ok(Begun { transaction, reads })
                }
            }

            impl Base for Optimistic {
                type Batch = WriteBatchWithTransaction<true>;
                type Transaction<'a> = Begun<'a, Self>;
                type Begin = OptimisticTransactionOptions;

                common_calls!();
                administration!();

                fn open(
                    directory: &Path,
                    options: &Options,
                    named: Vec<(String, Options)>,
                    _: &Flags,
                ) -> Result<Self> {
                    Ok(Self::open_cf_descriptors(
                        options,
                        directory,
                        described(named),
                    )?)
                }

                fn verify(&self, whole_files: bool) -> Result<()> {
                    verify_optimistic(self, whole_files)
                }

                fn begin_options(flags: &Flags) -> OptimisticTransactionOptions {
                    let mut how = OptimisticTransactionOptions::default();
                    how.set_snapshot(flags.transaction_set_snapshot);
                    how
                }

                fn begin<'a>(
                    &'a self,
                    mode: &WriteOptions,
                    how: &OptimisticTransactionOptions,
                    reads: &'a ReadOptions,
                ) -> Result<Begun<'a, Self>> {
                    let transaction = self.transaction_opt(mode, how);
                    Ok(Begun { transaction, reads })
                }
            }

            fn described(
                named: Vec<(String, Options)>,
            ) -> impl Iterator<Item = ColumnFamilyDescriptor> {
                let named = named.into_iter();
                named.map(|(name, options)| ColumnFamilyDescriptor::new(name, options))
            }

            fn lacking(what: &str) -> Failure {
                Failure(format!(
                    "a database with transactions has no call that {what}"
                ))
            }

            /// A transaction, with the options of its reads.
            pub struct Begun<'a, D> {
                transaction: Handle<'a, D>,
                reads: &'a ReadOptions,
            }

            impl<D> Transaction for Begun<'_, D> {
                fn get(&self, key: &[u8]) -> Attempt<Option<Vec<u8>>> {
                    self.transaction.get_opt(key, self.reads).map_err(ended)
                }

                fn get_for_update(&self, key: &[u8]) -> Attempt<Option<Vec<u8>>> {
                    let found = self.transaction.get_for_update_opt(key, true, self.reads);
                    found.map_err(ended)
                }

                fn put(&self, key: &[u8], value: &[u8]) -> Attempt<()> {
                    self.transaction.put(key, value).map_err(ended)
                }

                fn delete(&self, key: &[u8]) -> Attempt<()> {
                    self.transaction.delete(key).map_err(ended)
                }

                fn prepare(&self, name: &[u8]) -> Attempt<()> {
                    self.transaction.set_name(name).map_err(ended)?;
                    self.transaction.prepare().map_err(ended)
                }

                fn commit(self) -> Attempt<()> {
                    self.transaction.commit().map_err(ended)
                }

                fn roll_back(self) -> Attempt<()> {
                    self.transaction.rollback().map_err(ended)
                }
            }

            fn ended(error: Error) -> Ended {
                match error.kind() {
                    ErrorKind::Busy => Ended::Aborted(Abort::Busy),
                    ErrorKind::TimedOut => Ended::Aborted(Abort::TimedOut),
                    ErrorKind::TryAgain => Ended::Aborted(Abort::TryAgain),
                    _ => Ended::Failed(error.into()),
                }
            }

            /// A batch, as it takes entries of a column family.
            pub trait InFamilies {
                fn put_in(&mut self, family: &Family<'_>, key: &[u8], value: &[u8]);
                fn delete_in(&mut self, family: &Family<'_>, key: &[u8]);
                fn delete_range_in(
                    &mut self,
                    family: &Family<'_>,
                    begin: &[u8],
                    end: &[u8],
                ) -> Result<()>;
            }

            impl Batch for WriteBatch {
                batch_calls!();

                fn delete_range(&mut self, begin: &[u8], end: &[u8]) -> Result<()> {
                    WriteBatch::delete_range(self, begin, end);
                    Ok(())
                }
            }

            impl InFamilies for WriteBatch {
                calls_in_families!();

                fn delete_range_in(
                    &mut self,
                    family: &Family<'_>,
                    begin: &[u8],
                    end: &[u8],
                ) -> Result<()> {
                    self.delete_range_cf(family, begin, end);
                    Ok(())
                }
            }

            impl Batch for WriteBatchWithTransaction<true> {
                batch_calls!();

                fn delete_range(&mut self, _: &[u8], _: &[u8]) -> Result<()> {
                    Err(lacking("deletes ranges"))
                }
            }

            impl InFamilies for WriteBatchWithTransaction<true> {
                calls_in_families!();

                fn delete_range_in(&mut self, _: &Family<'_>, _: &[u8], _: &[u8]) -> Result<()> {
                    Err(lacking("deletes ranges"))
                }
            }
        }
    };
}

bases_binding!(own, whitewater);

#[cfg(feature = "peer-rocksdb")]
bases_binding!(peer, rocksdb);
