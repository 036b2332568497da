//! What a thread keeps for its next call: memory, or what takes time to set up.
//!
//! A thread's destructors may call again when that is gone already. They do
//! without it, where `LocalKey::take` would panic.

use std::cell::Cell;
use std::thread::LocalKey;

/// What was [kept](keep) last, if it is still there.
#[inline]
pub fn take<T: Default>(kept: &'static LocalKey<Cell<T>>) -> T {
    kept.try_with(Cell::take).unwrap_or_default()
}

/// Keeps `value` for the next call of this thread.
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

    /// Uses what is spare in a destructor of the thread.
    struct AtExit(Sender<usize>);

    impl Drop for AtExit {
        fn drop(&mut self) {
            let scratch = take(&SCRATCH);
            self.0.send(scratch.len()).unwrap();
            keep(&SCRATCH, vec![2]);
        }
    }

    #[test]
    fn it_is_there_until_the_thread_ends() {
        let (send, receive) = channel();
        let thread = std::thread::spawn(move || {
            LAST.set(Some(AtExit(send)));
            keep(&SCRATCH, vec![1; 3]);
            let len = take(&SCRATCH).len();
            keep(&SCRATCH, vec![1; 3]);
            len
        });
        assert_eq!(thread.join().unwrap(), 3, "no panic either");
        // Whether it is destroyed before or after is the system's affair.
        assert!([0, 3].contains(&receive.recv().unwrap()));
    }
}
