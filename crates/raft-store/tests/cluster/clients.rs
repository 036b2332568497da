//! Clients that read and write registers, and record what they saw.

use crate::history::{Did, Op};
use crate::network::{Life, Network};
use crate::registers::{Request, Types, read};
use openraft::Raft;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::{sleep, timeout};
use whitewater_raft_store::State;

/// How long a client waits for an answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// Each round has registers of its own, so that calls without an answer are few for each.
pub const REGISTERS: u64 = 3;
const CLIENTS: u64 = 4;

/// The world as clients see it.
pub struct World {
    pub network: Arc<Network>,
    /// Where each node's state is read.
    pub states: Mutex<BTreeMap<u64, State>>,
    /// The moment. All clients advance it, before and after each call; its order is that of its
    /// values, which sequentially consistent operations keep in line with what happened between.
    clock: AtomicU64,
    /// The next number to write, so that each is written once. Relaxed.
    next: AtomicU32,
}

impl World {
    pub fn new(network: Arc<Network>) -> Arc<Self> {
        Arc::new(World {
            network,
            states: Mutex::new(BTreeMap::new()),
            clock: AtomicU64::new(1),
            next: AtomicU32::new(1),
        })
    }

    fn now(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    /// A node that takes itself for the leader. During a partition there may be two.
    fn leader(&self, rng: &mut StdRng) -> Option<(Life, Raft<Types>)> {
        let mut alive = self.network.alive();
        alive.retain(|(life, raft)| raft.metrics().borrow().current_leader == Some(life.node));
        (!alive.is_empty()).then(|| alive.swap_remove(rng.random_range(0..alive.len())))
    }

    /// Does what `did` says at `raft`, and returns it with what was learned. `None` if there was
    /// no answer, or none that a client could have got.
    async fn answer(&self, life: Life, raft: &Raft<Types>, register: u64, did: Did) -> Option<Did> {
        self.network.awake(life.node).await;
        let did = match did {
            Did::Read(_) => {
                raft.ensure_linearizable().await.ok()?;
                let state = self.states.lock().unwrap().get(&life.node)?.clone();
                Did::Read(read(&state, register).ok()?)
            }
            Did::Write(value) => {
                let request = Request::Write { register, value };
                raft.client_write(request).await.ok()?;
                did
            }
            Did::Swap(expected, value, _) => {
                let request = Request::Swap {
                    register,
                    expected,
                    value,
                };
                let done = raft.client_write(request).await.ok()?.data.0;
                Did::Swap(expected, value, Some(done))
            }
        };
        self.network.awake(life.node).await;
        // An answer of a node that has died meanwhile was never sent.
        self.network.is_alive(life).then_some(did)
    }

    /// One call. `None` if there was no leader to call, or a read without an answer.
    pub async fn call(&self, rng: &mut StdRng, register: u64, did: Did) -> Option<Op> {
        let (life, raft) = self.leader(rng)?;
        let call = self.now();
        let answer = timeout(PATIENCE, self.answer(life, &raft, register, did)).await;
        let answer = answer.ok().flatten();
        if answer.is_none() && matches!(did, Did::Read(_)) {
            return None;
        }
        Some(Op {
            register,
            did: answer.unwrap_or(did),
            call,
            end: answer.map(|_| self.now()),
        })
    }

    /// A client until `stop`. Returns its calls.
    async fn client(self: Arc<Self>, seed: u64, round: u64, stop: Arc<AtomicBool>) -> Vec<Op> {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut ops: Vec<Op> = Vec::new();
        let mut last = 0;
        while !stop.load(Ordering::Relaxed) {
            let register = round * REGISTERS + rng.random_range(0..REGISTERS);
            let value = self.next.fetch_add(1, Ordering::Relaxed);
            let did = match rng.random_range(0..10) {
                0..5 => Did::Write(value),
                5..7 => Did::Swap(last, value, None),
                _ => Did::Read(0),
            };
            if let Some(op) = self.call(&mut rng, register, did).await {
                if let Did::Read(value) | Did::Write(value) = op.did {
                    last = value;
                }
                ops.push(op);
            }
            sleep(Duration::from_millis(rng.random_range(2..12))).await;
        }
        ops
    }

    /// Clients of a round, until `stop`. Returns their calls.
    pub async fn clients(self: Arc<Self>, seed: u64, round: u64, stop: Arc<AtomicBool>) -> Vec<Op> {
        let client = |n| {
            let seed = seed ^ (round << 8 | n);
            tokio::spawn(self.clone().client(seed, round, stop.clone()))
        };
        let clients: Vec<_> = (0..CLIENTS).map(client).collect();
        let mut ops = Vec::new();
        for client in clients {
            ops.extend(client.await.expect("a client"));
        }
        ops
    }
}
