//! The text of `--help`.

use std::fmt::Write as _;

use super::flags::{Flags, TABLE};
use super::{known, plan};

const WIDTH: usize = 96;
const FIRST_LINES: &str = "\
db_bench: benchmarks of this storage engine, with the flags and the output of RocksDB's db_bench

  db_bench                                          a tour in under a minute
  db_bench --benchmarks=fillrandom,readrandom --num=1000000 --threads=4
  db_bench --benchmarks=fillrandom[X5] --histogram

Flags are spelled -flag=value, --flag=value or --flag value; switches also --flag and --noflag.
";
const SUFFIXES: &str = "\
  [X5] after a name runs it five times and adds averages and the median, [W2] warms up with two
  runs that do not count, [W2-X5] does both. A leading dash changes nothing: [-X5] is [X5].
";

/// The whole text.
pub fn text() -> String {
    let defaults = Flags::default();
    let mut text = FIRST_LINES.to_owned();
    let mut section = "";
    for spec in TABLE {
        if spec.section != section {
            section = spec.section;
            let _ = writeln!(text, "\n{section}:");
        }
        let _ = writeln!(text, "  --{}", spec.name);
        let default = defaults.text_of(spec.name).replace(',', ", ");
        wrap(
            &mut text,
            "      ",
            &format!("{} Default: {default}.", spec.help),
        );
    }
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
    text += "\nFlags of RocksDB's db_bench that are known but not honoured yet:\n";
    let names: Vec<_> = known::flags().map(|known| known.name).collect();
    wrap(&mut text, "  ", &names.join(" "));
    text
}

/// Appends `words` in lines of at most [`WIDTH`] characters. Runs of spaces
/// inside a line are kept.
fn wrap(text: &mut String, indent: &str, words: &str) {
    let mut rest = words;
    while !rest.is_empty() {
        let room = WIDTH - indent.len();
        let cut = match rest.len() <= room {
            true => rest.len(),
            false => rest[..room]
                .rfind(' ')
                .or_else(|| rest.find(' '))
                .unwrap_or(rest.len()),
        };
        let _ = writeln!(text, "{indent}{}", rest[..cut].trim_end());
        rest = rest[cut..].trim_start();
    }
}

#[cfg(test)]
mod tests {
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
        assert!(text.contains("unordered_write"));
        assert!(text.is_ascii());
    }
}
