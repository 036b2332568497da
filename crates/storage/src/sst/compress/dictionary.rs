//! The compression dictionary of a table, for readers.

use bytes::Bytes;
use std::fmt;

#[cfg(feature = "zstd")]
use {
    crate::error::{Error, Result},
    std::sync::OnceLock,
    zstd::zstd_safe::DDict,
};

/// Bytes that compressed blocks refer to without containing them.
pub(crate) struct Dictionary {
    raw: Bytes,
    /// The digested form, once a Zstandard block needed it.
    #[cfg(feature = "zstd")]
    zstd: OnceLock<Option<DDict<'static>>>,
}

impl Dictionary {
    pub(crate) fn new(raw: Bytes) -> Self {
        Dictionary {
            raw,
            #[cfg(feature = "zstd")]
            zstd: OnceLock::new(),
        }
    }

    #[cfg(any(feature = "lz4", feature = "zlib"))]
    pub(super) fn raw(&self) -> &Bytes {
        &self.raw
    }

    /// # Errors
    /// `Corruption` if it begins like a trained dictionary but is not one.
    #[cfg(feature = "zstd")]
    pub(super) fn zstd(&self) -> Result<&DDict<'static>> {
        self.zstd
            .get_or_init(|| DDict::try_create(&self.raw))
            .as_ref()
            .ok_or_else(|| Error::corruption("bad compression dictionary"))
    }

    /// Bytes of memory held.
    pub(crate) fn memory_usage(&self) -> usize {
        #[cfg(feature = "zstd")]
        let digested = match self.zstd.get() {
            Some(Some(zstd)) => zstd.sizeof(),
            _ => 0,
        };
        #[cfg(not(feature = "zstd"))]
        let digested = 0;
        self.raw.len() + digested
    }
}

impl fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dictionary({} bytes)", self.raw.len())
    }
}
