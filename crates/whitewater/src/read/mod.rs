//! Reading: point look-ups and iterators over memtables and tables.
//!
//! * [`cover`]: what the range tombstones of an iterator's sources delete where it is;
//!   [`tombstones`]: those of a job's tables.
//! * [`blob`]: values that stand in blob files.
//! * [`merging`]: many sorted sources as one.
//! * [`level`]: the tables of a version as sources; [`level_iter`]: one sorted
//!   level as one source.
//! * [`all_prefixes`]: a source where prefixes have changed.
//! * [`db_iter`]: user keys and values out of internal ones.
//! * [`estimate`]: what can be said without reading data blocks.

pub(crate) mod all_prefixes;
pub(crate) mod blob;
pub(crate) mod cover;
pub(crate) mod db_iter;
pub(crate) mod estimate;
pub(crate) mod level;
pub(crate) mod level_iter;
pub(crate) mod merging;
pub(crate) mod tombstones;

#[cfg(test)]
pub(crate) mod model;
#[cfg(test)]
pub(crate) mod testing;
