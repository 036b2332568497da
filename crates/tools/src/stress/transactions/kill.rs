//! Processes that are killed.
//!
//! In each round, a child process works on the database and reports what it does. This
//! process keeps the reports, kills the child, and checks the database.

use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use whitewater::fs::Fs;
use whitewater::fs::os::OsFs;

use super::bank::{BankOptions, Policies, audited};
use super::ledger::{Event, Kept, Ledger};
use super::teller::{Context, Journal, Teller, names};
use crate::stress::args::Args;
use crate::stress::worker::Stop;

/// The number of rounds on one database.
const ROUNDS: u64 = 8;

fn rng(args: &Args, round: u64, what: u64) -> StdRng {
    let seed = args.seed.wrapping_mul(1_000_003).wrapping_add(round);
    StdRng::seed_from_u64(seed ^ what)
}

/// Runs one round on the database in `dir`. Returns how many writes were acknowledged.
///
/// # Errors
/// What went wrong, and under which options.
pub fn round(args: &Args, dir: &Path, round: u64, ledger: &mut Ledger) -> Result<u64, String> {
    let db_dir = dir.join("db");
    if round.is_multiple_of(ROUNDS) {
        *ledger = Ledger::default();
        if round == 0 && db_dir.exists() {
            return Err(format!("{} is there already", db_dir.display()));
        }
        if db_dir.exists() {
            std::fs::remove_dir_all(&db_dir).map_err(|e| format!("{}: {e}", db_dir.display()))?;
        }
    }
    let mut rng = rng(args, round, 0x7478_6b69);
    let time = Duration::from_micros(rng.random_range(0..args.life * 1000));
    let acked = ledger.acked();
    live(args, dir, round, time, ledger)?;
    let acked = ledger.acked() - acked;
    let options = BankOptions::draw(&mut rng, Policies::of(args.seed, round / ROUNDS));
    let fail = |e: String| format!("killed after {time:?}, opened with {options:?}: {e}");
    let fs: Arc<dyn Fs> = Arc::new(OsFs);
    let db = options
        .open(&db_dir, &fs)
        .map_err(|e| fail(e.to_string()))?;
    let books = audited(&db).map_err(fail)?;
    let before = ledger.clone();
    ledger
        .settle_all(&before, Kept::Process, &names(&db), &books)
        .map_err(fail)?;
    Ok(acked)
}

/// Starts a process, takes its reports for `time`, and kills it.
fn live(
    args: &Args,
    dir: &Path,
    round: u64,
    time: Duration,
    ledger: &mut Ledger,
) -> Result<(), String> {
    let cannot = |what: &str, e: io::Error| format!("{what}: {e}");
    let program = std::env::current_exe().map_err(|e| cannot("finding this program", e))?;
    let mut child = Command::new(program)
        .args(["--worker", "--kill", "--transactions"])
        .args(["--seed", &args.seed.to_string()])
        .args(["--rounds", &round.to_string()])
        .args(["--threads", &args.threads.to_string()])
        .arg("--dir")
        .arg(dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| cannot("starting the process", e))?;
    let input = child.stdin.take().expect("it was piped");
    let output = child.stdout.take().expect("it was piped");
    // Its first line is the time, so that both count events alike.
    let mut tell = BufWriter::new(input);
    let known = (|| {
        writeln!(tell, "{}", ledger.now())?;
        for event in ledger.settled() {
            writeln!(tell, "{event}")?;
        }
        tell.flush()
    })();
    known.map_err(|e: io::Error| cannot("telling the process", e))?;
    drop(tell);
    let (wrong, status) = thread::scope(|scope| {
        let listener = scope.spawn(move || -> Result<Option<String>, String> {
            let mut wrong = None;
            let mut output = BufReader::new(output);
            let mut line = String::new();
            while output.read_line(&mut line).is_ok_and(|read| read > 0) {
                // An unfinished line does not count.
                let Some(whole) = line.strip_suffix('\n') else {
                    break;
                };
                let event = whole.parse()?;
                ledger.take(&event);
                if let Event::Wrong(what) = event {
                    wrong = Some(what);
                }
                line.clear();
            }
            Ok(wrong)
        });
        thread::sleep(time);
        let killed = child.kill().and_then(|()| child.wait());
        let status = killed.map_err(|e| cannot("killing the process", e))?;
        let wrong = listener.join();
        let wrong = wrong.map_err(|_| "the listener panicked".to_owned())??;
        Ok::<_, String>((wrong, status))
    })?;
    match wrong {
        Some(what) => Err(what),
        None if !super::super::kill::is_kill(status) => {
            Err(format!("the process exited by itself: {status}"))
        }
        None => Ok(()),
    }
}

/// Runs the child process, until it is killed.
///
/// # Errors
/// A bug, which has been reported already.
pub fn work(args: &Args, dir: &Path) -> Result<(), String> {
    let round = args.rounds;
    let mut rng = rng(args, round, 0x7478_776f);
    let mut lines = io::stdin().lines();
    let mut line = || {
        lines
            .next()
            .transpose()
            .map_err(|e| format!("reading: {e}"))
    };
    let now = line()?.unwrap_or_default();
    let mut ledger = Ledger::at(now.parse().map_err(|e| format!("{now:?}: {e}"))?);
    while let Some(line) = line()? {
        if let Event::Begin(name, fate) = line.parse()? {
            ledger.settle(&name, fate);
        }
    }
    let journal = Journal::new(ledger, true);
    let options = BankOptions::draw(&mut rng, Policies::of(args.seed, round / ROUNDS));
    let fs: Arc<dyn Fs> = Arc::new(OsFs);
    let db_dir = dir.join("db");
    let wrong = |what: String| {
        let what = format!("{what}, with {options:?}");
        // If the parent is gone, the exit code still reports the failure.
        let _ = journal.put(&Event::Wrong(what.clone()));
        what
    };
    let db = options.open(&db_dir, &fs);
    let db = db.map_err(|e| wrong(format!("opening: {e}")))?;
    let context = Context {
        db: &db,
        dir: &db_dir,
        fs: &fs,
        options: &options,
        journal: &journal,
        faulty: false,
        life: round,
    };
    match context.take_over(&mut rng) {
        Ok(()) => {}
        Err(Stop::NoListener) => return Ok(()),
        Err(Stop::Wrong(what)) => return Err(wrong(what)),
    }
    let seed = rng.random();
    thread::scope(|scope| {
        for thread in 0..args.threads {
            let (context, wrong) = (&context, &wrong);
            scope.spawn(move || {
                let run = || -> Result<(), Stop> {
                    let mut teller = Teller::new(context, thread, seed);
                    loop {
                        teller.step()?;
                    }
                };
                let what = match catch_unwind(AssertUnwindSafe(run)) {
                    Ok(Ok(()) | Err(Stop::NoListener)) => return,
                    Ok(Err(Stop::Wrong(what))) => what,
                    Err(_) => "a thread panicked".to_owned(),
                };
                // Exit, because the other threads would continue.
                wrong(format!("thread {thread}: {what}"));
                std::process::exit(1);
            });
        }
    });
    Ok(())
}
