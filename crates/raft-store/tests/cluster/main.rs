//! Three nodes under load, which are killed, paused and cut off, and the history of their clients.
//!
//! * `registers`: the application, and openraft's types.
//! * `network`: the network between the nodes of this process, with its faults.
//! * `node`: a node on a file system in memory, which a power cut can be taken of.
//! * `clients`: clients that read and write, and record what they saw.
//! * `history`: what they saw, and whether it is linearizable.
//! * `faults`: what happens to the nodes, by a seed.
//!
//! The seed decides what happens to whom and what a power cut leaves, not when threads run: a
//! second run with it is another one of the same kind. `RAFT_SEED` and `RAFT_ROUNDS` set it and how
//! many faults there are.

mod clients;
mod faults;
mod history;
mod network;
mod node;
mod registers;

use std::io::Write;
use std::{env, io, panic, process};

fn number(name: &str, default: u64) -> u64 {
    match env::var(name) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|e| panic!("{name}={text}: {e}")),
        Err(_) => default,
    }
}

/// Ends the process at the first panic of any task: nodes without one of their tasks would make
/// the others wait for ever.
fn end_at_panics() {
    panic::set_hook(Box::new(|what| {
        // Not by `eprintln!`, whose text the harness keeps until the test ends.
        _ = writeln!(io::stderr(), "{what}");
        process::exit(101);
    }));
}

/// A leader that starts again has forgotten which entries of its log are committed.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_read_after_a_power_cut_of_all_nodes_sees_the_last_write() {
    end_at_panics();
    faults::run_deaths_of_all(number("RAFT_SEED", 1), 5).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn histories_under_kills_pauses_and_partitions_are_linearizable() {
    end_at_panics();
    let (seed, rounds) = (number("RAFT_SEED", 1), number("RAFT_ROUNDS", 8));
    let seen = faults::run(seed, rounds).await;
    println!("seed {seed}: {seen:?}");
    assert_eq!(seen.kills + seen.pauses + seen.partitions, rounds);
    assert!(seen.acknowledged > 0);
}
