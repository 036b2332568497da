//! `db_bench`: RocksDB's benchmark program, for this engine. All of it is in
//! [`whitewater_tools::bench`].

use std::process::ExitCode;

fn main() -> ExitCode {
    whitewater_tools::bench::main(std::env::args_os().skip(1))
}
