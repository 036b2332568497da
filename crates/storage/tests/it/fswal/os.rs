//! The operating system's files.

use super::content;
use crate::skip::skip;
use std::path::Path;
use std::process::Command;
use whitewater_storage::fs::os::OsFs;
use whitewater_storage::fs::{Fs, write_file_atomically};
use whitewater_storage::{Error, ErrorKind};

#[test]
fn files_are_written_read_and_found() {
    let dir = tempfile::tempdir().unwrap();
    let fs = OsFs;
    let at = |name: &str| dir.path().join(name);
    fs.create_dir_all(&at("d/e")).unwrap();
    fs.create_dir_all(&at("d/e")).unwrap();
    let mut f = fs.create(&at("d/f")).unwrap();
    assert!(f.is_empty());
    f.preallocate(1 << 20);
    f.append(b"hello ").unwrap();
    f.append(b"world").unwrap();
    f.flush().unwrap();
    f.sync().unwrap();
    assert_eq!(f.len(), 11);
    assert_eq!(fs.file_size(&at("d/f")).unwrap(), 11, "KEEP_SIZE");
    f.truncate_to_len().unwrap();
    drop(f);
    fs.sync_dir(&at("d")).unwrap();
    let mut f = fs.open_append(&at("d/f")).unwrap();
    assert_eq!(f.len(), 11);
    f.append(b"!").unwrap();
    assert_eq!(content(&fs, &at("d/f")), b"hello world!");
    fs.link(&at("d/f"), &at("d/g")).unwrap();
    fs.rename(&at("d/f"), &at("d/h")).unwrap();
    assert!(!fs.exists(&at("d/f")).unwrap());
    let mut names = fs.list(&at("d")).unwrap();
    names.sort();
    assert_eq!(names, ["e", "g", "h"]);
    let mut f = fs.reuse(&at("d/g"), &at("d/i")).unwrap();
    assert_eq!(f.len(), 0);
    f.append(b"J").unwrap();
    assert_eq!(content(&fs, &at("d/i")), b"Jello world!");
    f.truncate_to_len().unwrap();
    assert_eq!(content(&fs, &at("d/i")), b"J");
    write_file_atomically(&fs, &at("tmp"), &at("d/h"), b"new").unwrap();
    assert_eq!(content(&fs, &at("d/h")), b"new");
    fs.remove(&at("d/h")).unwrap();
    fs.remove_dir(&at("d/e")).unwrap();
    assert!(fs.remove_dir(&at("d")).is_err(), "not empty");
}

#[test]
fn short_reads_name_file_and_offset() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f");
    let mut w = OsFs.create(&path).unwrap();
    w.append(&[7; 10_000]).unwrap();
    let f = OsFs.open_random(&path).unwrap();
    assert_eq!(f.len().unwrap(), 10_000);
    f.prefetch(0, 10_000);
    assert_eq!(f.read_at(9_000, 1_000).unwrap(), [7; 1_000].as_slice());
    assert_eq!(f.read_at(10_000, 0).unwrap().len(), 0);
    for (offset, len) in [(9_000, 1_001), (10_001, 1), (u64::MAX, 2), (0, usize::MAX)] {
        let e = f.read_at(offset, len).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Corruption);
        assert_eq!((e.file(), e.offset()), (Some(&*path), Some(offset)));
    }
    // Growth after opening is seen.
    w.append(&[8; 10]).unwrap();
    assert_eq!(f.read_at(10_000, 10).unwrap(), [8; 10].as_slice());
}

#[test]
fn errors_name_operation_path_and_cause() {
    let dir = tempfile::tempdir().unwrap();
    let none = dir.path().join("none");
    let errors: [Error; 6] = [
        OsFs.open_random(&none).unwrap_err(),
        OsFs.open_sequential(&none).unwrap_err(),
        OsFs.file_size(&none).unwrap_err(),
        OsFs.remove(&none).unwrap_err(),
        OsFs.list(&none).unwrap_err(),
        OsFs.sync_dir(&none).unwrap_err(),
    ];
    for e in errors {
        assert!(e.is_missing_file(), "{e}");
        assert_eq!(e.file(), Some(&*none));
        assert!(e.to_string().starts_with("IO error: While "), "{e}");
    }
    let full = OsFs.open_append(Path::new("/dev/full"));
    if let Ok(mut full) = full {
        let e = full.append(b"x").unwrap_err();
        assert_eq!(e.io_kind(), Some(std::io::ErrorKind::StorageFull));
        assert_eq!(full.len(), 0);
    }
}

/// The number of write calls of this thread so far, if the system counts them.
fn write_calls() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/io").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("syscw: "))?;
    line.parse().ok()
}

#[test]
fn an_append_is_one_write_call() {
    let dir = tempfile::tempdir().unwrap();
    let mut f = OsFs.create(&dir.path().join("f")).unwrap();
    let Some(before) = write_calls() else {
        skip("the system does not count write calls");
        return;
    };
    for _ in 0..10 {
        f.append(&[1; 5_000]).unwrap();
    }
    f.flush().unwrap();
    assert_eq!(write_calls(), Some(before + 10));
}

/// Names the lock file to the second process.
const LOCK_VARIABLE: &str = "WHITEWATER_TEST_LOCK";

/// Runs the second process of this test. True if it got the lock.
fn other_process_gets(path: &Path) -> bool {
    let status = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "fswal::os::locks_exclude_within_and_across_processes",
        ])
        .env(LOCK_VARIABLE, path)
        .output()
        .unwrap()
        .status;
    match status.code() {
        Some(40) => true,
        Some(41) => false,
        other => panic!("second process ended with {other:?}"),
    }
}

#[test]
fn locks_exclude_within_and_across_processes() {
    if let Some(path) = std::env::var_os(LOCK_VARIABLE) {
        let code = match OsFs.lock(Path::new(&path)) {
            Ok(_) => 40,
            Err(e) => {
                let text = e.to_string();
                let start = format!(
                    "IO error: While lock file: {}: ",
                    Path::new(&path).display()
                );
                assert!(text.starts_with(&start), "{text}");
                assert!(text.contains("Resource temporarily unavailable"), "{text}");
                assert_eq!(e.io_kind(), Some(std::io::ErrorKind::WouldBlock));
                41
            }
        };
        std::process::exit(code);
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("LOCK");
    assert!(other_process_gets(&path));
    let lock = OsFs.lock(&path).unwrap();
    assert!(!other_process_gets(&path));
    // By another path, and by a link to the directory.
    let link = dir.path().join("link");
    std::os::unix::fs::symlink(dir.path(), &link).unwrap();
    for same in [path.clone(), dir.path().join("./LOCK"), link.join("LOCK")] {
        let e = OsFs.lock(&same).unwrap_err();
        assert!(
            e.to_string().contains("lock hold by current process"),
            "{e}"
        );
        assert_eq!(e.file(), Some(&*same));
    }
    // The refusals did not drop the lock.
    assert!(!other_process_gets(&path));
    let elsewhere = tempfile::tempdir().unwrap();
    let _other = OsFs.lock(&elsewhere.path().join("LOCK")).unwrap();
    drop(lock);
    assert!(other_process_gets(&path));
    let _again = OsFs.lock(&path).unwrap();
    assert!(
        OsFs.lock(&dir.path().join("none/LOCK"))
            .unwrap_err()
            .is_missing_file()
    );
}

#[test]
fn direct_files_hold_what_was_written_or_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f");
    let mut w = match OsFs.create_direct(&path) {
        Ok(w) => w,
        Err(e) => {
            assert_eq!(e.kind(), ErrorKind::NotSupported);
            assert_eq!(e.file(), Some(&*path));
            return;
        }
    };
    let mut written = Vec::new();
    for (i, len) in [1usize, 4095, 4096, 5000, 3 << 20, 0, 77]
        .into_iter()
        .enumerate()
    {
        let bytes: Vec<u8> = (0..len).map(|n| (n * 7 + i) as u8).collect();
        w.append(&bytes).unwrap();
        written.extend(bytes);
        assert_eq!(w.len(), written.len() as u64);
        // A part of a block is written again with what comes after it.
        if i % 2 == 0 {
            w.flush().unwrap();
            assert_eq!(content(&OsFs, &path), written);
        }
    }
    w.sync().unwrap();
    w.truncate_to_len().unwrap();
    assert_eq!(content(&OsFs, &path), written);
    let r = OsFs.open_random_direct(&path).unwrap();
    assert_eq!((r.len().unwrap(), r.path()), (written.len() as u64, &*path));
    let end = written.len();
    for (offset, len) in [
        (0, end),
        (0, 1),
        (4095, 2),
        (4096, 4096),
        (end - 9, 9),
        (end, 0),
        (5, 0),
    ] {
        let read = r.read_at(offset as u64, len).unwrap();
        assert_eq!(read, &written[offset..offset + len], "{len} at {offset}");
    }
    for (offset, len) in [(end - 1, 2), (end + 5000, 1), (0, usize::MAX)] {
        let e = r.read_at(offset as u64, len).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Corruption);
        assert_eq!((e.file(), e.offset()), (Some(&*path), Some(offset as u64)));
    }
    let none = OsFs
        .open_random_direct(&dir.path().join("none"))
        .unwrap_err();
    assert!(none.is_missing_file());
}

/// Skipping a hole gives the same result as reading its zeros.
#[test]
fn holes_in_logs_read_as_zeros() {
    use std::os::unix::fs::FileExt;
    use whitewater_storage::wal::{LogReader, LogWriter, ReadOutcome};

    let dir = tempfile::tempdir().unwrap();
    let (sparse, dense) = (dir.path().join("sparse"), dir.path().join("dense"));
    // Behind a record, in the middle of one, at a block's end; and what comes then.
    for (before, hole) in [
        (100, 300_000),
        (100, 262_144),
        (32_761, 1 << 20),
        (5, 70_000),
    ] {
        for behind in [0, 1, 40_000] {
            for recycled in [false, true] {
                let mut log = LogWriter::new(OsFs.create(&dense).unwrap(), 7, recycled);
                log.add_record(&[&vec![1; before]]).unwrap();
                let end = log.len();
                let mut other = LogWriter::new(OsFs.create(&sparse).unwrap(), 7, recycled);
                other.add_record(&[&vec![2; behind]]).unwrap();
                let mut tail = std::fs::read(&sparse).unwrap();
                tail.truncate(if behind == 0 { 0 } else { tail.len() });
                let head = std::fs::read(&dense).unwrap();
                let zeros = vec![0; hole];
                std::fs::write(&dense, [&head[..], &zeros, &tail].concat()).unwrap();
                let file = std::fs::File::create(&sparse).unwrap();
                file.write_all_at(&head, 0).unwrap();
                file.set_len(end + hole as u64).unwrap();
                file.write_all_at(&tail, end + hole as u64).unwrap();
                let read = |path: &Path| {
                    let mut reader = LogReader::new(OsFs.open_sequential(path).unwrap(), 7);
                    let (mut record, mut seen) = (Vec::new(), Vec::new());
                    loop {
                        let outcome = reader.read_record(&mut record).unwrap();
                        let what = match &outcome {
                            ReadOutcome::Corrupt(e) => format!("{:?}", e.offset()),
                            other => format!("{other:?}"),
                        };
                        seen.push((what, record.len(), reader.record_offset(), reader.is_hole()));
                        if matches!(outcome, ReadOutcome::Eof | ReadOutcome::TornTail { .. }) {
                            return seen;
                        }
                        record.clear();
                    }
                };
                let what = format!("{before}, {hole}, {behind}, {recycled}");
                assert_eq!(read(&sparse), read(&dense), "{what}");
            }
        }
    }
}
