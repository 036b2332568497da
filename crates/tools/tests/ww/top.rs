//! `ww top`: what it shows of monitors and of databases of other processes, what it says of those
//! that are not there, and that it gives the terminal back.

use super::{fails, made, prints, skip};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use whitewater::properties::PropName;
use whitewater::statistics::{Histogram, Ticker};
use whitewater::{DB, Options, properties};
use whitewater_monitor::{Monitor, units};

fn watched() -> (TempDir, DB, Monitor) {
    let mut options = Options::default();
    options.enable_statistics();
    watched_with(&options)
}

fn watched_with(options: &Options) -> (TempDir, DB, Monitor) {
    let dir = made();
    let db = DB::open_cf(options, dir.path(), ["default", "orders"]).expect("opens");
    let monitor = Monitor::builder()
        .add(&db)
        .interval(Duration::from_millis(20))
        .listen("127.0.0.1:0")
        .expect("listens");
    (dir, db, monitor)
}

/// Whether a line of `text` has all `words`, with nothing but spaces between.
fn has(text: &str, words: &str) -> bool {
    let squeezed = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    text.lines().any(|line| squeezed(line).contains(words))
}

#[test]
fn a_monitor_is_shown() {
    let (dir, db, monitor) = watched();
    for n in 0..50 {
        db.get(format!("key{n:03}")).expect("read");
    }
    let url = format!("http://{}", monitor.address());
    for place in [
        format!("{url}/"),
        format!("{url}/db/0"),
        format!("{url}/db/0/write-path"),
    ] {
        let text = prints(dir.path(), &format!("top {place} --once --interval 0.1"));
        for words in [
            "Writes are not held back.",
            "ordered commit",
            "orders 0 1 0",
            "default level0-files",
            "block cache:",
            "Steps of a write",
        ] {
            assert!(has(&text, words), "{place}: {words}: {text}");
        }
        assert!(has(&text, &db.path().display().to_string()), "{text}");
    }
}

#[test]
fn the_numbers_are_those_of_properties_at_rest() {
    let mut options = Options::default();
    options.enable_statistics();
    let (dir, db, monitor) = watched_with(&options);
    db.flush().expect("flushed");
    // It returns before it has let go of all that it used.
    db.wait_for_compact(&Default::default()).expect("at rest");
    for n in 0..30 {
        let value = vec![b'v'; 100];
        db.put(format!("more{n:03}"), value).expect("written");
        db.get(format!("key{n:03}")).expect("read");
    }
    let url = format!("http://{}/", monitor.address());
    let begin = Instant::now();
    let text = loop {
        let text = prints(dir.path(), &format!("top {url} --once --interval 0.1"));
        // The reads above are no longer in the last interval.
        if has(&text, "keys read/s 0") && has(&text, "get 0") {
            break text;
        }
        assert!(begin.elapsed() < Duration::from_secs(120), "{text}");
    };
    let by_properties = [memory(&db, &options), levels(&db), calls(&db, &options)].concat();
    for words in by_properties {
        assert!(has(&text, &words), "{words}: {text}");
    }
}

fn int(db: &DB, name: &PropName) -> u64 {
    let value = db.property_int_value(name);
    value.expect("read").expect("known")
}

fn of_bytes(db: &DB, name: &PropName) -> String {
    units::bytes(int(db, name) as f64)
}

fn of_count(db: &DB, name: &PropName) -> String {
    units::count(int(db, name) as f64)
}

/// What is shown of memtables and of the block cache.
fn memory(db: &DB, options: &Options) -> Vec<String> {
    let memtable = db.property_value(properties::MEMTABLE).expect("read");
    let hits = options.get_ticker_count(Ticker::BlockCacheHit);
    let misses = options.get_ticker_count(Ticker::BlockCacheMiss);
    assert!(hits > 0 && int(db, properties::NUM_ENTRIES_ACTIVE_MEM_TABLE) > 0);
    vec![
        format!(
            "default {} {} {} {} {} {}",
            memtable.expect("known"),
            of_bytes(db, properties::CUR_SIZE_ACTIVE_MEM_TABLE),
            of_count(db, properties::NUM_ENTRIES_ACTIVE_MEM_TABLE),
            of_count(db, properties::NUM_IMMUTABLE_MEM_TABLE),
            of_bytes(db, properties::SIZE_ALL_MEM_TABLES),
            of_bytes(db, properties::ESTIMATE_TABLE_READERS_MEM),
        ),
        format!(
            "block cache: {} of {}, {} in use; found - now, {} since the beginning",
            of_bytes(db, properties::BLOCK_CACHE_USAGE),
            of_bytes(db, properties::BLOCK_CACHE_CAPACITY),
            of_bytes(db, properties::BLOCK_CACHE_PINNED_USAGE),
            units::percent(hits as f64 / (hits + misses) as f64),
        ),
    ]
}

/// What is shown of levels, of the column family, and of what holds writers back.
fn levels(db: &DB) -> Vec<String> {
    let cfstats = db.property_map_value("rocksdb.cfstats").expect("read");
    let cfstats = cfstats.expect("known");
    let cfstat = |name: &str| units::factor(cfstats[name].parse().expect("a number"));
    let tables = of_bytes(db, properties::LIVE_SST_FILES_SIZE);
    let live = int(db, properties::ESTIMATE_LIVE_DATA_SIZE);
    let space = int(db, properties::LIVE_SST_FILES_SIZE) as f64 / live as f64;
    let files = of_count(db, &properties::num_files_at_level(0));
    assert_eq!(files, "2");
    vec![
        format!(
            "default 0 {files} 0 {tables} {}",
            cfstat("compaction.L0.Score")
        ),
        format!(
            "default - {} {tables} {} {} 0 B {} {}",
            of_count(db, properties::ESTIMATE_NUM_KEYS),
            units::bytes(live as f64),
            of_bytes(db, properties::ESTIMATE_PENDING_COMPACTION_BYTES),
            cfstat("compaction.Sum.WriteAmp"),
            units::factor(space),
        ),
        // The defaults of the options.
        format!("default level0-files {files} 20 36"),
        "default memtables 0 never 2".to_owned(),
        "default pending-bytes 0 B 64 GiB 256 GiB".to_owned(),
    ]
}

/// What is shown of calls and jobs.
fn calls(db: &DB, options: &Options) -> Vec<String> {
    let gets = options.get_histogram_data(Histogram::DbGet);
    assert_eq!(gets.count(), 30);
    vec![
        format!("get 0 - - - - 30 {}", units::micros(gets.p99())),
        format!(
            "Jobs: {} flushes and {} compactions run",
            int(db, properties::NUM_RUNNING_FLUSHES),
            int(db, properties::NUM_RUNNING_COMPACTIONS)
        ),
        "entries written/s 0".to_owned(),
        "log syncs/s 0".to_owned(),
    ]
}

#[test]
fn a_database_of_another_process_is_shown_by_its_files() {
    let dir = made();
    let text = prints(dir.path(), "top {db} --once --interval 0.05");
    assert!(has(&text, "Seen by its files."), "{text}");
    assert!(has(&text, "orders 0 1 0"), "{text}");
    for claim in ["not held back", "refused"] {
        assert!(!text.contains(claim), "{text}");
    }
    let named = prints(dir.path(), "top --db {db} --once --interval 0.05");
    assert!(has(&named, "orders 0 1 0"), "{named}");
}

#[test]
fn what_is_not_there_is_said() {
    let (dir, _db, monitor) = watched();
    let host = monitor.address();
    let fails = |line: &str, code| fails(dir.path(), line, code);
    let message = fails(&format!("top http://{host}/db/7"), 1);
    assert!(message.contains("there is /db/0 ("), "{message}");
    let message = fails(&format!("top http://{host}/metrics"), 2);
    assert!(message.contains("the path is neither"), "{message}");
    let message = fails(&format!("top https://{host}/"), 2);
    assert!(message.contains("begins with http://"), "{message}");
    let message = fails(&format!("top {host}"), 3);
    assert!(message.contains("there is no such directory"), "{message}");
    assert!(message.contains("http://127.0.0.1:8080/"), "{message}");
    let message = fails("top {db}/nothing", 3);
    assert!(message.contains("there is no such directory"), "{message}");
    fails("top", 2);
    fails("top {db} --interval 0", 2);
    drop(monitor);
    let message = fails(&format!("top http://{host}/"), 3);
    assert!(message.contains(&host.to_string()), "{message}");
    let empty = tempfile::tempdir().expect("temporary directory");
    super::fails(empty.path(), "top {db} --once", 3);
}

/// Starts `ww top URL` in a terminal of its own.
fn in_terminal(monitor: &Monitor) -> Option<Child> {
    let ww = env!("CARGO_BIN_EXE_ww");
    let url = format!("http://{}/", monitor.address());
    // A terminal that nobody looks at has no size.
    let line = format!("stty rows 40 cols 120; exec {ww} top {url}");
    let started = Command::new("script")
        .args(["--quiet", "--flush", "--return", "--command"])
        .args([Path::new(&line), Path::new("/dev/null")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    if started.is_err() {
        skip::skip_without("script");
    }
    started.ok()
}

#[test]
fn the_terminal_is_given_back() {
    let (_dir, _db, monitor) = watched();
    // What a terminal gets to use another screen and to leave it.
    let (enter, leave) = ("\u{1b}[?1049h", "\u{1b}[?1049l");
    // `q`, and Ctrl-C.
    for key in [b"q", b"\x03"] {
        let Some(mut child) = in_terminal(&monitor) else {
            return;
        };
        let mut output = child.stdout.take().expect("a pipe");
        let mut input = child.stdin.take().expect("a pipe");
        let mut text = Vec::new();
        let begin = Instant::now();
        let mut piece = [0; 4096];
        while !String::from_utf8_lossy(&text).contains("quits") {
            assert!(begin.elapsed() < Duration::from_secs(120), "no screen");
            let read = output.read(&mut piece).expect("a screen");
            assert!(read > 0, "{}", String::from_utf8_lossy(&text));
            text.extend_from_slice(&piece[..read]);
        }
        input.write_all(key).expect("a key");
        input.flush().expect("a key");
        output.read_to_end(&mut text).expect("the end");
        let text = String::from_utf8_lossy(&text).into_owned();
        let status = child.wait().expect("it ends");
        assert_eq!(status.code(), Some(0), "{text}");
        assert!(text.find(enter).is_some(), "{text}");
        assert!(text.rfind(leave) > text.rfind(enter), "{text}");
    }
}
