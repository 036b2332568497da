//! What is called once a write is durable.
//!
//! Most callbacks wake a task. From a thread outside of the runtime, each such call costs a lock
//! that all workers share, and often a system call. So where several writers of a runtime shared a
//! sync, a task of the runtime calls their callbacks. A single one is called by the thread that
//! syncs.

use crate::error::Error;
use std::mem::take;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use tokio::runtime::Handle;

/// What is called once a write is durable, or cannot be made so.
type Done = Box<dyn FnOnce(Result<(), &Error>) + Send>;

/// A callback, and the runtime that it came from, if any.
pub(super) struct Call {
    done: Done,
    runtime: Option<Handle>,
}

impl Call {
    pub fn new(done: impl FnOnce(Result<(), &Error>) + Send + 'static) -> Self {
        Call {
            done: Box::new(done),
            runtime: Handle::try_current().ok(),
        }
    }

    /// Calls it here.
    pub fn fail(self, error: &Error) {
        (self.done)(Err(error));
    }
}

/// Callbacks that are called when this is dropped: by a task, or where the task is dropped if its
/// runtime has ended.
struct Calls {
    done: Vec<Done>,
    failed: Option<Arc<Error>>,
}

impl Drop for Calls {
    fn drop(&mut self) {
        for done in take(&mut self.done) {
            let outcome = self.failed.as_deref().map_or(Ok(()), Err);
            // A callback that panics has said so. The others are called all the same.
            _ = catch_unwind(AssertUnwindSafe(|| done(outcome)));
        }
    }
}

/// Tells all of `calls` that they are durable, or that it `failed`.
pub(super) fn call(calls: &mut Vec<Call>, failed: Option<&Arc<Error>>) {
    let mut of_runtimes: Vec<(Option<Handle>, Calls)> = Vec::new();
    for Call { done, runtime } in calls.drain(..) {
        let id = runtime.as_ref().map(Handle::id);
        let known = of_runtimes
            .iter_mut()
            .find(|(known, _)| known.as_ref().map(Handle::id) == id);
        match known {
            Some((_, calls)) => calls.done.push(done),
            None => {
                let (done, failed) = (vec![done], failed.cloned());
                of_runtimes.push((runtime, Calls { done, failed }));
            }
        }
    }
    for (runtime, calls) in of_runtimes {
        match runtime {
            Some(runtime) if calls.done.len() > 1 => {
                runtime.spawn(async move { drop(calls) });
            }
            _ => drop(calls),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::thread::{ThreadId, current};
    use tokio::runtime::{Builder, Runtime};

    /// Whether a write is durable, and the thread that was told.
    type Told = (bool, ThreadId);

    /// A callback that tells.
    fn telling(to: &Sender<Told>) -> Call {
        let to = to.clone();
        Call::new(move |synced| to.send((synced.is_ok(), current().id())).unwrap())
    }

    /// Two callbacks of `runtime`.
    fn two_of(runtime: &Runtime, to: &Sender<Told>) -> Vec<Call> {
        let _entered = runtime.enter();
        vec![telling(to), telling(to)]
    }

    fn new_runtime() -> Runtime {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(1).build().unwrap()
    }

    /// The next `count` that are told, by thread.
    fn told(by: &Receiver<Told>, count: usize) -> Vec<Told> {
        let mut told: Vec<_> = (0..count).map(|_| by.recv().unwrap()).collect();
        told.sort_by_key(|(_, thread)| format!("{thread:?}"));
        told.dedup();
        told
    }

    #[test]
    fn callbacks_that_shared_a_sync_are_called_by_the_runtime_that_they_came_from() {
        let (to, by) = channel();
        let (one, other) = (new_runtime(), new_runtime());
        let mut calls = two_of(&one, &to);
        calls.extend(two_of(&other, &to));
        call(&mut calls, Some(&Arc::new(Error::new("no room"))));
        let told = told(&by, 4);
        assert_eq!(told.len(), 2, "a thread of each");
        let here = current().id();
        assert!(told.iter().all(|(synced, by)| !synced && *by != here));
    }

    #[test]
    fn a_single_callback_and_those_of_no_runtime_are_called_at_once() {
        let (to, by) = channel();
        let runtime = Builder::new_current_thread().build().unwrap();
        let mut calls = two_of(&runtime, &to);
        calls.truncate(1);
        calls.extend([telling(&to), telling(&to)]);
        call(&mut calls, None);
        assert_eq!(told(&by, 3), [(true, current().id())]);
    }

    #[test]
    fn callbacks_of_a_runtime_that_ends_are_called_as_well() {
        let (to, by) = channel();
        // No thread drives it, so the task waits until it is dropped.
        let runtime = Builder::new_current_thread().build().unwrap();
        call(&mut two_of(&runtime, &to), None);
        assert!(by.try_recv().is_err());
        let mut late = two_of(&runtime, &to);
        drop(runtime);
        assert_eq!(told(&by, 2), [(true, current().id())]);
        call(&mut late, None);
        assert_eq!(told(&by, 2), [(true, current().id())]);
    }

    #[test]
    fn a_callback_that_panics_keeps_no_other_from_being_called() {
        let (to, by) = channel();
        let mut calls = vec![
            Call::new(|_| panic!("a callback's own fault")),
            telling(&to),
        ];
        call(&mut calls, None);
        assert_eq!(told(&by, 1), [(true, current().id())]);
    }
}
