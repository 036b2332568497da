//! The command line.

use std::path::PathBuf;

use clap::Parser;

use super::worker::Operation;

/// Looks for bugs in the engine. Threads write to and read from a database with random
/// options while their process is killed, the power is cut or the file system fails. Every
/// acknowledged write must survive, every other write must survive completely or not at
/// all, and no read may return anything else.
///
/// Without a mode, all modes that need no special rights take turns.
#[derive(Debug, Clone, Parser)]
#[command(name = "stress", version)]
pub struct Args {
    /// Kill the writing process at a random moment (SIGKILL), then check the database that
    /// it left.
    #[arg(long)]
    pub kill: bool,

    /// Cut the power at a random moment. The file system is in memory; a cut keeps what was
    /// synced and any part of the rest.
    #[arg(long)]
    pub power_cut: bool,

    /// Cut the power of a device that a process writes to (an ext4 image on a loop device),
    /// kill the process, and check the database after the next mount. Needs root and
    /// xfs_io. Does not run unless it is asked for.
    #[arg(long, conflicts_with = "simulate")]
    pub shutdown: bool,

    /// Let file system operations fail at random (EIO, ENOSPC, half a write, a failed
    /// sync). The file system is in memory.
    #[arg(long)]
    pub faults: bool,

    /// Damage closed files: flip a bit, or overwrite some bytes.
    #[arg(long)]
    pub corrupt: bool,

    /// Write with many threads (--threads, preferably hundreds) for --seconds, a quarter of
    /// the time with each commit protocol. Prints the throughput of each protocol. Fails if
    /// a thread starves or if memory exceeds its limit.
    #[arg(long, conflicts_with_all = ["kill", "power_cut", "shutdown", "faults", "corrupt", "simulate"])]
    pub load: bool,

    /// Work on a database with pessimistic transactions, in --kill, --power-cut, --faults or
    /// --load (all but the last if none is given). Threads own no keys. Each transaction
    /// moves an amount between two column families; some are prepared and left undecided.
    /// The sum never changes, and what is prepared is there after each death.
    #[arg(long, conflicts_with_all = ["corrupt", "shutdown"])]
    pub transactions: bool,

    /// Run the threads of --power-cut and --faults one at a time, on small databases, so
    /// that a seed determines the run: a failure is reproducible. Needs the cargo feature
    /// "simulation".
    #[arg(long)]
    pub simulate: bool,

    /// The seed of the first round; each later round adds one. A round takes its options
    /// and threads from its seed. A failure prints the command that repeats it.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,

    /// The number of rounds of each mode.
    #[arg(long, default_value_t = u64::MAX, hide_default_value = true)]
    pub rounds: u64,

    /// The time in seconds after which no further round begins.
    #[arg(long, default_value_t = 60)]
    pub seconds: u64,

    /// The number of writing threads.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: u32,

    /// The longest life of a process in --kill and --shutdown, in milliseconds.
    #[arg(long, default_value_t = 1500, value_parser = clap::value_parser!(u64).range(1..))]
    pub life: u64,

    /// The number of operations of each thread. A round of --faults does that many (default
    /// 2000, simulated 150), --corrupt does a quarter of that, and one life of the database
    /// in --power-cut does at most that many (no limit by default).
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    pub ops: u64,

    /// Operations that the threads leave out.
    #[arg(long, value_delimiter = ',')]
    pub without: Vec<Operation>,

    /// The time in seconds after which a round counts as hung and the program exits with
    /// 70; 0 sets no limit.
    #[arg(long, default_value_t = 600)]
    pub patience: u64,

    /// Print a fingerprint of each simulation, to compare runs.
    #[arg(long, hide = true)]
    pub fingerprints: bool,

    /// The directory for the databases of --kill and the device of --shutdown. It is
    /// created if necessary and must not contain "db". The default is a temporary
    /// directory. The program removes what it created, also after Ctrl-C, but keeps it
    /// after a failure.
    #[arg(long)]
    pub dir: Option<PathBuf>,

    /// Run as the writing process, for the process that will kill it.
    #[arg(long, hide = true)]
    pub worker: bool,
}
