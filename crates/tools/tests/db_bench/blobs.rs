//! Blob files, their cache, and backups.

use super::{Bench, result_of};
use whitewater::{DB, IteratorMode, Options};

/// The number of entries of the database in `path`.
fn entries(path: &std::path::Path) -> usize {
    let db = DB::open(&Options::default(), path).expect("opens");
    let entries = db.iterator(IteratorMode::Start);
    entries.inspect(|entry| assert!(entry.is_ok())).count()
}

/// The number of files in `path` whose names end with `end`.
fn files(path: &std::path::Path, end: &str) -> usize {
    let listed = std::fs::read_dir(path).expect("a directory");
    let names = listed.map(|entry| entry.expect("listed").file_name());
    names
        .filter(|name| name.to_string_lossy().ends_with(end))
        .count()
}

#[test]
fn large_values_go_into_blob_files() {
    let bench = Bench::new();
    let text = bench.run(
        "--num=500 --value_size=400 --enable_blob_files --min_blob_size=300 \
         --blob_file_size=20000 --blob_compression_type=lz4 --enable_blob_garbage_collection \
         --blob_garbage_collection_age_cutoff=0.5 --blob_garbage_collection_force_threshold=0.75 \
         --blob_file_starting_level=1 --blob_compaction_readahead_size=4096 --use_blob_cache \
         --use_shared_block_and_blob_cache=false --blob_cache_size=1000000 \
         --prepopulate_blob_cache=1 --benchmarks=fillseq,flush,compact,readrandom",
    );
    assert!(
        result_of(&text, "readrandom")
            .1
            .ends_with("(500 of 500 found)"),
        "{text}"
    );
    assert!(files(&bench.database(), ".blob") > 1);
    let options = bench.options();
    for line in [
        "enable_blob_files=true",
        "min_blob_size=300",
        "blob_file_size=20000",
        "blob_compression_type=kLZ4Compression",
        "enable_blob_garbage_collection=true",
        "blob_garbage_collection_age_cutoff=0.5",
        "blob_garbage_collection_force_threshold=0.75",
        "blob_file_starting_level=1",
        "blob_compaction_readahead_size=4096",
        "prepopulate_blob_cache=kFlushOnly",
    ] {
        assert!(
            options.iter().any(|found| found == line),
            "{line} in {options:?}"
        );
    }
}

#[test]
fn the_blob_cache_is_filled_by_flushes_if_asked() {
    let added = |flags: &str| {
        let text = Bench::new().run(&format!(
            "--num=100 --value_size=400 --enable_blob_files --use_blob_cache --statistics {flags} \
             --benchmarks=fillseq,flush"
        ));
        let name = "rocksdb.blobdb.cache.add COUNT : ";
        let line = text.lines().rfind(|line| line.starts_with(name));
        line.map(|line| line[name.len()..].trim().to_owned())
    };
    assert_eq!(added("--prepopulate_blob_cache=1").as_deref(), Some("100"));
    assert_eq!(added("--prepopulate_blob_cache=0").as_deref(), Some("0"));
}

#[test]
fn flags_of_blob_files_are_checked() {
    let bench = Bench::new();
    for (flags, what) in [
        (
            "--blob_compression_type=none7",
            "--blob_compression_type=none7: unknown",
        ),
        (
            "--blob_garbage_collection_age_cutoff=1.5",
            "is not between 0 and 1",
        ),
        ("--prepopulate_blob_cache=1", "needs --use_blob_cache"),
        ("--use_blob_cache --cache_size=0", "needs a block cache"),
        (
            "--use_blob_cache --use_shared_block_and_blob_cache=0 --blob_cache_size=0",
            "--blob_cache_size above 0",
        ),
    ] {
        let message = bench.refusal(&format!("{flags} --num=1 --benchmarks=fillseq"));
        assert!(message.contains(what), "{message}");
    }
}

#[test]
fn backups_are_made_and_restored() {
    let bench = Bench::new();
    let flags = "--num=300 --value_size=200 --enable_blob_files --threads=2 \
                 --backup_rate_limit=100000000 --restore_rate_limit=100000000";
    let text = bench.run(&format!("{flags} --benchmarks=fillseq,backup,restore"));
    let database = bench.database();
    let [backups, restored] = ["backup", "restore"].map(|name| database.join(name));
    assert!(
        text.contains(&format!("Backup path: [{}]\n", backups.display())),
        "{text}"
    );
    assert!(
        text.contains(&format!("Restore path: [{}]\n", restored.display())),
        "{text}"
    );
    assert_eq!(result_of(&text, "backup").0, 1);
    assert_eq!(result_of(&text, "restore").0, 1);
    assert_eq!(entries(&restored), 300);
    // Elsewhere, and again: the backup before is gone.
    let elsewhere = bench.directory.path().join("elsewhere");
    let [backups, restored] = ["b", "r"].map(|name| elsewhere.join(name));
    let flags = format!(
        "{flags} --backup_dir={} --restore_dir={}",
        backups.display(),
        restored.display()
    );
    bench.run(&format!(
        "{flags} --benchmarks=fillseq,backup,fillseq,backup,restore"
    ));
    assert_eq!(files(&backups.join("meta"), ""), 1);
    assert_eq!(entries(&restored), 300);
    let message = bench.refusal("--transaction_db --num=1 --benchmarks=fillseq,backup");
    assert!(message.contains("backup"), "{message}");
}
