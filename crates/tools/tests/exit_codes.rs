//! The program as a user sees it: exit codes and messages.

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
        &["--unordered_write"],
        "--unordered_write=true: RocksDB's db_bench knows this flag",
    );
    assert_refused(
        &["--enable_pipelined_write=true"],
        "--enable_pipelined_write=true",
    );
    assert_refused(&["--memtablerep=art"], "--memtablerep=art");
    assert_refused(&["--num=x"], "--num: 'x' is not an integer");
    assert_refused(
        &["--benchmarks=filrandom"],
        "the nearest known one is fillrandom",
    );
    assert_refused(&["--benchmarks=mixgraph"], "this build does not run it yet");
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
