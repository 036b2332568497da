//! A node: a store, openraft over it, and a server.

use crate::kv::{KeyValue, Types};
use crate::wire::{Call, Peers, Reply, receive, send};
use openraft::error::{CheckIsLeaderError, ClientWriteError, RaftError};
use openraft::{Config, Raft, SnapshotPolicy};
use std::error::Error;
use std::io;
use std::path::Path;
use std::sync::Arc;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use whitewater_raft_store::{State, Store};

/// The only group here. A node can be a member of many, in one store.
const GROUP: u64 = 0;

/// A node that runs.
pub struct Node {
    pub raft: Raft<Types>,
    pub address: String,
    server: tokio::task::JoinHandle<()>,
}

fn config() -> Result<Arc<Config>, Box<dyn Error>> {
    let config = Config {
        cluster_name: "replicated".to_owned(),
        heartbeat_interval: 100,
        election_timeout_min: 500,
        election_timeout_max: 1000,
        install_snapshot_timeout: 10_000,
        // Only when asked, so that the example tells when.
        snapshot_policy: SnapshotPolicy::Never,
        max_in_snapshot_log_to_keep: 0,
        ..Config::default()
    };
    Ok(Arc::new(config.validate()?))
}

impl Node {
    /// Starts the node `id` with the store in `path`, at `address`.
    pub async fn start(id: u64, path: &Path, address: &str) -> Result<Node, Box<dyn Error>> {
        let store = Store::open(path)?;
        let machine = store.state_machine::<Types, _>(GROUP, KeyValue)?;
        let state = machine.state();
        let raft = Raft::new(id, config()?, Peers, store.log(GROUP), machine).await?;
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?.to_string();
        let server = tokio::spawn(serve(listener, raft.clone(), state));
        Ok(Node {
            raft,
            address,
            server,
        })
    }

    /// Stops the node. Its store is closed, and can be opened again.
    pub async fn stop(self) -> Result<(), Box<dyn Error>> {
        self.server.abort();
        _ = self.server.await;
        self.raft.shutdown().await?;
        Ok(())
    }
}

async fn serve(listener: TcpListener, raft: Raft<Types>, state: State) {
    // Ends the connections with the server.
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(answer_all(stream, raft.clone(), state.clone()));
    }
}

async fn answer_all(mut stream: TcpStream, raft: Raft<Types>, state: State) -> io::Result<()> {
    loop {
        match receive(&mut stream).await? {
            Call::Append(request) => send(&mut stream, &raft.append_entries(request).await).await,
            Call::Install(request) => {
                send(&mut stream, &raft.install_snapshot(request).await).await
            }
            Call::Vote(request) => send(&mut stream, &raft.vote(request).await).await,
            Call::Set(set) => {
                let reply = match raft.client_write(set).await {
                    Ok(answer) => Reply::Done(answer.data),
                    Err(RaftError::APIError(ClientWriteError::ForwardToLeader(to))) => {
                        Reply::Elsewhere(to.leader_node.map(|node| node.addr))
                    }
                    Err(e) => Reply::Failed(e.to_string()),
                };
                send(&mut stream, &reply).await
            }
            Call::Get(key) => send(&mut stream, &get(&raft, &state, &key).await).await,
        }?;
    }
}

/// A linearizable read: the node makes sure that it is still the leader and has applied all that
/// was committed before, and then reads its own state.
async fn get(raft: &Raft<Types>, state: &State, key: &str) -> Reply<Option<String>> {
    match raft.ensure_linearizable().await {
        Ok(_) => match state.get(key.as_bytes()) {
            Ok(value) => Reply::Done(value.map(|v| String::from_utf8_lossy(&v).into_owned())),
            Err(e) => Reply::Failed(e.to_string()),
        },
        Err(RaftError::APIError(CheckIsLeaderError::ForwardToLeader(to))) => {
            Reply::Elsewhere(to.leader_node.map(|node| node.addr))
        }
        Err(e) => Reply::Failed(e.to_string()),
    }
}
