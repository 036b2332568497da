//! Checks of tables at rest: on request, and at intervals.

use crate::harness::{DIR, tiny, until, watched};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use whitewater::fs::Fs;
use whitewater::fs::mem::MemFs;
use whitewater::{
    CommitProtocol, DB, Error, ErrorKind, FileChecksum, IngestExternalFileOptions, IteratorMode,
    Options, SstFileWriter, WriteBatch, WriteOptions,
};

fn options(fs: &MemFs, checksum: FileChecksum) -> Options {
    let mut o = tiny();
    o.set_fs(Arc::new(fs.clone()));
    o.set_file_checksum(checksum);
    o.set_disable_auto_compactions(true);
    o
}

/// A database with tables of a flush, of a compaction and from outside.
fn filled(fs: &MemFs, o: &Options) -> DB {
    let db = DB::open(o, DIR).unwrap();
    for round in 0..3_u8 {
        for i in 0..200_u32 {
            db.put(format!("key{i:05}"), vec![round; 100]).unwrap();
        }
        db.flush().unwrap();
        if round == 1 {
            db.compact_range(None::<&[u8]>, None::<&[u8]>);
        }
    }
    let outside = Path::new("/outside.sst");
    let mut writer = SstFileWriter::create(o);
    writer.open(outside).unwrap();
    writer.put("from outside", "value").unwrap();
    writer.finish().unwrap();
    let ingest = IngestExternalFileOptions::default();
    db.ingest_external_file_opts(&ingest, vec![outside])
        .unwrap();
    fs.remove(outside).unwrap();
    db
}

fn tables(fs: &MemFs) -> Vec<PathBuf> {
    let names = fs.list(Path::new(DIR)).unwrap();
    let mut tables: Vec<_> = names.iter().filter(|n| n.ends_with(".sst")).collect();
    tables.sort();
    tables.into_iter().map(|n| Path::new(DIR).join(n)).collect()
}

fn content(fs: &MemFs, path: &Path) -> Vec<u8> {
    let file = fs.open_random(path).unwrap();
    let len = file.len().unwrap();
    file.read_at(0, len as usize).unwrap().to_vec()
}

fn replace(fs: &MemFs, path: &Path, content: &[u8]) {
    let mut file = fs.create(path).unwrap();
    file.append(content).unwrap();
    file.sync().unwrap();
}

fn is_of(outcome: Result<(), Error>, path: &Path) {
    let e = outcome.expect_err("it is damaged");
    assert_eq!(e.kind(), ErrorKind::Corruption, "{e}");
    assert!(e.to_string().contains(&*path.to_string_lossy()), "{e}");
}

#[test]
fn whole_tables_that_changed_are_found() {
    let fs = MemFs::new();
    let o = options(&fs, FileChecksum::Crc32c);
    let db = filled(&fs, &o);
    db.verify_checksum().unwrap();
    db.verify_file_checksums().unwrap();
    drop(db);
    let tables = tables(&fs);
    assert!(tables.len() >= 3, "{tables:?}");
    for path in &tables {
        let sound = content(&fs, path);
        // Any byte, including bytes that no block's checksum covers.
        for at in [0, sound.len() / 2, sound.len() - 60] {
            let mut damaged = sound.clone();
            damaged[at] ^= 4;
            let db = DB::open(&o, DIR).unwrap();
            replace(&fs, path, &damaged);
            is_of(db.verify_file_checksums(), path);
            drop(db);
            replace(&fs, path, &sound);
        }
    }
    let db = DB::open(&o, DIR).unwrap();
    db.verify_file_checksums().unwrap();
}

/// Two tables whose blocks are all sound, but which have each other's names.
#[test]
fn tables_that_were_exchanged_are_found() {
    for checksum in [FileChecksum::None, FileChecksum::Crc32c] {
        let fs = MemFs::new();
        let o = options(&fs, checksum);
        let db = DB::open(&o, DIR).unwrap();
        for round in 0..12_u8 {
            db.put("key", vec![round; 100]).unwrap();
            db.flush().unwrap();
        }
        let tables = tables(&fs);
        let len = |path| content(&fs, path).len();
        let pairs = tables.iter().zip(&tables[1..]);
        let mut alike = pairs.filter(|(a, b)| len(a) == len(b));
        let (a, b) = alike.next().expect("two as long as each other");
        let (first, second) = (content(&fs, a), content(&fs, b));
        replace(&fs, a, &second);
        replace(&fs, b, &first);
        match checksum {
            // Newer tables of level 0 come first.
            FileChecksum::Crc32c => is_of(db.verify_file_checksums(), b),
            // There is nothing to compare with.
            _ => db.verify_file_checksums().unwrap(),
        }
    }
}

#[test]
fn damaged_blocks_are_found_past_the_cache() {
    let fs = MemFs::new();
    let o = options(&fs, FileChecksum::None);
    let db = filled(&fs, &o);
    for i in 0..200_u32 {
        assert!(db.get(format!("key{i:05}")).unwrap().is_some());
    }
    let path = &tables(&fs)[0];
    let mut damaged = content(&fs, path);
    damaged[10] ^= 1;
    replace(&fs, path, &damaged);
    is_of(db.verify_checksum(), path);
    db.verify_file_checksums().unwrap();
}

/// Checksums that one engine has recorded are seen by others. Those that were not asked for are not
/// recorded.
#[test]
fn checksums_stay_with_their_tables() {
    let fs = MemFs::new();
    drop(filled(&fs, &options(&fs, FileChecksum::Crc32c)));
    let o = options(&fs, FileChecksum::None);
    let db = DB::open(&o, DIR).unwrap();
    let path = &tables(&fs)[0];
    let mut damaged = content(&fs, path);
    let last = damaged.len() - 60;
    damaged[last] ^= 1;
    replace(&fs, path, &damaged);
    is_of(db.verify_file_checksums(), path);
    drop(db);
    damaged[last] ^= 1;
    replace(&fs, path, &damaged);
    let db = DB::open(&o, DIR).unwrap();
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    let path = tables(&fs).pop().unwrap();
    let mut damaged = content(&fs, &path);
    damaged[0] ^= 1;
    replace(&fs, &path, &damaged);
    db.verify_file_checksums().unwrap();
    is_of(db.verify_checksum(), &path);
}

#[test]
fn scrubbing_finds_damage_and_goes_on() {
    let fs = MemFs::new();
    let mut o = options(&fs, FileChecksum::Crc32c);
    let db = filled(&fs, &o);
    assert_eq!(db.scrub_progress(), Default::default());
    drop(db);
    o.set_scrub_period_sec(1);
    o.set_scrub_bytes_per_second(1 << 40);
    let db = DB::open(&o, DIR).unwrap();
    until("a pass", || db.scrub_progress().passes >= 1);
    let progress = db.scrub_progress();
    assert_eq!(progress.tables_done, progress.tables);
    assert_eq!(progress.tables, tables(&fs).len() as u64);
    assert!(progress.bytes > 0);
    assert_eq!((progress.damaged, progress.last_error), (0, None));

    let path = tables(&fs).remove(0);
    let mut damaged = content(&fs, &path);
    damaged[20] ^= 1;
    replace(&fs, &path, &damaged);
    until("the damage", || db.scrub_progress().damaged > 0);
    is_of(Err(db.scrub_progress().last_error.unwrap()), &path);
    let log = content(&fs, &Path::new(DIR).join("LOG"));
    assert!(String::from_utf8_lossy(&log).contains("scrubbing [default]"));
    // No call is blocked.
    db.put("after", "all").unwrap();
    db.flush().unwrap();
    let passes = db.scrub_progress().passes;
    until("another pass", || db.scrub_progress().passes > passes);
}

/// User code that panics while tables are compared ends nothing.
#[test]
fn scrubbing_survives_a_comparator_that_panics() {
    let fs = MemFs::new();
    let mut o = options(&fs, FileChecksum::None);
    let panics = Arc::new(AtomicBool::new(false));
    let asked = panics.clone();
    let compare = move |a: &[u8], b: &[u8]| {
        assert!(!asked.load(Relaxed), "planned");
        a.cmp(b)
    };
    o.set_comparator("it.panics", Box::new(compare));
    o.set_scrub_period_sec(1);
    o.set_scrub_bytes_per_second(1 << 40);
    let db = DB::open(&o, DIR).unwrap();
    db.put("a", "1").unwrap();
    db.put("b", "2").unwrap();
    db.flush().unwrap();
    panics.store(true, Relaxed);
    until("the panic", || db.scrub_progress().damaged > 0);
    panics.store(false, Relaxed);
    let passes = db.scrub_progress().passes;
    until("two passes", || db.scrub_progress().passes > passes + 1);
    assert_eq!(db.get("b").unwrap().as_deref(), Some(&b"2"[..]));
}

/// A pass that takes days does not keep tables that are dropped meanwhile.
#[test]
fn a_slow_pass_lets_go_of_a_dropped_family() {
    let fs = MemFs::new();
    let mut o = options(&fs, FileChecksum::None);
    o.create_missing_column_families(true);
    let db = DB::open_cf(&o, DIR, ["default", "gone"]).unwrap();
    for family in ["default", "gone"] {
        let cf = db.cf_handle(family).unwrap();
        db.put_cf(&cf, "k", "v").unwrap();
        db.flush_cf(&cf).unwrap();
    }
    drop(db);
    o.set_scrub_period_sec(1);
    o.set_scrub_bytes_per_second(1);
    #[cfg_attr(
        feature = "multi-threaded-cf",
        expect(unused_mut, reason = "needed by the other mode")
    )]
    let mut db = DB::open_cf(&o, DIR, ["default", "gone"]).unwrap();
    until("a table", || db.scrub_progress().tables_done > 0);
    assert_eq!(tables(&fs).len(), 2);
    db.drop_cf("gone").unwrap();
    assert_eq!(tables(&fs).len(), 1);
}

/// Closing does not wait for what is not read yet.
#[test]
fn a_slow_pass_ends_with_the_database() {
    let fs = MemFs::new();
    let mut o = options(&fs, FileChecksum::None);
    drop(filled(&fs, &o));
    o.set_scrub_period_sec(1);
    o.set_scrub_bytes_per_second(1);
    let db = DB::open(&o, DIR).unwrap();
    until("a table", || db.scrub_progress().tables_done > 0);
    let progress = db.scrub_progress();
    assert!(progress.tables_done < progress.tables);
    watched("closing", 60, || drop(db));

    o.set_scrub_bytes_per_second(0);
    let e = DB::open(&o, DIR).map(drop).expect_err("no rate");
    assert_eq!(e.kind(), ErrorKind::InvalidArgument);
    assert!(e.to_string().contains("scrub_bytes_per_second"), "{e}");
}

/// With checksums from the call on, and in any of these memtables, everything is as without.
#[test]
fn protected_writes_are_what_was_asked_for() {
    for (protocol, memtable) in [
        (CommitProtocol::Ordered, 0),
        (CommitProtocol::Ordered, 8),
        (CommitProtocol::Grouped, 4),
        (CommitProtocol::Pipelined, 0),
        (CommitProtocol::Unordered, 1),
    ] {
        let fs = MemFs::new();
        let mut o = options(&fs, FileChecksum::None);
        o.set_commit_protocol(protocol);
        o.set_memtable_protection_bytes_per_key(memtable);
        o.set_merge_operator_associative("concat", |_, existing, operands| {
            let mut all = existing.unwrap_or_default().to_vec();
            operands.iter().for_each(|more| all.extend_from_slice(more));
            Some(all)
        });
        let db = DB::open(&o, DIR).unwrap();
        let mut w = WriteOptions::default();
        w.set_protection_bytes_per_key(8);
        db.put_opt("a", "1", &w).unwrap();
        db.put_opt("b", "2", &w).unwrap();
        db.merge_opt("b", "3", &w).unwrap();
        db.delete_opt("a", &w).unwrap();
        let mut batch = WriteBatch::with_protection(100, 8).unwrap();
        batch.put("c", "4");
        batch.put("d", "5");
        batch.merge("c", "6");
        batch.delete_range("d", "e");
        batch.put_log_data("note");
        let mut late = WriteBatch::from_data(batch.data());
        late.put("f", "7");
        // With checksums from the beginning of the batch, and from the write on.
        db.write(batch).unwrap();
        w.disable_wal(true);
        db.write_opt(late, &w).unwrap();
        let all = || -> Vec<_> {
            let entries = db.iterator(IteratorMode::Start).map(Result::unwrap);
            entries
                .map(|(k, v)| [&k[..], b"=", &v[..]].concat())
                .collect()
        };
        let expected: [&[u8]; 3] = [b"b=23", b"c=46", b"f=7"];
        assert_eq!(all(), expected);
        db.flush().unwrap();
        assert_eq!(all(), expected);
    }
}

#[test]
fn checksums_of_writes_are_of_eight_bytes_or_none() {
    let fs = MemFs::new();
    let db = DB::open(&options(&fs, FileChecksum::None), DIR).unwrap();
    let mut w = WriteOptions::default();
    for bytes in [1, 4, 16, usize::MAX] {
        w.set_protection_bytes_per_key(bytes);
        let mut batch = WriteBatch::default();
        batch.put("k", "v");
        for e in [
            db.put_opt("k", "v", &w).unwrap_err(),
            db.write_opt(batch, &w).unwrap_err(),
            WriteBatch::with_protection(0, bytes).unwrap_err(),
        ] {
            assert_eq!(e.kind(), ErrorKind::InvalidArgument);
            assert!(e.to_string().contains("protection_bytes_per_key"), "{e}");
        }
    }
    assert_eq!(db.get("k").unwrap(), None);
    w.set_protection_bytes_per_key(0);
    db.put_opt("k", "v", &w).unwrap();
    let mut batch = WriteBatch::with_protection(0, 0).unwrap();
    batch.delete("k");
    db.write(batch).unwrap();
    assert_eq!(db.get("k").unwrap(), None);
}

/// Tables of flushes, compactions and recoveries, including those with only range tombstones and
/// those that are split, are read again. The option can be set later.
#[test]
fn tables_are_compared_with_what_was_written() {
    let fs = MemFs::new();
    let mut o = options(&fs, FileChecksum::None);
    o.set_target_file_size_base(20 << 10);
    let db = DB::open(&o, DIR).unwrap();
    let delete_range = |from: &str, to: &str| {
        let mut batch = WriteBatch::default();
        batch.delete_range(from, to);
        db.write(batch).unwrap();
    };
    db.set_options(&[("paranoid_file_checks", "true")]).unwrap();
    for round in 0..3_u8 {
        for i in 0..500_u32 {
            db.put(format!("key{i:05}"), vec![round + 1; 100]).unwrap();
        }
        delete_range("key00100", "key00105");
        db.flush().unwrap();
    }
    delete_range("key00200", "key00300");
    db.flush().unwrap();
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    assert_eq!(db.iterator(IteratorMode::Start).count(), 395);
    db.put("late", "value").unwrap();
    drop(db);
    o.set_paranoid_file_checks(true);
    let db = DB::open(&o, DIR).unwrap();
    assert_eq!(db.iterator(IteratorMode::Start).count(), 396);
}
