//! What happens to the nodes.

use crate::clients::{REGISTERS, World};
use crate::history::{Did, Op, check};
use crate::network::Network;
use crate::node::{Left, Node};
use openraft::BasicNode;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::time::{Instant, sleep};
use whitewater::fs::mem::MemFs;

const NODES: [u64; 3] = [1, 2, 3];
/// A cluster that does nothing for so long is stuck.
const STUCK: Duration = Duration::from_secs(120);

#[derive(Debug, Clone, Copy)]
enum Fault {
    Kill,
    Pause,
    Partition,
}

/// The faults of eight rounds, before they are shuffled.
const EIGHT: [Fault; 8] = [
    Fault::Kill,
    Fault::Kill,
    Fault::Kill,
    Fault::Kill,
    Fault::Kill,
    Fault::Partition,
    Fault::Partition,
    Fault::Pause,
];

/// What was done and seen.
#[derive(Debug, Default)]
pub struct Seen {
    pub kills: u64,
    pub pauses: u64,
    pub partitions: u64,
    /// Of the kills, those of all nodes at once.
    pub of_all: u64,
    /// Calls with an answer.
    pub acknowledged: usize,
    /// Calls without.
    pub unanswered: usize,
    /// Snapshots that nodes have installed.
    pub snapshots: u64,
}

struct Cluster {
    world: Arc<World>,
    nodes: BTreeMap<u64, Node>,
    rng: StdRng,
}

impl Cluster {
    async fn start(seed: u64) -> Cluster {
        let network = Network::new(seed);
        let mut cluster = Cluster {
            world: World::new(network),
            nodes: BTreeMap::new(),
            rng: StdRng::seed_from_u64(seed),
        };
        for node in NODES {
            cluster.bring(node, MemFs::new()).await;
        }
        let members: BTreeMap<u64, BasicNode> =
            NODES.map(|node| (node, BasicNode::default())).into();
        let first = &cluster.nodes[&NODES[0]].raft;
        first.initialize(members).await.expect("a new cluster");
        cluster
    }

    async fn bring(&mut self, id: u64, fs: MemFs) {
        let node = Node::start(&self.world.network, id, fs).await;
        let states = &self.world.states;
        states.lock().unwrap().insert(id, node.state.clone());
        self.nodes.insert(id, node);
    }

    /// The leader as often as any node.
    fn victim(&mut self) -> u64 {
        let leader = self.nodes.values().find_map(|node| {
            let metrics = node.raft.metrics();
            metrics.borrow().current_leader
        });
        match leader {
            Some(leader) if self.rng.random_bool(0.5) => leader,
            _ => NODES[self.rng.random_range(0..NODES.len())],
        }
    }

    async fn wait(&mut self, milliseconds: std::ops::Range<u64>) {
        let milliseconds = self.rng.random_range(milliseconds);
        sleep(Duration::from_millis(milliseconds)).await;
    }

    /// What the death of a node leaves: after a power cut nothing, some or all of what was not
    /// synced, or all if only the process died.
    fn left(&mut self) -> Left {
        match self.rng.random_range(0..4) {
            0 => Left::All,
            1 => Left::Share(0.0, 0),
            _ => Left::Share(self.rng.random_range(0.0..=1.0), self.rng.random()),
        }
    }

    async fn kill(&mut self, seen: &mut Seen) {
        let all = self.rng.random_bool(0.2);
        let victims = if all {
            NODES.to_vec()
        } else {
            vec![self.victim()]
        };
        seen.kills += 1;
        seen.of_all += u64::from(all);
        let mut dead = Vec::new();
        for id in victims {
            let left = self.left();
            let node = self.nodes.remove(&id).expect("a node that lives");
            dead.push((id, node.kill(&self.world.network, left).await));
        }
        // Sometimes long enough for others to purge what it lacks.
        self.wait(0..1500).await;
        for (id, fs) in dead {
            self.bring(id, fs).await;
        }
    }

    /// All nodes lose their power right after a write was acknowledged, and a read follows.
    async fn all_die(&mut self, register: u64) {
        let what = format!("register {register}");
        let mut ops = vec![self.read(register, &what).await];
        for value in [1, 2] {
            // A busy machine may have lost its leader.
            ops.extend(self.answered(register, Did::Write(value), &what).await);
        }
        let mut dead = Vec::new();
        for id in NODES {
            let node = self.nodes.remove(&id).expect("a node that lives");
            let nothing = Left::Share(0.0, 0);
            dead.push((id, node.kill(&self.world.network, nothing).await));
        }
        for (id, fs) in dead {
            self.bring(id, fs).await;
        }
        ops.push(self.read(register, &what).await);
        check(&ops, &what);
    }

    async fn strike(&mut self, fault: Fault, seen: &mut Seen) {
        match fault {
            Fault::Kill => self.kill(seen).await,
            Fault::Pause => {
                seen.pauses += 1;
                let victim = self.victim();
                self.world.network.pause(victim);
                self.wait(200..2000).await;
            }
            Fault::Partition => {
                seen.partitions += 1;
                let side = [self.victim()];
                let one_way = self.rng.random_bool(0.3);
                self.world.network.cut(&side, &NODES, one_way);
                self.wait(200..2000).await;
            }
        }
        self.world.network.heal();
    }

    /// Reads `register` until there is an answer.
    async fn read(&mut self, register: u64, what: &str) -> Op {
        let calls = self.answered(register, Did::Read(0), what).await;
        *calls.last().expect("the one with an answer")
    }

    /// Calls until there is an answer. Returns all calls that may have had an effect; the last one
    /// has the answer.
    async fn answered(&mut self, register: u64, did: Did, what: &str) -> Vec<Op> {
        let begun = Instant::now();
        let mut calls = Vec::new();
        loop {
            let call = self.world.call(&mut self.rng, register, did).await;
            calls.extend(call);
            if call.is_some_and(|op| op.end.is_some()) {
                return calls;
            }
            for node in self.nodes.values() {
                let metrics = node.raft.metrics();
                let state = metrics.borrow().running_state.clone();
                assert!(
                    state.is_ok(),
                    "{what}: {:?} has stopped: {state:?}",
                    node.life
                );
            }
            assert!(
                begun.elapsed() < STUCK,
                "{what}: no leader after the faults have ended"
            );
            sleep(Duration::from_millis(20)).await;
        }
    }

    async fn round(&mut self, seed: u64, round: u64, fault: Fault, seen: &mut Seen) {
        let what = format!("seed {seed}, round {round}, {fault:?}");
        let stop = Arc::new(AtomicBool::new(false));
        let clients = self.world.clone().clients(seed, round, stop.clone());
        let clients = tokio::spawn(clients);
        self.wait(100..600).await;
        self.strike(fault, seen).await;
        // There is a leader again, and clients go on with it for a while.
        self.read(round * REGISTERS, &what).await;
        self.wait(100..400).await;
        stop.store(true, Ordering::Relaxed);
        let mut ops = clients.await.expect("clients");
        for register in 0..REGISTERS {
            ops.push(self.read(round * REGISTERS + register, &what).await);
        }
        seen.acknowledged += ops.iter().filter(|op| op.end.is_some()).count();
        seen.unanswered += ops.iter().filter(|op| op.end.is_none()).count();
        check(&ops, &what);
    }
}

/// Starts a cluster whose nodes all die at once, `times` times.
pub async fn run_deaths_of_all(seed: u64, times: u64) {
    let mut cluster = Cluster::start(seed).await;
    for register in 0..times {
        cluster.all_die(register).await;
    }
}

/// Starts a cluster, and lets a fault happen in each of `rounds` while clients use it.
pub async fn run(seed: u64, rounds: u64) -> Seen {
    let mut cluster = Cluster::start(seed).await;
    let mut seen = Seen::default();
    let mut faults = Vec::new();
    for round in 0..rounds {
        if faults.is_empty() {
            faults = EIGHT.to_vec();
            faults.shuffle(&mut cluster.rng);
        }
        let fault = faults.pop().expect("filled above");
        cluster.round(seed, round, fault, &mut seen).await;
    }
    seen.snapshots = cluster.world.network.snapshots();
    seen
}
