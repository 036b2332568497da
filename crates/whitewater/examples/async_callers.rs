//! Asynchronous callers: tasks that await writes and reads.
//!
//! ```sh
//! cargo run -p whitewater --example async_callers
//! ```
//!
//! Calls of the database block: a put for microseconds, a synced write or a read from
//! disk for as long as the disk takes, a write during a stall for longer. An executor's
//! threads must not wait for that. So tasks hand calls to a few threads of their own,
//! and are woken by the results. With tokio this is `tokio::task::spawn_blocking`:
//!
//! ```text
//! let db = Arc::clone(&db);
//! let value = tokio::task::spawn_blocking(move || db.get("key")).await??;
//! ```
//!
//! This example does the same with the standard library alone, because Whitewater
//! depends on no executor. Synced writes that wait at the same time share syncs, so
//! more threads than processors are of use.

use std::error::Error;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, JoinHandle, Thread};
use whitewater::{DB, WriteOptions};

type Job = Box<dyn FnOnce() + Send>;

/// Threads that may block.
struct Blocking {
    jobs: Option<Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
}

impl Blocking {
    fn new(threads: usize) -> Self {
        let (jobs, queue) = mpsc::channel::<Job>();
        let queue = Arc::new(Mutex::new(queue));
        let work = move || {
            let queue = Arc::clone(&queue);
            thread::spawn(move || {
                loop {
                    let job = lock(&queue).recv();
                    let Ok(job) = job else { break };
                    job();
                }
            })
        };
        Blocking {
            jobs: Some(jobs),
            threads: (0..threads).map(|_| work()).collect(),
        }
    }

    /// Runs `call` on one of the threads. The future is ready with its result.
    fn run<T: Send + 'static>(&self, call: impl FnOnce() -> T + Send + 'static) -> Outcome<T> {
        let outcome = Outcome(Arc::new(Mutex::new((None, None))));
        let shared = Arc::clone(&outcome.0);
        let job = Box::new(move || {
            let result = call();
            let waker = {
                let mut state = lock(&shared);
                state.0 = Some(result);
                state.1.take()
            };
            waker.into_iter().for_each(Waker::wake);
        });
        let jobs = self.jobs.as_ref().expect("open until it is dropped");
        jobs.send(job).expect("threads wait for jobs");
        outcome
    }
}

impl Drop for Blocking {
    fn drop(&mut self) {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            thread.join().expect("jobs do not panic");
        }
    }
}

/// The result of a call, once there is one, and the waker of the task that awaits it.
struct Outcome<T>(Arc<Mutex<(Option<T>, Option<Waker>)>>);

impl<T> Future for Outcome<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let mut state = lock(&self.0);
        match state.0.take() {
            Some(result) => Poll::Ready(result),
            None => {
                state.1 = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Wakes the thread that polls.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// The smallest executor: polls one future on this thread until it is ready.
fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

async fn fill(db: Arc<DB>, blocking: &Blocking) -> Result<usize, Box<dyn Error>> {
    // All writes are under way before the first is awaited.
    let writes: Vec<_> = (0..64)
        .map(|key| {
            let db = Arc::clone(&db);
            blocking.run(move || {
                let mut synced = WriteOptions::default();
                synced.set_sync(true);
                db.put_opt(format!("key {key:02}"), key.to_string(), &synced)
            })
        })
        .collect();
    let mut done = 0;
    for write in writes {
        write.await?;
        done += 1;
    }
    let read = blocking.run(move || db.get("key 42")).await?;
    assert_eq!(read.as_deref(), Some(&b"42"[..]));
    Ok(done)
}

fn main() -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    // A `DB` is shared as it is: all its methods but `create_cf` and `drop_cf` take `&self`.
    let db = Arc::new(DB::open_default(dir.path())?);
    let blocking = Blocking::new(8);
    let done = block_on(fill(Arc::clone(&db), &blocking))?;
    println!("{done} durable writes");
    assert_eq!(done, 64);
    Ok(())
}
