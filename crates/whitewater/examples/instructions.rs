//! One operation, many times, for `scripts/instructions` to count what it takes.
//!
//! Single-threaded, with keys in a fixed order, so that the same number of
//! operations takes the same number of instructions but for a few. Those that end with
//! `-statistics` run with statistics of the default level.

use std::env::args;
use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;
use whitewater::{
    DB, Error, Options, ReadOptions, TransactionDB, TransactionDBOptions, WriteBatch, WriteOptions,
};

/// Entries that there are to read, and keys that are written.
const KEYS: u64 = 10_000;
/// Entries that there are to pop; at most as many operations.
const QUEUE: u64 = 40_000;
/// Entries of a scan.
const SCAN: u64 = 50;
/// Operations of a batch.
const BATCH: u64 = 8;

/// Keys in an order without neighbours.
fn key(i: u64) -> [u8; 16] {
    let mut key = *b"0000000000000000";
    key[8..].copy_from_slice(&(i * 7_919 % KEYS).to_be_bytes());
    key
}

fn put(db: &DB, n: u64, protection: usize) -> Result<(), Error> {
    let mut options = WriteOptions::default();
    options.set_protection_bytes_per_key(protection);
    (0..n).try_for_each(|i| db.put_opt(key(i), [7; 100], &options))
}

/// Transactions of one put each, with its lock.
fn put_in_transactions(dir: &Path, options: &Options, n: u64) -> Result<(), Error> {
    let db: TransactionDB = TransactionDB::open(options, &TransactionDBOptions::default(), dir)?;
    let put = |i| {
        let transaction = db.transaction();
        transaction.put(key(i), [7; 100])?;
        transaction.commit()
    };
    (0..KEYS).try_for_each(put)?;
    (0..n).try_for_each(put)
}

fn write(db: &DB, n: u64) -> Result<(), Error> {
    for i in 0..n / BATCH {
        let mut batch = WriteBatch::default();
        for j in 0..BATCH {
            batch.put(key(i * BATCH + j), [7; 100]);
        }
        db.write(batch)?;
    }
    Ok(())
}

fn get(db: &DB, n: u64) -> Result<(), Error> {
    for i in 0..n {
        let value = black_box(db.get_pinned(key(i))?);
        assert!(value.is_some_and(|value| value.len() == 100), "key {i}");
    }
    Ok(())
}

fn next(db: &DB, n: u64) -> Result<(), Error> {
    let mut seen = 0;
    while seen < n {
        let mut it = db.raw_iterator();
        it.seek_to_first();
        while it.valid() && seen < n {
            black_box((it.key(), it.value()));
            it.next();
            seen += 1;
        }
        it.status()?;
    }
    Ok(())
}

/// Writes every `nth` key again, so that there are newer versions in another source.
fn put_every(db: &DB, nth: u64) -> Result<(), Error> {
    let mut keys = (0..KEYS).step_by(nth as usize);
    keys.try_for_each(|i| db.put(key(i), [7; 100]))
}

/// Reads [`SCAN`] entries from each of `n` keys on, through an iterator of its own.
fn scan(db: &DB, n: u64) -> Result<(), Error> {
    for i in 0..n {
        let mut it = db.raw_iterator();
        it.seek(key(i));
        for _ in 0..SCAN {
            black_box(it.item());
            it.next();
        }
        it.status()?;
    }
    Ok(())
}

/// Finds each of `n` keys through an iterator of its own.
fn seek(db: &DB, n: u64) -> Result<(), Error> {
    for i in 0..n {
        let mut it = db.raw_iterator();
        it.seek(key(i));
        assert!(black_box(it.item()).is_some(), "key {i}");
    }
    Ok(())
}

/// [`seek`] through iterators that begin there and end behind all keys.
fn seek_bounded(db: &DB, n: u64) -> Result<(), Error> {
    for i in 0..n {
        let mut read = ReadOptions::default();
        read.set_iterate_range(key(i)..[0xff; 16]);
        let mut it = db.raw_iterator_opt(read);
        it.seek(key(i));
        assert!(black_box(it.item()).is_some(), "key {i}");
    }
    Ok(())
}

/// Takes the first entry or the last one, as queues do.
fn pop(db: &DB, n: u64, last: bool) -> Result<(), Error> {
    for _ in 0..n {
        let mut it = db.raw_iterator();
        match last {
            true => it.seek_to_last(),
            false => it.seek_to_first(),
        }
        let (key, value) = it.item().expect("there are enough entries");
        black_box(value);
        db.delete(key)?;
    }
    Ok(())
}

fn run(dir: &Path, operation: &str, n: u64) -> Result<bool, Error> {
    let mut options = Options::default();
    options.create_if_missing(true);
    // Nothing happens beside the operations.
    options.set_write_buffer_size(256 << 20);
    let (operation, with_statistics) = match operation.strip_suffix("-statistics") {
        Some(operation) => (operation, true),
        None => (operation, false),
    };
    let reads_compacted = matches!(
        operation,
        "scan" | "scan-compacted" | "seek" | "seek-bounded"
    );
    if reads_compacted {
        // Scans would ask for a compaction, which would end sooner or later.
        options.set_disable_auto_compactions(true);
    }
    if with_statistics {
        options.enable_statistics();
    }
    if operation == "transaction-put" {
        put_in_transactions(dir, &options, n)?;
        return Ok(true);
    }
    let db = DB::open(&options, dir)?;
    if matches!(operation, "pop" | "pop-last") {
        for i in 0..QUEUE {
            db.put(i.to_be_bytes(), [7; 100])?;
        }
        db.flush()?;
        pop(&db, n, operation == "pop-last")?;
        return Ok(true);
    }
    put(&db, KEYS, 0)?;
    if reads_compacted {
        db.compact_range::<&[u8], &[u8]>(None, None);
        if operation == "scan" {
            // A table of the last level, one of level 0, and the memtable.
            put_every(&db, 3)?;
            db.flush()?;
            put_every(&db, 5)?;
        }
        get(&db, KEYS)?;
    }
    if matches!(operation, "get" | "next") {
        db.flush()?;
        get(&db, KEYS)?; // the block cache holds it all
    }
    match operation {
        "put" => put(&db, n, 0)?,
        "put-protected" => put(&db, n, 8)?,
        "write" => write(&db, n)?,
        "get" | "get-memtable" => get(&db, n)?,
        "next" => next(&db, n)?,
        "scan" | "scan-compacted" => scan(&db, n)?,
        "seek" => seek(&db, n)?,
        "seek-bounded" => seek_bounded(&db, n)?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = args().skip(1).collect();
    if let [operation, n] = &arguments[..]
        && let Ok(n) = n.parse()
    {
        let dir = tempfile::tempdir().expect("a temporary directory");
        match run(dir.path(), operation, n) {
            Ok(true) => return ExitCode::SUCCESS,
            Ok(false) => {}
            Err(e) => {
                eprintln!("{e}");
                return ExitCode::FAILURE;
            }
        }
    }
    eprintln!(
        "usage: instructions OPERATION[-statistics] N, where OPERATION is one of \
          put, put-protected, write, get, get-memtable, next, scan, scan-compacted, \
          seek, pop, pop-last, transaction-put"
    );
    ExitCode::from(2)
}
