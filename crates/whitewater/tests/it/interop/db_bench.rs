//! Databases that RocksDB's db_bench wrote.

use super::tools;
use super::written::compare;
use crate::content::{self, Content};
use crate::fixtures::{add, append};
use std::path::Path;
use tempfile::TempDir;
use whitewater::{MergeOperands, Options};

/// Small buffers and files, so that a little data has several levels.
const SMALL: [&str; 6] = [
    "--num=1500",
    "--seed=1",
    "--write_buffer_size=65536",
    "--target_file_size_base=32768",
    "--max_bytes_for_level_base=65536",
    "--max_bytes_for_level_multiplier=2",
];

/// Runs db_bench in a new directory, once for each list of flags.
fn bench(runs: &[&[&str]]) -> TempDir {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for (i, flags) in runs.iter().enumerate() {
        let again: &[&str] = if i > 0 { &["--use_existing_db=1"] } else { &[] };
        tools::db_bench(dir.path(), &[&SMALL, *flags, again].concat());
    }
    dir
}

/// Checks that this engine reads what db_bench wrote as RocksDB does, also after a compaction here.
fn check(runs: &[&[&str]]) {
    check_with(runs, Options::default);
}

fn check_with(runs: &[&[&str]], options: fn() -> Options) {
    println!("db_bench {runs:?}");
    let dir = bench(runs);
    let wanted = tools::scan(dir.path());
    assert!(wanted["default"].len() > 50, "hardly anything written");
    check_here(dir.path(), &wanted, options);
    tools::check(dir.path());
    compare(
        &tools::scan(dir.path()),
        &wanted,
        "for RocksDB, after compaction",
    );
}

fn check_here(dir: &Path, wanted: &Content, options: fn() -> Options) {
    let open = || content::open_with(dir, |_| options()).unwrap();
    let db = open();
    content::check(&db, wanted, "as db_bench left it");
    for name in wanted.keys() {
        content::compact(&db, name, false).unwrap();
    }
    content::check(&db, wanted, "compacted");
    for name in wanted.keys() {
        content::compact(&db, name, true).unwrap();
    }
    drop(db);
    content::check(&open(), wanted, "compacted to the last level and reopened");
}

#[test]
fn compression_types() {
    if !tools::available() {
        return;
    }
    for compression in ["none", "snappy", "lz4", "lz4hc", "zstd"] {
        let compression = format!("--compression_type={compression}");
        for fill in ["--benchmarks=fillrandom", "--benchmarks=fillseq"] {
            check(&[&[fill, &compression]]);
        }
    }
    check(&[&[
        "--benchmarks=fillrandom",
        "--compression_type=zstd",
        "--compression_max_dict_bytes=4096",
    ]]);
}

#[test]
fn format_versions_and_checksums() {
    if !tools::available() {
        return;
    }
    for version in 2..=5 {
        let version = format!("--format_version={version}");
        check(&[&["--benchmarks=fillrandom", &version, "--bloom_bits=10"]]);
    }
    for checksum in 0..=4 {
        let checksum = format!("--checksum_type={checksum}");
        check(&[&["--benchmarks=fillrandom,compact,overwrite", &checksum]]);
    }
}

#[test]
fn table_layouts() {
    if !tools::available() {
        return;
    }
    let layouts: [&[&str]; 8] = [
        &["--bloom_bits=10", "--use_ribbon_filter"],
        &["--bloom_bits=10", "--partition_index_and_filters"],
        &["--partition_index"],
        &["--index_with_first_key"],
        &["--use_data_block_hash_index"],
        &[
            "--index_block_restart_interval=8",
            "--block_restart_interval=3",
        ],
        &["--block_size=512", "--index_shortening_mode=0"],
        &[
            "--bloom_bits=10",
            "--prefix_size=8",
            "--whole_key_filtering=false",
        ],
    ];
    for layout in layouts {
        check(&[&[&["--benchmarks=fillrandom,overwrite"], layout].concat()]);
    }
}

#[test]
fn column_families_deletes_and_logs() {
    if !tools::available() {
        return;
    }
    check(&[&["--benchmarks=fillrandom", "--num_column_families=3"]]);
    check(&[
        &["--benchmarks=fillseq", "--num_column_families=2"],
        &[
            "--benchmarks=deleterandom,overwrite",
            "--num_column_families=2",
            "--reads=300",
        ],
    ]);
    check(&[
        &["--benchmarks=fillseq"],
        &["--benchmarks=deleterandom", "--deletes=500"],
        &["--benchmarks=overwrite", "--writes=200"],
    ]);
    check(&[&[
        "--benchmarks=fillrandom",
        "--writes_per_range_tombstone=20",
        "--range_tombstone_width=30",
        "--max_num_range_tombstones=60",
    ]]);
    check(&[&["--benchmarks=fillrandom", "--wal_compression=zstd"]]);
    check(&[&["--benchmarks=fillbatch", "--batch_size=50"]]);
    check(&[&["--benchmarks=fillrandom", "--enable_pipelined_write=false"]]);
    check(&[&["--benchmarks=fillrandom,overwrite", "--compaction_style=1"]]);
    check(&[&[
        "--benchmarks=fillrandom,overwrite",
        "--value_size=40000",
        "--num=100",
    ]]);
}

#[test]
fn merges() {
    if !tools::available() {
        return;
    }
    check_merges("put", || merging(last));
    check_merges("uint64add", || merging(add));
    check_merges("stringappend", || merging(append));
}

fn check_merges(operator: &str, options: fn() -> Options) {
    let operator = format!("--merge_operator={operator}");
    let flags = [&operator[..], "--value_size=8", "--num=400"];
    let fill: &[&str] = &["--benchmarks=fillrandom,mergerandom,compact,mergerandom"];
    let more: &[&str] = &["--benchmarks=mergerandom,deleterandom,mergerandom"];
    let runs = [[&flags[..], fill].concat(), [&flags[..], more].concat()];
    check_with(&[&runs[0], &runs[1]], options);
}

/// A merge function.
type Merge = fn(&[u8], Option<&[u8]>, &MergeOperands<'_>) -> Option<Vec<u8>>;

fn merging(merge: Merge) -> Options {
    let mut options = Options::default();
    options.set_merge_operator_associative("as RocksDB's", merge);
    options
}

/// RocksDB's PutOperator.
fn last(_key: &[u8], existing: Option<&[u8]>, operands: &MergeOperands<'_>) -> Option<Vec<u8>> {
    existing
        .into_iter()
        .chain(operands)
        .last()
        .map(<[u8]>::to_vec)
}

/// RocksDB's codecs, with dictionaries and without.
#[test]
fn every_codec_is_read() {
    if !tools::available() {
        return;
    }
    for codec in ["snappy", "zlib", "bzip2", "lz4", "lz4hc", "zstd"] {
        let codec = format!("--compression_type={codec}");
        let dictionary = "--compression_max_dict_bytes=4096";
        check(&[&["--benchmarks=fillrandom,compact", &codec, dictionary]]);
    }
}

#[test]
fn blob_files_are_read() {
    check(&[&["--benchmarks=fillrandom,flush", "--enable_blob_files=1"]]);
}
