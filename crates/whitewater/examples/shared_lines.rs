//! One kind of read, by two threads one after the other, for `scripts/shared-lines` to find the
//! cache lines that both of them touch and at least one of them writes.
//!
//! Each thread first does the same operations unmeasured, so that what a thread makes once is made.
//! Stores to `MARKS` say when the measured operations of a thread begin and end.

use std::env::args;
use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;
use whitewater::{BlockBasedOptions, DB, DBRawIterator, Error, ErrorKind, Options, ReadOptions};

/// Entries that there are to read. They fill some blocks.
const KEYS: u64 = 200;
/// Keys of a `multi_get`.
const BATCH: u64 = 8;
/// The threads.
const THREADS: usize = 2;
/// How long a thread waits for the other one to come to its barrier.
const REST: Duration = Duration::from_millis(200);

/// A cache line of its own.
#[repr(align(128))]
struct Mark(AtomicU64);

/// Begin and end of each thread. Written by: the thread. Read by: nobody; the stores are seen in
/// the trace. Publishes nothing.
static MARKS: [Mark; 2 * THREADS] = [const { Mark(AtomicU64::new(0)) }; 2 * THREADS];

/// Even keys exist, odd ones do not.
fn key(i: u64) -> [u8; 16] {
    let mut key = *b"0000000000000000";
    key[8..].copy_from_slice(&i.to_be_bytes());
    key
}

/// The keys in an order without neighbours.
fn scattered(i: u64) -> [u8; 16] {
    key(2 * (i * 79 % KEYS))
}

fn get(db: &DB, n: u64) -> Result<(), Error> {
    for i in 0..n {
        let value = black_box(db.get(scattered(i))?);
        assert!(value.is_some_and(|value| value.len() == 100), "key {i}");
    }
    Ok(())
}

fn get_pinned(db: &DB, n: u64) -> Result<(), Error> {
    for i in 0..n {
        let value = black_box(db.get_pinned(scattered(i))?);
        assert!(value.is_some_and(|value| value.len() == 100), "key {i}");
    }
    Ok(())
}

fn get_absent(db: &DB, n: u64) -> Result<(), Error> {
    for i in 0..n {
        assert!(db.get_pinned(key(2 * (i * 79 % KEYS) + 1))?.is_none());
    }
    Ok(())
}

fn multi_get(db: &DB, n: u64) -> Result<(), Error> {
    for i in 0..n {
        let keys: Vec<_> = (0..BATCH).map(|j| scattered(BATCH * i + j)).collect();
        for value in db.multi_get(&keys) {
            assert!(value?.is_some(), "batch {i}");
        }
    }
    Ok(())
}

fn iterators(db: &DB, n: u64) {
    for _ in 0..n {
        drop(black_box(db.raw_iterator()));
    }
}

fn bounded_iterators(db: &DB, n: u64) {
    for _ in 0..n {
        let mut options = ReadOptions::default();
        options.set_iterate_upper_bound(key(1));
        drop(black_box(db.raw_iterator_opt(options)));
    }
}

fn iterators_with_own_cursors(db: &DB, n: u64) {
    for _ in 0..n {
        let mut options = ReadOptions::default();
        options.fill_cache(false);
        drop(black_box(db.raw_iterator_opt(options)));
    }
}

fn seek(it: &mut DBRawIterator<'_>, n: u64) {
    for i in 0..n {
        it.seek(scattered(i));
        assert!(it.valid());
    }
}

fn next(it: &mut DBRawIterator<'_>, n: u64) {
    for _ in 0..n {
        it.next();
        assert!(it.valid());
        black_box((it.key(), it.value()));
    }
}

fn snapshots(db: &DB, n: u64) {
    for _ in 0..n {
        drop(black_box(db.snapshot()));
    }
}

/// Runs `read` with few operations, and then `n` times between its marks.
fn measured<T>(
    thread: usize,
    turn: &Barrier,
    n: u64,
    mut state: T,
    mut read: impl FnMut(&mut T, u64) -> Result<(), Error>,
) -> Result<(), Error> {
    read(&mut state, 2)?;
    let mut result = Ok(());
    for now in 0..THREADS {
        turn.wait();
        if now == thread {
            // The trace does not say whose an access is: the other thread waits by then.
            thread::sleep(REST);
            MARKS[2 * thread].0.store(1, Relaxed);
            result = read(&mut state, n);
            MARKS[2 * thread + 1].0.store(1, Relaxed);
        }
    }
    turn.wait();
    result
}

fn run_thread(db: &DB, operation: &str, n: u64, id: usize, turn: &Barrier) -> Result<(), Error> {
    let unit = |read: fn(&DB, u64)| {
        move |db: &mut &DB, n: u64| {
            read(db, n);
            Ok(())
        }
    };
    let whole = |read: fn(&DB, u64) -> Result<(), Error>| move |db: &mut &DB, n: u64| read(db, n);
    match operation {
        "get" | "get-memtable" => measured(id, turn, n, db, whole(get)),
        "get-pinned" => measured(id, turn, n, db, whole(get_pinned)),
        "get-absent" => measured(id, turn, n, db, whole(get_absent)),
        "multi-get" => measured(id, turn, n, db, whole(multi_get)),
        "iterator" | "iterator-memtable" => measured(id, turn, n, db, unit(iterators)),
        "iterator-bounded" => measured(id, turn, n, db, unit(bounded_iterators)),
        "iterator-own" => measured(id, turn, n, db, unit(iterators_with_own_cursors)),
        "snapshot" => measured(id, turn, n, db, unit(snapshots)),
        "seek" | "next" => {
            let mut it = db.raw_iterator();
            it.seek_to_first();
            measured(id, turn, n, it, |it, n| {
                match operation {
                    "seek" => seek(it, n),
                    _ => next(it, n),
                }
                it.status()
            })
        }
        _ => Err(Error::new(
            ErrorKind::InvalidArgument,
            format!("no operation is called {operation}"),
        )),
    }
}

fn run(dir: &Path, operation: &str, n: u64) -> Result<(), Error> {
    let mut options = Options::default();
    options.create_if_missing(true);
    let mut table = BlockBasedOptions::default();
    table.set_bloom_filter(10.0, false);
    options.set_block_based_table_factory(&table);
    let db = DB::open(&options, dir)?;
    (0..KEYS).try_for_each(|i| db.put(scattered(i), [7; 100]))?;
    if !operation.ends_with("-memtable") {
        db.flush()?;
        get(&db, KEYS)?; // the block cache holds it all
    }
    for mark in &MARKS {
        println!("{:x}", &raw const mark.0 as usize);
    }
    let (db, turn) = (&db, &Barrier::new(THREADS));
    thread::scope(|scope| {
        let begin = |id| scope.spawn(move || run_thread(db, operation, n, id, turn));
        let threads: Vec<_> = (0..THREADS).map(begin).collect();
        let mut results = threads.into_iter().map(|thread| thread.join());
        results.try_for_each(|result| result.expect("no thread panics"))
    })
}

fn main() -> ExitCode {
    let arguments: Vec<String> = args().skip(1).collect();
    let [operation, n] = &arguments[..] else {
        eprintln!("usage: shared_lines OPERATION N");
        return ExitCode::from(2);
    };
    let Ok(n) = n.parse() else {
        eprintln!("{n} is not a number of operations");
        return ExitCode::from(2);
    };
    let dir = tempfile::tempdir().expect("a temporary directory");
    match run(dir.path(), operation, n) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}
