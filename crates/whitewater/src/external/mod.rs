//! Tables that are made outside a database and ingested into one.
//!
//! * [`writer`]: makes such a table.
//! * [`candidate`]: the conditions that a table must meet before it can be ingested.
//! * [`place`]: the levels that tables are ingested into.
//!
//! The ingestion itself is done by the database: `db::ingest`.

pub(crate) mod candidate;
pub(crate) mod place;
pub(crate) mod writer;
