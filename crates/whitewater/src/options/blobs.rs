//! Options of blob files.

use super::CfOptions;
use super::text::{OptionText, text_by_name};
use whitewater_storage::Result;

/// Which values get into the [blob cache](crate::Options::set_blob_cache) as they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum PrepopulateBlobCache {
    /// None: a value is cached when it is read. The default.
    #[default]
    Disable,
    /// Those that a flush puts into blob files.
    FlushOnly,
}

text_by_name!(PrepopulateBlobCache {
    Disable = "kDisable",
    FlushOnly = "kFlushOnly",
});

impl CfOptions {
    /// Checks the parameters of the codec of blob files.
    pub(super) fn check_blob_compression(&self) -> Result<()> {
        let (options, codec) = (&self.blob_compression_opts, self.blob_compression_type);
        options.check("blob_compression_opts", codec)
    }
}
