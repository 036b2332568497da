//! A database that both engines write, in turn.

use super::tools;
use super::workload::{Op, Workload};
use super::written::compare;
use crate::content::{self, Content};
use rand::Rng;
use std::path::Path;
use whitewater::{DB, DBCompressionType, Options, WaitForCompactOptions};

/// db_bench chooses the second name.
const FAMILIES: [&str; 2] = ["default", "column_family_name_000001"];

const ROUNDS: usize = 9;

#[test]
fn both_engines_write_in_turn() {
    if !tools::available() {
        return;
    }
    for seed in [11, 12, 13] {
        alternate(seed);
    }
}

fn alternate(seed: u64) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut work = Workload::new(seed, &FAMILIES, 600);
    for round in 0..ROUNDS {
        println!("round {round}");
        write_here(dir.path(), &mut work, round);
        compare(&tools::scan(dir.path()), &work.model, "closed here");
        tools::check(dir.path());
        if round % 2 == 0 {
            edit_with_ldb(dir.path(), &mut work, round);
        } else {
            overwrite_with_db_bench(dir.path(), &mut work, round);
        }
        tools::check(dir.path());
    }
    let db = content::open(dir.path());
    content::check(&db, &work.model, "at the end");
    for name in FAMILIES {
        content::compact(&db, name, true).unwrap();
    }
    content::check(&db, &work.model, "compacted at the end");
}

/// Both engines create and drop column families. Their numbers are never reused.
#[test]
fn column_families_come_and_go_in_both() {
    if !tools::available() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut wanted = Content::from([("default".to_owned(), Default::default())]);
    let mut options = Options::default();
    options.create_if_missing(true);
    drop(DB::open(&options, dir.path()).unwrap());
    for round in 0..4 {
        #[cfg_attr(
            feature = "multi-threaded-cf",
            expect(unused_mut, reason = "only the single-threaded form needs it")
        )]
        let mut db = content::open(dir.path());
        content::check(&db, &wanted, "as RocksDB left it");
        let here = format!("here:#{round}");
        db.create_cf(&here, &Options::default()).unwrap();
        if round > 0 {
            for name in [
                format!("here:#{}", round - 1),
                format!("there{}", round - 1),
            ] {
                db.drop_cf(&name).unwrap();
                wanted.remove(&name);
            }
        }
        for (key, name) in [("a", &here[..]), ("b", "default")] {
            let value = format!("{round}");
            db.put_cf(&content::cf(&db, name), key, &value).unwrap();
            let pairs = wanted.entry(name.to_owned()).or_default();
            pairs.insert(key.into(), value.into());
        }
        drop(db);
        compare(&tools::scan(dir.path()), &wanted, "closed here");

        let (there, gone) = (format!("there{round}"), format!("gone{round}"));
        for name in [&there, &gone] {
            tools::ldb(dir.path(), &["create_column_family", name]);
            let place = format!("--column_family={name}");
            tools::ldb(dir.path(), &["put", "c", name, &place]);
        }
        tools::ldb(dir.path(), &["drop_column_family", &gone]);
        wanted
            .entry(there.clone())
            .or_default()
            .insert("c".into(), there.into());
        tools::check(dir.path());
        compare(&tools::scan(dir.path()), &wanted, "closed by RocksDB");
    }
    content::check(&content::open(dir.path()), &wanted, "at the end");
}

/// Writes with this engine. Some rounds end with a flush or a compaction; the others leave the log
/// to RocksDB.
fn write_here(dir: &Path, work: &mut Workload, round: usize) {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options.set_write_buffer_size(64 << 10);
    options.set_target_file_size_base(16 << 10);
    options.set_max_bytes_for_level_base(64 << 10);
    options.set_level_zero_file_num_compaction_trigger(2 + round as i32 % 3);
    options.set_compression_type(match round % 3 {
        0 => DBCompressionType::Lz4,
        1 => DBCompressionType::None,
        _ => DBCompressionType::Zstd,
    });
    let families = FAMILIES.map(|name| (name, options.clone()));
    let db = DB::open_cf_with_opts(&options, dir, families).unwrap();
    content::check(&db, &work.model, "as RocksDB left it");
    work.run(&db, 60);
    match round % 4 {
        1 => db.flush().unwrap(),
        3 => content::compact(&db, FAMILIES[1], true).unwrap(),
        _ => {}
    }
    work.run(&db, 10);
    content::check(&db, &work.model, "as it was written");
    db.wait_for_compact(&WaitForCompactOptions::default())
        .unwrap();
    // As after a crash.
    compare(&tools::scan(dir), &work.model, "still open here");
}

/// Applies a few operations with ldb, one process each.
fn edit_with_ldb(dir: &Path, work: &mut Workload, round: usize) {
    for _ in 0..12 {
        let (family, key, value) = (work.rng.random_range(0..2), work.key(), work.value());
        let mut operations = vec![Op::Put(family, key, value)];
        let mut words = match work.rng.random_range(0..8) {
            0..3 => vec!["put"],
            3..5 => {
                operations = vec![Op::Delete(family, work.key())];
                vec!["delete"]
            }
            5 => {
                let (a, b) = (work.key(), work.key());
                operations = vec![Op::DeleteRange(family, a.clone().min(b.clone()), a.max(b))];
                vec!["deleterange"]
            }
            _ => {
                let (key, value) = (work.key(), work.value());
                operations.push(Op::Put(family, key, value));
                vec!["batchput"]
            }
        };
        let place = format!("--column_family={}", FAMILIES[family]);
        let operands: Vec<String> = operations.iter().flat_map(operands).collect();
        words.extend(operands.iter().map(|s| &s[..]));
        words.extend(["--hex", &place]);
        tools::ldb(dir, &words);
        operations.iter().for_each(|op| work.apply(op));
    }
    if round % 4 == 2 {
        tools::ldb(dir, &["compact"]);
    }
    compare(&tools::scan(dir), &work.model, "edited by ldb");
}

fn operands(op: &Op) -> Vec<String> {
    match op {
        Op::Put(_, a, b) | Op::DeleteRange(_, a, b) => vec![tools::hex(a), tools::hex(b)],
        Op::Delete(_, key) | Op::SingleDelete(_, key) => vec![tools::hex(key)],
    }
}

/// Lets db_bench write keys of its own. The others must not change.
fn overwrite_with_db_bench(dir: &Path, work: &mut Workload, round: usize) {
    let seed = format!("--seed={}", work.rng.random_range(1..1000));
    let benchmarks = match round % 3 {
        0 => "--benchmarks=overwrite",
        1 => "--benchmarks=overwrite,deleterandom",
        _ => "--benchmarks=overwrite,compact,overwrite",
    };
    let flags = [
        "--use_existing_db=1",
        "--num_column_families=2",
        "--num=300",
        "--write_buffer_size=65536",
        "--format_version=5",
        benchmarks,
        &seed,
    ];
    tools::db_bench(dir, &flags);
    let found = tools::scan(dir);
    let others = |content: &Content| -> Content {
        let mut content = content.clone();
        content
            .values_mut()
            .for_each(|pairs| pairs.retain(|key, _| !of_db_bench(key)));
        content
    };
    compare(&others(&found), &others(&work.model), "after db_bench");
    work.model = found;
}

/// db_bench's keys are a number in 8 bytes and 8 zeros.
fn of_db_bench(key: &[u8]) -> bool {
    key.len() == 16 && key.ends_with(b"00000000")
}
