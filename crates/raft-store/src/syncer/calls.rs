//! What is called once a write is durable.
//!
//! Most callbacks wake a task. From a thread outside of the runtime, each such call costs a lock
//! that all workers share, and often a system call. So the callbacks of a runtime are called by a
//! task of it, all that shared a sync together.

use crate::error::Error;
use std::mem::take;
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

/// Callbacks of one runtime, which are called when this is dropped: by a task of the runtime, or
/// where that task is dropped if the runtime has ended.
struct Calls {
    done: Vec<Done>,
    failed: Option<Arc<Error>>,
}

impl Drop for Calls {
    fn drop(&mut self) {
        for done in take(&mut self.done) {
            done(self.failed.as_deref().map_or(Ok(()), Err));
        }
    }
}

/// Tells all of `calls` that they are durable, or that it `failed`.
pub(super) fn call(calls: &mut Vec<Call>, failed: Option<&Arc<Error>>) {
    let mut of_runtimes: Vec<(Handle, Calls)> = Vec::new();
    for Call { done, runtime } in calls.drain(..) {
        let Some(runtime) = runtime else {
            done(failed.map_or(Ok(()), |e| Err(&**e)));
            continue;
        };
        let id = runtime.id();
        match of_runtimes.iter_mut().find(|(known, _)| known.id() == id) {
            Some((_, calls)) => calls.done.push(done),
            None => {
                let (done, failed) = (vec![done], failed.cloned());
                of_runtimes.push((runtime, Calls { done, failed }));
            }
        }
    }
    for (runtime, calls) in of_runtimes {
        runtime.spawn(async move { drop(calls) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Sender, channel};
    use std::thread::{ThreadId, current};
    use tokio::runtime::Builder;

    /// A callback that tells whether its write is durable, and on which thread.
    fn telling(to: &Sender<(bool, ThreadId)>) -> Call {
        let to = to.clone();
        Call::new(move |synced| to.send((synced.is_ok(), current().id())).unwrap())
    }

    #[test]
    fn callbacks_are_called_by_the_runtime_that_they_came_from() {
        let (to, told) = channel();
        let new = || {
            Builder::new_multi_thread()
                .worker_threads(1)
                .build()
                .unwrap()
        };
        let (one, other) = (new(), new());
        let mut calls = vec![telling(&to)];
        for runtime in [&one, &other, &one] {
            let _entered = runtime.enter();
            calls.push(telling(&to));
        }
        call(&mut calls, Some(&Arc::new(Error::new("no room"))));
        let here = current().id();
        let mut threads: Vec<_> = (0..4)
            .map(|_| told.recv().unwrap())
            .map(|(synced, thread)| {
                assert!(!synced);
                thread
            })
            .collect();
        assert_eq!(threads[0], here, "it came from no runtime");
        threads.sort_by_key(|thread| format!("{thread:?}"));
        threads.dedup();
        assert_eq!(threads.len(), 3);
    }

    #[test]
    fn callbacks_of_a_runtime_that_has_ended_are_called_as_well() {
        let (to, told) = channel();
        let runtime = Builder::new_current_thread().build().unwrap();
        let mut calls = {
            let _entered = runtime.enter();
            vec![telling(&to)]
        };
        drop(runtime);
        call(&mut calls, None);
        assert_eq!(told.try_recv(), Ok((true, current().id())));
    }
}
