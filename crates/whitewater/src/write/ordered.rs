//! Ordered commit: no leader, no queue, strict order. The default.
//!
//! Every writer takes its place, logs and inserts by itself, beside all
//! others; what orders them is the place. The visible number moves over the
//! finished prefix (`concurrent::publish`), so snapshots are immutable and
//! batches atomic as with a leader. A writer waits for one thing only: that
//! those before it are finished, which they are about to be, unless one lost
//! its core between taking its place and finishing; then the others sleep.
//!
//! With `sync`, a write is held until the log is durable: as with a leader,
//! nobody sees it before. The first of those that are held syncs for all that
//! are finished behind it.
//!
//! Writes that are *in order* (`WriteFlags::reads_own_prefix`) wait, in the middle, for
//! those before them. They could not go side by side anyhow, so they take turns
//! before they have a place: whoever has a core does several in a row, and no
//! two threads wake each other for every write.

use super::record::Record;
use super::request::Write;
use super::steps::{CommitGuard, acknowledge, append_and_insert, reserve_prepared};
use super::{CommitEnv, Prefetched};
use crate::sync_points::Point;
use whitewater_storage::Result;

/// Commits `write`; `ahead` is what was looked at before anything else, if
/// anything.
///
/// # Errors
/// What its log write, insert or sync reported, or a failure before it in the
/// order. No part of the batch is visible then, now or later.
pub(crate) fn commit<E: CommitEnv>(
    env: &E,
    write: &Write<'_>,
    prefetched: Option<Prefetched<'_>>,
) -> Result<()> {
    let record = Record::prepare(env, write)?;
    let payload = record.as_ref().map(Record::len);
    // Held by who has no place yet, so it comes before all other locks.
    let turn = write
        .flags
        .reads_own_prefix
        .then(|| env.prefix_turn().lock());
    let ((generation, reservation), prepared) = reserve_prepared(env, write, prefetched, payload)?;
    let guard = CommitGuard::new(env, reservation);
    env.hit(Point::Reserved, reservation.first);
    env.grouped(1);
    let carried = append_and_insert(
        env,
        &generation,
        &reservation,
        write,
        record.as_ref(),
        prepared,
    );
    let mut deferred = match carried {
        Ok(deferred) => Some(deferred),
        Err(e) => {
            guard.fail(&e);
            return Err(e);
        }
    };
    // Whoever waits for a synced write waits for the disk, and not for this, which is not
    // to be put off for as long as that takes.
    if let Some(deferred) = deferred.take_if(|_| write.flags.sync) {
        env.run_deferred(&generation, deferred);
    }
    guard.publish(write.flags.sync)?;
    drop(turn);
    acknowledge(env, reservation.last)?;
    if let Some(deferred) = deferred {
        env.run_deferred(&generation, deferred);
    }
    env.extend_wal_ahead(&generation, reservation.end);
    Ok(())
}
