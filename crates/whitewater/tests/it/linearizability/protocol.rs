//! The commit protocols, and what each promises. A new one is one more line of [`PROTOCOLS`].

use crate::harness::tiny;
use whitewater::{CommitProtocol, Options};

/// What histories of a protocol must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Promise {
    /// Batches and snapshots are linearizable.
    Everything,
    /// Each slot is linearizable. Batches may be seen in part and snapshots may move, and the
    /// checks must be able to see that they do.
    SlotsOnly,
}

/// A commit protocol.
#[derive(Debug, Clone, Copy)]
pub struct Protocol {
    pub name: &'static str,
    pub promise: Promise,
    /// Whether it can insert one batch at a time.
    pub one_by_one: bool,
    set: fn(&mut Options),
}

/// All of them.
const PROTOCOLS: &[Protocol] = &[
    Protocol {
        name: "ordered",
        promise: Promise::Everything,
        one_by_one: false,
        set: |o| o.set_commit_protocol(CommitProtocol::Ordered),
    },
    Protocol {
        name: "grouped",
        promise: Promise::Everything,
        one_by_one: true,
        set: |o| o.set_commit_protocol(CommitProtocol::Grouped),
    },
    Protocol {
        name: "pipelined",
        promise: Promise::Everything,
        one_by_one: true,
        set: |o| o.set_commit_protocol(CommitProtocol::Pipelined),
    },
    Protocol {
        name: "unordered",
        promise: Promise::SlotsOnly,
        one_by_one: false,
        set: |o| o.set_commit_protocol(CommitProtocol::Unordered),
    },
];

/// Unordered commit under `WRITE_PREPARED`, in a database with transactions.
pub const UNDECIDED: Protocol = Protocol {
    name: "unordered, write-prepared",
    promise: Promise::Everything,
    one_by_one: false,
    set: |o| o.set_commit_protocol(CommitProtocol::Unordered),
};

/// The one that WHITEWATER_PROTOCOL names, or all.
pub fn protocols() -> Vec<Protocol> {
    let Ok(name) = std::env::var("WHITEWATER_PROTOCOL") else {
        return PROTOCOLS.to_vec();
    };
    let found: Vec<_> = PROTOCOLS
        .iter()
        .copied()
        .filter(|p| p.name == name)
        .collect();
    let known = || PROTOCOLS.iter().map(|p| p.name).collect::<Vec<_>>();
    assert!(
        !found.is_empty(),
        "WHITEWATER_PROTOCOL={name}: {:?} are known",
        known()
    );
    found
}

/// [`tiny`] options with a protocol.
pub fn options_for(protocol: Protocol) -> Options {
    let mut options = tiny();
    (protocol.set)(&mut options);
    options
}
