//! Threads: std's, except that threads started by a simulation's thread belong to the
//! simulation.

use super::scheduler::{Seat, current};
use std::cell::Cell;
use std::io;
use std::thread::{self, Builder, Scope};

/// See [`thread::JoinHandle`].
#[derive(Debug)]
pub struct JoinHandle<T> {
    inner: thread::JoinHandle<T>,
    seat: Option<Seat>,
}

impl<T> JoinHandle<T> {
    /// Waits for the thread's end.
    ///
    /// # Errors
    /// What it panicked with.
    pub fn join(self) -> thread::Result<T> {
        await_end(self.seat.as_ref());
        self.inner.join()
    }

    /// Whether the thread's work is over.
    pub fn is_finished(&self) -> bool {
        match &self.seat {
            None => self.inner.is_finished(),
            Some(seat) => seat.is_over(),
        }
    }

    /// See [`thread::JoinHandle::thread`].
    pub fn thread(&self) -> &thread::Thread {
        self.inner.thread()
    }
}

/// See [`thread::ScopedJoinHandle`].
#[derive(Debug)]
pub struct ScopedJoinHandle<'scope, T> {
    inner: thread::ScopedJoinHandle<'scope, T>,
    seat: Option<Seat>,
}

impl<T> ScopedJoinHandle<'_, T> {
    /// Waits for the thread's end.
    ///
    /// # Errors
    /// What it panicked with.
    pub fn join(self) -> thread::Result<T> {
        await_end(self.seat.as_ref());
        self.inner.join()
    }
}

/// Lets the simulation's other threads run until the thread has ended.
fn await_end(seat: Option<&Seat>) {
    if let (Some(seat), Some(me)) = (seat, current()) {
        me.await_end(seat);
    }
}

thread_local! {
    /// How many more threads this one may start; `None` for any number.
    static ALLOWED: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Lets the calling thread start only `count` more threads; starting more fails, as it
/// does when the system has reached its limit. `None` for no limit. For tests.
pub fn limit_threads(count: Option<usize>) {
    ALLOWED.set(count);
}

/// Uses up one of the threads that the calling one may start.
fn take_allowed() -> io::Result<()> {
    match ALLOWED.get() {
        None => Ok(()),
        Some(0) => Err(io::Error::new(
            io::ErrorKind::WouldBlock,
            "a test allows no more threads",
        )),
        Some(more) => {
            ALLOWED.set(Some(more - 1));
            Ok(())
        }
    }
}

/// Starts a thread with a name.
///
/// # Errors
/// The errors of the system, and that of [`limit_threads`].
pub fn spawn<T: Send + 'static>(
    name: String,
    body: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    take_allowed()?;
    let seat = current().map(|me| me.another(&name));
    let inner = Builder::new().name(name).spawn(seated(seat.clone(), body));
    Ok(JoinHandle {
        inner: inner.inspect_err(|_| give_up(seat.as_ref()))?,
        seat,
    })
}

/// Starts a thread with a name in a scope. The handle must be joined, since a simulation
/// does not know when a scope ends.
///
/// # Errors
/// The errors of the system, and that of [`limit_threads`].
pub fn spawn_scoped<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: String,
    body: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    take_allowed()?;
    let seat = current().map(|me| me.another(&name));
    let inner = Builder::new()
        .name(name)
        .spawn_scoped(scope, seated(seat.clone(), body));
    Ok(ScopedJoinHandle {
        inner: inner.inspect_err(|_| give_up(seat.as_ref()))?,
        seat,
    })
}

/// Wraps `body` for a thread that takes the seat at first, and gives it up however it
/// ends.
fn seated<T>(seat: Option<Seat>, body: impl FnOnce() -> T) -> impl FnOnce() -> T {
    move || {
        let _thread = seat.map(Seat::take_seat);
        body()
    }
}

/// Gives up the seat of a thread that could not be started.
fn give_up(seat: Option<&Seat>) {
    if let Some(seat) = seat {
        seat.cancel();
    }
}
