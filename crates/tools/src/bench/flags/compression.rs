//! Compression of tables.

/// Passes these rows, after the rows so far, to the next group.
macro_rules! compression {
    ([$($before:tt)*] $next:ident $($rest:ident)*) => {
        $next! { [
            $($before)*
            "Compression" {
                compression_type: String = "snappy", "The compression of blocks: none, snappy, zlib, bzip2, lz4, lz4hc or zstd.";
                compression_level: i32 = 32_767, "The compression level; 32767: the default of the compression type.";
                compression_max_dict_bytes: i32 = 0, "The size of the compression dictionary in bytes; 0: no dictionary.";
                min_level_to_compress: i32 = -1, "The first level whose tables are compressed; -1: all tables are.";
                compression_zstd_max_train_bytes: i32 = 0, "The size of the samples in bytes from which Zstandard trains the dictionary; 0: the samples are the dictionary.";
                compression_max_dict_buffer_bytes: u64 = 0u64, "The largest number of bytes of a table that are buffered until its dictionary is made; 0: the size of a table.";
                compression_use_zstd_dict_trainer: bool = true, "Use Zstandard's trainer for the dictionary. This engine refuses false where it would make a difference.";
                compression_parallel_threads: i32 = 1, "The number of threads that compress the blocks of one table.";
            }
        ] $($rest)* }
    };
}

pub(super) use compression;
