//! Transactions that lock nothing, and find out at their commit whether others have changed what
//! they have used.
//!
//! Unlike RocksDB they are validated against tables, too, so that no memtable is kept for them, and
//! no commit fails because what has changed can no longer be known (`TryAgain`). Plain writes,
//! range deletions and ingestions do not come between validation and insert (O1 of
//! `db::validation`).

use crate::db::Engine;
use crate::db::validation::{Noted, Validation};
use crate::options::DbOptions;
use crate::options::commit_protocol::CommitProtocol;
use crate::options::read::WriteSpec;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use whitewater_storage::batch::Batch;
use whitewater_storage::{Error, Result};

/// Buckets of keys. Transactions with other keys in one of them wait for each other's commits.
const BUCKETS: usize = 1 << 18;

/// A database with optimistic transactions.
#[derive(Debug)]
pub(crate) struct OptimisticDb {
    engine: Arc<Engine>,
    validation: Arc<Validation>,
    /// The id of the transaction that was made last.
    /// Written by: threads that make a transaction. Publishes nothing (relaxed).
    last_id: AtomicU64,
}

/// A transaction that locks nothing.
#[derive(Debug)]
pub(super) struct Optimistic {
    pub db: Arc<OptimisticDb>,
    pub id: u64,
}

impl OptimisticDb {
    /// Refuses options of a database that cannot have transactions.
    ///
    /// # Errors
    /// `NotSupported` for writes that are visible before they are inserted: a read could miss
    /// what is not newer than the number it is noted with.
    pub fn check(options: &DbOptions) -> Result<()> {
        if options.protocol() == CommitProtocol::Unordered {
            return Err(Error::not_supported(
                "optimistic transactions are incompatible with unordered_writes",
            ));
        }
        Ok(())
    }

    /// Transactions for `engine`, whose options were [checked](Self::check), and which nobody has
    /// written to.
    pub fn new(engine: Arc<Engine>) -> Arc<Self> {
        let validation = Arc::new(Validation::new(BUCKETS));
        engine.meet_at(validation.clone());
        Arc::new(OptimisticDb {
            engine,
            validation,
            last_id: AtomicU64::new(0),
        })
    }

    /// The database.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Writes `batch` if no key of `noted` has been changed since, and gives it back.
    ///
    /// # Errors
    /// Errors of [`Engine::write_validated`].
    pub(super) fn write_validated(
        &self,
        noted: &[Noted<'_>],
        batch: Batch,
        spec: &WriteSpec,
    ) -> (Batch, Result<()>) {
        (self.engine).write_validated(&self.validation, noted, batch, spec)
    }
}

impl Optimistic {
    /// A transaction of `db`.
    pub fn new(db: Arc<OptimisticDb>) -> Self {
        let id = db.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        Optimistic { db, id }
    }
}
