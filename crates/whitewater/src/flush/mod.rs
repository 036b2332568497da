//! flush
