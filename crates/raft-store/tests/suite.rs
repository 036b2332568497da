//! openraft's own suite for storages.

use openraft::StorageError;
use openraft::testing::{StoreBuilder, Suite};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use whitewater::Options;
use whitewater::fs::Fs;
use whitewater::fs::mem::MemFs;
use whitewater_raft_store::{
    Application, Cause, LogStore, SnapshotFiles, StateMachine, Store, View,
};

openraft::declare_raft_types!(
    /// Requests are texts that are answered with themselves.
    pub Types: SnapshotData = SnapshotFiles
);

struct Echo;

impl Application<Types> for Echo {
    fn apply(&self, request: String, view: &mut View<'_>) -> Result<String, Cause> {
        view.put("last", request.as_str());
        Ok(request)
    }

    fn no_request(&self) -> String {
        String::new()
    }
}

type Stores = (LogStore<Types>, StateMachine<Types, Echo>);

/// Groups of one database, or of one each.
struct Builder {
    shared: Option<Store>,
    /// The number of the next group. Only `build` uses it, to number groups.
    next: AtomicU64,
}

impl StoreBuilder<Types, LogStore<Types>, StateMachine<Types, Echo>, Option<tempfile::TempDir>>
    for Builder
{
    async fn build(
        &self,
    ) -> Result<
        (
            Option<tempfile::TempDir>,
            LogStore<Types>,
            StateMachine<Types, Echo>,
        ),
        StorageError<u64>,
    > {
        let group = self.next.fetch_add(1, Ordering::Relaxed);
        let (dir, store) = match &self.shared {
            Some(store) => (None, store.clone()),
            None => {
                let dir = tempfile::tempdir().unwrap();
                let store = Store::open(dir.path()).unwrap();
                (Some(dir), store)
            }
        };
        let (log, state): Stores = (store.log(group), store.state_machine(group, Echo).unwrap());
        Ok((dir, log, state))
    }
}

#[test]
fn openrafts_suite_passes_with_a_database_each() {
    let next = AtomicU64::new(7);
    let builder = Builder { shared: None, next };
    Suite::test_all(builder).unwrap();
}

/// The groups around it do not change what a group sees.
#[test]
fn openrafts_suite_passes_with_groups_of_one_database() {
    let fs: Arc<dyn Fs> = Arc::new(MemFs::new());
    let store = Store::open_in(fs, "/node", Options::default()).unwrap();
    let next = AtomicU64::new(0);
    let shared = Some(store.clone());
    Suite::test_all(Builder { shared, next }).unwrap();
    assert!(store.sync_counts().syncs > 0);
}
