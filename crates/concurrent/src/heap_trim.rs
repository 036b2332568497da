//! Gives memory back to the system after much of the heap was freed at once.
//!
//! The GNU C library keeps freed memory in *arenas*, which threads share, for their later
//! allocations. It gives back no more than the end of an arena. So after all cached
//! blocks of a deleted table were freed, the arenas of the threads that had read it are
//! full of holes, while others grow. `malloc_trim` gives back each page that is free.
//!
//! It visits all free memory of an arena under that arena's lock. So a thread of its own
//! calls it, once enough was freed, a moment later, and rests twenty times as long as the
//! call took before it calls again.
//!
//! With another C library nothing of that is done. A program with another allocator than the C
//! library's has little in the arenas, so a call ends at once. The same thread has memory given
//! back that is not the C library's ([`also`]).

use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Whether there is something to call.
const AVAILABLE: bool = cfg!(all(target_os = "linux", not(any(loom, shuttle, miri))));

/// What else gives memory back.
static ALSO: OnceLock<fn()> = OnceLock::new();

/// The least number of freed bytes for a call.
const LEAST: usize = 8 << 20;

/// The time between freeing and the call. What was freed together usually is freed within
/// less, and what is used again at once need not be given back.
const PAUSE: Duration = Duration::from_millis(500);

/// The thread rests for this many times as long as the call took.
const REST: u32 = 20;

static HEAP: Mutex<Heap> = Mutex::new(Heap {
    freed: 0,
    running: false,
    rest: Duration::ZERO,
});

struct Heap {
    /// Bytes that were freed since the last call.
    freed: usize,
    /// Whether the thread runs.
    running: bool,
    /// How long the next call has to wait at least.
    rest: Duration,
}

impl Heap {
    /// Counts freed bytes. Returns whether the thread is to be started.
    fn add(&mut self, bytes: usize) -> bool {
        self.freed = self.freed.saturating_add(bytes);
        let start = self.freed >= LEAST && !self.running;
        self.running |= start;
        start
    }

    /// Counts a call that took this long. Returns whether another one is due.
    fn called(&mut self, took: Duration) -> bool {
        self.rest = took.saturating_mul(REST);
        self.running = self.freed >= LEAST;
        self.running
    }
}

/// Has the thread call `trim`, too, from now on. Only the first call of this has an effect.
pub fn also(trim: fn()) {
    let _ = ALSO.set(trim);
}

/// Tells that about `bytes` bytes of the heap were freed, of which no more than a part will
/// soon be needed again.
///
/// The lock that is taken is a leaf: while it is held, no lock is taken and no system call
/// is made.
pub fn freed(bytes: usize) {
    if AVAILABLE && HEAP.lock().add(bytes) {
        let thread = thread::Builder::new().name("ww-heap-trim".to_string());
        if thread.spawn(work).is_err() {
            HEAP.lock().running = false;
        }
    }
}

/// Calls `malloc_trim` until not enough is freed meanwhile.
fn work() {
    loop {
        let rest = HEAP.lock().rest;
        thread::sleep(PAUSE.max(rest));
        HEAP.lock().freed = 0;
        let start = Instant::now();
        if let Some(also) = ALSO.get() {
            also();
        }
        trim();
        let took = start.elapsed();
        if !HEAP.lock().called(took) {
            return;
        }
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu", not(any(loom, shuttle, miri))))]
fn trim() {
    // SAFETY: it may be called at any time, by any thread. It changes only memory that is
    // free. The result says whether there was any.
    let _ = unsafe { libc::malloc_trim(0) };
}

#[cfg(not(all(target_os = "linux", target_env = "gnu", not(any(loom, shuttle, miri)))))]
fn trim() {}

#[cfg(test)]
mod tests {
    use super::*;

    fn idle() -> Heap {
        Heap {
            freed: 0,
            running: false,
            rest: Duration::ZERO,
        }
    }

    #[test]
    fn one_thread_is_started_once_enough_was_freed() {
        let mut heap = idle();
        assert!(!heap.add(LEAST - 1));
        assert!(heap.add(1));
        assert!(!heap.add(usize::MAX), "it runs already");
        assert!(heap.called(Duration::ZERO), "more was freed meanwhile");
        heap.freed = 0;
        assert!(!heap.called(Duration::ZERO));
        assert!(heap.add(LEAST), "it has ended");
    }

    #[test]
    fn the_next_call_waits_for_twenty_times_as_long_as_the_last_one_took() {
        let mut heap = idle();
        heap.called(Duration::from_millis(20));
        assert_eq!(heap.rest, Duration::from_millis(400));
        heap.called(Duration::MAX);
        assert_eq!(heap.rest, Duration::MAX);
    }
}
