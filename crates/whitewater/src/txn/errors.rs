//! What goes wrong in transactions, in RocksDB's words.

use whitewater_concurrent::key_locks::LockError;
use whitewater_storage::{Error, ErrorKind};

/// A key was changed since the snapshot, or by another transaction.
pub(super) fn conflict() -> Error {
    Error::new(ErrorKind::Busy, "")
}

/// The expiration is over, and perhaps the locks are gone.
pub(super) fn expired() -> Error {
    Error::new(ErrorKind::Expired, "")
}

/// The batch would be larger than it may be.
pub(super) fn batch_is_full() -> Error {
    Error::new(ErrorKind::Aborted, "Memory limit reached")
}

/// `option` asks that transactions are written in parts.
pub(super) fn written_in_parts(option: &str) -> Error {
    Error::not_supported(format_args!(
        "{option} > 0: transactions are not written in parts"
    ))
}

/// There is no savepoint.
pub(super) fn no_savepoint() -> Error {
    Error::new(ErrorKind::NotFound, "")
}

/// Why a key of the column family `family` was not locked.
pub(super) fn not_locked(error: LockError, family: u32) -> Error {
    match error {
        LockError::TimedOut => Error::new(ErrorKind::TimedOut, "Timeout waiting to lock key"),
        LockError::Deadlock => Error::new(ErrorKind::Busy, "Deadlock"),
        LockError::Limit => Error::new(
            ErrorKind::Aborted,
            "Failed to acquire lock due to max_num_locks limit",
        ),
        LockError::NoFamily => no_family(family),
    }
}

/// There is no such column family.
pub(super) fn no_family(family: u32) -> Error {
    Error::invalid(format_args!("Column family id not found: {family}"))
}

/// Ranges are not locked.
pub(super) fn range_deletion() -> Error {
    Error::invalid("DeleteRangeCF not implemented")
}
