#![doc = include_str!("../README.md")]
//!
//! # The parts
//!
//! * `store`, [`Store`]: the database of a node.
//! * `log`, [`LogStore`]: the log and the vote of a group.
//! * `state`, [`StateMachine`]: the state of a group, what an [`Application`] does to it.
//! * `snapshot`, [`SnapshotFiles`]: a group's state on its way to another node.
//! * `syncer`: the thread that makes writes of all groups durable.
//! * `engine`: what all of this asks of a database.
//! * `keys`, `codec`, `error`: keys and values of records, and errors.

mod codec;
pub mod engine;
mod error;
mod keys;
mod log;
mod snapshot;
mod state;
mod store;
mod syncer;

pub use self::error::{Cause, Error};
pub use self::log::LogStore;
pub use self::snapshot::SnapshotFiles;
pub use self::state::{Application, SnapshotBuilder, State, StateMachine, View};
pub use self::store::Store;
pub use self::syncer::SyncCounts;
