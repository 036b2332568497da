//! Processes that are killed.
//!
//! In each round a child process opens the database and works on it with several threads.
//! It reports each write before it begins and after it ends. It is killed at a random
//! moment, possibly during recovery. This process keeps the reports and then checks the
//! database.
//!
//! With a [`Device`], the device loses its power before the process dies. All writes are
//! synced in this mode, and any operation may fail from the cut on. An acknowledgement that
//! arrives once the cut has begun counts as a failure: a machine without power acknowledges
//! nothing, but a process on an ext4 that is being shut down does. There, `fdatasync` of a
//! growing file can return success although the journal, aborted meanwhile, has dropped the
//! transaction that it waited for (Linux 6.18; a loop of `pwrite` and `fdatasync` alone
//! loses its last record in one shutdown of twenty).

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use whitewater::fs::os::OsFs;

use super::args::Args;
use super::device::Device;
use super::journal::{Entry, Journal, Outcome, Pipe};
use super::key_model::{Shape, Slot, Version};
use super::model::{Change, Expected, UncertainWrite};
use super::random_options::{self, RandomOptions};
use super::store;
use super::transient_families::TransientFamilies;
use super::worker::{Context, Ingests, Log, Stop, Worker};

/// The number of rounds on one database.
const ROUNDS: u64 = 12;
/// How long a process keeps running after its device lost power.
const AFTERLIFE: Duration = Duration::from_millis(20);

/// How a process ends.
#[derive(Debug, Clone, Copy)]
pub enum End<'a> {
    /// SIGKILL.
    Kill,
    /// A power cut of the device, then SIGKILL.
    Cut(&'a Device),
}

/// What the parent process knows about the database.
#[derive(Debug)]
struct Monitor {
    shape: Shape,
    /// The content while the child lives.
    living: Expected,
    /// The content that may be found after the child died.
    expected: Expected,
    /// Unfinished writes by thread, and whether they are logged.
    pending: BTreeMap<u32, (Vec<Change>, bool)>,
    next: Version,
    acked: u64,
    wrong: Option<String>,
}

impl Monitor {
    fn take(&mut self, entry: Entry) {
        match entry {
            Entry::Begin(thread, changes) => self.begin(thread, changes, true),
            Entry::Loose(thread, changes) => self.begin(thread, changes, false),
            Entry::End(thread, outcome) => self.end(thread, outcome),
            Entry::Wrong(what) => self.wrong = Some(what),
        }
    }

    fn begin(&mut self, thread: u32, changes: Vec<Change>, is_logged: bool) {
        let versions = changes.iter().filter_map(|c| c.held);
        self.next = versions.chain([self.next]).max().unwrap_or_default();
        self.pending.insert(thread, (changes, is_logged));
    }

    fn end(&mut self, thread: u32, outcome: Outcome) {
        let (changes, _) = self.pending.remove(&thread).unwrap_or_default();
        match outcome {
            Outcome::Failed => {
                self.living.maybe_apply(&changes);
                self.expected.maybe_apply(&changes);
            }
            Outcome::Refused => {}
            Outcome::Acked | Outcome::Synced => {
                self.living.apply(&changes);
                self.expected.apply(&changes);
                self.acked += 1;
            }
            Outcome::Unlogged => {
                self.living.apply(&changes);
                self.expected.maybe_apply(&changes);
                self.acked += 1;
            }
            Outcome::Flushed(number) => {
                let shape = self.shape;
                self.expected.merge(&self.living, |slot| {
                    number.is_none_or(|n| n == slot.family) && shape.is_of(thread, slot)
                });
            }
        }
    }

    /// Adds the unfinished writes to what may be found. Each must be found completely or
    /// not at all.
    fn at_death(&mut self) -> Vec<UncertainWrite> {
        let pending = std::mem::take(&mut self.pending);
        let before = self.expected.clone();
        for (changes, _) in pending.values() {
            self.expected.maybe_apply(changes);
        }
        let logged = pending.into_values().filter(|(_, is_logged)| *is_logged);
        logged
            .map(|(changes, _)| UncertainWrite::new(&before, &changes))
            .collect()
    }
}

/// Runs one round on the database in `dir`. Returns how many writes were acknowledged.
///
/// # Errors
/// What went wrong, and under which options.
pub fn round(
    args: &Args,
    end: End<'_>,
    dir: &Path,
    round: u64,
    kept: &mut Kept,
) -> Result<u64, String> {
    let life = round / ROUNDS;
    let shape = random_options::shape(args.seed.wrapping_add(life), args.threads);
    let db_dir = dir.join("db");
    if round.is_multiple_of(ROUNDS) {
        *kept = Kept::default();
        if round == 0 && db_dir.exists() {
            return Err(format!("{} is there already", db_dir.display()));
        }
        if round > 0 {
            remove(dir)?;
        }
    }
    let mut monitor = Monitor {
        shape,
        living: Expected::exactly(&kept.content),
        expected: Expected::exactly(&kept.content),
        pending: BTreeMap::new(),
        next: kept.next,
        acked: 0,
        wrong: None,
    };
    let mut rng = StdRng::seed_from_u64(args.seed.wrapping_add(round) ^ 0x6b69_6c6c);
    let time = Duration::from_micros(rng.random_range(0..args.life * 1000));
    live(args, end, dir, round, time, &mut monitor)?;
    if let Some(what) = monitor.wrong {
        return Err(what);
    }
    if let End::Cut(device) = end {
        device.restore()?;
    }
    let uncertain = monitor.at_death();
    // The options differ from those of the killed process.
    let options = RandomOptions::new(seed(args, round) ^ 0x7665_7269);
    let fail = |e| format!("after {time:?}, opened with {options}: {e}");
    let db = store::open(&db_dir, Arc::new(OsFs), &options, shape);
    let db = db.map_err(|e| fail(e.to_string()))?;
    let content = store::check(&db, shape, &monitor.expected).map_err(fail)?;
    uncertain
        .iter()
        .try_for_each(|t| t.check(&content))
        .map_err(fail)?;
    *kept = Kept {
        content,
        next: monitor.next,
    };
    Ok(monitor.acked)
}

/// Removes the database of the last round from `dir`, if there is one, and what its threads
/// have left beside it.
///
/// # Errors
/// Something cannot be removed.
pub fn remove(dir: &Path) -> Result<(), String> {
    let cannot = |path: &Path, e: io::Error| format!("{}: {e}", path.display());
    for entry in std::fs::read_dir(dir).map_err(|e| cannot(dir, e))? {
        let entry = entry.map_err(|e| cannot(dir, e))?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name != "db" && !store::is_beside(&name) {
            continue;
        }
        let path = entry.path();
        let removed = match path.is_dir() {
            true => std::fs::remove_dir_all(&path),
            false => std::fs::remove_file(&path),
        };
        removed.map_err(|e| cannot(&path, e))?;
    }
    Ok(())
}

/// What is known between two rounds.
#[derive(Debug, Default)]
pub struct Kept {
    content: BTreeMap<Slot, Version>,
    next: Version,
}

fn seed(args: &Args, round: u64) -> u64 {
    args.seed.wrapping_mul(1_000_003).wrapping_add(round)
}

/// Starts a process, collects its reports for `time`, and ends it.
fn live(
    args: &Args,
    end: End<'_>,
    dir: &Path,
    round: u64,
    time: Duration,
    monitor: &mut Monitor,
) -> Result<(), String> {
    let cannot = |what: &str, e: io::Error| format!("{what}: {e}");
    let program = std::env::current_exe().map_err(|e| cannot("finding this program", e))?;
    let mut child = Command::new(program)
        .arg("--worker")
        .arg(match end {
            End::Kill => "--kill",
            End::Cut(_) => "--shutdown",
        })
        .args(["--seed", &args.seed.to_string()])
        .args(["--rounds", &round.to_string()])
        .args(["--threads", &args.threads.to_string()])
        .args(
            args.without
                .iter()
                .map(|o| format!("--without={}", o.name())),
        )
        .arg("--dir")
        .arg(dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| cannot("starting the process", e))?;
    let (input, output) = pipes(&mut child);
    tell(input, monitor).map_err(|e| cannot("sending the known content to the process", e))?;
    // Written here before the power is cut. The listener reads it for each line, so that it
    // takes every report that was sent after the cut for a report after the cut (Release,
    // Acquire).
    let is_cut = AtomicBool::new(false);
    let heard = thread::scope(|scope| {
        let listener = scope.spawn(|| listen(output, monitor, &is_cut));
        thread::sleep(time);
        let early = match end {
            End::Kill => None,
            End::Cut(device) => {
                let early = child.try_wait();
                let early = early.map_err(|e| cannot("checking the process", e))?;
                is_cut.store(true, Ordering::Release);
                device.cut()?;
                thread::sleep(AFTERLIFE);
                early
            }
        };
        child.kill().map_err(|e| cannot("killing the process", e))?;
        let status = child
            .wait()
            .map_err(|e| cannot("waiting for the process", e))?;
        listener
            .join()
            .map_err(|_| "the listener panicked".to_owned())??;
        Ok::<_, String>(match end {
            End::Kill => (!is_kill(status)).then_some(status),
            // How the process ends without its device does not matter.
            End::Cut(_) => early,
        })
    })?;
    match heard {
        // The process ends by itself only to report a bug.
        Some(status) if monitor.wrong.is_none() => {
            Err(format!("the process exited by itself: {status}"))
        }
        _ => Ok(()),
    }
}

/// Whether the process was killed.
pub fn is_kill(status: std::process::ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;
    status.signal() == Some(nix::sys::signal::Signal::SIGKILL as i32)
}

fn pipes(child: &mut Child) -> (ChildStdin, ChildStdout) {
    let input = child.stdin.take().expect("it was piped");
    (input, child.stdout.take().expect("it was piped"))
}

fn tell(input: ChildStdin, monitor: &Monitor) -> io::Result<()> {
    let mut input = BufWriter::new(input);
    writeln!(input, "{}", monitor.next)?;
    for change in monitor.expected.changes() {
        writeln!(input, "{change}")?;
    }
    input.flush()
}

/// Takes all reports until the process ends. An unfinished line does not count, nor does an
/// acknowledgement that arrives once the power `is_cut`.
fn listen(output: ChildStdout, monitor: &mut Monitor, is_cut: &AtomicBool) -> Result<(), String> {
    let mut output = BufReader::new(output);
    let mut line = String::new();
    loop {
        line.clear();
        let read = output
            .read_line(&mut line)
            .map_err(|e| format!("reading the journal: {e}"))?;
        match line.strip_suffix('\n') {
            Some(whole) => {
                let entry = whole.parse()?;
                monitor.take(if is_cut.load(Ordering::Acquire) {
                    without_power(entry)
                } else {
                    entry
                });
            }
            None if read == 0 || !line.is_empty() => return Ok(()),
            None => {}
        }
    }
}

/// Converts an entry that arrived during the power cut: a write that it reports as done may
/// be there or not.
fn without_power(entry: Entry) -> Entry {
    match entry {
        Entry::End(thread, outcome) if outcome != Outcome::Refused => {
            Entry::End(thread, Outcome::Failed)
        }
        entry => entry,
    }
}

/// Runs the child process, until it is killed.
///
/// # Errors
/// A bug, which has been reported already.
pub fn work(args: &Args, dir: &Path) -> Result<(), String> {
    // A child has one round only; the flag holds its number.
    let round = args.rounds;
    let result = begin(args, dir, round);
    if let Err(what) = &result {
        // If the parent is gone, the exit code still reports the failure.
        let _ = Pipe.put(Entry::Wrong(what.clone()));
    }
    result
}

// Long: one life of a worker, from its start to its last line.
fn begin(args: &Args, dir: &Path, round: u64) -> Result<(), String> {
    let mut lines = io::stdin().lines();
    let mut line = || {
        lines
            .next()
            .transpose()
            .map_err(|e| format!("reading the known content: {e}"))
    };
    let first = line()?.unwrap_or_default();
    let next: Version = first.parse().map_err(|e| format!("{first:?}: {e}"))?;
    let mut changes = Vec::new();
    while let Some(line) = line()? {
        changes.push(line.parse()?);
    }
    let mut known = Expected::default();
    known.apply(&changes);
    let content = changes.iter().filter_map(|c| Some((c.slot, c.held?)));
    let content = content.collect();

    let shape: Shape = random_options::shape(args.seed.wrapping_add(round / ROUNDS), args.threads);
    let options = RandomOptions::new(seed(args, round));
    let db_dir = dir.join("db");
    let db = match store::open(&db_dir, Arc::new(OsFs), &options, shape) {
        Ok(db) => db,
        // This is a bug only if the device had power, which the parent knows.
        Err(e) if args.shutdown => {
            eprintln!("opening with {options}: {e}");
            std::process::exit(1);
        }
        Err(e) => return Err(format!("opening with {options}: {e}")),
    };
    let transient = TransientFamilies::new(shape, &content, next);
    let context = Context {
        db: &db,
        dir: &db_dir,
        fs: Arc::new(OsFs),
        options: &options,
        shape,
        transient: &transient,
        journal: &Pipe,
        faulty: args.shutdown,
        ingests: Ingests::Anytime,
        log: match round % 3 {
            _ if args.shutdown => Log::Synced,
            2 => Log::Mostly,
            _ => Log::Always,
        },
        without: &args.without,
    };
    thread::scope(|scope| {
        for thread in 0..args.threads {
            let (context, known) = (&context, known.clone());
            scope.spawn(move || {
                let seed = seed(args, round) ^ 0x776f_726b;
                let run = || -> Result<(), Stop> {
                    let mut worker = Worker::new(context, thread, seed, known, next)?;
                    loop {
                        worker.step()?;
                    }
                };
                let ran = catch_unwind(AssertUnwindSafe(run));
                let what = match ran {
                    Ok(Ok(()) | Err(Stop::NoListener)) => return,
                    Ok(Err(Stop::Wrong(what))) => what,
                    Err(_) => "a thread panicked".to_owned(),
                };
                // Exit, because the other threads would continue.
                let what = format!("thread {thread}, {}: {what}", context.options);
                let _ = Pipe.put(Entry::Wrong(what));
                std::process::exit(1);
            });
        }
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_acknowledged_without_power_may_be_lost() {
        for outcome in [Outcome::Acked, Outcome::Synced, Outcome::Flushed(None)] {
            let failed = Entry::End(1, Outcome::Failed);
            assert_eq!(without_power(Entry::End(1, outcome)), failed);
        }
        for entry in [
            Entry::End(1, Outcome::Refused),
            Entry::Begin(2, Vec::new()),
            Entry::Wrong("a value".to_owned()),
        ] {
            assert_eq!(without_power(entry.clone()), entry);
        }
    }
}
