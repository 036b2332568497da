//! Where flags come from besides the command line. As in the library that RocksDB's
//! db_bench reads its flags with, `--flagfile` names files of flags, `--fromenv`
//! and `--tryfromenv` name flags that environment variables set, and `--undefok`
//! names flags that may be unknown.
//!
//! The flags of a file or variable take the place of the argument that names it, so
//! flags further on in the command line override them. `--undefok` takes effect
//! wherever it stands.

use std::ffi::OsString;
use std::path::Path;

use super::engine::{Failure, Result};

/// The maximum depth of files within files; a deeper one means that a file names itself.
const DEEPEST: usize = 16;

/// The arguments after expansion: none of them stands for others.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Arguments {
    /// Flags and their values, in order.
    pub list: Vec<String>,
    /// The names of flags that may be unknown.
    pub undefok: Vec<String>,
}

/// Expands these arguments of `program`.
///
/// # Errors
/// A file cannot be read, a variable is missing, or one of these flags has no
/// value.
pub fn expand(
    program: &str,
    arguments: impl IntoIterator<Item = String>,
    environment: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Arguments> {
    let mut expanded = Arguments::default();
    let context = Context {
        program,
        environment,
    };
    context.take(arguments.into_iter(), 0, &mut expanded)?;
    Ok(expanded)
}

struct Context<'c> {
    program: &'c str,
    environment: &'c dyn Fn(&str) -> Option<OsString>,
}

impl Context<'_> {
    fn take(
        &self,
        mut arguments: impl Iterator<Item = String>,
        depth: usize,
        to: &mut Arguments,
    ) -> Result<()> {
        while let Some(argument) = arguments.next() {
            let dashes = argument.strip_prefix("--");
            let Some(flag) = dashes.or_else(|| argument.strip_prefix('-')) else {
                to.list.push(argument);
                continue;
            };
            let (name, attached) = match flag.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (flag, None),
            };
            if !["flagfile", "fromenv", "tryfromenv", "undefok"].contains(&name) {
                to.list.push(argument);
                continue;
            }
            let value = attached.or_else(|| arguments.next());
            let value = value.ok_or_else(|| Failure(format!("--{name} needs a value")))?;
            let names = value.split(',').map(str::trim).filter(|n| !n.is_empty());
            for one in names {
                match name {
                    "flagfile" => self.file(Path::new(one), depth, to)?,
                    "undefok" => to.undefok.push(one.replace('-', "_")),
                    _ => self.variable(name, one, to)?,
                }
            }
        }
        Ok(())
    }

    /// Adds the flags of a file: one on each line, as `--flag=value`. Lines that begin
    /// with `#` are comments. A line without a dash names the programs that the lines
    /// below it are for.
    fn file(&self, path: &Path, depth: usize, to: &mut Arguments) -> Result<()> {
        let wrong =
            |why: &dyn std::fmt::Display| Failure(format!("--flagfile={}: {why}", path.display()));
        if depth >= DEEPEST {
            return Err(wrong(&"files name each other without an end"));
        }
        let text = std::fs::read_to_string(path).map_err(|error| wrong(&error))?;
        let mut concerns_us = true;
        let mut flags = Vec::new();
        for line in text.lines().map(str::trim) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if !line.starts_with('-') {
                let mut programs = line.split_whitespace();
                concerns_us = programs.any(|pattern| matches(pattern, self.program));
            } else if concerns_us {
                flags.push(line.to_owned());
            }
        }
        self.take(flags.into_iter(), depth + 1, to)
    }

    /// Adds a flag with its value from the environment variable `FLAGS_<flag>`.
    fn variable(&self, by: &str, flag: &str, to: &mut Arguments) -> Result<()> {
        let variable = format!("FLAGS_{flag}");
        match (self.environment)(&variable).map(OsString::into_string) {
            Some(Ok(value)) => to.list.push(format!("--{flag}={value}")),
            Some(Err(raw)) => {
                return Err(Failure(format!("{variable}: {raw:?} is not UTF-8")));
            }
            None if by == "tryfromenv" => {}
            None => {
                return Err(Failure(format!(
                    "--fromenv={flag}: {variable} is not in the environment"
                )));
            }
        }
        Ok(())
    }
}

/// Whether a glob pattern, with `*` and `?`, matches the name of a program.
fn matches(pattern: &str, program: &str) -> bool {
    let (pattern, program): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), program.chars().collect());
    // Element n: whether the pattern so far matches the first n characters.
    let mut so_far = vec![false; program.len() + 1];
    so_far[0] = true;
    for part in pattern {
        let mut next = vec![false; program.len() + 1];
        for at in 0..=program.len() {
            next[at] = match part {
                '*' => so_far[at] || (at > 0 && next[at - 1]),
                part => at > 0 && so_far[at - 1] && (part == '?' || part == program[at - 1]),
            };
        }
        so_far = next;
    }
    so_far[program.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(line: &str) -> Result<Arguments> {
        let variables = |name: &str| match name {
            "FLAGS_num" => Some("7".into()),
            _ => None,
        };
        expand(
            "db_bench",
            line.split_whitespace().map(str::to_owned),
            &variables,
        )
    }

    fn refused(line: &str) -> String {
        expanded(line).expect_err(line).to_string()
    }

    #[test]
    fn files_and_variables_stand_where_they_are_named() {
        let directory = tempfile::tempdir().expect("temporary directory");
        let (outer, inner) = (directory.path().join("outer"), directory.path().join("in"));
        let text = format!(
            "# comment\n\n  --num=3\n--flagfile={}\nother_program\n--sync\ndb_* x\n-threads=2\n",
            inner.display()
        );
        std::fs::write(&outer, text).expect("file");
        std::fs::write(&inner, "--reads=4\n").expect("file");
        let line = format!("--writes 1 --flagfile={} --num=5", outer.display());
        let arguments = expanded(&line).expect("read");
        assert_eq!(
            arguments.list,
            [
                "--writes",
                "1",
                "--num=3",
                "--reads=4",
                "-threads=2",
                "--num=5"
            ]
        );

        let arguments = expanded("--fromenv=num --tryfromenv reads,num --undefok=a,b-c");
        let arguments = arguments.expect("read");
        assert_eq!(arguments.list, ["--num=7", "--num=7"]);
        assert_eq!(arguments.undefok, ["a", "b_c"]);
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let directory = tempfile::tempdir().expect("temporary directory");
        let own = directory.path().join("own");
        std::fs::write(&own, format!("--flagfile={}\n", own.display())).expect("file");
        assert!(refused("--flagfile=/no/such/file").contains("--flagfile=/no/such/file: "));
        let line = format!("--flagfile={}", own.display());
        assert!(refused(&line).contains("without an end"));
        assert!(refused("--fromenv=reads").contains("FLAGS_reads"));
        assert!(refused("--undefok").contains("--undefok needs a value"));
    }

    #[test]
    fn patterns_of_programs() {
        for (pattern, fits) in [
            ("db_bench", true),
            ("db_*", true),
            ("*", true),
            ("db?bench", true),
            ("*bench*", true),
            ("db_benc", false),
            ("?", false),
            ("", false),
        ] {
            assert_eq!(matches(pattern, "db_bench"), fits, "{pattern}");
        }
    }
}
