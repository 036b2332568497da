//! Power cuts at every file operation of making, deleting, purging and restoring backups.
//!
//! Before each operation, the file systems that a power cut might leave are set aside. In each of
//! them, every backup that is there is whole; those that were made and not deleted are there; and
//! the next backup works and leaves nothing behind that no backup has.

use super::{BACKUPS, Content, RESTORED, content, engine_options, files_in, files_named, fill};
use crate::harness::seam::planted_in;
use crate::harness::{DIR, Db, open_all, tiny_on};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use whitewater::backup::{BackupEngine, RestoreOptions};
use whitewater::fs::Fs;
use whitewater::fs::fault::{FaultFs, OpSet};
use whitewater::fs::mem::MemFs;
use whitewater::{Env, Options};

/// What a cut left, and at which operation.
type Cuts = Arc<Mutex<Vec<(String, MemFs)>>>;

/// A database and its backups on a file system on which the power can be cut.
struct Scene {
    fs: MemFs,
    faults: FaultFs,
    db: Db,
    options: Options,
    engine: BackupEngine,
    /// What each backup holds.
    then: BTreeMap<u32, Content>,
}

impl Scene {
    /// A database with `backups` backups.
    fn new(backups: u32) -> Scene {
        let fs = MemFs::new();
        fs.create_dir_all(Path::new("/data")).unwrap();
        fs.sync_dir(Path::new("/")).unwrap();
        let mut scene = Scene::on(fs, BTreeMap::new());
        for id in 1..=backups {
            fill(&scene.db, &scene.options, id);
            scene.create(id);
        }
        scene
    }

    /// What is on `fs`, with backups that hold `then`.
    fn on(fs: MemFs, then: BTreeMap<u32, Content>) -> Scene {
        let faults = FaultFs::new(Arc::new(fs.clone()));
        let mut options = tiny_on(fs.clone());
        options.set_disable_auto_compactions(true);
        let db = open_all(&options, Path::new(DIR)).unwrap();
        let env = Env::with_fs(planted_in(Arc::new(faults.clone())));
        let engine = BackupEngine::open(&engine_options(), &env).unwrap();
        Scene {
            fs,
            faults,
            db,
            options,
            engine,
            then,
        }
    }

    fn create(&mut self, id: u32) {
        self.then.insert(id, content(&self.db, &self.options));
        self.engine.create_new_backup(&self.db).unwrap();
    }

    /// Runs `call`, and returns what cuts at its operations leave.
    fn cut(&mut self, call: impl FnOnce(&mut Scene)) -> Vec<(String, MemFs)> {
        let cuts = Cuts::default();
        let (taken, fs) = (cuts.clone(), self.fs.clone());
        self.faults.set_observer(Arc::new(move |op, path| {
            if !OpSet::WRITES.contains(op) {
                return;
            }
            let mut cuts = taken.lock();
            let seed = cuts.len() as u64;
            // What half of the changes leave differs from draw to draw.
            for keep in [0.0, 0.5, 0.5, 0.5, 1.0] {
                let what = format!("before {op:?} of {}, keep {keep}", path.display());
                let salt = seed * 3 + cuts.len() as u64;
                cuts.push((what, fs.crash_clone(keep, salt)));
            }
        }));
        call(self);
        self.faults.set_observer(Arc::new(|_, _| {}));
        let mut cuts = std::mem::take(&mut *cuts.lock());
        // The call has returned: what it promises is durable.
        cuts.push(("at the end".to_owned(), self.fs.crash_clone(0.0, 7)));
        assert!(cuts.len() > 20, "{}", cuts.len());
        cuts
    }

    /// Checks what a cut left. Backups from `least` on are there.
    fn check(&self, what: &str, fs: &MemFs, least: &[u32]) -> Vec<u32> {
        let env = Env::with_fs(Arc::new(fs.clone()));
        let mut engine =
            BackupEngine::open(&engine_options(), &env).unwrap_or_else(|e| panic!("{what}: {e}"));
        let damaged = engine.get_corrupted_backups();
        assert!(
            damaged.is_empty(),
            "{what}: {:?}",
            engine.verify_backup(damaged[0])
        );
        let found: Vec<u32> = engine
            .get_backup_info()
            .iter()
            .map(|i| i.backup_id)
            .collect();
        assert!(
            least.iter().all(|id| found.contains(id)),
            "{what}: {found:?}"
        );
        for &id in &found {
            engine
                .verify_backup_with_checksum(id)
                .unwrap_or_else(|e| panic!("{what}: backup {id}: {e}"));
            let how = RestoreOptions::default();
            engine
                .restore_from_backup(RESTORED, RESTORED, &how, id)
                .unwrap();
            let options = tiny_on(fs.clone());
            let restored = open_all(&options, Path::new(RESTORED)).unwrap();
            let expected = &self.then[&id];
            assert_eq!(
                content(&restored, &options),
                *expected,
                "{what}: backup {id}"
            );
        }
        let options = tiny_on(fs.clone());
        let db = open_all(&options, Path::new(DIR)).unwrap();
        engine
            .create_new_backup(&db)
            .unwrap_or_else(|e| panic!("{what}: {e}"));
        assert_eq!(files_in(fs, BACKUPS), files_named(&engine), "{what}");
        found
    }
}

#[test]
fn a_backup_that_was_cut_is_whole_or_not_there() {
    for before in [0, 2] {
        let mut scene = Scene::new(before);
        fill(&scene.db, &scene.options, 5);
        let cuts = scene.cut(|scene| scene.create(before + 1));
        let least: Vec<u32> = (1..=before).collect();
        let end = cuts.len() - 1;
        let mut whole = 0;
        for (i, (what, fs)) in cuts.iter().enumerate() {
            let found = scene.check(what, fs, &least);
            let made = found.contains(&(before + 1));
            assert!(made || i != end, "{what}");
            whole += u32::from(made);
        }
        assert!(whole > 1, "a cut behind the renaming keeps the backup");
    }
}

#[test]
fn backups_whose_deletion_was_cut_are_whole_or_gone() {
    let mut scene = Scene::new(3);
    let cuts = scene.cut(|scene| scene.engine.delete_backup(2).unwrap());
    for (what, fs) in &cuts {
        let found = scene.check(what, fs, &[1, 3]);
        assert!(what != "at the end" || found == [1, 3], "{what}: {found:?}");
    }
    let mut scene = Scene::new(4);
    let cuts = scene.cut(|scene| scene.engine.purge_old_backups(1).unwrap());
    for (what, fs) in &cuts {
        let found = scene.check(what, fs, &[4]);
        assert!(what != "at the end" || found == [4], "{what}: {found:?}");
    }
}

/// The next backup begins by deleting what the cut has left, and is cut, too.
#[test]
fn a_backup_after_a_cut_can_be_cut() {
    let mut scene = Scene::new(2);
    fill(&scene.db, &scene.options, 5);
    let cuts = scene.cut(|scene| scene.create(3));
    for (first, fs) in cuts.into_iter().step_by(13) {
        let mut second = Scene::on(fs, scene.then.clone());
        let latest = second.engine.get_backup_info().last().unwrap().backup_id;
        let least: Vec<u32> = (1..=latest).collect();
        let cuts = second.cut(|scene| scene.create(latest + 1));
        for (what, fs) in cuts.iter().step_by(7) {
            second.check(&format!("{first}; {what}"), fs, &least);
        }
    }
}

/// The database is what it was before, or what the backup has, or there is none.
#[test]
fn a_restore_that_was_cut_leaves_no_half_of_a_database() {
    let mut scene = Scene::new(2);
    let env = Env::with_fs(planted_in(Arc::new(scene.faults.clone())));
    let mut engine = BackupEngine::open(&engine_options(), &env).unwrap();
    let how = RestoreOptions::default();
    engine
        .restore_from_backup(RESTORED, RESTORED, &how, 2)
        .unwrap();
    let mut seen = [0; 3];
    let cuts = scene.cut(|_| {
        engine
            .restore_from_backup(RESTORED, RESTORED, &how, 1)
            .unwrap();
    });
    for (i, (what, fs)) in cuts.iter().enumerate() {
        let state = if fs.exists(&Path::new(RESTORED).join("CURRENT")).unwrap() {
            let options = tiny_on(fs.clone());
            let db =
                open_all(&options, Path::new(RESTORED)).unwrap_or_else(|e| panic!("{what}: {e}"));
            let found = content(&db, &options);
            let id = (1..=2).find(|id| scene.then[id] == found);
            id.unwrap_or_else(|| panic!("{what}: half a database"))
        } else {
            0
        };
        assert!(what != "at the end" || state == 1, "{what}");
        seen[state as usize] += 1;
        // It can be done again.
        if i % 9 == 0 {
            scene.check(what, fs, &[1, 2]);
        }
    }
    assert!(seen.iter().all(|n| *n > 0), "{seen:?}");
}
