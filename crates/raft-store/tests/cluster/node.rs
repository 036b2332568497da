//! A node on a file system in memory.

use crate::network::{Connections, Life, Network};
use crate::registers::{Registers, Types};
use openraft::{Config, Raft, SnapshotPolicy};
use std::sync::Arc;
use whitewater::Options;
use whitewater::fs::mem::MemFs;
use whitewater_raft_store::{State, Store};

const GROUP: u64 = 7;

/// A node that lives.
pub struct Node {
    pub life: Life,
    pub raft: Raft<Types>,
    pub state: State,
    fs: MemFs,
}

/// What a death leaves of unsynced bytes.
#[derive(Debug, Clone, Copy)]
pub enum Left {
    /// All: only the process died.
    All,
    /// This share of them, by a seed: the power was cut.
    Share(f64, u64),
}

fn config() -> Arc<Config> {
    // Timeouts for a machine that does other things as well.
    let config = Config {
        heartbeat_interval: 100,
        election_timeout_min: 400,
        election_timeout_max: 800,
        install_snapshot_timeout: 5000,
        // Small enough that nodes which were away get a snapshot, in several pieces.
        snapshot_policy: SnapshotPolicy::LogsSinceLast(20),
        max_in_snapshot_log_to_keep: 5,
        snapshot_max_chunk_size: 512,
        ..Config::default()
    };
    Arc::new(config.validate().expect("a valid configuration"))
}

impl Node {
    /// Starts `node` on what `fs` holds.
    pub async fn start(network: &Arc<Network>, node: u64, fs: MemFs) -> Node {
        let life = network.begin(node);
        let store = Store::open_in(Arc::new(fs.clone()), "/node", Options::default());
        let store = store.unwrap_or_else(|e| panic!("{life:?}: {e}"));
        let machine = store.state_machine(GROUP, Registers);
        let machine = machine.unwrap_or_else(|e| panic!("{life:?}: {e}"));
        let state = machine.state();
        let connections = Connections {
            network: network.clone(),
            from: life,
        };
        let raft = Raft::new(node, config(), connections, store.log(GROUP), machine).await;
        let raft = raft.unwrap_or_else(|e| panic!("{life:?}: {e}"));
        network.join(life, raft.clone());
        Node {
            life,
            raft,
            state,
            fs,
        }
    }

    /// Kills the node, and returns what is left of its files.
    pub async fn kill(self, network: &Network, left: Left) -> MemFs {
        // In this order: what it acknowledges afterwards is not heard.
        network.end(self.life.node);
        let fs = match left {
            Left::All => self.fs.after_kill(),
            Left::Share(keep, seed) => self.fs.crash_clone(keep, seed),
        };
        // Its tasks would go on; whatever they do, nobody sees it.
        _ = self.raft.shutdown().await;
        fs
    }
}
