//! A child process for each store in each round, so that its memory is its own; rounds in turn.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::group::{self, Limit};
use crate::results::Results;
use crate::sequence::{self, Measured, Task, Work};
use crate::stores::Engine;
use crate::terminal::count_of_threads;
use crate::{Failure, Result, fail};

/// What begins a line of a child that tells of a mix.
const TOLD: &str = "measured ";
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
    /// How often all is done.
    pub rounds: usize,
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
        for round in 0..self.rounds {
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
                    let measured = self.one(engine, threads);
                    let measured = measured.map_err(|why| why.during(engine.name()))?;
                    results.add(engine, threads, measured);
                }
            }
        }
        Ok(results)
    }

    fn one(&self, engine: Engine, threads: usize) -> Result<Vec<Measured>> {
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
            mixes: self.mixes.to_vec(),
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
        listen(child)
    }
}

/// What a child told, once it has ended well.
fn listen(mut child: std::process::Child) -> Result<Vec<Measured>> {
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
        // A signal may be the limit's, which ends a process that needs more memory.
        false => fail(format!("its process ended with {status}")),
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
