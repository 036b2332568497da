//! The layout of tables: blocks, indexes, filters.

/// Passes these rows, after the rows so far, to the next group.
macro_rules! tables {
    ([$($before:tt)*] $next:ident $($rest:ident)*) => {
        $next! { [
            $($before)*
            "Tables" {
                prefix_size: i32 = 0, "The number of bytes of a key that are its prefix; 0: keys have no prefix.";
                keys_per_prefix: i64 = 0, "The average number of keys that share a prefix; 0: the prefix is the beginning of the key's number.";
                block_size: i32 = 4096, "The size of a data block in bytes before compression.";
                fit_blocks_to_pages: bool = true, "Cut data blocks so that few of them lie on more pages of the system's cache than they have to (this engine only).";
                block_restart_interval: i32 = 16, "The number of keys between two restart points of a data block.";
                index_block_restart_interval: i32 = 1, "The number of keys between two restart points of an index block.";
                whole_key_filtering: bool = true, "Put whole keys into the filters of tables.";
                format_version: i32 = 5, "The format version of new tables.";
                checksum_type: i32 = 4, "The checksum of blocks: 0 none, 1 CRC32c, 2 xxHash, 3 xxHash64, 4 XXH3.";
                bloom_bits: i32 = -1, "The number of Bloom filter bits for each key; 0 or less: no filter.";
                use_ribbon_filter: bool = false, "With bloom_bits, write Ribbon filters, which are smaller but take longer to build, except to tables of flushes.";
                optimize_filters_for_hits: bool = false, "Write no filters for the last level, because most look-ups find their key.";
                optimize_filters_for_memory: bool = false, "Fit filters to the size classes of the allocator. This engine takes it as a hint: its filters take exactly what they need.";
                partition_index: bool = false, "Split indexes into partitions.";
                partition_index_and_filters: bool = false, "Split indexes and filters into partitions.";
                metadata_block_size: i64 = 4096, "The size of a partition in bytes.";
                index_with_first_key: bool = false, "Put the first key of each data block into the index; not with partitions.";
                use_hash_search: bool = false, "Write a prefix index beside the ordinary one; needs prefix_size, not with partitions.";
                use_data_block_hash_index: bool = false, "Put a hash table for look-ups into data blocks.";
                data_block_hash_table_util_ratio: f64 = 0.75, "The number of keys for each bucket of that hash table.";
            }
        ] $($rest)* }
    };
}

pub(super) use tables;
