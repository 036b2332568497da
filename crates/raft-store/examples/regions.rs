//! What thousands of column families, or of databases, in one process take to open and to hold.
//!
//! `cargo run --release --example regions -- --dir /a/disk` makes 10,000 column families of one
//! database, as a node with as many Raft groups has, writes to each, and opens the database again
//! with all of them. With `--databases` they are databases, which share memory for memtables, block
//! cache and background threads. Every entry is read back.

use clap::Parser;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;
use whitewater::{
    BlockBasedOptions, Cache, ColumnFamilyDescriptor, DB, DBWithThreadMode, Env, MultiThreaded,
    Options, WriteBufferManager,
};

#[derive(Parser)]
#[command(about = "Time and memory of many column families or databases in one process.")]
struct Flags {
    /// Where databases are made, and removed
    #[arg(long)]
    dir: Option<PathBuf>,
    /// How many there are
    #[arg(long, default_value_t = 10_000)]
    regions: usize,
    /// Databases instead of column families
    #[arg(long)]
    databases: bool,
    /// MiB for memtables of all together
    #[arg(long, default_value_t = 256)]
    memtables: usize,
    /// Entries of each, with values of 128 bytes
    #[arg(long, default_value_t = 10)]
    entries: usize,
}

/// The figure `name` of this process, in KiB or as a count.
fn of_process(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(name));
    let figure = line.and_then(|line| line.split_whitespace().nth(1));
    figure
        .and_then(|figure| figure.parse().ok())
        .unwrap_or_default()
}

/// Prints what the step took and what the process holds after it.
fn told<T>(
    step: &str,
    does: impl FnOnce() -> Result<T, Box<dyn Error>>,
) -> Result<T, Box<dyn Error>> {
    let begun = Instant::now();
    let made = does()?;
    let files = std::fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count());
    println!(
        "{step:<10} {:>8.2} {:>8.0} {:>8} {:>8}",
        begun.elapsed().as_secs_f64(),
        of_process("VmRSS:") as f64 / 1024.0,
        files,
        of_process("Threads:"),
    );
    Ok(made)
}

/// What all have in common.
fn shared(flags: &Flags) -> Result<Options, Box<dyn Error>> {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_env(&Env::new()?);
    options.set_write_buffer_manager(&WriteBufferManager::new_write_buffer_manager(
        flags.memtables << 20,
        false,
    ));
    let mut tables = BlockBasedOptions::default();
    tables.set_block_cache(&Cache::new_lru_cache(64 << 20));
    options.set_block_based_table_factory(&tables);
    // A table keeps its file open until others need the place.
    options.set_max_open_files(1000);
    Ok(options)
}

fn key(entry: usize) -> String {
    format!("key-{entry:08}")
}

fn value(region: usize, entry: usize) -> String {
    format!("{region}/{entry}/{}", "x".repeat(128))
}

fn families(flags: &Flags, path: &Path) -> Result<(), Box<dyn Error>> {
    type Database = DBWithThreadMode<MultiThreaded>;
    let options = shared(flags)?;
    let name = |region: usize| format!("region-{region}");
    let names: Vec<String> = (0..flags.regions).map(name).collect();
    let described = || {
        let default = std::iter::once("default");
        let names = default.chain(names.iter().map(String::as_str));
        names.map(|name| ColumnFamilyDescriptor::new(name, options.clone()))
    };
    let family = |db: &Database, region: usize, read: bool| -> Result<(), Box<dyn Error>> {
        let cf = db.cf_handle(&names[region]).ok_or("a family is missing")?;
        for entry in 0..flags.entries {
            if read {
                let found = db.get_cf(&cf, key(entry))?;
                assert_eq!(found.as_deref(), Some(value(region, entry).as_bytes()));
            } else {
                db.put_cf(&cf, key(entry), value(region, entry))?;
            }
        }
        Ok(())
    };
    let each = |db: &Database, read| (0..flags.regions).try_for_each(|at| family(db, at, read));
    let db = told("create", || {
        let db = Database::open(&options, path)?;
        db.create_cfs(&names, &options)?;
        Ok(db)
    })?;
    told("write", || each(&db, false))?;
    told("close", || {
        drop(db);
        Ok(())
    })?;
    // The log has what was written, and becomes tables.
    let db = told("recover", || {
        Ok(Database::open_cf_descriptors(&options, path, described())?)
    })?;
    told("read", || each(&db, true))?;
    drop(db);
    let db = told("open", || {
        Ok(Database::open_cf_descriptors(&options, path, described())?)
    })?;
    told("read", || each(&db, true))
}

fn databases(flags: &Flags, dir: &Path) -> Result<(), Box<dyn Error>> {
    let options = shared(flags)?;
    let open = || -> Result<Vec<DB>, Box<dyn Error>> {
        (0..flags.regions)
            .map(|region| Ok(DB::open(&options, dir.join(region.to_string()))?))
            .collect()
    };
    let read = |dbs: &[DB]| -> Result<(), Box<dyn Error>> {
        for (region, db) in dbs.iter().enumerate() {
            for entry in 0..flags.entries {
                let found = db.get(key(entry))?;
                assert_eq!(found.as_deref(), Some(value(region, entry).as_bytes()));
            }
        }
        Ok(())
    };
    let dbs = told("create", open)?;
    told("write", || {
        for (region, db) in dbs.iter().enumerate() {
            for entry in 0..flags.entries {
                db.put(key(entry), value(region, entry))?;
            }
        }
        Ok(())
    })?;
    told("close", || {
        drop(dbs);
        Ok(())
    })?;
    let dbs = told("recover", open)?;
    told("read", || read(&dbs))?;
    drop(dbs);
    let dbs = told("open", open)?;
    told("read", || read(&dbs))
}

fn main() -> Result<(), Box<dyn Error>> {
    let flags = Flags::parse();
    let dir = flags.dir.clone().unwrap_or_else(std::env::temp_dir);
    let dir = tempfile::tempdir_in(dir)?;
    println!(
        "{:<10} {:>8} {:>8} {:>8} {:>8}",
        "step", "seconds", "RSS MiB", "files", "threads"
    );
    if flags.databases {
        databases(&flags, dir.path())
    } else {
        families(&flags, dir.path())
    }
}
