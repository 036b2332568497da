//! The databases that inputs begin with.
//!
//! They are made once in a process, by the engine itself, and are always the
//! same but for the ids in them and what follows from these.

use super::mutation::{Program, name_of, store};
use super::{DIR, Db, append};
use crate::{
    BlockBasedIndexType, BlockBasedOptions, ColumnFamilyDescriptor, DBCompressionType,
    FlushOptions, Options, WriteBatch,
};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, UNIX_EPOCH};
use whitewater_storage::filename::{self, FileType};
use whitewater_storage::fs::mem::MemFs;
use whitewater_storage::fs::{Fs, read_file};

/// Files of an input's own at most.
const MAX_FILES: u8 = 16;

/// The number of the database whose files the input has. All others are taken
/// modulo the number of those that are made.
const OWN: u8 = 0xff;

const FAMILIES: [&str; 2] = ["default", "second"];

/// Names and bytes of files.
type Files = Vec<(String, Vec<u8>)>;

/// Puts database `number` into `files`.
pub(super) fn put(number: u8, files: &MemFs, program: &mut Program<'_>) {
    static MADE: OnceLock<[Files; 4]> = OnceLock::new();
    let put = |name: &str, bytes: &[u8]| {
        store(files, name, bytes).expect("there is room in memory");
    };
    files
        .create_dir_all(Path::new(DIR))
        .expect("nothing is in the way");
    if number == OWN {
        for _ in 0..program.byte() % (MAX_FILES + 1) {
            let name = name_of(program.byte(), program.byte());
            let len = program.number();
            put(&name, program.take(len));
        }
        return;
    }
    let made = MADE.get_or_init(|| [logs(), tables(false), tables(true), packed_logs()]);
    for (name, bytes) in &made[usize::from(number) % made.len()] {
        put(name, bytes);
    }
}

/// The first bytes of an input that has these files of its own, and how it is
/// opened. Those that have no number below 256 are left out.
pub fn input_of(how: u8, files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let kinds = files.iter().filter_map(|(name, bytes)| {
        let (kind, number) = match filename::parse(name)? {
            FileType::Wal(n) => (0, n),
            FileType::Table(n) => (1, n),
            FileType::Blob(n) => (2, n),
            FileType::Manifest(n) => (3, n),
            FileType::Current => (4, 0),
            FileType::Identity => (5, 0),
            _ => return None,
        };
        Some((kind, u8::try_from(number).ok()?, bytes))
    });
    let kinds: Vec<_> = kinds.collect();
    let mut input = vec![OWN, how, 0, kinds.len() as u8];
    for (kind, number, bytes) in kinds {
        input.extend([kind, number]);
        input.extend(&(bytes.len() as u32).to_le_bytes()[..3]);
        input.extend(bytes);
    }
    input
}

fn options(files: &MemFs) -> Options {
    let mut o = Options::default();
    o.create_if_missing(true);
    o.create_missing_column_families(true);
    o.set_fs(Arc::new(files.clone()));
    o.set_clock(|| UNIX_EPOCH + Duration::from_secs(1_700_000_000));
    o.set_write_buffer_size(64 << 10);
    o.set_compression_type(DBCompressionType::None);
    o.set_disable_auto_compactions(true);
    o.set_target_file_size_base(2 << 10);
    o.set_merge_operator_associative("append", append);
    o
}

fn open(o: &Options) -> Db {
    let families = FAMILIES.map(|name| ColumnFamilyDescriptor::new(name, o.clone()));
    Db::open_cf_descriptors(o, DIR, families).expect("a new database")
}

/// Everything there is in a batch, in both column families.
fn write(db: &Db, round: u32) {
    for i in 0..12 {
        let mut batch = WriteBatch::default();
        for family in FAMILIES {
            let cf = db.cf_handle(family).expect("opened");
            let value = format!("{family} {round} ").repeat(1 + i % 4);
            batch.put_cf(&cf, format!("key{i}"), value);
            batch.merge_cf(&cf, format!("merge{}", i % 3), format!("{round}.{i},"));
            match i {
                3 => batch.delete_cf(&cf, b"key2"),
                7 => batch.delete_range_cf(&cf, b"key4", b"key6"),
                _ => {}
            }
        }
        db.write(batch).expect("nothing fails");
    }
}

fn flush(db: &Db) {
    let families = FAMILIES.map(|family| db.cf_handle(family).expect("opened"));
    let all: Vec<_> = families.iter().collect();
    db.flush_cfs_opt(&all, &FlushOptions::default())
        .expect("nothing fails");
}

/// What the death of the process leaves.
fn files_of(files: &MemFs) -> Files {
    let mut out = Vec::new();
    for name in files.list(Path::new(DIR)).expect("there") {
        if name.starts_with("LOG") || name == "LOCK" {
            continue;
        }
        let bytes = read_file(files, &Path::new(DIR).join(&name), 1 << 20);
        let mut bytes = bytes.expect("there");
        if name.ends_with(".log") {
            // Not the room behind its records.
            let end = bytes.iter().rposition(|b| *b != 0).map_or(0, |i| i + 1);
            bytes.truncate(end);
        }
        out.push((name, bytes));
    }
    out
}

/// Two logs, the first of which is needed by one column family, and a table of
/// the other.
fn logs() -> Files {
    let files = MemFs::new();
    let o = options(&files);
    let db = open(&o);
    write(&db, 0);
    let second = db.cf_handle(FAMILIES[1]).expect("opened");
    db.flush_cf(&second).expect("nothing fails");
    drop(second);
    write(&db, 1);
    let left = files.after_kill();
    drop(db);
    files_of(&left)
}

/// A log of compressed, recyclable records.
fn packed_logs() -> Files {
    let files = MemFs::new();
    let mut o = options(&files);
    o.set_wal_compression_type(DBCompressionType::Zstd);
    o.set_recycle_log_file_num(2);
    let db = open(&o);
    write(&db, 0);
    write(&db, 1);
    let left = files.after_kill();
    drop(db);
    files_of(&left)
}

/// Tables on two levels, and a log.
fn tables(rich: bool) -> Files {
    let files = MemFs::new();
    let mut o = options(&files);
    let mut table = BlockBasedOptions::default();
    table.set_block_size(512);
    // The last one whose footer can ask for no checksums.
    table.set_format_version(5);
    if rich {
        o.set_compression_type(DBCompressionType::Snappy);
        table.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
        table.set_partition_filters(true);
        table.set_bloom_filter(10.0, false);
        o.set_track_and_verify_wals_in_manifest(true);
    }
    o.set_block_based_table_factory(&table);
    let db = open(&o);
    for round in 0..2 {
        write(&db, round);
        flush(&db);
    }
    for family in FAMILIES {
        let cf = db.cf_handle(family).expect("opened");
        db.compact_range_cf(&cf, None::<&[u8]>, None::<&[u8]>);
    }
    write(&db, 2);
    flush(&db);
    write(&db, 3);
    let left = files.after_kill();
    drop(db);
    files_of(&left)
}

#[cfg(test)]
mod tests {
    use super::super::options as opened_with;
    use super::*;
    use whitewater_storage::fs::fault::FaultFs;

    #[test]
    fn undamaged_databases_open_and_hold_what_was_written() {
        for number in 0..4 {
            let files = MemFs::new();
            put(number, &files, &mut Program::new(&[]));
            let fs = FaultFs::new(Arc::new(files));
            let options = opened_with(0, &fs);
            let names = Db::list_cf(&options, DIR).unwrap();
            assert_eq!(names, FAMILIES);
            let families = names
                .iter()
                .map(|name| ColumnFamilyDescriptor::new(name, options.clone()));
            let db = Db::open_cf_descriptors(&options, DIR, families).unwrap();
            for family in FAMILIES {
                let cf = db.cf_handle(family).unwrap();
                for key in ["key0", "key11", "merge1"] {
                    let found = db.get_cf(&cf, key).unwrap();
                    assert!(found.is_some(), "{number}: {family} {key}");
                }
                assert_eq!(db.get_cf(&cf, "key4").unwrap(), None);
            }
        }
    }
}
