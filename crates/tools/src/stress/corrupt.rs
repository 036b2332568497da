//! Files that are damaged at rest.
//!
//! A round fills and closes a database in memory, then damages one file in each of many
//! copies of it. A damaged database may fail to open, and reads may fail, but no read may
//! return anything wrong. After damage to a log, the content must be a prefix of what was
//! written; after any other damage, everything that can be read must be there.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use whitewater::ReadOptions;
use whitewater::fs::Fs;
use whitewater::fs::mem::MemFs;

use super::args::Args;
use super::history::{History, Record, check_prefix};
use super::key_model::{Shape, Slot, Version};
use super::model::Expected;
use super::random_options::{self, RandomOptions};
use super::simulate;
use super::store::{self, Db, ReadFailure};
use super::transient_families::TransientFamilies;
use super::worker::{Context, Ingests, Log, Stop, Worker, run_threads};

/// The number of damaged copies of each database.
const COPIES: u64 = 40;
/// The divisor of the number of operations that was asked for.
const SHARE: u64 = 4;

/// Runs one round. Returns how many copies were damaged.
///
/// # Errors
/// What went wrong, and under which options.
pub fn round(args: &Args, round: u64) -> Result<u64, String> {
    let seed = args.seed.wrapping_add(round);
    let mut rng = StdRng::seed_from_u64(seed ^ 0x0062_6974_7300);
    let shape = random_options::shape(seed, args.threads);
    // Nothing tells of damage to plain tables.
    let options = RandomOptions::new(rng.random()).with_checksums();
    let fail = |what| format!("{what}\nwith {options}");
    let filled = Filled::new(args, &options, shape, &mut rng).map_err(fail)?;
    for _ in 0..COPIES {
        let memory = filled.memory.after_kill();
        let damage = Damage::draw(&memory, shape, options.places_blocks(), &mut rng)
            .map_err(|e| fail(e.to_string()))?;
        let look = || filled.look(&memory, &damage, &options, shape);
        let looked = catch_unwind(AssertUnwindSafe(look));
        let looked = looked.unwrap_or_else(|_| Err("a thread panicked".to_owned()));
        looked.map_err(|what| fail(format!("{damage}: {what}")))?;
    }
    Ok(COPIES)
}

/// A database that was filled and closed.
struct Filled {
    memory: MemFs,
    content: BTreeMap<Slot, Version>,
    records: Vec<Vec<Record>>,
}

impl Filled {
    fn new(
        args: &Args,
        options: &RandomOptions,
        shape: Shape,
        rng: &mut StdRng,
    ) -> Result<Filled, String> {
        let memory = MemFs::new();
        let db = open(&memory, options, shape)?;
        let history = History::new(shape);
        let transient = TransientFamilies::new(shape, &BTreeMap::new(), 0);
        let context = Context {
            db: &db,
            dir: Path::new(store::DIR),
            fs: Arc::new(memory.clone()),
            options,
            shape,
            transient: &transient,
            journal: &history,
            faulty: false,
            // Ingested tables would survive the writes before them when a log loses its
            // end.
            ingests: Ingests::Never,
            log: Log::Always,
            without: &args.without,
        };
        let seed = rng.random();
        let work = |thread| -> Result<(), Stop> {
            let mut worker = Worker::new(&context, thread, seed, Expected::default(), 0)?;
            (0..simulate::ops(args) / SHARE).try_for_each(|_| worker.step())
        };
        run_threads(shape.threads, work, || ())?;
        let content = store::check(&db, shape, &history.outcome())?;
        drop(db);
        Ok(Filled {
            memory,
            content,
            records: history.records(),
        })
    }

    /// Opens a damaged copy and reads everything that can be read.
    fn look(
        &self,
        memory: &MemFs,
        damage: &Damage,
        options: &RandomOptions,
        shape: Shape,
    ) -> Result<(), String> {
        // A database that does not open returns nothing wrong.
        let Ok(db) = open(memory, options, shape) else {
            return Ok(());
        };
        let expected = Expected::exactly(&self.content);
        let scanned = store::everything(&db, shape, &expected);
        if damage.is_of_a_log() {
            // Point-in-time recovery has truncated the damaged log and dropped all later
            // ones.
            let content = scanned.map_err(|e| e.to_string())?;
            let nothing = BTreeMap::new();
            return check_prefix(&self.records, shape, &nothing, &content, 0, |_| false);
        }
        match scanned {
            Ok(content) => store::agrees(&content, shape, &expected)?,
            Err(ReadFailure::Reported(_)) => {}
            Err(ReadFailure::Wrong(what)) => return Err(what),
        }
        self.get_all(&db, shape)
    }

    /// Gets every possible key: the result must be the right value or an error.
    fn get_all(&self, db: &Db, shape: Shape) -> Result<(), String> {
        let families = store::families(db, shape, &self.content)?;
        for (family, slot) in families
            .iter()
            .flat_map(|f| shape.slots(f.number).map(move |slot| (f, slot)))
        {
            let mut read = ReadOptions::default();
            shape.order(slot.family).read_at(&mut read, None);
            let Ok(found) = db.get_cf_opt(&family.handle, shape.key(slot), &read) else {
                continue;
            };
            let found = found.map(|v| shape.version(slot, &v)).transpose()?;
            let there = self.content.get(&slot).copied();
            if found != there {
                return Err(format!("{slot}: {found:?} instead of {there:?}"));
            }
        }
        Ok(())
    }
}

fn open(memory: &MemFs, options: &RandomOptions, shape: Shape) -> Result<Db, String> {
    let db = store::open(
        Path::new(store::DIR),
        Arc::new(memory.clone()),
        options,
        shape,
    );
    db.map_err(|e| format!("opening: {e}"))
}

/// One piece of damage to one file.
#[derive(Debug)]
struct Damage {
    file: PathBuf,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// A flipped bit (a mask) of the byte at this offset.
    Bit(usize, u8),
    /// This many zero bytes from this offset on.
    Zeros(usize, usize),
    /// This many random bytes from this offset on.
    Noise(usize, usize),
    /// This many bytes from this offset on, copied from an offset of this file: a
    /// misdirected write.
    Astray(usize, usize, PathBuf, usize),
}

impl Damage {
    /// Damages a random file. Misdirected writes to tables are drawn only if the tables
    /// record the places of their blocks (`places`), and none to blob files; otherwise nothing
    /// could detect them.
    // Long: the file, the place in it, and the ways to damage it.
    fn draw(
        memory: &MemFs,
        shape: Shape,
        places: bool,
        rng: &mut StdRng,
    ) -> Result<Damage, whitewater::Error> {
        let mut files = Vec::new();
        for dir in store::directories(Path::new(store::DIR), shape) {
            // Those of column families with odd numbers, of which there may be none.
            if !memory.exists(&dir)? {
                continue;
            }
            for name in memory.list(&dir)? {
                let path = dir.join(name);
                // Directories have no size.
                let len = memory.file_size(&path).unwrap_or(0) as usize;
                if len > 0 {
                    files.push((path, len));
                }
            }
        }
        let (file, len) = files.choose(rng).expect("a database has files").clone();
        let at = rng.random_range(0..len);
        let some = rng.random_range(1..=64.min(len - at));
        let is_table = file.extension().is_some_and(|e| e == "sst");
        // A record knows its key and not its place.
        let is_blob_file = file.extension().is_some_and(|e| e == "blob");
        let kind = match rng.random_range(0..6) {
            0 => Kind::Zeros(at, some),
            1 => Kind::Noise(at, some),
            2 | 3 if !is_blob_file && (places || !is_table) => {
                let like = files.iter().filter(|f| f.0.extension() == file.extension());
                let like: Vec<_> = like.collect();
                let (other, others) = like.choose(rng).expect("it is one itself");
                let unit = *[1, 512, 4096].choose(rng).expect("some");
                let n = rng.random_range(1..=4) * unit.max(100);
                let start = |len: usize, rng: &mut StdRng| rng.random_range(0..len) / unit * unit;
                let (at, from) = (start(len, rng), start(*others, rng));
                let n = n.min(len - at).min(others - from);
                Kind::Astray(at, n, other.clone(), from)
            }
            _ => Kind::Bit(at, 1 << rng.random_range(0..8)),
        };
        let read = |file: &Path, len| -> Result<Vec<u8>, whitewater::Error> {
            Ok(memory.open_random(file)?.read_at(0, len)?.to_vec())
        };
        let mut bytes = read(&file, len)?;
        match &kind {
            Kind::Bit(at, bit) => bytes[*at] ^= bit,
            Kind::Zeros(at, n) => bytes[*at..at + n].fill(0),
            Kind::Noise(at, n) => rng.fill(&mut bytes[*at..at + n]),
            Kind::Astray(at, n, other, from) => {
                let other = read(other, from + n)?;
                bytes[*at..at + n].copy_from_slice(&other[*from..]);
            }
        }
        memory.remove(&file)?;
        let mut damaged = memory.create(&file)?;
        damaged.append(&bytes)?;
        damaged.flush()?;
        Ok(Damage { file, kind })
    }

    fn is_of_a_log(&self) -> bool {
        self.file.extension().is_some_and(|e| e == "log")
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} in {}", self.kind, self.file.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_column_families_of_odd_numbers_their_directory_is_not_asked_for() {
        let memory = MemFs::new();
        let path = Path::new(store::DIR).join("000004.log");
        memory.create_dir_all(Path::new(store::DIR)).unwrap();
        memory.create(&path).unwrap().append(&[7; 100]).unwrap();
        let seed = (0..).find(|seed| {
            let shape = random_options::shape(*seed, 1);
            shape.families == 1 && shape.family_paths > 0
        });
        let shape = random_options::shape(seed.unwrap(), 1);
        let mut rng = StdRng::seed_from_u64(1);
        let damage = Damage::draw(&memory, shape, false, &mut rng).unwrap();
        assert_eq!(damage.file, path);
    }
}
