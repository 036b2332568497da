//! The environment of a database: its file system.

use crate::thread_pools::{Pools, Priority};
use std::fmt;
use std::sync::Arc;
use whitewater_storage::Error;
use whitewater_storage::fs::mem::MemFs;
use whitewater_storage::fs::{Fs, os::OsFs};

/// Where databases live: the file system of the `rocksdb` crate's `Env`. Given to
/// options with [`Options::set_env`](crate::Options::set_env). Clones are the
/// same environment.
///
/// An environment also has the background threads that its databases share, in pools:
/// one for flushes (RocksDB's high priority), one for compactions (low priority), one
/// for those to the last level (bottom priority; it has no threads unless asked for),
/// one thread for read-triggered compactions
/// ([`Options::set_background_nice`](crate::Options::set_background_nice)), and one for
/// what is due by time. All of [`Env::new`], and options without an
/// environment, mean the pools of the process; an environment with another file
/// system has pools of its own. (In RocksDB one in memory shares those of the process.)
/// A pool has as many threads as the open database that wants most
/// ([`Options::set_max_background_jobs`](crate::Options::set_max_background_jobs)),
/// not the sum, or as many as it was told to have here. A database never has more jobs
/// at a time than it wants. Databases that ask for other priorities
/// ([`Options::set_background_nice`](crate::Options::set_background_nice)), or are
/// opened by threads of another one, have pools of their own, too. Threads start when
/// a database is opened and end when the last of a pool is closed.
///
/// The methods about the processors' time count for the options that are given the
/// environment after.
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
    pub(crate) pools: Arc<Pools>,
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
        Ok(Env {
            pools: Pools::of_process(),
            ..Self::with_fs(Arc::new(OsFs))
        })
    }

    /// A new one wholly in memory, with no files. They are gone with the last
    /// clone and the last database in it.
    ///
    /// # Errors
    /// None; the signature is the `rocksdb` crate's.
    ///
    /// # Examples
    /// ```
    /// use whitewater::{DB, Env, Options};
    ///
    /// let mut options = Options::default();
    /// options.create_if_missing(true);
    /// options.set_env(&Env::mem_env()?);
    /// let db = DB::open(&options, "in memory")?;
    /// db.put("river", "blue")?;
    /// assert_eq!(db.get("river")?.as_deref(), Some(&b"blue"[..]));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn mem_env() -> Result<Self, Error> {
        Ok(Self::with_fs(Arc::new(MemFs::new())))
    }

    /// One with the file system `fs`. Not in the `rocksdb` crate.
    pub fn with_fs(fs: Arc<dyn Fs>) -> Self {
        Env {
            fs,
            lowered: Lowered::default(),
            pools: Arc::default(),
        }
    }

    /// Has the pool for compactions be of `num_threads` threads, from 1 to 1024 (other
    /// numbers count as the nearest of these), from now on, also while databases are open: more
    /// than any of them wants let several compact at a time, fewer bound them all. The thread for
    /// read-triggered compactions is not among them. A database that
    /// is opened later and wants more (or asks for more) raises the number, as in RocksDB. Threads
    /// that the system does not let start are missing until the next database is opened.
    pub fn set_background_threads(&mut self, num_threads: i32) {
        self.pools.set_threads(Priority::Low, num_threads);
    }

    /// [`set_background_threads`](Self::set_background_threads) for the pool for
    /// flushes.
    pub fn set_high_priority_background_threads(&mut self, n: i32) {
        self.pools.set_threads(Priority::High, n);
    }

    /// The same as [`set_background_threads`](Self::set_background_threads).
    pub fn set_low_priority_background_threads(&mut self, n: i32) {
        self.set_background_threads(n);
    }

    /// Has compactions to the last level, which are the longest, be run by a pool of
    /// their own, of `n` threads, 1024 at most. With 0, the default, they are like
    /// others; a pool that had threads before keeps one for what was left to it.
    pub fn set_bottom_priority_background_threads(&mut self, n: i32) {
        self.pools.set_threads(Priority::Bottom, n);
    }

    /// Returns at once: there are no threads but those of the pools, which end
    /// when the databases are closed.
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
