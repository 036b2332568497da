//! One directory of backups that both engines write, in turn.

use super::java;
use super::tools;
use super::workload::Workload;
use super::written::compare;
use crate::content::{self, Content};
use std::collections::BTreeSet;
use std::path::Path;
use whitewater::backup::{
    BackupEngine, BackupEngineOptions, CreateBackupOptions, RestoreOptions, ShareFilesNaming,
};
use whitewater::{DB, Env, Options, WaitForCompactOptions};

const FAMILIES: [&str; 2] = ["default", "other"];

/// A RocksDB that makes and restores backups.
trait Peer {
    /// Adds a backup of a database.
    fn back_up(&self, db: &Path, backups: &Path);
    /// Restores the latest backup; returns the content.
    fn restore(&self, backups: &Path, db: &Path) -> Content;
}

struct Ldb;

impl Peer for Ldb {
    fn back_up(&self, db: &Path, backups: &Path) {
        let dir = format!("--backup_dir={}", tools::path(backups));
        tools::ldb(db, &["backup", &dir]);
    }

    fn restore(&self, backups: &Path, db: &Path) -> Content {
        let dir = format!("--backup_dir={}", tools::path(backups));
        tools::ldb(db, &["restore", &dir]);
        tools::check(db);
        tools::scan(db)
    }
}

struct Java(String);

impl Peer for Java {
    fn back_up(&self, db: &Path, backups: &Path) {
        java::back_up(&self.0, db, backups);
    }

    fn restore(&self, backups: &Path, db: &Path) -> Content {
        java::restore(&self.0, backups, db)
    }
}

fn open(db: &Path) -> DB {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options.set_write_buffer_size(64 << 10);
    options.set_target_file_size_base(16 << 10);
    let families = FAMILIES.map(|name| {
        let mut own = options.clone();
        own.set_enable_blob_files(name != "default");
        own.set_min_blob_size(120);
        (name, own)
    });
    DB::open_cf_with_opts(&options, db, families).unwrap()
}

fn shared_files(backups: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(backups.join("shared_checksum")).unwrap();
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name();
    entries
        .map(|e| name(e).to_string_lossy().into_owned())
        .collect()
}

/// Each engine adds backups of one database to one directory. Every backup restores by both.
fn write_in_turn(peer: &dyn Peer, seed: u64) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = |name: &str| dir.path().join(name);
    let (db_dir, backups) = (path("db"), path("backups"));
    let mut work = Workload::new(seed, &FAMILIES, 600);
    let mut then = Vec::new();
    let restored_here = |engine: &mut BackupEngine, id: u32, expected: &Content, when: &str| {
        let to = path("restored");
        engine.verify_backup_with_checksum(id).unwrap();
        engine
            .restore_from_backup(&to, &to, &RestoreOptions::default(), id)
            .unwrap();
        content::check(&content::open(&to), expected, when);
    };
    for round in 0..4 {
        let db = open(&db_dir);
        work.run(&db, 60);
        if round == 1 {
            db.flush().unwrap();
        }
        work.run(&db, 10);
        db.wait_for_compact(&WaitForCompactOptions::default())
            .unwrap();
        let mut options = BackupEngineOptions::new(&backups).unwrap();
        options.set_schema_version(1 + round % 2).unwrap();
        if round == 3 {
            let legacy = ShareFilesNaming::LegacyCrc32cAndFileSize;
            options.set_share_files_with_checksum_naming(legacy, true);
        }
        let mut engine = BackupEngine::open(&options, &Env::new().unwrap()).unwrap();
        let mut how = CreateBackupOptions::default();
        how.set_app_metadata(format!("round {round}"));
        let id = engine.create_new_backup_opt(&how, &db).unwrap();
        assert_eq!(id as usize, then.len() + 1);
        then.push(work.model.clone());
        drop((db, engine));
        let found = peer.restore(&backups, &path("by_peer"));
        compare(&found, &work.model, "our backup, restored by RocksDB");

        // RocksDB takes the tables of our backup for its own: their names are the same.
        let before = shared_files(&backups);
        peer.back_up(&db_dir, &backups);
        then.push(work.model.clone());
        let after = shared_files(&backups);
        assert!(after.is_superset(&before), "{before:?}, {after:?}");
        let live: Vec<String> = content::open(&path("by_peer"))
            .live_files()
            .unwrap()
            .into_iter()
            .map(|file| file.name.trim_start_matches('/').replace(".sst", "_"))
            .collect();
        let doubled = after.iter().filter(|name| {
            let twin = |other: &&String| other[..7] == name[..7];
            live.contains(&name[..7].to_owned()) && before.iter().any(|o| twin(&o) && o != *name)
        });
        assert!(round == 3 || doubled.count() == 0, "{before:?}, {after:?}");
        let is_blob = |name: &&String| name.ends_with(".blob");
        let blobs = |names: &BTreeSet<String>| names.iter().filter(is_blob).count();
        assert!(round == 0 || blobs(&before) > 0, "{before:?}");
        let mut engine = BackupEngine::open(&options, &Env::new().unwrap()).unwrap();
        assert!(engine.get_corrupted_backups().is_empty());
        let ids: Vec<u32> = engine
            .get_backup_info()
            .iter()
            .map(|i| i.backup_id)
            .collect();
        assert_eq!(ids, (1..=then.len() as u32).collect::<Vec<_>>());
        for (id, then) in (1..).zip(&then) {
            restored_here(&mut engine, id, then, "restored here");
        }
    }
    // What both have written is deleted here, and the rest is restored there.
    let options = BackupEngineOptions::new(&backups).unwrap();
    let mut engine = BackupEngine::open(&options, &Env::new().unwrap()).unwrap();
    engine.purge_old_backups(3).unwrap();
    engine.delete_backup(8).unwrap();
    restored_here(&mut engine, 6, &then[5], "after the purge");
    restored_here(&mut engine, 7, &then[6], "after the purge");
    let found = peer.restore(&backups, &path("by_peer"));
    compare(&found, &then[6], "the rest, restored by RocksDB");
}

#[test]
fn backups_go_back_and_forth_with_ldb() {
    if !tools::available() {
        return;
    }
    write_in_turn(&Ldb, 31);
}

#[test]
fn backups_go_back_and_forth_with_the_newest_rocksdb() {
    let Some(jar) = java::jar() else {
        return;
    };
    write_in_turn(&Java(jar), 32);
}
