//! A gate at which writers of a log are held up between reserving their place and copying their
//! record.

use super::hooked::{HookedLogs, LogHook};
use std::sync::{Arc, Condvar, Mutex};

/// Writers whose record contains this are held up.
pub const HOLD: &[u8] = b"HOLD THIS ONE UP";

/// Holds writers up, and counts them.
#[derive(Debug, Default)]
pub struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    open: bool,
    waiting: usize,
}

impl Gate {
    fn pass(&self) {
        let mut state = self.state.lock().expect("nobody panics");
        state.waiting += 1;
        self.changed.notify_all();
        while !state.open {
            state = self.changed.wait(state).expect("nobody panics");
        }
    }

    /// Returns when a writer is held up.
    pub fn await_writer(&self) {
        let mut state = self.state.lock().expect("nobody panics");
        while state.waiting == 0 {
            state = self.changed.wait(state).expect("nobody panics");
        }
    }

    /// Lets them and all later ones go on.
    pub fn open(&self) {
        self.state.lock().expect("nobody panics").open = true;
        self.changed.notify_all();
    }
}

impl LogHook for Gate {
    fn writing(&self, data: &[u8]) {
        if data.windows(HOLD.len()).any(|w| w == HOLD) {
            self.pass();
        }
    }
}

/// A file system whose logs have this gate.
pub fn gated() -> HookedLogs<Gate> {
    HookedLogs::new(Arc::default())
}
