//! Options of compaction: styles, ages, priorities.

use super::Options;
use super::enums::{CompactionPri, DBCompactionStyle, UniversalCompactionStopStyle};
use crate::options::compaction::{DeletionTrigger, FifoOptions, UniversalOptions};

/// Options of universal compaction.
///
/// A *sorted run* is a table of level 0 or all of a deeper level. When there
/// are [`level0_file_num_compaction_trigger`] of them, the first of these rules
/// that has something to merge does it:
///
/// 1. space: everything, when the newer runs together reach
///    [`max_size_amplification_percent`](Self::set_max_size_amplification_percent)
///    of the oldest;
/// 2. sizes: neighbours in age, from the newest on, as long as the next is not
///    larger than [`size_ratio`](Self::set_size_ratio) allows;
/// 3. number: as many neighbours as it takes to be down to the trigger.
///
/// The result goes as deep as it can without passing an older run.
///
/// [`level0_file_num_compaction_trigger`]: Options::set_level_zero_file_num_compaction_trigger
#[derive(Debug, Clone, Default)]
pub struct UniversalCompactOptions {
    options: UniversalOptions,
}

/// RocksDB keeps these as unsigned numbers: a negative one is a large one.
fn unsigned(number: i32) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

impl UniversalCompactOptions {
    /// Percent by which a run may be larger than what it is compared with, to
    /// be merged along. Default 1; a negative number is no limit.
    pub fn set_size_ratio(&mut self, ratio: i32) {
        self.options.size_ratio = unsigned(ratio);
    }

    /// Fewest runs that are merged by size. Default 2, the least there is.
    pub fn set_min_merge_width(&mut self, num: i32) {
        self.options.min_merge_width = unsigned(num);
    }

    /// Most runs that are merged by size or number. Default, and with negative
    /// numbers, no limit.
    pub fn set_max_merge_width(&mut self, num: i32) {
        self.options.max_merge_width = unsigned(num);
    }

    /// Bytes of all runs but the oldest, in percent of the oldest, at which
    /// everything is merged: how much space may be lost to old versions.
    /// Default 200; a negative number is no limit.
    pub fn set_max_size_amplification_percent(&mut self, v: i32) {
        self.options.max_size_amplification_percent = unsigned(v);
    }

    /// Share of the data, the oldest first, that is compressed by merges of
    /// newer data. Percent; -1, the default, is all of it.
    pub fn set_compression_size_percent(&mut self, v: i32) {
        self.options.compression_size_percent = v;
    }

    /// What the size of the next run is compared with. Default
    /// [`Total`](UniversalCompactionStopStyle::Total).
    pub fn set_stop_style(&mut self, style: UniversalCompactionStopStyle) {
        self.options.stop_style = style.into();
    }
}

/// Options of FIFO compaction.
#[derive(Debug, Clone, Default)]
pub struct FifoCompactOptions {
    options: FifoOptions,
}

impl FifoCompactOptions {
    /// Bytes of all tables over which the oldest are deleted. Default 1 GiB.
    pub fn set_max_table_files_size(&mut self, nbytes: u64) {
        self.options.max_table_files_size = nbytes;
    }
}

/// Options of compaction.
impl Options {
    /// How tables are organized.
    ///
    /// **Option `compaction_style`**: default `kCompactionStyleLevel`; fixed while the database is
    /// open.
    ///
    /// A database can be opened with another style than it was written with,
    /// if there are as many levels as it uses; compactions then bring it into
    /// its new form as they become due, FIFO by deleting.
    pub fn set_compaction_style(&mut self, style: DBCompactionStyle) {
        self.cf.compaction_style = style.into();
    }

    /// Options of universal compaction.
    ///
    /// **Option `compaction_options_universal`**: several parts, each with a default of its own;
    /// can be changed while the database is open.
    pub fn set_universal_compaction_options(&mut self, uco: &UniversalCompactOptions) {
        self.cf.compaction_options_universal = uco.options.clone();
    }

    /// Options of FIFO compaction.
    ///
    /// **Option `compaction_options_fifo`**: several parts, each with a default of its own; can be
    /// changed while the database is open.
    pub fn set_fifo_compaction_options(&mut self, fco: &FifoCompactOptions) {
        self.cf.compaction_options_fifo = fco.options.clone();
    }

    /// Universal compaction, with memtables of about `memtable_memory_budget`
    /// bytes together. Compression is left as it is; the newest fifth of the data
    /// is not compressed by merges.
    pub fn optimize_universal_style_compaction(&mut self, memtable_memory_budget: usize) {
        let cf = &mut self.cf;
        cf.write_buffer_size = memtable_memory_budget / 4;
        cf.min_write_buffer_number_to_merge = 2;
        cf.max_write_buffer_number = 6;
        cf.compaction_style = DBCompactionStyle::Universal.into();
        cf.compaction_options_universal.compression_size_percent = 80;
    }

    /// Which table of a level is compacted first. Only with levels of growing size.
    ///
    /// **Option `compaction_pri`**: default `kMinOverlappingRatio`; fixed while the database is
    /// open.
    pub fn set_compaction_pri(&mut self, pri: CompactionPri) {
        self.cf.compaction_pri = pri.into();
    }

    /// Age of data, in seconds, at which
    ///
    /// **Option `ttl`**: seconds, default by the compaction style; can be changed while the
    /// database is open.
    ///
    /// * a table is compacted into the next level, until it is in the last,
    ///   with levels of growing size: overwritten and deleted data goes within
    ///   that time per level;
    /// * everything is merged, with universal compaction;
    /// * a table is deleted, with FIFO compaction. The database must then keep
    ///   all tables open ([`set_max_open_files`](Self::set_max_open_files) of
    ///   -1, its default), or it is not opened: `NotSupported`, RocksDB's rule.
    ///
    /// 0 is never; by default 30 days. The time is that of [`set_clock`](Self::set_clock).
    pub fn set_ttl(&mut self, ttl_secs: u64) {
        self.cf.ttl = ttl_secs;
    }

    /// Reads that look into a table in vain, since the key is in an older one or nowhere, would
    /// be spared if the tables were one. Once there are `val` such reads for each byte that
    /// compacting them would rewrite, they are compacted (`ReadTriggered`), when nothing is more
    /// urgent, but not before there are 16,384. 0 is never. With the default, a compaction of 100
    /// MB begins after three million of these reads.
    ///
    /// **Option `read_triggered_compaction_threshold`**: 0 or more (others are refused), default
    /// 0.03; can be changed while the database is open.
    ///
    /// The default is the point at which look-ups have lost as much time as the compaction will
    /// take: with all in memory, one in vain costs some 110 ns, compaction some 3.6 ns for a byte
    /// of a table of 100-byte values and lz4. Whether look-ups go on or end then, they and the
    /// compaction together take at most twice the least possible time.
    ///
    /// So data that is no longer written becomes one sorted run if it is read, and scans of it take
    /// half the time. One read in 1,024 is counted for all; an iterator counts as twelve look-ups
    /// in each table of level 0. With leveled compaction only.
    ///
    /// The active memtable counts as one more table of level 0, while there are eight reads to a
    /// write or more. It is flushed ([`FlushReason::AutoCompaction`]) when its reads pay for its
    /// own bytes, 8 MiB at least, and all reads for compacting it with level 0. But no more bytes
    /// are compacted for each of its own than leveled compaction takes to move a byte down a level,
    /// 1 and the level multiplier: a few writes between many reads do not have all data rewritten.
    /// It is flushed as well when level 0 is to be compacted, if that compaction is at most half as
    /// large again then, if its reads pay for a quarter of it, and if there are fewer tables than
    /// `level0_file_num_compaction_trigger`. It is left alone while another memtable waits for its
    /// flush, or the log is locked, and with `atomic_flush`, which would flush all.
    ///
    /// The option is RocksDB's, which is off by default, compares the reads of one table with its
    /// own size, needs a periodic task to notice a database without writes, and leaves memtables
    /// alone. Not in the `rocksdb` crate.
    ///
    /// [`FlushReason::AutoCompaction`]: crate::listener::FlushReason::AutoCompaction
    pub fn set_read_triggered_compaction_threshold(&mut self, val: f64) {
        self.cf.read_triggered_compaction_threshold = val;
    }

    /// Age, in seconds, at which a table is rewritten, in the last level
    /// too. 0 is never. The default is
    ///
    /// **Option `periodic_compaction_seconds`**: seconds, default by the compaction style; can be
    /// changed while the database is open.
    ///
    /// * 30 days with universal compaction, where it means the same as
    ///   [`set_ttl`](Self::set_ttl) and the lesser of the two counts;
    /// * with levels of growing size 30 days where there is a compaction filter
    ///   or a factory of them, or values expire
    ///   ([`open_with_ttl`](crate::DB::open_with_ttl)), so that everything meets
    ///   the filter; otherwise never.
    ///
    /// Without effect with FIFO compaction, as in RocksDB.
    pub fn set_periodic_compaction_seconds(&mut self, secs: u64) {
        self.cf.periodic_compaction_seconds = secs;
    }

    /// Marks new tables that hold many deletions, so that they are compacted
    /// soon, if there is a deeper level with data: those with
    /// `num_dels_trigger` deletions among `window_size` consecutive entries
    /// (0 looks at none; the window moves in steps of 1/128), and those with
    /// `deletion_ratio` deletions per entry (above 0 to 1; others are no
    /// limit). With several calls, each is enough. Without effect with FIFO
    /// compaction. Default: no call, so that none are marked. Fixed while the database is
    /// open.
    pub fn add_compact_on_deletion_collector_factory(
        &mut self,
        window_size: usize,
        num_dels_trigger: usize,
        deletion_ratio: f64,
    ) {
        self.add_compact_on_deletion_collector_factory_min_file_size(
            window_size,
            num_dels_trigger,
            deletion_ratio,
            0,
        );
    }

    /// The same as
    /// [`add_compact_on_deletion_collector_factory`](Self::add_compact_on_deletion_collector_factory),
    /// for tables of `min_file_size` bytes or more: smaller ones are not marked. Default: 0, which
    /// is no limit. Fixed while the database is open.
    /// RocksDB compares the size that the table has before its last data block and everything
    /// after it. In the `rust-rocksdb` crate, not in the `rocksdb` crate.
    pub fn add_compact_on_deletion_collector_factory_min_file_size(
        &mut self,
        window_size: usize,
        num_dels_trigger: usize,
        deletion_ratio: f64,
        min_file_size: u64,
    ) {
        self.cf.deletion_triggers.push(DeletionTrigger {
            window_size,
            num_dels_trigger,
            deletion_ratio,
            min_file_size,
        });
    }
}
