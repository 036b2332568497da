//! The queue from the threads that notice events to the thread that calls listeners.
//!
//! An event can be queued anywhere and under any locks, because that is only a push to a
//! channel. The listeners' thread holds no locks. It ends when told to, after it has delivered
//! all events that were queued before.
//!
//! The channel has no bound, because no thread that queues an event may wait. Writers must not
//! wait, and threads that hold the database mutex cannot. Jobs that waited for a listener would
//! in turn be waited for by listeners, who may use the database in any way. So waiting events
//! are counted, and a growing backlog leads to a warning.

use crate::listener::EventListener;
use crate::listener::event::Happened;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use whitewater_concurrent::system::{self, JoinHandle, Mutex};
use whitewater_storage::{Error, ErrorKind, Result};

/// The listeners of a database.
#[derive(Clone, Default)]
pub(crate) struct Listeners(pub Vec<Arc<dyn EventListener>>);

impl fmt::Debug for Listeners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} listeners", self.0.len())
    }
}

/// The number of waiting events from which on there is a warning. There is another one each
/// time that the number has doubled.
pub(crate) const BACKLOG: usize = 1024;

/// A problem that the thread reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// A listener has panicked.
    Panicked,
    /// This many events wait behind the one that was just delivered.
    Backlog(usize),
}

/// The sending end of the queue. There is no thread if there are no listeners.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    sender: Option<Sender<Option<Happened>>>,
    /// The number of events that were queued and not delivered yet, including the one that is being
    /// delivered.
    /// Written by: threads that queue an event, before they send it, and the listeners' thread,
    /// after delivery. Read by: a property, and the listeners' thread. Publishes nothing: relaxed.
    waiting: Arc<AtomicUsize>,
    /// Whether there are listeners. `tracing` may receive events in any case.
    has_listeners: bool,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl EventQueue {
    /// Starts the thread for `listeners` of the database in `dir`, if there are any or `tracing` is
    /// built in. The thread calls `warn` when there is a problem.
    ///
    /// # Errors
    /// `Aborted` if the thread cannot be started.
    pub fn start(
        dir: &Path,
        listeners: &Listeners,
        warn: impl Fn(Trouble) + Send + 'static,
    ) -> Result<Self> {
        let has_listeners = !listeners.0.is_empty();
        if !has_listeners && cfg!(not(feature = "tracing")) {
            return Ok(EventQueue::default());
        }
        let (sender, receiver) = channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let teller = Teller {
            dir: dir.to_path_buf(),
            listeners: listeners.clone(),
            waiting: waiting.clone(),
            warn,
        };
        let body = move || teller.tell_all(&receiver);
        let thread = system::spawn("ww-events".to_owned(), body).map_err(|e| {
            let what = format!("starting the thread for event listeners: {e}");
            Error::new(ErrorKind::Aborted, what)
        })?;
        Ok(EventQueue {
            sender: Some(sender),
            waiting,
            has_listeners,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Whether there are receivers of events.
    pub fn is_heard(&self) -> bool {
        self.sender.is_some() && (self.has_listeners || crate::trace::is_on())
    }

    /// Queues the event that `event` returns, if there are receivers.
    pub fn note(&self, event: impl FnOnce() -> Happened) {
        if let Some(sender) = &self.sender
            && (self.has_listeners || crate::trace::is_on())
        {
            self.waiting.fetch_add(1, Relaxed);
            if sender.send(Some(event())).is_err() {
                // The thread has ended, so the event will not be delivered.
                self.waiting.fetch_sub(1, Relaxed);
            }
        }
    }

    /// The number of events that are not delivered yet.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Relaxed)
    }

    /// Has all queued events delivered, and ends the thread. A call by a listener is on that
    /// thread, and does not wait.
    pub fn end(&self) {
        let Some(sender) = &self.sender else { return };
        let thread = self.thread.lock().take();
        // The thread may have ended already.
        let _ = sender.send(None);
        if let Some(thread) = thread
            && thread.thread().id() != std::thread::current().id()
        {
            // Panics of listeners are caught on the thread, so it does not panic.
            let _ = thread.join();
        }
    }
}

/// The state of the listeners' thread.
struct Teller<W> {
    /// The database's directory, for `tracing`.
    #[cfg_attr(not(feature = "tracing"), expect(dead_code, reason = "only it asks"))]
    dir: PathBuf,
    listeners: Listeners,
    waiting: Arc<AtomicUsize>,
    warn: W,
}

impl<W: Fn(Trouble)> Teller<W> {
    fn tell_all(&self, receiver: &Receiver<Option<Happened>>) {
        let mut worth_a_word = BACKLOG;
        while let Ok(Some(event)) = receiver.recv() {
            #[cfg(feature = "tracing")]
            self.guarded(|| crate::trace::happened(&self.dir, &event));
            for listener in &self.listeners.0 {
                self.guarded(|| event.tell(&**listener));
            }
            let waiting = self.waiting.fetch_sub(1, Relaxed) - 1;
            if waiting >= worth_a_word {
                (self.warn)(Trouble::Backlog(waiting));
                worth_a_word = waiting.saturating_mul(2);
            } else if waiting == 0 {
                worth_a_word = BACKLOG;
            }
        }
    }

    /// Calls user code, which may panic.
    fn guarded(&self, tell: impl FnOnce()) {
        if catch_unwind(AssertUnwindSafe(tell)).is_err() {
            (self.warn)(Trouble::Panicked);
        }
    }
}
