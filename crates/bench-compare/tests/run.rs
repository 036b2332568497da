//! The program itself, with few records, over all stores that are built in.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use whitewater_bench_compare::mixes;
use whitewater_bench_compare::stores;

fn run(directory: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bench-compare"))
        .args([
            "--records=500",
            "--operations=300",
            "--pops=100",
            "--cache-mib=8",
        ])
        .arg(format!("--directory={}", directory.display()))
        .args(arguments)
        .output()
        .unwrap()
}

fn error(arguments: &[&str]) -> String {
    let directory = tempfile::tempdir().unwrap();
    let output = run(directory.path(), arguments);
    assert!(!output.status.success(), "{arguments:?} was taken");
    String::from_utf8(output.stderr).unwrap()
}

fn mixes_after_load() -> Vec<&'static str> {
    let all = mixes::ALL.iter().map(|mix| mix.name);
    all.filter(|name| *name != mixes::LOAD).collect()
}

/// How many operations there were; by a schedule also those that were due and not begun in time,
/// which count among the latencies.
fn operations(round: &Value, mix: &mixes::Mix) -> u64 {
    if !mix.scheduled {
        return round["operations"].as_u64().unwrap();
    }
    let latencies = round["latencies"].as_array().unwrap().iter();
    latencies.map(|kind| kind["count"].as_u64().unwrap()).sum()
}

#[test]
fn a_table_is_one_command() {
    let directory = tempfile::tempdir().unwrap();
    let json = directory.path().join("json");
    let output = run(
        directory.path(),
        &[
            "--table=R-queue",
            "--quick",
            "--engines=whitewater",
            "--rounds=1",
            "--compact",
            &format!("--json={}", json.display()),
        ],
    );
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let json: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    // What is given counts, the rest is the table's.
    assert_eq!(json["work"]["records"], 500);
    assert_eq!(json["work"]["seconds"], 2);
    assert_eq!(json["work"]["compact"], true);
    for result in json["results"].as_array().unwrap() {
        // Each mix has a load of its own.
        let rounds = result["rounds"].as_array().unwrap().len();
        let expected = if result["mix"] == mixes::LOAD { 6 } else { 1 };
        assert_eq!(rounds, expected, "{result}");
    }
}

#[test]
fn every_store_runs_every_mix_and_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let stores_at = directory.path().join("stores");
    std::fs::create_dir(&stores_at).unwrap();
    let (json, html) = (directory.path().join("json"), directory.path().join("html"));
    let output = run(
        &stores_at,
        &[
            "--rounds=2",
            "--threads=3",
            &format!("--mixes={}", mixes_after_load().join(",")),
            "--peak-seconds=1",
            "--tail-seconds=1",
            "--tail-rate=300",
            "--key-size=24",
            &format!("--json={}", json.display()),
            &format!("--html={}", html.display()),
        ],
    );
    let (text, errors) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{errors}");
    assert_eq!(std::fs::read_dir(&stores_at).unwrap().count(), 0);
    let json: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    let html = std::fs::read_to_string(html).unwrap();
    let results = json["results"].as_array().unwrap();
    let suits = |mix: &mixes::Mix| stores::ALL.iter().filter(|one| mix.suits(**one)).count();
    assert_eq!(results.len(), mixes::ALL.iter().map(suits).sum::<usize>());
    for result in results {
        let mix = mixes::Mix::named(result["mix"].as_str().unwrap()).unwrap();
        let expected = match mix.name {
            mixes::LOAD => 500,
            _ if mix.queue.is_some() => 100,
            _ => 300,
        };
        let rounds = result["rounds"].as_array().unwrap();
        assert_eq!(rounds.len(), 2);
        for round in rounds {
            assert_eq!(operations(round, mix), expected, "{result}");
            assert!(round["memory"]["resident"].as_u64().unwrap() > 1 << 20);
            assert!(round["file_bytes"].as_u64().unwrap() > 0);
            assert_eq!(round["tenths"].is_null(), mix.queue.is_none(), "{round}");
            let over_time = round["over_time"].as_array().unwrap();
            assert_eq!(over_time.is_empty(), !mix.scheduled, "{round}");
        }
        assert!(result["medians"]["operations_per_second"].as_f64().unwrap() > 0.0);
        assert_eq!(
            result["medians"]["settle_seconds"].is_null(),
            mix.name != mixes::LOAD
        );
    }
    for mix in mixes::ALL {
        assert!(
            text.contains(mix.about) && html.contains(mix.about),
            "{}",
            mix.name
        );
    }
    assert!(text.contains(": first tenth ") && text.contains(": schedule of 300/s"));
    assert!(html.contains("Latency over time: p99.9"));
    for engine in stores::ALL {
        let all = mixes::ALL.iter().filter(|mix| mix.suits(*engine)).count();
        assert!(errors.contains(&format!("round 2 of 2, 3 threads, {engine}")));
        assert!(html.contains(&engine.title()) && html.contains(engine.setup()));
        assert_eq!(text.matches(&format!("\n  {engine} ")).count(), all);
    }
}

#[test]
fn what_cannot_be_done_is_said_before_anything_runs() {
    for (arguments, message) in [
        (&["--engines=oracle"][..], "there is no store oracle"),
        (&["--mixes=c,z"], "there is no mix z"),
        (&["--threads=2,0"], "--threads must be at least 1"),
        (&["--value-size=7"], "--value-size must be at least 8"),
        (&["--key-size=15"], "--key-size must be from 16 to 64"),
        (&["--table=W"], "R-queue"),
        (&["--quick"], "--table"),
        (
            &["--scan-min=9", "--scan-max=8"],
            "--scan-max must not be below --scan-min",
        ),
        (&["--json=/nowhere/at/all"], "/nowhere/at/all"),
        #[cfg(feature = "lmdb")]
        (
            &["--engines=whitewater,lmdb", "--direct-reads"],
            "lmdb always reads through the system's cache",
        ),
    ] {
        let text = error(arguments);
        assert!(text.contains(message), "{text}");
        assert!(!text.contains("round 1"), "{text}");
    }
}
