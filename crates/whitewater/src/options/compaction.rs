//! Compaction styles and their options, in RocksDB's text form.

use super::text::{OptionText, split_assignments, text_by_name};

/// How tables are organized.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum CompactionStyle {
    /// Levels of growing size.
    #[default]
    Level,
    /// Sorted runs, merged by age.
    Universal,
    /// The oldest tables are deleted.
    Fifo,
}

text_by_name!(CompactionStyle {
    Level = "kCompactionStyleLevel",
    Universal = "kCompactionStyleUniversal",
    Fifo = "kCompactionStyleFIFO",
});

/// Which table of a level is compacted first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum CompactionPri {
    ByCompensatedSize,
    OldestLargestSeqFirst,
    OldestSmallestSeqFirst,
    #[default]
    MinOverlappingRatio,
    RoundRobin,
}

text_by_name!(CompactionPri {
    ByCompensatedSize = "kByCompensatedSize",
    OldestLargestSeqFirst = "kOldestLargestSeqFirst",
    OldestSmallestSeqFirst = "kOldestSmallestSeqFirst",
    MinOverlappingRatio = "kMinOverlappingRatio",
    RoundRobin = "kRoundRobin",
});

/// What universal compaction compares the next sorted run with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum StopStyle {
    /// The last run picked, in both directions.
    SimilarSize,
    /// All runs picked so far.
    #[default]
    TotalSize,
}

text_by_name!(StopStyle {
    SimilarSize = "kCompactionStopStyleSimilarSize",
    TotalSize = "kCompactionStopStyleTotalSize",
});

/// Options of universal compaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UniversalOptions {
    /// The percentage by which a run may be larger than what it is compared with.
    pub size_ratio: u32,
    /// The smallest number of runs in a compaction by size ratio.
    pub min_merge_width: u32,
    /// The largest number of runs in a compaction by size ratio.
    pub max_merge_width: u32,
    /// When the size of all runs but the oldest reaches this percentage of the oldest run's size,
    /// everything is merged.
    pub max_size_amplification_percent: u32,
    /// The percentage of the data that is compressed, the oldest first. A negative value means all
    /// of it.
    pub compression_size_percent: i32,
    pub stop_style: StopStyle,
    /// Move tables that do not overlap instead of merging them.
    pub allow_trivial_move: bool,
}

impl Default for UniversalOptions {
    fn default() -> Self {
        UniversalOptions {
            size_ratio: 1,
            min_merge_width: 2,
            max_merge_width: u32::MAX,
            max_size_amplification_percent: 200,
            compression_size_percent: -1,
            stop_style: StopStyle::default(),
            allow_trivial_move: false,
        }
    }
}

/// Options of FIFO compaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FifoOptions {
    /// When the size of all tables exceeds this, the oldest are deleted. Bytes.
    pub max_table_files_size: u64,
    /// Merge small tables of level 0 in the meantime.
    pub allow_compaction: bool,
}

impl Default for FifoOptions {
    fn default() -> Self {
        FifoOptions {
            max_table_files_size: 1 << 30,
            allow_compaction: false,
        }
    }
}

/// Implements the text form `{name=value;name=value}` for structs of options. A field that is
/// left out keeps its default. The names after `fixed` are options of RocksDB that are not
/// built: they are accepted with the value that leaves them off, and are not written.
macro_rules! nested_text {
    ($ty:ty { $($field:ident),* $(,)? } fixed { $($fixed:ident = $value:literal),* $(,)? }) => {
        impl OptionText for $ty {
            fn print(&self) -> String {
                let fields = [$(format!("{}={}", stringify!($field), self.$field.print())),*];
                format!("{{{}}}", fields.join(";"))
            }
            fn parse(text: &str) -> Option<Self> {
                <$ty>::default().parse_over(text)
            }
            fn parse_over(&self, text: &str) -> Option<Self> {
                let braced = text.strip_prefix('{').and_then(|t| t.strip_suffix('}'));
                let mut value = self.clone();
                for (name, text) in split_assignments(braced.unwrap_or(text)).ok()? {
                    match name {
                        $(stringify!($field) => value.$field = OptionText::parse(text)?,)*
                        $(stringify!($fixed) if text == $value => {})*
                        _ => return None,
                    }
                }
                Some(value)
            }
        }
    };
}

pub(crate) use nested_text;

nested_text!(UniversalOptions {
    size_ratio,
    min_merge_width,
    max_merge_width,
    max_size_amplification_percent,
    compression_size_percent,
    stop_style,
    allow_trivial_move,
} fixed {
    incremental = "false",
    max_read_amp = "-1",
    // This option is about RocksDB's own locks; its default has changed between versions.
    reduce_file_locking = "false",
    reduce_file_locking = "true",
});

nested_text!(FifoOptions {
    max_table_files_size,
    allow_compaction,
} fixed {
    age_for_warm = "0",
    file_temperature_age_thresholds = "",
    allow_trivial_copy_when_change_temperature = "false",
    max_data_files_size = "0",
    use_kv_ratio_compaction = "false",
    trivial_copy_buffer_size = "4096",
});

/// A rule by which a new table is marked for compaction because of the deletions in it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct DeletionTrigger {
    /// The number of consecutive entries that are counted together; 0 turns the window off.
    pub window_size: usize,
    /// The number of deletions in the window at which the table is marked.
    pub num_dels_trigger: usize,
    /// The ratio of deletions to entries of the whole table at which the table is marked. 0, and
    /// values outside 0..=1, are no limit.
    pub deletion_ratio: f64,
    /// The size of the smallest table that is marked. Bytes.
    pub min_file_size: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_options_have_rocksdbs_text() {
        let text = "{size_ratio=1;min_merge_width=2;max_merge_width=4294967295;\
                    max_size_amplification_percent=200;compression_size_percent=-1;\
                    stop_style=kCompactionStopStyleTotalSize;allow_trivial_move=false}";
        assert_eq!(UniversalOptions::default().print(), text);
        assert_eq!(
            UniversalOptions::parse(text),
            Some(UniversalOptions::default())
        );
        let some =
            UniversalOptions::parse("size_ratio=7; stop_style=kCompactionStopStyleSimilarSize");
        let some = some.unwrap();
        assert_eq!((some.size_ratio, some.min_merge_width), (7, 2));
        assert_eq!(some.stop_style, StopStyle::SimilarSize);
        assert_eq!(UniversalOptions::parse(&some.print()), Some(some));
        assert!(UniversalOptions::parse("incremental=false").is_some());
        for bad in [
            "size_ratio=x",
            "no_such=1",
            "{size_ratio=1",
            "incremental=true",
        ] {
            assert_eq!(UniversalOptions::parse(bad), None, "{bad}");
        }
        assert_eq!(
            FifoOptions::parse("{max_table_files_size=5}")
                .unwrap()
                .print(),
            "{max_table_files_size=5;allow_compaction=false}"
        );
    }

    #[test]
    fn numbers_are_joined_by_colons() {
        for text in ["", "3", "1:-2:3"] {
            assert_eq!(Vec::<i32>::parse(text).unwrap().print(), text);
        }
        assert_eq!(Vec::<i32>::parse("1:"), None);
    }
}
