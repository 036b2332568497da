//! Who is told of each write before it begins and after it ended.
//!
//! As lines of text, one system call each, to a process that outlives the writer:
//! what was handed to a pipe arrives, whatever becomes of the process.

use super::model::Change;
use std::fmt::{self, Write as _};
use std::io::{self, Write};
use std::str::FromStr;

/// The bytes that a pipe takes or refuses as a whole. POSIX asks for 512; Linux
/// has 4096.
const ATOMIC: usize = 4096;

/// What became of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It failed: it may be there after the next opening, or not.
    Failed,
    /// It was refused: a column family was gone. Nothing of it is there.
    Refused,
    /// It was acknowledged: it survives the process.
    Acked,
    /// It was acknowledged, and left out the log: it survives once its column family
    /// is flushed.
    Unlogged,
    /// A flush was acknowledged, of this column family, or of all of them: what the
    /// thread wrote there before survives everything.
    Flushed(Option<u32>),
    /// It was acknowledged as synced: it survives the machine, with all that was
    /// acknowledged before it began.
    Synced,
}

/// What a thread says of its writes. It has one at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A write begins, or a flush.
    Begin(u32, Vec<Change>),
    /// A write without the log begins.
    Loose(u32, Vec<Change>),
    /// What became of the write of that thread.
    End(u32, Outcome),
    /// Something that must never happen.
    Wrong(String),
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Entry::Begin(thread, changes) => {
                write!(f, "begin {thread}")?;
                changes.iter().try_for_each(|change| write!(f, " {change}"))
            }
            Entry::Loose(thread, changes) => {
                write!(f, "loose {thread}")?;
                changes.iter().try_for_each(|change| write!(f, " {change}"))
            }
            Entry::End(thread, Outcome::Unlogged) => write!(f, "unlogged {thread}"),
            Entry::End(thread, Outcome::Flushed(None)) => write!(f, "flushed {thread} all"),
            Entry::End(thread, Outcome::Flushed(Some(family))) => {
                write!(f, "flushed {thread} {family}")
            }
            Entry::End(thread, Outcome::Failed) => write!(f, "failed {thread}"),
            Entry::End(thread, Outcome::Refused) => write!(f, "refused {thread}"),
            Entry::End(thread, Outcome::Acked) => write!(f, "acked {thread}"),
            Entry::End(thread, Outcome::Synced) => write!(f, "synced {thread}"),
            Entry::Wrong(what) => write!(f, "wrong {}", what.replace('\n', "; ")),
        }
    }
}

impl FromStr for Entry {
    type Err = String;

    fn from_str(line: &str) -> Result<Entry, String> {
        let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
        let number = |text: &str| text.parse::<u32>().map_err(|e| format!("{line:?}: {e}"));
        Ok(match kind {
            "begin" | "loose" => {
                let mut words = rest.split(' ');
                let thread = number(words.next().unwrap_or_default())?;
                let changes = words.map(str::parse).collect::<Result<_, _>>()?;
                match kind {
                    "begin" => Entry::Begin(thread, changes),
                    _ => Entry::Loose(thread, changes),
                }
            }
            "unlogged" => Entry::End(number(rest)?, Outcome::Unlogged),
            "flushed" => {
                let (thread, family) = rest.split_once(' ').unwrap_or((rest, ""));
                let family = match family {
                    "all" => None,
                    one => Some(number(one)?),
                };
                Entry::End(number(thread)?, Outcome::Flushed(family))
            }
            "failed" => Entry::End(number(rest)?, Outcome::Failed),
            "refused" => Entry::End(number(rest)?, Outcome::Refused),
            "acked" => Entry::End(number(rest)?, Outcome::Acked),
            "synced" => Entry::End(number(rest)?, Outcome::Synced),
            "wrong" => Entry::Wrong(rest.to_owned()),
            _ => return Err(format!("no entry: {line:?}")),
        })
    }
}

/// Takes entries, from any thread. What is taken before a call returns is never
/// lost.
pub trait Journal: Sync {
    /// Takes one entry.
    ///
    /// # Errors
    /// Nobody is there to take it: the work is to end.
    fn put(&self, entry: Entry) -> io::Result<()>;
}

/// Standard output, which another process reads.
#[derive(Debug, Default)]
pub struct Pipe;

impl Journal for Pipe {
    fn put(&self, entry: Entry) -> io::Result<()> {
        let mut line = String::new();
        let _ = writeln!(line, "{entry}");
        debug_assert!(line.len() <= ATOMIC || matches!(entry, Entry::Wrong(_)));
        let mut out = io::stdout().lock();
        out.write_all(line.as_bytes())?;
        out.flush()
    }
}

/// Takes everything, and keeps nothing: for threads that come to their ends, and
/// know it all themselves.
#[derive(Debug, Default)]
pub struct NullJournal;

impl Journal for NullJournal {
    fn put(&self, _entry: Entry) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::key_model::Slot;
    use super::*;

    #[test]
    fn entries_survive_their_text() {
        let change = |key, held| Change {
            slot: Slot { family: 1, key },
            held,
        };
        for entry in [
            Entry::Begin(3, vec![change(7, None), change(8, Some(9))]),
            Entry::Begin(0, Vec::new()),
            Entry::End(2, Outcome::Failed),
            Entry::Loose(3, vec![change(7, None)]),
            Entry::End(2, Outcome::Refused),
            Entry::End(2, Outcome::Unlogged),
            Entry::End(2, Outcome::Flushed(None)),
            Entry::End(2, Outcome::Flushed(Some(7))),
            Entry::End(2, Outcome::Acked),
            Entry::End(2, Outcome::Synced),
            Entry::Wrong("one two".to_owned()),
        ] {
            assert_eq!(entry.to_string().trim_end().parse(), Ok(entry));
        }
        // What a killed writer leaves half written is none.
        assert!("beg".parse::<Entry>().is_err());
        assert!("begin 1 0/1=2 0/".parse::<Entry>().is_err());
    }
}
