//! Options.
//!
//! * `values`: how they are passed; `table`: those of databases and column families that are one
//!   value, `database`: the others, `presets`; `per_call`: those of reads, writes, flushes and
//!   compactions; `tables`: those of tables and caches; `compaction`: those of compaction styles;
//!   `load`: those in files; `managers`: what databases share; `loggers`, `statistics`,
//!   `numbers`: which tickers a program's numbers are.

mod compaction;
mod database;
mod load;
mod loggers;
mod managers;
mod numbers;
mod per_call;
mod presets;
mod statistics;
pub(crate) mod table;
mod tables;
pub mod values;

pub use compaction::{rocksdb_fifo_compaction_options_t, rocksdb_universal_compaction_options_t};
pub use database::{
    rocksdb_file_checksum_gen_factory_t, rocksdb_sst_partitioner_factory_t,
    rocksdb_table_properties_collector_factory_t,
};
pub use loggers::rocksdb_logger_t;
pub use managers::{rocksdb_hyper_clock_cache_options_t, rocksdb_write_buffer_manager_t};
pub use per_call::{
    rocksdb_compactoptions_t, rocksdb_flushoptions_t, rocksdb_ingestexternalfileoptions_t,
    rocksdb_readoptions_t, rocksdb_writeoptions_t,
};
pub use tables::{
    rocksdb_block_based_table_options_t, rocksdb_cache_t, rocksdb_cuckoo_table_options_t,
    rocksdb_dbpath_t, rocksdb_env_t, rocksdb_envoptions_t, rocksdb_filterpolicy_t,
    rocksdb_lru_cache_options_t,
};

use crate::listeners::rocksdb_eventlistener_t;
use std::collections::BTreeMap;
use whitewater::Options;

/// Options of a database and of a column family.
#[derive(Clone, Default)]
pub struct rocksdb_options_t {
    pub options: Options,
    /// What was set by name, for the getters: the engine has no place for what it refuses.
    given: BTreeMap<&'static str, String>,
    /// Each database has its own of each, made when it is opened.
    listeners: Vec<rocksdb_eventlistener_t>,
}

impl rocksdb_options_t {
    pub fn new(options: Options) -> Self {
        rocksdb_options_t {
            options,
            given: BTreeMap::new(),
            listeners: Vec::new(),
        }
    }

    pub(crate) fn add_listener(&mut self, listener: rocksdb_eventlistener_t) {
        self.listeners.push(listener);
    }

    pub(crate) fn listeners(&self) -> &[rocksdb_eventlistener_t] {
        &self.listeners
    }

    /// Sets an option by RocksDB's name; one with a dot is a part of another.
    pub fn set(&mut self, name: &'static str, text: String) {
        self.options.set_by_name(name, &text);
        self.given.insert(name, text);
    }

    pub fn get(&self, name: &str) -> Option<String> {
        if let Some(text) = self.given.get(name) {
            return Some(text.clone());
        }
        let Some((whole, part)) = name.split_once('.') else {
            return self.options.get_by_name(name);
        };
        let text = self.options.get_by_name(whole)?;
        let parts = text.trim_matches(['{', '}']).split(';');
        let mut parts = parts.filter_map(|assignment| assignment.split_once('='));
        parts
            .find(|(name, _)| *name == part)
            .map(|(_, text)| text.to_owned())
    }

    /// Sets an option that is not built: `open` refuses others than the default.
    #[cfg(feature = "surrealdb")]
    pub(crate) fn set_fixed(&mut self, name: &'static str, value: i32, default: i32) {
        database::fixed(&mut self.options, name, value == default);
        self.keep(name, value.to_string());
    }

    /// Keeps what a getter returns.
    fn keep(&mut self, name: &'static str, text: String) {
        self.given.insert(name, text);
    }

    /// Changes several options at once.
    pub fn change(&mut self, change: impl FnOnce(&mut Options)) {
        self.given.clear();
        change(&mut self.options);
    }
}

/// What tests call.
#[cfg(test)]
pub(crate) mod testing {
    pub(crate) use super::database::*;
    pub(crate) use super::managers::*;
    pub(crate) use super::per_call::*;
    pub(crate) use super::table::*;
    pub(crate) use super::tables::*;
}
