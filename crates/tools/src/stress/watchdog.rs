//! A watchdog for rounds that hang.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use super::args::Args;

/// The exit code for a hang.
const EXIT_HUNG: i32 = 70;

/// Exits the program unless it is dropped in time.
pub struct Watchdog {
    _over: Sender<()>,
}

impl Watchdog {
    /// Starts a watchdog over `what` with the timeout of `args`.
    pub fn over(args: &Args, what: &str) -> Watchdog {
        let (over, is_over) = channel();
        let time = match args.patience {
            0 => Duration::MAX,
            seconds => Duration::from_secs(seconds),
        };
        let what = format!("{what} of seed {} hangs", args.seed);
        thread::spawn(move || {
            if is_over.recv_timeout(time) == Err(RecvTimeoutError::Timeout) {
                eprintln!("{what}: still running after {time:?}");
                std::process::exit(EXIT_HUNG);
            }
        });
        Watchdog { _over: over }
    }
}
