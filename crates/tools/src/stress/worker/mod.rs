//! The work of one thread: random operations of the public API on its own slots, and checks
//! of everything that it reads.
//!
//! A thread knows the content of its own slots exactly, except after failed writes. Of
//! other threads' slots it only knows that every value belongs to its slot.
//!
//! * `operation`: the kinds of operations
//! * `writes`: operations that change slots
//! * `reads`: operations that read slots
//! * `merged_scans`: scans over several column families
//! * `second_readers`: read-only and secondary instances
//! * `families`: transient column families
//! * `imports`: transient column families that come with content
//! * `files`: checkpoints, backups and exports; lists of files, a locked log
//! * `timestamps`: reads of old versions, where keys have timestamps

mod families;
mod files;
mod imports;
mod merged_scans;
mod operation;
mod reads;
mod second_readers;
mod timestamps;
mod writes;

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::thread;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use whitewater::fs::Fs;
use whitewater::{BoundColumnFamily, Error, SnapshotWithThreadMode};
use whitewater_concurrent::system;

use super::journal::Journal;
use super::key_model::{Shape, Slot, Version};
use super::model::{Change, Expected, UncertainWrite};
use super::random_options::RandomOptions;
use super::script;
use super::store::{self, Db, Family, ReadFailure, total};
use super::transient_families::TransientFamilies;

pub use operation::Operation;

/// Why a thread stops.
#[derive(Debug)]
pub enum Stop {
    /// The reader of the journal is gone.
    NoListener,
    /// A bug was found.
    Wrong(String),
}

impl From<String> for Stop {
    fn from(what: String) -> Stop {
        Stop::Wrong(what)
    }
}

/// Runs `work` in `threads` threads, and `meanwhile` in this one.
///
/// # Errors
/// Why one of the threads stopped.
pub fn run_threads<T: Send, R>(
    threads: u32,
    work: impl Fn(u32) -> Result<T, Stop> + Sync,
    meanwhile: impl FnOnce() -> R,
) -> Result<(Vec<T>, R), String> {
    thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = (0..threads)
            .map(|thread| {
                let name = format!("worker {thread}");
                system::spawn_scoped(scope, name, move || work(thread))
            })
            .collect::<Result<_, _>>()
            .map_err(|e| format!("starting a thread: {e}"))?;
        let done = meanwhile();
        let ended = threads.into_iter().map(|thread| match thread.join() {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(Stop::Wrong(what))) => Err(what),
            Ok(Err(Stop::NoListener)) => Err("the reader of the journal is gone".to_owned()),
            Err(_) => Err("a thread panicked".to_owned()),
        });
        let ended: Vec<_> = ended.collect();
        Ok((ended.into_iter().collect::<Result<_, String>>()?, done))
    })
}

/// Which writes are logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Log {
    /// All writes.
    Always,
    /// Most writes.
    Mostly,
    /// No write.
    Never,
    /// All writes, and each is synced.
    Synced,
}

/// Whether tables are ingested and column families imported. They survive even if earlier
/// writes are lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ingests {
    /// At any time.
    Anytime,
    /// After a sync of the log, which keeps the earlier writes.
    AfterSync,
    /// Not at all.
    Never,
}

/// What all threads of a round share.
pub struct Context<'a> {
    /// The database.
    pub db: &'a Db,
    /// Its directory; checkpoints and other files are made next to it.
    pub dir: &'a Path,
    /// Its file system.
    pub fs: Arc<dyn Fs>,
    /// Its options.
    pub options: &'a RandomOptions,
    /// Its dimensions.
    pub shape: Shape,
    /// Its transient column families.
    pub transient: &'a TransientFamilies,
    /// Receives the reports of writes.
    pub journal: &'a dyn Journal,
    /// Whether operations may fail because the file system injects errors.
    pub faulty: bool,
    /// Whether tables are ingested.
    pub ingests: Ingests,
    /// Which writes are logged.
    pub log: Log,
    /// Operations that are left out.
    pub without: &'a [Operation],
}

/// A working thread.
pub struct Worker<'a> {
    context: &'a Context<'a>,
    thread: u32,
    rng: StdRng,
    /// The thread's keys in column families with even numbers, and in those with odd ones.
    keys: [Vec<u32>; 2],
    /// The permanent column families, then the transient ones that existed when the
    /// operation began.
    families: Vec<Family<'a>>,
    mine: Expected,
    /// What the thread's slots may hold after the process died: unlogged writes are
    /// uncertain until a flush.
    kept: Expected,
    next: Version,
    snapshots: VecDeque<CheckedSnapshot<'a>>,
    /// A secondary instance, if one is open.
    follower: Option<Db>,
    uncertain: Vec<UncertainWrite>,
    /// The changes of the last write.
    last: Vec<Change>,
    past: timestamps::PastValues,
}

/// A snapshot, and what the thread's slots held when it was taken.
struct CheckedSnapshot<'a> {
    snapshot: SnapshotWithThreadMode<'a, Db>,
    mine: Expected,
    families: Vec<Family<'a>>,
}

/// What is left of a thread's work.
pub struct WorkerResult {
    /// What its slots may hold after the process died.
    pub kept: Expected,
    /// Its failed writes.
    pub uncertain: Vec<UncertainWrite>,
    /// The last version that it used.
    pub next: Version,
}

impl<'a> Worker<'a> {
    /// The thread number `thread`, whose slots hold `mine`. Its values have versions above
    /// `next`.
    ///
    /// # Errors
    /// A column family is missing.
    pub fn new(
        context: &'a Context<'a>,
        thread: u32,
        seed: u64,
        mine: Expected,
        next: Version,
    ) -> Result<Self, String> {
        let shape = context.shape;
        let keys = |family| {
            let slots = shape.slots(family);
            slots
                .filter(|slot| shape.is_of(thread, *slot))
                .map(|slot| slot.key)
                .collect()
        };
        Ok(Worker {
            thread,
            rng: StdRng::seed_from_u64(seed ^ u64::from(thread) << 48),
            keys: [keys(0), keys(1)],
            families: store::permanent(context.db, shape)?,
            kept: mine.clone(),
            mine,
            next,
            snapshots: VecDeque::new(),
            follower: None,
            uncertain: Vec::new(),
            last: Vec::new(),
            past: timestamps::PastValues::new(next),
            context,
        })
    }

    /// Does one operation.
    ///
    /// # Errors
    /// What stops the thread.
    pub fn step(&mut self) -> Result<(), Stop> {
        let operation = Operation::draw(&mut self.rng);
        let context = self.context;
        let options = match operation {
            Operation::Ingest if context.ingests == Ingests::Never => Operation::Write,
            Operation::Resume if !context.faulty => Operation::Write,
            other => other,
        };
        if context.without.contains(&options) {
            return Ok(());
        }
        script::log(|| format!("thread {}: {}", self.thread, options.name()));
        self.refresh_families()?;
        match options {
            Operation::Write => self.write_one(),
            Operation::Batch => self.write_batch(),
            Operation::DeleteRange => self.delete_range(),
            Operation::Ingest => self.ingest(),
            Operation::Get => Ok(self.get()?),
            Operation::GetMany => Ok(self.get_many()?),
            Operation::Scan => Ok(self.scan()?),
            Operation::ScanFamilies => Ok(self.scan_families()?),
            Operation::Snapshot => {
                self.take_snapshot();
                Ok(())
            }
            Operation::CheckSnapshot => Ok(self.check_snapshot()?),
            Operation::Flush => self.flush(),
            Operation::Compact => self.maintain("compaction", Self::compact),
            Operation::SyncLog => self.sync_log(),
            Operation::SetOptions => self.maintain("change of options", Self::set_options),
            Operation::Resume => self.maintain("resumption", |w, _| w.context.db.resume()),
            Operation::Family => self.change_family(),
            Operation::TrimHistory => self.trim_history(),
            Operation::SecondReader => Ok(self.read_through_second_instance()?),
            Operation::Checkpoint => Ok(self.checkpoint()?),
            Operation::Backup => Ok(self.back_up()?),
            Operation::Export => Ok(self.export()?),
            Operation::CompactFiles => self.maintain("compaction of files", Self::compact_files),
            Operation::ListFiles => Ok(self.list_files()?),
            Operation::LockLog => Ok(self.lock_log()?),
        }
    }

    /// Checks everything that the thread knows.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check_all(&mut self) -> Result<(), String> {
        while !self.snapshots.is_empty() {
            self.check_snapshot()?;
        }
        self.refresh_families()?;
        let shape = self.context.shape;
        let is_mine = |slot| shape.is_of(self.thread, slot);
        let content = store::content(self.context.db, shape, &self.families, &total, &is_mine);
        self.compare(content, &self.families, "in the end")
    }

    /// Continues in another context of the same database.
    #[must_use]
    pub fn move_to(self, context: &'a Context<'a>) -> Worker<'a> {
        Worker { context, ..self }
    }

    /// Ends the thread's work.
    pub fn retire(self) -> WorkerResult {
        WorkerResult {
            kept: self.kept,
            uncertain: self.uncertain,
            next: self.next,
        }
    }

    fn slot(&mut self) -> Slot {
        let family = self.family().number;
        self.slot_of(family)
    }

    fn slot_of(&mut self, family: u32) -> Slot {
        let keys = &self.keys[family as usize % 2];
        let key = *keys.choose(&mut self.rng).expect("every thread has keys");
        Slot { family, key }
    }

    fn family(&mut self) -> Family<'a> {
        let families = self.families.choose(&mut self.rng);
        families.expect("there is the default one").clone()
    }

    fn of(&self, slot: Slot) -> &Arc<BoundColumnFamily<'a>> {
        let mut families = self.families.iter();
        let found = families.find(|family| family.number == slot.family);
        &found.expect("the slot is of a known column family").handle
    }

    /// Compares the content `found` in `families`, unless it could not be read, with what
    /// the thread knows.
    fn compare(
        &self,
        found: Result<BTreeMap<Slot, Version>, ReadFailure>,
        families: &[Family<'_>],
        what: &str,
    ) -> Result<(), String> {
        let found = match found {
            Ok(found) => found,
            Err(ReadFailure::Reported(e)) => return self.failed(what, &e),
            Err(ReadFailure::Wrong(e)) => return Err(format!("{what}: {e}")),
        };
        for family in families.iter().map(|family| family.number) {
            for &key in &self.keys[family as usize % 2] {
                let slot = Slot { family, key };
                let held = found.get(&slot).copied();
                if !self.mine.allows(slot, held) {
                    let may = self.mine.of(slot);
                    return Err(format!("{what}: {slot}: {held:?} instead of {may:?}"));
                }
            }
        }
        Ok(())
    }

    /// Handles an error of the database: it is a bug unless errors are injected.
    fn failed(&self, what: &str, e: &Error) -> Result<(), String> {
        if self.context.faulty {
            Ok(())
        } else {
            Err(format!("{what}: {e}"))
        }
    }

    /// Does something with a random column family that does not change its content.
    fn maintain(
        &mut self,
        what: &str,
        work: impl FnOnce(&mut Self, &Family<'a>) -> Result<(), Error>,
    ) -> Result<(), Stop> {
        let family = self.family();
        match work(self, &family) {
            Err(e) if !self.is_gone(family.number, &e) => Ok(self.failed(what, &e)?),
            _ => Ok(()),
        }
    }

    fn compact(&mut self, family: &Family<'a>) -> Result<(), Error> {
        let shape = self.context.shape;
        let (a, b) = (self.slot_of(family.number), self.slot_of(family.number));
        let o = whitewater::CompactOptions::default();
        let (from, to) = (shape.key(a.min(b)), shape.key(a.max(b)));
        (self.context.db).try_compact_range_cf_opt(&family.handle, Some(from), Some(to), &o)
    }

    fn set_options(&mut self, family: &Family<'a>) -> Result<(), Error> {
        let (context, rng) = (self.context, &mut self.rng);
        if rng.random_bool(0.3) {
            let (name, value) = context.options.database_change(rng);
            context.db.set_db_options(&[(name, &value)])
        } else {
            let order = context.shape.order(family.number);
            let (name, value) = context.options.family_change(order, rng);
            (context.db).set_options_cf(&family.handle, &[(name, &value)])
        }
    }
}
