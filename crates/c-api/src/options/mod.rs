//! Options.
//!
//! * `values`: how they are passed; `table`: those of databases and column families that are one
//!   value, `database`: the others, `presets`; `per_call`: those of reads, writes, flushes and
//!   compactions; `tables`: those of tables and caches; `compaction`: those of compaction styles;
//!   `load`: those in files; `managers`: what databases share.

mod compaction;
mod database;
mod load;
mod managers;
mod per_call;
mod presets;
mod table;
mod tables;
pub(crate) mod values;

pub use compaction::{rocksdb_fifo_compaction_options_t, rocksdb_universal_compaction_options_t};
pub use per_call::{
    rocksdb_compactoptions_t, rocksdb_flushoptions_t, rocksdb_ingestexternalfileoptions_t,
    rocksdb_readoptions_t, rocksdb_writeoptions_t,
};
pub use tables::{
    rocksdb_block_based_table_options_t, rocksdb_cache_t, rocksdb_cuckoo_table_options_t,
    rocksdb_dbpath_t, rocksdb_env_t, rocksdb_envoptions_t, rocksdb_filterpolicy_t,
    rocksdb_lru_cache_options_t,
};

use std::collections::BTreeMap;
use whitewater::Options;

/// Options of a database and of a column family.
#[derive(Clone, Default)]
pub struct rocksdb_options_t {
    pub(crate) options: Options,
    /// What was set by name, for the getters: the engine has no place for what it refuses.
    given: BTreeMap<&'static str, String>,
}

impl rocksdb_options_t {
    pub(crate) fn new(options: Options) -> Self {
        let given = BTreeMap::new();
        rocksdb_options_t { options, given }
    }

    /// Sets an option by RocksDB's name; one with a dot is a part of another.
    fn set(&mut self, name: &'static str, text: String) {
        self.options.set_by_name(name, &text);
        self.given.insert(name, text);
    }

    fn get(&self, name: &str) -> Option<String> {
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

    /// Changes several options at once.
    fn change(&mut self, change: impl FnOnce(&mut Options)) {
        self.given.clear();
        change(&mut self.options);
    }
}

/// What tests call.
#[cfg(test)]
pub(crate) mod testing {
    pub(crate) use super::database::*;
    pub(crate) use super::per_call::*;
    pub(crate) use super::table::*;
    pub(crate) use super::tables::*;
}
