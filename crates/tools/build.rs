//! Tells the programs which commit they are built from, for their reports.

use std::path::Path;
use std::process::Command;

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

fn main() {
    // Without a repository (a package from a registry) the commit is unknown.
    let mut commit = git(&["rev-parse", "--short=12", "HEAD"]).unwrap_or_default();
    let changed = git(&["status", "--porcelain", "--untracked-files=no", "--", ".."]);
    if !commit.is_empty() && changed.is_some_and(|files| !files.is_empty()) {
        commit += ", changed";
    }
    println!("cargo::rustc-env=WHITEWATER_COMMIT={commit}");
    // A commit adds a line to this log; sources are what makes it a changed one.
    for path in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", path])
            && Path::new(&path).exists()
        {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    for sources in ["tools", "whitewater", "storage", "concurrent"] {
        println!("cargo::rerun-if-changed=../{sources}/src");
    }
}
