//! A lock with a wait queue in the system, as `system::Mutex` and RocksDB's `port::Mutex` are.

use crate::sim::thread::Patience;
use crate::sim::{Sim, Thread, Time, Word};

/// A lock on a line of its own.
#[derive(Debug)]
pub struct Lock {
    /// 1 while it is held.
    held: Word,
    /// The number of threads that sleep, or are about to.
    sleepers: Word,
    /// How long a thread looks at the lock before it sleeps.
    patience: Time,
}

impl Lock {
    /// A free lock whose line is called `name`.
    #[must_use]
    pub fn new(sim: &Sim, name: &'static str, patience: Time) -> Self {
        let held = Word::new(sim, name, 0);
        Lock {
            sleepers: held.beside(0),
            held,
            patience,
        }
    }

    /// Works for `time` while it holds the lock.
    pub async fn work(&self, thread: &Thread, time: Time) {
        while thread.exchange(&self.held, 0, 1).await.is_err() {
            let free = |held| (held == 0).then_some(());
            let patience = Patience::For(self.patience);
            if thread.watch(&self.held, patience, free).await.is_some() {
                continue;
            }
            self.sleepers.preset(self.sleepers.peek() + 1);
            thread.futex_wait(&self.held, 1).await;
            self.sleepers.preset(self.sleepers.peek() - 1);
        }
        thread.compute(time).await;
        thread.rmw(&self.held, |_| 0).await;
        if self.sleepers.peek() > 0 {
            thread.futex_wake(&self.held, 1).await;
        }
    }
}
