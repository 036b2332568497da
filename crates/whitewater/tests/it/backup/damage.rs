//! Damaged directories of backups, and file operations that fail.

use super::{
    BACKUPS, Content, RESTORED, content, engine_on, engine_options, engine_with, files_in,
    files_named, fill, restored,
};
use crate::harness::{DIR, open_all, tiny_on};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use whitewater::backup::{BackupEngine, RestoreOptions};
use whitewater::fs::fault::{FaultFs, OpSet, Rule};
use whitewater::fs::mem::MemFs;
use whitewater::fs::{Fs, read_file};
use whitewater::{Env, ErrorKind};

fn path(relative: &str) -> PathBuf {
    Path::new(BACKUPS).join(relative)
}

fn replace(fs: &MemFs, path: &Path, content: &[u8]) {
    let mut file = fs.create(path).unwrap();
    file.append(content).unwrap();
    file.sync().unwrap();
}

/// Changes a byte of a file.
pub fn flip(fs: &MemFs, path: &Path, at: usize) {
    let mut bytes = read_file(fs, path, 1 << 30).unwrap();
    bytes[at] ^= 1;
    replace(fs, path, &bytes);
}

/// A directory with three backups, and what they hold.
fn three(fs: &MemFs) -> Vec<Content> {
    let mut options = tiny_on(fs.clone());
    options.set_disable_auto_compactions(true);
    let db = open_all(&options, Path::new(DIR)).unwrap();
    let mut engine = engine_on(fs);
    let mut then = vec![Content::new()];
    for round in 0..3 {
        fill(&db, &options, round);
        engine.create_new_backup(&db).unwrap();
        then.push(content(&db, &options));
    }
    then
}

fn valid(engine: &BackupEngine) -> Vec<u32> {
    let backups = engine.get_backup_info().into_iter();
    backups.map(|info| info.backup_id).collect()
}

/// A path of the backup's own that begins so.
fn own(engine: &BackupEngine, id: u32, name: &str) -> PathBuf {
    let files = engine.get_backup_files(id).unwrap().into_iter();
    let prefix = format!("private/{id}/{name}");
    let mut found = files.filter(|file| file.relative_filename.starts_with(&prefix));
    path(&found.next().unwrap().relative_filename)
}

#[test]
fn damaged_backups_are_listed_and_the_others_are_as_before() {
    type Damage = fn(&MemFs, &BackupEngine);
    let damages: [(Damage, ErrorKind); 7] = [
        // Files that are gone or cut.
        (
            |fs, engine| fs.remove(&own(engine, 2, "MANIFEST")).unwrap(),
            ErrorKind::Corruption,
        ),
        (
            |fs, _| drop(fs.create(&path("meta/2")).unwrap()),
            ErrorKind::Corruption,
        ),
        (
            |fs, _| {
                let meta = read_file(fs, &path("meta/2"), 1 << 20).unwrap();
                replace(fs, &path("meta/2"), &meta[..meta.len() - 3]);
            },
            ErrorKind::Corruption,
        ),
        // Names of files elsewhere.
        (
            |fs, _| {
                let meta = read_file(fs, &path("meta/2"), 1 << 20).unwrap();
                let text = String::from_utf8(meta).unwrap();
                let text = text.replace("private/2/CURRENT", "private/3/CURRENT");
                replace(fs, &path("meta/2"), text.as_bytes());
            },
            ErrorKind::Corruption,
        ),
        (
            |fs, _| {
                let meta = read_file(fs, &path("meta/2"), 1 << 20).unwrap();
                let text = String::from_utf8(meta).unwrap();
                let text = text.replace("private/2/CURRENT", "../db/CURRENT");
                replace(fs, &path("meta/2"), text.as_bytes());
            },
            ErrorKind::Corruption,
        ),
        // Another checksum of a file that other backups share.
        (
            |fs, engine| {
                let files = engine.get_backup_files(2).unwrap().into_iter();
                let mut shared = files.filter(|f| f.relative_filename.starts_with("shared"));
                let name = shared.next().unwrap().relative_filename;
                let meta = read_file(fs, &path("meta/2"), 1 << 20).unwrap();
                let text = String::from_utf8(meta).unwrap();
                let text = text.replace(&format!("{name} crc32 "), &format!("{name} crc32 1"));
                replace(fs, &path("meta/2"), text.as_bytes());
            },
            ErrorKind::Corruption,
        ),
        // Made by a later version.
        (
            |fs, _| replace(fs, &path("meta/2"), b"schema_version 3.0\n1\n1\n0\n"),
            ErrorKind::NotSupported,
        ),
    ];
    for (case, (damage, kind)) in damages.into_iter().enumerate() {
        let fs = MemFs::new();
        let then = three(&fs);
        damage(&fs, &engine_on(&fs));
        let before = files_in(&fs, BACKUPS);
        let mut engine = engine_on(&fs);
        assert_eq!(engine.get_corrupted_backups(), [2], "{case}");
        assert_eq!(valid(&engine), [1, 3], "{case}");
        let e = engine.verify_backup(2).unwrap_err();
        assert_eq!(e.kind(), kind, "{case}: {e}");
        let how = RestoreOptions::default();
        let e = engine
            .restore_from_backup(RESTORED, RESTORED, &how, 2)
            .unwrap_err();
        assert_eq!(e.kind(), kind, "{case}: {e}");
        assert!(
            !fs.exists(Path::new(RESTORED)).unwrap(),
            "{case}: nothing was begun"
        );
        // What could be repaired by hand stays.
        engine.garbage_collect().unwrap();
        engine.purge_old_backups(2).unwrap();
        assert_eq!(files_in(&fs, BACKUPS), before, "{case}");
        for id in [1, 3] {
            engine.verify_backup_with_checksum(id).unwrap();
            assert_eq!(restored(&mut engine, &fs, id), then[id as usize], "{case}");
        }
        engine.delete_backup(2).unwrap();
        assert!(engine.get_corrupted_backups().is_empty(), "{case}");
        assert_eq!(files_in(&fs, BACKUPS), files_named(&engine), "{case}");
    }
}

/// The number of a damaged backup is not given again.
#[test]
fn a_new_backup_comes_after_damaged_ones() {
    let fs = MemFs::new();
    three(&fs);
    fs.create(&path("meta/3")).unwrap();
    let db = open_all(&tiny_on(fs.clone()), Path::new(DIR)).unwrap();
    let mut engine = engine_on(&fs);
    engine.create_new_backup(&db).unwrap();
    assert_eq!(valid(&engine), [1, 2, 4]);
    assert_eq!(engine.get_corrupted_backups(), [3]);
}

#[test]
fn a_changed_byte_is_found_by_its_checksum() {
    for file in ["MANIFEST", "CURRENT", "shared"] {
        let fs = MemFs::new();
        let then = three(&fs);
        let mut engine = engine_on(&fs);
        let damaged = match file {
            "shared" => {
                let new = |id| engine.get_backup_files(id).unwrap();
                let old = new(2);
                let mut only = new(3).into_iter().filter(|file| !old.contains(file));
                let name = only
                    .find(|f| f.relative_filename.ends_with(".sst"))
                    .unwrap();
                path(&name.relative_filename)
            }
            name => own(&engine, 3, name),
        };
        flip(&fs, &damaged, 5);
        engine.verify_backup(3).unwrap();
        let e = engine.verify_backup_with_checksum(3).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Corruption, "{e}");
        assert_eq!(e.file(), Some(&*damaged), "{e}");
        assert_eq!(restored(&mut engine, &fs, 2), then[2]);
        // Restoring compares, too; what was restored by then cannot be opened.
        let how = RestoreOptions::default();
        let e = engine
            .restore_from_latest_backup(RESTORED, RESTORED, &how)
            .unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Corruption, "{e}");
        assert_eq!(e.file(), Some(&*damaged), "{e}");
        assert!(!fs.exists(&Path::new(RESTORED).join("CURRENT")).unwrap());
        assert_eq!(restored(&mut engine, &fs, 2), then[2]);
    }
}

#[test]
fn a_file_that_was_cut_is_found_by_its_size() {
    let fs = MemFs::new();
    let then = three(&fs);
    let mut of_engine = engine_options();
    of_engine.set_schema_version(2).unwrap();
    let mut engine = engine_with(&fs, &of_engine);
    let db = open_all(&tiny_on(fs.clone()), Path::new(DIR)).unwrap();
    engine.create_new_backup(&db).unwrap();
    for id in [3, 4] {
        let manifest = own(&engine, id, "MANIFEST");
        let bytes = read_file(&fs, &manifest, 1 << 20).unwrap();
        replace(&fs, &manifest, &bytes[..bytes.len() - 1]);
        let e = engine.verify_backup(id).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Corruption, "{e}");
        assert_eq!(e.file(), Some(&*manifest), "{e}");
        let how = RestoreOptions::default();
        let e = engine.restore_from_backup(DIR, DIR, &how, id).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Corruption, "{e}");
    }
    // Sizes are in the metadata of one of them.
    let engine = engine_on(&fs);
    assert_eq!(engine.get_corrupted_backups(), [4]);
    let e = engine.verify_backup_with_checksum(3).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Corruption, "{e}");
    assert_eq!(content(&db, &tiny_on(fs.clone())), then[3]);
}

#[test]
fn what_is_left_of_interrupted_backups_is_deleted() {
    let fs = MemFs::new();
    let then = three(&fs);
    let kept = files_in(&fs, BACKUPS);
    for leftover in [
        "private/4/CURRENT",
        "private/9/000012.log",
        "private/5.tmp/CURRENT",
        "shared_checksum/.000099_sABC_1.sst.tmp",
        "shared_checksum/000099_sABC_1.sst",
        "shared/000004.sst",
        "shared/000005.sst.tmp",
        "meta/.4.tmp",
    ] {
        fs.create_dir_all(path(leftover).parent().unwrap()).unwrap();
        fs.create(&path(leftover)).unwrap();
    }
    // What is of old versions, or of nobody, stays.
    let foreign = ["LATEST_BACKUP", "private/notes", "meta/4.old"];
    for file in foreign {
        fs.create(&path(file)).unwrap();
    }
    let mut engine = engine_on(&fs);
    assert_eq!(valid(&engine), [1, 2, 3]);
    assert!(engine.get_corrupted_backups().is_empty());
    engine.garbage_collect().unwrap();
    let mut expected: Vec<String> = kept.into_iter().chain(foreign.map(str::to_owned)).collect();
    expected.sort();
    assert_eq!(files_in(&fs, BACKUPS), expected);
    let db = open_all(&tiny_on(fs.clone()), Path::new(DIR)).unwrap();
    engine.create_new_backup(&db).unwrap();
    assert_eq!(restored(&mut engine, &fs, 4), then[3]);
}

/// An engine that another one has overtaken deletes nothing of it.
#[test]
fn backups_of_another_engine_are_not_garbage() {
    let fs = MemFs::new();
    let db = open_all(&tiny_on(fs.clone()), Path::new(DIR)).unwrap();
    let (mut one, mut other) = (engine_on(&fs), engine_on(&fs));
    db.put("key", "1").unwrap();
    one.create_new_backup_flush(&db, true).unwrap();
    other.garbage_collect().unwrap();
    assert_eq!(valid(&other), [1]);
    other.verify_backup_with_checksum(1).unwrap();
    one.verify_backup_with_checksum(1).unwrap();
}

/// Engines that take turns see what the other one did, also under a number that was there before.
#[test]
fn engines_that_take_turns_lose_nothing() {
    let fs = MemFs::new();
    let options = tiny_on(fs.clone());
    let db = open_all(&options, Path::new(DIR)).unwrap();
    let (mut one, mut other) = (engine_on(&fs), engine_on(&fs));
    let mut then = vec![Content::new()];
    for round in 0..4 {
        fill(&db, &options, round);
        then.push(content(&db, &options));
        let engine = if round % 2 == 0 { &mut one } else { &mut other };
        engine.create_new_backup_flush(&db, true).unwrap();
    }
    assert_eq!(valid(&other), [1, 2, 3, 4]);
    // Backup 4 is another one now, which `other` has not seen.
    one.delete_backup(4).unwrap();
    fill(&db, &options, 7);
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    then[4] = content(&db, &options);
    one.create_new_backup_flush(&db, true).unwrap();
    other.delete_backup(2).unwrap();
    other.garbage_collect().unwrap();
    for engine in [&mut one, &mut other, &mut engine_on(&fs)] {
        for id in [1, 3, 4] {
            engine.verify_backup_with_checksum(id).unwrap();
            assert_eq!(restored(engine, &fs, id), then[id as usize], "backup {id}");
        }
    }
    assert_eq!(files_in(&fs, BACKUPS), files_named(&other));
    other.purge_old_backups(1).unwrap();
    one.create_new_backup(&db).unwrap();
    assert_eq!(valid(&one), [4, 5]);
}

/// Every single operation of a call fails once. Earlier backups are as before, and what failed
/// can be done after that.
fn fail_everywhere(call: impl Fn(&mut BackupEngine, &crate::harness::Db) -> bool) {
    let mut n = 0;
    loop {
        n += 1;
        let fs = MemFs::new();
        let then = three(&fs);
        let faults = FaultFs::new(Arc::new(fs.clone()));
        let env = Env::with_fs(Arc::new(faults.clone()));
        let options = tiny_on(fs.clone());
        let db = open_all(&options, Path::new(DIR)).unwrap();
        db.put("new", [7; 100]).unwrap();
        db.flush().unwrap();
        let mut engine = BackupEngine::open(&engine_options(), &env).unwrap();
        faults.add_rule(Rule::nth(OpSet::ALL, n));
        let done = call(&mut engine, &db);
        faults.clear_rules();
        let what = format!("{n}: {:?}, done: {done}", faults.injected());
        // The engine was told, or does not need what failed.
        for mut engine in [engine, engine_on(&fs)] {
            assert!(engine.get_corrupted_backups().is_empty(), "{what}");
            for id in valid(&engine) {
                engine
                    .verify_backup_with_checksum(id)
                    .unwrap_or_else(|e| panic!("{what}: {e}"));
                if let Some(then) = then.get(id as usize) {
                    assert_eq!(restored(&mut engine, &fs, id), *then, "{what}");
                }
            }
        }
        let mut engine = engine_on(&fs);
        assert!(call(&mut engine, &db), "{what}");
        engine.garbage_collect().unwrap();
        assert_eq!(files_in(&fs, BACKUPS), files_named(&engine), "{what}");
        if faults.injected().is_empty() {
            assert!(done && n > 10, "{what}");
            return;
        }
    }
}

#[test]
fn a_backup_that_fails_is_not_there() {
    fail_everywhere(|engine, db| {
        let before = valid(engine);
        let made = engine.create_new_backup(db);
        let after = valid(engine);
        assert_eq!(
            after.len(),
            before.len() + usize::from(made.is_ok()),
            "{made:?}"
        );
        made.is_ok()
    });
}

#[test]
fn backups_that_cannot_be_deleted_are_whole_or_gone() {
    fail_everywhere(|engine, _| {
        let deleted = match valid(engine).contains(&2) {
            true => engine.delete_backup(2),
            false => Ok(()),
        };
        deleted.and(engine.purge_old_backups(1)).is_ok()
    });
}

#[test]
fn a_restore_that_fails_leaves_no_database() {
    let mut n = 0;
    loop {
        n += 1;
        let fs = MemFs::new();
        let then = three(&fs);
        let faults = FaultFs::new(Arc::new(fs.clone()));
        let env = Env::with_fs(Arc::new(faults.clone()));
        let mut engine = BackupEngine::open(&engine_options(), &env).unwrap();
        let how = RestoreOptions::default();
        faults.add_rule(Rule::nth(OpSet::ALL, n));
        let done = engine.restore_from_backup(DIR, DIR, &how, 2);
        faults.clear_rules();
        let what = format!("{n}: {:?}, {done:?}", faults.injected());
        assert_eq!(done.is_err(), !faults.injected().is_empty(), "{what}");
        if fs.exists(&Path::new(DIR).join("CURRENT")).unwrap() {
            let found = super::opened(&fs, DIR);
            assert!(found == then[3] || found == then[2], "{what}");
        }
        engine.restore_from_backup(DIR, DIR, &how, 2).unwrap();
        assert_eq!(super::opened(&fs, DIR), then[2], "{what}");
        if done.is_ok() {
            assert!(n > 20, "{what}");
            return;
        }
    }
}
