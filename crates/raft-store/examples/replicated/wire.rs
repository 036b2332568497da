//! Messages over TCP: four bytes of length, then MessagePack. One call at a time per connection.

use crate::kv::{Before, Set, Types};
use openraft::BasicNode;
use openraft::error::{InstallSnapshotError, RPCError, RaftError, RemoteError, Unreachable};
use openraft::network::{RPCOption, RaftNetwork, RaftNetworkFactory};
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, InstallSnapshotRequest, InstallSnapshotResponse,
    VoteRequest, VoteResponse,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::io;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The longest message.
const MOST: u32 = 64 << 20;

/// What a node is asked.
#[derive(Serialize, Deserialize)]
pub enum Call {
    Append(AppendEntriesRequest<Types>),
    Install(InstallSnapshotRequest<Types>),
    Vote(VoteRequest<u64>),
    Set(Set),
    Get(String),
}

/// What a node answers a client.
#[derive(Debug, Serialize, Deserialize)]
pub enum Reply<T> {
    Done(T),
    /// Another node is the leader: its address, if it is known.
    Elsewhere(Option<String>),
    Failed(String),
}

pub async fn send<T: Serialize>(stream: &mut TcpStream, message: &T) -> io::Result<()> {
    let bytes = rmp_serde::to_vec(message).map_err(io::Error::other)?;
    let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
    stream.write_all(&length.to_be_bytes()).await?;
    stream.write_all(&bytes).await
}

pub async fn receive<T: DeserializeOwned>(stream: &mut TcpStream) -> io::Result<T> {
    let length = stream.read_u32().await?;
    if length > MOST {
        return Err(io::Error::other(format!("a message of {length} bytes")));
    }
    let mut bytes = vec![0; length as usize];
    stream.read_exact(&mut bytes).await?;
    rmp_serde::from_slice(&bytes).map_err(io::Error::other)
}

/// A connection that is made when it is needed.
pub struct Connection {
    address: String,
    stream: Option<TcpStream>,
}

impl Connection {
    pub fn new(address: String) -> Self {
        Connection {
            address,
            stream: None,
        }
    }

    /// Calls the node and waits for its answer. If this is given up or fails, the connection is
    /// closed, so that no later call gets this one's answer.
    pub async fn call<T: DeserializeOwned>(&mut self, call: &Call) -> io::Result<T> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => TcpStream::connect(&self.address).await?,
        };
        send(&mut stream, call).await?;
        let answer = receive(&mut stream).await?;
        self.stream = Some(stream);
        Ok(answer)
    }
}

/// The connections of a node to the others.
pub struct Peers;

/// The connection to another node.
pub struct Peer {
    node: u64,
    connection: Connection,
}

impl Peer {
    async fn ask<T, E>(&mut self, call: Call) -> Result<T, RPCError<u64, BasicNode, E>>
    where
        T: DeserializeOwned,
        E: Error + DeserializeOwned,
    {
        match self.connection.call::<Result<T, E>>(&call).await {
            Ok(answer) => answer.map_err(|e| RemoteError::new(self.node, e).into()),
            Err(e) => Err(Unreachable::new(&e).into()),
        }
    }
}

impl RaftNetworkFactory<Types> for Peers {
    type Network = Peer;

    async fn new_client(&mut self, target: u64, node: &BasicNode) -> Peer {
        Peer {
            node: target,
            connection: Connection::new(node.addr.clone()),
        }
    }
}

impl RaftNetwork<Types> for Peer {
    async fn append_entries(
        &mut self,
        request: AppendEntriesRequest<Types>,
        _: RPCOption,
    ) -> Result<AppendEntriesResponse<u64>, RPCError<u64, BasicNode, RaftError<u64>>> {
        self.ask(Call::Append(request)).await
    }

    async fn install_snapshot(
        &mut self,
        request: InstallSnapshotRequest<Types>,
        _: RPCOption,
    ) -> Result<
        InstallSnapshotResponse<u64>,
        RPCError<u64, BasicNode, RaftError<u64, InstallSnapshotError>>,
    > {
        self.ask(Call::Install(request)).await
    }

    async fn vote(
        &mut self,
        request: VoteRequest<u64>,
        _: RPCOption,
    ) -> Result<VoteResponse<u64>, RPCError<u64, BasicNode, RaftError<u64>>> {
        self.ask(Call::Vote(request)).await
    }
}

/// A client, which looks for the leader.
pub struct Client {
    addresses: Vec<String>,
    connection: Connection,
}

impl Client {
    /// A client of the nodes at `addresses`.
    pub fn new(addresses: Vec<String>) -> Self {
        let connection = Connection::new(addresses[0].clone());
        Client {
            addresses,
            connection,
        }
    }

    /// Sets a key, and returns the value before. May do it twice, if the first answer is lost.
    pub async fn set(&mut self, key: &str, value: &str) -> Result<Option<String>, String> {
        let (key, value) = (key.to_owned(), value.to_owned());
        let Before(before) = self.at_leader(&Call::Set(Set { key, value })).await?;
        Ok(before)
    }

    /// The value of a key: that of the last `set` that has ended, or of one under way.
    pub async fn get(&mut self, key: &str) -> Result<Option<String>, String> {
        self.at_leader(&Call::Get(key.to_owned())).await
    }

    async fn at_leader<T: DeserializeOwned>(&mut self, call: &Call) -> Result<T, String> {
        let mut why = String::new();
        for attempt in 0..100 {
            let next = match self.connection.call::<Reply<T>>(call).await {
                Ok(Reply::Done(answer)) => return Ok(answer),
                Ok(Reply::Elsewhere(address)) => address,
                Ok(Reply::Failed(e)) => {
                    why = e;
                    None
                }
                Err(e) => {
                    why = format!("{}: {e}", self.connection.address);
                    None
                }
            };
            let address =
                next.unwrap_or_else(|| self.addresses[attempt % self.addresses.len()].clone());
            if address != self.connection.address {
                self.connection = Connection::new(address);
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        Err(format!("no leader: {why}"))
    }
}
