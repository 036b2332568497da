//! Compression of tables: every codec, with dictionaries and threads, and which
//! tables get which.

use crate::harness::{Db, tiny};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use whitewater::fs::Fs;
use whitewater::fs::mem::MemFs;
use whitewater::{
    BottommostLevelCompaction, CompactOptions, DBCompressionType, ErrorKind, IteratorMode, Options,
};

const DIR: &str = "/db";

const CODECS: [(DBCompressionType, &str); 7] = [
    (DBCompressionType::None, "NoCompression"),
    (DBCompressionType::Snappy, "Snappy"),
    (DBCompressionType::Zlib, "Zlib"),
    (DBCompressionType::Bz2, "BZip2"),
    (DBCompressionType::Lz4, "LZ4"),
    (DBCompressionType::Lz4hc, "LZ4HC"),
    (DBCompressionType::Zstd, "ZSTD"),
];

fn options(fs: &MemFs) -> Options {
    let mut o = tiny();
    o.set_fs(Arc::new(fs.clone()));
    o.set_disable_auto_compactions(true);
    o
}

type Pairs = BTreeMap<Vec<u8>, Vec<u8>>;

/// Writes `rounds` tables of level 0.
fn fill(db: &Db, rounds: u32, pairs: &mut Pairs) {
    for round in 0..rounds {
        for i in 0..400u32 {
            let key = format!("key{:05}", (i * 7 + round) % 1500);
            let value = format!("<name=user{i};mail=user{i}@example.org;round={round}>").repeat(2);
            db.put(&key, &value).expect("writes");
            pairs.insert(key.into_bytes(), value.into_bytes());
        }
        db.flush().expect("flushes");
    }
}

fn check(db: &Db, pairs: &Pairs, what: &str) {
    for (key, value) in pairs {
        let got = db.get(key).unwrap_or_else(|e| panic!("{what}: {e}"));
        assert!(got.as_deref() == Some(&value[..]), "{what}");
    }
    let all: Pairs = (db.iterator(IteratorMode::Start))
        .map(|item| item.unwrap_or_else(|e| panic!("{what}: {e}")))
        .map(|(k, v)| (k.into_vec(), v.into_vec()))
        .collect();
    assert!(all == *pairs, "{what}");
}

/// The bytes of each table, by its level and number.
fn tables(db: &Db, fs: &MemFs) -> BTreeMap<(i32, String), Vec<u8>> {
    let live = db.live_files().expect("lists");
    live.iter()
        .map(|file| {
            let name = file.name.trim_start_matches('/');
            let path = Path::new(DIR).join(name);
            let opened = fs.open_random(&path).expect("is there");
            let len = opened.len().expect("has a length") as usize;
            let bytes = opened.read_at(0, len).expect("reads").to_vec();
            ((file.level, name.to_owned()), bytes)
        })
        .collect()
}

fn holds(table: &[u8], text: &str) -> bool {
    table.windows(text.len()).any(|w| w == text.as_bytes())
}

/// The compression that a table's properties name.
fn named(table: &[u8]) -> &'static str {
    // This is the end of "rocksdb.compression" and the value behind it. The three letters of the
    // value alone come up by chance, for example in the name of a session.
    let property = |name| format!("ression{name}");
    let found = (CODECS.iter().rev()).find(|(_, name)| holds(table, &property(name)));
    found.expect("one of them").1
}

fn compact(db: &Db) {
    let mut force = CompactOptions::default();
    force.set_bottommost_level_compaction(BottommostLevelCompaction::Force);
    db.try_compact_range_opt(None::<&[u8]>, None::<&[u8]>, &force)
        .expect("compacts");
}

#[test]
fn every_codec_is_written_and_read() {
    let mut sizes = BTreeMap::new();
    for (codec, name) in CODECS {
        for (dictionary, train, threads) in [(0, 0, 1), (0, 0, 3), (2000, 0, 3), (2000, 50_000, 1)]
        {
            let what = format!("{name}, dictionary {dictionary}, train {train}, threads {threads}");
            let fs = MemFs::new();
            let mut o = options(&fs);
            // Zstandard's trainer makes no dictionary from the few blocks of a small table.
            o.set_target_file_size_base(1 << 20);
            o.set_compression_type(codec);
            o.set_compression_options(-14, 32_767, 0, dictionary);
            o.set_zstd_max_train_bytes(train);
            o.set_compression_options_parallel_threads(threads);
            let mut pairs = Pairs::new();
            let db = Db::open(&o, DIR).expect("opens");
            fill(&db, 3, &mut pairs);
            check(&db, &pairs, &what);
            compact(&db);
            check(&db, &pairs, &what);
            let tables = tables(&db, &fs);
            let takes = matches!(name, "Zlib" | "LZ4" | "LZ4HC" | "ZSTD");
            for table in tables.values() {
                assert_eq!(named(table), name, "{what}");
                let expected = dictionary > 0 && takes;
                assert_eq!(holds(table, "rocksdb.compression_dict"), expected, "{what}");
            }
            let size: usize = tables.values().map(Vec::len).sum();
            drop(db);
            // What a table was written with does not depend on the options.
            let db = Db::open(&options(&fs), DIR).expect("opens");
            check(&db, &pairs, &what);
            sizes.insert((name, dictionary, threads), size);
        }
    }
    for (_, name) in &CODECS[1..] {
        assert!(
            sizes[&(*name, 0, 1)] < sizes[&("NoCompression", 0, 1)],
            "{sizes:?}"
        );
    }
}

#[test]
fn tables_are_compressed_by_their_level() {
    let fs = MemFs::new();
    let mut o = options(&fs);
    o.set_num_levels(4);
    o.set_compression_per_level(&[DBCompressionType::None, DBCompressionType::Lz4hc]);
    let mut pairs = Pairs::new();
    let db = Db::open(&o, DIR).expect("opens");
    fill(&db, 2, &mut pairs);
    let by_level = |db: &Db, fs: &MemFs| {
        let mut names: Vec<_> = (tables(db, fs).iter())
            .map(|((level, _), table)| (*level, named(table)))
            .collect();
        names.dedup();
        names
    };
    assert_eq!(by_level(&db, &fs), [(0, "NoCompression")]);
    compact(&db);
    assert_eq!(by_level(&db, &fs), [(3, "LZ4HC")]);
    drop(db);

    // Level 3 is the base level, so the second type is for it.
    o.set_bottommost_compression_type(DBCompressionType::Zlib);
    o.set_bottommost_compression_options(-14, 9, 0, 1000, true);
    let db = Db::open(&o, DIR).expect("opens");
    fill(&db, 1, &mut pairs);
    compact(&db);
    assert_eq!(by_level(&db, &fs), [(3, "Zlib")]);
    let dictionary = "rocksdb.compression_dict";
    assert!(tables(&db, &fs).values().all(|t| holds(t, dictionary)));
    check(&db, &pairs, "bottommost");
}

#[test]
fn a_level_to_compress_from() {
    let fs = MemFs::new();
    let mut o = options(&fs);
    o.set_compression_type(DBCompressionType::Zstd);
    o.set_min_level_to_compress(1);
    let db = Db::open(&o, DIR).expect("opens");
    let mut pairs = Pairs::new();
    fill(&db, 2, &mut pairs);
    assert!(
        tables(&db, &fs)
            .values()
            .all(|t| named(t) == "NoCompression")
    );
    compact(&db);
    assert!(tables(&db, &fs).values().all(|t| named(t) == "ZSTD"));
    check(&db, &pairs, "from level 1");
}

/// RocksDB corrects the number of threads that compress a table in this way.
#[test]
fn no_thread_that_compresses_is_the_one_that_writes_the_table() {
    for threads in [0, -1] {
        let mut o = options(&MemFs::new());
        o.set_compression_type(DBCompressionType::Zstd);
        o.set_compression_options_parallel_threads(threads);
        let db = Db::open(&o, DIR).unwrap();
        db.put("k", "v").unwrap();
        db.flush().unwrap();
        assert_eq!(db.get("k").unwrap().as_deref(), Some(&b"v"[..]));
    }
}

#[test]
fn what_cannot_be_honoured_is_refused() {
    let refused = |change: fn(&mut Options), kind: ErrorKind, what: &str| {
        let mut o = options(&MemFs::new());
        change(&mut o);
        let Err(e) = Db::open(&o, DIR) else {
            panic!("opened with {what}");
        };
        assert_eq!(e.kind(), kind, "{e}");
        assert!(e.to_string().contains(what), "{e}");
    };
    refused(
        |o| o.set_zstd_max_train_bytes(-1),
        ErrorKind::InvalidArgument,
        "option compression_opts: zstd_max_train_bytes = -1",
    );
    refused(
        |o| {
            o.set_compression_type(DBCompressionType::Zlib);
            o.set_compression_options(-14, 1, 5, 0);
        },
        ErrorKind::InvalidArgument,
        "option compression_opts: strategy = 5",
    );
    refused(
        |o| {
            o.set_bottommost_compression_type(DBCompressionType::Zlib);
            o.set_bottommost_compression_options(-15, 1, 0, 0, true);
        },
        ErrorKind::NotSupported,
        "option bottommost_compression_opts: window_bits = -15",
    );
    let text = "compression=kZSTD;compression_opts={level=1;use_zstd_dict_trainer=false;\
                max_dict_bytes=1;zstd_max_train_bytes=1}";
    let o = options(&MemFs::new());
    let o = o.clone().get_options_from_string(text).expect("parses");
    let Err(e) = Db::open(&o, DIR) else {
        panic!("opened without the trainer");
    };
    assert_eq!(e.kind(), ErrorKind::NotSupported, "{e}");
}
