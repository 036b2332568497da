//! A mutex with condition variables, and the clock of their deadlines: those of
//! [`crate::system`], or a model checker's.
//!
//! Under a checker no time passes, and a wait with a deadline always ends by it: the
//! thread gives the lock back, takes it again and has timed out. A checker tries every
//! moment at which it may take the lock again, so it tries every moment of timing out.

#[cfg(not(any(loom, shuttle)))]
pub(crate) use crate::system::{Condvar, Mutex, MutexGuard, now};

#[cfg(any(loom, shuttle))]
pub(crate) use modelled::{Condvar, Mutex, MutexGuard, now};

#[cfg(any(loom, shuttle))]
mod modelled {
    #[cfg(loom)]
    use loom::sync as checked;
    #[cfg(shuttle)]
    use shuttle::sync as checked;

    use std::ops::{Deref, DerefMut};
    use std::sync::OnceLock;
    use std::time::Instant;

    /// One moment, always the same.
    pub(crate) fn now() -> Instant {
        static NOW: OnceLock<Instant> = OnceLock::new();
        *NOW.get_or_init(Instant::now)
    }

    #[derive(Debug)]
    pub(crate) struct Mutex<T>(checked::Mutex<T>);

    /// The checker's guard; `None` only while its thread waits.
    #[derive(Debug)]
    pub(crate) struct MutexGuard<'a, T> {
        lock: &'a Mutex<T>,
        held: Option<checked::MutexGuard<'a, T>>,
    }

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Mutex(checked::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            let held = self.0.lock().expect("no thread fails under the lock");
            MutexGuard {
                lock: self,
                held: Some(held),
            }
        }
    }

    impl<T> Deref for MutexGuard<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            self.held.as_ref().expect("the lock is held")
        }
    }

    impl<T> DerefMut for MutexGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            self.held.as_mut().expect("the lock is held")
        }
    }

    #[derive(Debug)]
    pub(crate) struct WaitTimeoutResult;

    impl WaitTimeoutResult {
        pub(crate) fn timed_out(&self) -> bool {
            true
        }
    }

    #[derive(Debug)]
    pub(crate) struct Condvar(checked::Condvar);

    impl Condvar {
        pub(crate) fn new() -> Self {
            Condvar(checked::Condvar::new())
        }

        pub(crate) fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
            let held = guard.held.take().expect("the lock is held");
            guard.held = Some(self.0.wait(held).expect("no thread fails under the lock"));
        }

        pub(crate) fn wait_until<T>(
            &self,
            guard: &mut MutexGuard<'_, T>,
            _: Instant,
        ) -> WaitTimeoutResult {
            drop(guard.held.take());
            guard.held = guard.lock.lock().held;
            WaitTimeoutResult
        }

        pub(crate) fn notify_one(&self) {
            self.0.notify_one();
        }
    }
}
