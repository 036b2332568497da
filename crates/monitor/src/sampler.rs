//! The thread that takes samples.

use crate::watched::Watched;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Takes a sample of each database at intervals, until dropped.
#[derive(Debug)]
pub(crate) struct Sampler {
    /// Dropped to end the thread.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Sampler {
    /// Starts the thread.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(databases: Arc<Vec<Watched>>, interval: Duration) -> io::Result<Self> {
        let (end, ended) = mpsc::channel::<()>();
        let sample = move || {
            while ended.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                databases.iter().for_each(Watched::sample);
            }
        };
        let name = "ww-monitor-sampler".to_owned();
        let thread = thread::Builder::new().name(name).spawn(sample)?;
        Ok(Sampler {
            end: Some(end),
            thread: Some(thread),
        })
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.end = None;
        if let Some(thread) = self.thread.take() {
            // A panic was reported when it happened.
            let _ = thread.join();
        }
    }
}
