//! A huge page that is ready before it is needed.
//!
//! At the first touch of a huge page the system clears all of it, which took 5 ms in a virtual
//! machine whose own memory was fresh, too. Memtables and the slabs of cached blocks come to one
//! every few thousand writes or reads. So a thread prepares the next piece while the last one is
//! filled: one in the whole process. It frees what nobody has taken for [`IDLE`], and ends.
//!
//! # Locks
//! The lock of the piece is a leaf: while it is held, no lock is taken and no system call is made.

use super::pool::{IDLE, pool_limit};
use super::{HugePages, Region};
use parking_lot::{Condvar, Mutex};
use std::thread;

static AHEAD: Mutex<Ahead> = Mutex::new(Ahead {
    ready: None,
    is_wanted: false,
    has_thread: false,
    is_refused: false,
});

/// Tells the thread that a piece is wanted.
static WANTED: Condvar = Condvar::new();

struct Ahead {
    ready: Option<Region>,
    is_wanted: bool,
    /// Whether the thread runs.
    has_thread: bool,
    /// Whether the system has refused a piece, or the thread. It is not asked again.
    is_refused: bool,
}

/// The piece of transparent huge pages, if it is ready. There is none of other pages.
pub(crate) fn take(huge: HugePages) -> Option<Region> {
    match huge {
        HugePages::Transparent => AHEAD.lock().ready.take(),
        _ => None,
    }
}

/// Has a piece prepared, unless one is ready, or memory is not to be kept. Only for transparent
/// huge pages. Whoever has mappings to change does that first, since changes wait for the thread.
pub(crate) fn want(huge: HugePages) {
    let is_linux = cfg!(all(target_os = "linux", not(any(loom, shuttle, miri))));
    if !is_linux || huge != HugePages::Transparent || pool_limit() == 0 {
        return;
    }
    let mut ahead = AHEAD.lock();
    if ahead.ready.is_some() || ahead.is_refused {
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
        let mut ahead = AHEAD.lock();
        (ahead.has_thread, ahead.is_refused) = (false, true);
    }
}

/// Prepares pieces as long as they are taken.
fn prepare() {
    loop {
        let mut ahead = AHEAD.lock();
        if !ahead.is_wanted {
            WANTED.wait_for(&mut ahead, IDLE);
        }
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
        let mut ahead = AHEAD.lock();
        ahead.is_refused = piece.is_none();
        ahead.ready = piece;
    }
}

/// Bytes of memory that are ready, which nobody uses yet.
pub fn prepared_bytes() -> usize {
    AHEAD.lock().ready.as_ref().map_or(0, Region::bytes)
}
