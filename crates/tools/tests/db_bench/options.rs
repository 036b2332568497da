//! Every flag reaches the option it names: the database's options file says so.

use super::Bench;

/// Fills a few keys with these flags; then the options file has these lines.
fn assert_options(flags: &str, lines: &[&str]) {
    let bench = Bench::new();
    bench.run(&format!("--num=20 --benchmarks=fillseq {flags}"));
    let options = bench.options();
    for line in lines {
        assert!(
            options.iter().any(|found| found == line),
            "{flags}: {line} in {options:#?}"
        );
    }
}

/// As [`assert_options`], for options of several values in one line.
fn assert_parts(flags: &str, option: &str, parts: &[&str]) {
    let bench = Bench::new();
    bench.run(&format!("--num=20 --benchmarks=fillseq {flags}"));
    let options = bench.options();
    let start = format!("{option}=");
    let line = options
        .iter()
        .find(|line| line.starts_with(&start))
        .expect(option);
    for part in parts {
        assert!(line.contains(part), "{flags}: {part} in {line}");
    }
}

#[test]
fn of_tables() {
    assert_options(
        "--cache_index_and_filter_blocks --pin_l0_filter_and_index_blocks_in_cache \
         --pin_top_level_index_and_filter --partition_index_and_filters --metadata_block_size=2048 \
         --use_data_block_hash_index --data_block_hash_table_util_ratio=0.5 --use_ribbon_filter \
         --bloom_bits=10 --optimize_filters_for_memory --optimize_filters_for_hits \
         --cache_type=hyper_clock_cache",
        &[
            "cache_index_and_filter_blocks=true",
            "pin_l0_filter_and_index_blocks_in_cache=true",
            "pin_top_level_index_and_filter=true",
            "index_type=kTwoLevelIndexSearch",
            "partition_filters=true",
            "metadata_block_size=2048",
            "data_block_index_type=kDataBlockBinaryAndHash",
            "data_block_hash_table_util_ratio=0.5",
            "optimize_filters_for_memory=true",
            "optimize_filters_for_hits=true",
        ],
    );
    assert_parts(
        "--use_ribbon_filter --bloom_bits=10",
        "filter_policy",
        &["ribbonfilter:10"],
    );
    assert_parts("--bloom_bits=10", "filter_policy", &["bloomfilter:10"]);
    assert_options(
        "--partition_index",
        &["index_type=kTwoLevelIndexSearch", "partition_filters=false"],
    );
    assert_options(
        "--use_hash_search --prefix_size=4",
        &["index_type=kHashSearch"],
    );
    assert_options(
        "--index_with_first_key --block_size=1000",
        &["index_type=kBinarySearchWithFirstKey", "block_size=1000"],
    );
    // RocksDB's program, unlike its library, pins no top blocks by default.
    assert_options(
        "",
        &[
            "index_type=kBinarySearch",
            "pin_top_level_index_and_filter=false",
        ],
    );
}

#[test]
fn of_compaction() {
    assert_options(
        "--compaction_style=1 --compaction_pri=1 --subcompactions=3 \
         --periodic_compaction_seconds=2000 --compaction_readahead_size=65536 --num_levels=3 \
         --max_bytes_for_level_multiplier_additional=1,2,3 --rate_limiter_bytes_per_sec=1000000000",
        &[
            "compaction_style=kCompactionStyleUniversal",
            "compaction_pri=kOldestLargestSeqFirst",
            "max_subcompactions=3",
            "periodic_compaction_seconds=2000",
            "compaction_readahead_size=65536",
            "max_bytes_for_level_multiplier_additional=1:2:3",
        ],
    );
    assert_options("--ttl_seconds=1000", &["ttl=1000"]);
    for (number, name) in [
        (0, "kByCompensatedSize"),
        (2, "kOldestSmallestSeqFirst"),
        (3, "kMinOverlappingRatio"),
        (4, "kRoundRobin"),
    ] {
        assert_options(
            &format!("--compaction_pri={number}"),
            &[
                &format!("compaction_pri={name}"),
                "compaction_style=kCompactionStyleLevel",
            ],
        );
    }
    assert_parts(
        "--compaction_style=1 --universal_size_ratio=5 --universal_min_merge_width=3 \
         --universal_max_merge_width=7 --universal_max_size_amplification_percent=150 \
         --universal_compression_size_percent=70 --universal_allow_trivial_move",
        "compaction_options_universal",
        &[
            "size_ratio=5;",
            "min_merge_width=3;",
            "max_merge_width=7;",
            "max_size_amplification_percent=150;",
            "compression_size_percent=70;",
            "allow_trivial_move=true",
        ],
    );
    assert_parts(
        "--compaction_style=2 --num_levels=1 --fifo_compaction_max_table_files_size_mb=5 \
         --nofifo_compaction_allow_compaction",
        "compaction_options_fifo",
        &["max_table_files_size=5242880;", "allow_compaction=false"],
    );
    assert_parts(
        "--compaction_style=2 --num_levels=1",
        "compaction_options_fifo",
        &["max_table_files_size=0;", "allow_compaction=true"],
    );
}

#[test]
fn of_compression() {
    assert_parts(
        "--compression_type=zstd --compression_max_dict_bytes=4096 --compression_parallel_threads=2 \
         --compression_zstd_max_train_bytes=40960 --compression_max_dict_buffer_bytes=100000",
        "compression_opts",
        &[
            "max_dict_bytes=4096",
            "zstd_max_train_bytes=40960;",
            "max_dict_buffer_bytes=100000;",
            "parallel_threads=2;",
            "use_zstd_dict_trainer=true",
        ],
    );
    assert_parts(
        "--compression_type=lz4 --nocompression_use_zstd_dict_trainer",
        "compression_opts",
        &["use_zstd_dict_trainer=false"],
    );
}

#[test]
fn of_files_and_hints() {
    assert_options(
        "--bytes_per_sync=4096 --stats_dump_period_sec=77 --use_fsync --use_adaptive_mutex \
         --noadvise_random_on_open --table_cache_numshardbits=5 --file_opening_threads=3 \
         --writable_file_max_buffer_size=65536 --bloom_locality=1 \
         --max_write_buffer_size_to_maintain=4096 --stats_persist_period_sec=88",
        &[
            "bytes_per_sync=4096",
            "stats_dump_period_sec=77",
            "use_fsync=true",
            "use_adaptive_mutex=true",
            "advise_random_on_open=false",
            "table_cache_numshardbits=5",
            "max_file_opening_threads=3",
            "writable_file_max_buffer_size=65536",
            "bloom_locality=1",
            "max_write_buffer_size_to_maintain=4096",
            "stats_persist_period_sec=88",
        ],
    );
}

/// Not every file system can do it; then the message names the option.
#[test]
fn of_direct_io() {
    for (flag, option) in [
        ("--use_direct_reads", "use_direct_reads"),
        (
            "--use_direct_io_for_flush_and_compaction",
            "use_direct_io_for_flush_and_compaction",
        ),
    ] {
        let bench = Bench::new();
        let output = bench.output(&format!(
            "--num=20 --benchmarks=fillseq,flush,readseq {flag}"
        ));
        if output.status.success() {
            assert!(
                bench.options().contains(&format!("{option}=true")),
                "{option}"
            )
        } else {
            let message = String::from_utf8_lossy(&output.stderr);
            assert!(message.contains("direct"), "{message}");
        }
    }
}

#[test]
fn rate_limits_and_filters_are_in_the_log() {
    let bench = Bench::new();
    bench.run(
        "--num=20 --benchmarks=fillseq,compact --rate_limiter_bytes_per_sec=1000000000 \
         --rate_limiter_auto_tuned --rate_limiter_refill_period_us=1000 --use_keep_filter",
    );
    let log = std::fs::read_to_string(bench.database().join("LOG")).expect("log");
    for line in [
        "Options.rate_limiter: true",
        "Options.compaction_filter: KeepFilter",
    ] {
        assert!(log.contains(line), "{line} in {log}");
    }
    // What the engine does not take is refused by its own message.
    let message = bench.refusal("--num=20 --benchmarks=fillseq --format_version=8");
    assert!(message.contains("format_version"), "{message}");
}

#[test]
fn what_does_not_go_together_is_refused() {
    for (line, name) in [
        ("--use_hash_search", "--use_hash_search needs --prefix_size"),
        (
            "--use_hash_search --prefix_size=4 --partition_index",
            "--use_hash_search",
        ),
        (
            "--index_with_first_key --partition_index",
            "--index_with_first_key",
        ),
        (
            "--index_with_first_key --use_hash_search --prefix_size=4",
            "--index_with_first_key",
        ),
        (
            "--cache_index_and_filter_blocks --cache_size=0",
            "--cache_index_and_filter_blocks needs a cache",
        ),
        ("--cache_type=clock_cache", "--cache_type=clock_cache"),
        ("--compaction_style=3", "--compaction_style=3"),
        ("--compaction_pri=5", "--compaction_pri=5"),
        (
            "--max_bytes_for_level_multiplier_additional=1,2",
            "has 2 numbers for --num_levels=7",
        ),
        (
            "--max_bytes_for_level_multiplier_additional=1,x",
            "'x' is no number",
        ),
        (
            "--use_uint64_comparator",
            "--use_uint64_comparator needs --key_size=8",
        ),
        (
            "--rate_limiter_refill_period_us=0",
            "--rate_limiter_refill_period_us=0",
        ),
        (
            "--stats_dump_period_sec=5000000000",
            "--stats_dump_period_sec=5000000000",
        ),
        ("--overwrite_probability=2", "--overwrite_probability=2"),
        ("--overwrite_window_size=0", "--overwrite_window_size=0"),
        (
            "--seek_missing_prefix --prefix_size=8",
            "--seek_missing_prefix",
        ),
        (
            "--block_align",
            "--block_align=true: RocksDB's db_bench knows this flag",
        ),
        ("--dump_malloc_stats", "--dump_malloc_stats=true"),
        ("--index_shortening_mode=1", "--index_shortening_mode=1"),
        ("--mmap_read", "--mmap_read=true"),
    ] {
        let message = Bench::new().refusal(&format!("--benchmarks=fillseq --num=10 {line}"));
        assert!(message.contains(name), "{line}: {message}");
    }
}
