//! Reads through the blob cache, and what statistics say.

use super::{RECORD_HEADER, compact, content, large, open, options, property};
use whitewater::fs::mem::MemFs;
use whitewater::statistics::{Histogram, Ticker};
use whitewater::{
    Cache, DBCompressionType, ErrorKind, IteratorMode, PrepopulateBlobCache, ReadOptions, ReadTier,
};

#[test]
fn values_are_read_from_their_file_once() {
    let fs = MemFs::new();
    let mut o = options(&fs);
    let cache = Cache::new_lru_cache(1 << 20);
    o.set_blob_cache(&cache);
    o.set_blob_compression_type(DBCompressionType::Lz4);
    o.enable_statistics();
    let db = open(&o);
    for i in 0..20u8 {
        db.put([i], large(i, 1_000)).unwrap();
    }
    db.flush().unwrap();
    assert_eq!(cache.get_usage(), 0);
    let ticker = |t: Ticker| o.get_ticker_count(t);
    let no_fill = || {
        let mut read = ReadOptions::default();
        read.fill_cache(false);
        read
    };
    assert_eq!(db.get_opt([7], &no_fill()), Ok(Some(large(7, 1_000))));
    assert_eq!((ticker(Ticker::BlobDbCacheMiss), cache.get_usage()), (1, 0));
    let memory = || {
        let mut read = ReadOptions::default();
        read.set_read_tier(ReadTier::BlockCache);
        read
    };
    let refused = db.get_opt([7], &memory()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Incomplete);
    assert_eq!(db.get([7]), Ok(Some(large(7, 1_000))));
    assert_eq!(db.get_opt([7], &memory()), Ok(Some(large(7, 1_000))));
    assert_eq!(ticker(Ticker::BlobDbCacheAdd), 1);
    assert_eq!(ticker(Ticker::BlobDbCacheBytesWrite), 1_000);
    assert_eq!(ticker(Ticker::BlobDbCacheHit), 1);
    assert_eq!(ticker(Ticker::BlobDbCacheBytesRead), 1_000);
    let read = ticker(Ticker::BlobDbBlobFileBytesRead);
    assert!(read > 2 * RECORD_HEADER);
    let all = db.iterator(IteratorMode::Start);
    assert_eq!(all.filter(Result::is_ok).count(), 20);
    let all = db.iterator_opt(IteratorMode::End, memory());
    assert_eq!(all.filter(Result::is_ok).count(), 20);
    assert_eq!(ticker(Ticker::BlobDbCacheAdd), 20);
    assert!(property(&db, "blob-cache-usage") > 20_000);
    assert_eq!(property(&db, "blob-cache-capacity"), 1 << 20);
    assert_eq!(property(&db, "blob-cache-pinned-usage"), 0);
    let pinned = db.get_pinned([7]).unwrap().unwrap();
    assert!(property(&db, "blob-cache-pinned-usage") > 1_000);
    drop(pinned);
    let histogram = |h: Histogram| o.get_histogram_data(h).count();
    assert_eq!(histogram(Histogram::BlobDbCompressionMicros), 20);
    assert!(histogram(Histogram::BlobDbDecompressionMicros) >= 20);
    assert!(histogram(Histogram::BlobDbBlobFileReadMicros) >= 20);
    assert!(histogram(Histogram::BlobDbBlobFileWriteMicros) > 0);
    assert_eq!(histogram(Histogram::BlobDbBlobFileSyncMicros), 1);
    assert_eq!(ticker(Ticker::BlobDbBlobFileSynced), 1);
    let size = property(&db, "live-blob-file-size");
    assert_eq!(ticker(Ticker::BlobDbBlobFileBytesWritten), size);
}

/// A file's values are cached under a number that no other file has.
#[test]
fn caches_are_shared_by_databases() {
    let cache = Cache::new_lru_cache(1 << 20);
    let dbs: Vec<_> = (0..3u8)
        .map(|n| {
            let mut o = options(&MemFs::new());
            o.set_blob_cache(&cache);
            let db = open(&o);
            for i in 0..20u8 {
                db.put([i], large(n * 20 + i, 300)).unwrap();
            }
            db.flush().unwrap();
            db
        })
        .collect();
    for _ in 0..2 {
        for (n, db) in (0..).zip(&dbs) {
            let expected: Vec<_> = (0..20).map(|i| (vec![i], large(n * 20 + i, 300))).collect();
            assert!(content(db) == expected, "{n}");
        }
    }
}

#[test]
fn a_full_cache_with_a_strict_limit_refuses_no_read() {
    let fs = MemFs::new();
    let mut o = options(&fs);
    let mut lru = whitewater::LruCacheOptions::default();
    lru.set_capacity(100);
    lru.set_num_shard_bits(0);
    lru.set_strict_capacity_limit(true);
    o.set_blob_cache(&Cache::new_lru_cache_opts(&lru));
    o.enable_statistics();
    let db = open(&o);
    db.put("a", large(1, 5_000)).unwrap();
    db.flush().unwrap();
    assert_eq!(content(&db), [(b"a".to_vec(), large(1, 5_000))]);
    assert!(o.get_ticker_count(Ticker::BlobDbCacheMiss) > 0);
    assert_eq!(o.get_ticker_count(Ticker::BlobDbCacheHit), 0);
}

#[test]
fn compactions_read_ahead_and_leave_the_cache_alone() {
    let reads = |ahead: u64| {
        let fs = MemFs::new();
        let mut o = options(&fs);
        let mut cache = Cache::new_lru_cache(1 << 20);
        o.set_blob_cache(&cache);
        o.set_enable_blob_gc(true);
        o.set_blob_gc_age_cutoff(1.0);
        o.set_blob_compaction_readahead_size(ahead);
        o.enable_statistics();
        let db = open(&o);
        for i in 0..100u8 {
            db.put([i], large(i, 300)).unwrap();
        }
        db.flush().unwrap();
        let before = content(&db);
        let cached = cache.get_usage();
        let reads = |o: &whitewater::Options| {
            let histogram = o.get_histogram_data(Histogram::BlobDbBlobFileReadMicros);
            histogram.count()
        };
        cache.set_capacity(0);
        cache.set_capacity(1 << 20);
        let count = reads(&o);
        compact(&db);
        let count = reads(&o) - count;
        assert!(cached > 0 && cache.get_usage() == 0);
        assert!(content(&db) == before);
        count
    };
    assert_eq!(reads(0), 100);
    assert!(reads(10_000) < 10);
    assert_eq!(reads(1 << 30), 1);
}

/// An option whose database has a blob cache and its values in blob files, and a key for each.
fn warmed(fs: &MemFs, cache: &Cache) -> whitewater::Options {
    let mut o = options(fs);
    o.set_blob_cache(cache);
    o.set_blob_file_size(3_000);
    o.set_blob_compression_type(DBCompressionType::Lz4);
    o.set_prepopulate_blob_cache(PrepopulateBlobCache::FlushOnly);
    o.enable_statistics();
    o
}

#[test]
fn flushes_fill_the_cache_with_what_they_write() {
    for max_open_files in [-1, 1] {
        let (fs, cache) = (MemFs::new(), Cache::new_lru_cache(1 << 20));
        let mut o = warmed(&fs, &cache);
        o.set_max_open_files(max_open_files);
        let db = open(&o);
        let ticker = |t: Ticker| o.get_ticker_count(t);
        let fill = |salt: u8| {
            (0..20).for_each(|i| db.put([i], large(i ^ salt, 1_000)).unwrap());
            db.flush().unwrap();
        };
        let expected =
            |salt: u8| -> Vec<_> { (0..20).map(|i| (vec![i], large(i ^ salt, 1_000))).collect() };
        fill(0);
        assert_eq!(ticker(Ticker::BlobDbCacheAdd), 20);
        assert_eq!(ticker(Ticker::BlobDbCacheBytesWrite), 20_000);
        assert!(property(&db, "num-blob-files") > 1);
        assert!(content(&db) == expected(0));
        assert_eq!(ticker(Ticker::BlobDbCacheMiss), 0, "{max_open_files}");
        assert_eq!(ticker(Ticker::BlobDbBlobFileBytesRead), 0);
        // Compactions do not fill it. It can be switched while the database is open.
        db.set_options(&[("enable_blob_garbage_collection", "true")])
            .unwrap();
        db.set_options(&[("blob_garbage_collection_age_cutoff", "1")])
            .unwrap();
        compact(&db);
        assert_eq!(ticker(Ticker::BlobDbCacheAdd), 20);
        db.set_options(&[("prepopulate_blob_cache", "kDisable")])
            .unwrap();
        fill(64);
        assert_eq!(ticker(Ticker::BlobDbCacheAdd), 20);
        assert!(content(&db) == expected(64));
        assert_eq!(ticker(Ticker::BlobDbCacheMiss), 20);
    }
}

/// A file of another database or session may have the same number.
#[test]
fn what_flushes_have_cached_is_found_by_their_own_database_only() {
    let cache = Cache::new_lru_cache(1 << 20);
    let stores: Vec<_> = (0..2).map(|_| MemFs::new()).collect();
    let value = |n: usize, i: u8| large(n as u8 * 20 + i, 300);
    for (n, fs) in stores.iter().enumerate() {
        let db = open(&warmed(fs, &cache));
        (0..20).for_each(|i| db.put([i], value(n, i)).unwrap());
        db.flush().unwrap();
    }
    for (n, fs) in stores.iter().enumerate() {
        let o = warmed(fs, &cache);
        let db = open(&o);
        let expected: Vec<_> = (0..20).map(|i| (vec![i], value(n, i))).collect();
        assert!(content(&db) == expected, "{n}");
        assert_eq!(o.get_ticker_count(Ticker::BlobDbCacheMiss), 20);
    }
}

#[test]
fn a_flush_goes_on_without_room_in_the_cache() {
    let fs = MemFs::new();
    let mut lru = whitewater::LruCacheOptions::default();
    lru.set_capacity(100);
    lru.set_num_shard_bits(0);
    lru.set_strict_capacity_limit(true);
    let o = warmed(&fs, &Cache::new_lru_cache_opts(&lru));
    let db = open(&o);
    db.put("a", large(1, 5_000)).unwrap();
    db.flush().unwrap();
    assert_eq!(o.get_ticker_count(Ticker::BlobDbCacheAddFailures), 1);
    assert_eq!(content(&db), [(b"a".to_vec(), large(1, 5_000))]);
}

#[test]
fn values_are_compressed_as_blob_compression_opts_ask() {
    let size = |set: fn(&mut whitewater::Options)| {
        let fs = MemFs::new();
        let mut o = options(&fs);
        o.set_blob_compression_type(DBCompressionType::Zlib);
        set(&mut o);
        let db = open(&o);
        let value: Vec<u8> = (0..20_000u32).map(|i| (i * i / 7 % 64) as u8).collect();
        db.put("a", &value).unwrap();
        db.flush().unwrap();
        assert_eq!(db.get("a").unwrap(), Some(value));
        property(&db, "live-blob-file-size")
    };
    let stored = size(|o| o.set_blob_compression_options(-14, 0, 0));
    let smaller = size(|o| o.set_blob_compression_options(-14, 9, 0));
    assert!(stored > 20_000 && smaller < stored, "{stored} {smaller}");
    assert_eq!(
        size(|_| ()),
        size(|o| o.set_blob_compression_options(-14, 6, 0))
    );
    // Those of tables are others.
    assert_eq!(
        size(|_| ()),
        size(|o| o.set_compression_options(-14, 0, 0, 0))
    );
    let mut o = options(&MemFs::new());
    o.set_blob_compression_type(DBCompressionType::Zlib);
    o.set_blob_compression_options(-14, 6, 7);
    let e = super::Db::open(&o, super::DIR).unwrap_err();
    assert!(
        e.to_string()
            .contains("option blob_compression_opts: strategy = 7"),
        "{e}"
    );
}
