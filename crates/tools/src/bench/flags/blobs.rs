//! Blob files and their cache.

/// Passes these rows, after the rows so far, to the next group.
macro_rules! blobs {
    ([$($before:tt)*] $next:ident $($rest:ident)*) => {
        $next! { [
            $($before)*
            "Blob files" {
                enable_blob_files: bool = false, "Put large values into blob files.";
                min_blob_size: u64 = 0u64, "The size of a value in bytes from which it goes into a blob file.";
                blob_file_size: u64 = 256u64 << 20, "The size in bytes at which a blob file ends.";
                blob_compression_type: String = "none", "The compression of values in blob files: none, snappy, zlib, bzip2, lz4, lz4hc or zstd.";
                enable_blob_garbage_collection: bool = false, "Move values out of old blob files when they are compacted.";
                blob_garbage_collection_age_cutoff: f64 = 0.25, "The part of the blob files, from the oldest on, that counts as old, 0 to 1.";
                blob_garbage_collection_force_threshold: f64 = 1.0, "The part of garbage in old blob files from which on they are compacted, 0 to 1; 1: never.";
                blob_compaction_readahead_size: u64 = 0u64, "The number of bytes that compactions read ahead in blob files; 0: single values.";
                blob_file_starting_level: i32 = 0, "The first level whose tables have values in blob files.";
                use_blob_cache: bool = false, "Cache values of blob files.";
                use_shared_block_and_blob_cache: bool = true, "Cache them in the block cache (with --use_blob_cache).";
                blob_cache_size: u64 = 8u64 << 20, "The size in bytes of a blob cache that is not the block cache.";
                blob_cache_numshardbits: i32 = 6, "The logarithm of the number of shards of such a cache; negative: the cache decides. This engine takes it as a hint.";
                prepopulate_blob_cache: i32 = 0, "Put values into the blob cache when they are written: 0 never, 1 by flushes.";
            }
        ] $($rest)* }
    };
}

pub(super) use blobs;
