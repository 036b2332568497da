//! Compression of tables.

/// Hands the rows so far and these to the next group.
macro_rules! compression {
    ([$($before:tt)*] $next:ident $($rest:ident)*) => {
        $next! { [
            $($before)*
            "Compression" {
                compression_type: String = "snappy", "Compression of blocks: none, snappy, zlib, bzip2, lz4, lz4hc or zstd.";
                compression_level: i32 = 32_767, "Level of the compression; 32767: its default.";
                compression_max_dict_bytes: i32 = 0, "Bytes of a dictionary for the compression; 0: none.";
                min_level_to_compress: i32 = -1, "First level whose tables are compressed; -1: all are.";
                compression_zstd_max_train_bytes: i32 = 0, "Bytes of samples that Zstandard makes the dictionary from; 0: the samples are the dictionary.";
                compression_max_dict_buffer_bytes: u64 = 0u64, "Bytes of a table that are held back until its dictionary is made, at most; 0: the size of a table.";
                compression_use_zstd_dict_trainer: bool = true, "Let Zstandard's trainer make that dictionary. This engine refuses false where it would count.";
                compression_parallel_threads: i32 = 1, "Threads that compress the blocks of one table.";
            }
        ] $($rest)* }
    };
}

pub(super) use compression;
