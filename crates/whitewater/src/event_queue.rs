//! The queue from the threads that notice events to the thread that calls listeners.
//!
//! An event can be queued anywhere and under any locks, because that is only a push under a
//! leaf lock. The listeners' thread holds no locks. It ends when told to, after it has delivered
//! all events that were queued before.
//!
//! The queue has no bound, because no thread that queues an event may wait. Writers must not
//! wait, and threads that hold the database mutex cannot. Jobs that waited for a listener would
//! in turn be waited for by listeners, who may use the database in any way. So waiting events
//! are counted, and a growing backlog leads to a warning.

use crate::listener::EventListener;
use crate::listener::event::Happened;
use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use whitewater_concurrent::system::{self, Condvar, JoinHandle, Mutex};
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

/// See the [module](self). There is no thread while there are no listeners.
pub(crate) struct EventQueue {
    /// The database's directory.
    dir: PathBuf,
    /// The listeners, in the order in which they were added. Locked for a moment by the
    /// listeners' thread, with each event, and by a thread that adds one; a leaf.
    listeners: Arc<Mutex<Listeners>>,
    /// Called when there is a problem.
    warn: Arc<dyn Fn(Trouble) + Send + Sync>,
    /// Set when the thread has started.
    pending: OnceLock<Arc<Pending>>,
    /// The number of events that were queued and not delivered yet, including the one that is being
    /// delivered.
    /// Written by: threads that queue an event, before they push it, and the listeners' thread,
    /// after delivery. Read by: a property, and the listeners' thread. Publishes nothing: relaxed.
    waiting: Arc<AtomicUsize>,
    /// Whether there are listeners. `tracing` may receive events in any case.
    /// Written by: a thread that adds a listener. Read by: threads that queue an event (relaxed: an
    /// event that happens while a listener is added may be one that the listener misses). Publishes
    /// nothing.
    has_listeners: AtomicBool,
    thread: Mutex<Delivery>,
}

/// The state of the delivery of events.
#[derive(Debug)]
enum Delivery {
    /// There are no receivers so far.
    NotStarted,
    /// A thread delivers.
    Running(JoinHandle<()>),
    /// All events were delivered, and no more will be.
    Ended,
}

impl fmt::Debug for EventQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventQueue")
            .field("listeners", &self.listeners)
            .finish_non_exhaustive()
    }
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
        warn: impl Fn(Trouble) + Send + Sync + 'static,
    ) -> Result<Self> {
        let has_listeners = !listeners.0.is_empty();
        let queue = EventQueue {
            dir: dir.to_path_buf(),
            listeners: Arc::new(Mutex::new(listeners.clone())),
            warn: Arc::new(warn),
            pending: OnceLock::new(),
            waiting: Arc::default(),
            has_listeners: AtomicBool::new(has_listeners),
            thread: Mutex::new(Delivery::NotStarted),
        };
        if has_listeners || cfg!(feature = "tracing") {
            queue.spawn(&mut queue.thread.lock())?;
        }
        Ok(queue)
    }

    /// Has `listener` told of what happens from now on.
    ///
    /// # Errors
    /// `Aborted` if the thread cannot be started; `ShutdownInProgress` once the queue has ended.
    pub fn add(&self, listener: Arc<dyn EventListener>) -> Result<()> {
        let mut thread = self.thread.lock();
        match &*thread {
            Delivery::NotStarted => self.spawn(&mut thread)?,
            Delivery::Running(_) => {}
            Delivery::Ended => {
                let what = "the database is closing";
                return Err(Error::new(ErrorKind::ShutdownInProgress, what));
            }
        }
        self.listeners.lock().0.push(listener);
        self.has_listeners.store(true, Relaxed);
        Ok(())
    }

    fn spawn(&self, thread: &mut Delivery) -> Result<()> {
        let pending = Arc::new(Pending::default());
        let teller = Teller {
            dir: self.dir.clone(),
            listeners: self.listeners.clone(),
            waiting: self.waiting.clone(),
            warn: self.warn.clone(),
            pending: pending.clone(),
        };
        let body = move || teller.tell_all();
        let started = system::spawn("ww-events".to_owned(), body).map_err(|e| {
            let what = format!("starting the thread for event listeners: {e}");
            Error::new(ErrorKind::Aborted, what)
        })?;
        // It was not set before: there was no thread.
        let _ = self.pending.set(pending);
        *thread = Delivery::Running(started);
        Ok(())
    }

    /// Whether there are receivers of events.
    pub fn is_heard(&self) -> bool {
        self.pending.get().is_some() && self.has_receivers()
    }

    fn has_receivers(&self) -> bool {
        self.has_listeners.load(Relaxed) || crate::trace::is_on()
    }

    /// Queues the event that `event` returns, if there are receivers.
    pub fn note(&self, event: impl FnOnce() -> Happened) {
        if let Some(pending) = self.pending.get()
            && self.has_receivers()
        {
            self.waiting.fetch_add(1, Relaxed);
            if !pending.push(event()) {
                // The thread has ended, or is about to: the event will not be delivered.
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
        let thread = std::mem::replace(&mut *self.thread.lock(), Delivery::Ended);
        if let Some(pending) = self.pending.get() {
            pending.end();
        }
        if let Delivery::Running(thread) = thread
            && thread.thread().id() != std::thread::current().id()
        {
            // Panics of listeners are caught on the thread, so it does not panic.
            let _ = thread.join();
        }
    }
}

/// The events that the listeners' thread has not taken yet.
#[derive(Default)]
struct Pending {
    /// A leaf lock, held for a push or a pop.
    events: Mutex<Events>,
    /// Notified when there is an event again, and when there will be no more.
    changed: Condvar,
}

#[derive(Default)]
struct Events {
    waiting: VecDeque<Happened>,
    has_ended: bool,
}

impl Pending {
    /// Adds an event. Returns whether it will be delivered.
    fn push(&self, event: Happened) -> bool {
        let mut events = self.events.lock();
        if events.has_ended {
            return false;
        }
        events.waiting.push_back(event);
        let was_empty = events.waiting.len() == 1;
        drop(events);
        if was_empty {
            self.changed.notify_one();
        }
        true
    }

    /// Takes no more events.
    fn end(&self) {
        self.events.lock().has_ended = true;
        self.changed.notify_one();
    }

    /// Waits for the next event; `None` when there will be no more.
    fn next(&self) -> Option<Happened> {
        let mut events = self.events.lock();
        loop {
            let next = events.waiting.pop_front();
            if next.is_some() || events.has_ended {
                return next;
            }
            self.changed.wait(&mut events);
        }
    }
}

/// The state of the listeners' thread.
struct Teller {
    /// The database's directory, for `tracing`.
    #[cfg_attr(not(feature = "tracing"), expect(dead_code, reason = "only it asks"))]
    dir: PathBuf,
    listeners: Arc<Mutex<Listeners>>,
    waiting: Arc<AtomicUsize>,
    warn: Arc<dyn Fn(Trouble) + Send + Sync>,
    pending: Arc<Pending>,
}

impl Teller {
    fn tell_all(&self) {
        let mut worth_a_word = BACKLOG;
        while let Some(event) = self.pending.next() {
            #[cfg(feature = "tracing")]
            self.guarded(|| crate::trace::happened(&self.dir, &event));
            // Not locked while they are called: a listener may add another one.
            let listeners = self.listeners.lock().clone();
            for listener in &listeners.0 {
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
