//! A replicated key-value server: three nodes on loopback, and a fourth that replaces one.
//!
//! * `kv`: the application.
//! * `node`: a node.
//! * `wire`: messages, connections and clients.
//!
//! Run it with `cargo run --example replicated`. It tells what it does and checks what it sees.

mod kv;
mod node;
mod wire;

use node::Node;
use openraft::{BasicNode, RaftMetrics};
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::time::Duration;
use wire::Client;

/// Longer than anything takes here.
const PATIENCE: Option<Duration> = Some(Duration::from_secs(120));
const LOOPBACK: &str = "127.0.0.1:0";

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn one(address: &str) -> BasicNode {
    BasicNode::new(address)
}

#[tokio::main]
async fn main() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = |id: u64| dir.path().join(id.to_string());
    let mut nodes = BTreeMap::new();
    for id in 1..=3 {
        nodes.insert(id, Node::start(id, &path(id), LOOPBACK).await?);
    }
    let addresses: BTreeMap<u64, String> = nodes
        .iter()
        .map(|(id, node)| (*id, node.address.clone()))
        .collect();
    println!("three nodes at {:?}", addresses.values());

    println!("node 1 is a cluster of its own");
    let first = nodes[&1].raft.clone();
    first
        .initialize(BTreeMap::from([(1, one(&addresses[&1]))]))
        .await?;
    first
        .wait(PATIENCE)
        .current_leader(1, "the first leader")
        .await?;
    let mut client = Client::new(addresses.values().cloned().collect());
    client.set("river", "blue").await?;

    println!("nodes 2 and 3 learn the log, and become voters by a joint configuration");
    for id in [2, 3] {
        first.add_learner(id, one(&addresses[&id]), true).await?;
    }
    first
        .change_membership(BTreeSet::from([1, 2, 3]), false)
        .await?;
    let voters: Vec<u64> = first
        .metrics()
        .borrow()
        .membership_config
        .voter_ids()
        .collect();
    assert_eq!(voters, [1, 2, 3]);
    assert_eq!(client.set("river", "green").await?.as_deref(), Some("blue"));
    println!(
        "a linearizable read: river is {:?}",
        client.get("river").await?
    );

    println!("node 3 goes away; the others write on, and purge what it will need");
    let address = addresses[&3].clone();
    nodes.remove(&3).expect("started above").stop().await?;
    for n in 0..200 {
        client.set(&format!("stone{n}"), &"x".repeat(100)).await?;
    }
    client.set("river", "white").await?;
    snapshot_and_purge(&nodes).await?;

    println!("node 3 comes back, and gets a snapshot");
    let back = Node::start(3, &path(3), &address).await?;
    let upto = first.metrics().borrow().last_applied.expect("entries");
    back.raft
        .wait(PATIENCE)
        .applied_index_at_least(Some(upto.index), "caught up")
        .await?;
    let snapshot = back.raft.metrics().borrow().snapshot;
    println!(
        "it has the snapshot of {}",
        snapshot.expect("the log was purged")
    );
    nodes.insert(3, back);

    println!("node 4 takes the place of node 1, by a joint configuration");
    let fourth = Node::start(4, &path(4), LOOPBACK).await?;
    first.add_learner(4, one(&fourth.address), true).await?;
    first
        .change_membership(BTreeSet::from([2, 3, 4]), false)
        .await?;
    nodes.insert(4, fourth);
    nodes.remove(&1).expect("started above").stop().await?;
    let mut client = Client::new(nodes.values().map(|node| node.address.clone()).collect());
    assert_eq!(client.get("river").await?.as_deref(), Some("white"));
    assert_eq!(
        client.get("stone199").await?.map(|stone| stone.len()),
        Some(100)
    );
    println!(
        "the others have another leader; river is {:?}",
        client.get("river").await?
    );

    for (_, node) in nodes {
        node.stop().await?;
    }
    Ok(())
}

/// Makes the nodes build snapshots, and purge the log that these replace.
async fn snapshot_and_purge(nodes: &BTreeMap<u64, Node>) -> Result<()> {
    for node in nodes.values() {
        let raft = &node.raft;
        let applied = raft.metrics().borrow().last_applied.expect("entries");
        raft.trigger().snapshot().await?;
        let done = |m: &RaftMetrics<_, _>| m.snapshot.min(m.purged) >= Some(applied);
        raft.wait(PATIENCE)
            .metrics(done, "a snapshot and a purge")
            .await?;
    }
    Ok(())
}
