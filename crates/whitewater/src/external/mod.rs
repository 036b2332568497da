//! Tables that are made outside a database, and brought into one.
//!
//! * [`writer`]: makes such a table.
//! * [`candidate`]: what must hold of one before it may come in.
//! * [`place`]: the levels that tables go to.
//!
//! Bringing them in is the database's part: `db::ingest`.

pub(crate) mod candidate;
pub(crate) mod place;
pub(crate) mod writer;
