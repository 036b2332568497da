//! A huge page that is ready before it is needed.
//!
//! At the first touch of a huge page the system clears all of it. That took 5 ms in a virtual
//! machine, which had to get the memory from its host first. Memtables and the slabs of cached
//! blocks need a new one every few thousand writes or reads. So a thread prepares a piece ahead of
//! time. There is at most one in the process. The thread frees what nobody has taken for [`IDLE`],
//! and ends: those who need a piece less often gain nothing.
//!
//! # Locks
//! The lock of the piece is a leaf: while it is held, no lock is taken and no system call is made.

use super::pool::{IDLE, pool_limit};
use super::{HugePages, PIECE, Region};
use parking_lot::{Condvar, Mutex};
use std::thread;

static AHEAD: Mutex<Ahead> = Mutex::new(Ahead {
    ready: None,
    is_wanted: false,
    has_thread: false,
});

/// Tells the thread that a piece is wanted.
static WANTED: Condvar = Condvar::new();

struct Ahead {
    ready: Option<Region>,
    is_wanted: bool,
    /// Whether the thread runs.
    has_thread: bool,
}

/// The piece of transparent huge pages, if it is ready. There is none of other pages.
pub(crate) fn take(huge: HugePages) -> Option<Region> {
    match huge {
        HugePages::Transparent => AHEAD.lock().ready.take(),
        _ => None,
    }
}

/// Has a piece prepared, unless one is ready, or the process is to keep less memory. Only for
/// transparent huge pages. Callers change their mappings first: before Linux 6.10 a change waits
/// while the thread gets the pages. They release their locks first, too: the thread may get the
/// caller's core at once.
pub(crate) fn want(huge: HugePages) {
    let is_linux = cfg!(all(target_os = "linux", not(any(loom, shuttle, miri))));
    if !is_linux || huge != HugePages::Transparent || pool_limit() < PIECE {
        return;
    }
    let mut ahead = AHEAD.lock();
    if ahead.ready.is_some() {
        return;
    }
    ahead.is_wanted = true;
    let starts = !ahead.has_thread;
    ahead.has_thread = true;
    // The system calls are made after the lock is released.
    drop(ahead);
    if !starts {
        WANTED.notify_one();
        return;
    }
    let thread = thread::Builder::new().name("ww-huge-pages".to_owned());
    if thread.spawn(prepare).is_err() {
        AHEAD.lock().has_thread = false;
    }
}

/// Prepares pieces as long as they are taken.
fn prepare() {
    loop {
        let mut ahead = AHEAD.lock();
        WANTED.wait_while_for(&mut ahead, |ahead| !ahead.is_wanted, IDLE);
        if !ahead.is_wanted {
            ahead.has_thread = false;
            let idle = ahead.ready.take();
            drop(ahead);
            drop(idle);
            return;
        }
        ahead.is_wanted = false;
        if ahead.ready.is_some() {
            continue;
        }
        drop(ahead);
        let piece = Region::prepared();
        AHEAD.lock().ready = piece;
    }
}

/// Bytes of memory that are ready, which nobody uses yet.
pub fn prepared_bytes() -> usize {
    AHEAD.lock().ready.as_ref().map_or(0, Region::bytes)
}
