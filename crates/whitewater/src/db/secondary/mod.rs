//! Following a database that another engine writes: a secondary instance.
//!
//! A secondary instance has read the primary's manifest and logs up to some moment, and
//! continues from there when it is asked to catch up. It changes none of the primary's
//! files (R1 of `reader`); its info log is in a directory of its own.
//!
//! A catch-up continues in the manifest if that has grown, or reads the manifest that has
//! replaced it, continues in the logs ([`tail`]), and then shows the result in one step:
//!
//! * N1: entries are inserted before the number that makes them visible is published, and
//!   the number is published before the views that need it. A reader that pinned a view
//!   before the catch-up sees this view with what was added to its active memtable. A
//!   reader that pins a view later sees everything. Both are states that the primary once
//!   held.
//! * N2: views of several column families are pinned while switches are locked out
//!   (`Generations::switching`), so that the views are of the same age.
//! * N3: each memtable belongs to one log, so the memtables that became tables are
//!   determined by the log number that the column family has in the manifest.
//! * N4: tables that were open stay open, because versions share them by number.
//! * N5: a manifest only grows, by whole edits or groups of edits, until another one takes
//!   its place. So what was read of it stays valid, and is not read again.
//! * N6: while undecided writes or decisions are shown, some number is undecided. So a reader that
//!   has begun before does not trust the view that it has pinned, and begins again after that
//!   (`db::views`), with a view and what is undecided for it.
//!
//! There are no snapshots: a compaction of the primary drops everything that none of its
//! own snapshots needs.

mod tail;

use super::Engine;
use super::data_dirs::DataDirs;
use super::generations::Switch;
use super::missed_logs::{Logs, Places};
use super::open::{Opening, Wanted, check_dir, check_wanted};
use super::read_only::{check_families, identity, open_tables};
use super::reader::{ManifestStamp, PATIENCE, PAUSE, Role, empty_memtable};
use crate::info_log::{InfoLog, dump};
use crate::memtable::Memtable;
use crate::options::write_policy::WritePolicy;
use crate::options::{CfOptions, DbOptions};
use crate::version::set::{ManifestTail, Recovered, VersionSet};
use crate::version::{ObsoleteFiles, TableFile, Version};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tail::{Families, Tail};
use whitewater_concurrent::system::{self, Mutex, RwLockReadGuard};
use whitewater_concurrent::undecided::NumberRange;
use whitewater_storage::fs::Fs;
use whitewater_storage::key::SequenceNumber;
use whitewater_storage::manifest::read_current;
use whitewater_storage::planted;
use whitewater_storage::{Error, ErrorKind, Result};

/// How far a secondary instance has read.
#[derive(Debug)]
pub(super) struct Follower {
    /// Held during a catch-up. Taken before the right to switch.
    progress: Mutex<Progress>,
}

#[derive(Debug)]
struct Progress {
    files: Files,
    /// The manifest that `recovered` was read from.
    stamp: ManifestStamp,
    /// How far the manifest was read; `None` if it must be read from the start.
    manifest: Option<ManifestTail>,
    recovered: Recovered,
    tail: Tail,
    /// The undecided numbers that readers know of.
    hidden: Vec<NumberRange>,
}

/// The primary's files and how they are read.
#[derive(Debug, Clone)]
struct Files {
    fs: Arc<dyn Fs>,
    dir: PathBuf,
    wal_dir: PathBuf,
    options: DbOptions,
    wanted: Wanted,
}

impl Files {
    /// Reads the manifest, or continues where `tail` stopped (N5). Tables that `before` has
    /// open stay open (N4).
    fn read_manifest(
        &self,
        tail: &mut Option<ManifestTail>,
        before: Option<&Recovered>,
    ) -> Result<(VersionSet, Recovered)> {
        let (fs, present) = (&*self.fs, read_current(&*self.fs, &self.dir)?);
        let known = match tail.take().filter(|tail| tail.path() == present) {
            Some(mut known) => known.go_on(fs).map(|()| known),
            None => ManifestTail::read(fs, &self.dir),
        };
        let tail = tail.insert(known?);
        let (versions, mut recovered) = VersionSet::at(
            tail,
            self.fs.clone(),
            self.dir.clone(),
            Arc::new(ObsoleteFiles::default()),
            &|name| self.wanted.get(name).cloned(),
        )?;
        if let Some(before) = before {
            share_tables(&mut recovered, before);
        }
        open_tables(&self.fs, &self.options, &self.wanted, &recovered)?;
        Ok((versions, recovered))
    }
}

/// Replaces files by equal files of `before`.
fn share_tables(recovered: &mut Recovered, before: &Recovered) {
    for (id, cf) in &mut recovered.column_families {
        let Some(old) = before.column_families.get(id) else {
            continue;
        };
        let known: HashMap<u64, &Arc<TableFile>> = (old.current.levels.iter().flatten())
            .map(|file| (file.meta.number, file))
            .collect();
        let shared = |file: &Arc<TableFile>| match known.get(&file.meta.number) {
            Some(old) if old.meta == file.meta => (*old).clone(),
            _ => file.clone(),
        };
        let levels = cf.current.levels.iter();
        let levels = levels.map(|files| files.iter().map(shared).collect());
        let open_with = cf.current.open_with.clone();
        let blobs = cf.current.blobs.shared_with(&old.current.blobs);
        let mut version = Version::new(levels.collect(), open_with);
        version.history_low.clone_from(&cf.current.history_low);
        cf.current = Arc::new(version.with_blobs(blobs));
    }
}

impl Progress {
    /// Reads what is there now. Nothing of it shows yet.
    ///
    /// # Errors
    /// `TryAgain` when for ten seconds the primary deletes logs faster than they can be
    /// read; errors of reading. What was read before stays.
    fn advance(&mut self) -> Result<()> {
        let begun = system::now();
        while system::since(begun) < PATIENCE {
            let before = ManifestStamp::take(&*self.files.fs, &self.files.dir);
            match self.try_advance() {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                // The manifest has not changed, so no file is missing because of a change.
                Err(e) if ManifestStamp::take(&*self.files.fs, &self.files.dir) == before => {
                    return Err(e);
                }
                Err(_) => {}
            }
            system::sleep(PAUSE);
        }
        Err(Error::new(
            ErrorKind::TryAgain,
            "the primary changes its files faster than they can be read",
        ))
    }

    /// Returns false when the primary has deleted logs meanwhile (R3 of `reader`).
    fn try_advance(&mut self) -> Result<bool> {
        let Files {
            fs, dir, wal_dir, ..
        } = &self.files;
        let stamp = ManifestStamp::take(&**fs, dir)?;
        if stamp != self.stamp {
            planted!(SecondaryKeepsManifest => return Ok(true));
            let before = Some(&self.recovered);
            let (_, recovered) = self.files.read_manifest(&mut self.manifest, before)?;
            (self.recovered, self.stamp) = (recovered, stamp.clone());
        }
        let families = Families::new(&self.recovered, &self.files.wanted);
        let mut other_policy = false;
        loop {
            self.tail.find_logs(&**fs, wal_dir, families.first_log())?;
            if ManifestStamp::take(&**fs, dir)? != stamp {
                return Ok(false);
            }
            match self.tail.read(&**fs, wal_dir, &families) {
                // A section of another write policy than the logs were read for, perhaps. Read
                // again: the numbers of what was read so far may be others. The primary changes
                // its policy only when no log has sections of the one before.
                Err(e) if e.kind() == ErrorKind::NotSupported && !other_policy => {
                    other_policy = true;
                    self.tail = Tail::new(self.tail.numbering().other());
                }
                read => return read,
            }
        }
    }

    /// The last number of everything that was read.
    fn last_sequence(&self) -> SequenceNumber {
        let families = self.recovered.column_families.values();
        let tables = families.flat_map(|cf| cf.current.levels.iter().flatten());
        let in_tables = tables.map(|file| file.meta.largest_seqno).max();
        self.tail.read_to().max(in_tables.unwrap_or(0))
    }

    /// The memtables whose entries are not in tables yet (N3), by column family, oldest
    /// first.
    fn memtables(&mut self) -> BTreeMap<u32, Vec<Arc<Memtable>>> {
        self.tail.memtables(&self.recovered)
    }
}

impl Engine {
    /// Opens the database in `dir`, which another engine may be writing, to follow it. The
    /// info log is in `own_dir`.
    ///
    /// # Errors
    /// Errors of [`Engine::open_read_only`].
    // Long: the steps of an opening, in their order.
    pub fn open_secondary(
        dir: &Path,
        own_dir: &Path,
        mut options: DbOptions,
        column_families: Vec<(String, CfOptions)>,
    ) -> Result<Arc<Engine>> {
        check_dir(dir)?;
        check_dir(own_dir)?;
        let wanted = check_wanted(&options, column_families)?;
        let fs = options.fs.clone();
        let wal_dir = options.wal_dir.clone().unwrap_or_else(|| dir.to_path_buf());
        fs.create_dir_all(own_dir)?;
        let log = InfoLog::create(&fs, own_dir, &options);
        dump::opening(&log, &options, &wanted);
        let files = Files {
            fs: fs.clone(),
            dir: dir.to_path_buf(),
            wal_dir: wal_dir.clone(),
            options: options.clone(),
            wanted: wanted.clone(),
        };
        let mut stamp = ManifestStamp::take(&*fs, dir)?;
        let mut manifest = None;
        let (versions, recovered) = loop {
            let read = files.read_manifest(&mut manifest, None);
            let now = ManifestStamp::take(&*fs, dir)?;
            match read {
                Err(_) if now != stamp => stamp = now,
                read => break read?,
            }
        };
        check_families(&wanted, &recovered)?;
        Places::find(&*fs, dir, &wal_dir)?.check(recovered.needed_logs())?;
        let mut progress = Progress {
            files,
            stamp,
            manifest,
            recovered,
            tail: Tail::new(options.write_policy.numbering()),
            hidden: Vec::new(),
        };
        progress.advance()?;
        // Whatever the primary writes later, readers ask what is undecided.
        options.write_policy = WritePolicy::WritePrepared;
        let db_id = progress.recovered.db_id.clone();
        let db_id = db_id.unwrap_or_else(|| identity(&*fs, dir));
        let opening = Opening {
            fs,
            data_dirs: DataDirs::default(),
            dir,
            wal_dir,
            limiter: options.limiter(),
            options,
            wanted,
            db_id,
            info_log: log,
            versions,
            obsolete: Arc::new(ObsoleteFiles::default()),
            budget_client: None,
            logs: Logs::Found,
            moved: false,
        };
        let (memtables, last) = (progress.memtables(), progress.last_sequence());
        let recovered = progress.recovered.clone();
        let role = Role::Secondary(Box::new(Follower {
            progress: Mutex::new(progress),
        }));
        let engine = opening.into_reader(&recovered, memtables, last, role)?;
        if let Role::Secondary(follower) = &engine.role {
            // Nobody reads yet.
            let decided = engine.hide(&mut follower.progress.lock());
            engine.decide_hidden(decided);
        }
        engine.info_log.write(&format!(
            "Following {} from sequence number {last} on",
            dir.display()
        ));
        Ok(engine)
    }

    /// Reads and shows what the primary has written meanwhile.
    ///
    /// # Errors
    /// `NotSupported` from an engine that does not follow another; `TryAgain` when the
    /// primary deletes logs faster than they can be read; errors of reading. What was shown
    /// before still is.
    pub fn try_catch_up_with_primary(&self) -> Result<()> {
        let Role::Secondary(follower) = &self.role else {
            return Err(Error::not_supported(
                "only a secondary instance catches up with a primary",
            ));
        };
        let mut progress = follower.progress.lock();
        progress.advance()?;
        self.show(&mut progress);
        Ok(())
    }

    /// Shows what was read. Upholds N1, N2 and N6.
    fn show(&self, progress: &mut Progress) {
        let (mut memtables, last) = (progress.memtables(), progress.last_sequence());
        let switching = self.commit.generations.switching();
        let decided = self.hide(progress);
        let visible = self.commit.publication.visible();
        if last > visible
            // No other thread publishes, so it cannot have failed.
            && self.commit.publication.finish(visible + 1, last).is_err()
        {
            self.info_log.write("publishing failed");
        }
        let (mut old, mut told) = (Vec::new(), Vec::new());
        let mut state = self.lock_state();
        let families = &progress.recovered.column_families;
        let gone = |id: &u32| !families.contains_key(id);
        let dropped: Vec<u32> = state.cfs.keys().copied().filter(gone).collect();
        for id in dropped {
            if let Some(cf) = state.cfs.remove(&id) {
                cf.data.set_dropped();
                told.push(format!("The primary dropped [{}]", cf.data.name));
                old.push((cf.version, cf.imm));
            }
        }
        for (id, cf) in &mut state.cfs {
            let mut all = memtables.remove(id).unwrap_or_default();
            cf.mem = match all.pop() {
                Some(active) => active,
                None => empty_memtable(&cf.data.name, &cf.data.options()),
            };
            let imm = std::mem::replace(&mut cf.imm, all);
            old.push((cf.set_version(families[id].current.clone()), imm));
            cf.publish();
        }
        drop(state);
        self.decide_hidden(decided);
        drop(old);
        drop(switching);
        told.push(format!("Caught up to sequence number {last}"));
        told.iter().for_each(|line| self.info_log.write(line));
    }

    /// Hides the numbers that have become undecided, before they are visible. Returns those that
    /// are no longer undecided, by the first numbers of their ranges.
    fn hide(&self, progress: &mut Progress) -> Vec<SequenceNumber> {
        let (now, changed) = progress.tail.undecided();
        let before = std::mem::replace(&mut progress.hidden, now.clone());
        let Some(undecided) = self
            .commit
            .undecided
            .as_ref()
            .filter(|_| changed || now != before)
        else {
            return Vec::new();
        };
        // No entry has that number. What was prepared and rolled back since the last catch-up may
        // be in memtables that readers have pinned, without the values that the rollback wrote.
        let none = NumberRange {
            first: SequenceNumber::MAX,
            last: SequenceNumber::MAX,
        };
        let new = now.iter().filter(|range| !before.contains(range)).copied();
        undecided.enter(new.chain([none]));
        let gone = before.iter().filter(|range| !now.contains(range));
        gone.chain([&none]).map(|range| range.first).collect()
    }

    fn decide_hidden(&self, firsts: Vec<SequenceNumber>) {
        if let Some(undecided) = &self.commit.undecided
            && !firsts.is_empty()
        {
            undecided.decide(firsts);
        }
    }

    /// Keeps views at the same age while they are pinned (N2).
    pub(crate) fn views_of_one_age(&self) -> Option<RwLockReadGuard<'_, Switch>> {
        matches!(self.role, Role::Secondary(_)).then(|| self.commit.generations.hold_switches_off())
    }

    /// Whether reads at snapshots are possible.
    pub(crate) fn has_snapshots(&self) -> bool {
        !matches!(self.role, Role::Secondary(_))
    }
}
