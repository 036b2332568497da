//! The table of benchmarks, in the order of the help.

use whitewater_storage::checksum::ChecksumType;

use super::plan::{Benchmark, Beside, Task};

const fn fill(name: &'static str, task: Task, help: &'static str) -> Benchmark {
    Benchmark {
        name,
        task,
        fresh: true,
        beside: None,
        help,
    }
}

const fn on_existing(name: &'static str, task: Task, help: &'static str) -> Benchmark {
    Benchmark {
        name,
        task,
        fresh: false,
        beside: None,
        help,
    }
}

const fn with_thread(
    name: &'static str,
    task: Task,
    beside: Beside,
    help: &'static str,
) -> Benchmark {
    Benchmark {
        name,
        task,
        fresh: false,
        beside: Some(beside),
        help,
    }
}

/// Every benchmark, in the order of the help.
pub const BENCHMARKS: &[Benchmark] = &[
    fill(
        "fillseq",
        Task::FillSequential,
        "write num values in key order, on a fresh database",
    ),
    fill(
        "fillrandom",
        Task::FillRandom,
        "write num values in random key order, on a fresh database",
    ),
    fill(
        "filluniquerandom",
        Task::FillUnique,
        "write each key once in random order, on a fresh database; one thread",
    ),
    fill(
        "fillbatch",
        Task::FillSequential,
        "fillseq with 1000 entries in each batch",
    ),
    fill(
        "fillsync",
        Task::FillRandom,
        "fillrandom with synced writes, over num/1000 keys",
    ),
    fill(
        "fill100K",
        Task::FillRandom,
        "fillrandom with 100,000-byte values, over num/1000 keys",
    ),
    on_existing(
        "fillseekseq",
        Task::FillAndSeek,
        "write num values in key order, then seek each key; only the seeks are timed",
    ),
    on_existing(
        "overwrite",
        Task::FillRandom,
        "overwrite num values in random key order",
    ),
    on_existing(
        "updaterandom",
        Task::Update,
        "read random keys and write them back",
    ),
    on_existing(
        "xorupdaterandom",
        Task::Xor,
        "read random keys and write them back changed by XOR",
    ),
    on_existing(
        "appendrandom",
        Task::Append,
        "read random keys and write them back with a value appended",
    ),
    on_existing(
        "mergerandom",
        Task::Merge,
        "merge into random keys; needs --merge_operator",
    ),
    on_existing("readrandom", Task::ReadRandom, "read random keys"),
    on_existing(
        "readrandomfast",
        Task::ReadFast,
        "read random keys, some beyond num, which do not exist",
    ),
    on_existing(
        "readrandomsmall",
        Task::ReadRandom,
        "readrandom with reads/1000 reads",
    ),
    on_existing(
        "readhot",
        Task::ReadRandom,
        "read random keys among the first hundredth",
    ),
    on_existing(
        "readmissing",
        Task::ReadRandom,
        "read keys that do not exist",
    ),
    on_existing(
        "multireadrandom",
        Task::MultiRead,
        "read --batch_size random keys at once",
    ),
    on_existing("readseq", Task::Scan, "read in key order"),
    on_existing(
        "readtocache",
        Task::Scan,
        "one thread reads num entries in key order",
    ),
    on_existing(
        "readreverse",
        Task::ScanReverse,
        "read in reverse key order",
    ),
    on_existing(
        "seekrandom",
        Task::Seek,
        "seek random keys and read --seek_nexts entries after each",
    ),
    on_existing("newiterator", Task::NewIterator, "create iterators"),
    on_existing(
        "newsnapshot",
        Task::NewSnapshot,
        "take and release snapshots",
    ),
    on_existing(
        "approximatesizerandom",
        Task::ApproximateSizes,
        "get the approximate sizes of --batch_size random ranges at once",
    ),
    with_thread(
        "overwritewhilechecking",
        Task::FillRandom,
        Beside::CheckSnapshots,
        "overwrite while one thread checks that snapshots do not change",
    ),
    with_thread(
        "readwhilewriting",
        Task::ReadRandom,
        Beside::Put,
        "readrandom while one thread writes",
    ),
    with_thread(
        "readwhilemerging",
        Task::ReadRandom,
        Beside::Merge,
        "readrandom while one thread merges",
    ),
    with_thread(
        "readwhilescanning",
        Task::ReadRandom,
        Beside::Scan,
        "readrandom while one thread scans everything, which counts as well",
    ),
    with_thread(
        "multireadwhilewriting",
        Task::MultiRead,
        Beside::Put,
        "multireadrandom while one thread writes",
    ),
    with_thread(
        "newiteratorwhilewriting",
        Task::NewIterator,
        Beside::Put,
        "newiterator while one thread writes",
    ),
    with_thread(
        "seekrandomwhilewriting",
        Task::Seek,
        Beside::Put,
        "seekrandom while one thread writes",
    ),
    with_thread(
        "seekrandomwhilemerging",
        Task::Seek,
        Beside::Merge,
        "seekrandom while one thread merges",
    ),
    on_existing(
        "readrandomwriterandom",
        Task::ReadAndWrite,
        "read --readwritepercent percent of random keys and write the others",
    ),
    on_existing(
        "readrandommergerandom",
        Task::ReadAndMerge,
        "merge into --mergereadpercent percent of random keys and read the others; needs --merge_operator",
    ),
    on_existing(
        "randomwithverify",
        Task::Verify,
        "read, write and delete groups of three keys and verify them",
    ),
    on_existing(
        "randomtransaction",
        Task::Transact,
        "transactions that add the same number to a random key in each of --transaction_sets sets, verified at the end; without --transaction_db batches that do, and no verification",
    ),
    fill(
        "randomreplacekeys",
        Task::Replace,
        "delete keys and put their successors, on a fresh database",
    ),
    fill(
        "timeseries",
        Task::TimeSeries,
        "one thread writes ids with times while the others read all entries of an id, on a fresh database",
    ),
    on_existing(
        "mixgraph",
        Task::Mix,
        "read, write and scan with the distributions of a social graph",
    ),
    on_existing("deleteseq", Task::DeleteSequential, "delete in key order"),
    on_existing("deleterandom", Task::DeleteRandom, "delete random keys"),
    on_existing(
        "ingestexternalfile",
        Task::Ingest,
        "write tables of num keys each outside the database and ingest them, in one thread",
    ),
    on_existing(
        "crc32c",
        Task::Checksum(ChecksumType::CRC32c),
        "checksum a block of --block_size bytes again and again, 5000 MiB in total",
    ),
    on_existing(
        "xxhash",
        Task::Checksum(ChecksumType::XXHash),
        "crc32c, but with 32-bit xxHash",
    ),
    on_existing(
        "xxhash64",
        Task::Checksum(ChecksumType::XXHash64),
        "crc32c, but with 64-bit xxHash",
    ),
    on_existing(
        "xxh3",
        Task::Checksum(ChecksumType::XXH3),
        "crc32c, but with XXH3",
    ),
    on_existing(
        "compress",
        Task::Compress,
        "compress a block of --block_size bytes with --compression_type, 1 GiB in total",
    ),
    on_existing(
        "uncompress",
        Task::Uncompress,
        "uncompress such a block, 1 GiB in total",
    ),
    on_existing(
        "verifychecksum",
        Task::VerifyTables { whole_files: false },
        "read all tables and verify the checksum of every block",
    ),
    on_existing(
        "verifyfilechecksums",
        Task::VerifyTables { whole_files: true },
        "verify the checksum of each whole table that has one in the manifest",
    ),
    on_existing("compact", Task::Compact, "compact the whole database"),
    on_existing(
        "compactall",
        Task::CompactAll,
        "compact the whole database, except tables of the lowest level that overlap nothing",
    ),
    on_existing(
        "compact0",
        Task::CompactLevel0,
        "compact level 0 into the next level that has files",
    ),
    on_existing(
        "backup",
        Task::BackUp,
        "make a backup in --backup_dir, whose other backups are removed; one thread",
    ),
    on_existing(
        "restore",
        Task::Restore,
        "restore the newest backup of --backup_dir into --restore_dir; one thread",
    ),
    on_existing("flush", Task::Flush, "flush the memtable"),
    on_existing(
        "waitforcompaction",
        Task::WaitForCompaction,
        "wait until no flush or compaction is pending",
    ),
    on_existing(
        "stats",
        Task::Property(&["rocksdb.stats"]),
        "print the engine's statistics",
    ),
    on_existing(
        "levelstats",
        Task::Property(&["rocksdb.levelstats"]),
        "print the number and size of the files of each level",
    ),
    on_existing(
        "sstables",
        Task::Property(&["rocksdb.sstables"]),
        "print the list of table files",
    ),
    on_existing(
        "memstats",
        Task::Property(MEMTABLE_PROPERTIES),
        "print the sizes of the memtables",
    ),
    on_existing(
        "memory",
        Task::Property(&["whitewater.memory"]),
        "print what takes memory, by part, in bytes (this engine only)",
    ),
];

const MEMTABLE_PROPERTIES: &[&str] = &[
    "rocksdb.num-immutable-mem-table",
    "rocksdb.cur-size-active-mem-table",
    "rocksdb.cur-size-all-mem-tables",
    "rocksdb.size-all-mem-tables",
    "rocksdb.num-entries-active-mem-table",
    "rocksdb.num-entries-imm-mem-tables",
];
