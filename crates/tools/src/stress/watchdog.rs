//! Rounds that do not end.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use super::args::Args;

/// What the program ends with then.
const HANGS: i32 = 70;

/// Ends the program when it lives for too long.
pub struct Watchdog {
    _over: Sender<()>,
}

impl Watchdog {
    /// Watches over `what`, as long as `args` says.
    pub fn over(args: &Args, what: &str) -> Watchdog {
        let (over, is_over) = channel();
        let time = match args.patience {
            0 => Duration::MAX,
            seconds => Duration::from_secs(seconds),
        };
        let what = format!("{what} of seed {} hangs", args.seed);
        thread::spawn(move || {
            if is_over.recv_timeout(time) == Err(RecvTimeoutError::Timeout) {
                eprintln!("{what}: not over after {time:?}");
                std::process::exit(HANGS);
            }
        });
        Watchdog { _over: over }
    }
}
