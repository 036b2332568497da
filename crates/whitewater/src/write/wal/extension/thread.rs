//! The thread that extends logs before writers need it, one for all databases of the process.
//!
//! It is asked for each extension, and ends after [`IDLE`] without. It holds a log only while it
//! extends it, and a log that was closed or let go of is not extended.
//!
//! # Locks
//! The lock of what was asked is a leaf: no lock is taken and no system call is made under it.

use super::Extender;
use crate::panics::{Guarded, caught};
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;
use whitewater_storage::wal::Segment;

/// How long the thread waits for the next extension.
const IDLE: Duration = Duration::from_secs(10);

static ASKED: Mutex<Asked> = Mutex::new(Asked {
    extensions: VecDeque::new(),
    has_thread: false,
});

/// Tells the thread that it was asked.
static ANY: Condvar = Condvar::new();

struct Asked {
    /// One at most for each database.
    extensions: VecDeque<Wanted>,
    /// Whether the thread runs.
    has_thread: bool,
}

/// An extension of a log in which a write has ended at `end`.
struct Wanted {
    extender: Weak<Extender>,
    log: Weak<Segment>,
    end: u64,
}

/// Asks for an extension of `log`, in which a write has ended at `end`. Returns false if there can
/// be no thread.
pub(super) fn ask(extender: &Arc<Extender>, log: &Arc<Segment>, end: u64) -> bool {
    let wanted = Wanted {
        extender: Arc::downgrade(extender),
        log: Arc::downgrade(log),
        end,
    };
    let mut asked = ASKED.lock();
    asked.extensions.push_back(wanted);
    let starts = !asked.has_thread;
    asked.has_thread = true;
    // The system calls are made after the lock is released.
    drop(asked);
    if !starts {
        ANY.notify_one();
        return true;
    }
    let thread = thread::Builder::new().name("ww-extend-log".to_owned());
    if thread.spawn(extend).is_ok() {
        return true;
    }
    let mut asked = ASKED.lock();
    asked.has_thread = false;
    let in_vain = std::mem::take(&mut asked.extensions);
    drop(asked);
    for extender in in_vain.iter().filter_map(|one| one.extender.upgrade()) {
        extender.answer();
    }
    false
}

/// Extends logs as long as it is asked to.
fn extend() {
    loop {
        let mut asked = ASKED.lock();
        ANY.wait_while_for(&mut asked, |asked| asked.extensions.is_empty(), IDLE);
        let Some(wanted) = asked.extensions.pop_front() else {
            asked.has_thread = false;
            return;
        };
        drop(asked);
        wanted.make();
    }
}

impl Wanted {
    /// Extends the log. A file system that fails or panics has the writer try that needs the room.
    fn make(&self) {
        let Some(extender) = self.extender.upgrade() else {
            return;
        };
        let log = self.log.upgrade();
        let _ = caught(Guarded::Job, || {
            extender.extend_as_asked(log.as_deref(), self.end);
            Ok(())
        });
        extender.answer();
    }
}
