//! Options of opening a table and of reading from it.

use crate::cache::BlockCache;
use crate::key::{InternalComparator, SequenceNumber};
use crate::sst::events::TableEvents;
use crate::sst::filter::PrefixTransform;
use crate::sst::options::caching::MetadataPlacement;
use crate::sst::options::read_limits::ReadLimits;
use std::sync::Arc;

/// What opening a table needs to know.
#[derive(Debug, Clone, Default)]
pub struct TableReaderOptions {
    /// Key order; checked against the file's comparator name.
    pub comparator: InternalComparator,
    /// What prefixes to ask filters for. Those of tables that were written with
    /// one of another name hold other prefixes, and are not asked.
    pub prefix_extractor: Option<Arc<dyn PrefixTransform>>,
    /// Who is told what happens in the table.
    pub events: Option<Arc<dyn TableEvents>>,
    /// Where index and filter blocks stay.
    pub metadata: MetadataPlacement,
    /// Where blocks are cached.
    pub block_cache: Option<BlockCache>,
    /// The manifest's largest sequence number of the file, for ingested files.
    pub largest_seqno: Option<SequenceNumber>,
    /// Number of the file, for messages.
    pub file_number: u64,
}

/// How one read treats blocks.
#[derive(Debug, Clone, Copy)]
pub struct TableReadOptions {
    /// Verify block checksums. Default true.
    pub verify_checksums: bool,
    /// Put blocks read into the cache, and have blocks found there count as used.
    /// Default true.
    pub fill_cache: bool,
    /// Bytes to read ahead in iterators; 0 lets the table decide.
    pub readahead: usize,
    /// What may be asked of the file. Default anything.
    pub limits: ReadLimits,
}

impl Default for TableReadOptions {
    fn default() -> Self {
        TableReadOptions {
            verify_checksums: true,
            fill_cache: true,
            readahead: 0,
            limits: ReadLimits::default(),
        }
    }
}

/// Where blocks come from and go to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockReadOptions {
    pub(crate) verify: bool,
    pub(crate) use_cache: bool,
    pub(crate) fill_cache: bool,
    pub(crate) limits: ReadLimits,
}

impl BlockReadOptions {
    /// Everything from the file, checked.
    pub(crate) const FROM_FILE: BlockReadOptions = BlockReadOptions {
        verify: true,
        use_cache: false,
        fill_cache: false,
        limits: ReadLimits {
            memory_only: false,
            deadline: 0,
            timeout: 0,
        },
    };
}

impl From<TableReadOptions> for BlockReadOptions {
    fn from(o: TableReadOptions) -> Self {
        BlockReadOptions {
            verify: o.verify_checksums,
            use_cache: true,
            fill_cache: o.fill_cache,
            limits: o.limits,
        }
    }
}
