//! The command line.

use std::path::PathBuf;

use clap::Parser;

use super::worker::Operation;

/// Attacks the engine for a while: threads write and read with options by chance,
/// while they are killed or their file system fails. Whatever was acknowledged must
/// be there, whatever was not must be there whole or not at all, and reads must
/// never show anything else.
///
/// Without a mode, all of them take turns.
#[derive(Debug, Clone, Parser)]
#[command(name = "stress", version)]
pub struct Args {
    /// Kill the process that writes at random (SIGKILL), and look at what it left.
    #[arg(long)]
    pub kill: bool,

    /// Cut the power at random (a file system in memory, of which a cut leaves what
    /// was synced, and any part of the rest).
    #[arg(long)]
    pub power_cut: bool,

    /// Cut the power of a device that a process writes to (ext4 in a file, mounted by
    /// loop), kill it, and look at what is there after a new mount. Takes the rights
    /// of root, and xfs_io. Not among the modes that take turns.
    #[arg(long, conflicts_with = "simulate")]
    pub shutdown: bool,

    /// Have operations of the file system fail at random (EIO, ENOSPC, half a
    /// write, a failed sync), in memory.
    #[arg(long)]
    pub faults: bool,

    /// Change bits, or some bytes in a row, of files at rest.
    #[arg(long)]
    pub corrupt: bool,

    /// Write with many threads (--threads, better hundreds) for --seconds, a quarter of
    /// it with each commit protocol. Prints how fast each was, and fails if a thread
    /// starves or memory exceeds its limit.
    #[arg(long, conflicts_with_all = ["kill", "power_cut", "shutdown", "faults", "corrupt", "simulate"])]
    pub load: bool,

    /// Run the threads of --power-cut and --faults one at a time, in small databases,
    /// so that a seed is one run: what fails once fails each time. Needs the cargo
    /// feature "simulation".
    #[arg(long)]
    pub simulate: bool,

    /// Begins the rounds: each has options and threads of its own seed. A failure
    /// says with what to repeat it.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,

    /// Rounds of each mode.
    #[arg(long, default_value_t = u64::MAX, hide_default_value = true)]
    pub rounds: u64,

    /// Seconds after which no round is begun any more.
    #[arg(long, default_value_t = 60)]
    pub seconds: u64,

    /// Threads that write.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: u32,

    /// Milliseconds that a process lives at most in --kill and --shutdown.
    #[arg(long, default_value_t = 1500, value_parser = clap::value_parser!(u64).range(1..))]
    pub life: u64,

    /// Operations of each thread: in a round of --faults (by default 2000, simulated
    /// 150), a quarter of them in --corrupt; at most in a life of --power-cut (no
    /// limit by default).
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    pub ops: u64,

    /// Operations that threads leave out.
    #[arg(long, value_delimiter = ',')]
    pub without: Vec<Operation>,

    /// Seconds that a round may take: then it hangs, and the program ends with 70.
    /// There is no limit with 0.
    #[arg(long, default_value_t = 600)]
    pub patience: u64,

    /// Print what each simulation came to, to compare runs.
    #[arg(long, hide = true)]
    pub fingerprints: bool,

    /// A directory for the databases of --kill and the device of --shutdown, made if need be; there must be no
    /// "db" in it. By default a temporary one. What is made is removed in the end, after
    /// Ctrl-C too, and stays after a failure.
    #[arg(long)]
    pub dir: Option<PathBuf>,

    /// Be the process that writes, for the one that kills it.
    #[arg(long, hide = true)]
    pub worker: bool,
}
