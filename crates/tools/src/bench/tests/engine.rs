//! Benchmarks on this engine itself.

use super::*;

/// Runs only for a moment, because RocksDB's number of bytes is some gigabytes.
#[test]
fn blocks_are_checksummed_and_compressed() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let run = |list: &str, compression: &str, ratio| {
        let flags = Flags {
            compression_type: compression.into(),
            compression_ratio: ratio,
            block_size: 5000,
            histogram: true,
            ..Flags::default()
        };
        let mut output = Vec::new();
        let runner = Runner::<Own>::new(&flags, directory.path(), 1, &mut output).expect("opens");
        let mut runner = runner.with_cap(std::time::Duration::from_millis(1));
        runner.run(&plan::parse(list).expect("list")).expect("runs");
        drop(runner);
        String::from_utf8(output).expect("text")
    };
    let text = run(
        "crc32c,xxhash,xxhash64,xxh3,compress,uncompress",
        "snappy",
        0.5,
    );
    for (name, word) in [
        ("crc32c", "crc"),
        ("xxhash", "hash"),
        ("xxhash64", "hash"),
        ("xxh3", "hash"),
    ] {
        let (count, message) = result_of(&text, name);
        assert!(count > 0 && message.ends_with("(5000 per op)"), "{text}");
        assert!(
            text.contains(&format!("Microseconds per {word}:")),
            "{text}"
        );
    }
    let (count, message) = result_of(&text, "compress");
    assert!(count > 0 && message.contains("(output: 5"), "{message}");
    let (count, message) = result_of(&text, "uncompress");
    assert!(count > 0 && message.ends_with("MB/s"), "{message}");
    // Data that does not get smaller is not compressed.
    for (compression, ratio) in [("none", 0.5), ("lz4", 1.0)] {
        let text = run("compress,uncompress", compression, ratio);
        assert_eq!(text.matches("(compression failure)").count(), 2, "{text}");
    }
    let peer = run_failure("crc32c");
    assert!(peer.contains("offers no call for it"), "{peer}");
}

/// Existing keys are read, whatever they look like.
#[test]
fn existing_keys_take_the_place_of_made_ones() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let fill = Flags {
        num: 300,
        key_size: 20,
        ..Flags::default()
    };
    let mut output = Vec::new();
    let run = |flags: &Flags, list: &str, output: &mut Vec<u8>| {
        let mut runner = Runner::<Own>::new(flags, directory.path(), 1, output).expect("opens");
        runner.run(&plan::parse(list).expect("list")).expect("runs");
    };
    run(&fill, "fillseq", &mut output);
    let read = Flags {
        num: 1,
        reads: 500,
        use_existing_db: true,
        use_existing_keys: true,
        multiread_batched: true,
        batch_size: 5,
        ..Flags::default()
    };
    output.clear();
    let list = "readrandom,multireadrandom,approximatesizerandom,compactall";
    run(&read, list, &mut output);
    let text = String::from_utf8(output).expect("text");
    for name in ["readrandom", "multireadrandom"] {
        assert!(
            result_of(&text, name).1.ends_with("(500 of 500 found)"),
            "{text}"
        );
    }
}

#[test]
fn the_engines_calls_are_reported() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let file = directory.path().join("results.json");
    let flags = Flags {
        num: 500,
        benchmarks: "fillseq,fillsync,readrandom,flush".into(),
        contention: true,
        perf_level: 6,
        statistics: true,
        json_file: file.display().to_string(),
        progress_reports: false,
        ..Flags::default()
    };
    let mut output = Vec::new();
    let steps = plan::parse(&flags.benchmarks).expect("list");
    let document = Document::begin(&flags, 1, std::path::Path::new("/"));
    let base = directory.path().join("db");
    let mut runner = Runner::<Own>::new(&flags, &base, 1, &mut output).expect("opens");
    let outcomes = runner.run(&steps).expect("runs");
    drop(runner);
    let rows = outcomes.iter().map(Row::of).collect();
    document
        .save(&[Column {
            engine: Own::title(),
            rows,
            ..Column::default()
        }])
        .expect("written");
    let text = String::from_utf8(output).expect("text");
    for found in [
        "  log writes                     1.000000\n",
        "  futex waits                    0.000000\n",
        "get_from_memtable_count = 500",
        "write_wal_time = ",
        "rocksdb.db.get.micros P50 : ",
        "rocksdb.write.self COUNT : ",
    ] {
        assert!(text.contains(found), "{found} in {text}");
    }
    let json = std::fs::read_to_string(&file).expect("file");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let contention = &json["results"][0]["contention"];
    assert_eq!(contention["operations"], 500);
    assert_eq!(contention["log_writes"], 1.0);
    assert_eq!(contention["log_syncs"], 0.0);
    assert_eq!(
        contention["rmw"].is_null(),
        !whitewater_concurrent::sync::rmw::ENABLED
    );
    let reads = &json["results"][2]["contention"];
    // In a memtable a look-up finds its value without a write that others could meet.
    let counted = whitewater_concurrent::sync::rmw::ENABLED;
    for count in ["rmw", "shared_writes", "locks"] {
        let each = counted.then_some(0.0);
        assert_eq!(reads[count].as_f64(), each, "{count}");
    }
    assert!(json["results"][3]["contention"].is_null(), "a flush");
}
