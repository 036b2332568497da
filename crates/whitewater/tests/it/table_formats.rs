//! Plain and cuckoo tables in a database: read in every way, compacted into other formats and back,
//! and what they cannot hold.

use crate::content;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::path::Path;
use whitewater::{
    Cache, ColumnFamilyDescriptor, CompactOptions, DB, Env, ErrorKind, IteratorMode,
    KeyEncodingType, Options, PlainTableFactoryOptions, ReadOptions, SstFileWriter, WriteBatch,
};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

const PLAIN: &str = "table_factory={id=PlainTable;hash_table_ratio=0}";
const PREFIX: &str = "table_factory={id=PlainTable;encoding_type=kPrefix;index_sparseness=4};\
                      prefix_extractor=fixed:4";
const STORED: &str = "table_factory={id=PlainTable;store_index_in_file=true;bloom_bits_per_key=8};\
                      prefix_extractor=fixed:4;bloom_locality=1";
const FIXED: &str = "table_factory={id=PlainTable;user_key_len=9;hash_table_ratio=0;\
                     store_index_in_file=true}";
const CUCKOO: &str = "table_factory={id=CuckooTable}";
const CUCKOO_BITS: &str = "table_factory={id=CuckooTable;use_module_hash=false;\
                           identity_as_first_hash=true;cuckoo_block_size=2}";

/// The magic numbers at the ends of tables.
const BLOCK_BASED_MAGIC: u64 = 0x88e2_41b7_85f4_cff7;
const PLAIN_MAGIC: u64 = 0x4f34_18eb_7a8f_13b8;
const CUCKOO_MAGIC: u64 = 0x9267_89d0_c5f1_7873;

fn options(text: &str) -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_disable_auto_compactions(true);
    options.set_paranoid_file_checks(true);
    options
        .get_options_from_string(text)
        .expect("valid options")
}

/// The same database with a handle of its only column family.
fn open_families(dir: &Path, text: &str) -> DB {
    let family = ColumnFamilyDescriptor::new("default", options(text));
    DB::open_cf_descriptors(&options(text), dir, [family]).expect("opens")
}

/// The magic numbers of all tables in the directory.
fn magics(dir: &Path) -> Vec<u64> {
    let paths = std::fs::read_dir(dir)
        .expect("is there")
        .map(|e| e.expect("is there").path());
    let tables = paths.filter(|path| path.extension().is_some_and(|e| e == "sst"));
    let magic = |path| {
        let bytes = std::fs::read(path).expect("can be read");
        u64::from_le_bytes(*bytes.last_chunk().expect("a footer"))
    };
    tables.map(magic).collect()
}

fn compact(db: &DB) {
    db.compact_range_opt(None::<&[u8]>, None::<&[u8]>, &CompactOptions::default());
    db.wait_for_compact(&Default::default()).expect("compacts");
}

fn key(n: u32) -> Vec<u8> {
    format!("{:04}{n:05}", n / 30).into_bytes()
}

/// Random writes, the same on the database and on the model.
fn write(db: &DB, model: &mut Model, rng: &mut StdRng, even: bool) {
    for _ in 0..400 {
        let key = key(rng.random_range(0..600));
        if rng.random_ratio(1, 5) {
            db.delete(&key).expect("writes");
            model.remove(&key);
        } else {
            let len = if even { 16 } else { rng.random_range(0..200) };
            let value = vec![rng.random(); len];
            db.put(&key, &value).expect("writes");
            model.insert(key, value);
        }
    }
}

/// Reads everything forward, backward, from keys on, and key by key.
fn check(db: &DB, model: &Model, what: &str) {
    let pair = |(k, v): (&Vec<u8>, &Vec<u8>)| (k.clone(), v.clone());
    let total = || {
        let mut options = ReadOptions::default();
        options.set_total_order_seek(true);
        options
    };
    let read = |mode| -> Vec<(Vec<u8>, Vec<u8>)> {
        let all = db.iterator_opt(mode, total());
        all.map(|item| item.expect("reads"))
            .map(|(k, v)| (k.into(), v.into()))
            .collect()
    };
    assert!(
        read(IteratorMode::Start) == model.iter().map(pair).collect::<Vec<_>>(),
        "{what}"
    );
    assert!(
        read(IteratorMode::End) == model.iter().rev().map(pair).collect::<Vec<_>>(),
        "{what}"
    );
    let mut it = db.raw_iterator_opt(total());
    for n in (0..650).step_by(7) {
        let key = key(n);
        assert_eq!(
            db.get(&key).expect("reads").as_ref(),
            model.get(&key),
            "{what} {n}"
        );
        it.seek(&key);
        let next = model.range(key.clone()..).next();
        assert_eq!(it.key(), next.map(|(k, _)| &k[..]), "{what} {n}");
        it.seek_for_prev(&key);
        let before = model.range(..=key).next_back();
        assert_eq!(it.key(), before.map(|(k, _)| &k[..]), "{what} {n}");
    }
    db.verify_checksum().expect("whole");
}

#[test]
fn every_format_is_read_in_every_way_and_compacted_into_the_others() {
    let formats = [
        ("", BLOCK_BASED_MAGIC),
        (PLAIN, PLAIN_MAGIC),
        (PREFIX, PLAIN_MAGIC),
        (STORED, PLAIN_MAGIC),
        (FIXED, PLAIN_MAGIC),
        (CUCKOO, CUCKOO_MAGIC),
        (CUCKOO_BITS, CUCKOO_MAGIC),
        ("", BLOCK_BASED_MAGIC),
        (PREFIX, PLAIN_MAGIC),
    ];
    let (mut rng, mut model) = (StdRng::seed_from_u64(1), Model::new());
    let dir = tempfile::tempdir().expect("a directory");
    for (text, magic) in formats {
        println!("{text}");
        let db = DB::open(&options(text), dir.path()).expect("opens");
        check(&db, &model, "as the format before left it");
        // A cuckoo table cannot have values of different sizes.
        for _ in 0..2 {
            write(&db, &mut model, &mut rng, true);
            db.flush().expect("flushes");
            check(&db, &model, "flushed");
        }
        compact(&db);
        check(&db, &model, "compacted");
        assert!(magics(dir.path()).iter().all(|found| *found == magic));
        drop(db);
        let db = DB::open(&options(text), dir.path()).expect("opens again");
        check(&db, &model, "reopened");
        write(&db, &mut model, &mut rng, true);
        db.flush().expect("flushes");
    }
}

#[test]
fn plain_tables_hold_versions_operands_and_keys_of_all_lengths() {
    for text in [PLAIN, PREFIX, STORED] {
        let dir = tempfile::tempdir().expect("a directory");
        let mut options = options(text);
        options.set_merge_operator_associative("append", |_, old, operands| {
            Some(old.into_iter().chain(operands).collect::<Vec<_>>().concat())
        });
        let db = DB::open(&options, dir.path()).expect("opens");
        db.put("", "empty").expect("writes");
        db.put("ab", "short").expect("writes");
        db.put("abcd-long".repeat(40), "long").expect("writes");
        for n in 0..300u32 {
            db.merge(key(n), n.to_string()).expect("writes");
        }
        let snapshot = db.snapshot();
        for n in 0..300u32 {
            db.merge(key(n), "+").expect("writes");
        }
        db.delete("ab").expect("writes");
        for step in ["flushed", "compacted"] {
            db.flush().expect("flushes");
            if step == "compacted" {
                compact(&db);
            }
            for n in 0..300u32 {
                let old = snapshot.get(key(n)).expect("reads").expect("is there");
                assert_eq!(old, n.to_string().as_bytes(), "{text} {step}");
                let new = db.get(key(n)).expect("reads").expect("is there");
                assert_eq!(new, format!("{n}+").as_bytes(), "{text} {step}");
            }
            assert_eq!(
                snapshot.get("ab").expect("reads").as_deref(),
                Some(&b"short"[..])
            );
            assert_eq!(db.get("ab").expect("reads"), None);
            assert_eq!(db.get("").expect("reads").as_deref(), Some(&b"empty"[..]));
        }
        assert!(magics(dir.path()).iter().all(|magic| *magic == PLAIN_MAGIC));
    }
}

/// The writes were acknowledged. They stay in the log until tables can hold them.
#[test]
fn what_a_format_cannot_hold_is_not_lost() {
    for (text, pairs) in [
        (CUCKOO, [("key-0001", "short"), ("key-0002", "longer")]),
        (CUCKOO, [("key", "value"), ("longer key", "value")]),
        (FIXED, [("key-00001", "value"), ("key", "value")]),
    ] {
        let dir = tempfile::tempdir().expect("a directory");
        let db = DB::open(&options(text), dir.path()).expect("opens");
        for (key, value) in pairs {
            db.put(key, value).expect("writes");
        }
        let e = db.flush().expect_err("the table cannot hold this");
        assert_eq!(e.kind(), ErrorKind::NotSupported, "{e}");
        for (key, value) in pairs {
            let found = db.get(key).expect("reads");
            assert_eq!(found.as_deref(), Some(value.as_bytes()));
        }
        drop(db);
        let db = DB::open(&options(""), dir.path()).expect("opens with block-based tables");
        for (key, value) in pairs {
            let found = db.get(key).expect("reads");
            assert_eq!(found.as_deref(), Some(value.as_bytes()));
        }
        db.flush().expect("flushes");
    }
}

#[test]
fn range_deletions_are_refused_and_older_ones_are_kept() {
    for text in [PLAIN, CUCKOO] {
        let dir = tempfile::tempdir().expect("a directory");
        let db = open_families(dir.path(), "");
        for n in 0..100 {
            db.put(key(n), [7; 16]).expect("writes");
        }
        db.flush().expect("flushes");
        let snapshot = db.snapshot();
        db.delete_range_cf(&content::cf(&db, "default"), key(10), key(20))
            .expect("writes");
        drop(snapshot);
        drop(db);
        // The range deletion is in the log.
        let db = open_families(dir.path(), text);
        let default = content::cf(&db, "default");
        let refused = db.delete_range_cf(&default, key(30), key(40));
        assert_eq!(
            refused.expect_err("refused").kind(),
            ErrorKind::NotSupported
        );
        let mut batch = WriteBatch::default();
        batch.put(key(50), [8; 16]);
        batch.delete_range(key(30), key(40));
        let e = db.write(batch).expect_err("refused");
        assert_eq!(e.kind(), ErrorKind::NotSupported);
        assert!(e.to_string().contains("table_factory"), "{e}");
        for step in ["recovered", "flushed", "compacted"] {
            match step {
                "flushed" => db.flush().expect("flushes"),
                "compacted" => compact(&db),
                _ => {}
            }
            for n in 0..100 {
                let is_there = db.get(key(n)).expect("reads").is_some();
                assert_eq!(is_there, !(10..20).contains(&n), "{text} {step} {n}");
            }
        }
    }
}

#[test]
fn an_options_file_has_the_format_and_its_options() {
    for text in [
        PREFIX,
        FIXED,
        CUCKOO_BITS,
        "table_factory={id=BlockBasedTable;block_size=12345}",
        "plain_table_factory={hash_table_ratio=0;user_key_len=7}",
    ] {
        let dir = tempfile::tempdir().expect("a directory");
        let opened = options(&format!(
            "{text};block_based_table_factory={{checksum=kCRC32c}}"
        ));
        let db = DB::open(&opened, dir.path()).expect("opens");
        drop(db);
        let env = Env::new().expect("an environment");
        let cache = Cache::new_lru_cache(1 << 20);
        let (loaded, families) = Options::load_latest(dir.path(), env, false, cache)
            .unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(families.len(), 1);
        let line = |options: &Options, name: &str| {
            let text = format!("{options:?}");
            let line = text
                .lines()
                .find(|line| line.starts_with(&format!("{name}=")));
            line.unwrap_or_default().to_owned()
        };
        let _ = loaded;
        DB::open_cf_descriptors(&Options::default(), dir.path(), families).expect("opens again");
        let env = Env::new().expect("an environment");
        let cache = Cache::new_lru_cache(1 << 20);
        let (_, again) = Options::load_latest(dir.path(), env, false, cache).expect("loads");
        assert_eq!(again.len(), 1);
        let file = newest_options_file(dir.path());
        let wanted = line(&opened, "table_factory");
        let name = wanted.trim_start_matches("table_factory=");
        let name = name.trim_start_matches("{id=").split([';', '}']).next();
        assert!(
            file.contains(&format!("table_factory={}\n", name.unwrap_or_default())),
            "{file}"
        );
        for part in wanted.trim_end_matches(['}', ';']).split(';').skip(1) {
            assert!(
                file.contains(&format!("  {part}\n")),
                "{part} is not in {file}"
            );
        }
        assert!(file.contains("checksum=kCRC32c"), "{file}");
    }
}

fn newest_options_file(dir: &Path) -> String {
    let names = std::fs::read_dir(dir)
        .expect("is there")
        .map(|e| e.expect("is there").path());
    let is_options = |path: &std::path::PathBuf| path.to_string_lossy().contains("OPTIONS-");
    let newest = names.filter(is_options).max().expect("there is one");
    std::fs::read_to_string(newest).expect("can be read")
}

#[test]
fn tables_of_both_formats_are_ingested() {
    for text in [PLAIN, CUCKOO] {
        let dir = tempfile::tempdir().expect("a directory");
        let db = DB::open(&options(text), dir.path().join("db")).expect("opens");
        db.put(key(5), [1; 16]).expect("writes");
        db.flush().expect("flushes");
        let path = dir.path().join("made.sst");
        let made = options(text);
        let mut writer = SstFileWriter::create(&made);
        writer.open(&path).expect("begins");
        for n in 0..50 {
            writer.put(key(n), [2; 16]).expect("writes");
        }
        writer.finish().expect("ends");
        let snapshot = db.snapshot();
        db.ingest_external_file(vec![path]).expect("ingests");
        let old = snapshot.get(key(5)).expect("reads");
        assert_eq!(old.as_deref(), Some(&[1; 16][..]), "{text}");
        drop(snapshot);
        let model: Model = (0..50).map(|n| (key(n), vec![2; 16])).collect();
        check(&db, &model, "ingested");
        compact(&db);
        check(&db, &model, "ingested and compacted");
    }
}

/// Keys that are too short for their hash are refused when they are flushed, not when they are
/// written. They are in the log until a database with other tables flushes them.
#[test]
fn a_database_with_cuckoo_tables_is_used_before_it_has_any() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut cuckoo = whitewater::CuckooTableOptions::default();
    cuckoo.set_cuckoo_block_size(10);
    cuckoo.set_identity_as_first_hash(true);
    cuckoo.set_use_module_hash(false);
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_cuckoo_table_factory(&cuckoo);
    let db = DB::open(&options, dir.path()).expect("opens");
    db.put("k1", "v1").expect("writes");
    db.put("k2", "v2").expect("writes");
    db.delete("k1").expect("writes");
    let check = |db: &DB| {
        assert_eq!(db.get("k1").expect("reads"), None);
        assert_eq!(db.get("k2").expect("reads").as_deref(), Some(&b"v2"[..]));
    };
    check(&db);
    drop(db);
    let e = DB::open(&options, dir.path()).expect_err("the log is flushed");
    assert_eq!(e.kind(), ErrorKind::NotSupported);
    assert!(e.to_string().contains("identity_as_first_hash"), "{e}");
    check(&DB::open(&Options::default(), dir.path()).expect("opens with block-based tables"));
}

#[test]
fn plain_tables_without_prefixes_get_no_hashes_although_asked_for() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut options = options("");
    options.set_plain_table_factory(&PlainTableFactoryOptions {
        user_key_length: 0,
        bloom_bits_per_key: 10,
        hash_table_ratio: 0.75,
        index_sparseness: 16,
        huge_page_tlb_size: 0,
        encoding_type: KeyEncodingType::Prefix,
        full_scan_mode: false,
        store_index_in_file: true,
    });
    let db = DB::open(&options, dir.path()).expect("opens");
    for key in ["lake", "pond", "river"] {
        db.put(key, key).unwrap();
    }
    db.flush().expect("a table is written and opened");
    assert_eq!(magics(dir.path()), [PLAIN_MAGIC]);
    assert_eq!(db.get("pond").unwrap().as_deref(), Some(&b"pond"[..]));
    let keys = db.iterator(IteratorMode::End).map(|pair| pair.unwrap().0);
    assert!(keys.eq([&b"river"[..], b"pond", b"lake"].map(Box::from)));
    drop(db);
    let log = std::fs::read_to_string(dir.path().join("LOG")).unwrap();
    let corrected =
        |line: &str| line.contains("is corrected") && line.contains("hash_table_ratio=0;");
    assert!(log.lines().any(corrected), "{log}");
}

#[test]
fn plain_tables_are_read_although_prefixes_come_and_go() {
    let dir = tempfile::tempdir().expect("a directory");
    let with_prefixes = options(STORED);
    let mut wanted = Model::new();
    let mut add = |db: &DB, value: &str| {
        for n in 0..40 {
            let key = format!("{:04}{value}", n % 7);
            db.put(&key, value).unwrap();
            wanted.insert(key.into_bytes(), value.into());
        }
        db.flush().expect("flushes");
        wanted.clone()
    };
    let check = |db: &DB, wanted: &Model| {
        let pairs = db.iterator(IteratorMode::Start);
        let pairs = pairs.map(|pair| pair.expect("readable"));
        let found: Model = pairs.map(|(k, v)| (k.into_vec(), v.into_vec())).collect();
        assert_eq!(&found, wanted);
        for (key, value) in wanted {
            assert_eq!(db.get(key).expect("readable").as_ref(), Some(value));
        }
    };
    let db = DB::open(&with_prefixes, dir.path()).expect("opens");
    add(&db, "with");
    for (extractor, value) in [("nullptr", "without"), ("fixed:4", "again")] {
        db.set_options(&[("prefix_extractor", extractor)])
            .expect("changes");
        let wanted = add(&db, value);
        check(&db, &wanted);
    }
    drop(db);
    let without = options("table_factory={id=PlainTable;store_index_in_file=true}");
    let db = DB::open(&without, dir.path()).expect("opens without");
    let wanted = add(&db, "reopened");
    check(&db, &wanted);
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    check(&db, &wanted);
    assert_eq!(magics(dir.path()), [PLAIN_MAGIC]);
    drop(db);
    check(
        &DB::open(&with_prefixes, dir.path()).expect("opens"),
        &wanted,
    );
}

#[test]
fn what_does_not_go_together_is_refused_by_name() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut options = options("create_if_missing=true");
    let mut cuckoo = whitewater::CuckooTableOptions::default();
    cuckoo.set_hash_ratio(1.5);
    options.set_cuckoo_table_factory(&cuckoo);
    let e = DB::open(&options, dir.path()).expect_err("more keys than buckets");
    assert!(e.to_string().contains("hash_table_ratio"), "{e}");
    let unknown = Options::default().get_options_from_string("table_factory={id=HashTable}");
    assert!(
        unknown
            .expect_err("unknown")
            .to_string()
            .contains("table_factory")
    );
}
