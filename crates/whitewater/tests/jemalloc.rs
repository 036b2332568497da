//! The allocator jemalloc (cargo feature `jemalloc`).

use whitewater::{DB, Options};

#[global_allocator]
static ALLOCATOR: whitewater::Jemalloc = whitewater::Jemalloc;

/// The lines about the allocator in LOG, as names and figures.
fn dumped(dump: bool) -> Vec<Vec<(String, u64)>> {
    let held = vec![1u8; 32 << 20];
    let dir = tempfile::tempdir().unwrap();
    let mut opts = Options::default();
    opts.create_if_missing(true);
    opts.set_dump_malloc_stats(dump);
    opts.set_stats_dump_period_sec(1);
    let db = DB::open(&opts, dir.path()).unwrap();
    let log = || std::fs::read_to_string(dir.path().join("LOG")).unwrap();
    while !log().contains("DUMPING STATS") {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    drop(db);
    assert_eq!(held[held.len() - 1], 1);
    let line = |line: &str| {
        let (_, figures) = line.split_once("MALLOC STATS (jemalloc, bytes): ")?;
        let words: Vec<_> = figures.split(' ').collect();
        let pairs = words.chunks(2);
        Some(
            pairs
                .map(|pair| (pair[0].to_owned(), pair[1].parse().unwrap()))
                .collect(),
        )
    };
    log().lines().filter_map(line).collect()
}

#[test]
fn figures_of_the_allocator_follow_statistics_in_the_log() {
    let lines = dumped(true);
    assert!(!lines.is_empty());
    for figures in &lines {
        let names: Vec<_> = figures.iter().map(|(name, _)| &name[..]).collect();
        assert_eq!(
            names,
            [
                "allocated:",
                "active:",
                "metadata:",
                "resident:",
                "mapped:",
                "retained:"
            ]
        );
        // The test's own buffer, at least.
        assert!(figures[0].1 >= 32 << 20, "{figures:?}");
        assert!(figures[1].1 >= figures[0].1, "{figures:?}");
    }
    assert_eq!(dumped(false), [] as [Vec<(String, u64)>; 0]);
}
