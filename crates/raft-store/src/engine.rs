//! What the store asks of an engine, and the engines that can do it.
//!
//! [`Whitewater`] is the one to use. With the feature `peer-rocksdb` there is RocksDB as well, to
//! compare with. The binding is written once, because both crates have the same names.

use crate::error::Result;
use std::borrow::Cow;
use std::path::Path;

/// A change, and the name of the family that it is made to.
pub type Named = (Cow<'static, str>, Change);

/// From which key to which, the latter excluded.
pub type Bounds = (Vec<u8>, Vec<u8>);

/// What a scan calls for keys and values. It returns whether the scan goes on.
pub type Each<'a> = dyn FnMut(&[u8], &[u8]) -> Result<bool> + 'a;

/// A change to a family.
#[derive(Debug)]
pub enum Change {
    /// Sets a key to a value.
    Put(Vec<u8>, Vec<u8>),
    /// Deletes a key.
    Delete(Vec<u8>),
    /// Deletes all keys from the first one on and before the second.
    DeleteRange(Vec<u8>, Vec<u8>),
}

/// Whether a write may wait until flushes or compactions have caught up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// It waits.
    Waits,
    /// It gives up.
    GivesUp,
}

/// A database. Not meant to be implemented elsewhere.
pub trait Engine: Sized + Send + Sync + 'static {
    /// Its options.
    type Options: Default;

    /// Opens the database in the directory `path` with all of its families and those named,
    /// creating what is missing.
    ///
    /// # Errors
    /// Those of the engine.
    fn open(path: &Path, options: Self::Options, families: &[&str]) -> Result<Self>;

    /// The families that were there when it was opened.
    fn families(&self) -> &[String];

    /// Creates a family, with the options that the database was opened with.
    ///
    /// # Errors
    /// Those of the engine; the family exists.
    fn create(&self, family: &str) -> Result<()>;

    /// Makes `changes` at once, without a sync. Returns whether they are made: with
    /// [`Patience::GivesUp`], they are not if that meant to wait.
    ///
    /// # Errors
    /// Those of the engine.
    fn write(&self, changes: &[Named], patience: Patience) -> Result<bool>;

    /// Makes all writes so far durable.
    ///
    /// # Errors
    /// Those of the engine.
    fn sync(&self) -> Result<()>;

    /// The value of `key`.
    ///
    /// # Errors
    /// Those of the engine.
    fn get(&self, family: &str, key: &[u8]) -> Result<Option<Vec<u8>>>;

    /// Calls `each` for the keys within `bounds`, in order, with their values, as long as it
    /// returns `true`.
    ///
    /// # Errors
    /// Those of the engine and of `each`.
    fn scan(&self, family: &str, bounds: Bounds, each: &mut Each<'_>) -> Result<()>;

    /// The last of the keys within `bounds`, with its value.
    ///
    /// # Errors
    /// Those of the engine.
    fn last(&self, family: &str, bounds: Bounds) -> Result<Option<(Vec<u8>, Vec<u8>)>>;
}

/// Defines an engine over one of the crates.
macro_rules! engine {
    ($module:ident, $name:ident, $package:ident) => {
        mod $module {
            use super::{Bounds, Change, Each, Engine, Named, Patience};
            use crate::error::{Error, Result};
            use std::path::Path;
            use std::sync::Arc;
            use $package::{
                BoundColumnFamily, ColumnFamilyDescriptor, DBWithThreadMode, ErrorKind,
                IteratorMode, MultiThreaded, Options, ReadOptions, WriteBatch, WriteOptions,
            };

            #[doc = concat!("A database of the crate `", stringify!($package), "`.")]
            pub struct $name {
                pub(crate) db: DBWithThreadMode<MultiThreaded>,
                /// Those of new families.
                pub(crate) options: Options,
                families: Vec<String>,
                waits: WriteOptions,
                gives_up: WriteOptions,
            }

            impl $name {
                pub(crate) fn family(&self, name: &str) -> Result<Arc<BoundColumnFamily<'_>>> {
                    let family = self.db.cf_handle(name);
                    family.ok_or_else(|| Error::new(format!("no column family {name}")))
                }
            }

            impl Engine for $name {
                type Options = Options;

                fn open(path: &Path, mut options: Options, families: &[&str]) -> Result<Self> {
                    options.create_if_missing(true);
                    options.create_missing_column_families(true);
                    // A database that cannot be listed is new, or cannot be opened either.
                    let found = DBWithThreadMode::<MultiThreaded>::list_cf(&options, path);
                    let mut all = found.unwrap_or_default();
                    for name in families {
                        if !all.iter().any(|there| there == name) {
                            all.push((*name).to_owned());
                        }
                    }
                    let described = all
                        .iter()
                        .map(|name| ColumnFamilyDescriptor::new(name, options.clone()));
                    let db = DBWithThreadMode::open_cf_descriptors(&options, path, described)
                        .map_err(|e| Error::because(format!("open {}", path.display()), e))?;
                    let mut gives_up = WriteOptions::default();
                    gives_up.set_no_slowdown(true);
                    Ok($name {
                        db,
                        options,
                        families: all,
                        waits: WriteOptions::default(),
                        gives_up,
                    })
                }

                fn families(&self) -> &[String] {
                    &self.families
                }

                fn create(&self, family: &str) -> Result<()> {
                    let created = self.db.create_cf(family, &self.options);
                    created.map_err(|e| Error::because("creation of a column family", e))
                }

                fn write(&self, changes: &[Named], patience: Patience) -> Result<bool> {
                    let mut batch = WriteBatch::default();
                    let mut family: Option<(&str, Arc<BoundColumnFamily<'_>>)> = None;
                    for (name, change) in changes {
                        let cf = match family.take() {
                            Some((last, cf)) if last == name => cf,
                            _ => self.family(name)?,
                        };
                        match change {
                            Change::Put(key, value) => batch.put_cf(&cf, key, value),
                            Change::Delete(key) => batch.delete_cf(&cf, key),
                            Change::DeleteRange(from, until) => {
                                batch.delete_range_cf(&cf, from, until);
                            }
                        }
                        family = Some((name, cf));
                    }
                    let options = match patience {
                        Patience::Waits => &self.waits,
                        Patience::GivesUp => &self.gives_up,
                    };
                    match self.db.write_opt(batch, options) {
                        Ok(()) => Ok(true),
                        Err(e)
                            if e.kind() == ErrorKind::Incomplete
                                && patience == Patience::GivesUp =>
                        {
                            Ok(false)
                        }
                        Err(e) => Err(Error::because("write", e)),
                    }
                }

                fn sync(&self) -> Result<()> {
                    let synced = self.db.flush_wal(true);
                    synced.map_err(|e| Error::because("sync of the log", e))
                }

                fn get(&self, family: &str, key: &[u8]) -> Result<Option<Vec<u8>>> {
                    let value = self.db.get_cf(&self.family(family)?, key);
                    value.map_err(|e| Error::because(format!("read of {family}"), e))
                }

                fn scan(
                    &self,
                    family: &str,
                    (from, until): Bounds,
                    each: &mut Each<'_>,
                ) -> Result<()> {
                    let mut options = ReadOptions::default();
                    options.set_iterate_lower_bound(from);
                    options.set_iterate_upper_bound(until);
                    let cf = self.family(family)?;
                    let entries = self.db.iterator_cf_opt(&cf, options, IteratorMode::Start);
                    for entry in entries {
                        let (key, value) =
                            entry.map_err(|e| Error::because(format!("scan of {family}"), e))?;
                        if !each(&key, &value)? {
                            break;
                        }
                    }
                    Ok(())
                }

                fn last(
                    &self,
                    family: &str,
                    (from, until): Bounds,
                ) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
                    let mut options = ReadOptions::default();
                    options.set_iterate_lower_bound(from);
                    options.set_iterate_upper_bound(until);
                    let cf = self.family(family)?;
                    let last = self
                        .db
                        .iterator_cf_opt(&cf, options, IteratorMode::End)
                        .next()
                        .transpose()
                        .map_err(|e| Error::because(format!("scan of {family}"), e))?;
                    Ok(last.map(|(key, value)| (key.into_vec(), value.into_vec())))
                }
            }
        }
        pub use self::$module::$name;
    };
}

engine!(own, Whitewater, whitewater);
#[cfg(feature = "peer-rocksdb")]
engine!(peer, RocksDb, rocksdb);
