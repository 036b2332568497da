//! What the adversarial tests share: seeds, watchdogs, small databases.
//!
//! Every campaign is deterministic from its seed, except for the timing of background threads.
//! `WHITEWATER_SEED` replaces the first seed and `WHITEWATER_ROUNDS` the number of rounds. Each
//! round uses the next seed, so a failure is replayed with the printed seed and one round.

pub mod counting;
pub mod hold;
pub mod hooked;
pub mod parallel;
pub mod points;
pub mod script;
pub mod seam;
pub mod walk;

use parking_lot::Mutex;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use whitewater::fs::Fs;
use whitewater::{
    ColumnFamilyDescriptor, CommitProtocol, DBWithThreadMode, Error, MemtableFactory,
    MultiThreaded, Options, SliceTransform,
};

/// The database type of these tests: column families come and go through `&`.
pub type Db = DBWithThreadMode<MultiThreaded>;

/// Where databases live on in-memory file systems.
pub const DIR: &str = "/data/db";

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name}={text} is no number")),
    )
}

/// One in how many rounds of campaigns is run: `WHITEWATER_ROUNDS_DIVIDED_BY`.
pub fn rounds_divided_by() -> u64 {
    number("WHITEWATER_ROUNDS_DIVIDED_BY").unwrap_or(1).max(1)
}

/// The seeds of a campaign of `default_rounds` rounds, or of one in [`rounds_divided_by`] of them.
pub fn seeds(default_seed: u64, default_rounds: u64) -> Range<u64> {
    let first = number("WHITEWATER_SEED").unwrap_or(default_seed);
    let rounds = default_rounds.div_ceil(rounds_divided_by());
    first..first + number("WHITEWATER_ROUNDS").unwrap_or(rounds)
}

/// Runs `round` for each seed of the campaign; a failure names its seed.
pub fn campaign(name: &str, default_seed: u64, default_rounds: u64, round: impl Fn(u64)) {
    for seed in seeds(default_seed, default_rounds) {
        attempt(name, seed, &round);
    }
}

/// Like [`campaign`], for rounds that take long and have nothing in common: one runs on each core.
pub fn parallel_campaign(
    name: &str,
    default_seed: u64,
    default_rounds: u64,
    round: impl Fn(u64) + Sync,
) {
    let seeds = Mutex::new(seeds(default_seed, default_rounds));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let Some(seed) = seeds.lock().next() else {
                        break;
                    };
                    attempt(name, seed, &round);
                }
            });
        }
    });
}

/// Runs one round of a campaign.
fn attempt(name: &str, seed: u64, round: impl Fn(u64)) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| round(seed))) {
        eprintln!(
            "{name} failed; replay with WHITEWATER_SEED={seed} WHITEWATER_ROUNDS=1 \
             cargo test -p whitewater --test it {name}"
        );
        resume_unwind(panic);
    }
}

/// How many times longer than is enough things may take: a machine may be slow, and busy. The most
/// that this gives, 20 minutes, is less than what `.ci/run` gives all tests.
const PATIENCE: u64 = 4;

/// Runs `work`, for which `seconds` are enough, on a thread of its own. If that hangs, ends the
/// whole process, because a hung thread cannot be ended otherwise.
pub fn watched<T: Send + 'static>(
    what: &str,
    seconds: u64,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    let (done, ended) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        let outcome = catch_unwind(AssertUnwindSafe(work));
        // If the receiver is gone, it has given up waiting.
        let _ = done.send(());
        outcome
    });
    let seconds = PATIENCE * seconds;
    if ended.recv_timeout(Duration::from_secs(seconds)).is_err() {
        eprintln!("{what}: hangs after {seconds} s");
        std::process::abort();
    }
    match thread.join().expect("panics are caught inside") {
        Ok(value) => value,
        Err(panic) => resume_unwind(panic),
    }
}

/// Waits until background threads have made `condition` true.
pub fn until(what: &str, condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed().as_secs() < PATIENCE * 60, "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Options that make tiny tables, many of them, and many levels. Environment variables choose the
/// rest, so that a run can be repeated with other options: WHITEWATER_MEMTABLE the memtable,
/// WHITEWATER_MEMTABLE_BLOOM the size of its Bloom filter (per cent of the buffer),
/// WHITEWATER_PROTECTION the size of its checksums (bytes), and WHITEWATER_PROTOCOL the commit
/// protocol.
///
/// After a failure that stopped writes, the database stays as it is until the test resumes it.
pub fn tiny() -> Options {
    let mut o = tiny_unattended();
    o.stay_stopped();
    o
}

/// The same for a database that resumes by itself.
pub fn tiny_unattended() -> Options {
    let mut o = Options::default();
    o.create_if_missing(true);
    o.create_missing_column_families(true);
    o.set_write_buffer_size(64 << 10);
    o.set_arena_block_size(4 << 10);
    o.set_target_file_size_base(16 << 10);
    o.set_max_bytes_for_level_base(48 << 10);
    o.set_max_bytes_for_level_multiplier(3.0);
    o.set_level_zero_file_num_compaction_trigger(2);
    o.set_merge_operator_associative("append", append);
    let percent = number("WHITEWATER_MEMTABLE_BLOOM").unwrap_or(0);
    o.set_memtable_prefix_bloom_ratio(percent as f64 / 100.0);
    o.set_memtable_whole_key_filtering(true);
    set_protocol(&mut o);
    let protection = number("WHITEWATER_PROTECTION").unwrap_or(0);
    o.set_memtable_protection_bytes_per_key(protection as u32);
    if let Ok(name) = std::env::var("WHITEWATER_MEMTABLE") {
        set_memtable(&mut o, &name);
    }
    o
}

/// The commit protocol that WHITEWATER_PROTOCOL names.
pub fn protocol() -> Option<CommitProtocol> {
    let name = std::env::var("WHITEWATER_PROTOCOL").ok()?;
    let found = CommitProtocol::from_name(&name);
    assert!(found.is_some(), "WHITEWATER_PROTOCOL={name} is no protocol");
    found
}

/// Sets [`protocol`], if it is named.
pub fn set_protocol(o: &mut Options) {
    if let Some(protocol) = protocol() {
        o.set_commit_protocol(protocol);
    }
}

/// Whether batches are seen whole and snapshots do not move, with the protocol that
/// WHITEWATER_PROTOCOL names. If not, unit tests of the protocol and `linearizability` show that.
pub fn views_hold() -> bool {
    protocol() != Some(CommitProtocol::Unordered)
}

/// Sets whether writers insert concurrently, unless the protocol that WHITEWATER_PROTOCOL names
/// needs that.
pub fn set_concurrent_inserts(o: &mut Options, concurrent: bool) {
    use CommitProtocol::{Ordered, Unordered};
    let needed = matches!(protocol(), Some(Ordered | Unordered));
    o.set_allow_concurrent_memtable_write(concurrent || needed);
}

/// The commit protocols that tests of the write path run with: all of them, or the one that
/// WHITEWATER_PROTOCOL names.
pub fn protocols() -> Vec<CommitProtocol> {
    use CommitProtocol::{Grouped, Ordered, Pipelined, Unordered};
    match protocol() {
        Some(one) => vec![one],
        None => vec![Ordered, Grouped, Pipelined, Unordered],
    }
}

/// The protocols that make writes visible in order: all but one.
pub fn strict_protocols() -> Vec<CommitProtocol> {
    let mut protocols = protocols();
    protocols.retain(|p| *p != CommitProtocol::Unordered);
    protocols
}

/// The names that [`set_memtable`] accepts.
pub const MEMTABLES: [&str; 5] = [
    "skip_list",
    "art",
    "vector",
    "hash_skip_list",
    "hash_link_list",
];

/// Sets the memtable with this name. Memtables that hash also get few buckets and a prefix
/// extractor, outside whose domain some keys are.
pub fn set_memtable(o: &mut Options, name: &str) {
    let factory = match name {
        "skip_list" => MemtableFactory::SkipList,
        "art" => MemtableFactory::Art,
        "vector" => MemtableFactory::Vector,
        "hash_skip_list" => MemtableFactory::HashSkipList {
            bucket_count: 7,
            height: 4,
            branching_factor: 4,
        },
        "hash_link_list" => MemtableFactory::HashLinkList { bucket_count: 7 },
        other => panic!("memtable {other}: {MEMTABLES:?} are known"),
    };
    if name.starts_with("hash") {
        o.set_prefix_extractor(SliceTransform::create_fixed_prefix(2));
    }
    o.set_memtable_factory(factory);
}

/// Joins a value and operands with commas.
pub fn append(
    _key: &[u8],
    existing: Option<&[u8]>,
    operands: &whitewater::MergeOperands<'_>,
) -> Option<Vec<u8>> {
    let mut parts: Vec<&[u8]> = existing.into_iter().collect();
    parts.extend(operands.iter());
    Some(parts.join(&b','))
}

/// [`tiny`] on `fs`, with the planted bug of this process if it is one of the [`seam`].
pub fn tiny_on(fs: impl Fs) -> Options {
    let mut o = tiny();
    o.set_fs(seam::planted_in(Arc::new(fs)));
    o
}

/// The sizes of the files in `dir` whose names are `wanted`, without those that an open database
/// deletes meanwhile.
pub fn sizes_in(fs: &impl Fs, dir: &Path, wanted: impl Fn(&str) -> bool) -> Vec<u64> {
    let names = fs.list(dir).expect("a directory").into_iter();
    names
        .filter(|name| wanted(name))
        .filter_map(|name| fs.file_size(&dir.join(name)).ok())
        .collect()
}

/// Opens the database in `dir` with all column families that it has.
pub fn open_all(options: &Options, dir: &Path) -> Result<Db, Error> {
    let names = match Db::list_cf(options, dir) {
        Ok(names) => names,
        // There is no database yet. If it is damaged, opening says so.
        Err(_) => vec!["default".to_owned()],
    };
    open_named(options, dir, &names)
}

/// Opens the database in `dir` with `names`, all with the same options.
pub fn open_named(options: &Options, dir: &Path, names: &[String]) -> Result<Db, Error> {
    let families = names
        .iter()
        .map(|name| ColumnFamilyDescriptor::new(name, options.clone()));
    Db::open_cf_descriptors(options, dir, families)
}

/// Bytes as text for messages: printable ones as they are.
pub fn show(bytes: &[u8]) -> String {
    let mut text = format!("b\"{}\"", bytes.escape_ascii());
    if text.len() > 60 {
        text.truncate(50);
        text.push_str(&format!("...\" ({} bytes)", bytes.len()));
    }
    text
}
