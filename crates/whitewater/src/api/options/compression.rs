//! Setters of compression.

use super::Options;
use super::enums::DBCompressionType;
use whitewater_storage::Error;
use whitewater_storage::sst::{CompressionOptions, CompressionType};

/// Compression of tables. All of it can be changed while a database is open, for
/// tables begun from then on; what a table was written with is read whatever the
/// options say.
impl Options {
    /// Compression of tables. Default Snappy, or none where it is not built in.
    ///
    /// **Option `compression`**: default `kSnappyCompression`; can be changed while the database is
    /// open.
    pub fn set_compression_type(&mut self, t: DBCompressionType) {
        self.cf.compression = t.into();
    }

    /// Compression of tables that a compaction puts into the last level that
    /// holds data. Default: as set for the level.
    ///
    /// **Option `bottommost_compression`**: default `kDisableCompressionOption`; can be changed
    /// while the database is open.
    pub fn set_bottommost_compression_type(&mut self, t: DBCompressionType) {
        self.cf.bottommost_compression = Some(t.into());
    }

    /// Compression by level: the first is that of level 0, the second that of
    /// the level below it that is used, which is level 1 unless
    /// [level sizes are dynamic](Self::set_level_compaction_dynamic_level_bytes),
    /// and so on; the last one is that of all deeper levels too. Default: the
    /// same for all.
    ///
    /// **Option `compression_per_level`**: default none; can be changed while the database is open.
    ///
    /// # Examples
    /// ```
    /// use whitewater::{DBCompressionType, Options};
    ///
    /// // The upper levels are rewritten often, the last one holds most of the data.
    /// let mut options = Options::default();
    /// options.set_compression_per_level(&[
    ///     DBCompressionType::None,
    ///     DBCompressionType::None,
    ///     DBCompressionType::Lz4,
    /// ]);
    /// options.set_bottommost_compression_type(DBCompressionType::Zstd);
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn set_compression_per_level(&mut self, level_types: &[DBCompressionType]) {
        self.cf.compression_per_level = level_types.iter().map(|t| (*t).into()).collect();
    }

    /// Sets the [compression by level](Self::set_compression_per_level): none
    /// above level `lvl`, and the one that is set now from there on. Levels must
    /// have been [set](Self::set_num_levels) before. A negative `lvl` changes
    /// nothing.
    ///
    /// **Option `compression_per_level`**: default none; can be changed while the database is open.
    pub fn set_min_level_to_compress(&mut self, lvl: i32) {
        let Ok(lvl) = usize::try_from(lvl) else {
            return;
        };
        let of_level = |level| {
            if level < lvl {
                CompressionType::None
            } else {
                self.cf.compression
            }
        };
        self.cf.compression_per_level = (0..self.cf.num_levels).map(of_level).collect();
    }

    /// How the codecs compress. Numbers that only concern codecs that are not
    /// used do not matter; those that do are checked at open.
    ///
    /// * `window_bits`: zlib's window, as minus the base-2 logarithm of its
    ///   bytes: -14 (the default) to -9. Others are refused as `NotSupported`:
    ///   RocksDB cannot read what it writes with them.
    /// * `level`: the effort; 32767, the default, is each codec's default. zlib -1
    ///   to 9 (6), LZ4HC 1 to 12 (9), Zstandard up to 22 and down to negative
    ///   ones (3); levels outside are moved inside. The other codecs have none.
    /// * `strategy`: zlib's, 0 (the default) to 4.
    /// * `max_dict_bytes`: bytes of the dictionary that is made for each table
    ///   and that its data blocks are compressed with; 0, the default, for none.
    ///   Used by zlib, LZ4, LZ4HC and Zstandard. A table is then held in memory
    ///   uncompressed, up to the size that tables are aimed at, until the
    ///   dictionary is made from samples of it; see also
    ///   [`set_zstd_max_train_bytes`](Self::set_zstd_max_train_bytes).
    ///
    /// The text form is RocksDB's `compression_opts`, in braces with names or the
    /// older one with colons.
    pub fn set_compression_options(
        &mut self,
        window_bits: i32,
        level: i32,
        strategy: i32,
        max_dict_bytes: i32,
    ) {
        let numbers = (window_bits, level, strategy);
        self.set_codecs("compression_opts", numbers, max_dict_bytes, |o| {
            &mut o.cf.compression_opts
        });
    }

    /// As [`set_compression_options`](Self::set_compression_options), for the
    /// tables of the last level that holds data, if `enabled`; otherwise they
    /// are as everywhere. Default not enabled.
    ///
    /// **Option `bottommost_compression_opts`**: several parts, each with a default of its own; can
    /// be changed while the database is open.
    pub fn set_bottommost_compression_options(
        &mut self,
        window_bits: i32,
        level: i32,
        strategy: i32,
        max_dict_bytes: i32,
        enabled: bool,
    ) {
        let numbers = (window_bits, level, strategy);
        self.set_codecs(
            "bottommost_compression_opts",
            numbers,
            max_dict_bytes,
            |o| &mut o.cf.bottommost_compression_opts,
        );
        self.cf.bottommost_compression_opts.enabled = enabled;
    }

    /// Bytes of samples that Zstandard's trainer makes the dictionary of a table
    /// from; 0, the default, makes the dictionary of the samples themselves.
    /// RocksDB recommends 100 times `max_dict_bytes`. Counts only for Zstandard
    /// with `max_dict_bytes` in
    /// [`set_compression_options`](Self::set_compression_options) other than 0.
    ///
    /// **Option `compression_opts`**: several parts, each with a default of its own; can be changed
    /// while the database is open.
    pub fn set_zstd_max_train_bytes(&mut self, value: i32) {
        let value = self.bytes("compression_opts", "zstd_max_train_bytes", value);
        self.cf.compression_opts.zstd_max_train_bytes = value;
    }

    /// As [`set_zstd_max_train_bytes`](Self::set_zstd_max_train_bytes), for the
    /// tables of the last level that holds data, if `enabled`, which is the
    /// same switch as that of
    /// [`set_bottommost_compression_options`](Self::set_bottommost_compression_options).
    ///
    /// **Option `bottommost_compression_opts`**: several parts, each with a default of its own; can
    /// be changed while the database is open.
    pub fn set_bottommost_zstd_max_train_bytes(&mut self, value: i32, enabled: bool) {
        let value = self.bytes("bottommost_compression_opts", "zstd_max_train_bytes", value);
        self.cf.bottommost_compression_opts.zstd_max_train_bytes = value;
        self.cf.bottommost_compression_opts.enabled = enabled;
    }

    /// Threads that compress the data blocks of one table, of 1 (the default) to
    /// 1024. More than one do not
    /// [fit blocks to pages](crate::BlockBasedOptions::set_fit_blocks_to_pages);
    /// what is written does not depend on them otherwise. They are started for each
    /// table, besides the thread of the flush or compaction, unless it is not
    /// compressed. Not of
    /// [bottommost options](Self::set_bottommost_compression_options) that are
    /// enabled; those can be given threads as text.
    ///
    /// **Option `compression_opts`**: several parts, each with a default of its own; can be changed
    /// while the database is open.
    pub fn set_compression_options_parallel_threads(&mut self, num: i32) {
        // 0 is refused at open.
        self.cf.compression_opts.parallel_threads = u32::try_from(num).unwrap_or(0);
    }

    fn set_codecs(
        &mut self,
        name: &str,
        (window_bits, level, strategy): (i32, i32, i32),
        max_dict_bytes: i32,
        field: impl Fn(&mut Options) -> &mut CompressionOptions,
    ) {
        let max_dict_bytes = self.bytes(name, "max_dict_bytes", max_dict_bytes);
        let options = field(self);
        options.window_bits = window_bits;
        options.level = level;
        options.strategy = strategy;
        options.max_dict_bytes = max_dict_bytes;
    }

    /// A number of bytes that must not be negative.
    fn bytes(&mut self, name: &str, part: &str, value: i32) -> u32 {
        let option = format!("{name}.{part}");
        match u32::try_from(value) {
            Ok(bytes) => {
                self.accept(&option);
                bytes
            }
            Err(_) => {
                let e = format!("option {name}: {part} = {value} is negative");
                self.refuse(&option, Error::invalid(e));
                0
            }
        }
    }
}
