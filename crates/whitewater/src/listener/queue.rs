//! From who notices an event to the thread that tells listeners.
//!
//! An event is noted wherever it happens, under whatever locks: that is a push
//! to a channel. The thread has no locks. It ends when told to, after all that
//! was noted before.

use super::EventListener;
use super::info::*;
use parking_lot::Mutex;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use whitewater_storage::{Error, ErrorKind, Result};

/// The listeners of a database.
#[derive(Clone, Default)]
pub(crate) struct Listeners(pub Vec<Arc<dyn EventListener>>);

impl fmt::Debug for Listeners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} listeners", self.0.len())
    }
}

/// Something that happened.
#[derive(Debug)]
pub(crate) enum Happened {
    FlushBegin(FlushJobInfo),
    FlushCompleted(FlushJobInfo),
    CompactionBegin(CompactionJobInfo),
    CompactionCompleted(CompactionJobInfo),
    SubcompactionBegin(SubcompactionJobInfo),
    SubcompactionCompleted(SubcompactionJobInfo),
    TableFileCreated(TableFileCreationInfo),
    TableFileDeleted(TableFileDeletionInfo),
    MemtableSealed(MemTableInfo),
    HandleDeletionStarted(ColumnFamilyInfo),
    Ingested(ExternalFileIngestionInfo),
    StallChanged(WriteStallInfo),
    BackgroundError(BackgroundErrorInfo),
    RecoveryBegin(BackgroundErrorRecoveryInfo),
    RecoveryEnd(BackgroundErrorRecoveryInfo),
}

impl Happened {
    fn tell(&self, listener: &dyn EventListener) {
        match self {
            Happened::FlushBegin(info) => listener.on_flush_begin(info),
            Happened::FlushCompleted(info) => listener.on_flush_completed(info),
            Happened::CompactionBegin(info) => listener.on_compaction_begin(info),
            Happened::CompactionCompleted(info) => listener.on_compaction_completed(info),
            Happened::SubcompactionBegin(info) => listener.on_subcompaction_begin(info),
            Happened::SubcompactionCompleted(info) => listener.on_subcompaction_completed(info),
            Happened::TableFileCreated(info) => listener.on_table_file_created(info),
            Happened::TableFileDeleted(info) => listener.on_table_file_deleted(info),
            Happened::MemtableSealed(info) => listener.on_memtable_sealed(info),
            Happened::HandleDeletionStarted(info) => {
                listener.on_column_family_handle_deletion_started(info);
            }
            Happened::Ingested(info) => listener.on_external_file_ingested(info),
            Happened::StallChanged(info) => listener.on_stall_conditions_changed(info),
            Happened::BackgroundError(info) => listener.on_background_error(info),
            Happened::RecoveryBegin(info) => listener.on_error_recovery_begin(info),
            Happened::RecoveryEnd(info) => listener.on_error_recovery_end(info),
        }
    }
}

/// The way to the thread; there is none without listeners.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    sender: Option<Sender<Option<Happened>>>,
    /// There are listeners; `tracing` may listen in any case.
    has_listeners: bool,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl EventQueue {
    /// Starts the thread for `listeners` of the database in `dir`, if there are any
    /// or `tracing` is built in. `panicked` is called on it after a listener has
    /// panicked.
    ///
    /// # Errors
    /// `Aborted` when it cannot be started.
    pub fn start(
        dir: &Path,
        listeners: &Listeners,
        panicked: impl Fn() + Send + 'static,
    ) -> Result<Self> {
        let has_listeners = !listeners.0.is_empty();
        if !has_listeners && cfg!(not(feature = "tracing")) {
            return Ok(EventQueue::default());
        }
        let (sender, receiver) = channel();
        let (dir, listeners) = (dir.to_path_buf(), listeners.clone());
        let builder = std::thread::Builder::new().name("ww-events".to_owned());
        let thread = builder
            .spawn(move || tell_all(&receiver, &dir, &listeners, &panicked))
            .map_err(|e| {
                let what = format_args!("starting the thread for event listeners: {e}");
                Error::new(ErrorKind::Aborted, what)
            })?;
        Ok(EventQueue {
            sender: Some(sender),
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
            // After the end nobody listens any more.
            let _ = sender.send(Some(event()));
        }
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

fn tell_all(
    receiver: &Receiver<Option<Happened>>,
    dir: &Path,
    listeners: &Listeners,
    panicked: &dyn Fn(),
) {
    // Unused without `tracing`.
    let _ = dir;
    while let Ok(Some(event)) = receiver.recv() {
        #[cfg(feature = "tracing")]
        if catch_unwind(AssertUnwindSafe(|| crate::trace::happened(dir, &event))).is_err() {
            panicked();
        }
        for listener in &listeners.0 {
            if catch_unwind(AssertUnwindSafe(|| event.tell(&**listener))).is_err() {
                panicked();
            }
        }
    }
}
