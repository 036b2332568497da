//! Ranges of keys.

use std::ffi::OsString;

use clap::Args;
use serde_json::{Map, json};
use whitewater::{DBRawIteratorWithThreadMode, ReadOptions, WideColumn};

use super::cli::bytes;
use super::entity;
use super::failure::{Failure, Result};
use super::open::{self, Db, Opened, Scope};
use super::session::Session;
use super::state::State;
use crate::bench::clock;

/// The size in bytes of the timestamp that values end with in a database with TTL.
const TIME_BYTES: usize = 4;

/// Prints keys and values in order, as `key ==> value`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ww --db /data/db scan --from a --to b --max-keys 10
  ww --db /data/db scan --prefix user: --reverse --no-value
  ww --db /data/db scan --count-only
  ww --db /data/db scan --ttl --timestamp")]
pub struct Scan {
    #[command(flatten)]
    range: Range,
    /// Print only the number of keys.
    #[arg(long)]
    count_only: bool,
    /// Print only the keys.
    #[arg(long)]
    no_value: bool,
    /// With --ttl, also print when each value was written.
    #[arg(long)]
    timestamp: bool,
    /// Scan from the last key to the first.
    #[arg(long)]
    reverse: bool,
}

/// A range of keys.
#[derive(Debug, Args)]
pub struct Range {
    /// The first key.
    #[arg(long, value_name = "KEY")]
    from: Option<OsString>,
    /// The key to stop before.
    #[arg(long, value_name = "KEY")]
    to: Option<OsString>,
    /// Only keys with this prefix.
    #[arg(long, value_name = "KEY", conflicts_with_all = ["from", "to"])]
    prefix: Option<OsString>,
    /// The number of keys to stop after.
    #[arg(long, visible_alias = "limit", value_name = "N")]
    max_keys: Option<u64>,
}

impl Range {
    /// Calls `visit` with each key, its value and its columns until it fails.
    ///
    /// # Errors
    /// Those of reading and of `visit`.
    pub fn each(
        &self,
        session: &mut Session<'_>,
        opened: &Opened,
        reverse: bool,
        mut visit: impl FnMut(&mut Session<'_>, &[u8], &[u8], &[WideColumn<'_>]) -> Result<()>,
    ) -> Result<()> {
        let parse = |key: &Option<OsString>| {
            let key = key.as_deref().map(bytes);
            key.map(|key| session.keys.parse(key, "key")).transpose()
        };
        let (from, to, prefix) = (parse(&self.from)?, parse(&self.to)?, parse(&self.prefix)?);
        let mut options = ReadOptions::default();
        options.set_total_order_seek(true);
        options.fill_cache(false);
        if let Some(from) = from {
            options.set_iterate_lower_bound(from);
        }
        if let Some(to) = to {
            options.set_iterate_upper_bound(to);
        }
        let mut iter = opened.db.raw_iterator_cf_opt(opened.cf()?, options);
        match &prefix {
            None if reverse => iter.seek_to_last(),
            None => iter.seek_to_first(),
            Some(prefix) => {
                // In the reverse order, the prefix's successor comes before the prefix.
                let descending = is_descending(session)?;
                seek_to_prefix(&mut iter, prefix, reverse, descending);
            }
        }
        let mut left = self.max_keys.unwrap_or(u64::MAX);
        while left > 0
            && let Some((key, value)) = iter.item()
        {
            if prefix.as_ref().is_some_and(|p| !key.starts_with(p)) {
                break;
            }
            let columns = iter.columns().unwrap_or_default();
            visit(session, key, value, &columns)?;
            left -= 1;
            if reverse { iter.prev() } else { iter.next() }
        }
        Ok(iter.status()?)
    }

    /// Whether the range includes all keys.
    pub fn is_everything(&self) -> bool {
        self.from.is_none() && self.to.is_none() && self.prefix.is_none() && self.max_keys.is_none()
    }
}

/// Moves to the first key of a scan over the keys with `prefix`.
fn seek_to_prefix(
    iter: &mut DBRawIteratorWithThreadMode<'_, Db>,
    prefix: &[u8],
    reverse: bool,
    descending: bool,
) {
    if reverse == descending {
        if reverse {
            iter.seek_for_prev(prefix)
        } else {
            iter.seek(prefix)
        }
        return;
    }
    let end = successor(prefix);
    match (&end, reverse) {
        (Some(end), true) => iter.seek_for_prev(end),
        (Some(end), false) => iter.seek(end),
        (None, true) => iter.seek_to_last(),
        (None, false) => iter.seek_to_first(),
    }
    // The successor of the prefix does not have the prefix.
    if end.is_some() && iter.key() == end.as_deref() {
        if reverse { iter.prev() } else { iter.next() }
    }
}

/// The smallest byte string that is greater than all byte strings with `prefix`.
fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&byte| byte != 0xff)?;
    let mut next = prefix[..=last].to_vec();
    next[last] += 1;
    Some(next)
}

/// Whether the command's column family orders its keys descending.
fn is_descending(session: &Session<'_>) -> Result<bool> {
    let state = State::read(session.db()?)?;
    let family = state.family(&session.global.column_family);
    Ok(family.is_some_and(|family| family.is_descending()))
}

/// Splits a value of a database with TTL into the data and the time of its write in seconds
/// since 1970; without `--ttl`, there is no time.
///
/// # Errors
/// The value is too short for a time.
pub fn without_time<'v>(
    session: &Session<'_>,
    key: &[u8],
    value: &'v [u8],
) -> Result<(&'v [u8], Option<u64>)> {
    if !session.global.ttl {
        return Ok((value, None));
    }
    match value.split_last_chunk::<TIME_BYTES>() {
        Some((value, time)) => Ok((value, Some(u64::from(u32::from_le_bytes(*time))))),
        None => Err(Failure::Other(format!(
            "the value of key {} has no time: the database was not written with times to live",
            session.keys.show(key)
        ))),
    }
}

impl Scan {
    /// Runs the command.
    ///
    /// # Errors
    /// Reading fails.
    pub fn run(&self, session: &mut Session<'_>) -> Result<()> {
        if self.timestamp && !session.global.ttl {
            return Err(Failure::usage("--timestamp needs --ttl"));
        }
        let opened = open::to_read(session, session.db()?, Scope::One)?;
        let mut count = 0u64;
        self.range.each(
            session,
            &opened,
            self.reverse,
            |session, key, value, columns| {
                count += 1;
                if self.count_only {
                    return Ok(());
                }
                if !self.no_value && entity::is_entity(columns) {
                    return entity::line(session, key, columns);
                }
                let (value, time) = without_time(session, key, value)?;
                self.print(session, key, value, time)
            },
        )?;
        if self.count_only {
            return session.either(count, json!({"count": count}));
        }
        Ok(())
    }

    fn print(
        &self,
        session: &mut Session<'_>,
        key: &[u8],
        value: &[u8],
        time: Option<u64>,
    ) -> Result<()> {
        let value = (!self.no_value).then_some(value);
        let Some(time) = time.filter(|_| self.timestamp) else {
            return session.pair(key, value);
        };
        if session.json {
            let mut fields = Map::new();
            session.keys.put(&mut fields, "key", key);
            if let Some(value) = value {
                session.values.put(&mut fields, "value", value);
            }
            fields.insert("timestamp".to_owned(), time.into());
            return session.object(fields);
        }
        write!(session.out, "{} ", clock::format(time))?;
        session.pair(key, value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_successor_of_a_prefix_is_behind_all_its_keys() {
        assert_eq!(successor(b"ab"), Some(b"ac".to_vec()));
        assert_eq!(successor(b"a\xff\xff"), Some(b"b".to_vec()));
        assert_eq!(successor(b"\xff"), None);
        assert_eq!(successor(b""), None);
    }
}
