//! Backups that leave files out, which are in another directory.

use super::{BACKUPS, RESTORED, engine_with, opened};
use crate::harness::{DIR, open_all, tiny_on};
use std::path::Path;
use whitewater::ErrorKind;
use whitewater::backup::{
    BackupEngine, BackupEngineOptions, CreateBackupOptions, MaybeExcludeBackupFile, RestoreOptions,
};
use whitewater::fs::mem::MemFs;

const OTHER: &str = "/data/other";

fn engine(fs: &MemFs, dir: &str) -> BackupEngine {
    let mut options = BackupEngineOptions::new(dir).unwrap();
    options.set_schema_version(2).unwrap();
    engine_with(fs, &options)
}

fn restore(engine: &mut BackupEngine, id: u32, from: &[&BackupEngine]) -> whitewater::Error {
    let how = RestoreOptions::default();
    let outcome = engine.restore_from_backup_with(RESTORED, RESTORED, &how, id, from);
    outcome.expect_err("a file is nowhere")
}

#[test]
fn files_that_were_left_out_come_from_elsewhere() {
    let fs = MemFs::new();
    let o = tiny_on(fs.clone());
    let db = open_all(&o, Path::new(DIR)).unwrap();
    for i in 0..900u32 {
        db.put(i.to_be_bytes(), [1; 60]).unwrap();
    }
    db.flush().unwrap();
    let mut whole = engine(&fs, OTHER);
    whole.create_new_backup(&db).unwrap();
    db.put(b"more", b"1").unwrap();
    db.flush().unwrap();
    db.put(b"logged", b"1").unwrap();

    // What is in the other backup is left out, the new table is not.
    let there = whole.get_backup_files(1).unwrap();
    let there: Vec<_> = there
        .into_iter()
        .map(|file| file.relative_filename)
        .collect();
    let mut how = CreateBackupOptions::default();
    let known = there.clone();
    how.set_exclude_files_callback(move |files: &mut [MaybeExcludeBackupFile]| {
        for file in files {
            file.exclude_decision = known.contains(&file.relative_file);
        }
    });
    let mut part = engine(&fs, BACKUPS);
    let id = part.create_new_backup_opt(&how, &db).unwrap();
    let excluded = part.get_excluded_files(id).unwrap();
    let tables = |path: &&String| path.ends_with(".sst");
    assert_eq!(excluded.len(), there.iter().filter(tables).count());
    assert!(!excluded.is_empty());
    let own = part.get_backup_files(id).unwrap();
    let own = own.iter().map(|file| &file.relative_filename);
    assert_eq!(own.clone().filter(tables).count(), 1);
    assert!(own.clone().all(|path| !excluded.contains(path)));
    part.verify_backup_with_checksum(id).unwrap();
    drop(db);

    let e = restore(&mut part, id, &[]);
    assert_eq!(e.kind(), ErrorKind::InvalidArgument);
    assert!(
        e.to_string().contains("Excluded file shared_checksum/"),
        "{e}"
    );
    // The metadata say it, too, to whoever opens the directory later.
    let mut part = engine(&fs, BACKUPS);
    assert_eq!(part.get_excluded_files(id).unwrap(), excluded);
    let how = RestoreOptions::default();
    part.restore_from_backup_with(RESTORED, RESTORED, &how, id, &[&whole])
        .unwrap();
    assert_eq!(opened(&fs, RESTORED), opened(&fs, DIR));
    // Where a file is gone from, it is not found.
    whole.delete_backup(1).unwrap();
    let e = restore(&mut part, id, &[&whole]);
    assert!(
        e.to_string().contains("Excluded file shared_checksum/"),
        "{e}"
    );
}

/// A later backup in the same directory finds the files of an earlier one.
#[test]
fn other_backups_of_the_directory_count() {
    let fs = MemFs::new();
    let o = tiny_on(fs.clone());
    let db = open_all(&o, Path::new(DIR)).unwrap();
    db.put(b"key", b"1").unwrap();
    db.flush().unwrap();
    let mut how = CreateBackupOptions::default();
    how.set_exclude_files_callback(|files| {
        files
            .iter_mut()
            .for_each(|file| file.exclude_decision = true);
    });
    let mut backups = engine(&fs, BACKUPS);
    let id = backups.create_new_backup_opt(&how, &db).unwrap();
    let e = restore(&mut backups, id, &[]);
    assert!(e.to_string().contains("not found in any of 1"), "{e}");
    backups.create_new_backup(&db).unwrap();
    drop(db);
    let how = RestoreOptions::default();
    backups
        .restore_from_backup(RESTORED, RESTORED, &how, id)
        .unwrap();
    assert_eq!(opened(&fs, RESTORED), opened(&fs, DIR));
}

#[test]
fn a_callback_that_cannot_be_kept_or_panics_is_an_error() {
    let fs = MemFs::new();
    let o = tiny_on(fs.clone());
    let db = open_all(&o, Path::new(DIR)).unwrap();
    db.put(b"key", b"1").unwrap();
    db.flush().unwrap();
    let mut how = CreateBackupOptions::default();
    how.set_exclude_files_callback(|_| panic!("of the user"));
    let mut old = engine_with(&fs, &BackupEngineOptions::new(OTHER).unwrap());
    let e = old.create_new_backup_opt(&how, &db).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidArgument);
    assert!(e.to_string().contains("schema_version >= 2"), "{e}");
    let mut backups = engine(&fs, BACKUPS);
    let e = backups.create_new_backup_opt(&how, &db).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Aborted, "{e}");
    assert!(backups.get_backup_info().is_empty());
    backups.create_new_backup(&db).unwrap();
}
