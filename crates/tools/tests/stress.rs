//! A few rounds of each of `stress`'s modes, as a user runs them.

use std::process::{Command, Output, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

fn stress(flags: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_stress");
    Command::new(program)
        .args(flags)
        .output()
        .expect("the program runs")
}

fn all_well(flags: &[&str]) {
    let output = stress(flags);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{flags:?}: {err}");
    assert!(out.contains("nothing wrong"), "{flags:?}: {out}");
}

#[test]
fn killed_processes_leave_what_they_acknowledged() {
    all_well(&["--kill", "--rounds=14", "--life=500", "--seconds=120"]);
}

#[test]
fn power_cuts_leave_prefixes() {
    all_well(&["--power-cut", "--rounds=4", "--seconds=120"]);
}

#[test]
fn failing_file_systems_are_survived() {
    all_well(&["--faults", "--rounds=4", "--ops=300", "--seconds=120"]);
}

#[test]
fn damage_at_rest_is_told() {
    all_well(&["--corrupt", "--rounds=3", "--ops=1000", "--seconds=120"]);
}

#[test]
fn killed_processes_leave_their_prepared_transactions() {
    let flags = ["--transactions", "--kill", "--rounds=10", "--life=500"];
    all_well(&[&flags[..], &["--seconds=120"]].concat());
}

#[test]
fn power_cuts_leave_prepared_transactions() {
    let flags = ["--transactions", "--power-cut", "--rounds=4"];
    all_well(&[&flags[..], &["--seconds=120"]].concat());
}

#[test]
fn failing_file_systems_keep_transactions_whole() {
    let flags = ["--transactions", "--faults", "--rounds=4", "--ops=150"];
    all_well(&[&flags[..], &["--seconds=120"]].concat());
}

#[test]
fn a_simulated_round_is_the_same_each_time() {
    let flags = [
        "--simulate",
        "--seed=7",
        "--rounds=2",
        "--fingerprints",
        "--seconds=600",
    ];
    for more in [&[][..], &["--transactions", "--ops=40"]] {
        let flags = [&flags[..], more].concat();
        let prints = || {
            let output = stress(&flags);
            assert!(output.status.success(), "{output:?}");
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let lines = text.lines().filter(|line| line.contains("fingerprint"));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        let first = prints();
        assert_eq!(first.len(), 4, "{first:?}");
        assert_eq!(first, prints());
    }
}

#[test]
fn simulated_lives_keep_their_promises() {
    all_well(&["--simulate", "--seed=100", "--rounds=15", "--seconds=60"]);
}

#[test]
fn only_what_shares_a_process_is_simulated() {
    let output = stress(&["--simulate", "--kill"]);
    assert_eq!(output.status.code(), Some(1));
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(err.contains("--power-cut and --faults only"), "{err}");
}

#[test]
fn what_is_there_is_left_alone() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    std::fs::create_dir(dir.path().join("db")).expect("can be made");
    let flag = format!("--dir={}", dir.path().display());
    let output = stress(&["--kill", "--rounds=1", &flag]);
    assert_eq!(output.status.code(), Some(1));
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(err.contains("is there already"), "{err}");
    assert!(dir.path().join("db").exists());
}

#[test]
fn what_is_no_command_line_is_refused() {
    let output = stress(&["--threads=0"]);
    assert_eq!(output.status.code(), Some(2));
}

/// A run of a minute in a temporary directory of its own, ended by Ctrl-C.
fn interrupted(flags: &[&str]) -> (Output, usize) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let child = Command::new(env!("CARGO_BIN_EXE_stress"))
        .args(flags)
        .arg("--seconds=100")
        .env("TMPDIR", dir.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let left = || std::fs::read_dir(dir.path()).expect("a directory").count();
    // Its directory is there before it does anything else but listen for signals.
    while left() == 0 {
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(500));
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("a process number"));
    kill(pid, Signal::SIGINT).expect("it is there");
    let output = child.wait_with_output().expect("it ends");
    (output, left())
}

#[test]
fn after_ctrl_c_nothing_stays() {
    let (output, left) = interrupted(&["--kill", "--life=300"]);
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{err}");
    assert_eq!(left, 0, "{err}");
}

#[test]
fn what_was_made_in_a_directory_of_the_user_is_removed() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let flag = format!("--dir={}", dir.path().display());
    all_well(&["--kill", "--rounds=2", "--life=300", &flag]);
    assert!(!dir.path().join("db").exists());
}
