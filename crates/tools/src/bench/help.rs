//! The text of `--help`.

use std::fmt::Write as _;

use super::flags::{FlagSet, Flags};
use super::plan;

const WIDTH: usize = 96;
const FIRST_LINES: &str = "\
db_bench: benchmarks of this storage engine, with the flags and the output of RocksDB's db_bench

  db_bench                                          a tour in under a minute
  db_bench --benchmarks=fillrandom,readrandom --num=1000000 --threads=4
  db_bench --benchmarks=fillrandom[X5] --histogram

Flags are written as -flag=value, --flag=value or --flag value; switches also as --flag and
--noflag.
";
const SUFFIXES: &str = "\
  [X5] after a name runs the benchmark five times and prints averages and medians. [W2] warms up
  with two runs that do not count, and [W2-X5] does both. A leading dash changes nothing: [-X5]
  is [X5].
";

/// The complete text.
pub fn text() -> String {
    let mut text = FIRST_LINES.to_owned();
    flags::<Flags>(&mut text);
    text += "\nBenchmarks:\n";
    for benchmark in plan::BENCHMARKS {
        wrap(
            &mut text,
            "  ",
            &format!("{:<24}{}", benchmark.name, benchmark.help),
        );
    }
    text += "\n";
    text += SUFFIXES;
    known::<Flags>(&mut text);
    text
}

/// Appends the honoured flags with their defaults.
pub(crate) fn flags<F: FlagSet>(text: &mut String) {
    let defaults = F::default();
    let mut section = "";
    for spec in F::table() {
        if spec.section != section {
            section = spec.section;
            let _ = writeln!(text, "\n{section}:");
        }
        let _ = writeln!(text, "  --{}", spec.name);
        let default = defaults.text_of(spec.name).replace(',', ", ");
        wrap(
            text,
            "      ",
            &format!("{} Default: {default}.", spec.help),
        );
    }
}

/// Appends the names of the flags that are known but not honoured.
pub(crate) fn known<F: FlagSet>(text: &mut String) {
    let _ = writeln!(
        text,
        "\nFlags of {} that are recognized but not supported yet:",
        F::PEER
    );
    let known = F::known();
    let names: Vec<_> = known.iter().map(|known| known.name).collect();
    wrap(text, "  ", &names.join(" "));
}

/// Appends `words` in lines of at most [`WIDTH`] characters. Runs of spaces within
/// a line are kept.
pub(crate) fn wrap(text: &mut String, indent: &str, words: &str) {
    let mut rest = words;
    while !rest.is_empty() {
        let room = WIDTH - indent.len();
        let cut = if rest.len() <= room {
            rest.len()
        } else {
            rest[..room]
                .rfind(' ')
                .or_else(|| rest.find(' '))
                .unwrap_or(rest.len())
        };
        let _ = writeln!(text, "{indent}{}", rest[..cut].trim_end());
        rest = rest[cut..].trim_start();
    }
}

#[cfg(test)]
mod tests {
    use super::super::flags::TABLE;
    use super::*;

    #[test]
    fn everything_is_in_the_help() {
        let text = text();
        for spec in TABLE {
            assert!(
                text.contains(&format!("  --{}\n", spec.name)),
                "{}",
                spec.name
            );
        }
        for benchmark in plan::BENCHMARKS {
            assert!(text.contains(benchmark.name), "{}", benchmark.name);
        }
        assert!(text.lines().all(|line| line.len() <= WIDTH));
        assert!(text.contains("manual_wal_flush"));
        assert!(text.is_ascii());
    }
}
