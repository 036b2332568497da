//! What the header, the JSON and the page say of a run.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::Bench;

/// The JSON of a run with these flags.
fn document(bench: &Bench, line: &str) -> serde_json::Value {
    let file = bench.directory.path().join("run.json");
    bench.run(&format!("{line} --json={}", file.display()));
    let text = std::fs::read_to_string(file).expect("a document");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn header_and_json_say_which_protocol_and_memtable_are_in_force() {
    let bench = Bench::new();
    let text = bench.run("--num=20 --benchmarks=fillseq");
    assert!(text.contains("\nMemtablerep: art\n"), "{text}");
    assert!(text.contains("\nCommit protocol: ordered\n"), "{text}");
    let json = document(&bench, "--num=20 --benchmarks=fillseq");
    let in_force = &json["results"][0]["in_force"];
    assert_eq!(in_force["commit_protocol"], "ordered");
    assert_eq!(in_force["memtable"], "art");

    let flags = "--num=20 --benchmarks=fillseq --memtablerep=vector \
                 --allow_concurrent_memtable_write=false";
    let text = bench.run(flags);
    assert!(text.contains("\nMemtablerep: VectorRepFactory\n"), "{text}");
    assert!(text.contains("\nCommit protocol: grouped\n"), "{text}");
    let json = document(
        &bench,
        "--num=20 --benchmarks=fillseq --compare=memtablerep=skip_list|auto",
    );
    let memtables: Vec<_> = (0..2)
        .map(|at| json["results"][at]["in_force"]["memtable"].clone())
        .collect();
    assert_eq!(memtables, ["skip_list", "art"]);
}

#[test]
fn a_file_that_cannot_be_written_is_refused_before_the_first_benchmark() {
    let bench = Bench::new();
    for flag in ["json", "html"] {
        let line = format!("--num=20 --benchmarks=fillseq --{flag}=/no/such/directory/file");
        let message = bench.refusal(&line);
        assert!(message.contains("/no/such/directory/file: "), "{message}");
        assert!(!bench.database().exists(), "nothing has run");
    }
    // One that is there stays until there is another.
    let file = bench.directory.path().join("old.json");
    std::fs::write(&file, "old").expect("file");
    bench.refusal(&format!(
        "--json={} --benchmarks=fillseq --threads=0",
        file.display()
    ));
    assert_eq!(std::fs::read_to_string(&file).expect("file"), "old");
}

/// Waits until `done` says so.
fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(120), "no {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn interrupt(child: &Child) {
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("a process number"));
    kill(pid, Signal::SIGINT).expect("it is there");
}

#[test]
fn after_ctrl_c_there_is_the_report_of_what_ran_and_no_database() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let json = directory.path().join("run.json");
    let temporary = directory.path().join("tmp");
    std::fs::create_dir(&temporary).expect("directory");
    let mut child = Command::new(env!("CARGO_BIN_EXE_db_bench"))
        .args([
            "--benchmarks=fillseq,readrandom,readseq",
            "--num=100",
            "--duration=100",
        ])
        .arg(format!("--json={}", json.display()))
        .env("TMPDIR", &temporary)
        .env_remove("TEST_TMPDIR")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("db_bench starts");
    let output = child.stdout.take().expect("piped");
    let mut text = String::new();
    for line in BufReader::new(output).lines() {
        let line = line.expect("text");
        if line.starts_with("fillseq ") {
            // The next one runs for a hundred seconds.
            interrupt(&child);
        }
        text += &line;
        text.push('\n');
    }
    assert_eq!(child.wait().expect("it ends").code(), Some(130), "{text}");
    assert!(!text.contains("readseq"), "{text}");
    let json = std::fs::read_to_string(json).expect("a document");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let results = json["results"].as_array().expect("results");
    assert_eq!(results.len(), 1, "{text}");
    assert_eq!(results[0]["benchmark"], "fillseq");
    assert_eq!(std::fs::read_dir(&temporary).expect("directory").count(), 0);
}

#[test]
fn an_output_that_nobody_reads_ends_the_run_in_order() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let mut child = Command::new(env!("CARGO_BIN_EXE_db_bench"))
        .args([
            "--benchmarks=fillseq,readrandom,stats",
            "--num=100",
            "--duration=100",
        ])
        .env("TMPDIR", directory.path())
        .env_remove("TEST_TMPDIR")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("db_bench starts");
    drop(child.stdout.take());
    wait_for("end", || child.try_wait().expect("a child").is_some());
    let output = child.wait_with_output().expect("it has ended");
    assert_eq!(output.status.code(), Some(141));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(
        !message.contains("panicked") && !message.contains("Broken pipe"),
        "{message}"
    );
    assert_eq!(
        std::fs::read_dir(directory.path())
            .expect("directory")
            .count(),
        0
    );
}
