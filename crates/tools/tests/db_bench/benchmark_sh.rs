//! The sets of flags with which RocksDB's `tools/benchmark.sh` calls db_bench, at a
//! small size, and what it reads from the output.

use super::{Bench, result_of};

/// Of all its calls. Later flags override these, as in the script.
const ALL: &str = "--undefok=use_blob_cache,use_shared_block_and_blob_cache,blob_cache_size,\
    blob_cache_numshardbits,prepopulate_blob_cache,multiread_batched,cache_low_pri_pool_ratio,\
    prepopulate_block_cache --num=400 --key_size=20 --value_size=400 --block_size=8192 \
    --cache_size=16777216 --cache_numshardbits=6 --compression_max_dict_bytes=0 \
    --compression_ratio=0.5 --compression_type=zstd --bytes_per_sync=1048576 \
    --cache_index_and_filter_blocks=1 --cache_high_pri_pool_ratio=0.5 \
    --cache_low_pri_pool_ratio=0 --benchmark_write_rate_limit=0 --write_buffer_size=65536 \
    --target_file_size_base=65536 --max_bytes_for_level_base=262144 --verify_checksum=1 \
    --delete_obsolete_files_period_micros=62914560 --max_bytes_for_level_multiplier=8 \
    --statistics=0 --stats_per_interval=1 --stats_interval_seconds=60 \
    --report_interval_seconds=5 --histogram=1 --memtablerep=skip_list --bloom_bits=10 \
    --open_files=-1 --subcompactions=1";
const LEVELED: &str = "--compaction_style=0 --num_levels=8 --min_level_to_compress=-1 \
    --level_compaction_dynamic_level_bytes=true --pin_l0_filter_and_index_blocks_in_cache=1 \
    --soft_pending_compaction_bytes_limit=64424509440 \
    --hard_pending_compaction_bytes_limit=128849018880";
const UNIVERSAL: &str = "--compaction_style=1 --num_levels=40 \
    --universal_compression_size_percent=-1 --pin_l0_filter_and_index_blocks_in_cache=1 \
    --universal_min_merge_width=2 --universal_max_merge_width=20 --universal_size_ratio=1 \
    --universal_max_size_amplification_percent=200 --universal_allow_trivial_move=0";
const BLOB: &str = "--enable_blob_files=true --min_blob_size=0 --blob_file_size=268435456 \
    --blob_compression_type=zstd --enable_blob_garbage_collection=true \
    --blob_garbage_collection_age_cutoff=0.25 --blob_garbage_collection_force_threshold=1 \
    --blob_file_starting_level=0 --use_blob_cache=1 --use_shared_block_and_blob_cache=1 \
    --blob_cache_size=17179869184 --blob_cache_numshardbits=6 --prepopulate_blob_cache=0";
/// Of jobs that write and read an existing database.
const WORK: &str = "--level0_file_num_compaction_trigger=4 --level0_slowdown_writes_trigger=20 \
    --level0_stop_writes_trigger=30 --max_background_jobs=16 --max_write_buffer_number=8";
const BULK: &str = "--max_background_jobs=16 --max_write_buffer_number=8 \
    --level0_file_num_compaction_trigger=10485760 --level0_slowdown_writes_trigger=10485760 \
    --level0_stop_writes_trigger=10485760";
/// Of loads: one thread, an unsorted memtable.
const LOAD: &str = "--use_existing_db=0 --sync=0 --threads=1 --memtablerep=vector \
    --allow_concurrent_memtable_write=false --report_file=r.csv";

/// The jobs behind a load, as benchmark and flags of its own.
const JOBS: &[(&str, &str)] = &[
    ("overwrite", "--sync=1 --merge_operator=put"),
    ("updaterandom", "--sync=1 --merge_operator=put"),
    ("readrandom", ""),
    ("multireadrandom", "--batch_size=10"),
    ("seekrandom", "--seek_nexts=10 --reverse_iterator=false"),
    ("seekrandom", "--seek_nexts=10 --reverse_iterator=true"),
    ("readwhilewriting", "--sync=1 --merge_operator=put"),
    (
        "seekrandomwhilewriting",
        "--sync=1 --merge_operator=put --seek_nexts=10 --reverse_iterator=false",
    ),
];
/// The jobs that leave operands behind, which others cannot read.
const MERGING: &[(&str, &str)] = &[
    ("mergerandom", "--sync=0 --merge_operator=put"),
    ("readwhilemerging", "--sync=1 --merge_operator=put"),
    (
        "seekrandomwhilemerging",
        "--sync=1 --merge_operator=put --seek_nexts=10 --reverse_iterator=true",
    ),
];

/// The field of that number, counted from 1 as `awk` does, of the last line that
/// begins with `start`.
fn field<'t>(text: &'t str, start: &str, number: usize) -> &'t str {
    let line = text.lines().rfind(|line| line.starts_with(start));
    let line = line.unwrap_or_else(|| panic!("{start:?} begins no line of {text}"));
    let field = line.split_whitespace().nth(number - 1);
    field.unwrap_or_else(|| panic!("field {number} of {line:?}"))
}

fn number(text: &str, start: &str, at: usize) -> f64 {
    let field = field(text, start, at);
    let trimmed = field.trim_end_matches(',');
    trimmed
        .parse()
        .unwrap_or_else(|_| panic!("{start}: field {at} is {field:?}"))
}

/// What the script makes a line of its report of.
fn assert_summary(text: &str, benchmark: &str) {
    let (operations, _) = result_of(text, benchmark);
    assert!(operations > 0, "{text}");
    let start = format!("{benchmark:<12}");
    assert_eq!(field(text, &start, 8), "seconds");
    assert!(number(text, &start, 5) > 0.0);
    for (start, at) in [
        ("Uptime(secs", 2),
        ("Cumulative stall", 5),
        ("Cumulative compaction", 3),
        ("Cumulative compaction", 6),
        ("Flush(GB)", 3),
        (" Sum", 3),
        (" Sum", 15),
        (" Sum", 16),
        (" Sum", 21),
        (" Sum", 22),
        ("Percentiles:", 3),
        ("Percentiles:", 11),
        ("Min: ", 6),
    ] {
        assert!(number(text, start, at) >= 0.0);
    }
    let writes = text
        .lines()
        .rfind(|line| line.starts_with("Cumulative writes"));
    assert!(
        writes.is_some_and(|line| line.contains(" ingest: ")),
        "{text}"
    );
    assert!(
        ["KB", "MB", "GB"].contains(&field(text, " Sum", 4)),
        "{text}"
    );
}

/// All jobs of the script with one kind of compaction.
fn run_all(style: &str, leveled: bool) {
    let bench = Bench::new();
    let wal = bench.directory.path().join("wal");
    std::fs::create_dir(&wal).expect("directory");
    let run = |benchmarks: &str, flags: &str| {
        let all = format!("--wal_dir={} {ALL} {style}", wal.display());
        bench.run(&format!("{all} {flags} --benchmarks={benchmarks},stats"))
    };
    let bulk = format!("{BULK} {LOAD} --disable_auto_compactions=1 --disable_wal=1");
    assert_summary(&run("fillrandom", &bulk), "fillrandom");
    let compact = format!("{WORK} --use_existing_db=1 --disable_auto_compactions=1 --sync=0");
    assert!(run("compact", &compact).contains("\ncompact "));
    for disabled in [0, 1] {
        let load = format!("{WORK} {LOAD} --min_level_to_compress=0 --disable_wal={disabled}");
        assert_summary(&run("fillseq", &load), "fillseq");
    }
    let unique = format!("{WORK} --use_existing_db=0 --sync=0 --threads=1 --report_file=r.csv");
    assert_summary(&run("filluniquerandom", &unique), "filluniquerandom");
    let run_jobs = |jobs: &[(&str, &str)]| {
        for (job, own) in jobs {
            let flags = format!("{WORK} --use_existing_db=1 --threads=2 --report_file=r.csv {own}");
            assert_summary(&run(job, &flags), job);
        }
    };
    run_jobs(JOBS);
    let rest = "levelstats,flush,waitforcompaction,compact0,waitforcompaction,memstats,levelstats";
    let text = run(
        rest,
        &format!("{WORK} --use_existing_db=1 --sync=0 --threads=1"),
    );
    assert!(text.contains("\ncompact0 found "), "{text}");
    if leveled {
        let (_, last) = text
            .rsplit_once("Level Files Size(MB)")
            .expect("levelstats");
        assert_eq!(field(last, "  0", 2), "0", "level 0 is empty: {text}");
    }
    run_jobs(MERGING);
}

#[test]
fn its_jobs_run_with_leveled_compaction() {
    run_all(LEVELED, true);
}

#[test]
fn its_jobs_run_with_universal_compaction() {
    run_all(UNIVERSAL, false);
}

#[test]
fn its_manual_compactions_run() {
    let bench = Bench::new();
    let style = UNIVERSAL;
    let flags = format!(
        "{ALL} {style} --max_background_flushes=4 --max_write_buffer_number=4 \
         --level0_file_num_compaction_trigger=8 --level0_slowdown_writes_trigger=16 \
         --level0_stop_writes_trigger=20 --threads=2 --subcompactions=4 \
         --max_background_compactions=8 --disable_auto_compactions=0 --sync=0 \
         --compaction_measure_io_stats=1"
    );
    let text = bench.run(&format!(
        "{flags} --use_existing_db=0 --memtablerep=vector --disable_wal=1 \
         --allow_concurrent_memtable_write=false --benchmarks=fillrandom,stats"
    ));
    assert_summary(&text, "fillrandom");
    let text = bench.run(&format!(
        "{flags} --use_existing_db=1 --benchmarks=compact,stats"
    ));
    assert!(text.contains("\ncompact "), "{text}");
}

#[test]
fn its_jobs_run_with_blob_files() {
    run_all(&format!("{LEVELED} {BLOB}"), true);
}

#[test]
fn its_transactions_run() {
    let text = Bench::new().run(&format!(
        "{ALL} --use_existing_db=0 --num=200 --transaction_db --threads=5 --transaction_sets=5 \
         --benchmarks=randomtransaction"
    ));
    assert!(
        text.contains("RandomTransactionVerify Success.\n"),
        "{text}"
    );
}
