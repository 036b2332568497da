//! The program as a user sees it: exit codes and messages.

use std::path::Path;
use std::process::{Command, Output};

fn db_bench(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_db_bench"))
        .args(arguments)
        .output()
        .expect("db_bench starts")
}

fn assert_refused(arguments: &[&str], expected: &str) {
    let output = db_bench(arguments);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {message}");
    assert!(message.contains(expected), "{arguments:?}: {message}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
}

#[test]
fn wrong_command_lines_exit_with_1_and_say_why() {
    assert_refused(
        &["--thread=3"],
        "unknown flag --thread; the nearest known one is --threads",
    );
    assert_refused(
        &["--use_plain_table"],
        "--use_plain_table=true: RocksDB's db_bench knows this flag",
    );
    assert_refused(
        &["--transaction_db=true"],
        "benchmark 'compact' does not go with --transaction_db",
    );
    assert_refused(
        &["--use_blob_db=true"],
        "--use_blob_db=true: RocksDB's db_bench knows this flag",
    );
    assert_refused(&["--memtablerep=cuckoo"], "--memtablerep=cuckoo");
    assert_refused(&["--num=x"], "--num: 'x' is not an integer");
    assert_refused(
        &["--benchmarks=filrandom"],
        "the nearest known one is fillrandom",
    );
    assert_refused(&["--benchmarks=verify"], "this build does not run it yet");
    assert_refused(
        &[
            "--keyrange_num=10",
            "--num=5",
            "--key_dist_a=1",
            "--key_dist_b=1",
            "--keyrange_dist_a=1",
        ],
        "a range has no keys",
    );
    assert_refused(
        &["--engine=leveldb"],
        "the engines are whitewater, rocksdb and both",
    );
}

#[cfg(not(feature = "peer-rocksdb"))]
#[test]
fn the_peer_names_its_cargo_feature() {
    assert_refused(&["--engine=rocksdb"], "--features peer-rocksdb");
    assert_refused(&["--engine=both"], "--features peer-rocksdb");
}

#[test]
fn help_and_version_exit_with_0() {
    let output = db_bench(&["--help"]);
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).contains("\n  --benchmarks\n"));
    let output = db_bench(&["--version"]);
    assert!(output.status.success());
    assert!(output.stdout.starts_with(b"db_bench "));
}

/// Runs a command line in `directory` and returns what it prints.
fn db_bench_in<'a>(directory: &Path, arguments: impl IntoIterator<Item = &'a str>) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_db_bench"))
        .args(arguments)
        .current_dir(directory)
        .env("TEST_TMPDIR", directory)
        .output()
        .expect("db_bench starts");
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{message}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs a command line in a fresh directory and returns its result lines.
fn results(line: &str) -> Vec<String> {
    let directory = tempfile::tempdir().expect("temporary directory");
    let text = db_bench_in(directory.path(), line.split_whitespace());
    text.lines()
        .filter(|line| line.contains(" micros/op "))
        .map(String::from)
        .collect()
}

#[test]
fn command_lines_from_the_field_run_scaled_down() {
    let lines = results(
        "-benchmarks=fillrandom -threads=16 -batch_size=1 -memtablerep=skip_list -value_size=100 --num=625 \
         -level0_slowdown_writes_trigger=9999 -level0_stop_writes_trigger=9999 -disable_auto_compactions \
         --max_write_buffer_number=8 -max_background_flushes=8 --disable_wal --write_buffer_size=160000000 \
         --block_size=16384 --allow_concurrent_memtable_write",
    );
    assert!(lines[0].contains(" 10000 operations;"), "{lines:?}");
    let lines = results(
        "--benchmarks=fillrandom[-X2] --threads=40 --num=100 --seed=1708494134896523 --disable_auto_compactions=1 \
         --max_write_buffer_number=100 --min_write_buffer_number_to_merge=100 --statistics=0",
    );
    assert_eq!(lines.len(), 2, "{lines:?}");
    let lines = results(
        "--db=./data --disable_wal=true --key_size=35 --value_size=100 --write_buffer_size=4096000000 \
         --benchmarks=fillrandom --batch_size=512 --num=10000 --threads=1 --compression_type=none \
         --allow_concurrent_memtable_write=false",
    );
    assert!(lines[0].contains(" 9728 operations;"), "{lines:?}");
}

#[test]
fn every_benchmark_runs_on_the_engine() {
    let lines = results("--num=1000 --writes=50 --benchmarks=fill100K");
    assert!(lines[0].ends_with("MB/s (1 ops)"), "{lines:?}");
    let lines = results(
        "--num=2000 --threads=2 --merge_operator=stringappend --batch_size=4 --max_scan_distance=50 --seek_nexts=9 \
         --mix_put_ratio=0.3 --mix_seek_ratio=0.1 --key_dist_a=0.002312 --key_dist_b=0.3467 --keyrange_num=30 \
         --keyrange_dist_a=14.18 --keyrange_dist_b=-2.917 --keyrange_dist_c=0.0164 --keyrange_dist_d=-0.08082 \
         --key_id_range=10 --expire_style=delete --time_range=100 --read_random_exp_range=5 \
         --benchmarks=filluniquerandom,fillseekseq,xorupdaterandom,appendrandom,readhot,readrandomfast,readrandomsmall,\
multireadrandom,multireadwhilewriting,newiterator,newiteratorwhilewriting,approximatesizerandom,readwhilemerging,\
readwhilescanning,seekrandomwhilewriting,seekrandomwhilemerging,readrandomwriterandom,readrandommergerandom,\
randomwithverify,mixgraph,compactall,sstables,memstats,deleteseq,readtocache,randomreplacekeys,timeseries",
    );
    // The time series have two lines.
    assert_eq!(lines.len(), 24 + 1, "{lines:?}");
    // Small memtables, so that tables are read, too.
    let lines = results(
        "--num=2000 --threads=2 --merge_operator=uint64add --bloom_bits=10 \
         --write_buffer_size=65536 --disable_auto_compactions \
         --benchmarks=fillseq,fillbatch,fillsync,fillrandom,overwrite,updaterandom,mergerandom,flush,readrandom,\
readmissing,seekrandom,readseq,readreverse,readwhilewriting,deleterandom,compact,waitforcompaction,stats,levelstats",
    );
    assert_eq!(lines.len(), 15, "{lines:?}");
    let missing = lines.iter().find(|line| line.starts_with("readmissing"));
    assert!(
        missing.is_some_and(|line| line.ends_with("(0 of 2000 found)")),
        "{lines:?}"
    );
}

#[test]
fn json_and_page_are_written_at_the_end() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let output = Command::new(env!("CARGO_BIN_EXE_db_bench"))
        .args(["--num=500", "--benchmarks=fillseq,readseq[X3],stats"])
        .args(["--json_file=r.json", "--html_file=r.html"])
        .current_dir(directory.path())
        .env("TEST_TMPDIR", directory.path())
        .output()
        .expect("db_bench starts");
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{message}");
    let read = |name: &str| std::fs::read_to_string(directory.path().join(name)).expect(name);
    let json: serde_json::Value = serde_json::from_str(&read("r.json")).expect("JSON");
    let results = json["results"].as_array().expect("a list");
    assert_eq!(results.len(), 2, "{json}");
    assert_eq!(results[1]["benchmark"], "readseq");
    assert_eq!(results[1]["runs"].as_array().map(Vec::len), Some(3));
    let html = read("r.html");
    assert!(html.contains("readseq: over time"), "{html}");
    assert!(!html.contains("Latency over time"), "nothing was timed");
    assert!(
        html.matches("<svg").count() >= 3,
        "bars, and two runs over time"
    );
}

/// `fillseekseq` fills first; the fill is not measured.
#[test]
fn latencies_over_time_are_of_what_is_measured() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let line = "--num=300 --benchmarks=fillseekseq --histogram --json=r.json";
    db_bench_in(directory.path(), line.split_whitespace());
    let json = std::fs::read_to_string(directory.path().join("r.json")).expect("r.json");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let timeline = &json["results"][0]["latency_timeline_microseconds"];
    let operations: Vec<_> = timeline.as_object().expect("an object").keys().collect();
    assert_eq!(operations, ["seek"], "{timeline}");
}

#[test]
fn a_sweep_over_threads_and_protocols_is_one_page() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let line = "--num=300 --benchmarks=fillrandom,readrandom --rounds=2 --threads=1,3 \
                --compare=commit_protocol=grouped|ordered --histogram --json=r.json --html=r.html";
    let text = db_bench_in(directory.path(), line.split_whitespace());
    for part in [
        "=== 1 of 8: commit_protocol=grouped threads=1\n",
        "=== 5 of 8: commit_protocol=ordered threads=3\n",
        "\nreadrandom, operations per second, medians of 2 runs\nthreads       commit_protocol=grouped",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let read = |name: &str| std::fs::read_to_string(directory.path().join(name)).expect(name);
    let json: serde_json::Value = serde_json::from_str(&read("r.json")).expect("JSON");
    let results = json["results"].as_array().expect("a list");
    assert_eq!(results.len(), 8, "{json}");
    let last = &results[7];
    assert_eq!(last["benchmark"], "readrandom");
    assert_eq!(last["swept"]["value"], "3");
    assert_eq!(last["configuration"], "commit_protocol=ordered");
    assert_eq!(last["runs"].as_array().map(Vec::len), Some(2));
    // 300 of each of 3 threads in each of 2 rounds.
    assert_eq!(last["latency_microseconds"]["read"]["count"], 1800);
    let points = last["timeline"].as_array().expect("a list");
    assert!(!points.is_empty());
    // Of the last round.
    let points = &last["latency_timeline_microseconds"]["read"];
    let points = points.as_array().expect("a list");
    let counts = points.iter().map(|at| at["count"].as_u64());
    assert_eq!(counts.sum::<Option<u64>>(), Some(900), "{points:?}");
    let longest = points.iter().filter_map(|at| at["max"].as_f64());
    let longest = longest.fold(0.0, f64::max);
    assert!(longest > 0.0, "{points:?}");
    let html = read("r.html");
    for part in [
        "fillrandom: throughput by threads",
        "Ratio to commit_protocol=grouped",
        "readrandom: latencies",
        "readrandom: over time",
        "Latency over time: P99.9",
        "Latency over time: longest",
        "db_bench --benchmarks=fillrandom,readrandom --num=300 --threads=3",
    ] {
        assert!(html.contains(part), "{part}");
    }
    let left: Vec<_> = std::fs::read_dir(directory.path())
        .expect("directory")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.starts_with("part-") || name.starts_with("dbbench"))
        .collect();
    let inside = left.iter().map(|name| directory.path().join(name));
    assert!(
        inside
            .flat_map(|path| std::fs::read_dir(path).expect("directory"))
            .next()
            .is_none(),
        "{left:?}"
    );
}

#[test]
fn options_of_tables_and_levels_are_taken_or_refused() {
    let lines = results(
        "--num=2000 --benchmarks=fillrandom,compact,readrandom,readseq --write_buffer_size=65536 \
         --target_file_size_multiplier=2 --nolevel_compaction_dynamic_level_bytes --max_compaction_bytes=1000000 \
         --soft_pending_compaction_bytes_limit=100000000 --hard_pending_compaction_bytes_limit=200000000 \
         --compression_type=zstd --compression_level=3 --min_level_to_compress=2 --index_block_restart_interval=4 \
         --bloom_bits=10 --nowhole_key_filtering --cache_numshardbits=4 --readahead_size=65536 --max_total_wal_size=10000000",
    );
    assert_eq!(lines.len(), 4, "{lines:?}");
    let lines = results("--num=10 --benchmarks=fillseq --compression_max_dict_bytes=100");
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_refused(
        &[
            "--seed=1",
            "--benchmarks=fillseq",
            "--num=10",
            "--format_version=8",
        ],
        "format_version",
    );
}

#[test]
fn memtablerep_bench_runs_and_refuses() {
    let run = |arguments: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_memtablerep_bench"))
            .args(arguments)
            .output()
            .expect("memtablerep_bench starts")
    };
    let output = run(&[
        "--num=200",
        "--threads=2",
        "--benchmarks=fillrandom,readseq",
    ]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    // The program's allocator counts for those that have no account.
    let row = text.lines().find(|line| line.contains(" btree_rwlock"));
    assert!(row.is_some_and(|row| row.contains(" h ")), "{text}");
    let output = run(&["--structure=art"]);
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(
        message.contains("the nearest known one is --structures"),
        "{message}"
    );
}
