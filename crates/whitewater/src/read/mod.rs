//! Reading: point look-ups and iterators over memtables and tables.
//!
//! * [`cover`]: what the range tombstones of an iterator's sources delete at its position;
//!   [`tombstones`]: those of a job's tables.
//! * [`blob`]: values that are stored in blob files.
//! * [`source`]: a source of an iterator, and a block that it has lent; [`merging`]: many sorted
//!   sources as one; [`nothing`]: none.
//! * [`level`]: the tables of a version as sources; [`level_iter`]: a level, or a table of
//!   level 0, as one source.
//! * [`lookup`]: a look-up of one key in the tables of a version; [`expectation`]: where it expects
//!   to find the key.
//! * [`all_prefixes`]: a source whose prefixes have changed.
//! * [`db_iter`]: from internal keys to user keys and values.
//! * [`sampling`]: which reads count for read-triggered compaction.
//! * [`estimate`]: estimates that need no data blocks; [`newest`]: the newest number of a key.

pub(crate) mod all_prefixes;
pub(crate) mod blob;
pub(crate) mod cover;
pub(crate) mod db_iter;
pub(crate) mod estimate;
pub(crate) mod expectation;
pub(crate) mod level;
pub(crate) mod level_iter;
pub(crate) mod lookup;
pub(crate) mod merging;
pub(crate) mod newest;
pub(crate) mod nothing;
pub(crate) mod sampling;
mod source;
pub(crate) mod tombstones;

#[cfg(test)]
pub(crate) mod model;
#[cfg(test)]
pub(crate) mod testing;
