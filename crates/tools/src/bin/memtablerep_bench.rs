//! `memtablerep_bench`: RocksDB's benchmark of memtables alone, for this
//! project's structures and other crates'. All of it is in
//! [`whitewater_tools::memtable_bench`].

use std::process::ExitCode;

use whitewater_concurrent::heap::CountingHeap;

/// Counts on request the memory of structures that keep no account.
#[global_allocator]
static HEAP: CountingHeap = CountingHeap;

fn main() -> ExitCode {
    whitewater_tools::memtable_bench::main(std::env::args_os().skip(1))
}
