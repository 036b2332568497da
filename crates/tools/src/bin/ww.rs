//! `ww`: looks into databases and changes them, as RocksDB's `ldb` and
//! `sst_dump` do. All of it is in [`whitewater_tools::ww`].

use std::process::ExitCode;

fn main() -> ExitCode {
    whitewater_tools::ww::main(std::env::args_os())
}
