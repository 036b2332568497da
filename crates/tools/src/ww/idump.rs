//! Internal keys: every version of every key of a column family.
//!
//! The command reads the manifest's tables and the logs directly instead of opening the
//! database, so that it also shows what ordinary reads skip.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use whitewater_storage::batch::replay::{ReplayedEntry, Replays};
use whitewater_storage::internal_iterator::{BoxedIterator, InternalIterator};
use whitewater_storage::key::{
    InternalComparator, MAX_SEQUENCE, ValueType, internal_key, seek_key, user_key,
};

use super::blobs::print_decoded;
use super::cli::bytes;
use super::failure::Result;
use super::open::no_family;
use super::paths::DataDirs;
use super::session::Session;
use super::sst::{self, print_entry};
use super::state::{Family, State};
use super::wal;

/// Prints every version of every key: `'key' seq:N, type:N => value`.
///
/// Type 0 is a deletion, 1 a value, 2 a merge operand, 7 a single deletion, and 15 a range
/// deletion, whose value is its end key. The command also reads the logs.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ww --db /data/db idump --from user:1 --to user:2
  ww --db /data/db idump --count-only --column-family orders")]
pub struct Dump {
    /// The first key.
    #[arg(long, value_name = "KEY")]
    from: Option<OsString>,
    /// The key to stop before.
    #[arg(long, value_name = "KEY")]
    to: Option<OsString>,
    /// The number of entries to stop after.
    #[arg(long, visible_alias = "limit", value_name = "N")]
    max_keys: Option<u64>,
    /// Print only the number of entries.
    #[arg(long)]
    count_only: bool,
    /// Of values in blob files (type 17), print where they are.
    #[arg(long)]
    decode_blob_index: bool,
}

/// A source of internal keys in order: logs and range tombstones in memory, or several
/// tables one after the other.
enum Source {
    Memory(std::iter::Peekable<std::vec::IntoIter<(Vec<u8>, Vec<u8>)>>),
    Tables {
        left: VecDeque<(PathBuf, u64)>,
        open: Option<BoxedIterator>,
    },
}

impl Source {
    /// The current entry; `None` at the end.
    fn item(&mut self) -> Option<(&[u8], &[u8])> {
        match self {
            Source::Memory(entries) => entries.peek().map(|(key, value)| (&key[..], &value[..])),
            Source::Tables { open, .. } => {
                let iter = open.as_ref().filter(|iter| iter.valid())?;
                Some((iter.key(), iter.value()))
            }
        }
    }

    /// Advances to the next entry. Each table is read from `from` on.
    fn advance(&mut self, from: Option<&[u8]>) -> Result<()> {
        match self {
            Source::Memory(entries) => drop(entries.next()),
            Source::Tables { left, open } => {
                if let Some(iter) = open {
                    iter.next();
                }
                loop {
                    if let Some(iter) = open {
                        iter.status()?;
                        if iter.valid() {
                            return Ok(());
                        }
                    }
                    let Some((path, largest)) = left.pop_front() else {
                        *open = None;
                        return Ok(());
                    };
                    let (table, _) = sst::open(&path, Some(largest))?;
                    let mut iter = table.iter(sst::READ);
                    match from {
                        Some(from) => iter.seek(&seek_key(from, MAX_SEQUENCE)),
                        None => iter.seek_to_first(),
                    }
                    *open = Some(iter);
                }
            }
        }
        Ok(())
    }
}

impl Dump {
    /// Runs the command.
    ///
    /// # Errors
    /// The column family does not exist or its order is unknown, or reading fails.
    pub fn run(&self, session: &mut Session<'_>) -> Result<()> {
        let dir = session.db()?;
        let name = &session.global.column_family;
        let parse = |key: &Option<OsString>| {
            let key = key.as_deref().map(bytes);
            key.map(|key| session.keys.parse(key, "key")).transpose()
        };
        let (from, to) = (parse(&self.from)?, parse(&self.to)?);
        let state = State::read(dir)?;
        let found = state
            .families
            .iter()
            .find(|(_, family)| family.name == *name);
        let (&id, family) = found.ok_or_else(|| no_family(name))?;
        let order = family.comparator()?;

        let dirs = DataDirs::new(dir, session.global);
        let mut memory = in_tombstones(dirs, family)?;
        memory.extend(in_logs(session, dir, &state, (id, family))?);
        memory.sort_by(|a, b| order.compare(&a.0, &b.0));
        if let Some(from) = &from {
            memory.retain(|(key, _)| order.compare_user(user_key(key), from) != Ordering::Less);
        }
        let mut sources = vec![Source::Memory(memory.into_iter().peekable())];
        for mut source in in_tables(dirs, family) {
            source.advance(from.as_deref())?;
            sources.push(source);
        }

        let limit = self.max_keys.unwrap_or(u64::MAX);
        let mut count = 0u64;
        while count < limit
            && let Some(at) = least(&mut sources, &order)
            && let Some((key, value)) = sources[at].item()
        {
            let past = to.as_ref();
            if past.is_some_and(|to| order.compare_user(user_key(key), to) != Ordering::Less) {
                break;
            }
            if self.decode_blob_index && !self.count_only {
                print_decoded(session, key, value)?;
            } else if !self.count_only {
                print_entry(session, key, value)?;
            }
            count += 1;
            sources[at].advance(from.as_deref())?;
        }
        session.either(
            format_args!("Internal keys in range: {count}"),
            json!({"count": count}),
        )
    }
}

/// The source with the smallest current key.
fn least(sources: &mut [Source], order: &InternalComparator) -> Option<usize> {
    let mut least: Option<(usize, Vec<u8>)> = None;
    for (at, source) in sources.iter_mut().enumerate() {
        if let Some((key, _)) = source.item() {
            let is_less = |(_, least): &(usize, Vec<u8>)| order.compare(key, least).is_lt();
            if least.as_ref().is_none_or(is_less) {
                least = Some((at, key.to_vec()));
            }
        }
    }
    least.map(|(at, _)| at)
}

/// One source for each table of level 0, and one for each other level.
fn in_tables(dirs: DataDirs<'_>, family: &Family) -> Vec<Source> {
    let mut sources = Vec::new();
    for (level, files) in family.levels() {
        let files = files.into_iter();
        let files = files.map(|file| (dirs.table(family, file), file.largest_seqno));
        let source = |left: VecDeque<_>| Source::Tables { left, open: None };
        match level {
            0 => sources.extend(files.map(|file| source(VecDeque::from([file])))),
            _ => sources.push(source(files.collect())),
        }
    }
    sources
}

fn in_tombstones(dirs: DataDirs<'_>, family: &Family) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut entries = Vec::new();
    for file in family.files.values() {
        let (table, _) = sst::open(&dirs.table(family, file), Some(file.largest_seqno))?;
        for tombstone in table.range_tombstones() {
            let ty = ValueType::RangeDeletion;
            let key = internal_key(&tombstone.start, tombstone.seq, ty);
            entries.push((key, tombstone.end.clone()));
        }
    }
    Ok(entries)
}

/// The entries of a column family in the logs.
struct InLogs {
    id: u32,
    /// Whether the family may need what the current log has.
    needed: bool,
    entries: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Replays for InLogs {
    fn timestamp_size(&self, _cf: u32) -> usize {
        0 // no order of keys with timestamps is known here
    }

    fn insert(&mut self, entry: ReplayedEntry<'_>) -> whitewater_storage::Result<()> {
        if entry.cf == self.id && self.needed {
            let key = internal_key(entry.key, entry.number, entry.ty);
            self.entries.push((key, entry.value.to_vec()));
        }
        Ok(())
    }
}

/// The entries of `family` in the logs. What is prepared and not committed is not among them.
fn in_logs(
    session: &Session<'_>,
    dir: &Path,
    state: &State,
    (id, family): (u32, &Family),
) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut found = InLogs {
        id,
        needed: false,
        entries: Vec::new(),
    };
    let begin = |found: &mut InLogs, log| found.needed = log >= family.log_number;
    wal::replay(session, dir, state, &mut found, begin)?;
    Ok(found.entries)
}
