//! Lines about slow calls in LOG (`slow_operation_micros`).

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use whitewater::perf::{PerfStatsLevel, set_perf_stats};
use whitewater::{DB, Options, PerfContext};

/// From which time on calls are slow, and how long a comparison takes that makes them so.
const SLOW: Duration = Duration::from_millis(1);

/// A database with three keys in a table and three in the memtable, whose comparator takes its
/// time once the flag is set.
fn open(dir: &Path, slow_operation_micros: Option<u64>) -> (DB, Arc<AtomicBool>) {
    let is_slow = Arc::new(AtomicBool::new(false));
    let mut options = Options::default();
    options.create_if_missing(true);
    let in_comparator = is_slow.clone();
    let compare = move |a: &[u8], b: &[u8]| {
        if in_comparator.load(Ordering::Relaxed) {
            std::thread::sleep(SLOW);
        }
        a.cmp(b)
    };
    options.set_comparator("takes its time", Box::new(compare));
    if let Some(micros) = slow_operation_micros {
        options.set_slow_operation_micros(micros);
    }
    let db = DB::open(&options, dir).unwrap();
    for round in 0..2 {
        for key in ["secret1", "secret2", "secret3"] {
            db.put(key, "hidden").unwrap();
        }
        if round == 0 {
            db.flush().unwrap();
        }
    }
    is_slow.store(true, Ordering::Relaxed);
    (db, is_slow)
}

/// A call of each kind.
fn call_all(db: &DB) {
    db.put(b"secret2", b"hidden").unwrap();
    assert_eq!(db.get(b"secret2").unwrap().unwrap(), b"hidden");
    assert_eq!(db.multi_get([b"secret2"]).len(), 1);
    let mut iter = db.raw_iterator();
    iter.seek(b"secret2");
    iter.next();
    assert_eq!(iter.key(), Some(&b"secret3"[..]));
    iter.prev();
    assert_eq!(iter.key(), Some(&b"secret2"[..]));
}

/// The text behind "slow " of each line about a slow call.
fn slow_lines(dir: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(dir.join("LOG")).unwrap();
    let of_line = |line: &str| Some(line.split_once("[WARN] slow ")?.1.to_owned());
    text.lines().filter_map(of_line).collect()
}

#[test]
fn without_the_option_or_below_it_no_call_has_a_line() {
    for micros in [None, Some(0), Some(3_600_000_000), Some(u64::MAX)] {
        let dir = tempfile::tempdir().unwrap();
        let (db, _) = open(dir.path(), micros);
        call_all(&db);
        assert!(slow_lines(dir.path()).is_empty(), "{micros:?}");
    }
}

#[test]
fn a_slow_call_has_a_line_with_its_steps_and_without_keys_and_values() {
    let dir = tempfile::tempdir().unwrap();
    let (db, _) = open(dir.path(), Some(SLOW.as_micros() as u64));
    call_all(&db);
    let lines = slow_lines(dir.path());
    for (call, step) in [
        ("write of ", "write_memtable_time = "),
        ("get of ", "get_from_memtable_time = "),
        ("multi_get of ", "multiget_read_bytes = 6"),
        ("seek of ", "seek_internal_seek_time = "),
        ("next of ", "find_next_user_entry_time = "),
        ("prev of ", "find_next_user_entry_time = "),
    ] {
        let of_call = lines.iter().find(|line| line.starts_with(call));
        let line = of_call.unwrap_or_else(|| panic!("no {call}in {lines:?}"));
        assert!(line.contains(step), "{step}in {line}");
    }
    let text = lines.concat();
    assert!(
        !text.contains("secret") && !text.contains("hidden"),
        "{text}"
    );
}

#[test]
fn the_option_can_be_set_and_unset_while_the_database_is_open() {
    let dir = tempfile::tempdir().unwrap();
    let (db, _) = open(dir.path(), None);
    let set = |micros| {
        db.set_db_options(&[("slow_operation_micros", micros)])
            .unwrap()
    };
    set("1000");
    db.get(b"secret1").unwrap().unwrap();
    assert_eq!(slow_lines(dir.path()).len(), 1);
    set("0");
    call_all(&db);
    assert_eq!(slow_lines(dir.path()).len(), 1);
}

#[test]
fn slow_calls_do_not_fill_the_log() {
    let dir = tempfile::tempdir().unwrap();
    let (db, _) = open(dir.path(), Some(SLOW.as_micros() as u64));
    let begun = Instant::now();
    for _ in 0..100 {
        db.get(b"secret1").unwrap().unwrap();
    }
    let most = begun.elapsed().as_secs() + 1;
    let lines = slow_lines(dir.path()).len();
    assert!((1..=most).contains(&(lines as u64)), "{lines} of {most}");
}

#[test]
fn finding_slow_calls_leaves_the_perf_context_of_the_thread_alone() {
    let dir = tempfile::tempdir().unwrap();
    let (db, _) = open(dir.path(), Some(SLOW.as_micros() as u64));
    set_perf_stats(PerfStatsLevel::Disable);
    PerfContext::default().reset();
    call_all(&db);
    assert_eq!(slow_lines(dir.path()).len(), 6);
    assert_eq!(PerfContext::default().report(true), "");
}
