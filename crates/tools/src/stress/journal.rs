//! The journal: every write is announced before it begins, and its outcome is reported
//! after it ends.
//!
//! Entries are lines of text, each written by one system call to a process that outlives
//! the writer. Data in a pipe arrives even when the writer is killed.

use super::model::Change;
use std::fmt::{self, Write as _};
use std::io::{self, Write};
use std::str::FromStr;

/// The largest write to a pipe that is atomic. POSIX guarantees 512 bytes; Linux has 4096.
const ATOMIC: usize = 4096;

/// The outcome of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The write failed: the next opening may find it or not.
    Failed,
    /// The write was refused because a column family was gone: nothing of it is there.
    Refused,
    /// The write was acknowledged: it survives the death of the process.
    Acked,
    /// The write was acknowledged but bypassed the log: it survives from the next flush of
    /// its column family on.
    Unlogged,
    /// A flush of this column family, or of all of them, was acknowledged: everything that
    /// the thread wrote there before survives a power cut.
    Flushed(Option<u32>),
    /// The write was acknowledged as synced: it survives a power cut, together with
    /// everything that was acknowledged before it began.
    Synced,
}

/// What a thread reports about its writes. A thread has one write at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A logged write or a flush begins.
    Begin(u32, Vec<Change>),
    /// A write that bypasses the log begins.
    Loose(u32, Vec<Change>),
    /// The write of this thread ended.
    End(u32, Outcome),
    /// A bug was found.
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

/// Takes entries from any thread. An entry is never lost once the call has returned.
pub trait Journal: Sync {
    /// Takes one entry.
    ///
    /// # Errors
    /// The reader is gone; the thread should stop.
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

/// Discards all entries. It serves threads that end normally and know everything
/// themselves.
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
        // An entry that a killed writer left unfinished is no entry.
        assert!("beg".parse::<Entry>().is_err());
        assert!("begin 1 0/1=2 0/".parse::<Entry>().is_err());
    }
}
