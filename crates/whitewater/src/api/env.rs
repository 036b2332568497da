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
/// ([`Options::set_max_background_jobs`](crate::Options::set_max_background_jobs)).
/// The methods about numbers of threads are therefore hints that have no effect;
/// they are there so that programs that call them build. Those about the
/// processors' time count for the options that are given the environment after.
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
    pub(crate) lowered: Lowered,
}

/// Whose threads are to run at low priority.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Lowered {
    pub flushes: bool,
    pub compactions: bool,
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
        Env {
            fs,
            lowered: Lowered::default(),
        }
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

    /// Has threads that compact run at the lowest normal priority (a niceness of
    /// 19). Counts for options that are given the environment after this; see
    /// [`Options::set_background_nice`](crate::Options::set_background_nice) for
    /// what it does. Linux only; a hint without effect elsewhere.
    pub fn lower_thread_pool_cpu_priority(&mut self) {
        self.lowered.compactions = true;
    }

    /// The same for threads that flush.
    pub fn lower_high_priority_thread_pool_cpu_priority(&mut self) {
        self.lowered.flushes = true;
    }
}

impl fmt::Debug for Env {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Env")
            .field("fs", &self.fs)
            .field("lowered", &self.lowered)
            .finish()
    }
}
