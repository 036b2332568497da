//! From who notices an event to the thread that tells listeners.
//!
//! An event is noted wherever it happens, under whatever locks: that is a push
//! to a channel. The thread has no locks. It ends when told to, after all that
//! was noted before.
//!
//! The channel has no bound. Nobody who notes an event can wait: writers must
//! not, those who hold the database mutex cannot, and jobs that waited for a
//! listener would be waited for by listeners, who may use the database in any
//! way. So events that wait are counted, and a backlog is warned of.

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

/// Events that wait from which on a warning is worth it, once for each time that
/// they are twice as many.
pub(crate) const BACKLOG: usize = 1024;

/// What the thread has to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// A listener has panicked.
    Panicked,
    /// So many events wait behind one that was just told.
    Backlog(usize),
}

/// The way to the thread; there is none without listeners.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    sender: Option<Sender<Option<Happened>>>,
    /// Events noted and not told yet, the one being told included.
    /// Written by: who notes one, before it is sent, and the thread when it was
    /// told. Read by: a property, and the thread. Publishes nothing: relaxed.
    waiting: Arc<AtomicUsize>,
    /// There are listeners; `tracing` may listen in any case.
    has_listeners: bool,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl EventQueue {
    /// Starts the thread for `listeners` of the database in `dir`, if there are any
    /// or `tracing` is built in. `warn` is called on it when something is wrong.
    ///
    /// # Errors
    /// `Aborted` when it cannot be started.
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

    /// Whether anybody listens.
    pub fn is_heard(&self) -> bool {
        self.sender.is_some() && (self.has_listeners || crate::trace::is_on())
    }

    /// Notes what `event` describes, if anybody listens.
    pub fn note(&self, event: impl FnOnce() -> Happened) {
        if let Some(sender) = &self.sender
            && (self.has_listeners || crate::trace::is_on())
        {
            self.waiting.fetch_add(1, Relaxed);
            if sender.send(Some(event())).is_err() {
                // After the end nobody listens any more.
                self.waiting.fetch_sub(1, Relaxed);
            }
        }
    }

    /// Events that are not told yet.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Relaxed)
    }

    /// Has all events told that were noted, and ends the thread. By a listener,
    /// that is, on the thread itself, nothing is waited for.
    pub fn end(&self) {
        let Some(sender) = &self.sender else { return };
        let thread = self.thread.lock().take();
        // It may have ended already.
        let _ = sender.send(None);
        if let Some(thread) = thread
            && thread.thread().id() != std::thread::current().id()
        {
            // Panics of listeners are caught.
            let _ = thread.join();
        }
    }
}

/// What the thread works with.
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
