//! Options of tables.
//!
//! `index_type`: kinds of indexes. `read_limits`: deadlines of one call. `io_priority`: at which
//! priority its reads are charged. `auto_readahead`: how far iterators read ahead. `caching`: which
//! blocks go to the block cache, and which are pinned. `table_options`: the layout of new tables.
//! `table_format`: the formats of new tables.
//! `table_builder_options`: what the builder of one table has to know besides. `read_options`:
//! options of opening a table and of reading from it.

pub(crate) mod auto_readahead;
pub(crate) mod caching;
pub(crate) mod index_type;
pub(crate) mod io_priority;
pub(crate) mod read_limits;
pub(crate) mod read_options;
pub(crate) mod table_builder_options;
pub(crate) mod table_format;
pub(crate) mod table_options;
