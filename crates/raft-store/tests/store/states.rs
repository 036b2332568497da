//! States and their snapshots.

use crate::entries::{Pairs, Types, entries, entry, log_id, open};
use futures::FutureExt;
use openraft::storage::{RaftLogStorage, RaftLogStorageExt, RaftStateMachine};
use openraft::{RaftSnapshotBuilder, Snapshot};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
use whitewater::fs::Fs;
use whitewater::fs::mem::MemFs;
use whitewater_raft_store::{SnapshotFiles, State, StateMachine, Store};

type Machine = StateMachine<Types, Pairs>;

fn machine(store: &Store, group: u64) -> (Machine, State) {
    let machine = store.state_machine(group, Pairs).unwrap();
    let state = machine.state();
    (machine, state)
}

async fn build(machine: &mut Machine) -> Snapshot<Types> {
    let mut builder = machine.get_snapshot_builder().await;
    builder.build_snapshot().await.unwrap()
}

async fn bytes_of(snapshot: &mut SnapshotFiles) -> Vec<u8> {
    snapshot.rewind().await.unwrap();
    let mut bytes = Vec::new();
    snapshot.read_to_end(&mut bytes).await.unwrap();
    bytes
}

/// A stream with `bytes`, for `machine` to install.
async fn received(machine: &mut Machine, bytes: &[u8]) -> Box<SnapshotFiles> {
    let mut incoming = machine.begin_receiving_snapshot().await.unwrap();
    for piece in bytes.chunks(333) {
        incoming.write_all(piece).await.unwrap();
    }
    incoming.shutdown().await.unwrap();
    incoming
}

fn pairs(state: &State) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let each = |key: &[u8], value: &[u8]| {
        pairs.push((text(key), text(value)));
        true
    };
    state.scan(b"", b"\xff", each).unwrap();
    pairs
}

fn directories(fs: &MemFs, group: u64) -> Vec<String> {
    let path = PathBuf::from(format!("/node/snapshots/{group}"));
    if fs.exists(&path).unwrap() {
        fs.list(&path).unwrap()
    } else {
        Vec::new()
    }
}

#[tokio::test]
async fn requests_see_those_before_them_and_are_applied_once() {
    let fs = MemFs::new();
    let store = open(&fs);
    let (mut machine, state) = self::machine(&store, 1);
    let both = [entry(1, 0, "a=1"), entry(1, 1, "a=2")];
    assert_eq!(machine.apply(both).await.unwrap(), ["", "1"]);
    assert_eq!(machine.apply([entry(1, 2, "a=3")]).await.unwrap(), ["2"]);
    assert_eq!(state.get(b"a").unwrap(), Some(b"3".to_vec()));
    let error = machine.apply([entry(1, 3, "nonsense")]).await.unwrap_err();
    assert!(error.to_string().contains("entry 3: no pair"), "{error}");

    drop((machine, state, store));
    let (mut machine, _) = self::machine(&open(&fs.after_kill()), 1);
    assert_eq!(machine.applied_state().await.unwrap().0, Some(log_id(1, 2)));
}

#[tokio::test]
async fn a_snapshot_moves_one_group_and_nothing_else() {
    let (here, there) = (MemFs::new(), MemFs::new());
    let (from, to) = (open(&here), open(&there));
    let (mut sender, sent) = machine(&from, 1);
    let (mut other, _) = machine(&from, 2);
    sender.apply(entries(0, 50)).await.unwrap();
    other.apply([entry(1, 0, "other=1")]).await.unwrap();
    let mut snapshot = build(&mut sender).await;
    sender.apply([entry(1, 50, "later=1")]).await.unwrap();
    let bytes = bytes_of(&mut snapshot.snapshot).await;

    let (mut receiver, got) = machine(&to, 1);
    let (mut beside, untouched) = machine(&to, 2);
    receiver.apply([entry(1, 0, "stale=1")]).await.unwrap();
    beside.apply([entry(1, 0, "mine=1")]).await.unwrap();
    let incoming = received(&mut receiver, &bytes).await;
    receiver
        .install_snapshot(&snapshot.meta, incoming)
        .await
        .unwrap();
    let mut expected = pairs(&sent);
    expected.retain(|(key, _)| key != "later");
    assert_eq!(pairs(&got), expected);
    assert_eq!(expected.len(), 10);
    assert_eq!(
        receiver.applied_state().await.unwrap().0,
        Some(log_id(1, 49))
    );
    assert_eq!(pairs(&untouched), [("mine".to_owned(), "1".to_owned())]);

    // It goes on, and its own snapshot is what it got, also after a power cut.
    receiver.apply([entry(1, 50, "later=2")]).await.unwrap();
    let cut = open(&there.crash_clone(0.0, 3));
    let (mut receiver, got) = machine(&cut, 1);
    assert_eq!(pairs(&got), expected);
    let mut current = receiver.get_current_snapshot().await.unwrap().unwrap();
    assert_eq!(current.meta, snapshot.meta);
    assert_eq!(bytes_of(&mut current.snapshot).await, bytes);
}

#[tokio::test]
async fn a_snapshot_that_is_read_stays_until_it_was() {
    let fs = MemFs::new();
    let store = open(&fs);
    let (mut machine, state) = self::machine(&store, 1);
    machine.apply(entries(0, 20)).await.unwrap();
    let mut first = build(&mut machine).await;
    let bytes = bytes_of(&mut first.snapshot).await;
    machine.apply(entries(20, 20)).await.unwrap();
    drop(build(&mut machine).await);
    assert_eq!(bytes_of(&mut first.snapshot).await, bytes);
    assert_eq!(directories(&fs, 1).len(), 2);
    drop(first);
    assert_eq!(directories(&fs, 1).len(), 1);

    drop((machine, state, store));
    let store = open(&fs);
    let (mut machine, _) = self::machine(&store, 1);
    let current = machine.get_current_snapshot().await.unwrap().unwrap();
    assert_eq!(current.meta.last_log_id, Some(log_id(1, 39)));
    drop((current, machine));
    store.remove_group(1).unwrap();
    assert_eq!(directories(&fs, 1), [""; 0]);
    let (mut machine, state) = self::machine(&store, 1);
    assert_eq!(machine.applied_state().await.unwrap().0, None);
    assert!(pairs(&state).is_empty());
}

#[tokio::test]
async fn a_snapshot_that_is_short_or_not_what_it_says_is_refused() {
    let store = open(&MemFs::new());
    let (mut sender, _) = machine(&store, 1);
    let (mut receiver, state) = machine(&store, 2);
    sender.apply(entries(0, 20)).await.unwrap();
    receiver.apply([entry(1, 0, "mine=1")]).await.unwrap();
    let mut snapshot = build(&mut sender).await;
    let bytes = bytes_of(&mut snapshot.snapshot).await;

    let short = received(&mut receiver, &bytes[..bytes.len() - 1]).await;
    let error = receiver
        .install_snapshot(&snapshot.meta, short)
        .await
        .unwrap_err();
    assert!(error.to_string().contains("too early"), "{error}");

    let mut other = snapshot.meta.clone();
    other.last_log_id = Some(log_id(1, 20));
    let incoming = received(&mut receiver, &bytes).await;
    let error = receiver
        .install_snapshot(&other, incoming)
        .await
        .unwrap_err();
    assert!(error.to_string().contains("has the state of"), "{error}");
    assert_eq!(pairs(&state), [("mine".to_owned(), "1".to_owned())]);
    assert_eq!(
        receiver.applied_state().await.unwrap().0,
        Some(log_id(1, 0))
    );
}

/// openraft asks for this purge while the state machine still installs the snapshot. A crash between
/// them left neither entries nor state.
#[tokio::test]
async fn a_purge_up_to_a_received_snapshot_waits_for_its_installation() {
    let store = open(&MemFs::new());
    let (mut sender, _) = machine(&store, 1);
    let (mut receiver, _) = machine(&store, 2);
    sender.apply(entries(0, 50)).await.unwrap();
    let mut snapshot = build(&mut sender).await;
    let bytes = bytes_of(&mut snapshot.snapshot).await;
    let mut log = store.log::<Types>(2);
    log.blocking_append(entries(0, 10)).await.unwrap();
    receiver.apply(entries(0, 5)).await.unwrap();

    let incoming = received(&mut receiver, &bytes).await;
    log.purge(log_id(1, 4)).await.unwrap();
    let mut other = log.clone();
    let mut refused = Box::pin(other.purge(log_id(1, 49)));
    assert!((&mut refused).now_or_never().is_none());
    drop(incoming);
    let error = refused.await.unwrap_err();
    assert!(error.to_string().contains("was not installed"), "{error}");

    let incoming = received(&mut receiver, &bytes).await;
    let mut purge = Box::pin(log.purge(log_id(1, 49)));
    assert!((&mut purge).now_or_never().is_none());
    receiver
        .install_snapshot(&snapshot.meta, incoming)
        .await
        .unwrap();
    purge.await.unwrap();
    let state = log.get_log_state().await.unwrap();
    assert_eq!(state.last_purged_log_id, Some(log_id(1, 49)));
}

/// At each sync of an installation the power is cut. The state is the old one or the new one, and
/// the snapshot can be installed again.
#[tokio::test]
async fn a_power_cut_while_a_snapshot_is_installed_leaves_the_old_or_the_new_state() {
    let store = open(&MemFs::new());
    let (mut sender, sent) = machine(&store, 1);
    sender.apply(entries(0, 50)).await.unwrap();
    let mut snapshot = build(&mut sender).await;
    let bytes = bytes_of(&mut snapshot.snapshot).await;

    let fs = MemFs::new();
    let store = open(&fs);
    let (mut receiver, _) = machine(&store, 1);
    receiver.apply([entry(1, 0, "old=1")]).await.unwrap();
    build(&mut receiver).await;
    let cuts = Arc::new(Mutex::new(Vec::new()));
    let (seen, cut) = (cuts.clone(), fs.clone());
    fs.set_sync_hook(Arc::new(move |at| {
        let keep = [0.0, 0.5, 1.0][at.index as usize % 3];
        seen.lock().unwrap().push(cut.crash_clone(keep, at.index));
    }));
    let incoming = received(&mut receiver, &bytes).await;
    receiver
        .install_snapshot(&snapshot.meta, incoming)
        .await
        .unwrap();
    fs.clear_sync_hook();
    let cuts = std::mem::take(&mut *cuts.lock().unwrap());
    let old = [("old".to_owned(), "1".to_owned())];
    let (mut olds, mut news) = (0, 0);
    for fs in cuts {
        let store = open(&fs);
        let (mut machine, state) = self::machine(&store, 1);
        let applied = machine.applied_state().await.unwrap().0;
        if applied == Some(log_id(1, 0)) {
            assert_eq!(pairs(&state), old);
            olds += 1;
        } else {
            assert_eq!(applied, Some(log_id(1, 49)));
            assert_eq!(pairs(&state), pairs(&sent));
            news += 1;
        }
        assert!(directories(&fs, 1).len() <= 1);
        let incoming = received(&mut machine, &bytes).await;
        machine
            .install_snapshot(&snapshot.meta, incoming)
            .await
            .unwrap();
        assert_eq!(pairs(&state), pairs(&sent));
    }
    assert!(olds > 0 && news > 0, "{olds} old, {news} new");
}
