//! Resident memory of processes, and databases under a memory limit. This is a binary of its own.
//! Each test starts it again as a child process, and an environment variable names the part that
//! the child plays.
#![cfg(target_os = "linux")]

#[path = "../../concurrent/tests/common/skip.rs"]
mod skip;

use skip::skip;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, fs, process, thread};
use whitewater::perf::MemoryUsageBuilder;
use whitewater::{
    BlockBasedOptions, Cache, ColumnFamilyDescriptor, DB, DBCompressionType, Options,
    WriteBufferManager, properties,
};

const PART: &str = "WHITEWATER_MEMORY_PART";
const GROUP: &str = "WHITEWATER_MEMORY_GROUP";
const MIB: u64 = 1 << 20;

/// Figures that the part of a test has printed, by name.
type Figures = HashMap<String, u64>;

/// Runs `part` of a test in a child process, in a memory control group if one is given. Returns
/// what the child has [told](tell).
fn in_own_process(test: &str, group: Option<&Group>, part: fn()) -> Option<Figures> {
    if env::var_os(PART).is_some() {
        if let Some(group) = env::var_os(GROUP) {
            let joined = fs::write(Path::new(&group).join("cgroup.procs"), "0");
            joined.expect("a group takes its first process");
        }
        part();
        return None;
    }
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args(["--exact", test, "--nocapture"])
        .env(PART, "1");
    if let Some(group) = group {
        command.env(GROUP, &group.0);
    }
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    // A signal means that the group's limit has ended the process.
    assert!(output.status.success(), "{}: {text}{errors}", output.status);
    let figures = text.lines().filter_map(|line| {
        let (name, figure) = line.strip_prefix("told ")?.split_once('=')?;
        Some((name.to_owned(), figure.parse().ok()?))
    });
    Some(figures.collect())
}

fn tell(name: &str, figure: u64) {
    // On a line of its own, whatever the test harness prints.
    println!("\ntold {name}={figure}");
}

/// Bytes of memory that only this process uses.
fn resident() -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|line| line.starts_with("RssAnon:"));
    let kib = line.expect("Linux 4.5 tells").split_whitespace().nth(1);
    kib.unwrap().parse::<u64>().unwrap() << 10
}

/// A memory control group for one test, removed when dropped.
struct Group(PathBuf);

impl Group {
    /// A group of at most `limit` bytes. `None`, with a message, if there can be none.
    fn new(name: &str, limit: u64) -> Option<Group> {
        let made = Self::of_version_2(name, limit).or_else(|| Self::of_version_1(name, limit));
        if made.is_none() {
            skip(
                "no memory control group can be made (that takes root and a mounted \
                 hierarchy with the memory controller): only resident memory is looked at",
            );
        }
        made
    }

    fn of_version_2(name: &str, limit: u64) -> Option<Group> {
        let root = Path::new("/sys/fs/cgroup");
        let controllers = fs::read_to_string(root.join("cgroup.controllers")).ok()?;
        if !controllers.split_whitespace().any(|c| c == "memory") {
            return None;
        }
        // The controller may be on already, or this user may not be allowed to turn it on.
        let _ = fs::write(root.join("cgroup.subtree_control"), "+memory");
        let group = Self::make(root, name)?;
        fs::write(group.0.join("memory.max"), limit.to_string()).ok()?;
        let _ = fs::write(group.0.join("memory.swap.max"), "0");
        Some(group)
    }

    fn of_version_1(name: &str, limit: u64) -> Option<Group> {
        let group = Self::make(Path::new("/sys/fs/cgroup/memory"), name)?;
        fs::write(group.0.join("memory.limit_in_bytes"), limit.to_string()).ok()?;
        Some(group)
    }

    fn make(root: &Path, name: &str) -> Option<Group> {
        let dir = root.join(format!("whitewater-{name}-{}", process::id()));
        fs::create_dir(&dir).ok()?;
        Some(Group(dir))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// 300 families of one key took a huge page each, and kept it when closed.
#[test]
fn families_of_one_key_take_some_kib_each_and_leave_nothing_when_closed() {
    const FAMILIES: u64 = 300;
    let part = || {
        let dir = tempfile::tempdir().unwrap();
        let mut o = Options::default();
        o.create_if_missing(true);
        o.create_missing_column_families(true);
        let manager = WriteBufferManager::new_write_buffer_manager(64 << 20, false);
        o.set_write_buffer_manager(&manager);
        let names: Vec<_> = (0..FAMILIES).map(|i| format!("family{i}")).collect();
        let families = names.iter();
        let families = families.map(|name| ColumnFamilyDescriptor::new(name, o.clone()));
        let before = resident();
        let db = DB::open_cf_descriptors(&o, dir.path(), families).unwrap();
        tell("opened", resident() - before);
        for name in &names {
            let cf = db.cf_handle(name).unwrap();
            db.put_cf(&cf, "key", "value").unwrap();
        }
        tell("written", resident() - before);
        tell("charged", manager.get_usage() as u64);
        drop(db);
        tell("closed", resident().saturating_sub(before));
    };
    let test = "families_of_one_key_take_some_kib_each_and_leave_nothing_when_closed";
    let Some(told) = in_own_process(test, None, part) else {
        return;
    };
    eprintln!("{told:?}");
    assert!(told["written"] < FAMILIES * (64 << 10), "{told:?}");
    assert!(
        told["written"] - told["opened"] < FAMILIES * (16 << 10),
        "{told:?}"
    );
    assert!(told["charged"] <= FAMILIES * (4 << 10), "{told:?}");
    assert!(told["closed"] < told["written"], "{told:?}");
}

/// A memtable that was flushed stayed in memory for as long as the process lived.
#[test]
fn memory_of_flushed_memtables_goes_back_while_the_database_is_open() {
    const WRITTEN: u64 = 60 * MIB;
    let part = || {
        let dir = tempfile::tempdir().unwrap();
        let mut o = Options::default();
        o.create_if_missing(true);
        o.set_write_buffer_size(64 << 20);
        let db = DB::open(&o, dir.path()).unwrap();
        let before = resident();
        let value = vec![7; 4_000];
        for i in 0..WRITTEN / 4_000 {
            db.put(i.to_be_bytes(), &value).unwrap();
        }
        tell("written", resident() - before);
        db.flush().unwrap();
        let start = Instant::now();
        while resident() - before > WRITTEN / 4 && start.elapsed() < Duration::from_secs(60) {
            thread::sleep(Duration::from_millis(100));
        }
        tell("idle", resident() - before);
    };
    let test = "memory_of_flushed_memtables_goes_back_while_the_database_is_open";
    let Some(told) = in_own_process(test, None, part) else {
        return;
    };
    eprintln!("{told:?}");
    assert!(told["written"] >= WRITTEN, "{told:?}");
    assert!(told["idle"] <= WRITTEN / 4, "{told:?}");
}

/// Caches blocks by several threads, and writes all records again, so that a compaction deletes
/// their tables.
fn cache_and_compact() {
    const RECORDS: u64 = 40_000;
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::new_lru_cache(128 << 20);
    let mut table = BlockBasedOptions::default();
    table.set_block_cache(&cache);
    let mut o = Options::default();
    o.create_if_missing(true);
    o.set_block_based_table_factory(&table);
    o.set_write_buffer_size(16 << 20);
    o.set_compression_type(DBCompressionType::None);
    let before = resident();
    let db = DB::open(&o, dir.path()).unwrap();
    let put = |i: u64| db.put(i.to_be_bytes(), vec![i as u8; 2_000]).unwrap();
    (0..RECORDS).for_each(put);
    db.compact_range::<&[u8], &[u8]>(None, None);
    thread::scope(|scope| {
        for t in 0..4 {
            let db = &db;
            scope.spawn(move || {
                for i in (t..RECORDS).step_by(4) {
                    let found = db.get_pinned(i.to_be_bytes()).unwrap();
                    assert_eq!(found.unwrap()[0], i as u8);
                }
            });
        }
    });
    tell("cached", cache.get_usage() as u64);
    let read = resident() - before;
    tell("read", read);
    (0..RECORDS).for_each(put);
    db.compact_range::<&[u8], &[u8]>(None, None);
    let start = Instant::now();
    // Memory goes back in pieces of 8 MiB, and what a compaction has used itself only with them.
    while resident() - before > read / 2 && start.elapsed() < Duration::from_secs(60) {
        thread::sleep(Duration::from_millis(100));
    }
    tell("still cached", cache.get_usage() as u64);
    tell("compacted", resident() - before);
}

/// The C library kept it for as long as the process lived.
#[test]
#[cfg(target_env = "gnu")]
fn memory_of_the_cached_blocks_of_deleted_tables_goes_back() {
    let test = "memory_of_the_cached_blocks_of_deleted_tables_goes_back";
    let Some(told) = in_own_process(test, None, cache_and_compact) else {
        return;
    };
    eprintln!("{told:?}");
    assert!(told["cached"] >= 70 * MIB, "{told:?}");
    assert!(told["still cached"] <= 4 * MIB, "{told:?}");
    assert!(told["compacted"] <= told["read"] / 2, "{told:?}");
}

/// Fills a cache, and a memtable partly, and tells what is said to take memory.
fn fill_and_add_up() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::new_lru_cache(64 << 20);
    let mut table = BlockBasedOptions::default();
    table.set_block_cache(&cache);
    table.set_bloom_filter(10.0, false);
    let mut o = Options::default();
    o.create_if_missing(true);
    o.set_block_based_table_factory(&table);
    o.set_write_buffer_size(48 << 20);
    o.set_compression_type(DBCompressionType::None);
    let before = resident();
    let db = DB::open(&o, dir.path()).unwrap();
    const IN_TABLES: u64 = 40_000;
    const IN_MEMORY: u64 = 16_000;
    let put = |i: u64| db.put(i.to_be_bytes(), vec![i as u8; 2_000]).unwrap();
    (0..IN_TABLES).for_each(put);
    db.flush().unwrap();
    for i in 0..IN_TABLES {
        let found = db.get_pinned(i.to_be_bytes()).unwrap();
        assert_eq!(found.unwrap()[0], i as u8);
    }
    (0..IN_MEMORY).for_each(put);
    let mut builder = MemoryUsageBuilder::new().unwrap();
    builder.add_db(&db);
    builder.add_cache(&cache);
    // Another thread gives back what is kept for memtables; this must not happen in between.
    let figures_at_rest = || {
        let (usage, grown) = (builder.build().unwrap(), resident() - before);
        let parts = db.property_map_value(properties::MEMORY).unwrap().unwrap();
        let kept = usage.approximate_kept_for_mem_tables();
        let still = builder.build().unwrap().approximate_kept_for_mem_tables();
        let at_rest = still == kept && (resident() - before).abs_diff(grown) < MIB;
        at_rest.then_some((usage, grown, parts))
    };
    let figures = (0..10_000).find_map(|_| figures_at_rest());
    let (usage, grown, parts) = figures.expect("memory does not change for ever");
    // Pages of mapped files are those of the system's cache, too.
    tell(
        "says",
        usage.approximate_total() - usage.approximate_log_total(),
    );
    tell("system", grown);
    tell("logs", usage.approximate_log_total());
    tell("cached", cache.get_usage() as u64);
    tell("memtables", usage.approximate_mem_table_unflushed());
    tell("kept", usage.approximate_kept_for_mem_tables());
    tell("readers", usage.approximate_mem_table_readers_total());
    tell("metadata", usage.approximate_file_metadata_total());
    let part = |name: &str| parts[name].parse::<u64>().unwrap();
    let named = parts.keys().filter(|name| *name != "total");
    assert_eq!(named.map(|name| part(name)).sum::<u64>(), part("total"));
    tell("property", part("total") - part("logs"));
}

#[test]
fn what_is_said_to_take_memory_is_what_the_system_says() {
    let test = "what_is_said_to_take_memory_is_what_the_system_says";
    let Some(told) = in_own_process(test, None, fill_and_add_up) else {
        return;
    };
    eprintln!("{told:?}");
    let system = told["system"];
    for sum in ["says", "property"] {
        let off = told[sum].abs_diff(system);
        assert!(off <= system / 10, "{sum} is {off} off: {told:?}");
    }
    assert!(
        told["cached"] >= 60 * MIB && told["memtables"] >= 30 * MIB,
        "{told:?}"
    );
    assert!(
        told["logs"] <= 16 * MIB,
        "of 112 MiB that were logged: {told:?}"
    );
    assert!(told["readers"] > 0 && told["metadata"] > 0, "{told:?}");
}

const CACHE: usize = 16 << 20;
const BUFFERS: usize = 8 << 20;
/// What else a process has: code, threads, and the buffers of compactions and flushes.
const BESIDES: u64 = 24 * MIB;
const LIMITS: u64 = CACHE as u64 + BUFFERS as u64 + BESIDES;

/// Loads several times what the limits allow, and reads it at random by more threads than there are
/// processors.
fn load_and_read() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::new_lru_cache(CACHE);
    let manager = WriteBufferManager::new_write_buffer_manager(BUFFERS, true);
    let mut table = BlockBasedOptions::default();
    table.set_block_cache(&cache);
    table.set_cache_index_and_filter_blocks(true);
    let mut o = Options::default();
    o.create_if_missing(true);
    o.set_block_based_table_factory(&table);
    o.set_write_buffer_manager(&manager);
    o.set_compression_type(DBCompressionType::None);
    let before = resident();
    let db = DB::open(&o, dir.path()).unwrap();
    let mut most = 0;
    let key = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
    const RECORDS: u64 = 400_000;
    for i in 0..RECORDS {
        db.put(key(i), [i as u8; 100]).unwrap();
        if i % 1_000 == 0 {
            most = most.max(resident() - before);
        }
    }
    tell("loading", most);
    db.flush().unwrap();
    thread::scope(|scope| {
        for t in 0..8 {
            let db = &db;
            scope.spawn(move || {
                for i in 0..12_000 {
                    let i = (i * 7919 + t * 50_021) % RECORDS;
                    assert_eq!(db.get(key(i)).unwrap().unwrap(), [i as u8; 100]);
                }
            });
        }
    });
    tell("cached", cache.get_usage() as u64);
    // Memory of freed memtables is kept for some seconds.
    let start = Instant::now();
    while resident() - before > LIMITS && start.elapsed() < Duration::from_secs(60) {
        thread::sleep(Duration::from_millis(100));
    }
    tell("read", resident() - before);
}

/// The cache took far more than its capacity, and memory of memtables was kept.
#[test]
fn a_process_keeps_to_the_limits_of_its_cache_and_its_write_buffers() {
    let test = "a_process_keeps_to_the_limits_of_its_cache_and_its_write_buffers";
    // The kernel's own structures and the pages of the binary count, too.
    let of_system = 16 * MIB;
    let inside = env::var_os(PART).is_some();
    let group = (!inside).then(|| Group::new("limits", LIMITS + of_system));
    let group = group.flatten();
    let Some(told) = in_own_process(test, group.as_ref(), load_and_read) else {
        return;
    };
    eprintln!("{told:?}, in a group: {}", group.is_some());
    assert!(told["loading"] <= LIMITS, "{told:?}");
    assert!(told["read"] <= LIMITS, "{told:?}");
    assert!(told["cached"] >= CACHE as u64 * 9 / 10, "{told:?}");
}
