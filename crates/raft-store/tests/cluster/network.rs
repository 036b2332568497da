//! The network between the nodes, with its faults.
//!
//! A message and its answer each take a moment, and get lost if the link is cut, or if the sender
//! or the receiver has died since. What a paused node sends or is sent waits until it goes on.

use crate::registers::Types;
use openraft::error::{InstallSnapshotError, RPCError, RaftError, RemoteError, Unreachable};
use openraft::network::{RPCOption, RaftNetwork, RaftNetworkFactory};
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, InstallSnapshotRequest, InstallSnapshotResponse,
    VoteRequest, VoteResponse,
};
use openraft::{AnyError, BasicNode, Raft};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::sleep;

type Node = Raft<Types>;

/// The network.
pub struct Network {
    links: Mutex<Links>,
    /// Told when a node goes on.
    resumed: Notify,
    /// Snapshots that were installed. Links count them, and the test reads them; relaxed.
    snapshots: AtomicU64,
}

struct Links {
    /// The life of each node, from 1 on, and the node while it lives.
    nodes: BTreeMap<u64, (u64, Option<Node>)>,
    /// From whom to whom nothing gets through.
    cut: BTreeSet<(u64, u64)>,
    paused: BTreeSet<u64>,
    delays: StdRng,
}

/// A node during one of its lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Life {
    pub node: u64,
    pub life: u64,
}

impl Network {
    pub fn new(seed: u64) -> Arc<Self> {
        let links = Links {
            nodes: BTreeMap::new(),
            cut: BTreeSet::new(),
            paused: BTreeSet::new(),
            delays: StdRng::seed_from_u64(seed),
        };
        Arc::new(Network {
            links: Mutex::new(links),
            resumed: Notify::new(),
            snapshots: AtomicU64::new(0),
        })
    }

    /// Begins a life of `node`.
    pub fn begin(&self, node: u64) -> Life {
        let mut links = self.links.lock().unwrap();
        let entry = links.nodes.entry(node).or_insert((0, None));
        entry.0 += 1;
        let life = entry.0;
        Life { node, life }
    }

    /// Lets `raft` be reached.
    pub fn join(&self, life: Life, raft: Node) {
        let mut links = self.links.lock().unwrap();
        links.nodes.insert(life.node, (life.life, Some(raft)));
    }

    /// Ends the life of `node`: from now on nothing of it gets out, answers included.
    pub fn end(&self, node: u64) {
        let mut links = self.links.lock().unwrap();
        links.paused.remove(&node);
        if let Some(entry) = links.nodes.get_mut(&node) {
            entry.1 = None;
        }
        drop(links);
        self.resumed.notify_waiters();
    }

    pub fn is_alive(&self, life: Life) -> bool {
        let links = self.links.lock().unwrap();
        let now = links.nodes.get(&life.node);
        now.is_some_and(|(number, raft)| *number == life.life && raft.is_some())
    }

    /// How many snapshots were installed.
    pub fn snapshots(&self) -> u64 {
        self.snapshots.load(Ordering::Relaxed)
    }

    /// The nodes that live.
    pub fn alive(&self) -> Vec<(Life, Node)> {
        let links = self.links.lock().unwrap();
        let nodes = links.nodes.iter();
        nodes
            .filter_map(|(&node, (life, raft))| {
                let life = Life { node, life: *life };
                Some((life, raft.clone()?))
            })
            .collect()
    }

    /// Cuts the links from and to the nodes `side`, or in one direction only.
    pub fn cut(&self, side: &[u64], all: &[u64], one_way: bool) {
        let mut links = self.links.lock().unwrap();
        for &a in side {
            for &b in all.iter().filter(|b| !side.contains(b)) {
                links.cut.insert((a, b));
                if !one_way {
                    links.cut.insert((b, a));
                }
            }
        }
    }

    /// Mends all links, and lets paused nodes go on.
    pub fn heal(&self) {
        let mut links = self.links.lock().unwrap();
        links.cut.clear();
        links.paused.clear();
        for (_, raft) in links.nodes.values() {
            if let Some(raft) = raft {
                raft.runtime_config().tick(true);
            }
        }
        drop(links);
        self.resumed.notify_waiters();
    }

    /// Pauses `node`: its clock stands still, and what it sends or gets waits.
    pub fn pause(&self, node: u64) {
        let mut links = self.links.lock().unwrap();
        links.paused.insert(node);
        if let Some((_, Some(raft))) = links.nodes.get(&node) {
            raft.runtime_config().tick(false);
        }
    }

    /// Returns once `node` is not paused.
    pub async fn awake(&self, node: u64) {
        loop {
            let resumed = self.resumed.notified();
            tokio::pin!(resumed);
            // Before the look at it, so that no wake-up is missed.
            resumed.as_mut().enable();
            if !self.links.lock().unwrap().paused.contains(&node) {
                return;
            }
            resumed.await;
        }
    }

    /// One way of a message. Returns the receiver and its life, if it arrives.
    async fn travel(&self, from: Life, to: u64) -> Option<(Life, Node)> {
        self.awake(from.node).await;
        let delay = self.links.lock().unwrap().delays.random_range(0..3);
        sleep(Duration::from_millis(delay)).await;
        self.awake(to).await;
        if !self.is_alive(from) {
            return None;
        }
        let links = self.links.lock().unwrap();
        if links.cut.contains(&(from.node, to)) {
            return None;
        }
        let (life, raft) = links.nodes.get(&to)?;
        let life = Life {
            node: to,
            life: *life,
        };
        Some((life, raft.clone()?))
    }
}

/// The links of a node.
#[derive(Clone)]
pub struct Connections {
    pub network: Arc<Network>,
    pub from: Life,
}

/// The link of a node to another.
pub struct Link {
    network: Arc<Network>,
    from: Life,
    to: u64,
}

fn lost<E: Error>(to: u64) -> RPCError<u64, BasicNode, E> {
    Unreachable::new(&AnyError::error(format!("no answer from node {to}"))).into()
}

impl Link {
    /// Calls the other node and brings its answer back.
    async fn call<T, E, F>(
        &self,
        call: impl FnOnce(Node) -> F,
    ) -> Result<T, RPCError<u64, BasicNode, E>>
    where
        E: Error,
        F: Future<Output = Result<T, E>>,
    {
        let arrived = self.network.travel(self.from, self.to).await;
        let (receiver, raft) = arrived.ok_or_else(|| lost(self.to))?;
        let answer = call(raft).await;
        let back = self.network.travel(receiver, self.from.node).await;
        match back {
            Some((sender, _)) if sender == self.from => {
                answer.map_err(|e| RemoteError::new(self.to, e).into())
            }
            _ => Err(lost(self.to)),
        }
    }
}

impl RaftNetworkFactory<Types> for Connections {
    type Network = Link;

    async fn new_client(&mut self, target: u64, _: &BasicNode) -> Link {
        Link {
            network: self.network.clone(),
            from: self.from,
            to: target,
        }
    }
}

impl RaftNetwork<Types> for Link {
    async fn append_entries(
        &mut self,
        request: AppendEntriesRequest<Types>,
        _: RPCOption,
    ) -> Result<AppendEntriesResponse<u64>, RPCError<u64, BasicNode, RaftError<u64>>> {
        let call = |raft: Node| async move { raft.append_entries(request).await };
        self.call(call).await
    }

    async fn install_snapshot(
        &mut self,
        request: InstallSnapshotRequest<Types>,
        _: RPCOption,
    ) -> Result<
        InstallSnapshotResponse<u64>,
        RPCError<u64, BasicNode, RaftError<u64, InstallSnapshotError>>,
    > {
        let last = request.done;
        let call = |raft: Node| async move { raft.install_snapshot(request).await };
        let answer = self.call(call).await?;
        let snapshots = &self.network.snapshots;
        snapshots.fetch_add(u64::from(last), Ordering::Relaxed);
        Ok(answer)
    }

    async fn vote(
        &mut self,
        request: VoteRequest<u64>,
        _: RPCOption,
    ) -> Result<VoteResponse<u64>, RPCError<u64, BasicNode, RaftError<u64>>> {
        let call = |raft: Node| async move { raft.vote(request).await };
        self.call(call).await
    }
}
