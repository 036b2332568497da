//! Statistics of a database, through the options that enable them.

use crate::harness::set_protocol;
use tempfile::TempDir;
use whitewater::checkpoint::Checkpoint;
use whitewater::statistics::{Histogram, StatsLevel, Ticker};
use whitewater::{
    CommitProtocol, CompactOptions, DB, DBCompressionType, ErrorKind, IteratorMode, Options,
    WriteBatch, WriteOptions, properties,
};

fn open(change: impl FnOnce(&mut Options)) -> (TempDir, DB, Options) {
    let dir = tempfile::tempdir().unwrap();
    let mut opts = Options::default();
    opts.create_if_missing(true);
    opts.enable_statistics();
    set_protocol(&mut opts);
    change(&mut opts);
    let db = DB::open(&opts, dir.path()).unwrap();
    (dir, db, opts)
}

fn tickers<const N: usize>(opts: &Options, tickers: [Ticker; N]) -> [u64; N] {
    tickers.map(|ticker| opts.get_ticker_count(ticker))
}

fn counts<const N: usize>(opts: &Options, histograms: [Histogram; N]) -> [u64; N] {
    histograms.map(|histogram| opts.get_histogram_data(histogram).count())
}

#[test]
fn writes_are_counted_by_what_they_did() {
    use Ticker::*;
    let (_dir, db, opts) = open(|_| {});
    let (mut synced, mut unlogged) = (WriteOptions::default(), WriteOptions::default());
    synced.set_sync(true);
    unlogged.disable_wal(true);
    db.put(b"a", b"1").unwrap();
    db.put_opt(b"b", b"1", &synced).unwrap();
    db.put_opt(b"c", b"1", &unlogged).unwrap();
    let mut batch = WriteBatch::default();
    batch.put(b"d", b"1");
    batch.delete(b"a");
    db.write(batch).unwrap();
    assert_eq!(
        tickers(
            &opts,
            [
                WriteDoneBySelf,
                WriteDoneByOther,
                WriteWithWal,
                NumberKeysWritten,
                WalFileSynced,
                WalWriteCalls,
                WalExtendCalls,
                StallMicros
            ]
        ),
        [4, 0, 3, 5, 1, 3, 0, 0]
    );
    let logged = opts.get_ticker_count(WalFileBytes);
    let written = opts.get_ticker_count(BytesWritten);
    assert!(logged > 0 && logged < written, "{logged} of {written}");
    let sizes = opts.get_histogram_data(Histogram::BytesPerWrite);
    assert_eq!((sizes.count(), sizes.sum()), (4, written));
    assert_eq!(
        counts(&opts, [Histogram::DbWrite, Histogram::WalFileSyncMicros]),
        [4, 1]
    );
    db.flush_wal(true).unwrap();
    assert_eq!(opts.get_ticker_count(WalFileSynced), 2);
    assert_eq!(counts(&opts, [Histogram::WalFileSyncMicros]), [2]);
}

#[test]
fn every_write_is_done_by_itself_or_by_another() {
    let (_dir, db, opts) = open(|_| {});
    std::thread::scope(|scope| {
        for thread in 0..4u8 {
            let db = &db;
            scope.spawn(move || {
                for i in 0..500u16 {
                    db.put([&[thread][..], &i.to_be_bytes()].concat(), b"v")
                        .unwrap();
                }
            });
        }
    });
    let [own, other, logged, groups] = tickers(
        &opts,
        [
            Ticker::WriteDoneBySelf,
            Ticker::WriteDoneByOther,
            Ticker::WriteWithWal,
            Ticker::WalWriteCalls,
        ],
    );
    assert_eq!((own + other, logged), (2000, 2000));
    assert_eq!(own, groups, "one record for a group");
    assert_eq!(counts(&opts, [Histogram::DbWrite]), [2000]);
}

#[test]
fn reads_and_jobs_have_their_histograms() {
    use Histogram::*;
    let (_dir, db, opts) = open(|_| {});
    db.put(b"a", b"123").unwrap();
    db.put(b"b", b"1").unwrap();
    assert!(db.get(b"a").unwrap().is_some());
    assert!(db.get(b"x").unwrap().is_none());
    let found = db.multi_get([b"a", b"b"]);
    assert!(found.iter().all(|value| matches!(value, Ok(Some(_)))));
    let mut iterator = db.raw_iterator();
    iterator.seek(b"a");
    iterator.seek_for_prev(b"b");
    iterator.seek_to_first();
    iterator.seek_to_last();
    iterator.prev();
    assert_eq!(iterator.key(), Some(&b"a"[..]));
    drop(iterator);
    assert_eq!(
        counts(&opts, [DbGet, DbMultiget, DbSeek, BytesPerRead]),
        [2, 1, 4, 1]
    );
    assert_eq!(opts.get_histogram_data(BytesPerRead).max(), 3.0);
    assert_eq!(opts.get_histogram_data(BytesPerMultiget).sum(), 4);

    assert_eq!(counts(&opts, [FlushTime, CompactionTime]), [0, 0]);
    db.flush().unwrap();
    db.put(b"a", b"2").unwrap();
    db.flush().unwrap();
    db.compact_range_opt(None::<&[u8]>, None::<&[u8]>, &CompactOptions::default());
    let [flushes, compactions] = counts(&opts, [FlushTime, CompactionTime]);
    assert_eq!(flushes, 2);
    assert!(compactions >= 1);
}

#[test]
fn steps_of_writes_are_for_the_detailed_level() {
    use Histogram::*;
    let (_dir, db, opts) = open(|_| {});
    db.put(b"a", b"1").unwrap();
    assert_eq!(
        counts(&opts, [DbWrite, WriteAppendNanos, WriteInsertNanos]),
        [1, 0, 0]
    );
    opts.set_statistics_level(StatsLevel::ExceptTimeForMutex);
    db.put(b"a", b"1").unwrap();
    assert_eq!(
        counts(&opts, [DbWrite, WriteAppendNanos, WriteInsertNanos]),
        [2, 1, 1]
    );
    opts.set_statistics_level(StatsLevel::DisableAll);
    db.put(b"a", b"1").unwrap();
    assert_eq!(counts(&opts, [DbWrite, BytesPerWrite]), [2, 2]);
    assert_eq!(opts.get_ticker_count(Ticker::NumberKeysWritten), 2);
}

#[test]
fn texts_are_the_same_everywhere_and_have_what_is_collected() {
    let (_dir, db, opts) = open(|_| {});
    db.put(b"a", b"1").unwrap();
    let text = opts.get_statistics().unwrap();
    let property = db.property_value(properties::OPTIONS_STATISTICS).unwrap();
    assert_eq!(property.as_deref(), Some(&text[..]));
    let names: Vec<&str> = text.lines().filter_map(|l| l.split(' ').next()).collect();
    let tickers = Ticker::iter()
        .filter(|t| t.is_collected())
        .map(Ticker::name);
    let histograms = Histogram::iter().filter(|h| h.is_collected());
    let expected: Vec<&str> = tickers.chain(histograms.map(Histogram::name)).collect();
    assert_eq!(names, expected);

    let off = Options::default();
    off.set_statistics_level(StatsLevel::All);
    assert_eq!(off.get_statistics(), None);
    assert_eq!(off.get_ticker_count(Ticker::WriteDoneBySelf), 0);
    assert_eq!(off.get_histogram_data(Histogram::DbWrite).count(), 0);
}

#[test]
fn the_documented_list_is_what_is_collected() {
    let text = include_str!("../../../../docs/observability.md");
    let listed = |line: &str| {
        let (name, collected) = line.strip_prefix("| `")?.split_once("` | ")?;
        let reason = collected.strip_prefix("no: ").unwrap_or_default();
        let known = collected == "yes |" || reason.len() > 5;
        let stat = name.starts_with("rocksdb.") || name.starts_with("whitewater.");
        assert!(known || !stat, "{line}");
        stat.then(|| (name.to_owned(), collected == "yes |"))
    };
    let listed: Vec<_> = text.lines().filter_map(listed).collect();
    let tickers = Ticker::iter().map(|t| (t.name().to_owned(), t.is_collected()));
    let histograms = Histogram::iter().map(|h| (h.name().to_owned(), h.is_collected()));
    assert_eq!(listed, tickers.chain(histograms).collect::<Vec<_>>());
}

#[test]
fn compactions_count_what_they_drop_and_why() {
    use Ticker::*;
    let (_dir, db, opts) = open(|o| o.set_disable_auto_compactions(true));
    for round in 0..2 {
        db.put(b"a", [round]).unwrap();
        db.put(b"m", [round]).unwrap();
        db.flush().unwrap();
    }
    db.delete(b"gone").unwrap();
    let mut range = WriteBatch::default();
    range.delete_range(b"m", b"n");
    db.write(range).unwrap();
    db.flush().unwrap();
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    assert_eq!(
        tickers(
            &opts,
            [
                CompactionKeyDropNewerEntry,
                CompactionKeyDropObsolete,
                CompactionKeyDropRangeDel,
                CompactionRangeDelDropObsolete,
                CompactionKeyDropUser,
            ]
        ),
        [1, 1, 2, 1, 0]
    );
    let [read, written, opened, deleted] = tickers(
        &opts,
        [
            CompactReadBytes,
            CompactWriteBytes,
            NoFileOpens,
            FilesDeletedImmediately,
        ],
    );
    assert!(read > written && written > 0);
    assert_eq!(deleted, 3);
    assert!(opened >= 3);
    assert_eq!(opts.get_ticker_count(NoFileErrors), 0);
    let files = opts.get_histogram_data(Histogram::NumFilesInSingleCompaction);
    assert_eq!((files.count(), files.sum()), (1, 3));
    assert_eq!(
        counts(
            &opts,
            [
                Histogram::CompactionTime,
                Histogram::CompactionCpuTime,
                Histogram::CompactionOutfileSyncMicros,
                Histogram::TableSyncMicros,
                Histogram::FlushTime,
                Histogram::NumSubcompactionsScheduled,
                Histogram::SubcompactionSetupTime,
            ]
        ),
        [1, 1, 1, 3, 3, 1, 1]
    );
    for histogram in [
        Histogram::ManifestFileSyncMicros,
        Histogram::TableOpenIoMicros,
        Histogram::SstReadMicros,
        Histogram::SstWriteMicros,
        Histogram::FileReadCompactionMicros,
        Histogram::FileWriteFlushMicros,
        Histogram::FileWriteCompactionMicros,
    ] {
        assert!(
            opts.get_histogram_data(histogram).count() > 0,
            "{histogram}"
        );
    }
    let [payload, garbage] = tickers(
        &opts,
        [MemtablePayloadBytesAtFlush, MemtableGarbageBytesAtFlush],
    );
    assert!(payload > 0 && garbage < payload);
}

#[test]
fn reads_count_where_they_ended_and_iterators_their_steps() {
    use Ticker::*;
    let (_dir, db, opts) = open(|o| o.set_disable_auto_compactions(true));
    db.put(b"a", b"12").unwrap();
    db.put(b"b", b"3").unwrap();
    db.flush().unwrap();
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    db.put(b"c", b"4").unwrap();
    db.flush().unwrap();
    db.get(b"a").unwrap();
    db.get(b"c").unwrap();
    let [l0, l1, deeper] = tickers(&opts, [GetHitL0, GetHitL1, GetHitL2AndUp]);
    assert_eq!((l0, l1 + deeper), (1, 1));
    db.multi_get([b"a", b"c", b"x"]);
    assert_eq!(
        tickers(
            &opts,
            [
                NumberMultigetCalls,
                NumberMultigetKeysRead,
                NumberMultigetKeysFound,
                NumberMultigetBytesRead
            ]
        ),
        [1, 3, 2, 3]
    );
    let mut iterator = db.raw_iterator();
    iterator.seek_to_first();
    iterator.next();
    iterator.prev();
    iterator.seek(b"z");
    drop(iterator);
    assert_eq!(
        tickers(
            &opts,
            [
                NumberDbSeek,
                NumberDbSeekFound,
                NumberDbNext,
                NumberDbNextFound,
                NumberDbPrev,
                NumberDbPrevFound,
                NoIteratorCreated,
                NoIteratorDeleted,
                IterBytesRead,
            ]
        ),
        [2, 1, 1, 1, 1, 1, 1, 1, 3 + 2 + 3]
    );
    let [seen, reads] = tickers(&opts, [NonLastLevelReadCount, LastLevelReadCount]);
    assert!(seen + reads > 0);
}

/// 200 values of 1000 bytes, which compress well or not at all.
fn write_values(db: &DB, compressible: bool) {
    let mut noise = 1u64;
    let mut byte = || {
        // The high bits of a linear congruential generator.
        noise = noise
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        if compressible {
            b'v'
        } else {
            (noise >> 56) as u8
        }
    };
    for n in 0..200u32 {
        let value: Vec<u8> = (0..1000).map(|_| byte()).collect();
        db.put(n.to_be_bytes(), value).unwrap();
    }
}

const DID: [Ticker; 7] = [
    Ticker::NumberBlockCompressed,
    Ticker::BytesCompressedFrom,
    Ticker::BytesCompressedTo,
    Ticker::NumberBlockCompressionRejected,
    Ticker::BytesCompressionRejected,
    Ticker::NumberBlockCompressionBypassed,
    Ticker::BytesCompressionBypassed,
];

fn compressed_by(codec: DBCompressionType) -> (TempDir, DB, Options) {
    open(|opts| {
        opts.set_disable_auto_compactions(true);
        opts.set_compression_type(codec);
        opts.set_statistics_level(StatsLevel::ExceptTimeForMutex);
    })
}

#[test]
fn what_compression_did_to_blocks_is_counted() {
    use Ticker::*;
    let (_dir, db, opts) = compressed_by(DBCompressionType::Lz4);
    write_values(&db, true);
    db.flush().unwrap();
    let [compressed, from, to, rejected, _, bypassed, bypassed_bytes] = tickers(&opts, DID);
    assert!(compressed >= 20 && from >= 200_000 && to < from / 10);
    assert_eq!((bypassed, bypassed_bytes), (0, 0));
    let [times] = counts(&opts, [Histogram::CompressionTimesNanos]);
    assert_eq!(times, compressed + rejected);

    assert_eq!(db.iterator(IteratorMode::Start).count(), 200);
    let undid = [
        NumberBlockDecompressed,
        BytesDecompressedFrom,
        BytesDecompressedTo,
    ];
    assert_eq!(tickers(&opts, undid), [compressed, to, from]);
    let times = [
        Histogram::DecompressionTimesNanos,
        Histogram::ReadBlockGetMicros,
        Histogram::WriteRawBlockMicros,
    ];
    let [times, reads, written] = counts(&opts, times);
    assert_eq!(times, compressed);
    assert!(reads >= 20 && reads <= compressed + rejected);
    // Blocks of properties and the like count, too.
    assert!(written > compressed + rejected);
    let [checked, wrong] = tickers(
        &opts,
        [BlockChecksumComputeCount, BlockChecksumMismatchCount],
    );
    assert!(checked > reads && wrong == 0);
}

#[test]
fn blocks_that_are_not_compressed_are_counted_by_the_reason() {
    let (_dir, db, opts) = compressed_by(DBCompressionType::Lz4);
    write_values(&db, false);
    db.flush().unwrap();
    let [_, _, _, rejected, rejected_bytes, ..] = tickers(&opts, DID);
    assert!(rejected >= 20 && rejected_bytes >= 200_000);

    let (_dir, db, opts) = compressed_by(DBCompressionType::None);
    for _ in 0..2 {
        write_values(&db, true);
        db.flush().unwrap();
    }
    let [compressed, _, _, rejected, _, bypassed, bypassed_bytes] = tickers(&opts, DID);
    assert_eq!((compressed, rejected), (0, 0));
    assert!(bypassed >= 40 && bypassed_bytes >= 400_000);
    let reads = [
        Histogram::ReadBlockGetMicros,
        Histogram::ReadBlockCompactionMicros,
    ];
    assert_eq!(counts(&opts, reads), [0, 0]);
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    let [gets, compactions] = counts(&opts, reads);
    assert!(gets == 0 && compactions >= 40, "{gets} {compactions}");
}

#[test]
fn blocks_with_wrong_checksums_are_counted() {
    let (dir, db, opts) = open(|_| {});
    write_values(&db, false);
    db.flush().unwrap();
    let name = db.live_files().unwrap()[0].name.clone();
    let path = dir.path().join(name.trim_start_matches('/'));
    drop(db);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[100] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let db = DB::open(&opts, dir.path()).unwrap();
    assert_eq!(opts.get_ticker_count(Ticker::BlockChecksumMismatchCount), 0);
    let e = db.get(0u32.to_be_bytes()).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Corruption);
    assert_eq!(opts.get_ticker_count(Ticker::BlockChecksumMismatchCount), 1);
}

#[test]
fn values_overwritten_in_place_are_counted() {
    let (_dir, db, opts) = open(|opts| {
        opts.set_commit_protocol(CommitProtocol::Grouped);
        opts.set_allow_concurrent_memtable_write(false);
        opts.set_inplace_update_support(true);
    });
    for value in ["long enough", "shorter", "much longer than it was"] {
        db.put(b"a", value).unwrap();
    }
    db.put(b"b", b"1").unwrap();
    let counted = [Ticker::NumberKeysWritten, Ticker::NumberKeysUpdated];
    assert_eq!(tickers(&opts, counted), [4, 1]);
}

#[test]
fn bytes_copied_for_a_checkpoint_are_counted() {
    let (dir, db, opts) = open(|_| {});
    write_values(&db, false);
    let copied = [Ticker::CheckpointReadBytes, Ticker::CheckpointWriteBytes];
    assert_eq!(tickers(&opts, copied), [0, 0]);
    let target = dir.path().join("copy");
    // The log is copied, not flushed.
    let checkpoint = Checkpoint::new(&db).unwrap();
    checkpoint
        .create_checkpoint_with_log_size(&target, u64::MAX)
        .unwrap();
    let [read, written] = tickers(&opts, copied);
    assert!(read >= 200_000 && read == written, "{read} {written}");
}
