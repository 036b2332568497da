//! Backups from the command line.

use super::{fails, made, prints};
use std::fs;
use std::path::Path;

/// A command line about the backups in `backups`.
fn line(command: &str, backups: &Path) -> String {
    command.replace("{backups}", backups.to_str().expect("a path that is text"))
}

#[test]
fn backups_are_made_listed_restored_and_deleted() {
    let dir = made();
    let db = dir.path();
    let before = prints(db, "--db {db} scan");
    let place = tempfile::tempdir().expect("temporary directory");
    let backups = place.path().join("backups");
    let line = |command: &str| line(command, &backups);
    for command in [
        "list-backups {backups}",
        "verify-backup {backups}",
        "purge-backups {backups} --keep 1",
        "delete-backup {backups} --id 1",
        "--db {db} restore {backups}",
    ] {
        fails(db, &line(command), 3);
        assert!(!backups.exists(), "{command}");
    }
    let backup = line("--db {db} backup {backups} --metadata nightly --num-threads 3");
    assert_eq!(prints(db, &backup), "backup 1\n");
    prints(db, "--db {db} put later value");
    let flushed = line("--db {db} backup --backup_dir={backups} --flush --json");
    assert_eq!(prints(db, &flushed), "{\"backup_id\":2}\n");
    let listed = prints(db, &line("list-backups {backups}"));
    let lines: Vec<&str> = listed.lines().collect();
    assert_eq!(lines.len(), 3, "{listed}");
    assert!(lines[1].trim_end().ends_with("nightly"), "{listed}");
    assert_eq!(
        prints(db, &line("verify-backup {backups} --checksums")),
        "OK\n"
    );

    // In place, and to another place; the database that was there is gone.
    assert_eq!(
        prints(db, &line("--db {db} restore {backups} --id 1")),
        "OK\n"
    );
    assert_eq!(prints(db, "--db {db} scan"), before);
    let other = place.path().join("other");
    assert_eq!(
        prints(&other, &line("--db {db} restore {backups} --keep checksum")),
        "OK\n"
    );
    assert_eq!(prints(&other, "--db {db} get later"), "value\n");
    let e = fails(db, &line("--db {db} restore {backups} --id 9"), 1);
    assert!(e.contains("not found"), "{e}");

    fails(db, &line("delete-backup {backups} --id 9"), 1);
    assert_eq!(prints(db, &line("delete-backup {backups} --id 1")), "OK\n");
    prints(db, &line("--db {db} backup {backups}"));
    assert_eq!(
        prints(db, &line("purge-backups {backups} --keep 1")),
        "OK\n"
    );
    let listed = prints(db, &line("list-backups {backups} --json"));
    assert!(listed.starts_with("{\"backup\":3,"), "{listed}");
    assert_eq!(listed.lines().count(), 1, "{listed}");
}

#[test]
fn damage_is_told_with_the_backup_and_the_file() {
    let dir = made();
    let db = dir.path();
    let place = tempfile::tempdir().expect("temporary directory");
    let line = |command: &str| line(command, place.path());
    for _ in 0..3 {
        prints(db, &line("--db {db} backup {backups}"));
    }
    let current = place.path().join("private/2/CURRENT");
    fs::write(&current, "MANIFEST-00000\n\n").expect("written");
    assert_eq!(prints(db, &line("verify-backup {backups} --id 1")), "OK\n");
    let e = fails(db, &line("verify-backup {backups} --checksums"), 1);
    assert!(e.contains("backup 2") && e.contains("CURRENT"), "{e}");
    fs::remove_file(&current).expect("removed");
    let e = fails(db, &line("verify-backup {backups}"), 1);
    assert!(e.contains("backup 2") && e.contains("CURRENT"), "{e}");
    let listed = prints(db, &line("list-backups {backups}"));
    let damaged = listed.lines().last().expect("a line");
    assert!(damaged.starts_with("2: damaged: "), "{listed}");
    fails(db, &line("--db {db} restore {backups} --id 2"), 3);
    assert_eq!(prints(db, &line("--db {db} restore {backups}")), "OK\n");
}
