//! Which database is opened and how, and its column families.

/// Hands the rows so far and these to the next group.
macro_rules! databases {
    ([$($before:tt)*] $next:ident $($rest:ident)*) => {
        $next! { [
            $($before)*
            "Databases and column families" {
                readonly: bool = false,
                    "Open the database for reading only; sets use_existing_db.";
                use_secondary_db: bool = false,
                    "Open the database as a secondary, which follows a primary that another process may have open; with use_existing_db. Not with several column families.";
                secondary_path: String = "",
                    "Directory for the secondary's own files; empty: dbbench_secondary in $TEST_TMPDIR or the directory for temporary files.";
                secondary_update_interval: i32 = 5,
                    "Seconds between two times that the secondary catches up with the primary; 0: never.";
                num_column_families: i32 = 1,
                    "Column families. Fills, overwrite, readrandom, mergerandom and the reads of mixgraph take the one that belongs to the key, other benchmarks the default one.";
                num_hot_column_families: i32 = 0,
                    "Column families that are used at a time; once a fill has written its share to them, as many new ones take their place. 0: all.";
                column_family_distribution: String = "",
                    "Percentages with commas between, one for each column family that is used at a time: its share of the keys. Empty: the same for all.";
                options_file: String = "",
                    "Options file of the database, such as one from another database's directory: its default column family's options are those of all. Flags for options are refused beside it, but for those of the block cache, the rate limiter and statistics.";
                use_keep_filter: bool = false,
                    "Let compactions ask a filter that keeps everything.";
                use_uint64_comparator: bool = false,
                    "Order keys as numbers in the machine's order of bytes; needs key_size=8.";
            }
        ] $($rest)* }
    };
}

pub(super) use databases;
