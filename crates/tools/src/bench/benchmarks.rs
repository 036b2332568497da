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
        "write num values in key order, then seek each key; seeks are measured",
    ),
    on_existing(
        "overwrite",
        Task::FillRandom,
        "overwrite num values in random key order",
    ),
    on_existing(
        "updaterandom",
        Task::Update,
        "read, then write, random keys",
    ),
    on_existing(
        "xorupdaterandom",
        Task::Xor,
        "read random keys, write them back changed by exclusive or",
    ),
    on_existing(
        "appendrandom",
        Task::Append,
        "read random keys, write them back longer by a value",
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
        "readrandom with reads/1000",
    ),
    on_existing(
        "readhot",
        Task::ReadRandom,
        "read random keys of the first hundredth",
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
    on_existing("readreverse", Task::ScanReverse, "read against key order"),
    on_existing(
        "seekrandom",
        Task::Seek,
        "seek random keys, then read --seek_nexts entries",
    ),
    on_existing("newiterator", Task::NewIterator, "make iterators"),
    on_existing(
        "approximatesizerandom",
        Task::ApproximateSizes,
        "ask for the sizes of --batch_size random ranges at once",
    ),
    with_thread(
        "readwhilewriting",
        Task::ReadRandom,
        Beside::Put,
        "readrandom beside one writer",
    ),
    with_thread(
        "readwhilemerging",
        Task::ReadRandom,
        Beside::Merge,
        "readrandom beside one merging writer",
    ),
    with_thread(
        "readwhilescanning",
        Task::ReadRandom,
        Beside::Scan,
        "readrandom beside one scan of everything, which counts, too",
    ),
    with_thread(
        "multireadwhilewriting",
        Task::MultiRead,
        Beside::Put,
        "multireadrandom beside one writer",
    ),
    with_thread(
        "newiteratorwhilewriting",
        Task::NewIterator,
        Beside::Put,
        "newiterator beside one writer",
    ),
    with_thread(
        "seekrandomwhilewriting",
        Task::Seek,
        Beside::Put,
        "seekrandom beside one writer",
    ),
    with_thread(
        "seekrandomwhilemerging",
        Task::Seek,
        Beside::Merge,
        "seekrandom beside one merging writer",
    ),
    on_existing(
        "readrandomwriterandom",
        Task::ReadAndWrite,
        "read --readwritepercent of 100 random keys, write the others",
    ),
    on_existing(
        "readrandommergerandom",
        Task::ReadAndMerge,
        "merge into --mergereadpercent of 100 random keys, read the others; needs --merge_operator",
    ),
    on_existing(
        "randomwithverify",
        Task::Verify,
        "read, write and delete groups of three keys, and check them",
    ),
    fill(
        "randomreplacekeys",
        Task::Replace,
        "delete keys and put their successors, on a fresh database",
    ),
    fill(
        "timeseries",
        Task::TimeSeries,
        "one thread writes ids with times, the others read all entries of an id, on a fresh database",
    ),
    on_existing(
        "mixgraph",
        Task::Mix,
        "reads, writes and scans by the distributions of a social graph",
    ),
    on_existing("deleteseq", Task::DeleteSequential, "delete in key order"),
    on_existing("deleterandom", Task::DeleteRandom, "delete random keys"),
    on_existing(
        "ingestexternalfile",
        Task::Ingest,
        "make tables of num keys each outside of the database, and ingest them; one thread",
    ),
    on_existing(
        "crc32c",
        Task::Checksum(ChecksumType::CRC32c),
        "checksum a block of --block_size bytes, 5000 MiB in all, as tables do",
    ),
    on_existing(
        "xxhash",
        Task::Checksum(ChecksumType::XXHash),
        "crc32c with xxHash of 32 bits",
    ),
    on_existing(
        "xxhash64",
        Task::Checksum(ChecksumType::XXHash64),
        "crc32c with xxHash of 64 bits",
    ),
    on_existing(
        "xxh3",
        Task::Checksum(ChecksumType::XXH3),
        "crc32c with XXH3",
    ),
    on_existing(
        "compress",
        Task::Compress,
        "compress a block of --block_size bytes by --compression_type, 1 GiB in all",
    ),
    on_existing(
        "uncompress",
        Task::Uncompress,
        "uncompress such a block, to 1 GiB in all",
    ),
    on_existing(
        "verifychecksum",
        Task::VerifyTables { whole_files: false },
        "read all tables and check every block, measured",
    ),
    on_existing(
        "verifyfilechecksums",
        Task::VerifyTables { whole_files: true },
        "check each table as a whole, where the manifest has its checksum",
    ),
    on_existing(
        "compact",
        Task::Compact,
        "compact the whole database, measured",
    ),
    on_existing(
        "compactall",
        Task::CompactAll,
        "compact the whole database but for what lies on the lowest level alone",
    ),
    on_existing(
        "compact0",
        Task::CompactLevel0,
        "compact what is in level 0 into the next level that has files",
    ),
    on_existing("flush", Task::Flush, "flush the memtable"),
    on_existing(
        "waitforcompaction",
        Task::WaitForCompaction,
        "wait until flushes and compactions have come to rest",
    ),
    on_existing(
        "stats",
        Task::Property(&["rocksdb.stats"]),
        "print the engine's statistics",
    ),
    on_existing(
        "levelstats",
        Task::Property(&["rocksdb.levelstats"]),
        "print files and bytes of each level",
    ),
    on_existing(
        "sstables",
        Task::Property(&["rocksdb.sstables"]),
        "print the table files",
    ),
    on_existing(
        "memstats",
        Task::Property(MEMTABLE_PROPERTIES),
        "print sizes of the memtables",
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
