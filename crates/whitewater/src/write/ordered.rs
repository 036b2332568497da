//! Ordered commit: no leader, no queue, strict order. The default.
//!
//! Every writer reserves, appends and inserts by itself, concurrently with all others;
//! the reservation orders them. The visible number moves over the finished prefix
//! (`concurrent::publish`), so snapshots are immutable and batches atomic, as with a
//! leader. A writer waits only for earlier writes to finish. They are about to, unless
//! a thread lost its core between its reservation and the end of its insert; then the
//! others sleep.
//!
//! A write with `sync` becomes visible only when the log is durable, as with a leader.
//! The first of the synced writers in line syncs for all that have finished behind it.
//!
//! Writes whose insert *reads its own prefix* (`WriteFlags::reads_own_prefix`) wait for
//! all earlier writes before they insert. They could not run concurrently anyway, so
//! they take turns before they reserve: the thread that has a core does several in a
//! row, and no two threads wake each other for every write.

use super::admit::admit;
use super::env::CommitEnv;
use super::record::Record;
use super::request::Write;
use super::steps::{
    CommitGuard, Prefetched, Reserved, acknowledge, append, insert, locate_and_reserve,
};
use crate::sync_points::Point;
use whitewater_storage::Result;

/// Commits `write`, which was checked. In outline, with what happens on failure:
///
/// ```text
///  check        the caller, before this               \
///  admit        wait out stalls                        |
///  encode       the log record; compress it            |  this write fails alone;
///  locate       find the keys' leaves, copy values     |  nothing was taken
///  reserve      sequence numbers and place in the log /
///  append       the record to the log                 \   this write and all after it
///  insert       link the entries into the memtables    |  fail, and writes stop until
///  publish      with `sync`, when durable             /   a resumption (C5)
///  acknowledge  wait until visible                        fails if an earlier write did
///  deferred     skip pointers, extension of the log       cannot fail
/// ```
///
/// # Errors
/// No part of the batch is visible then, now or later.
pub(crate) fn commit<E: CommitEnv>(
    env: &E,
    write: &Write<'_>,
    mut prefetched: Option<Prefetched<'_, E>>,
) -> Result<()> {
    let sync = write.flags.sync;

    let Some(_admitted) = admit(env, write, &mut prefetched)? else {
        return Ok(());
    };

    let record = Record::encode(env, write)?;

    // Taken without a reservation, so it comes before all other locks.
    let prefix_turn = (write.flags.reads_own_prefix).then(|| env.prefix_turn().lock());

    let reserved = locate_and_reserve(env, write, record.as_ref(), prefetched)?;
    let Reserved {
        generation,
        reservation,
        located,
    } = reserved;
    // From here on later writes wait for this one, and a failure stops writes.
    let mut guard = CommitGuard::new(env, reservation);
    env.hit(Point::Reserved, reservation.first);
    env.record_group(1);

    let mut deferred = E::Deferred::default();
    guard.run(|| {
        append(env, &generation, &reservation, write, record.as_ref())?;
        insert(
            env,
            &generation,
            &reservation,
            write,
            located,
            &mut deferred,
        )
    })?;

    // Writers behind a synced write wait for the disk, not for this, and it should not
    // be put off for as long as a sync takes.
    if sync {
        env.run_deferred(&generation, &mut deferred);
    }
    guard.publish(sync)?;
    drop(prefix_turn);

    acknowledge(env, reservation.last)?;

    env.run_deferred(&generation, &mut deferred);
    if write.flags.disable_wal {
        env.record_unlogged(write.operations.size());
    }
    env.extend_wal_ahead(&generation, reservation.end);
    Ok(())
}
