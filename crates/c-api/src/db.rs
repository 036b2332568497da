//! Databases.

use crate::border::{Result, error, given};
use arc_swap::{ArcSwapOption, Guard};
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use whitewater::{
    DBWithThreadMode, ErrorKind, MultiThreaded, OptimisticTransactionDB, Options, TransactionDB,
};

pub(crate) type Plain = DBWithThreadMode<MultiThreaded>;
pub(crate) type Optimistic = OptimisticTransactionDB<MultiThreaded>;
pub(crate) type Pessimistic = TransactionDB<MultiThreaded>;

/// An open database of either kind.
pub(crate) enum Db {
    Plain(Plain),
    Optimistic(Optimistic),
    Pessimistic(Pessimistic),
}

/// Calls a method that databases of all kinds have. What is written to one with pessimistic
/// transactions takes no locks.
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
pub(crate) use on_db;

/// What is behind the handles of a database.
pub(crate) struct Slot {
    /// Written when the database is closed, read by every call; the swap publishes nothing else.
    db: ArcSwapOption<Db>,
    /// How often manual compactions were disabled and not enabled since. Callers' threads write
    /// and read it; it publishes nothing.
    manual_off: AtomicUsize,
    /// Whether it was opened to update values in place.
    pub(crate) updates_in_place: bool,
}

/// A database, plain or with transactions. Its memory stays after it was closed, so that later uses
/// find out.
pub struct rocksdb_t {
    pub(crate) slot: Arc<Slot>,
}

pub type rocksdb_transactiondb_t = rocksdb_t;
pub type rocksdb_optimistictransactiondb_t = rocksdb_t;

/// The handles of databases that were closed.
static CLOSED: Mutex<Vec<&'static rocksdb_t>> = Mutex::new(Vec::new());

/// A database that is not closed during a call.
pub(crate) struct Open(Guard<Option<Arc<Db>>>);

impl Deref for Open {
    type Target = Arc<Db>;

    fn deref(&self) -> &Arc<Db> {
        self.0.as_ref().expect("it is open when this is made")
    }
}

impl Slot {
    pub(crate) fn open(&self) -> Result<Open> {
        let db = self.db.load();
        if db.is_none() {
            return Err(error(ErrorKind::Aborted, "the database is closed"));
        }
        Ok(Open(db))
    }

    pub(crate) fn disable_manual_compaction(&self) {
        self.manual_off.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn enable_manual_compaction(&self) {
        let less = |off: usize| off.checked_sub(1);
        let _ = (self.manual_off).fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    pub(crate) fn check_manual_compaction(&self) -> Result<()> {
        match self.manual_off.load(Ordering::Relaxed) {
            0 => Ok(()),
            _ => Err(error(ErrorKind::Incomplete, "Manual compaction paused")),
        }
    }
}

impl rocksdb_t {
    pub(crate) fn new(db: Db) -> Box<Self> {
        Self::with(db, false)
    }

    /// A database that was opened with these options.
    pub(crate) fn opened(db: Db, options: &Options) -> Box<Self> {
        let in_place = options.get_by_name("inplace_update_support");
        Self::with(db, in_place.is_some_and(|text| text == "true"))
    }

    fn with(db: Db, updates_in_place: bool) -> Box<Self> {
        let slot = Arc::new(Slot {
            db: ArcSwapOption::from_pointee(db),
            manual_off: AtomicUsize::new(0),
            updates_in_place,
        });
        Box::new(rocksdb_t { slot })
    }

    /// Another handle of the same database.
    pub(crate) fn again(&self) -> Box<Self> {
        let slot = self.slot.clone();
        Box::new(rocksdb_t { slot })
    }

    /// Closes the database, unless it is closed. What was made of it keeps it open.
    pub(crate) fn close(&'static self) {
        let Some(db) = self.slot.db.swap(None) else {
            return;
        };
        drop(db);
        let mut closed = CLOSED.lock().unwrap_or_else(PoisonError::into_inner);
        closed.push(self);
    }
}

/// The database of a handle.
pub(crate) fn open(db: Option<&rocksdb_t>) -> Result<Open> {
    given(db)?.slot.open()
}
