//! Files that running jobs are about to create.

use whitewater_concurrent::system::Mutex;

/// For each running job, a number that is not above the numbers of the job's files.
#[derive(Debug, Default)]
pub(crate) struct PendingOutputs(Mutex<Vec<u64>>);

/// The files of one job, pending until this is dropped.
#[derive(Debug)]
#[must_use = "the files are no longer pending when it is dropped"]
pub(crate) struct Pending<'a> {
    all: &'a PendingOutputs,
    first: u64,
}

impl PendingOutputs {
    /// Registers a job whose files get `first`, or higher numbers.
    pub fn expect(&self, first: u64) -> Pending<'_> {
        self.0.lock().push(first);
        Pending { all: self, first }
    }

    /// The smallest number that a file of a running job may have; `None` if no job is
    /// running.
    pub fn min(&self) -> Option<u64> {
        self.0.lock().iter().min().copied()
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        let mut all = self.all.0.lock();
        if let Some(at) = all.iter().position(|first| *first == self.first) {
            all.swap_remove(at);
        }
    }
}
