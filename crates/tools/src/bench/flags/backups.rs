//! Backups.

/// Passes these rows, after the rows so far, to the next group.
macro_rules! backups {
    ([$($before:tt)*] $next:ident $($rest:ident)*) => {
        $next! { [
            $($before)*
            "Backups" {
                backup_dir: String = "", "The directory of backups for backup and restore; empty: backup in the database's.";
                restore_dir: String = "", "The directory that restore writes the database to; empty: restore in the database's.";
                backup_rate_limit: u64 = 0u64, "The bytes per second that backup reads and writes at most; 0: no limit.";
                restore_rate_limit: u64 = 0u64, "The bytes per second that restore reads and writes at most; 0: no limit.";
            }
        ] $($rest)* }
    };
}

pub(super) use backups;
