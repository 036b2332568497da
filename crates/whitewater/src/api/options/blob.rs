//! Options of blob files: large values outside of tables.
//!
//! Values in blob files that RocksDB wrote are read, whatever these options
//! are. Blob files are not written: the option that asks for them is refused.

use super::{Cache, DBCompressionType, Options};
use std::ffi::c_double;

/// Blob files.
impl Options {
    /// Write large values to blob files. Not built: opening with
    /// true is refused as `NotSupported`, since what is on disk would not be what was
    /// asked for.
    ///
    /// **Option `enable_blob_files`**: default `false`; can be changed while the database is open.
    pub fn set_enable_blob_files(&mut self, val: bool) {
        self.cf.enable_blob_files = val;
    }

    /// Smallest value that goes into a blob file. Without effect while none are written.
    ///
    /// **Option `min_blob_size`**: bytes, default 0; can be changed while the database is open.
    pub fn set_min_blob_size(&mut self, val: u64) {
        self.cf.min_blob_size = val;
    }

    /// Size at which a new blob file is begun. Without effect while none are written.
    ///
    /// **Option `blob_file_size`**: bytes, default 256 MiB; can be changed while the database is
    /// open.
    pub fn set_blob_file_size(&mut self, val: u64) {
        self.cf.blob_file_size = val;
    }

    /// Compression of values in blob files. Without effect while none are written.
    ///
    /// **Option `blob_compression_type`**: default `kNoCompression`; can be changed while the
    /// database is open.
    pub fn set_blob_compression_type(&mut self, val: DBCompressionType) {
        self.cf.blob_compression_type = val.into();
    }

    /// Move values out of old blob files when tables that refer to them are compacted, so that the
    /// files can go. Since no blob files are written, the values move into the tables.
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

    /// Hint: RocksDB compacts tables when this part of the old blob files is garbage.
    /// Here, it goes with compactions that are due anyway, or asked for. 1 is never.
    ///
    /// **Option `blob_garbage_collection_force_threshold`**: 0 to 1 (others are refused), default
    /// 1; can be changed while the database is open.
    pub fn set_blob_gc_force_threshold(&mut self, val: c_double) {
        self.cf.blob_garbage_collection_force_threshold = val;
    }

    /// Hint: compactions read one value at a time.
    ///
    /// **Option `blob_compaction_readahead_size`**: bytes, default 0; can be changed while the
    /// database is open.
    pub fn set_blob_compaction_readahead_size(&mut self, val: u64) {
        self.cf.blob_compaction_readahead_size = val;
    }

    /// Hint: values in blob files are read from their files each time, through
    /// the system's cache. The cache stays empty. Default none.
    pub fn set_blob_cache(&mut self, cache: &Cache) {
        let _ = cache;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DB, ErrorKind};

    #[test]
    fn writing_blob_files_is_refused_by_name() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut opts = Options::default();
        opts.create_if_missing(true);
        opts.set_min_blob_size(100);
        opts.set_blob_file_size(1 << 20);
        opts.set_blob_cache(&Cache::new_lru_cache(1 << 20));
        opts.set_enable_blob_files(true);
        let e = DB::open(&opts, dir.path()).expect_err("refused");
        assert_eq!(e.kind(), ErrorKind::NotSupported);
        assert!(e.to_string().contains("enable_blob_files"), "{e}");
        opts.set_enable_blob_files(false);
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
