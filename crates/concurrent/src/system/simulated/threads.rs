//! Threads: std's, but that those which a simulation's thread starts belong to it.

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

    /// Whether its work is over.
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

/// Lets the others of the simulation run until the thread is over.
fn await_end(seat: Option<&Seat>) {
    if let (Some(seat), Some(me)) = (seat, current()) {
        me.await_end(seat);
    }
}

thread_local! {
    /// How many more threads this one may start; `None` is any number.
    static ALLOWED: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Has every thread that the calling one starts after the next `count` refused, as
/// where the system has a limit; `None` is no limit. For tests.
pub fn limit_threads(count: Option<usize>) {
    ALLOWED.set(count);
}

/// Takes one of the threads that the calling one may start.
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
/// Those of the system, and of [`limit_threads`].
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

/// The same in a scope. The handle must be joined: a simulation does not know when
/// a scope ends.
///
/// # Errors
/// Those of the system, and of [`limit_threads`].
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

/// `body` for a thread that takes the seat, and gives it up however it ends.
fn seated<T>(seat: Option<Seat>, body: impl FnOnce() -> T) -> impl FnOnce() -> T {
    move || {
        let _thread = seat.map(Seat::sit_down);
        body()
    }
}

/// Nobody comes to take the seat.
fn give_up(seat: Option<&Seat>) {
    if let Some(seat) = seat {
        seat.cancel();
    }
}
