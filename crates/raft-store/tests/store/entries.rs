//! Entries and requests for tests.

use openraft::{CommittedLeaderId, Entry, EntryPayload, LogId};
use std::path::Path;
use std::sync::Arc;
use whitewater::Options;
use whitewater::fs::Fs;
use whitewater_raft_store::{Application, Cause, SnapshotFiles, Store, View};

openraft::declare_raft_types!(
    /// A request `key=value` sets a key, and is answered with the value before.
    pub Types: SnapshotData = SnapshotFiles
);

pub struct Pairs;

impl Application<Types> for Pairs {
    fn apply(&self, request: String, view: &mut View<'_>) -> Result<String, Cause> {
        let (key, value) = request.split_once('=').ok_or("no pair")?;
        let before = view.get(key.as_bytes())?.unwrap_or_default();
        view.put(key, value);
        Ok(String::from_utf8(before)?)
    }

    fn no_request(&self) -> String {
        String::new()
    }
}

pub fn open(fs: &(impl Fs + Clone)) -> Store {
    let fs: Arc<dyn Fs> = Arc::new(fs.clone());
    Store::open_in(fs, Path::new("/node"), Options::default()).unwrap()
}

pub fn log_id(term: u64, index: u64) -> LogId<u64> {
    LogId::new(CommittedLeaderId::new(term, 1), index)
}

/// An entry with a request.
pub fn entry(term: u64, index: u64, request: &str) -> Entry<Types> {
    Entry {
        log_id: log_id(term, index),
        payload: EntryPayload::Normal(request.to_owned()),
    }
}

/// Entries from `from` on with a request each.
pub fn entries(from: u64, count: u64) -> Vec<Entry<Types>> {
    let entry = |index| entry(1, index, &format!("key{}={index}", index % 10));
    (from..from + count).map(entry).collect()
}
