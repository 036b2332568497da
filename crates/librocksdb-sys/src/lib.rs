//! Whitewater under the name of the crate `librocksdb-sys`: crates that call RocksDB's C interface
//! from Rust, such as `rocksdb`, run on this engine unedited with
//!
//! ```toml
//! [patch.crates-io]
//! librocksdb-sys = { path = ".../crates/librocksdb-sys" }
//! ```
//!
//! What `../c/README.md` says of the C interface holds here.

#![allow(
    non_camel_case_types,
    non_upper_case_globals,
    non_snake_case,
    clippy::all,
    reason = "names are those of rocksdb/c.h"
)]

// The functions that are declared below.
extern crate whitewater_c_api as _;

use libc::{c_char, c_int, c_uchar, c_uint, c_void};

include!("bindings.rs");
include!("changed_11.rs");
