//! `db_bench`: RocksDB's benchmark program, for this engine. All of it is in
//! [`whitewater_tools::bench`].

use std::process::ExitCode;

/// In place of the system's.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: whitewater::Jemalloc = whitewater::Jemalloc;

fn main() -> ExitCode {
    whitewater_tools::bench::main(std::env::args_os().skip(1))
}
