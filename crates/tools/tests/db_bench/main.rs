//! `db_bench` on the engine itself: what its flags make of the database, and
//! what its benchmarks leave behind.

mod benchmark_sh;
mod blobs;
mod databases;
mod documents;
mod options;
mod transactions;
mod workloads;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A directory with a database in it, which command lines run on.
struct Bench {
    directory: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("temporary directory");
        Self { directory }
    }

    fn database(&self) -> PathBuf {
        self.directory.path().join("db")
    }

    /// Runs the program with these arguments, separated by spaces.
    fn output(&self, line: &str) -> Output {
        Command::new(env!("CARGO_BIN_EXE_db_bench"))
            .arg(format!("--db={}", self.database().display()))
            .arg("--seed=1")
            .args(line.split_whitespace())
            .current_dir(self.directory.path())
            .env("TEST_TMPDIR", self.directory.path())
            .output()
            .expect("db_bench starts")
    }

    /// What a run that succeeds prints.
    fn run(&self, line: &str) -> String {
        let output = self.output(line);
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {message}");
        String::from_utf8(output.stdout).expect("text")
    }

    /// The message of a run that fails.
    fn refusal(&self, line: &str) -> String {
        let output = self.output(line);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{line}: {message}");
        message
    }

    /// The newest options file of the database.
    fn options_file(&self) -> PathBuf {
        newest_options(&self.database())
    }

    /// Its lines, without indentation.
    fn options(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.options_file()).expect("options file");
        text.lines().map(|line| line.trim().to_owned()).collect()
    }
}

fn newest_options(database: &Path) -> PathBuf {
    let number = |path: &PathBuf| {
        let name = path.file_name()?.to_str()?;
        name.strip_prefix("OPTIONS-")?.parse::<u64>().ok()
    };
    let files = std::fs::read_dir(database).expect("directory");
    let paths = files.map(|entry| entry.expect("entry").path());
    paths
        .filter(|path| number(path).is_some())
        .max_by_key(number)
        .expect("an options file")
}

/// What the result line of a benchmark says after its operations' count, and
/// that count.
fn result_of<'t>(text: &'t str, name: &str) -> (u64, &'t str) {
    let start = format!("{name:<12} : ");
    let line = text.lines().find(|line| line.starts_with(&start));
    let line = line.unwrap_or_else(|| panic!("{name} in {text}"));
    let (head, message) = line.split_once(" operations;").expect("a result line");
    let count = head.split_whitespace().next_back().expect("a count");
    (count.parse().expect("a number"), message.trim())
}
