//! What can be changed while a database is open: every option that RocksDB can change.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, UNIX_EPOCH};
use tempfile::TempDir;
use whitewater::{
    CompactOptions, DB, DBCompactionStyle, ErrorKind, FifoCompactOptions, Options,
    UniversalCompactOptions, WaitForCompactOptions, WriteBatch,
};

fn open(change: impl FnOnce(&mut Options)) -> (TempDir, DB) {
    let dir = tempfile::tempdir().unwrap();
    let mut opts = Options::default();
    opts.create_if_missing(true);
    change(&mut opts);
    let db = DB::open(&opts, dir.path()).unwrap();
    (dir, db)
}

/// A clock that is set by hand.
fn with_clock(o: &mut Options) -> Arc<AtomicU64> {
    let clock = Arc::new(AtomicU64::new(1_000_000_000));
    let shown = clock.clone();
    o.set_clock(move || UNIX_EPOCH + Duration::from_secs(shown.load(Ordering::Relaxed)));
    clock
}

fn add_table(db: &DB, n: u32) {
    db.put(b"low", n.to_be_bytes()).unwrap();
    db.put(b"zoo", n.to_be_bytes()).unwrap();
    db.flush().unwrap();
}

fn wait(db: &DB) {
    let options = WaitForCompactOptions::default();
    db.wait_for_compact(&options).unwrap();
}

fn tables(db: &DB) -> Vec<String> {
    let files = db.live_files().unwrap();
    files.into_iter().map(|f| f.name).collect()
}

/// The line of the option `name` in the newest options file.
fn in_options_file(dir: &TempDir, name: &str) -> String {
    let names = std::fs::read_dir(dir.path()).unwrap();
    let names = names.map(|e| e.unwrap().file_name().into_string().unwrap());
    let newest = names.filter(|n| n.starts_with("OPTIONS-")).max().unwrap();
    let text = std::fs::read_to_string(dir.path().join(newest)).unwrap();
    let lines = text
        .lines()
        .map(|l| l.trim().trim_start_matches("# whitewater: "));
    let mut lines = lines.filter(|l| l.starts_with(&format!("{name}=")));
    lines.next().unwrap_or_else(|| panic!("{name}")).to_owned()
}

fn refused(outcome: Result<(), whitewater::Error>, what: &str) {
    let e = outcome.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidArgument, "{e}");
    assert!(e.to_string().contains(what), "{what} in {e}");
}

#[test]
fn a_time_to_live_counts_when_it_is_set() {
    let mut clock = None;
    let (_dir, db) = open(|o| {
        o.set_compaction_style(DBCompactionStyle::Fifo);
        o.set_ttl(0);
        clock = Some(with_clock(o));
    });
    add_table(&db, 1);
    clock.unwrap().fetch_add(1000, Ordering::Relaxed);
    add_table(&db, 2);
    wait(&db);
    assert_eq!(tables(&db).len(), 2);
    db.set_options(&[("ttl", "500")]).unwrap();
    wait(&db);
    assert_eq!(tables(&db).len(), 1);
}

#[test]
fn a_period_counts_when_it_is_set() {
    let mut clock = None;
    let (_dir, db) = open(|o| clock = Some(with_clock(o)));
    add_table(&db, 1);
    let before = tables(&db);
    clock.unwrap().fetch_add(1000, Ordering::Relaxed);
    wait(&db);
    assert_eq!(tables(&db), before);
    db.set_options(&[("periodic_compaction_seconds", "500")])
        .unwrap();
    wait(&db);
    assert_ne!(tables(&db), before);
}

#[test]
fn options_of_fifo_compaction_count_when_they_are_set() {
    let (dir, db) = open(|o| {
        o.set_compaction_style(DBCompactionStyle::Fifo);
        let mut fifo = FifoCompactOptions::default();
        fifo.set_max_table_files_size(1 << 30);
        o.set_fifo_compaction_options(&fifo);
    });
    for n in 0..5 {
        add_table(&db, n);
    }
    wait(&db);
    assert_eq!(tables(&db).len(), 5);
    // A part is named behind a dot or in braces. The other parts stay as they were.
    db.set_options(&[("compaction_options_fifo.max_table_files_size", "4K")])
        .unwrap();
    wait(&db);
    assert!(tables(&db).len() < 5);
    db.set_options(&[("compaction_options_fifo", "{allow_compaction=true}")])
        .unwrap();
    assert_eq!(
        in_options_file(&dir, "compaction_options_fifo"),
        "compaction_options_fifo={max_table_files_size=4096;allow_compaction=true}"
    );
}

#[test]
fn options_of_universal_compaction_count_when_they_are_set() {
    let (_dir, db) = open(|o| {
        o.set_compaction_style(DBCompactionStyle::Universal);
        o.set_level_zero_file_num_compaction_trigger(2);
        let mut universal = UniversalCompactOptions::default();
        // No rule applies: neither space nor sizes, and there are too many for the third.
        universal.set_max_size_amplification_percent(-1);
        universal.set_min_merge_width(100);
        o.set_universal_compaction_options(&universal);
    });
    let levels = || db.live_files().unwrap().len();
    for n in 0..6 {
        add_table(&db, n);
    }
    wait(&db);
    let before = levels();
    db.set_options(&[(
        "compaction_options_universal",
        "{max_size_amplification_percent=1}",
    )])
    .unwrap();
    add_table(&db, 6);
    wait(&db);
    assert!(before > 1 || levels() == 1, "{before}");
    assert_eq!(levels(), 1);
}

#[test]
fn a_limit_of_range_deletions_ends_a_memtable() {
    let (_dir, db) = open(|o| o.set_disable_auto_compactions(true));
    let delete = |upto: u32| {
        for n in 0..upto {
            let mut batch = WriteBatch::default();
            batch.delete_range(format!("a{n}"), format!("a{n}x"));
            db.write(batch).unwrap();
        }
        db.put("k", "v").unwrap();
        wait(&db);
        tables(&db).len()
    };
    assert_eq!(delete(10), 0);
    db.set_options(&[("memtable_max_range_deletions", "4")])
        .unwrap();
    // This applies to memtables that are begun later.
    db.flush().unwrap();
    assert_eq!(delete(3), 1);
    assert_eq!(delete(1), 2);
}

#[test]
fn what_has_no_effect_changes_by_name_and_is_kept() {
    let (dir, db) = open(|_| {});
    for (name, value, bad) in [
        ("sample_for_compression", "100", "some"),
        ("last_level_temperature", "kWarm", "kTepid"),
        ("block_protection_bytes_per_key", "8", "x"),
        ("bottommost_file_compaction_delay", "60", "soon"),
        ("uncache_aggressiveness", "300", "-1"),
        ("ignore_max_compaction_bytes_for_input", "false", "maybe"),
        ("paranoid_memory_checks", "true", "2"),
        ("strict_max_successive_merges", "true", "2"),
        ("report_bg_io_stats", "true", "2"),
    ] {
        db.set_options(&[(name, value)]).unwrap();
        assert_eq!(in_options_file(&dir, name), format!("{name}={value}"));
        refused(db.set_options(&[(name, bad)]), name);
    }
    // Nothing is kept of these, which nothing here depends on.
    db.set_options(&[("memtable_op_scan_flush_trigger", "7")])
        .unwrap();
    db.set_db_options(&[("strict_bytes_per_sync", "true")])
        .unwrap();
    refused(
        db.set_options(&[("force_consistency_checks", "true")]),
        "cannot be changed while the database is open",
    );
    for value in ["true", "false"] {
        refused(
            db.set_db_options(&[("best_efforts_recovery", value)]),
            "cannot be changed while the database is open",
        );
    }
    refused(
        db.set_options(&[("no_such", "1")]),
        "unknown option no_such",
    );
}

#[test]
fn an_option_of_somebody_else_names_the_call_that_takes_it() {
    let (_dir, db) = open(|_| {});
    refused(
        db.set_options(&[("max_background_jobs", "3")]),
        "one of the database: change it with set_db_options",
    );
    refused(db.set_options(&[("wal_dir", "/x")]), "one of the database");
    refused(
        db.set_db_options(&[("write_buffer_size", "1M")]),
        "one of a column family: change it with set_options",
    );
    refused(
        db.set_options(&[("block_size", "1M")]),
        "inside block_based_table_factory",
    );
}

#[test]
fn numbers_take_the_suffixes_k_m_g_and_t() {
    let (dir, db) = open(|_| {});
    db.set_options(&[
        ("write_buffer_size", "2M"),
        ("max_bytes_for_level_base", "1g"),
        ("max_compaction_bytes", "1T"),
        ("block_based_table_factory", "{block_size=16K}"),
    ])
    .unwrap();
    for (name, value) in [
        ("write_buffer_size", 2u64 << 20),
        ("max_bytes_for_level_base", 1 << 30),
        ("max_compaction_bytes", 1 << 40),
        ("block_size", 16 << 10),
    ] {
        assert_eq!(in_options_file(&dir, name), format!("{name}={value}"));
    }
    db.set_db_options(&[("max_total_wal_size", "64M"), ("max_subcompactions", "4")])
        .unwrap();
    assert_eq!(
        in_options_file(&dir, "max_total_wal_size"),
        "max_total_wal_size=67108864"
    );
    refused(
        db.set_options(&[("write_buffer_size", "2MB")]),
        "write_buffer_size",
    );
    refused(
        db.set_options(&[("write_buffer_size", "99999999T")]),
        "write_buffer_size",
    );
}

/// The rule at open applies here, too.
#[test]
fn changes_are_corrected_as_at_open() {
    let (dir, db) = open(|_| {});
    db.set_options(&[
        ("target_file_size_base", "0"),
        ("max_bytes_for_level_base", "0"),
        ("write_buffer_size", "1"),
        (
            "block_based_table_factory",
            "{block_size=0;format_version=1}",
        ),
    ])
    .unwrap();
    for line in [
        "target_file_size_base=67108864",
        "max_bytes_for_level_base=268435456",
        "write_buffer_size=65536",
        "block_size=4096",
        "format_version=2",
    ] {
        let name = line.split('=').next().unwrap();
        assert_eq!(in_options_file(&dir, name), line);
    }
    add_table(&db, 1);
    db.compact_range_opt(None::<&[u8]>, None::<&[u8]>, &CompactOptions::default());
    assert!(db.get("low").unwrap().is_some());
    let log = std::fs::read_to_string(dir.path().join("LOG")).unwrap();
    assert!(
        log.contains("option write_buffer_size=1 is corrected to 65536"),
        "{log}"
    );
    let e = db.set_options(&[("block_based_table_factory", "{format_version=8}")]);
    assert_eq!(e.unwrap_err().kind(), ErrorKind::NotSupported);
}
