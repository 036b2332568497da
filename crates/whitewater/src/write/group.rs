//! Grouped commit: one leader logs for all, members insert side by side.
//!
//! RocksDB's protocol before pipelining (seed 000): a group is logged as one
//! record, inserted by its members in parallel, and published as a whole
//! before the next group starts. The mechanism is `concurrent::group`.

use super::{CommitEnv, MemtableMap, Request};
use std::sync::Arc;
use whitewater_concurrent::group::{GroupQueue, Members, Steps};
use whitewater_storage::batch::HEADER_SIZE;
use whitewater_storage::key::SequenceNumber;
use whitewater_storage::{Error, Result};

/// A small leader does not wait for a megabyte of followers: RocksDB's limits.
const SMALL_GROUP_SLACK: usize = 128 << 10;

/// What a group's members share.
pub(crate) struct WriteGroup {
    memtables: Arc<MemtableMap>,
    /// The last number of the group; `None` for a barrier.
    last: Option<SequenceNumber>,
}

/// The grouped protocol over an environment.
pub(crate) struct Grouped<'a, E> {
    pub env: &'a E,
    /// Members may insert at the same time.
    pub concurrent_inserts: bool,
    /// Bytes a group may reach.
    pub max_group_bytes: usize,
}

/// Commits `request` through `queue`.
///
/// # Errors
/// What the group's log write or inserts reported; then no part of the batch
/// is visible.
pub(crate) fn commit<E: CommitEnv>(
    queue: &GroupQueue<Request, Error, WriteGroup>,
    steps: &Grouped<'_, E>,
    request: &Request,
) -> Result<()> {
    queue.commit(steps, request)
}

impl<E: CommitEnv> Grouped<'_, E> {
    fn log(&self, members: &mut Members<'_, Request>, first: SequenceNumber) -> Result<()> {
        let mut header = [0u8; HEADER_SIZE];
        let (mut count, mut sync, mut disable) = (0u32, false, false);
        let mut parts: Vec<&[u8]> = Vec::with_capacity(members.len() + 1);
        members.for_each(|request, _| {
            if let Request::Write(w) = request {
                count += w.batch.count();
                sync |= w.sync;
                disable |= w.disable_wal;
            }
        });
        if disable {
            return Ok(());
        }
        header[..8].copy_from_slice(&first.to_le_bytes());
        header[8..].copy_from_slice(&count.to_le_bytes());
        parts.push(&header);
        members.for_each(|request, _| {
            if let Request::Write(w) = request {
                parts.push(&w.batch.bytes()[HEADER_SIZE..]);
            }
        });
        self.env.log(&parts, sync)
    }
}

impl<E: CommitEnv> Steps for Grouped<'_, E> {
    type Request = Request;
    type Group = WriteGroup;
    type Error = Error;

    fn admits(&self, leader: &Request, candidate: &Request, bytes: usize) -> bool {
        let (Request::Write(l), Request::Write(c)) = (leader, candidate) else {
            return false;
        };
        let own = l.batch.bytes().len();
        let limit = if own <= SMALL_GROUP_SLACK {
            self.max_group_bytes.min(own + SMALL_GROUP_SLACK)
        } else {
            self.max_group_bytes
        };
        // A synced write in an unsynced group would be acknowledged too early,
        // one without a log in a logged group would be logged.
        c.disable_wal == l.disable_wal
            && (l.sync || !c.sync)
            && bytes + c.batch.bytes().len() <= limit
    }

    fn size(&self, request: &Request) -> usize {
        match request {
            Request::Write(w) => w.batch.bytes().len(),
            Request::Barrier(_) => 0,
        }
    }

    fn prepare(&self, members: &mut Members<'_, Request>) -> Result<WriteGroup> {
        let mut barrier = None;
        let mut count = 0u64;
        members.for_each(|request, ticket| match request {
            Request::Write(w) => {
                *ticket = count;
                count += u64::from(w.batch.count());
            }
            Request::Barrier(b) => barrier = b.lock().take(),
        });
        if let Some(run) = barrier {
            run()?;
            return Ok(WriteGroup {
                memtables: Arc::default(),
                last: None,
            });
        }
        let memtables = self.env.prepare()?;
        self.env.grouped(members.len());
        let first = self.env.reserve(count);
        members.for_each(|_, ticket| *ticket += first);
        if let Err(e) = self.log(members, first) {
            self.env.fail(&e);
            return Err(e);
        }
        Ok(WriteGroup {
            memtables,
            last: Some(first + count - 1),
        })
    }

    fn parallel(&self, _: &WriteGroup) -> bool {
        self.concurrent_inserts
    }

    fn apply(&self, group: &WriteGroup, request: &Request, ticket: u64) -> Result<()> {
        match request {
            Request::Write(w) => self.env.apply(&group.memtables, w, ticket),
            Request::Barrier(_) => Ok(()),
        }
    }

    fn publish(&self, group: &WriteGroup, failure: Option<&Error>) {
        match (failure, group.last) {
            (Some(e), _) => self.env.fail(e),
            (None, Some(last)) => self.env.publish(last),
            (None, None) => {}
        }
    }
}
