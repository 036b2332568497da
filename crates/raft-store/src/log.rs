//! The log of a group: entries, vote, and which entries are committed and purged.
//!
//! Entries are written to the log of the database and are readable when `append` returns; the
//! thread of [`crate::syncer`] makes them durable, with one sync for all groups that append
//! meanwhile, and has openraft told then. All writes of a group are in the order of its calls, and
//! what a power cut leaves is a prefix of all writes. So truncations and purges need no sync of
//! their own: what is acknowledged later makes them durable as well.

use crate::codec::{decode, encode};
use crate::engine::{Change, Engine, Named, Whitewater};
use crate::error::{Error, Result, fatal};
use crate::keys::{self, APPLIED, LOG, META, Tag};
use crate::state::Applied;
use crate::store::Shared;
use openraft::log_id::RaftLogId;
use openraft::storage::{LogFlushed, LogState, RaftLogStorage};
use openraft::{
    ErrorSubject, ErrorVerb, LogId, OptionalSend, RaftLogReader, RaftTypeConfig, StorageError, Vote,
};
use serde::Serialize;
use std::fmt::Debug;
use std::io;
use std::marker::PhantomData;
use std::ops::RangeBounds;
use std::sync::Arc;

/// The most bytes of entries that one read for replication returns, but for the first entry.
const MOST_BYTES: usize = 4 << 20;

/// The log and the vote of a group, from [`Store::log`](crate::Store::log). A clone reads the same
/// log.
pub struct LogStore<C, E: Engine = Whitewater> {
    shared: Arc<Shared<E>>,
    group: u64,
    types: PhantomData<fn() -> C>,
}

impl<C, E: Engine> Clone for LogStore<C, E> {
    fn clone(&self) -> Self {
        LogStore {
            shared: self.shared.clone(),
            group: self.group,
            types: PhantomData,
        }
    }
}

type Answer<C, T> = std::result::Result<T, StorageError<<C as RaftTypeConfig>::NodeId>>;

impl<C: RaftTypeConfig, E: Engine> LogStore<C, E> {
    pub(crate) fn new(shared: Arc<Shared<E>>, group: u64) -> Self {
        LogStore {
            shared,
            group,
            types: PhantomData,
        }
    }

    /// An entry by its key, which it must agree with.
    fn entry_of(&self, key: &[u8], value: &[u8]) -> Result<C::Entry> {
        let index = keys::index_of(key)?;
        let entry: C::Entry =
            decode("an entry", value).map_err(|e| e.within(format!("entry {index}")))?;
        match entry.get_log_id().index {
            own if own == index => Ok(entry),
            own => Err(Error::new(format!("entry {index} says that it is {own}"))),
        }
    }

    /// The entries of `range`, as long as they have less than `most` bytes.
    fn entries(&self, range: &impl RangeBounds<u64>, most: usize) -> Result<Vec<C::Entry>> {
        let mut entries = Vec::new();
        let mut bytes = 0;
        let bounds = keys::range(self.group, range);
        if bounds.0 >= bounds.1 {
            return Ok(entries);
        }
        self.shared.engine.scan(LOG, bounds, &mut |key, value| {
            entries.push(self.entry_of(key, value)?);
            bytes += value.len();
            Ok(bytes < most)
        })?;
        Ok(entries)
    }

    fn log_state(&self) -> Result<LogState<C>> {
        let last_purged_log_id = self.shared.record(self.group, Tag::Purged)?;
        let last = self
            .shared
            .engine
            .last(LOG, keys::range(self.group, &..))?
            .map(|(key, value)| self.entry_of(&key, &value))
            .transpose()?;
        let last_log_id = match last {
            Some(entry) => Some(entry.get_log_id().clone()),
            None => last_purged_log_id.clone(),
        };
        Ok(LogState {
            last_purged_log_id,
            last_log_id,
        })
    }

    /// The change that sets a small record.
    fn set(&self, tag: Tag, value: &impl Serialize) -> Result<Named> {
        let change = Change::Put(keys::meta(self.group, tag), encode(value)?);
        Ok((META.into(), change))
    }

    async fn put(&self, tag: Tag, value: &impl Serialize) -> Result<()> {
        let change = self.set(tag, value)?;
        self.shared.write(vec![change]).await
    }

    /// Whether the state has reached the entry `index`.
    fn is_applied(&self, index: u64) -> Result<bool> {
        let family: Option<String> = self.shared.record(self.group, Tag::Family)?;
        let family = family.unwrap_or_else(|| keys::state_family(self.group, 0));
        let applied = self.shared.engine.get(&family, APPLIED)?;
        let applied: Option<Applied<C>> = applied
            .map(|bytes| decode("what was applied last", &bytes))
            .transpose()?;
        let applied = applied.and_then(|applied| applied.log_id);
        Ok(applied.is_some_and(|id| id.index >= index))
    }

    /// If the state is to come to the entry `index` by a snapshot that has arrived, returns once
    /// it is there.
    async fn installed(&self, index: u64) -> Result<()> {
        let installs = &self.shared.installs;
        if !installs.are_pending(self.group) || self.is_applied(index)? {
            return Ok(());
        }
        let done = || self.is_applied(index).unwrap_or(true);
        installs.end(self.group, done).await;
        match self.is_applied(index)? {
            true => Ok(()),
            false => Err(Error::new("the snapshot was not installed")),
        }
    }

    /// Purges up to `log_id`, and notes that.
    async fn purge_to(&self, log_id: LogId<C::NodeId>) -> Result<()> {
        self.installed(log_id.index).await?;
        let purged: Option<LogId<C::NodeId>> = self.shared.record(self.group, Tag::Purged)?;
        // Range deletions beside each other, and not one above the other, are cheap to read over.
        let from = purged.map_or(0, |id| id.index.saturating_add(1));
        let (from, until) = keys::range(self.group, &(from..=log_id.index));
        let mut changes = vec![self.set(Tag::Purged, &log_id)?];
        if from < until {
            changes.push((LOG.into(), Change::DeleteRange(from, until)));
        }
        self.shared.write(changes).await
    }
}

/// An error of the log in openraft's words.
fn of_log<C: RaftTypeConfig>(
    group: u64,
    verb: ErrorVerb,
) -> impl FnOnce(Error) -> StorageError<C::NodeId> {
    fatal(group, ErrorSubject::Logs, verb)
}

impl<C: RaftTypeConfig, E: Engine> RaftLogReader<C> for LogStore<C, E> {
    async fn try_get_log_entries<R: RangeBounds<u64> + Clone + Debug + OptionalSend>(
        &mut self,
        range: R,
    ) -> Answer<C, Vec<C::Entry>> {
        self.entries(&range, usize::MAX)
            .map_err(|e| e.within(format!("entries {range:?}")))
            .map_err(of_log::<C>(self.group, ErrorVerb::Read))
    }

    async fn limited_get_log_entries(&mut self, start: u64, end: u64) -> Answer<C, Vec<C::Entry>> {
        self.entries(&(start..end), MOST_BYTES)
            .map_err(|e| e.within(format!("entries {start} to {end}")))
            .map_err(of_log::<C>(self.group, ErrorVerb::Read))
    }
}

impl<C: RaftTypeConfig, E: Engine> RaftLogStorage<C> for LogStore<C, E> {
    type LogReader = Self;

    async fn get_log_state(&mut self) -> Answer<C, LogState<C>> {
        self.log_state()
            .map_err(of_log::<C>(self.group, ErrorVerb::Read))
    }

    async fn get_log_reader(&mut self) -> Self {
        self.clone()
    }

    async fn save_vote(&mut self, vote: &Vote<C::NodeId>) -> Answer<C, ()> {
        let saved = match self.put(Tag::Vote, vote).await {
            Ok(()) => self.shared.sync().await,
            Err(e) => Err(e),
        };
        saved.map_err(fatal(self.group, ErrorSubject::Vote, ErrorVerb::Write))
    }

    /// The vote as one that no quorum has confirmed. With its own confirmed vote, a leader that
    /// starts again would lead on at once. Its linearizable reads would then wait for no more than
    /// `read_committed`, which may be older than what it had acknowledged: the entries behind it
    /// are in its log, but it has forgotten that they are committed. So it stands for election
    /// first, and the first entry of its new term commits them.
    async fn read_vote(&mut self) -> Answer<C, Option<Vote<C::NodeId>>> {
        let vote: Result<Option<Vote<_>>> = self.shared.record(self.group, Tag::Vote);
        vote.map(|vote| {
            vote.map(|vote| Vote {
                committed: false,
                ..vote
            })
        })
        .map_err(fatal(self.group, ErrorSubject::Vote, ErrorVerb::Read))
    }

    async fn save_committed(&mut self, committed: Option<LogId<C::NodeId>>) -> Answer<C, ()> {
        // Not synced: an older one is true as well, given what `read_vote` does.
        let saved = self.put(Tag::Committed, &committed).await;
        saved.map_err(of_log::<C>(self.group, ErrorVerb::Write))
    }

    async fn read_committed(&mut self) -> Answer<C, Option<LogId<C::NodeId>>> {
        let committed: Result<Option<Option<_>>> = self.shared.record(self.group, Tag::Committed);
        committed
            .map(Option::flatten)
            .map_err(of_log::<C>(self.group, ErrorVerb::Read))
    }

    async fn append<I>(&mut self, entries: I, callback: LogFlushed<C>) -> Answer<C, ()>
    where
        I: IntoIterator<Item = C::Entry> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let change = |entry: C::Entry| {
            let key = keys::entry(self.group, entry.get_log_id().index);
            Ok((LOG.into(), Change::Put(key, encode(&entry)?)))
        };
        let changes: Result<Vec<Named>> = entries.into_iter().map(change).collect();
        let written = match changes {
            Ok(changes) => self.shared.write(changes).await,
            Err(e) => Err(e),
        };
        written
            .map_err(|e| e.within("append"))
            .map_err(of_log::<C>(self.group, ErrorVerb::Write))?;
        self.shared.when_durable(move |synced| {
            callback.log_io_completed(synced.map_err(|e| io::Error::other(e.to_string())));
        });
        Ok(())
    }

    async fn truncate(&mut self, log_id: LogId<C::NodeId>) -> Answer<C, ()> {
        let (from, until) = keys::range(self.group, &(log_id.index..));
        let cut = vec![(LOG.into(), Change::DeleteRange(from, until))];
        let written = self.shared.write(cut).await;
        written
            .map_err(|e| e.within(format!("truncation from entry {}", log_id.index)))
            .map_err(of_log::<C>(self.group, ErrorVerb::Delete))
    }

    async fn purge(&mut self, log_id: LogId<C::NodeId>) -> Answer<C, ()> {
        let index = log_id.index;
        let purged = self.purge_to(log_id).await;
        purged
            .map_err(|e| e.within(format!("purge up to entry {index}")))
            .map_err(of_log::<C>(self.group, ErrorVerb::Delete))
    }
}
