//! The environment of a database: its file system.

use std::fmt;
use std::sync::Arc;
use whitewater_storage::Error;
use whitewater_storage::fs::mem::MemFs;
use whitewater_storage::fs::{Fs, os::OsFs};

/// Where databases live: the file system of the `rocksdb` crate's `Env`. Given to
/// options with [`Options::set_env`](crate::Options::set_env). Clones are the
/// same environment.
///
/// RocksDB's environment also has pools of threads that databases share. Here
/// each database has threads of its own, as many as its options say
/// ([`Options::set_max_background_jobs`](crate::Options::set_max_background_jobs)),
/// of the process's priority. The methods about threads are therefore hints that
/// have no effect; they are there so that programs that call them build.
///
/// ```
/// use whitewater::{DB, Env, Options};
///
/// # fn main() -> Result<(), whitewater::Error> {
/// let env = Env::mem_env()?;
/// let mut opts = Options::default();
/// opts.set_env(&env);
/// opts.create_if_missing(true);
/// let db = DB::open(&opts, "/in/memory")?;
/// db.put(b"k", b"v")?;
/// assert_eq!(db.get(b"k")?.as_deref(), Some(&b"v"[..]));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Env {
    pub(crate) fs: Arc<dyn Fs>,
}

impl Env {
    /// The operating system's.
    ///
    /// # Errors
    /// None; the signature is the `rocksdb` crate's.
    pub fn new() -> Result<Self, Error> {
        Ok(Self::with_fs(Arc::new(OsFs)))
    }

    /// A new one wholly in memory, with no files. They are gone with the last
    /// clone and the last database in it.
    ///
    /// # Errors
    /// None; the signature is the `rocksdb` crate's.
    pub fn mem_env() -> Result<Self, Error> {
        Ok(Self::with_fs(Arc::new(MemFs::new())))
    }

    /// One with the file system `fs`. Not in the `rocksdb` crate.
    pub fn with_fs(fs: Arc<dyn Fs>) -> Self {
        Env { fs }
    }

    /// A hint without effect; see [`Env`].
    pub fn set_background_threads(&mut self, _num_threads: i32) {}

    /// A hint without effect; see [`Env`].
    pub fn set_high_priority_background_threads(&mut self, _n: i32) {}

    /// A hint without effect; see [`Env`].
    pub fn set_low_priority_background_threads(&mut self, _n: i32) {}

    /// A hint without effect; see [`Env`].
    pub fn set_bottom_priority_background_threads(&mut self, _n: i32) {}

    /// Returns at once: there are no threads but those of databases, which end
    /// when these are closed.
    pub fn join_all_threads(&mut self) {}

    /// A hint without effect; see [`Env`].
    pub fn lower_thread_pool_io_priority(&mut self) {}

    /// A hint without effect; see [`Env`].
    pub fn lower_high_priority_thread_pool_io_priority(&mut self) {}

    /// A hint without effect; see [`Env`].
    pub fn lower_thread_pool_cpu_priority(&mut self) {}

    /// A hint without effect; see [`Env`].
    pub fn lower_high_priority_thread_pool_cpu_priority(&mut self) {}
}

impl fmt::Debug for Env {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Env").field("fs", &self.fs).finish()
    }
}
