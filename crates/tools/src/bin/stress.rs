//! `stress`: attacks the engine until something gives. All of it is in
//! [`whitewater_tools::stress`].

use std::process::ExitCode;

fn main() -> ExitCode {
    whitewater_tools::stress::main(std::env::args_os())
}
