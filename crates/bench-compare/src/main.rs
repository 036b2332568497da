//! `bench-compare`: see the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    match whitewater_bench_compare::args::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("bench-compare: {failure}");
            ExitCode::FAILURE
        }
    }
}
