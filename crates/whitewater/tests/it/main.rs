//! Integration tests of the public API, in one binary.

mod api;
mod content;
mod fixtures;
mod interop;
