//! The layout of tables: blocks, indexes, filters.

/// Hands the rows so far and these to the next group.
macro_rules! tables {
    ([$($before:tt)*] $next:ident $($rest:ident)*) => {
        $next! { [
            $($before)*
            "Tables" {
                prefix_size: i32 = 0, "Bytes of a key that are its prefix; 0: keys have none.";
                keys_per_prefix: i64 = 0, "Keys that share a prefix, on average; 0: the prefix is the beginning of the key's number.";
                block_size: i32 = 4096, "Bytes of a data block before compression.";
                block_restart_interval: i32 = 16, "Keys between two restart points of a data block.";
                index_block_restart_interval: i32 = 1, "Keys between two restart points of an index block.";
                whole_key_filtering: bool = true, "Put whole keys into the filters of tables.";
                format_version: i32 = 5, "Format version of the tables written.";
                checksum_type: i32 = 4, "Checksum of blocks: 0 none, 1 CRC32c, 2 xxHash, 3 xxHash64, 4 XXH3.";
                bloom_bits: i32 = -1, "Bloom filter bits for each key; 0 or less: no filter.";
                use_ribbon_filter: bool = false, "With bloom_bits, write Ribbon filters, which are smaller and take longer to make, but to tables of flushes.";
                optimize_filters_for_hits: bool = false, "Write no filters for the last level: most look-ups find their key.";
                optimize_filters_for_memory: bool = false, "Fit filters to the sizes in which memory is handed out. A hint for this engine, whose filters take exactly what they need.";
                partition_index: bool = false, "Split indexes into partitions.";
                partition_index_and_filters: bool = false, "Split indexes and filters into partitions.";
                metadata_block_size: i64 = 4096, "Bytes of a partition.";
                index_with_first_key: bool = false, "Put the first key of each data block into the index; not with partitions.";
                use_hash_search: bool = false, "Write an index by prefixes beside the ordinary one; needs prefix_size, not with partitions.";
                use_data_block_hash_index: bool = false, "Put a hash table for look-ups into data blocks.";
                data_block_hash_table_util_ratio: f64 = 0.75, "Keys for each bucket of that.";
            }
        ] $($rest)* }
    };
}

pub(super) use tables;
