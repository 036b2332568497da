//! Repairs of databases whose CURRENT, manifests, tables or logs are damaged.

mod whole;

use crate::harness::{DIR, Db, open_all, tiny_on};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use whitewater::fs::Fs;
use whitewater::fs::fault::{Fault, FaultFs, OpSet, PathMatch, Rule, When};
use whitewater::fs::mem::MemFs;
use whitewater::{
    ColumnFamilyDescriptor, DB, ErrorKind, FlushOptions, IteratorMode, Options, SstFileWriter,
    WriteOptions,
};
use whitewater_storage::sst::{External, TableProperties};

type Content = BTreeMap<String, BTreeMap<Vec<u8>, Vec<u8>>>;

/// The content of a database, by column family.
fn content(db: &Db, names: &[String]) -> Content {
    let read = |name: &String| {
        let cf = db.cf_handle(name).unwrap();
        let all = db.iterator_cf(&cf, IteratorMode::Start);
        let all = all.map(|kv| kv.map(|(k, v)| (k.into(), v.into())).unwrap());
        (name.clone(), all.collect())
    };
    names.iter().map(read).collect()
}

fn reopened(o: &Options) -> Content {
    let names = Db::list_cf(o, DIR).unwrap();
    content(&open_all(o, Path::new(DIR)).unwrap(), &names)
}

/// A database with tables on several levels, range tombstones, merge operands,
/// a dropped column family and a log with the newest writes.
fn filled(fs: &MemFs) -> (Options, Content) {
    let o = tiny_on(fs.clone());
    let names = ["default", "other", "gone"];
    let families = names.map(|name| ColumnFamilyDescriptor::new(name, o.clone()));
    let db = Db::open_cf_descriptors(&o, DIR, families).unwrap();
    {
        let other = db.cf_handle("other").unwrap();
        let gone = db.cf_handle("gone").unwrap();
        for round in 0..12u32 {
            for i in 0..60 {
                let n = (round * 31 + i * 7) % 300;
                let key = format!("k{n:03}");
                match i % 10 {
                    0 => db.delete(&key).unwrap(),
                    1 => db.merge(&key, format!("m{round}")).unwrap(),
                    2 => db.put_cf(&other, &key, format!("o{round}")).unwrap(),
                    3 => db.put_cf(&gone, &key, "g").unwrap(),
                    _ => db
                        .put(&key, format!("{round}.{}", "v".repeat(150)))
                        .unwrap(),
                }
            }
            if round % 4 == 1 {
                let (from, to) = (
                    format!("k{:03}", round * 20),
                    format!("k{:03}", round * 20 + 15),
                );
                db.delete_range_cf(&other, &from, &to).unwrap();
                db.delete_range_cf(&db.cf_handle("default").unwrap(), from, to)
                    .unwrap();
            }
            if round < 10 {
                db.flush_cfs_opt(&[&other, &gone], &FlushOptions::default())
                    .unwrap();
                db.flush().unwrap();
            }
            if round == 6 {
                db.compact_range(None::<&[u8]>, None::<&[u8]>);
            }
        }
    }
    db.drop_cf("gone").unwrap();
    drop(db);
    // This opening removes tables that were replaced, which could not be told from others without
    // a manifest. No compaction makes more of them.
    let mut calm = o.clone();
    calm.set_disable_auto_compactions(true);
    let db = open_all(&calm, Path::new(DIR)).unwrap();
    for i in 0..50 {
        let (key, other) = (format!("k{:03}", i * 6), db.cf_handle("other").unwrap());
        match i % 3 {
            0 => db.put(key, "logged").unwrap(),
            1 => db.merge(key, "logged").unwrap(),
            _ => db.delete_cf(&other, key).unwrap(),
        }
    }
    let names = ["default".to_owned(), "other".to_owned()];
    let all = content(&db, &names);
    assert!(all.values().all(|family| family.len() > 40), "{all:?}");
    (o, all)
}

fn files(fs: &MemFs, part: &str) -> Vec<PathBuf> {
    let names = fs.list(Path::new(DIR)).unwrap();
    let found = names.into_iter().filter(|name| name.contains(part));
    found.map(|name| Path::new(DIR).join(name)).collect()
}

fn bytes(fs: &MemFs, path: &Path) -> Vec<u8> {
    let file = fs.open_random(path).unwrap();
    let len = file.len().unwrap() as usize;
    file.read_at(0, len).unwrap().to_vec()
}

fn replace(fs: &MemFs, path: &Path, bytes: &[u8]) {
    let mut file = fs.create(path).unwrap();
    file.append(bytes).unwrap();
    file.sync().unwrap();
}

fn remove(fs: &MemFs, part: &str) {
    let paths = files(fs, part);
    assert!(!paths.is_empty(), "{part}");
    paths.iter().for_each(|path| fs.remove(path).unwrap());
}

/// Cuts the manifest to a share of its length.
fn cut_manifest(fs: &MemFs, percent: usize) {
    for path in files(fs, "MANIFEST") {
        let all = bytes(fs, &path);
        replace(fs, &path, &all[..all.len() * percent / 100]);
    }
}

type Damage = fn(&MemFs);

const DAMAGES: [(&str, Damage); 8] = [
    ("none", |_| ()),
    ("no CURRENT", |fs| remove(fs, "CURRENT")),
    ("CURRENT of nothing", |fs| {
        replace(fs, &Path::new(DIR).join("CURRENT"), b"MANIFEST-999999\n");
    }),
    ("no manifest", |fs| remove(fs, "MANIFEST")),
    ("empty manifest", |fs| cut_manifest(fs, 0)),
    ("most of the manifest", |fs| cut_manifest(fs, 90)),
    ("half a manifest", |fs| cut_manifest(fs, 50)),
    ("neither", |fs| {
        remove(fs, "MANIFEST");
        remove(fs, "CURRENT");
    }),
];

#[test]
fn whatever_happened_to_the_manifest_the_content_is_there() {
    for (what, damage) in DAMAGES {
        let fs = MemFs::new();
        let (o, mut before) = filled(&fs);
        damage(&fs);
        Db::repair(&o, DIR).unwrap();
        let found = reopened(&o);
        // Without the manifest it is unknown that a family was dropped.
        let known = found.contains_key("gone").then(|| found["gone"].clone());
        before.extend(known.map(|gone| ("gone".to_owned(), gone)));
        assert!(found == before, "{what}");
        if matches!(what, "none" | "no CURRENT") {
            assert!(!found.contains_key("gone"), "{what}");
        }
        // Again, now with a database that was opened, and twice.
        for _ in 0..2 {
            Db::repair(&o, DIR).unwrap();
        }
        assert!(reopened(&o) == before, "{what}, again");
        let db = open_all(&o, Path::new(DIR)).unwrap();
        db.put("k000", "new").unwrap();
        db.delete("k001").unwrap();
        db.compact_range(None::<&[u8]>, None::<&[u8]>);
        assert_eq!(db.get("k000").unwrap().as_deref(), Some(&b"new"[..]));
        assert_eq!(db.get("k001").unwrap(), None, "{what}");
    }
}

/// A repair fails at each of its operations, or the power is cut there. Another repair then
/// succeeds.
#[test]
fn a_repair_that_was_interrupted_can_be_repeated() {
    let fs = MemFs::new();
    let (o, before) = filled(&fs);
    cut_manifest(&fs, 97);
    remove(&fs, "CURRENT");
    let fresh = fs.crash_clone(1.0, 0);
    let mut met = 0;
    for n in 1.. {
        let fs = fresh.crash_clone(1.0, 0);
        let faulty = FaultFs::new(Arc::new(fs.clone()));
        faulty.add_rule(Rule {
            ops: OpSet::WRITES,
            path: PathMatch::Any,
            when: When::Nth(n),
            fault: Fault::Eio,
            sticky: true,
        });
        let mut failing = o.clone();
        failing.set_fs(Arc::new(faulty.clone()));
        let outcome = Db::repair(&failing, DIR);
        if faulty.injected().is_empty() {
            outcome.unwrap();
            break;
        }
        met += 1;
        for fs in [fs.clone(), fs.crash_clone(0.0, n)] {
            let mut o = o.clone();
            o.set_fs(Arc::new(fs));
            Db::repair(&o, DIR).unwrap();
            let mut found = reopened(&o);
            found.retain(|name, _| before.contains_key(name));
            assert!(found == before, "operation {n}");
        }
    }
    assert!(met > 20, "{met} operations");
}

#[test]
fn a_damaged_table_is_lost_and_the_others_are_not() {
    let fs = MemFs::new();
    let mut o = tiny_on(fs.clone());
    o.set_disable_auto_compactions(true);
    let db = Db::open(&o, DIR).unwrap();
    for part in ["a", "b", "c"] {
        for i in 0..100 {
            db.put(format!("{part}{i:02}"), "v".repeat(50)).unwrap();
        }
        db.flush().unwrap();
    }
    db.put("d", "in the log").unwrap();
    drop(db);
    let tables = files(&fs, ".sst");
    assert_eq!(tables.len(), 3);
    for at in [100, 2000] {
        let fs = fs.crash_clone(1.0, 0);
        let mut o = o.clone();
        o.set_fs(Arc::new(fs.clone()));
        let mut content = bytes(&fs, &tables[1]);
        let at = at % content.len();
        content[at] ^= 0x40;
        replace(&fs, &tables[1], &content);
        Db::repair(&o, DIR).unwrap();
        let found = &reopened(&o)["default"];
        assert_eq!(found.len(), 201);
        assert!(found.keys().all(|key| key[0] != b'b'));
        let lost = fs.list(&Path::new(DIR).join("lost")).unwrap();
        let name = tables[1].file_name().unwrap().to_str().unwrap();
        assert!(lost.iter().any(|found| found == name), "{lost:?}");
        assert!(lost.iter().any(|found| found.ends_with(".log")), "{lost:?}");
    }
}

#[test]
fn damage_in_a_log_costs_the_rest_of_its_block() {
    let fs = MemFs::new();
    let mut o = tiny_on(fs.clone());
    o.set_write_buffer_size(1 << 20);
    let db = Db::open(&o, DIR).unwrap();
    let mut synced = WriteOptions::default();
    synced.set_sync(true);
    for i in 0..600 {
        db.put_opt(format!("k{i:03}"), "v".repeat(100), &synced)
            .unwrap();
    }
    drop(db);
    let log = files(&fs, ".log").remove(0);
    let mut content = bytes(&fs, &log);
    content[3000] ^= 1;
    replace(&fs, &log, &content);
    remove(&fs, "CURRENT");
    Db::repair(&o, DIR).unwrap();
    let found = &reopened(&o)["default"];
    assert!((300..600).contains(&found.len()), "{}", found.len());
    let keys: Vec<&[u8]> = found.keys().map(Vec::as_slice).collect();
    assert_eq!(
        (keys[0], keys[keys.len() - 1]),
        (&b"k000"[..], &b"k599"[..])
    );
}

#[test]
fn what_is_open_or_in_another_order_is_left_alone() {
    let fs = MemFs::new();
    let (o, before) = filled(&fs);
    {
        let _open = open_all(&o, Path::new(DIR)).unwrap();
        let e = Db::repair(&o, DIR).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::IOError);
    }
    let names = || {
        let mut names = fs.list(Path::new(DIR)).unwrap();
        names.retain(|name| !name.starts_with("LOG"));
        names
    };
    let there = names();
    let mut other = o.clone();
    other.set_comparator("backwards", Box::new(|a, b| b.cmp(a)));
    let e = Db::repair(&other, DIR).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidArgument);
    assert_eq!(names(), there);
    assert!(reopened(&o) == before);
    let e = Db::repair(&o, "/data/none").unwrap_err();
    assert_eq!(e.kind(), ErrorKind::IOError);
}

const OUTSIDE: &str = "/data/outside.sst";

/// A database with tables that were made outside. They are newer than some entries and older than
/// others, in a column family that their writer did not know.
fn with_ingested(fs: &MemFs) -> (Options, Content) {
    let mut o = tiny_on(fs.clone());
    o.set_disable_auto_compactions(true);
    let names = ["default".to_owned(), "other".to_owned()];
    let families = names
        .iter()
        .map(|name| ColumnFamilyDescriptor::new(name, o.clone()));
    let db = Db::open_cf_descriptors(&o, DIR, families).unwrap();
    let other = db.cf_handle("other").unwrap();
    let ingest = |keys: &[&str]| {
        let mut writer = SstFileWriter::create(&o);
        writer.open(OUTSIDE).unwrap();
        keys.iter().for_each(|key| writer.put(key, "in").unwrap());
        writer.finish().unwrap();
        db.ingest_external_file_cf(&other, vec![OUTSIDE]).unwrap();
    };
    for key in ["a", "b", "c"] {
        db.put_cf(&other, key, "old").unwrap();
    }
    db.put("a", "of the default family").unwrap();
    db.flush_cf(&other).unwrap();
    ingest(&["b", "c"]);
    db.put_cf(&other, "c", "new").unwrap();
    db.flush_cf(&other).unwrap();
    // One table with entries older and newer than the ingested ones: it is merged with them.
    db.put_cf(&other, "k", "old").unwrap();
    ingest(&["l", "n"]);
    db.put_cf(&other, "n", "new").unwrap();
    db.put_cf(&other, "p", "new").unwrap();
    db.flush_cf(&other).unwrap();
    let all = content(&db, &names);
    let found = |key: &str| all["other"][key.as_bytes()].clone();
    assert_eq!(
        ["a", "b", "c", "k", "l", "n"].map(found),
        ["old", "in", "new", "old", "in", "new"].map(Vec::from)
    );
    (o, all)
}

/// Adds a manifest that a power cut left, of which only the first record is there.
fn begin_manifest(fs: &MemFs) {
    let path = files(fs, "MANIFEST").remove(0);
    let all = bytes(fs, &path);
    let first = 7 + usize::from(u16::from_le_bytes([all[4], all[5]]));
    replace(fs, &Path::new(DIR).join("MANIFEST-000999"), &all[..first]);
}

#[test]
fn ingested_tables_keep_their_family_and_their_age() {
    let damages = DAMAGES.into_iter().take(3);
    for (what, damage) in damages.chain([("a newer manifest", begin_manifest as Damage)]) {
        let fs = MemFs::new();
        let (o, before) = with_ingested(&fs);
        damage(&fs);
        for _ in 0..2 {
            Db::repair(&o, DIR).unwrap();
            assert_eq!(reopened(&o), before, "{what}");
        }
        let db = open_all(&o, Path::new(DIR)).unwrap();
        db.compact_range(None::<&[u8]>, None::<&[u8]>);
        drop(db);
        assert_eq!(reopened(&o), before, "{what}, compacted");
    }
}

/// Into which column family they belong, and before or after which writes, is then a guess.
#[test]
fn ingested_tables_that_no_manifest_names_are_lost_and_can_be_ingested_again() {
    let fs = MemFs::new();
    let (o, mut before) = with_ingested(&fs);
    remove(&fs, "MANIFEST");
    Db::repair(&o, DIR).unwrap();
    let other = before.get_mut("other").unwrap();
    other.insert(b"b".to_vec(), b"old".to_vec());
    other.remove(&b"l"[..]);
    assert_eq!(reopened(&o), before);
    let lost = Path::new(DIR).join("lost");
    let names = fs.list(&lost).unwrap();
    let names = names.iter().filter(|name| name.ends_with(".sst"));
    let mut tables: Vec<PathBuf> = names.map(|name| lost.join(name)).collect();
    // Other operands were merged with what the log holds, too.
    tables.retain(|path| {
        let file = fs.open_random(path).unwrap();
        let size = file.len().unwrap();
        let properties = TableProperties::read(file, size).unwrap();
        properties.external().unwrap() != External::No
    });
    tables.sort();
    assert_eq!(tables.len(), 2, "{tables:?}");
    let db = open_all(&o, Path::new(DIR)).unwrap();
    let other = db.cf_handle("other").unwrap();
    db.ingest_external_file_cf(&other, tables).unwrap();
    for key in ["b", "c", "l", "n"] {
        let found = db.get_cf(&other, key).unwrap();
        assert_eq!(found.as_deref(), Some(&b"in"[..]), "{key}");
    }
}

#[test]
fn a_database_in_files_is_repaired() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let db = DB::open_default(&path).unwrap();
    db.put("a", "1").unwrap();
    db.flush().unwrap();
    db.put("b", "2").unwrap();
    let id = db.get_db_identity().unwrap();
    drop(db);
    std::fs::remove_file(path.join("CURRENT")).unwrap();
    assert!(DB::open_default(&path).is_err());
    DB::repair(&Options::default(), &path).unwrap();
    let db = DB::open(&Options::default(), &path).unwrap();
    assert_eq!(db.get("a").unwrap().as_deref(), Some(&b"1"[..]));
    assert_eq!(db.get("b").unwrap().as_deref(), Some(&b"2"[..]));
    assert_eq!(db.get_db_identity().unwrap(), id);
}
