//! Hooks at sync points of a write: traps that hold a writer up, and random pauses.

use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
use whitewater::{Options, Point};

/// Once armed, holds up the next thread that reaches a point.
#[derive(Default)]
pub struct Trap {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    armed: Option<Point>,
    caught: Option<u64>,
    orders: Option<Orders>,
}

/// What becomes of the thread that was caught.
#[derive(Clone, Copy)]
enum Orders {
    GoOn,
    Panic,
}

impl Trap {
    /// A trap for the writers of a database that is opened with `options`.
    pub fn set(options: &mut Options) -> Arc<Trap> {
        let trap = Arc::new(Trap::default());
        let hook = trap.clone();
        options.set_failpoints(move |point, number| hook.reached(point, number));
        trap
    }

    fn reached(&self, point: Point, number: u64) {
        let mut state = self.state.lock();
        if state.armed != Some(point) {
            return;
        }
        state.armed = None;
        state.caught = Some(number);
        self.changed.notify_all();
        let orders = loop {
            if let Some(orders) = state.orders.take() {
                break orders;
            }
            self.changed.wait(&mut state);
        };
        drop(state);
        if matches!(orders, Orders::Panic) {
            panic!("planted panic at {point:?}");
        }
    }

    /// Arms the trap for the next thread at `point`.
    pub fn arm(&self, point: Point) {
        let mut state = self.state.lock();
        assert!(state.armed.is_none() && state.orders.is_none());
        state.armed = Some(point);
    }

    /// Whether a thread is caught that was not [waited](Self::wait) for yet.
    pub fn has_caught(&self) -> bool {
        self.state.lock().caught.is_some()
    }

    /// Waits until a thread is caught. Returns the number that the point passed.
    pub fn wait(&self) -> u64 {
        let mut state = self.state.lock();
        loop {
            if let Some(number) = state.caught.take() {
                return number;
            }
            self.changed.wait(&mut state);
        }
    }

    /// Lets the caught thread go on.
    pub fn release(&self) {
        self.order(Orders::GoOn);
    }

    /// Makes the caught thread panic.
    pub fn kill(&self) {
        self.order(Orders::Panic);
    }

    fn order(&self, orders: Orders) {
        self.state.lock().orders = Some(orders);
        self.changed.notify_all();
    }
}

/// Makes one in `one_in` arrivals at a point yield, so that threads meet in the middle of their
/// writes on few cores, too.
pub fn shake(options: &mut Options, seed: u64, one_in: u64) {
    let count = AtomicU64::new(seed << 32);
    options.set_failpoints(move |_, _| {
        let mut x = count
            .fetch_add(1, Ordering::Relaxed)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x ^= x >> 29;
        x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x ^= x >> 32;
        if x.is_multiple_of(one_in) {
            match (x >> 40) % 4 {
                0 => thread::sleep(Duration::from_micros(x >> 50)),
                _ => thread::yield_now(),
            }
        }
    });
}
