//! A child process for each store in each round, so that its memory is its own; rounds in turn.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::group::{self, Limit};
use crate::mixes::Mix;
use crate::results::Results;
use crate::sequence::{self, Measured, Task, Work};
use crate::stores::Engine;
use crate::terminal::count_of_threads;
use crate::{Failure, Result, fail};

/// What begins a line of a child that tells of a mix.
const TOLD: &str = "measured ";
/// The signal that ends a process whose memory is over its limit.
const SIGKILL: i32 = 9;
/// The hidden option by which a child gets its task.
pub const CHILD: &str = "--child";

/// A whole run.
#[derive(Debug)]
pub struct Run<'a> {
    /// The stores.
    pub engines: &'a [Engine],
    /// The numbers of threads, each with all mixes.
    pub threads: &'a [usize],
    /// The mixes after the load.
    pub mixes: &'a [String],
    /// Whether each mix has a store of its own, loaded for it.
    pub fresh: bool,
    /// How often all is done.
    pub rounds: usize,
    /// The time after which no other round begins, nor one that would probably last longer. The
    /// first one always runs.
    pub budget: Option<Duration>,
    /// How much the mixes do.
    pub work: Work,
    /// Where stores are put, each in a directory that is removed then.
    pub directory: &'a Path,
    /// A limit to the memory of each child.
    pub limit: Option<u64>,
}

impl Run<'_> {
    /// Runs all; `note` gets a line about each child when it begins.
    ///
    /// # Errors
    /// A child fails; memory cannot be limited.
    pub fn all(&self, note: impl Fn(&str)) -> Result<Results> {
        let mut results = Results::default();
        let (start, mut longest) = (Instant::now(), Duration::ZERO);
        for round in 0..self.rounds {
            let began = Instant::now();
            for &threads in self.threads {
                // Each is first in some round.
                for at in 0..self.engines.len() {
                    let engine = self.engines[(at + round) % self.engines.len()];
                    note(&format!(
                        "round {} of {}, {}, {engine}",
                        round + 1,
                        self.rounds,
                        count_of_threads(threads)
                    ));
                    for mixes in self.sequences(engine) {
                        let measured = self.one(engine, threads, mixes);
                        let measured = measured.map_err(|why| why.during(engine.name()))?;
                        results.add(engine, threads, measured);
                    }
                }
            }
            longest = longest.max(began.elapsed());
            if self.is_spent(start.elapsed(), longest) {
                note("no time for another round");
                break;
            }
        }
        Ok(results)
    }

    /// Whether there is no time for another round.
    fn is_spent(&self, elapsed: Duration, longest: Duration) -> bool {
        self.budget.is_some_and(|budget| elapsed + longest > budget)
    }

    /// The mixes that a store can run, those of each child.
    fn sequences(&self, engine: Engine) -> Vec<Vec<String>> {
        let suits = |name: &&String| Mix::named(name).is_some_and(|mix| mix.suits(engine));
        let mixes: Vec<_> = self.mixes.iter().filter(suits).cloned().collect();
        match self.fresh {
            true => mixes.into_iter().map(|mix| vec![mix]).collect(),
            false => vec![mixes],
        }
    }

    fn one(&self, engine: Engine, threads: usize, mixes: Vec<String>) -> Result<Vec<Measured>> {
        let limit = self.limit.map(Limit::new).transpose()?;
        let program = std::env::current_exe()?;
        let mut command = match &limit {
            Some(limit) => limit.command(program.as_os_str()),
            None => Command::new(&program),
        };
        let directory = tempfile::Builder::new()
            .prefix("bench-compare-")
            .tempdir_in(self.directory)?;
        let task = Task {
            engine: engine.name().to_owned(),
            directory: directory.path().join("store"),
            group: limit.as_ref().and_then(Limit::group).map(Path::to_owned),
            mixes,
            threads,
            work: self.work,
            limited: limit.is_some(),
        };
        fs::create_dir(&task.directory)?;
        command.arg(CHILD).arg(serde_json::to_string(&task)?);
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        listen(child, self.limit)
    }
}

/// What a child told, once it has ended well. `limit` is that of its memory.
fn listen(mut child: std::process::Child, limit: Option<u64>) -> Result<Vec<Measured>> {
    let mut told = Vec::new();
    if let Some(output) = child.stdout.take() {
        for line in BufReader::new(output).lines() {
            if let Some(text) = line?.strip_prefix(TOLD) {
                told.push(serde_json::from_str(text)?);
            }
        }
    }
    let status = child.wait()?;
    match status.success() {
        true => Ok(told),
        false => fail(ended(status, limit, &told)),
    }
}

/// How a child ended that did not end well.
fn ended(status: ExitStatus, limit: Option<u64>, told: &[Measured]) -> String {
    let after = match told.last() {
        Some(last) => format!("after the mix {}", last.mix),
        None => "before its first mix was done".to_owned(),
    };
    // A scope of systemd reports the signal of its process as a shell does.
    let killed = status.signal() == Some(SIGKILL) || status.code() == Some(128 + SIGKILL);
    match (killed, limit) {
        (true, Some(limit)) => format!(
            "its process was killed {after}: most likely it needed more memory than \
             --memory-limit-mib={} allows; the kernel's log says so then",
            limit >> 20
        ),
        (true, None) => format!(
            "its process was killed {after}: most likely the machine had no memory left; the \
             kernel's log says so then"
        ),
        (false, _) => format!("its process ended {after} with {status}"),
    }
}

/// The part of a child.
///
/// # Errors
/// The task is not valid; any failure of it.
pub fn child(task: &str) -> Result<()> {
    let task: Task = serde_json::from_str(task)?;
    if let Some(group) = &task.group {
        group::join(group)?;
    }
    sequence::run(&task, &mut |measured| {
        println!("{TOLD}{}", serde_json::to_string(measured)?);
        Ok(())
    })
    .map_err(|failure: Failure| failure.during(&task.engine))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a run says of a child that is this command of a shell.
    fn told_of(command: &str, limit: Option<u64>) -> String {
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).stdout(Stdio::piped());
        let listened = listen(shell.spawn().unwrap(), limit);
        listened.map(|_| ()).unwrap_err().0
    }

    #[test]
    fn a_child_that_is_killed_for_its_memory_is_told_of() {
        let limited = told_of("kill -9 $$", Some(600 << 20));
        assert!(
            limited.contains("than --memory-limit-mib=600 allows"),
            "{limited}"
        );
        assert!(limited.contains("before its first mix"), "{limited}");
        // As a scope of systemd ends.
        assert_eq!(told_of("exit 137", Some(600 << 20)), limited);
        let load = serde_json::to_string(&Measured {
            mix: "load".to_owned(),
            ..Measured::default()
        });
        let after = format!("echo '{TOLD}{}'; kill -9 $$", load.unwrap());
        let unlimited = told_of(&after, None);
        assert!(unlimited.contains("after the mix load"), "{unlimited}");
        assert!(unlimited.contains("no memory left"), "{unlimited}");
        assert!(told_of("exit 3", None).contains("exit status: 3"));
    }

    #[test]
    fn rounds_end_when_another_would_not_fit() {
        let run = Run {
            engines: &[],
            threads: &[],
            mixes: &[],
            fresh: false,
            rounds: 5,
            budget: Some(Duration::from_secs(10)),
            work: crate::presets::DEFAULT.work(1),
            directory: Path::new("/"),
            limit: None,
        };
        let seconds = Duration::from_secs;
        assert!(!run.is_spent(seconds(6), seconds(3)));
        assert!(run.is_spent(seconds(6), seconds(5)));
        let unlimited = Run {
            budget: None,
            ..run
        };
        assert!(!unlimited.is_spent(seconds(6000), seconds(5)));
    }
}
