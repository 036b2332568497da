//! Reading: point look-ups and iterators over memtables and tables.
//!
//! * [`merge`]: the merge operator and how operands are combined.
//! * [`rangedel`]: range tombstones, fragmented for look-ups.
//! * [`get`]: the state of one point look-up.
//! * [`merging`]: many sorted sources as one.
//! * [`level`]: the tables of one sorted level as one source.
//! * [`db_iter`]: user keys and values out of internal ones.
//! * [`table_cache`]: open tables by file.

pub(crate) mod db_iter;
pub(crate) mod get;
pub(crate) mod level;
pub(crate) mod merge;
pub(crate) mod merging;
pub(crate) mod rangedel;
pub(crate) mod table_cache;
