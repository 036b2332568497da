//! How a transaction keeps out of the way of others.
//!
//! A [`Policy`] is asked where the kinds of transactions differ: when a key is used, when it is
//! no longer used, and when the transaction ends.

use super::database::{TransactionDb, timeout};
use super::optimistic::Optimistic;
use super::options::TransactionSpec;
use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;
use whitewater_concurrent::key_locks::{LockMode, LockOwner, OwnerState, Wait};
use whitewater_concurrent::system;
use whitewater_storage::Result;

/// How a transaction keeps out of the way of others.
#[derive(Debug)]
pub(super) enum Policy {
    /// It locks what it uses.
    Pessimistic(Pessimistic),
    /// It finds out at its commit whether others have changed what it uses.
    Optimistic(Optimistic),
}

/// A transaction that locks what it uses.
#[derive(Debug)]
pub(super) struct Pessimistic {
    pub db: Arc<TransactionDb>,
    pub owner: Arc<LockOwner>,
    wait: Cell<Wait>,
    /// Whether nothing is locked and nothing validated.
    unlocked: bool,
}

impl Pessimistic {
    /// A transaction with the options `spec`, which locks nothing yet.
    pub fn new(db: Arc<TransactionDb>, spec: &TransactionSpec) -> Self {
        let expiration = u64::try_from(spec.expiration).ok().filter(|n| *n > 0);
        let after = |millis| system::now().checked_add(Duration::from_millis(millis));
        let lock_timeout = if spec.lock_timeout < 0 {
            db.spec().txn_lock_timeout
        } else {
            spec.lock_timeout
        };
        let depth = spec.deadlock_detect_depth.clamp(0, u32::MAX.into()) as u32;
        let wait = Wait {
            timeout: timeout(lock_timeout),
            deadlock_depth: spec.deadlock_detect.then_some(depth),
        };
        let owner = db.new_owner(expiration.and_then(after));
        Self::with(db, owner, wait)
    }

    /// A transaction whose locks `owner` holds, and which waits for more in this way.
    pub fn with(db: Arc<TransactionDb>, owner: Arc<LockOwner>, wait: Wait) -> Self {
        Pessimistic {
            unlocked: db.spec().skip_concurrency_control,
            wait: Cell::new(wait),
            owner,
            db,
        }
    }

    /// How it waits for locks.
    pub fn wait(&self) -> Wait {
        self.wait.get()
    }

    /// Sets how long later locks are waited for. Milliseconds; below 0 is for ever.
    pub fn set_lock_timeout(&self, millis: i64) {
        self.wait.set(Wait {
            timeout: timeout(millis),
            ..self.wait.get()
        });
    }

    /// Whether its locks were stolen.
    pub fn is_robbed(&self) -> bool {
        self.owner.state() == OwnerState::Stolen
    }
}

/// A lock that was taken for one use of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// None: the lock was held already.
    Nothing,
    Lock,
    /// A shared lock became an exclusive one.
    Upgrade,
}

impl Policy {
    /// Whether keys are neither locked nor noted.
    pub fn is_unlocked(&self) -> bool {
        match self {
            Policy::Pessimistic(this) => this.unlocked,
            Policy::Optimistic(_) => false,
        }
    }

    /// Whether changes by others are only found at the commit.
    pub fn validates_at_commit(&self) -> bool {
        matches!(self, Policy::Optimistic(_))
    }

    /// The transaction that locks what it uses, if it is one.
    pub fn pessimistic(&self) -> Option<&Pessimistic> {
        match self {
            Policy::Pessimistic(this) => Some(this),
            Policy::Optimistic(_) => None,
        }
    }

    /// The number by which the transaction is told from others.
    pub fn id(&self) -> u64 {
        match self {
            Policy::Pessimistic(this) => this.owner.id(),
            Policy::Optimistic(this) => this.id,
        }
    }

    /// Takes what a use of `key` needs. `held` is the mode in which it is held already.
    ///
    /// # Errors
    /// Errors of [`TransactionDb::lock`]. Nothing has changed then.
    pub fn take(
        &self,
        family: u32,
        key: &[u8],
        held: Option<LockMode>,
        mode: LockMode,
    ) -> Result<Taken> {
        let Policy::Pessimistic(this) = self else {
            return Ok(Taken::Nothing);
        };
        let taken = match (held, mode) {
            (None, _) => Taken::Lock,
            (Some(LockMode::Shared), LockMode::Exclusive) => Taken::Upgrade,
            _ => return Ok(Taken::Nothing),
        };
        (this.db).lock(&this.owner, family, key, mode, &this.wait.get())?;
        Ok(taken)
    }

    /// Gives back what [`take`](Self::take) took.
    pub fn give_back(&self, family: u32, key: &[u8], taken: Taken) {
        let Policy::Pessimistic(this) = self else {
            return;
        };
        let locks = this.db.locks();
        match taken {
            Taken::Nothing => {}
            Taken::Lock => locks.unlock(&this.owner, family, key),
            Taken::Upgrade => locks.downgrade(&this.owner, family, key),
        }
    }
}
