//! The exported functions that do not set options.
//!
//! * `open`, `families`: databases and column families; `reads`, `timestamps`, `writes`; `batches`,
//!   `indexed_batches`; `iterators`, `snapshots`; `control`: flushes and compactions; `inspect`:
//!   properties and files; `live_files`; `logs`: the write-ahead log.
//! * `backups`, `checkpoints`, `exported`, `sst_files`.
//! * `transactions`, `optimistic`, `transaction_db`: transactions and databases with them.
//! * `newer`: other forms of functions above; `entities`: wide columns.
//! * `allocators`; `memory`, `perf`: what is used and measured; `refused`: what is not built;
//!   `remote`: compactions in other processes, refused too; `surrealdb`: what a fork adds.

mod allocators;
mod backups;
mod batches;
mod checkpoints;
mod control;
mod entities;
mod exported;
mod families;
mod indexed_batches;
mod inspect;
mod iterators;
mod live_files;
mod logs;
mod memory;
mod newer;
mod open;
mod optimistic;
mod perf;
mod reads;
mod refused;
mod remote;
mod snapshots;
mod sst_files;
#[cfg(feature = "surrealdb")]
mod surrealdb;
mod timestamps;
mod transaction_db;
mod transactions;
mod writes;

pub(crate) use iterators::iterator;
pub(crate) use open::{family_list, put_handles};

/// What tests call.
#[cfg(test)]
pub(crate) mod testing {
    pub(crate) use super::allocators::*;
    pub(crate) use super::batches::*;
    pub(crate) use super::control::*;
    pub(crate) use super::entities::*;
    pub(crate) use super::families::*;
    pub(crate) use super::indexed_batches::*;
    pub(crate) use super::iterators::*;
    pub(crate) use super::newer::*;
    pub(crate) use super::open::*;
    pub(crate) use super::reads::*;
    pub(crate) use super::snapshots::*;
    pub(crate) use super::transaction_db::*;
    pub(crate) use super::transactions::*;
    pub(crate) use super::writes::*;
    pub(crate) use crate::callbacks::*;
}
