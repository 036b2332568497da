//! Options of blob files: large values outside of tables.
//!
//! Values in blob files are read, whatever these options are.

use super::{Cache, DBCompressionType, Options, PrepopulateBlobCache};
use std::ffi::c_double;

/// Blob files.
impl Options {
    /// Put large values into blob files: flushes and compactions write a value of at least
    /// [`min_blob_size`](Options::set_min_blob_size) bytes to a file `NNNNNN.blob`, and where it is
    /// into the table. Compactions then copy references, not values, so that far less is
    /// written; a read of such a value is one more read of a file. Values that are not plain ones
    /// (merge operands, wide columns) stay in tables.
    ///
    /// A blob file is deleted when nothing refers to its values any longer. Without [garbage
    /// collection](Options::set_enable_blob_gc) it stays as long as there is one reference. Only
    /// values that are written from then on, or compacted, move after a change of this option.
    ///
    /// **Option `enable_blob_files`**: default `false`; can be changed while the database is open.
    ///
    /// # Examples
    /// ```
    /// use whitewater::{DB, Options};
    ///
    /// let dir = tempfile::tempdir()?;
    /// let mut opts = Options::default();
    /// opts.create_if_missing(true);
    /// opts.set_enable_blob_files(true);
    /// opts.set_min_blob_size(1024);
    /// let db = DB::open(&opts, dir.path())?;
    /// db.put(b"large", vec![1; 5000])?;
    /// db.flush()?;
    /// assert_eq!(db.property_int_value("rocksdb.num-blob-files")?, Some(1));
    /// assert_eq!(db.get(b"large")?, Some(vec![1; 5000]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_enable_blob_files(&mut self, val: bool) {
        self.cf.enable_blob_files = val;
    }

    /// Smallest value that goes into a blob file, as it was written, before compression. An empty
    /// value never does.
    ///
    /// **Option `min_blob_size`**: bytes, default 0; can be changed while the database is open.
    pub fn set_min_blob_size(&mut self, val: u64) {
        self.cf.min_blob_size = val;
    }

    /// Size at which a blob file ends and the next one is begun. A file has at least one value, and
    /// each flush, and each part of a compaction, begins a file of its own.
    ///
    /// **Option `blob_file_size`**: bytes, default 256 MiB; can be changed while the database is
    /// open.
    pub fn set_blob_file_size(&mut self, val: u64) {
        self.cf.blob_file_size = val;
    }

    /// Compression of values in blob files, each on its own. A value that does not shrink is stored
    /// compressed all the same. One of more than 2 GiB stays in its table, unless there is no
    /// compression.
    ///
    /// **Option `blob_compression_type`**: default `kNoCompression`; can be changed while the
    /// database is open.
    pub fn set_blob_compression_type(&mut self, val: DBCompressionType) {
        self.cf.blob_compression_type = val.into();
    }

    /// How the [codec of blob files](Options::set_blob_compression_type) compresses: zlib's window,
    /// the level and zlib's strategy, as in
    /// [`set_compression_options`](Options::set_compression_options), which holds for tables only.
    /// Zstandard's checksums of frames can be asked for as text (`checksum=true`). The other parts
    /// of the text form concern tables and have no effect here: dictionaries, threads, the largest
    /// compressed size. By default -14, 32767 (the codec's default level) and 0. RocksDB has the
    /// option from version 11.8 on. Not in the `rocksdb` crate.
    ///
    /// **Option `blob_compression_opts`**: several parts, each with a default of its own; can be
    /// changed while the database is open.
    pub fn set_blob_compression_options(&mut self, window_bits: i32, level: i32, strategy: i32) {
        self.cf.blob_compression_opts.window_bits = window_bits;
        self.cf.blob_compression_opts.level = level;
        self.cf.blob_compression_opts.strategy = strategy;
    }

    /// Move values out of old blob files when tables that refer to them are compacted, so that the
    /// files can go: into new blob files, or into the tables if they are not for blob files.
    /// [What is old](Options::set_blob_gc_age_cutoff) is another option.
    ///
    /// **Option `enable_blob_garbage_collection`**: default `false`; can be changed while the
    /// database is open.
    pub fn set_enable_blob_gc(&mut self, val: bool) {
        self.cf.enable_blob_garbage_collection = val;
    }

    /// The part of the blob files, from the oldest on, that counts as old.
    ///
    /// **Option `blob_garbage_collection_age_cutoff`**: 0 to 1 (others are refused), default 0.25;
    /// can be changed while the database is open.
    pub fn set_blob_gc_age_cutoff(&mut self, val: c_double) {
        self.cf.blob_garbage_collection_age_cutoff = val;
    }

    /// The part of the old blob files that has to be garbage for the tables that refer to the
    /// oldest one to be compacted, with leveled compaction and garbage collection. Otherwise they
    /// are compacted when they are due anyway. 1 is never.
    ///
    /// **Option `blob_garbage_collection_force_threshold`**: 0 to 1 (others are refused), default
    /// 1; can be changed while the database is open.
    pub fn set_blob_gc_force_threshold(&mut self, val: c_double) {
        self.cf.blob_garbage_collection_force_threshold = val;
    }

    /// How much a compaction reads at a time from each blob file, if it reads values at all: for a
    /// filter, a merge operator or garbage collection. 0 reads one value at a time.
    ///
    /// **Option `blob_compaction_readahead_size`**: bytes, default 0; can be changed while the
    /// database is open.
    pub fn set_blob_compaction_readahead_size(&mut self, val: u64) {
        self.cf.blob_compaction_readahead_size = val;
    }

    /// Which values get into the [blob cache](Options::set_blob_cache) as they are written, besides
    /// those that are read: good where what was written last is read soon, and more so with direct
    /// I/O. Only flushes fill it; compactions and the recovery of logs do not. The values are found
    /// as long as no more than 1024 such files are written before the file is first read. Without a
    /// blob cache there is no effect. Not in the `rocksdb` crate.
    ///
    /// **Option `prepopulate_blob_cache`**: default `kDisable`; can be changed while the database
    /// is open.
    pub fn set_prepopulate_blob_cache(&mut self, val: PrepopulateBlobCache) {
        self.cf.prepopulate_blob_cache = val;
    }

    /// Caches values of blob files in `cache`, which may be the block cache or one of its own, and
    /// may serve other column families and databases too. They are cached uncompressed, when they
    /// are read and [`fill_cache`](crate::ReadOptions::fill_cache) is set, or [as they are
    /// written](Options::set_prepopulate_blob_cache). A value that finds no
    /// room, where the capacity is a strict limit, is returned and not cached. Default none: values
    /// are read from their files each time, through the system's cache. Fixed while the database
    /// is open; the cache's capacity is not.
    pub fn set_blob_cache(&mut self, cache: &Cache) {
        self.cf.blob_cache = Some(cache.inner.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DB;

    #[test]
    fn options_of_garbage_collection_are_checked() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut opts = Options::default();
        opts.create_if_missing(true);
        opts.set_enable_blob_gc(true);
        opts.set_blob_gc_force_threshold(-0.5);
        let e = DB::open(&opts, dir.path()).expect_err("refused");
        assert!(e.to_string().contains("force_threshold"), "{e}");
        opts.set_blob_gc_force_threshold(0.5);
        opts.set_blob_gc_age_cutoff(1.5);
        let e = DB::open(&opts, dir.path()).expect_err("refused");
        assert!(e.to_string().contains("age_cutoff"), "{e}");
        opts.set_blob_gc_age_cutoff(1.0);
        DB::open(&opts, dir.path()).expect("accepted");
    }
}
