//! The table builder: writes a table in one of the formats.

use crate::error::{Error, Result};
use crate::fs::WritableFile;
use crate::rangedel::RangeTombstone;
use crate::sst::format::properties::TableProperties;
use crate::sst::options::table_builder_options::TableBuilderOptions;
use crate::sst::options::table_format::TableFormat;
use crate::sst::write::cuckoo_builder::CuckooTableBuilder;
use crate::sst::write::plain_builder::PlainTableBuilder;
use crate::sst::write::table_builder::BlockTableBuilder;

/// Writes one table: points in ascending internal order, range tombstones in any order, then
/// [`TableBuilder::finish`].
pub struct TableBuilder(Builder);

#[expect(clippy::large_enum_variant, reason = "there are few builders")]
enum Builder {
    Block(BlockTableBuilder),
    Plain(PlainTableBuilder),
    Cuckoo(CuckooTableBuilder),
}

impl std::fmt::Debug for TableBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableBuilder")
            .field("entries", &self.num_entries())
            .field("size", &self.file_size())
            .finish_non_exhaustive()
    }
}

impl TableBuilder {
    /// Starts a table in the empty `file`.
    ///
    /// # Errors
    /// `NotSupported` for compressions, checksums and format versions that cannot be written;
    /// `InvalidArgument` for a file that is not empty, and for an index of type `HashSearch`
    /// without a prefix extractor.
    pub fn new(options: TableBuilderOptions, file: Box<dyn WritableFile>) -> Result<Self> {
        if !file.is_empty() {
            return Err(Error::invalid("a table needs an empty file"));
        }
        Ok(TableBuilder(match options.format {
            TableFormat::BlockBased => Builder::Block(BlockTableBuilder::new(options, file)?),
            TableFormat::Plain(format) => {
                Builder::Plain(PlainTableBuilder::new(options, format, file))
            }
            TableFormat::Cuckoo(format) => {
                Builder::Cuckoo(CuckooTableBuilder::new(options, format, file))
            }
        }))
    }

    /// Adds an entry; internal keys must ascend strictly.
    ///
    /// # Errors
    /// `InvalidArgument` for a key out of order, a range tombstone, or an entry of 1 GiB or more;
    /// `NotSupported` for an entry that the format cannot hold beside the others; a failure of the
    /// file, which all later calls return, too.
    #[inline]
    pub fn add(&mut self, internal_key: &[u8], value: &[u8]) -> Result<()> {
        match &mut self.0 {
            Builder::Block(builder) => builder.add(internal_key, value),
            Builder::Plain(builder) => builder.add(internal_key, value),
            Builder::Cuckoo(builder) => builder.add(internal_key, value),
        }
    }

    /// Tells that the entry added last comes from a block that was cached. If most entries of a
    /// data block do, it is cached as it is written. Has no effect unless the table is
    /// block-based.
    #[inline]
    pub fn note_cached(&mut self) {
        if let Builder::Block(builder) = &mut self.0 {
            builder.note_cached();
        }
    }

    /// Adds a range tombstone. They may come in any order.
    ///
    /// # Errors
    /// `InvalidArgument` for a range tombstone of 1 GiB or more; `NotSupported` if only block-based
    /// tables can hold it; an earlier failure.
    pub fn add_range_tombstone(&mut self, tombstone: &RangeTombstone) -> Result<()> {
        match &mut self.0 {
            Builder::Block(builder) => builder.add_range_tombstone(tombstone),
            Builder::Plain(_) => Err(Error::not_supported(
                "plain table: Range deletion unsupported",
            )),
            Builder::Cuckoo(_) => Err(Error::not_supported(
                "cuckoo table: Range deletion unsupported",
            )),
        }
    }

    /// Approximate size of the file in bytes if it were finished now. Blocks that are held until
    /// the compression dictionary is made do not count.
    #[inline]
    pub fn file_size(&self) -> u64 {
        match &self.0 {
            Builder::Block(builder) => builder.file_size(),
            Builder::Plain(builder) => builder.file_size(),
            Builder::Cuckoo(builder) => builder.file_size(),
        }
    }

    /// Approximate size of the index in bytes.
    #[inline]
    pub fn index_size(&self) -> usize {
        match &self.0 {
            Builder::Block(builder) => builder.index_size(),
            Builder::Plain(builder) => builder.index_size(),
            Builder::Cuckoo(_) => 0,
        }
    }

    /// Limits blocks of the index and of range tombstones to `max_block` bytes.
    #[cfg(test)]
    pub(crate) fn limit_blocks(&mut self, max_block: usize) {
        if let Builder::Block(builder) = &mut self.0 {
            builder.limit_blocks(max_block);
        }
    }

    /// The number of points added so far.
    pub fn num_entries(&self) -> u64 {
        match &self.0 {
            Builder::Block(builder) => builder.num_entries(),
            Builder::Plain(builder) => builder.num_entries(),
            Builder::Cuckoo(builder) => builder.num_entries(),
        }
    }

    /// Writes what follows the data, flushes and syncs the file. Returns the properties and the
    /// file's size.
    ///
    /// # Errors
    /// A failure of the file, now or earlier; `InvalidArgument` for an index or range tombstones
    /// of 4 GiB or more, which could not be read again; `NotSupported` for a cuckoo table without
    /// room for a key. The file is unusable then.
    pub fn finish(self) -> Result<(TableProperties, u64)> {
        match self.0 {
            Builder::Block(builder) => builder.finish(),
            Builder::Plain(builder) => builder.finish(),
            Builder::Cuckoo(builder) => builder.finish(),
        }
    }

    /// The properties of the table, if it is block-based.
    #[cfg(test)]
    pub(crate) fn properties_mut(&mut self) -> &mut TableProperties {
        match &mut self.0 {
            Builder::Block(builder) => builder.properties_mut(),
            Builder::Plain(_) | Builder::Cuckoo(_) => panic!("not a block-based table"),
        }
    }
}
