//! Files that several backups have.

use super::{BACKUPS, content, engine_options, engine_with, files_in, files_named, fill, restored};
use crate::harness::{DIR, open_all, tiny_on};
use std::path::Path;
use whitewater::ErrorKind;
use whitewater::backup::{BackupEngineOptions, RestoreMode, RestoreOptions, ShareFilesNaming};
use whitewater::fs::Fs;
use whitewater::fs::mem::MemFs;

/// The names in a folder of the directory of backups.
fn names(fs: &MemFs, folder: &str) -> Vec<String> {
    let all = files_in(fs, BACKUPS).into_iter();
    let prefix = format!("{folder}/");
    all.filter_map(|file| file.strip_prefix(&prefix).map(str::to_owned))
        .collect()
}

/// Makes two backups of a database that gets a table more meanwhile, and checks both. Returns the
/// names of the shared files, and how many tables the database has in the end.
fn two_backups(fs: &MemFs, of_engine: &BackupEngineOptions, folder: &str) -> (Vec<String>, usize) {
    let mut options = tiny_on(fs.clone());
    options.set_disable_auto_compactions(true);
    let db = open_all(&options, Path::new(DIR)).unwrap();
    let mut engine = engine_with(fs, of_engine);
    let mut then = Vec::new();
    for round in 0..2 {
        fill(&db, &options, round);
        then.push(content(&db, &options));
        engine.create_new_backup(&db).unwrap();
    }
    for (id, then) in (1..).zip(&then) {
        engine.verify_backup_with_checksum(id).unwrap();
        assert_eq!(restored(&mut engine, fs, id), *then);
    }
    assert_eq!(files_in(fs, BACKUPS), files_named(&engine));
    (names(fs, folder), db.live_files().unwrap().len())
}

#[test]
fn tables_are_copied_once_under_names_by_session() {
    let fs = MemFs::new();
    let (shared, tables) = two_backups(&fs, &engine_options(), "shared_checksum");
    assert_eq!(shared.len(), tables);
    for name in &shared {
        // 000012_sABCDEFGHIJKLMNOPQRST_1234.sst
        let (number, rest) = name.split_once("_s").unwrap();
        let (session, size) = rest.strip_suffix(".sst").unwrap().split_once('_').unwrap();
        assert_eq!((number.len(), session.len()), (6, 20), "{name}");
        let path = Path::new(BACKUPS).join("shared_checksum").join(name);
        assert_eq!(fs.file_size(&path).unwrap().to_string(), size);
    }
    assert!(
        names(&fs, "private")
            .iter()
            .all(|name| !name.ends_with(".sst"))
    );
}

#[test]
fn files_are_called_as_asked_for() {
    let mut legacy = engine_options();
    legacy.set_share_files_with_checksum_naming(ShareFilesNaming::LegacyCrc32cAndFileSize, true);
    let fs = MemFs::new();
    let (shared, tables) = two_backups(&fs, &legacy, "shared_checksum");
    assert_eq!(shared.len(), tables);
    for name in &shared {
        let parts: Vec<&str> = name.strip_suffix(".sst").unwrap().split('_').collect();
        assert_eq!(parts.len(), 3, "{name}");
        assert!(
            parts.iter().all(|part| part.parse::<u32>().is_ok()),
            "{name}"
        );
    }

    let mut short = engine_options();
    short.set_share_files_with_checksum_naming(ShareFilesNaming::UseDbSessionId, false);
    let fs = MemFs::new();
    let (shared, tables) = two_backups(&fs, &short, "shared_checksum");
    assert_eq!(shared.len(), tables);
    assert!(
        shared.iter().all(|name| name.matches('_').count() == 1),
        "{shared:?}"
    );

    let mut plain = engine_options();
    plain.set_share_files_with_checksum(false);
    let fs = MemFs::new();
    let (shared, tables) = two_backups(&fs, &plain, "shared");
    assert_eq!(shared.len(), tables);
    assert!(
        shared.iter().all(|name| name.len() == "000012.sst".len()),
        "{shared:?}"
    );

    let mut alone = engine_options();
    alone.set_share_table_files(false);
    let fs = MemFs::new();
    let (private, tables) = two_backups(&fs, &alone, "private");
    let count = private.iter().filter(|name| name.ends_with(".sst")).count();
    assert!(count > tables, "{count} of {tables}");
    assert!(
        !fs.exists(&Path::new(BACKUPS).join("shared_checksum"))
            .unwrap()
    );
}

/// Blob files name no session, so their checksums are in their names.
#[test]
fn blob_files_are_copied_once_under_names_by_checksum() {
    let fs = MemFs::new();
    let mut options = tiny_on(fs.clone());
    options.set_disable_auto_compactions(true);
    options.set_enable_blob_files(true);
    options.set_min_blob_size(50);
    let db = open_all(&options, Path::new(DIR)).unwrap();
    let mut engine = engine_with(&fs, &engine_options());
    let mut then = Vec::new();
    for round in 0..2u8 {
        for key in 0..20 {
            db.put([round, key], [round ^ key; 200]).unwrap();
        }
        db.flush().unwrap();
        then.push(content(&db, &options));
        engine.create_new_backup(&db).unwrap();
    }
    let blobs = |names: Vec<String>| -> Vec<String> {
        let blobs = names.into_iter().filter(|name| name.ends_with(".blob"));
        blobs.collect()
    };
    let shared = blobs(names(&fs, "shared_checksum"));
    let live = blobs(fs.list(Path::new(DIR)).unwrap());
    assert_eq!((shared.len(), live.len()), (2, 2), "{shared:?}");
    for name in &shared {
        let parts: Vec<&str> = name.strip_suffix(".blob").unwrap().split('_').collect();
        assert!(live.contains(&format!("{}.blob", parts[0])), "{name}");
        let path = Path::new(BACKUPS).join("shared_checksum").join(name);
        assert_eq!(fs.file_size(&path).unwrap().to_string(), parts[2]);
    }
    drop(db);
    let mut how = RestoreOptions::default();
    how.set_mode(RestoreMode::VerifyChecksum);
    for (id, then) in [(1, &then[0]), (2, &then[1])] {
        engine.verify_backup_with_checksum(id).unwrap();
        engine.restore_from_backup(DIR, DIR, &how, id).unwrap();
        let db = open_all(&options, Path::new(DIR)).unwrap();
        assert_eq!(content(&db, &options), *then);
        assert_eq!(blobs(fs.list(Path::new(DIR)).unwrap()).len(), id as usize);
    }
}

/// A database that was restored from an older backup uses file numbers again.
#[test]
fn tables_of_another_history_are_not_mistaken() {
    let fs = MemFs::new();
    let options = tiny_on(fs.clone());
    let db = open_all(&options, Path::new(DIR)).unwrap();
    let mut engine = engine_with(&fs, &engine_options());
    fill(&db, &options, 1);
    engine.create_new_backup(&db).unwrap();
    fill(&db, &options, 2);
    engine.create_new_backup(&db).unwrap();
    let second = content(&db, &options);
    drop(db);
    engine
        .restore_from_backup(DIR, DIR, &RestoreOptions::default(), 1)
        .unwrap();
    let db = open_all(&options, Path::new(DIR)).unwrap();
    fill(&db, &options, 3);
    engine.create_new_backup(&db).unwrap();
    let third = content(&db, &options);
    assert_ne!(second, third);
    assert_eq!(restored(&mut engine, &fs, 2), second);
    assert_eq!(restored(&mut engine, &fs, 3), third);
}

/// Otherwise, all later backups would lack it, too.
#[test]
fn a_shared_file_that_is_gone_is_copied_again() {
    let fs = MemFs::new();
    let mut options = tiny_on(fs.clone());
    options.set_disable_auto_compactions(true);
    let db = open_all(&options, Path::new(DIR)).unwrap();
    fill(&db, &options, 1);
    let mut engine = engine_with(&fs, &engine_options());
    engine.create_new_backup(&db).unwrap();
    let shared = Path::new(BACKUPS).join("shared_checksum");
    let lost = shared.join(&fs.list(&shared).unwrap()[0]);
    fs.remove(&lost).unwrap();
    let e = engine.verify_backup(1).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::NotFound, "{e}");
    engine.create_new_backup(&db).unwrap();
    for id in [1, 2] {
        engine.verify_backup_with_checksum(id).unwrap();
        assert_eq!(restored(&mut engine, &fs, id), content(&db, &options));
    }
}

/// With checksums in the manifest, a table that has changed is not taken into a backup.
#[test]
fn a_damaged_table_is_not_backed_up() {
    use super::damage::flip;
    use whitewater::FileChecksum;
    let fs = MemFs::new();
    let mut options = tiny_on(fs.clone());
    options.set_file_checksum(FileChecksum::Crc32c);
    let db = open_all(&options, Path::new(DIR)).unwrap();
    db.put("key", [7; 1000]).unwrap();
    db.flush().unwrap();
    let table = fs.list(Path::new(DIR)).unwrap().into_iter();
    let table = Path::new(DIR).join(table.filter(|n| n.ends_with(".sst")).max().unwrap());
    flip(&fs, &table, 20);
    for naming in [
        ShareFilesNaming::UseDbSessionId,
        ShareFilesNaming::LegacyCrc32cAndFileSize,
    ] {
        let mut of_engine = engine_options();
        of_engine.set_share_files_with_checksum_naming(naming, true);
        let mut engine = engine_with(&fs, &of_engine);
        let e = engine.create_new_backup(&db).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Corruption, "{e}");
        assert_eq!(e.file(), Some(&*table), "{e}");
        assert!(files_in(&fs, BACKUPS).is_empty());
    }
}
