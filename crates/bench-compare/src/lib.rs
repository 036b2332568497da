//! YCSB's workloads over Whitewater and other embedded stores, side by side.
//!
//! * [`stores`]: the trait that the workloads need, and a module for each store, with its settings
//! * [`generators`]: which record an operation asks for
//! * [`mixes`]: the workloads; [`keys`]: what keys and values look like
//! * [`runner`]: threads run one mix on one store; [`sequence`]: all mixes, in one process
//! * [`measure`]: memory, files and bytes of this process; [`group`]: a limit to its memory
//! * [`rounds`]: a child process for each store in each round; [`results`]: medians of rounds
//! * [`terminal`], [`document`]: the results as a table, as JSON and as a page
//! * [`args`]: the command line; [`presets`]: its options for each table

pub mod args;
pub mod document;
pub mod generators;
pub mod group;
pub mod keys;
pub mod measure;
pub mod mixes;
pub mod presets;
pub mod results;
pub mod rounds;
pub mod runner;
pub mod sequence;
pub mod stores;
pub mod terminal;

/// The result of anything that can stop a run.
pub use whitewater_tools::bench::engine::{Failure, Result};

/// Fails with a message.
///
/// # Errors
/// Always.
pub fn fail<T>(message: impl Into<String>) -> Result<T> {
    Err(Failure(message.into()))
}
