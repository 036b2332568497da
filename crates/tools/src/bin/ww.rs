//! `ww`: looks into databases and changes them, as RocksDB's `ldb` and
//! `sst_dump` do. All of it is in [`whitewater_tools::ww`].

use std::process::ExitCode;

/// In place of the system's.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: whitewater::Jemalloc = whitewater::Jemalloc;

fn main() -> ExitCode {
    whitewater_tools::ww::main(std::env::args_os())
}
