//! `ww` as a user sees it: output, messages and exit codes.

mod backups;
mod blobs;
mod keys;
mod parts;
mod peers;
mod prepared;
mod serve;
#[path = "../../../concurrent/tests/common/skip.rs"]
mod skip;
#[cfg(feature = "top")]
mod top;
mod whole;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;
use whitewater::{DB, Options};

/// Runs `ww` with the words of `line`; `{db}` in it stands for `db`.
fn run(db: &Path, line: &str) -> Output {
    run_with(db, line, b"")
}

/// [`run`] with `input` on standard input.
fn run_with(db: &Path, line: &str, input: &[u8]) -> Output {
    let db = db.to_str().expect("a path that is text");
    let mut child = Command::new(env!("CARGO_BIN_EXE_ww"))
        .args(line.split_whitespace().map(|word| word.replace("{db}", db)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("ww starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    // A program that does not read its input may be gone already.
    let _ = stdin.write_all(input);
    drop(stdin);
    child.wait_with_output().expect("ww ends")
}

/// What a command prints that must succeed.
fn prints(db: &Path, line: &str) -> String {
    output(line, &run(db, line))
}

fn output(line: &str, output: &Output) -> String {
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{line}: {message}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The message of a command that must end with `code`.
fn fails(db: &Path, line: &str, code: i32) -> String {
    let output = run(db, line);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{line}: {message}");
    assert!(!message.is_empty(), "{line}");
    message
}

/// A database with the column families `default` and `orders`, some of it in
/// tables and some in a log.
fn made() -> TempDir {
    let dir = tempfile::tempdir().expect("temporary directory");
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    let db = DB::open_cf(&options, dir.path(), ["default", "orders"]).expect("opens");
    let orders = db.cf_handle("orders").expect("opened above");
    for n in 0..100 {
        let (key, value) = (format!("key{n:03}"), format!("value{n}"));
        db.put(&key, &value).expect("written");
        db.put_cf(&orders, &key, format!("order{n}"))
            .expect("written");
    }
    db.flush().expect("flushed");
    db.flush_cf(&orders).expect("flushed");
    db.delete("key007").expect("deleted");
    db.put("late", "in the log").expect("written");
    dir
}
