//! Write buffer managers, managers of table files, caches that are made by options.

use super::database::with;
use super::tables::with_capacity;
use super::values::{Built, fields};
use super::{rocksdb_cache_t, rocksdb_options_t};
use crate::border::exports;
use whitewater::{Cache, SstFileManager, WriteBufferManager};

/// A limit to the memory of memtables.
pub struct rocksdb_write_buffer_manager_t {
    manager: WriteBufferManager,
    costs_to_cache: bool,
}

/// A limit to the space of tables, and to the rate of their deletion.
pub struct rocksdb_sst_file_manager_t(SstFileManager);

pub type rocksdb_hyper_clock_cache_options_t = Built<HyperClock>;

/// Capacity and charge of an entry, both in bytes.
#[derive(Default)]
pub struct HyperClock {
    capacity: usize,
    charge: usize,
}

type Budget<'a> = Option<&'a rocksdb_write_buffer_manager_t>;
type Manager<'a> = Option<&'a rocksdb_sst_file_manager_t>;

fields! { rocksdb_hyper_clock_cache_options_t {
    "capacity": usize = 0, |o, v| o.capacity = v,
        set rocksdb_hyper_clock_cache_options_set_capacity;
    "num_shard_bits": i32 = -1, |_o, _v| (),
        set rocksdb_hyper_clock_cache_options_set_num_shard_bits;
    "estimated_entry_charge": usize = 0, |o, v| o.charge = v,
        set rocksdb_hyper_clock_cache_options_set_estimated_entry_charge;
}}

exports! {
    fn rocksdb_hyper_clock_cache_options_create(
        capacity: usize, charge: usize,
    ) -> Option<Box<rocksdb_hyper_clock_cache_options_t>> {
        Some(Box::new(Built::new(HyperClock { capacity, charge })))
    }
    fn rocksdb_hyper_clock_cache_options_destroy(
        _options: Option<Box<rocksdb_hyper_clock_cache_options_t>>,
    ) {}
    fn rocksdb_cache_create_hyper_clock(
        capacity: usize, charge: usize,
    ) -> Option<Box<rocksdb_cache_t>> {
        Some(with_capacity(Cache::new_hyper_clock_cache(capacity, charge), capacity))
    }
    fn rocksdb_cache_create_hyper_clock_opts(
        options: Option<&rocksdb_hyper_clock_cache_options_t>,
    ) -> Option<Box<rocksdb_cache_t>> {
        let HyperClock { capacity, charge } = options?.options;
        rocksdb_cache_create_hyper_clock(capacity, charge)
    }

    fn rocksdb_write_buffer_manager_create(
        size: usize, allow_stall: bool,
    ) -> Option<Box<rocksdb_write_buffer_manager_t>> {
        let manager = WriteBufferManager::new_write_buffer_manager(size, allow_stall);
        Some(Box::new(rocksdb_write_buffer_manager_t { manager, costs_to_cache: false }))
    }
    fn rocksdb_write_buffer_manager_create_with_cache(
        size: usize, cache: Option<&rocksdb_cache_t>, allow_stall: bool,
    ) -> Option<Box<rocksdb_write_buffer_manager_t>> {
        let cache = cache?.options.clone();
        let manager =
            WriteBufferManager::new_write_buffer_manager_with_cache(size, allow_stall, cache);
        Some(Box::new(rocksdb_write_buffer_manager_t { manager, costs_to_cache: true }))
    }
    fn rocksdb_write_buffer_manager_destroy(
        _manager: Option<Box<rocksdb_write_buffer_manager_t>>,
    ) {}
    fn rocksdb_write_buffer_manager_enabled(manager: Budget<'_>) -> bool {
        manager.is_some_and(|manager| manager.manager.enabled())
    }
    fn rocksdb_write_buffer_manager_cost_to_cache(manager: Budget<'_>) -> bool {
        manager.is_some_and(|manager| manager.costs_to_cache)
    }
    fn rocksdb_write_buffer_manager_memory_usage(manager: Budget<'_>) -> usize {
        manager.map_or(0, |manager| manager.manager.get_usage())
    }
    fn rocksdb_write_buffer_manager_mutable_memtable_memory_usage(manager: Budget<'_>) -> usize {
        manager.map_or(0, |manager| manager.manager.get_active_usage())
    }
    fn rocksdb_write_buffer_manager_dummy_entries_in_cache_usage(manager: Budget<'_>) -> usize {
        manager.map_or(0, |manager| manager.manager.get_cache_charge())
    }
    fn rocksdb_write_buffer_manager_buffer_size(manager: Budget<'_>) -> usize {
        manager.map_or(0, |manager| manager.manager.get_buffer_size())
    }
    fn rocksdb_write_buffer_manager_set_buffer_size(manager: Budget<'_>, size: usize) {
        if let Some(manager) = manager {
            manager.manager.set_buffer_size(size);
        }
    }
    fn rocksdb_write_buffer_manager_set_allow_stall(manager: Budget<'_>, allow: bool) {
        if let Some(manager) = manager {
            manager.manager.set_allow_stall(allow);
        }
    }
    fn rocksdb_options_set_write_buffer_manager(
        options: Option<&mut rocksdb_options_t>, manager: Budget<'_>,
    ) {
        if let Some(manager) = manager {
            with(options, |options| options.set_write_buffer_manager(&manager.manager));
        }
    }

    fn rocksdb_sst_file_manager_create(
        _env: Option<&super::rocksdb_env_t>,
    ) -> Option<Box<rocksdb_sst_file_manager_t>> {
        Some(Box::new(rocksdb_sst_file_manager_t(SstFileManager::new())))
    }
    fn rocksdb_sst_file_manager_destroy(_manager: Option<Box<rocksdb_sst_file_manager_t>>) {}
    fn rocksdb_sst_file_manager_set_max_allowed_space_usage(manager: Manager<'_>, bytes: u64) {
        if let Some(manager) = manager {
            manager.0.set_max_allowed_space_usage(bytes);
        }
    }
    fn rocksdb_sst_file_manager_set_compaction_buffer_size(manager: Manager<'_>, bytes: u64) {
        if let Some(manager) = manager {
            manager.0.set_compaction_buffer_size(bytes);
        }
    }
    fn rocksdb_sst_file_manager_is_max_allowed_space_reached(manager: Manager<'_>) -> bool {
        manager.is_some_and(|manager| manager.0.is_max_allowed_space_reached())
    }
    fn rocksdb_sst_file_manager_is_max_allowed_space_reached_including_compactions(
        manager: Manager<'_>,
    ) -> bool {
        manager.is_some_and(|manager| {
            manager.0.is_max_allowed_space_reached_including_compactions()
        })
    }
    fn rocksdb_sst_file_manager_get_total_size(manager: Manager<'_>) -> u64 {
        manager.map_or(0, |manager| manager.0.get_total_size())
    }
    fn rocksdb_sst_file_manager_get_delete_rate_bytes_per_second(manager: Manager<'_>) -> i64 {
        manager.map_or(0, |manager| manager.0.get_delete_rate_bytes_per_second())
    }
    fn rocksdb_sst_file_manager_set_delete_rate_bytes_per_second(manager: Manager<'_>, rate: i64) {
        if let Some(manager) = manager {
            manager.0.set_delete_rate_bytes_per_second(rate);
        }
    }
    fn rocksdb_sst_file_manager_get_max_trash_db_ratio(manager: Manager<'_>) -> f64 {
        manager.map_or(0.0, |manager| manager.0.get_max_trash_db_ratio())
    }
    fn rocksdb_sst_file_manager_set_max_trash_db_ratio(manager: Manager<'_>, ratio: f64) {
        if let Some(manager) = manager {
            manager.0.set_max_trash_db_ratio(ratio);
        }
    }
    fn rocksdb_sst_file_manager_get_total_trash_size(manager: Manager<'_>) -> u64 {
        manager.map_or(0, |manager| manager.0.get_total_trash_size())
    }
    fn rocksdb_options_set_sst_file_manager(
        options: Option<&mut rocksdb_options_t>, manager: Manager<'_>,
    ) {
        if let Some(manager) = manager {
            with(options, |options| options.set_sst_file_manager(&manager.0));
        }
    }
}
