//! Values of RocksDB's options that are accepted and have no effect here. They are kept so that
//! options files can show them, and so that an invalid value is refused.

use super::text::{OptionText, text_by_name};

/// How hot the data in a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Temperature {
    #[default]
    Unknown,
    Hot,
    Warm,
    Cool,
    Cold,
    Ice,
}

text_by_name!(Temperature {
    Unknown = "kUnknown",
    Hot = "kHot",
    Warm = "kWarm",
    Cool = "kCool",
    Cold = "kCold",
    Ice = "kIce",
});
