//! Presets with their arithmetic.

use super::Options;
use whitewater_storage::sst::CompressionType;

/// Presets for kinds of use.
impl Options {
    /// Options for writing without end at a steady rate: memtables of
    /// `memtable_bytes`, and levels shaped so that level 0 seldom grows to where
    /// writes are slowed down. The advice is that of the comments on "Concurrent
    /// inserts and the RocksDB memtable".
    ///
    /// The arithmetic, for a memtable of M bytes:
    ///
    /// | | | M = 64 MiB |
    /// |---|---|---|
    /// | a table of level 0 is a memtable, not compressed | M | 64 MiB |
    /// | level 0 is compacted when it has 4 tables | L0 = 4 M | 256 MiB |
    /// | the level it goes to is as large, so that such a compaction rewrites one byte for each new one | L1 = L0 | 256 MiB |
    /// | writes are slowed down at 20 tables: what came in while that compaction could have run 4 times | 20 M | 1.25 GiB |
    /// | writes are stopped at 30 tables | 30 M | 1.9 GiB |
    /// | memory: one memtable that fills, and up to 3 that are written out | 4 M | 256 MiB |
    /// | tables below level 0 are of a memtable's size | M | 64 MiB |
    ///
    /// With levels that grow by 10, five full ones hold 4, 4, 40, 400 and 4000 M:
    /// the first three are one part in ninety of the data and take much of the
    /// rewriting, so they are not compressed. The next ones get LZ4, the last one,
    /// nine tenths of the data, Zstandard.
    ///
    /// `memtable_bytes` is brought into 64 KiB to 64 GiB. Every option that is set
    /// here can be set to something else afterwards.
    pub fn optimize_for_steady_writes(&mut self, memtable_bytes: usize) {
        const TRIGGER: i32 = 4;
        // Here already, as the levels are made to fit.
        let memtable_bytes = memtable_bytes.clamp(64 << 10, 64 << 30);
        let cf = &mut self.cf;
        cf.write_buffer_size = memtable_bytes;
        cf.max_write_buffer_number = 4;
        cf.level0_file_num_compaction_trigger = TRIGGER;
        cf.level0_slowdown_writes_trigger = 20;
        cf.level0_stop_writes_trigger = 30;
        cf.target_file_size_base = memtable_bytes as u64;
        cf.max_bytes_for_level_base = memtable_bytes as u64 * TRIGGER as u64;
        cf.compression_per_level = vec![
            CompressionType::None,
            CompressionType::None,
            CompressionType::None,
            CompressionType::Lz4,
        ];
        cf.bottommost_compression = Some(CompressionType::Zstd);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_0_and_1_are_of_one_size() {
        for memtable in [1 << 20, 64 << 20, 256 << 20] {
            let mut options = Options::default();
            options.optimize_for_steady_writes(memtable);
            options.db_options().unwrap();
            let cf = options.cf_options().unwrap();
            let level0 = cf.level0_file_num_compaction_trigger as u64 * cf.write_buffer_size as u64;
            assert_eq!(cf.max_bytes_for_level_base, level0);
            assert!(cf.level0_file_num_compaction_trigger < cf.level0_slowdown_writes_trigger);
            assert!(cf.level0_slowdown_writes_trigger < cf.level0_stop_writes_trigger);
            assert_eq!(cf.compression_per_level[2], CompressionType::None);
            assert_eq!(cf.bottommost_compression, Some(CompressionType::Zstd));
        }
    }

    #[test]
    fn memtables_beyond_the_largest_have_levels_of_the_largest() {
        for (asked, bytes) in [(1 << 62, 64 << 30), (usize::MAX, 64 << 30), (0, 64 << 10)] {
            let mut options = Options::default();
            options.optimize_for_steady_writes(asked);
            let cf = options.cf_options().unwrap();
            assert_eq!(cf.write_buffer_size, bytes);
            assert_eq!(cf.target_file_size_base, bytes as u64);
            assert_eq!(cf.max_bytes_for_level_base, 4 * bytes as u64);
        }
    }
}
