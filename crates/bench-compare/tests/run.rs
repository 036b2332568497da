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
    assert_eq!(results.len(), stores::ALL.len() * mixes::ALL.len());
    for result in results {
        let mix = mixes::Mix::named(result["mix"].as_str().unwrap()).unwrap();
        let expected = match mix.name {
            mixes::LOAD => 500,
            _ if mix.is_queue() => 100,
            _ => 300,
        };
        let rounds = result["rounds"].as_array().unwrap();
        assert_eq!(rounds.len(), 2);
        for round in rounds {
            assert_eq!(round["operations"], expected, "{result}");
            assert!(round["memory"]["resident"].as_u64().unwrap() > 1 << 20);
            assert!(round["file_bytes"].as_u64().unwrap() > 0);
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
    for engine in stores::ALL {
        assert!(errors.contains(&format!("round 2 of 2, 3 threads, {engine}")));
        assert!(html.contains(&engine.title()) && html.contains(engine.setup()));
        assert_eq!(
            text.matches(&format!("\n  {engine} ")).count(),
            mixes::ALL.len()
        );
    }
}

#[test]
fn what_cannot_be_done_is_said_before_anything_runs() {
    for (arguments, message) in [
        (&["--engines=oracle"][..], "there is no store oracle"),
        (&["--mixes=c,z"], "there is no mix z"),
        (&["--threads=2,0"], "--threads must be at least 1"),
        (&["--value-size=7"], "--value-size must be at least 8"),
        (
            &["--scan-min=9", "--scan-max=8"],
            "--scan-max must not be below --scan-min",
        ),
        (&["--json=/nowhere/at/all"], "/nowhere/at/all"),
    ] {
        let text = error(arguments);
        assert!(text.contains(message), "{text}");
        assert!(!text.contains("round 1"), "{text}");
    }
}
