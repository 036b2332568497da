//! Which database is opened and how, and its column families.

/// Passes these rows, after the rows so far, to the next group.
macro_rules! databases {
    ([$($before:tt)*] $next:ident $($rest:ident)*) => {
        $next! { [
            $($before)*
            "Databases and column families" {
                readonly: bool = false,
                    "Open the database for reading only; sets use_existing_db.";
                use_secondary_db: bool = false,
                    "Open the database as a secondary instance, which follows a primary that another process may have open. Needs use_existing_db and a single column family.";
                secondary_path: String = "",
                    "The directory for the secondary's own files. Empty: dbbench_secondary in $TEST_TMPDIR or in the directory for temporary files.";
                secondary_update_interval: i32 = 5,
                    "The time in seconds after which the secondary catches up with the primary; 0: never.";
                num_column_families: i32 = 1,
                    "The number of column families. Fills, overwrite, readrandom, mergerandom and the reads of mixgraph use the one that the key belongs to, other benchmarks the default one.";
                num_hot_column_families: i32 = 0,
                    "The number of column families in use at a time. When a fill has written its share to them, as many new ones replace them. 0: all.";
                column_family_distribution: String = "",
                    "Comma-separated percentages, one for each column family in use at a time: its share of the keys. Empty: equal shares.";
                options_file: String = "",
                    "An options file, such as one from another database's directory. The options of its default column family apply to all column families. Other flags for options are refused, except those of the block cache, the rate limiter and statistics.";
                use_keep_filter: bool = false,
                    "Use a compaction filter that keeps everything.";
                use_uint64_comparator: bool = false,
                    "Order keys as numbers in the machine's byte order; needs key_size=8.";
            }
        ] $($rest)* }
    };
}

pub(super) use databases;
