//! Column families: how many there are, and which one a key belongs to
//! (`--num_column_families`, `--num_hot_column_families`,
//! `--column_family_distribution`).
//!
//! Families are numbered; number 0 is the default one. A fixed number of them is
//! hot: those that were created last. The number of a key determines its hot
//! family, for writers and readers alike. When a fill has written the hot
//! families' share, it creates as many new ones, and these are hot from then on.
//!
//! This module also lets a secondary instance, which has one family, follow its
//! primary.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::engine::{Engine, Result};
use super::flags::Flags;

/// The name of a column family, given its number. These are RocksDB's names.
pub fn name(number: usize) -> String {
    match number {
        0 => "default".to_owned(),
        _ => format!("column_family_name_{number:06}"),
    }
}

/// The directory of a secondary instance's own files.
pub fn secondary_directory(flags: &Flags) -> PathBuf {
    if !flags.secondary_path.is_empty() {
        return PathBuf::from(&flags.secondary_path);
    }
    let parent = std::env::var_os("TEST_TMPDIR").map_or_else(std::env::temp_dir, PathBuf::from);
    parent.join("dbbench_secondary")
}

/// Lets a secondary catch up with its primary at once and then at intervals of
/// `every`, until `over` is set. Returns how often it did. The caller unparks the
/// thread after setting `over`.
///
/// # Errors
/// Any error of the engine.
pub fn follow<E: Engine>(engine: &E, every: Duration, over: &AtomicBool) -> Result<u64> {
    let mut times = 0;
    loop {
        engine
            .catch_up()
            .map_err(|failure| failure.during("failed to catch up with primary"))?;
        times += 1;
        let next = Instant::now() + every;
        loop {
            // Relaxed: the flag ends the loop and carries no data.
            if over.load(Ordering::Relaxed) {
                return Ok(times);
            }
            let left = next.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            thread::park_timeout(left);
        }
    }
}

/// The column families of an open database.
#[derive(Debug)]
pub struct Families {
    all: usize,
    hot: usize,
    /// The percentage of keys of each hot family; empty if all have the same share.
    shares: Vec<i32>,
    /// The number of families created so far. Written under `creating` once they can
    /// be found by name (release); read by each thread at each operation (acquire), to
    /// find the hot ones.
    created: AtomicUsize,
    creating: Mutex<()>,
}

impl Families {
    /// The column families of a database that was opened with these flags.
    ///
    /// # Errors
    /// The shares are not valid.
    pub fn new(flags: &Flags) -> Result<Self> {
        let hot = flags.hot_families();
        Ok(Self {
            all: usize::try_from(flags.num_column_families)?,
            hot,
            shares: flags.family_shares()?,
            created: AtomicUsize::new(hot),
            creating: Mutex::default(),
        })
    }

    /// The names of the families created so far; empty if there is only the default one.
    pub fn names(&self) -> Vec<String> {
        let created = match self.all {
            0 | 1 => 0,
            _ => self.created.load(Ordering::Acquire),
        };
        (0..created).map(name).collect()
    }

    /// How many of a fill's `operations` are done before the next hot families.
    pub fn operations_per_stage(&self, operations: u64) -> u64 {
        let stages = (self.all / self.hot).max(1) as u64;
        operations.saturating_sub(1) / stages + 1
    }

    /// Creates the hot families of a stage, unless another thread has done so.
    ///
    /// # Errors
    /// Any error of the engine.
    pub fn enter<E: Engine>(&self, engine: &E, stage: u64) -> Result<()> {
        let _alone = self.creating.lock().unwrap_or_else(PoisonError::into_inner);
        // Relaxed: the value changes only under the lock.
        let created = self.created.load(Ordering::Relaxed);
        let wanted = usize::try_from(stage)?
            .saturating_add(1)
            .saturating_mul(self.hot);
        if wanted <= created || created + self.hot > self.all {
            return Ok(());
        }
        for number in created..created + self.hot {
            engine.create_family(&name(number))?;
        }
        // Release: pairs with the acquire in `Places::of`, whose thread then finds the
        // families.
        self.created.store(created + self.hot, Ordering::Release);
        Ok(())
    }

    /// The index of the hot family that a key belongs to.
    fn index(&self, number: u64) -> usize {
        if self.shares.is_empty() {
            return (number % self.hot as u64) as usize;
        }
        // As in RocksDB, the bound between two families belongs to the first.
        let at = (number % 100) as i32;
        let mut sum = 0;
        let index = self.shares.iter().position(|share| {
            sum += share;
            sum >= at
        });
        index.unwrap_or(self.hot - 1)
    }
}

/// One thread's handles of the hot families.
pub struct Places<'r, E: Engine + 'r> {
    families: &'r Families,
    /// The value of `Families::created` when `hot` was filled.
    seen: usize,
    hot: Vec<E::Family<'r>>,
}

impl<'r, E: Engine> Places<'r, E> {
    /// The handles of a thread that has used none yet.
    pub fn new(families: &'r Families) -> Self {
        Self {
            families,
            seen: 0,
            hot: Vec::new(),
        }
    }

    /// The family of a key, given its number; `None` if there is only the default one.
    ///
    /// # Errors
    /// Any error of the engine.
    #[inline]
    pub fn of(&mut self, engine: &'r E, number: u64) -> Result<Option<&E::Family<'r>>> {
        if self.families.all <= 1 {
            return Ok(None);
        }
        // Acquire: pairs with the release in `Families::enter`.
        let created = self.families.created.load(Ordering::Acquire);
        if created != self.seen {
            self.find(engine, created)?;
        }
        Ok(self.hot.get(self.families.index(number)))
    }

    #[cold]
    fn find(&mut self, engine: &'r E, created: usize) -> Result<()> {
        let hot = created.saturating_sub(self.families.hot)..created;
        self.hot = hot
            .map(|number| engine.family(&name(number)))
            .collect::<Result<_>>()?;
        self.seen = created;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::memory::Memory;
    use super::*;
    use std::path::Path;

    fn families(all: i32, hot: i32, shares: &str) -> Families {
        let flags = Flags {
            num_column_families: all,
            num_hot_column_families: hot,
            column_family_distribution: shares.into(),
            ..Flags::default()
        };
        Families::new(&flags).expect("shares")
    }

    #[test]
    fn keys_are_spread_by_their_shares() {
        let count = |families: &Families| {
            let mut counts = vec![0; families.hot];
            (0..1000).for_each(|number| counts[families.index(number)] += 1);
            counts
        };
        assert_eq!(count(&families(4, 0, "")), [250; 4]);
        assert_eq!(count(&families(4, 2, "")), [500; 2]);
        // Upper bounds are inclusive: the first share has one number more, the last one less.
        assert_eq!(count(&families(3, 0, "10,30,60")), [110, 300, 590]);
        assert_eq!(count(&families(3, 0, "0,0,100")), [10, 0, 990]);
    }

    #[test]
    fn stages_bring_new_families() {
        let engine = Memory::open(Path::new(""), &Flags::default(), None).expect("opens");
        let families = families(5, 2, "");
        engine.create_family(&name(1)).expect("a new one");
        assert_eq!(families.operations_per_stage(100), 50);
        let mut places = Places::new(&families);
        let mut name_of = |number| {
            let family = places.of(&engine, number).expect("found");
            family.cloned().expect("there are several")
        };
        assert_eq!(name_of(7), name(1));
        for _ in 0..2 {
            families.enter(&engine, 1).expect("created");
            assert_eq!(families.names().len(), 4);
        }
        assert_eq!(name_of(6), name(2));
        // The fifth family would be the only one of its stage, so it is not created.
        families.enter(&engine, 2).expect("nothing to do");
        assert_eq!(families.names().len(), 4);
    }

    #[test]
    fn one_family_is_the_default_one() {
        let engine = Memory::open(Path::new(""), &Flags::default(), None).expect("opens");
        let families = families(1, 0, "");
        assert_eq!(Places::<Memory>::new(&families).of(&engine, 3), Ok(None));
        assert!(families.names().is_empty());
    }
}
