//! Whitewater behind RocksDB's Java classes, those of Maven's `org.rocksdb:rocksdbjni` from 9.7 to
//! 10.1 and of `com.ververica:frocksdbjni` 8.10: a JVM that finds this library under
//! `java.library.path` runs on this engine.
//!
//! * [`border`]: how natives are declared, and errors and panics thrown.
//! * [`handles`]: what the numbers stand for that Java keeps.
//! * [`databases`], [`reads`], [`writes`], [`inspect`], [`control`], [`iterators`], [`batches`].
//! * [`exports`]: column families that are exported and imported.
//! * [`callbacks`]: calls into Java; [`filters`] of compactions, and [`flink`]'s.
//! * [`options`], [`table_options`], [`per_call`], [`statistics`]; [`unbuilt`]: objects whose
//!   options are refused.
//!
//! `build.rs` makes all other natives out of `natives.tsv`, which `scripts/jni-natives` writes:
//! options that are one value, and for the rest one that throws `Not implemented` by its name.
//!
//! Differences from RocksDB:
//! * What was closed, or goes with a database that was closed, throws when it is used; in RocksDB
//!   that is undefined behaviour.
//! * A call that runs while another thread closes what it uses ends as if it had come first.
//! * Java code that the database would call (comparators, merge operators, listeners, loggers) is
//!   not built, but for factories of compaction filters; neither are direct buffers.

#![allow(missing_docs, reason = "RocksDB's Java classes document the natives")]

mod batches;
mod border;
mod callbacks;
mod control;
mod databases;
mod exports;
mod filters;
mod flink;
mod handles;
mod inspect;
mod iterators;
mod options;
mod per_call;
mod reads;
mod statistics;
mod table_options;
mod unbuilt;
mod writes;

/// What `build.rs` has made.
mod generated {
    use crate::border::natives;
    use jni::objects::JObject;
    use whitewater_c_api::options::values::{self, Form};

    include!(concat!(env!("OUT_DIR"), "/natives.rs"));
}
