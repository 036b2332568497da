//! Files of a database that contain what they should not, and what other users of the system may
//! see of a database.

use super::skip::skip;
use crate::harness::{DIR, open_all, tiny_on, watched};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use whitewater::fs::fault::FaultFs;
use whitewater::fs::mem::MemFs;
use whitewater::fs::{Fs, read_file};
use whitewater::{DB, ErrorKind, Options};

fn put(fs: &MemFs, path: &Path, bytes: &[u8]) {
    fs.create(path).unwrap().append(bytes).unwrap();
}

/// A closed database in [`DIR`].
fn database() -> MemFs {
    let fs = MemFs::new();
    let db = open_all(&tiny_on(fs.clone()), Path::new(DIR)).unwrap();
    db.put(b"key", b"value").unwrap();
    db.flush().unwrap();
    fs.after_kill()
}

/// Checks that no operation since the recording began was outside [`DIR`].
fn check_inside(fs: &FaultFs, what: &str) {
    let operations = fs.end_recording();
    assert!(!operations.is_empty());
    for operation in operations {
        let mut parts = operation.path.components();
        let inside = operation.path.starts_with(DIR) && parts.all(|c| c.as_os_str() != "..");
        assert!(inside, "{what}: {operation:?}");
    }
}

#[test]
fn current_leads_nowhere_but_to_a_manifest_beside_it() {
    const ELSEWHERE: &str = "/data/else";
    let memory = database();
    // There is a manifest where the name would lead to.
    memory.create_dir_all(Path::new(ELSEWHERE)).unwrap();
    let names = memory.list(Path::new(DIR)).unwrap();
    let manifest = names.iter().find(|n| n.starts_with("MANIFEST-")).unwrap();
    let bytes = read_file(&memory, &Path::new(DIR).join(manifest), 1 << 20).unwrap();
    put(&memory, &Path::new(ELSEWHERE).join(manifest), &bytes);
    for name in [
        format!("../else/{manifest}"),
        format!("{ELSEWHERE}/{manifest}"),
        format!("{manifest}/../../else/{manifest}"),
        format!("{manifest}\n../else/{manifest}"),
        format!("{manifest}\0"),
        "..".to_owned(),
    ] {
        let current = Path::new(DIR).join("CURRENT");
        put(&memory, &current, format!("{name}\n").as_bytes());
        let fs = FaultFs::new(Arc::new(memory.after_kill()));
        fs.start_recording();
        let options = tiny_on(fs.clone());
        let e = open_all(&options, Path::new(DIR)).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Corruption, "{name:?}: {e}");
        assert_eq!(e.file(), Some(&*current), "{name:?}: {e}");
        let mut read_only = options.clone();
        read_only.create_if_missing(false);
        let e = DB::open_for_read_only(&read_only, DIR, false).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Corruption, "{name:?}: {e}");
        check_inside(&fs, &name);
    }
}

/// Options come from the caller, or from a file that the caller asks to be loaded.
#[test]
fn paths_in_an_options_file_are_not_followed_by_opening() {
    let memory = database();
    let names = memory.list(Path::new(DIR)).unwrap();
    let of_options = names.iter().filter(|n| n.starts_with("OPTIONS-"));
    for name in of_options {
        let path = Path::new(DIR).join(name);
        let text = read_file(&memory, &path, 1 << 20).unwrap();
        let text = String::from_utf8(text).unwrap();
        let (before, after) = text.split_once("[DBOptions]\n").unwrap();
        let paths = "  wal_dir=/data/else\n  db_log_dir=/data/else\n";
        let text = format!("{before}[DBOptions]\n{paths}{after}");
        put(&memory, &path, text.as_bytes());
    }
    let fs = FaultFs::new(Arc::new(memory));
    fs.start_recording();
    let options = tiny_on(fs.clone());
    let db = open_all(&options, Path::new(DIR)).unwrap();
    assert_eq!(db.get(b"key").unwrap().as_deref(), Some(&b"value"[..]));
    db.put(b"key", b"other").unwrap();
    db.flush().unwrap();
    drop(db);
    DB::repair(&options, DIR).unwrap();
    check_inside(&fs, "options");
}

const CHILD: &str = "WHITEWATER_UMASK_CHILD";

/// The child: makes a database with all kinds of files.
#[test]
fn umask_child() {
    let Ok(dir) = std::env::var(CHILD) else {
        return;
    };
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_wal_ttl_seconds(1_000_000);
    let db = DB::open(&options, &dir).unwrap();
    for value in [b"1", b"2"] {
        db.put(b"key", value).unwrap();
        db.flush().unwrap();
    }
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    let copy = whitewater::checkpoint::Checkpoint::new(&db).unwrap();
    copy.create_checkpoint(Path::new(&dir).join("../copy"))
        .unwrap();
}

#[test]
fn files_are_open_to_those_whom_the_umask_lets_in() {
    for umask in [0o077, 0o022, 0o027] {
        let dir = tempfile::tempdir().unwrap();
        let db = dir.path().join("db");
        let ended = Command::new("sh")
            .arg("-c")
            .arg(format!("umask {umask:03o} && exec \"$@\""))
            .arg("sh")
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "hostile::umask_child"])
            .env(CHILD, &db)
            .output()
            .unwrap();
        assert!(ended.status.success(), "{ended:?}");
        let mut files = 0;
        let mut dirs = vec![db, dir.path().join("copy")];
        while let Some(dir) = dirs.pop() {
            check_mode(&dir, 0o777 & !umask);
            for entry in std::fs::read_dir(&dir).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    dirs.push(path);
                } else {
                    check_mode(&path, 0o666 & !umask);
                    files += 1;
                }
            }
        }
        assert!(files > 10, "only {files} files");
    }
}

fn check_mode(path: &Path, wanted: u32) {
    let mode = path.metadata().unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode, wanted, "{}: {mode:o}", path.display());
}

/// Numbers of new files follow the largest existing one. They never start again from 1.
#[test]
fn a_file_with_the_largest_number_is_refused_or_foreign() {
    let largest = u64::MAX / 2;
    for (number, refused) in [(u64::MAX, false), (largest + 1, false), (largest, true)] {
        for suffix in ["sst", "log", "blob", "dbtmp"] {
            let memory = database();
            let path = Path::new(DIR).join(format!("{number}.{suffix}"));
            put(&memory, &path, b"");
            let options = tiny_on(memory.clone());
            match open_all(&options, Path::new(DIR)) {
                Err(e) => {
                    assert!(refused, "{e}");
                    assert_eq!(e.kind(), ErrorKind::Corruption, "{e}");
                    assert_eq!(e.file(), Some(&*path), "{e}");
                }
                Ok(db) => {
                    assert!(!refused, "{}", path.display());
                    db.put(b"key", b"other").unwrap();
                    db.flush().unwrap();
                    drop(db);
                    let db = open_all(&options, Path::new(DIR)).unwrap();
                    assert_eq!(db.get(b"key").unwrap().as_deref(), Some(&b"other"[..]));
                    assert!(memory.exists(&path).unwrap(), "{}", path.display());
                }
            }
        }
    }
}

/// A log whose one batch has number `sequence`, under a checksum that fits.
#[test]
fn a_log_with_numbers_out_of_range_is_damaged() {
    use whitewater::DBRecoveryMode::{AbsoluteConsistency, PointInTime};
    // Half of those that fit into a key.
    const LARGEST: u64 = (1 << 55) - 2;
    for (sequence, fits) in [(LARGEST, true), (LARGEST + 1, false), (u64::MAX, false)] {
        let memory = MemFs::new();
        let options = tiny_on(memory.clone());
        let db = open_all(&options, Path::new(DIR)).unwrap();
        db.put(b"key", b"value").unwrap();
        let memory = memory.after_kill();
        drop(db);
        let names = memory.list(Path::new(DIR)).unwrap();
        let log = names.iter().find(|n| n.ends_with(".log")).unwrap();
        let path = Path::new(DIR).join(log);
        let mut bytes = read_file(&memory, &path, 1 << 20).unwrap();
        let header = match bytes[6] {
            5..=8 => 11,
            _ => 7,
        };
        bytes[header..header + 8].copy_from_slice(&sequence.to_le_bytes());
        whitewater::fuzzing::fit_checksums(log, &mut bytes);
        put(&memory, &path, &bytes);
        for mode in [AbsoluteConsistency, PointInTime] {
            let mut options = tiny_on(memory.after_kill());
            options.set_wal_recovery_mode(mode);
            let opened = open_all(&options, Path::new(DIR));
            if mode == AbsoluteConsistency && !fits {
                let e = opened.unwrap_err();
                assert_eq!(e.kind(), ErrorKind::Corruption, "{e}");
                assert_eq!(e.file(), Some(&*path), "{e}");
                continue;
            }
            let db = opened.unwrap();
            assert_eq!(db.get(b"key").unwrap().is_some(), fits, "{sequence}");
        }
    }
}

/// A closed database on disk with a write in its log, and the names of its files.
fn on_disk() -> (tempfile::TempDir, Vec<String>) {
    let dir = tempfile::tempdir().unwrap();
    let db = DB::open(&on_disk_options(), dir.path()).unwrap();
    db.put(b"flushed", b"1").unwrap();
    db.flush().unwrap();
    db.put(b"logged", b"2").unwrap();
    drop(db);
    let entries = std::fs::read_dir(dir.path()).unwrap();
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name();
    let names = entries.map(|entry| name(entry).into_string().unwrap());
    let names = names.collect();
    (dir, names)
}

fn on_disk_options() -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options
}

/// Opens the database in each way, and returns the first error.
fn open_in_all_ways(dir: &Path) -> Result<(), whitewater::Error> {
    let second = dir.join("second");
    for _ in 0..2 {
        let options = on_disk_options();
        let read_only = DB::open_for_read_only(&options, dir, false)?;
        let secondary = DB::open_as_secondary(&options, dir, &second)?;
        for db in [read_only, secondary, DB::open(&options, dir)?] {
            assert_eq!(db.get(b"flushed")?.as_deref(), Some(&b"1"[..]));
            assert_eq!(db.get(b"logged")?.as_deref(), Some(&b"2"[..]));
        }
    }
    Ok(())
}

#[test]
fn what_is_no_file_in_the_place_of_one_is_named_and_not_waited_for() {
    let (_dir, names) = on_disk();
    for name in names
        .iter()
        .map(|name| name.split_once(['-', '.']).map_or(&**name, |n| n.0))
    {
        for device in [false, true] {
            let (dir, names) = on_disk();
            let name = names.iter().find(|n| n.starts_with(name)).unwrap();
            let path = dir.path().join(name);
            std::fs::remove_file(&path).unwrap();
            match device {
                true => std::os::unix::fs::symlink("/dev/zero", &path).unwrap(),
                false => assert!(
                    Command::new("mkfifo")
                        .arg(&path)
                        .status()
                        .unwrap()
                        .success()
                ),
            }
            let what = format!("{name}, device: {device}");
            let at = dir.path().to_path_buf();
            let opened = watched(&what, 120, move || {
                let opened = open_in_all_ways(&at);
                // It may return anything, but soon.
                let _ = DB::repair(&on_disk_options(), &at);
                opened
            });
            // The others are replaced or only read.
            let needed = ["CURRENT", "MANIFEST"].iter().any(|n| name.starts_with(n))
                || name.ends_with(".sst")
                || name.ends_with(".log");
            match opened {
                Ok(()) => assert!(!needed, "{what}"),
                Err(e) => assert_eq!(e.file(), Some(&*path), "{what}: {e}"),
            }
        }
    }
}

#[test]
fn a_terabyte_of_nothing_behind_a_file_is_not_read() {
    let (_dir, names) = on_disk();
    for name in names {
        let (dir, _) = on_disk();
        let path = dir.path().join(&name);
        let file = std::fs::OpenOptions::new().write(true).open(&path);
        if file.unwrap().set_len(4 << 40).is_err() {
            skip("the file system takes no file of four terabytes");
            return;
        }
        let at = dir.path().to_path_buf();
        let opened = watched(&name, 120, move || open_in_all_ways(&at));
        let refused = ["CURRENT", "IDENTITY"].contains(&&*name) || name.ends_with(".sst");
        match opened {
            Ok(()) => assert!(!refused, "{name}"),
            Err(e) => {
                assert!(refused, "{e}");
                assert_eq!(e.kind(), ErrorKind::Corruption, "{e}");
                assert_eq!(e.file(), Some(&*path), "{e}");
            }
        }
    }
}
