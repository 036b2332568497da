//! Tables that are made outside a database, or by another one, and come into one.
//!
//! * [`writer`]: makes such a table.
//! * [`candidate`]: the conditions that a table must meet before it can be ingested.
//! * [`place`]: the levels that tables are ingested into.
//! * [`exported`], [`imported`]: tables of a column family on their way into another database.
//!
//! Ingestions and imports themselves are done by the database: `db::ingest`, `db::import`.

pub(crate) mod candidate;
pub(crate) mod exported;
pub(crate) mod imported;
pub(crate) mod place;
pub(crate) mod writer;
