//! Scratch values that a thread keeps for its next call: buffers, or objects that take
//! time to set up.
//!
//! Destructors of a thread may call these functions when the thread's scratch values are
//! already destroyed. They then get a default value, where `LocalKey::take` would panic.

use std::cell::Cell;
use std::thread::LocalKey;

/// Takes the value that was [kept](keep) last; a default value if there is none.
#[inline]
pub fn take<T: Default>(kept: &'static LocalKey<Cell<T>>) -> T {
    kept.try_with(Cell::take).unwrap_or_default()
}

/// Keeps `value` for this thread's next call of [`take`].
#[inline]
pub fn keep<T>(kept: &'static LocalKey<Cell<T>>, value: T) {
    let _ = kept.try_with(|place| place.set(value));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Sender, channel};

    thread_local! {
        static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
        static LAST: Cell<Option<AtExit>> = const { Cell::new(None) };
    }

    /// Uses a scratch value in a destructor of the thread.
    struct AtExit(Sender<usize>);

    impl Drop for AtExit {
        fn drop(&mut self) {
            let scratch = take(&SCRATCH);
            self.0.send(scratch.len()).unwrap();
            keep(&SCRATCH, vec![2]);
        }
    }

    #[test]
    fn a_scratch_value_is_kept_until_the_thread_ends() {
        let (send, receive) = channel();
        let thread = std::thread::spawn(move || {
            LAST.set(Some(AtExit(send)));
            keep(&SCRATCH, vec![1; 3]);
            let len = take(&SCRATCH).len();
            keep(&SCRATCH, vec![1; 3]);
            len
        });
        assert_eq!(thread.join().unwrap(), 3, "no panic either");
        // The system decides which of the two is destroyed first.
        assert!([0, 3].contains(&receive.recv().unwrap()));
    }
}
