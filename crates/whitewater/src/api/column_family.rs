//! Column families by handle.

use super::options::Options;
use crate::column_family::ColumnFamilyData;
use crate::db::Engine;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// The name of the column family every database has.
pub const DEFAULT_COLUMN_FAMILY_NAME: &str = "default";

/// A column family to open: its name and options.
#[derive(Clone)]
pub struct ColumnFamilyDescriptor {
    pub(crate) name: String,
    pub(crate) options: Options,
    pub(crate) ttl: ColumnFamilyTtl,
}

/// How long the values of a column family live in a database opened by
/// [`open_cf_descriptors_with_ttl`](crate::DBWithThreadMode::open_cf_descriptors_with_ttl).
/// Other ways to open one do not ask.
#[derive(Debug, Clone, Copy, Default)]
pub enum ColumnFamilyTtl {
    /// 68 years.
    #[default]
    Disabled,
    /// That long; in seconds, what is beyond 68 years counts as that. Zero is
    /// forever.
    Duration(Duration),
    /// As the database says.
    SameAsDb,
}

impl ColumnFamilyDescriptor {
    /// Describes the column family `name`. In a database opened with a time to
    /// live, its values have that.
    pub fn new<S>(name: S, options: Options) -> Self
    where
        S: Into<String>,
    {
        Self::new_with_ttl(name, options, ColumnFamilyTtl::SameAsDb)
    }

    /// Describes the column family `name`, whose values live as `ttl` says.
    pub fn new_with_ttl<S>(name: S, options: Options, ttl: ColumnFamilyTtl) -> Self
    where
        S: Into<String>,
    {
        ColumnFamilyDescriptor {
            name: name.into(),
            options,
            ttl,
        }
    }

    /// The named column families, with default options.
    pub(super) fn with_defaults<N: AsRef<str>>(
        names: impl IntoIterator<Item = N>,
    ) -> impl Iterator<Item = Self> {
        let names = names.into_iter();
        names.map(|name| Self::new(name.as_ref(), Options::default()))
    }

    /// Column families by name and options.
    pub(super) fn with_options<N: AsRef<str>>(
        families: impl IntoIterator<Item = (N, Options)>,
    ) -> impl Iterator<Item = Self> {
        let families = families.into_iter();
        families.map(|(name, options)| Self::new(name.as_ref(), options))
    }

    /// The options, to be changed. Not in the `rocksdb` crate: what
    /// [`Options::load_latest`] returns lacks what files only name, such as merge
    /// operators.
    pub fn options_mut(&mut self) -> &mut Options {
        &mut self.options
    }

    /// Sets how long values live; by default as long as the database says.
    pub fn set_ttl(&mut self, ttl: ColumnFamilyTtl) {
        self.ttl = ttl;
    }

    /// How long values live.
    pub fn ttl(&self) -> ColumnFamilyTtl {
        self.ttl
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// What a handle stands for; opaque. The last one of a dropped column family
/// deletes its files when it goes.
#[derive(Clone)]
pub struct ColumnFamilyHandle {
    data: Arc<ColumnFamilyData>,
    /// Behind `data`, for fields are dropped in their order.
    _purge: PurgeAfter,
}

/// Deletes the files that somebody has let go of, when it is dropped.
#[derive(Clone)]
struct PurgeAfter(Weak<Engine>);

impl Drop for PurgeAfter {
    fn drop(&mut self) {
        if let Some(engine) = self.0.upgrade() {
            engine.purge_after_handle();
        }
    }
}

impl ColumnFamilyHandle {
    pub(crate) fn new(engine: &Arc<Engine>, data: Arc<ColumnFamilyData>) -> Self {
        ColumnFamilyHandle {
            data,
            _purge: PurgeAfter(Arc::downgrade(engine)),
        }
    }
    pub(crate) fn data(&self) -> &Arc<ColumnFamilyData> {
        &self.data
    }
    pub(crate) fn id(&self) -> u32 {
        self.data.id
    }
}

impl fmt::Debug for ColumnFamilyHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} (id {})", self.data.name, self.data.id)
    }
}

/// A column family of a [`SingleThreaded`](crate::SingleThreaded) database,
/// always behind a reference that borrows the database.
#[derive(Debug)]
pub struct ColumnFamily {
    pub(crate) handle: ColumnFamilyHandle,
}

/// A column family of a [`MultiThreaded`](crate::MultiThreaded) database,
/// always in an `Arc`. It can be used on after it was dropped from the
/// database: reads see its last content, writes fail. Its files are deleted with
/// the last handle (and iterator).
#[derive(Debug)]
pub struct BoundColumnFamily<'a> {
    pub(crate) handle: ColumnFamilyHandle,
    pub(crate) db: PhantomData<&'a ()>,
}

// Makes the borrow of the database last until the handle is dropped.
impl Drop for BoundColumnFamily<'_> {
    fn drop(&mut self) {}
}

/// What `cf_handle` of [`DB`](crate::DB) returns.
#[cfg(not(feature = "multi-threaded-cf"))]
pub type ColumnFamilyRef<'a> = &'a ColumnFamily;

/// What `cf_handle` of [`DB`](crate::DB) returns.
#[cfg(feature = "multi-threaded-cf")]
pub type ColumnFamilyRef<'a> = Arc<BoundColumnFamily<'a>>;

/// A reference to a column family, in either thread mode.
pub trait AsColumnFamilyRef {
    /// The column family meant.
    fn inner(&self) -> &ColumnFamilyHandle;
}

impl AsColumnFamilyRef for ColumnFamily {
    fn inner(&self) -> &ColumnFamilyHandle {
        &self.handle
    }
}

impl AsColumnFamilyRef for &'_ ColumnFamily {
    fn inner(&self) -> &ColumnFamilyHandle {
        &self.handle
    }
}

impl AsColumnFamilyRef for Arc<BoundColumnFamily<'_>> {
    fn inner(&self) -> &ColumnFamilyHandle {
        &self.handle
    }
}
