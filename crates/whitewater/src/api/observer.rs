//! Observers: the figures of a database, for whoever watches it.

use super::c_str::CStrLike;
use super::db::{DBCommon, DBInner, LiveFile, ThreadMode, property_name};
use super::transactions::TransactionDB;
use crate::column_family::ColumnFamilyData;
use crate::db::Engine;
use crate::db::inspect::OptionValue;
use crate::listener::EventListener;
use crate::statistics::{Histogram, HistogramCounts, Ticker};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use whitewater_storage::Error;

impl<T: ThreadMode, D: DBInner> DBCommon<T, D> {
    /// An [`Observer`] of this database. Not in the `rocksdb` crate.
    pub fn observer(&self) -> Observer {
        self.into()
    }

    /// Has `listener` told what happens in the database from now on, after the listeners that were
    /// added before; see [`listener`](crate::listener). An event that happens during the call may
    /// be one that it misses. Not in the `rocksdb` crate.
    ///
    /// # Errors
    /// `NotSupported` if the database was opened for reading only or as a secondary; `Aborted` if
    /// the thread for listeners cannot be started.
    pub fn add_event_listener(&self, listener: Arc<dyn EventListener>) -> Result<(), Error> {
        self.engine().add_listener(listener)
    }
}

impl<T: ThreadMode, D: DBInner> From<&DBCommon<T, D>> for Observer {
    fn from(db: &DBCommon<T, D>) -> Self {
        Observer::of(db.path(), db.engine())
    }
}

impl<T: ThreadMode> From<&TransactionDB<T>> for Observer {
    fn from(db: &TransactionDB<T>) -> Self {
        Observer::of(db.path(), db.engine())
    }
}

/// Reads the figures of a database without keeping it open: once the database was dropped, an
/// observer knows nothing more, and its methods return `None` or nothing. Obtained by
/// [`DBCommon::observer`]; cheap to clone, and may be used by any thread. Unknown column families
/// and properties read as `None`, too. Not in the `rocksdb` crate.
///
/// ```
/// use whitewater::{DB, properties};
///
/// # fn main() -> Result<(), whitewater::Error> {
/// # let dir = tempfile::tempdir().unwrap();
/// let db = DB::open_default(dir.path())?;
/// let observer = db.observer();
/// let name = properties::NUM_ENTRIES_ACTIVE_MEM_TABLE;
/// db.put("river", "blue")?;
/// assert_eq!(observer.property_int_value("default", name), Some(1));
/// drop(db);
/// assert_eq!(observer.property_int_value("default", name), None);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Observer {
    path: PathBuf,
    engine: Weak<Engine>,
}

impl Observer {
    fn of(path: &Path, engine: &Arc<Engine>) -> Self {
        Observer {
            path: path.to_owned(),
            engine: Arc::downgrade(engine),
        }
    }

    /// The database's directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the database is open.
    pub fn is_open(&self) -> bool {
        self.engine().is_some()
    }

    /// The names of its column families, in the order of their creation.
    pub fn column_families(&self) -> Vec<String> {
        let Some(engine) = self.engine() else {
            return Vec::new();
        };
        let families = engine.column_families();
        families.iter().map(|cf| cf.name.clone()).collect()
    }

    /// The value of the property `name` (see [`properties`](crate::properties)) for the column
    /// family `cf`.
    pub fn property_value(&self, cf: &str, name: impl CStrLike) -> Option<String> {
        let (engine, cf) = self.family(cf)?;
        engine.property(&cf, &property_name(name).ok()?)
    }

    /// The value of the numeric property `name` for the column family `cf`.
    pub fn property_int_value(&self, cf: &str, name: impl CStrLike) -> Option<u64> {
        let (engine, cf) = self.family(cf)?;
        let name = property_name(name).ok()?;
        let value = engine.property_int(&cf, &name);
        value.or_else(|| engine.property(&cf, &name)?.parse().ok())
    }

    /// The values of the property `name` that is a map for the column family `cf`.
    pub fn property_map_value(
        &self,
        cf: &str,
        name: impl CStrLike,
    ) -> Option<BTreeMap<String, String>> {
        let (engine, cf) = self.family(cf)?;
        engine.property_map(&cf, &property_name(name).ok()?)
    }

    /// The sequence number of the last write.
    pub fn latest_sequence_number(&self) -> Option<u64> {
        Some(self.engine()?.latest_sequence_number())
    }

    /// A ticker's count; `None` when statistics are off
    /// ([`Options::enable_statistics`](crate::Options::enable_statistics)).
    pub fn ticker(&self, ticker: Ticker) -> Option<u64> {
        Some(self.engine()?.statistics()?.ticker(ticker))
    }

    /// What a histogram has recorded so far; `None` when statistics are off.
    pub fn histogram(&self, histogram: Histogram) -> Option<HistogramCounts> {
        Some(self.engine()?.statistics()?.counts(histogram))
    }

    /// How long calls took while statistics are off, in a sample of one call in 128: for
    /// [`Histogram::DbGet`], [`Histogram::DbMultiget`], [`Histogram::DbWrite`] and
    /// [`Histogram::DbSeek`]; `None` for others. The sample is always taken.
    pub fn sampled_latency(&self, histogram: Histogram) -> Option<HistogramCounts> {
        self.engine()?.sampled_latency(histogram)
    }

    /// The table files in use; see [`DBCommon::live_files`].
    ///
    /// # Errors
    /// When they cannot be listed.
    pub fn live_files(&self) -> Result<Vec<LiveFile>, Error> {
        self.engine().map_or(Ok(Vec::new()), |engine| {
            let tables = engine.live_tables()?;
            Ok(tables.into_iter().map(LiveFile::from).collect())
        })
    }

    /// [`DBCommon::add_event_listener`].
    ///
    /// # Errors
    /// As there; `ShutdownInProgress` once the database was dropped.
    pub fn add_event_listener(&self, listener: Arc<dyn EventListener>) -> Result<(), Error> {
        let engine = self.engine().ok_or_else(Engine::shutdown_error)?;
        engine.add_listener(listener)
    }

    /// The options in force, of the database and then of each column family.
    pub fn options(&self) -> Vec<OptionValue> {
        self.engine()
            .map_or_else(Vec::new, |engine| engine.option_values())
    }

    fn engine(&self) -> Option<Arc<Engine>> {
        self.engine.upgrade()
    }

    fn family(&self, name: &str) -> Option<(Arc<Engine>, Arc<ColumnFamilyData>)> {
        let engine = self.engine()?;
        let cf = engine.family_named(name)?;
        Some((engine, cf))
    }
}
