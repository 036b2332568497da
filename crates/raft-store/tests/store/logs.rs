//! Entries and votes.

use crate::entries::{Types, entries, entry, log_id, open};
use futures::FutureExt;
use futures::future::join_all;
use openraft::storage::{RaftLogStorage, RaftLogStorageExt};
use openraft::{Entry, RaftLogReader, Vote};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use whitewater::fs::fault::{FaultFs, FaultOp, OpSet, Rule};
use whitewater::fs::mem::MemFs;
use whitewater_raft_store::{LogStore, Store};

const NONE: [u64; 0] = [];

async fn indexes(log: &mut LogStore<Types>) -> Vec<u64> {
    let entries: Vec<Entry<Types>> = log.try_get_log_entries(..).await.unwrap();
    entries.iter().map(|entry| entry.log_id.index).collect()
}

#[tokio::test]
async fn what_was_acknowledged_survives_a_power_cut() {
    let fs = MemFs::new();
    let store = open(&fs);
    for group in 0..5u64 {
        let mut log = store.log::<Types>(group);
        // Nobody leads on with it after a start: see `read_vote`.
        let vote = if group % 2 == 0 {
            Vote::new(group, 3)
        } else {
            Vote::new_committed(group, 3)
        };
        log.save_vote(&vote).await.unwrap();
        log.blocking_append(entries(0, 10 + group)).await.unwrap();
    }
    let cut = open(&fs.crash_clone(0.0, 1));
    for group in 0..5u64 {
        let mut log = cut.log::<Types>(group);
        assert_eq!(log.read_vote().await.unwrap(), Some(Vote::new(group, 3)));
        assert_eq!(indexes(&mut log).await.len() as u64, 10 + group);
    }
    assert_eq!(cut.log::<Types>(5).read_vote().await.unwrap(), None);
}

#[tokio::test]
async fn a_power_cut_leaves_a_prefix_of_truncations_and_purges() {
    let fs = MemFs::new();
    let store = open(&fs);
    let mut log = store.log::<Types>(8);
    log.blocking_append(entries(0, 20)).await.unwrap();
    log.save_committed(Some(log_id(1, 9))).await.unwrap();
    log.truncate(log_id(1, 15)).await.unwrap();
    log.purge(log_id(1, 4)).await.unwrap();
    log.purge(log_id(1, 6)).await.unwrap();
    // None of it was synced until this was.
    log.blocking_append([entry(2, 15, "a=1")]).await.unwrap();

    let cut = open(&fs.crash_clone(0.0, 1));
    let mut log = cut.log::<Types>(8);
    assert_eq!(indexes(&mut log).await, (7..=15).collect::<Vec<_>>());
    assert_eq!(log.read_committed().await.unwrap(), Some(log_id(1, 9)));
    let state = log.get_log_state().await.unwrap();
    assert_eq!(state.last_purged_log_id, Some(log_id(1, 6)));
    assert_eq!(state.last_log_id, Some(log_id(2, 15)));
}

#[tokio::test]
async fn groups_do_not_see_each_other() {
    let store = open(&MemFs::new());
    let (mut before, mut log, mut behind) = (store.log(1), store.log(2), store.log(3));
    before.blocking_append(entries(7, 2)).await.unwrap();
    behind.blocking_append(entries(8, 2)).await.unwrap();
    let state = log.get_log_state().await.unwrap();
    assert_eq!((state.last_log_id, state.last_purged_log_id), (None, None));
    log.blocking_append(entries(0, 5)).await.unwrap();
    log.truncate(log_id(1, 0)).await.unwrap();
    log.purge(log_id(1, u64::MAX)).await.unwrap();
    assert_eq!(indexes(&mut log).await, NONE);
    assert_eq!(indexes(&mut before).await, [7, 8]);
    assert_eq!(indexes(&mut behind).await, [8, 9]);

    store.remove_group(3).unwrap();
    assert_eq!(indexes(&mut behind).await, NONE);
    assert_eq!(indexes(&mut before).await, [7, 8]);
}

#[tokio::test]
async fn a_read_for_replication_is_limited_in_bytes() {
    let mut log = open(&MemFs::new()).log::<Types>(1);
    let large = "x".repeat(3 << 20);
    for index in 0..4 {
        log.blocking_append([entry(1, index, &large)])
            .await
            .unwrap();
    }
    let read = log.limited_get_log_entries(0, 4).await.unwrap();
    assert_eq!(read.len(), 2);
    let read = log.limited_get_log_entries(3, 4).await.unwrap();
    assert_eq!(read.len(), 1);
}

/// While one sync is under way, all other groups come; one more sync is enough for them.
#[tokio::test]
async fn groups_share_a_sync() {
    let fs = MemFs::new();
    let store = open(&fs);
    let (begun, has_begun) = channel();
    let (go_on, may_go_on) = channel::<()>();
    let waits = Mutex::new(Some(may_go_on));
    fs.set_sync_hook(Arc::new(move |at| {
        let log = at.path.extension().is_some_and(|ext| ext == "log");
        if log && !at.done {
            let waits = waits.lock().unwrap().take();
            if let Some(waits) = waits {
                begun.send(()).unwrap();
                waits.recv().unwrap();
            }
        }
    }));
    let before = store.sync_counts();
    let append = |group| {
        let mut log = store.log::<Types>(group);
        async move { log.blocking_append(entries(0, 3)).await.unwrap() }
    };
    let mut first = Box::pin(append(0));
    assert!((&mut first).now_or_never().is_none());
    has_begun.recv().unwrap();
    let mut others = Box::pin(join_all((1..100).map(append)));
    assert!((&mut others).now_or_never().is_none());
    go_on.send(()).unwrap();
    first.await;
    others.await;
    let after = store.sync_counts();
    assert_eq!(after.syncs - before.syncs, 2);
    assert_eq!(after.writes - before.writes, 100);
}

/// After a failed sync nothing is acknowledged: the log of the database may have a hole.
#[tokio::test]
async fn a_failed_sync_fails_all_later_ones() {
    let fs = MemFs::new();
    let faulty = FaultFs::new(Arc::new(fs.clone()));
    let store = Store::open_in(Arc::new(faulty.clone()), "/node", Default::default()).unwrap();
    let mut log = store.log::<Types>(1);
    log.blocking_append(entries(0, 3)).await.unwrap();
    faulty.add_rule(Rule::nth(OpSet::of(&[FaultOp::Sync]), 1));
    let error = log.blocking_append(entries(3, 1)).await.unwrap_err();
    assert!(error.to_string().contains("sync of the log"), "{error}");
    let error = store
        .log::<Types>(2)
        .save_vote(&Vote::new(1, 1))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("group 2"), "{error}");
    drop((log, store));
    let mut log = open(&fs.crash_clone(0.0, 1)).log::<Types>(1);
    assert_eq!(indexes(&mut log).await, [0, 1, 2]);
}
