//! Databases.

use crate::border::{Result, error, given};
use crate::options::rocksdb_options_t;
use arc_swap::{ArcSwapOption, Guard};
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use whitewater::{
    DBWithThreadMode, ErrorKind, MultiThreaded, OptimisticTransactionDB, Options, TransactionDB,
};

pub type Plain = DBWithThreadMode<MultiThreaded>;
pub type Optimistic = OptimisticTransactionDB<MultiThreaded>;
pub type Pessimistic = TransactionDB<MultiThreaded>;

/// An open database of either kind.
pub enum Db {
    Plain(Plain),
    Optimistic(Optimistic),
    Pessimistic(Pessimistic),
}

/// Calls a method that databases of all kinds have. What is written to one with pessimistic
/// transactions takes no locks.
#[macro_export]
macro_rules! on_db {
    ($db:expr, $name:ident => $call:expr) => {
        match &**$db {
            $crate::db::Db::Plain($name) => $call,
            $crate::db::Db::Optimistic($name) => $call,
            $crate::db::Db::Pessimistic(around) => {
                let $name = around.base();
                $call
            }
        }
    };
}
pub use on_db;

/// What is behind the handles of a database.
pub struct Slot {
    /// Written when the database was opened and when it is closed, read by every call, also of
    /// listeners, for which it is closed until it was opened.
    db: ArcSwapOption<Db>,
    /// How often manual compactions were disabled, less how often they were enabled: below 0 after
    /// more of the latter, as in RocksDB. Callers' threads write and read it; it publishes nothing.
    manual_off: AtomicI64,
    /// How often deletions of files were disabled and not enabled since. Callers' threads write and
    /// read it; it publishes nothing.
    pub(crate) deletions_off: AtomicUsize,
    /// Whether the handle is among those that are kept. Threads that close it write and read it; it
    /// publishes nothing.
    kept: AtomicBool,
    /// Whether it was opened to update values in place.
    pub(crate) updates_in_place: bool,
}

/// A database, plain or with transactions. Its memory stays after it was closed, about a hundred
/// bytes, so that later uses find out.
pub struct rocksdb_t {
    pub slot: Arc<Slot>,
}

pub type rocksdb_transactiondb_t = rocksdb_t;
pub type rocksdb_optimistictransactiondb_t = rocksdb_t;

/// The handles of databases that were closed. They are kept for ever: a handle of which the memory
/// were used again would be that of another database.
static CLOSED: Mutex<Vec<&'static rocksdb_t>> = Mutex::new(Vec::new());

/// A database that is not closed during a call.
pub struct Open(Guard<Option<Arc<Db>>>);

impl Deref for Open {
    type Target = Arc<Db>;

    fn deref(&self) -> &Arc<Db> {
        self.0.as_ref().expect("it is open when this is made")
    }
}

impl Slot {
    pub fn open(&self) -> Result<Open> {
        let db = self.db.load();
        if db.is_none() {
            return Err(error(ErrorKind::Aborted, "the database is closed"));
        }
        Ok(Open(db))
    }

    /// Closes the database, unless it is closed. What was made of it keeps it open.
    pub fn close(&self) {
        drop(self.db.swap(None));
    }

    pub(crate) fn disable_manual_compaction(&self) {
        self.manual_off.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn enable_manual_compaction(&self) {
        self.manual_off.fetch_sub(1, Ordering::Relaxed);
    }

    pub fn check_manual_compaction(&self) -> Result<()> {
        match self.manual_off.load(Ordering::Relaxed) {
            ..=0 => Ok(()),
            _ => Err(error(ErrorKind::Incomplete, "Manual compaction paused")),
        }
    }
}

/// A database that is being opened.
pub struct Opening {
    pub options: Options,
    slot: Arc<Slot>,
}

impl Opening {
    /// Begins to open a database with these options.
    pub fn new(given_options: Option<&rocksdb_options_t>) -> Result<Self> {
        let built = given(given_options)?;
        let mut options = built.options.clone();
        let in_place = options.get_by_name("inplace_update_support");
        let slot = Arc::new(Slot {
            db: ArcSwapOption::empty(),
            manual_off: AtomicI64::new(0),
            deletions_off: AtomicUsize::new(0),
            kept: AtomicBool::new(false),
            updates_in_place: in_place.is_some_and(|text| text == "true"),
        });
        for listener in built.listeners() {
            options.add_event_listener(listener.bound(&slot));
        }
        Ok(Opening { options, slot })
    }

    /// The handle of the database.
    pub fn opened(self, db: Db) -> Box<rocksdb_t> {
        let slot = self.slot;
        slot.db.store(Some(Arc::new(db)));
        Box::new(rocksdb_t { slot })
    }
}

impl rocksdb_t {
    /// Another handle of the same database.
    pub(crate) fn again(&self) -> Box<Self> {
        let slot = self.slot.clone();
        Box::new(rocksdb_t { slot })
    }

    /// Closes the database, unless it is closed, and keeps the memory of the handle.
    pub(crate) fn close(&'static self) {
        self.slot.close();
        if !self.slot.kept.swap(true, Ordering::Relaxed) {
            let mut closed = CLOSED.lock().unwrap_or_else(PoisonError::into_inner);
            closed.push(self);
        }
    }
}

/// The database of a handle.
pub(crate) fn open(db: Option<&rocksdb_t>) -> Result<Open> {
    given(db)?.slot.open()
}
