//! Options of opening a table and of reading from it.

use crate::cache::BlockCache;
use crate::key::{InternalComparator, SequenceNumber};
use crate::sst::events::TableEvents;
use crate::sst::filter::PrefixTransform;
use crate::sst::options::auto_readahead::AutoReadahead;
use crate::sst::options::caching::MetadataPlacement;
use crate::sst::options::read_limits::ReadLimits;
use std::sync::Arc;

/// Options of opening a table.
#[derive(Debug, Clone, Default)]
pub struct TableReaderOptions {
    /// Key order; checked against the file's comparator name.
    pub comparator: InternalComparator,
    /// The prefix extractor for queries to filters. Filters of tables that were written with an
    /// extractor of another name hold other prefixes, and are not queried for prefixes.
    pub prefix_extractor: Option<Arc<dyn PrefixTransform>>,
    /// Listens to what happens in the table.
    pub events: Option<Arc<dyn TableEvents>>,
    /// Where index and filter blocks are kept.
    pub metadata: MetadataPlacement,
    /// The read-ahead of iterators whose caller has chosen no size.
    pub auto_readahead: AutoReadahead,
    /// The cache for blocks. Default none.
    pub block_cache: Option<BlockCache>,
    /// The file's largest sequence number in the manifest. Ingested files need it.
    pub largest_seqno: Option<SequenceNumber>,
    /// The number of the file, for messages.
    pub file_number: u64,
}

/// Options of one read from a table.
#[derive(Debug, Clone, Copy)]
pub struct TableReadOptions {
    /// Whether to verify block checksums. Default true.
    pub verify_checksums: bool,
    /// Whether to insert blocks that were read into the cache, and to count cached blocks as
    /// used. Default true.
    pub fill_cache: bool,
    /// How many bytes iterators read ahead. 0 leaves it to the table's
    /// [`AutoReadahead`], which is the default.
    pub readahead: usize,
    /// Whether what iterators will read is prefetched. Default false.
    pub in_background: bool,
    /// Limits on file reads. Default none.
    pub limits: ReadLimits,
}

impl Default for TableReadOptions {
    fn default() -> Self {
        TableReadOptions {
            verify_checksums: true,
            fill_cache: true,
            readahead: 0,
            in_background: false,
            limits: ReadLimits::default(),
        }
    }
}

/// Options of reading one block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockReadOptions {
    pub(crate) verify: bool,
    pub(crate) use_cache: bool,
    pub(crate) fill_cache: bool,
    pub(crate) in_background: bool,
    pub(crate) limits: ReadLimits,
}

impl BlockReadOptions {
    /// Reads blocks from the file only, and verifies their checksums.
    pub(crate) const FROM_FILE: BlockReadOptions = BlockReadOptions {
        verify: true,
        use_cache: false,
        fill_cache: false,
        in_background: false,
        limits: ReadLimits::NONE,
    };
}

impl From<TableReadOptions> for BlockReadOptions {
    fn from(o: TableReadOptions) -> Self {
        BlockReadOptions {
            verify: o.verify_checksums,
            use_cache: true,
            fill_cache: o.fill_cache,
            in_background: o.in_background,
            limits: o.limits,
        }
    }
}
