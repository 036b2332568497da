//! RocksDB's own tool reads what is written here, and agrees on what RocksDB
//! wrote.

use super::files::*;
use super::fixtures;
use crate::skip::skip_without;
use std::path::{Path, PathBuf};
use std::process::Command;
use whitewater_storage::checksum::ChecksumType;
use whitewater_storage::key::{ValueType, internal_key, parse_internal_key};
use whitewater_storage::rangedel::RangeTombstone;
use whitewater_storage::sst::{
    CompressionType, FilterPolicy, TableBuilderOptions, TableOptions, TableReadOptions,
};

/// The tool: where `SST_DUMP` says, or where it usually is.
fn tool() -> PathBuf {
    std::env::var_os("SST_DUMP").map_or_else(|| "/usr/bin/sst_dump".into(), PathBuf::from)
}

pub fn have_tool() -> bool {
    let have = tool().exists();
    if !have {
        skip_without(&tool().display().to_string());
    }
    have
}

/// Standard output and error of one run of the tool.
pub fn run(file: &Path, args: &[&str]) -> String {
    let out = Command::new(tool())
        .arg(format!("--file={}", file.display()))
        .args(args)
        .output()
        .expect("runs");
    let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
    format!("{}{}", text(&out.stdout), text(&out.stderr))
}

fn hex(b: &[u8]) -> String {
    b.iter().map(|b| format!("{b:02X}")).collect()
}

/// The lines `sst_dump --command=scan --output_hex` prints for points.
fn scan_lines(entries: &[Entry]) -> Vec<String> {
    entries
        .iter()
        .map(|(k, v)| {
            let p = parse_internal_key(k).expect("whole");
            let (k, seq, ty) = (hex(p.user_key), p.seq, p.ty as u8);
            format!("'{k}' seq:{seq}, type:{ty} => {}", hex(v))
                .trim_end()
                .to_owned()
        })
        .collect()
}

fn scanned(out: &str) -> Vec<String> {
    out.lines()
        .filter(|l| l.starts_with('\''))
        .map(|l| l.trim_end().to_owned())
        .collect()
}

/// Compares two scans without printing all of both.
fn assert_same(got: &[String], want: &[String], what: &str) {
    for (i, (g, w)) in got.iter().zip(want).enumerate() {
        assert_eq!(g, w, "entry {i} of {what}");
    }
    assert_eq!(got.len(), want.len(), "{what}");
}

/// Checks that the tool finds `entries` in `file`.
pub fn assert_scan(file: &Path, entries: &[Entry], what: &str) {
    let out = run(file, &["--command=scan", "--output_hex"]);
    assert_same(&scanned(&out), &scan_lines(entries), what);
}

fn entries(straddling: bool) -> Vec<Entry> {
    let mut out = Vec::new();
    for i in 0..3000u64 {
        let key = format!("key{:06}", if straddling { i / 40 } else { i });
        let ty = match i % 7 {
            5 => ValueType::Deletion,
            6 => ValueType::SingleDeletion,
            _ => ValueType::Value,
        };
        let value = match ty {
            ValueType::Value => format!("some value {} ", i * 7919).repeat(3).into_bytes(),
            _ => Vec::new(),
        };
        out.push((internal_key(key.as_bytes(), 10_000 - i, ty), value));
    }
    out
}

#[test]
fn sst_dump_reads_tables_written_here() {
    if !have_tool() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let tombstones = [RangeTombstone {
        start: b"key000100".to_vec(),
        end: b"key000200".to_vec(),
        seq: 20_000,
    }];
    for compression in [
        CompressionType::None,
        CompressionType::Snappy,
        CompressionType::Lz4,
        CompressionType::Zstd,
    ] {
        for checksum in [ChecksumType::XXH3, ChecksumType::CRC32c] {
            for (straddling, interval) in [(false, 1), (true, 1), (false, 4), (true, 4)] {
                let entries = entries(straddling);
                let options = TableBuilderOptions {
                    table: TableOptions {
                        checksum,
                        index_block_restart_interval: interval,
                        filter_policy: Some(FilterPolicy::Bloom { bits_per_key: 10.0 }),
                        ..TableOptions::default()
                    },
                    compression,
                    column_family_name: "default".to_owned(),
                    db_id: "0b34ba01-73e2-4ba8-a386-d3b8ef4fc4d5".to_owned(),
                    session_id: "ABCDEFGHIJKLMNOPQRST".to_owned(),
                    file_number: 12,
                    external: false,
                    ..TableBuilderOptions::default()
                };
                let file = dir.path().join("000012.sst");
                std::fs::write(&file, build(options, &entries, &tombstones)).expect("writes");
                let what = format!("{compression:?} {checksum:?} {straddling} {interval}");

                let out = run(&file, &["--command=verify"]);
                assert!(out.contains("The file is ok"), "{what}: {out}");
                assert_scan(&file, &entries, &what);
                let out = run(&file, &["--command=none", "--show_properties"]);
                assert!(out.contains("# entries: 3001"), "{what}: {out}");
                assert!(out.contains("filter policy name: bloomfilter"), "{out}");
                assert!(!out.to_lowercase().contains("corrupt"), "{what}: {out}");
            }
        }
    }
}

#[test]
fn sst_dump_agrees_on_the_fixtures() {
    let dir = fixtures::directory();
    if !have_tool() {
        return;
    }
    let mut compared = 0;
    for path in fixtures::tables(&dir) {
        let Ok(table) = fixtures::open_file(&path) else {
            continue;
        };
        // The tool reads plain tables in memory maps only, and no cuckoo tables.
        let Some(comparator) = table.properties().raw.get("rocksdb.comparator") else {
            continue;
        };
        let format = &table.properties().raw["rocksdb.format.version"];
        // Newer versions, other orders and ingested files are beyond the tool.
        let foreign = table
            .properties()
            .raw
            .contains_key("rocksdb.external_sst_file.version");
        if comparator != b"leveldb.BytewiseComparator" || format[0] > 5 || foreign {
            continue;
        }
        let mut it = table.iter(TableReadOptions::default());
        let Ok(entries) = collect(&mut it) else {
            continue;
        };
        // The tool resolves references to blobs only inside their database.
        let types = entries
            .iter()
            .map(|e| parse_internal_key(&e.0).expect("whole").ty);
        if types.into_iter().any(|t| t == ValueType::BlobIndex) {
            continue;
        }
        assert_scan(&path, &entries, &path.display().to_string());
        compared += 1;
    }
    println!("{compared} fixture tables compared");
    assert!(compared > 0);
}
