//! Directories whose files say what they should not, and what others may see
//! of a database.

use crate::harness::{DIR, open_all, tiny_on};
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

/// Checks that no operation since the recording began was outside of [`DIR`].
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
    // Where it would lead to, there is a manifest.
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

/// Options come from those who open, or from a file that they ask to be loaded.
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
