//! The system's allocator with a counter that can be switched on. With it, benchmarks
//! measure the size of structures that do not count their own memory.
//!
//! A program installs it with `#[global_allocator]`. It counts during one closure at a
//! time ([`growth_during`]), which must not be timed. Otherwise an allocation costs one
//! extra load of a word that is not written.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use parking_lot::Mutex;

/// The system's allocator, which can count.
#[derive(Clone, Copy, Debug, Default)]
pub struct CountingHeap;

/// Whether to count. Written by: [`growth_during`]. Read by: every allocation.
/// Publishes nothing.
static COUNTING: AtomicBool = AtomicBool::new(false);

/// Bytes allocated minus bytes freed while counting.
/// Written by: every allocation meanwhile. Read by: [`growth_during`]. Publishes nothing.
static GROWTH: AtomicI64 = AtomicI64::new(0);

/// Held while counting, so that one closure is counted at a time.
static TURN: Mutex<()> = Mutex::new(());

/// Runs `run` and returns by how many bytes the whole process's heap grew meanwhile.
/// These are the bytes asked for, without the allocator's overhead (usually 8 to 16 bytes
/// each time). `None` if [`CountingHeap`] is not the program's allocator. Nested calls
/// deadlock.
pub fn growth_during(run: impl FnOnce()) -> Option<i64> {
    let _turn = TURN.lock();
    let _counting = Counting::start();
    // Finds out whether allocations are counted at all.
    let probe = std::hint::black_box(Box::new(0_u64));
    let installed = GROWTH.load(Ordering::Relaxed) > 0;
    drop(probe);
    GROWTH.store(0, Ordering::Relaxed);
    run();
    installed.then(|| GROWTH.load(Ordering::Relaxed))
}

/// Counts until it is dropped, also when the closure panics.
struct Counting;

impl Counting {
    fn start() -> Self {
        GROWTH.store(0, Ordering::Relaxed);
        COUNTING.store(true, Ordering::Relaxed);
        Counting
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        COUNTING.store(false, Ordering::Relaxed);
    }
}

#[inline(always)]
fn count(taken: usize, given_back: usize) {
    if COUNTING.load(Ordering::Relaxed) {
        GROWTH.fetch_add(taken as i64 - given_back as i64, Ordering::Relaxed);
    }
}

// SAFETY: every call goes to the system's allocator unchanged, and counting
// neither allocates nor unwinds.
unsafe impl GlobalAlloc for CountingHeap {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: the caller keeps `GlobalAlloc`'s contract, which is passed on.
        unsafe { System.alloc(layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: as in `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(0, layout.size());
        // SAFETY: as in `alloc`; `at` came from the system's allocator.
        unsafe { System.dealloc(at, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size, layout.size());
        // SAFETY: as in `dealloc`.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn without_being_installed_it_gives_no_figure() {
        assert_eq!(growth_during(|| drop(vec![0_u8; 100])), None);
    }

    #[test]
    fn allocations_and_frees_are_counted() {
        let layout = Layout::from_size_align(1000, 8).expect("a layout");
        let _turn = TURN.lock();
        let _counting = Counting::start();
        // SAFETY: the layout has a size.
        let at = unsafe { CountingHeap.alloc(layout) };
        assert!(!at.is_null());
        assert_eq!(GROWTH.load(Ordering::Relaxed), 1000);
        // SAFETY: taken above with this layout.
        let at = unsafe { CountingHeap.realloc(at, layout, 3000) };
        assert!(!at.is_null());
        assert_eq!(GROWTH.load(Ordering::Relaxed), 3000);
        let layout = Layout::from_size_align(3000, 8).expect("a layout");
        // SAFETY: taken above with this layout.
        unsafe { CountingHeap.dealloc(at, layout) };
        assert_eq!(GROWTH.load(Ordering::Relaxed), 0);
    }
}
