//! The phases of a database's life, each with its script.

use super::acts::{
    check_blobs, check_checkpoint, check_levels, checkpoint, compact, compact_automatically,
    create, create_family, delete_files, drop_family, follow, get, ingest, iterate, open_read_only,
    read_updates, repair, switch, write, write_synced,
};
use super::prepare::{
    apart, filled, large_buffer, levels, many_buffers, outside, overlapping, stop, two_levels,
    with_blobs, with_logs, without_current, write_some,
};
use super::run::{Run, entry};
use whitewater::fs::fault::Injected;
use whitewater::{Options, WriteOptions};

/// What a phase does with the database as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It works with an open database.
    Works,
    /// It opens a database.
    Opens,
    /// It opens a database only to read.
    OpensToRead,
    /// It reads, and writes nothing.
    Reads,
    /// It closes a database.
    Closes,
    /// It repairs a database, and then opens it.
    Repairs,
}

/// A part of a database's life.
#[derive(Debug, Clone, Copy)]
pub struct Phase {
    pub name: &'static str,
    pub kind: Kind,
    /// Options that differ from [`options`](super::run::options).
    pub with: fn(&mut Options),
    /// Makes the database that every run begins with, and may leave it open.
    pub before: fn(&mut Run),
    /// What each run does first, without faults. The database is open, unless the phase opens it.
    pub ready: fn(&mut Run),
    /// What each run does with a fault.
    pub act: fn(&mut Run),
    /// What else must hold afterwards in the same process. It gets the fault, if there was one.
    pub then: fn(&Run, Option<&Injected>) -> Result<(), String>,
}

/// Nothing particular.
const PLAIN: Phase = Phase {
    name: "",
    kind: Kind::Works,
    with: |_| {},
    before: filled,
    ready: |_| {},
    act: |_| {},
    then: |_, _| Ok(()),
};

/// All phases, in the order of the document.
pub const PHASES: &[Phase] = &[
    Phase {
        name: "create",
        kind: Kind::Opens,
        before: |_| {},
        act: create,
        ..PLAIN
    },
    Phase {
        name: "open, nothing to recover",
        kind: Kind::Opens,
        act: Run::open,
        ..PLAIN
    },
    Phase {
        name: "open, recovering logs",
        kind: Kind::Opens,
        before: with_logs,
        act: Run::open,
        ..PLAIN
    },
    Phase {
        name: "open read-only",
        kind: Kind::OpensToRead,
        before: with_logs,
        act: open_read_only,
        ..PLAIN
    },
    Phase {
        name: "follow",
        kind: Kind::OpensToRead,
        before: with_logs,
        act: follow,
        ..PLAIN
    },
    Phase {
        name: "repair",
        kind: Kind::Repairs,
        before: without_current,
        act: repair,
        ..PLAIN
    },
    Phase {
        name: "repair, with blob files",
        kind: Kind::Repairs,
        with: with_blobs,
        before: without_current,
        act: repair,
        then: check_blobs,
        ..PLAIN
    },
    Phase {
        name: "write",
        with: large_buffer,
        act: write,
        ..PLAIN
    },
    Phase {
        name: "write, synced",
        with: large_buffer,
        act: write_synced,
        ..PLAIN
    },
    Phase {
        name: "memtable switch",
        with: many_buffers,
        act: switch,
        ..PLAIN
    },
    Phase {
        name: "flush",
        ready: write_some,
        act: Run::flush,
        ..PLAIN
    },
    Phase {
        name: "flush, atomic",
        with: |o| o.set_atomic_flush(true),
        ready: write_some,
        act: Run::flush,
        ..PLAIN
    },
    Phase {
        name: "flush, logs reused",
        with: |o| o.set_recycle_log_file_num(1),
        ready: |run| {
            write_some(run);
            run.flush();
            write_some(run);
        },
        act: Run::flush,
        ..PLAIN
    },
    Phase {
        name: "flush, logs archived",
        with: |o| o.set_wal_ttl_seconds(1_000_000),
        ready: write_some,
        act: Run::flush,
        ..PLAIN
    },
    Phase {
        name: "flush, logs tracked",
        with: |o| o.set_track_and_verify_wals_in_manifest(true),
        ready: write_some,
        act: Run::flush,
        ..PLAIN
    },
    Phase {
        name: "flush, with blob files",
        with: with_blobs,
        ready: write_some,
        act: Run::flush,
        then: check_blobs,
        ..PLAIN
    },
    Phase {
        name: "compaction",
        before: overlapping,
        act: compact,
        ..PLAIN
    },
    Phase {
        name: "compaction, automatic",
        with: two_levels,
        before: levels,
        act: compact_automatically,
        then: check_levels,
        ..PLAIN
    },
    Phase {
        name: "compaction, with blob files",
        with: with_blobs,
        before: overlapping,
        act: compact,
        then: check_blobs,
        ..PLAIN
    },
    Phase {
        name: "manifest roll",
        with: |o| o.set_max_manifest_file_size(1),
        act: drop_family,
        ..PLAIN
    },
    Phase {
        name: "create column family",
        act: create_family,
        ..PLAIN
    },
    Phase {
        name: "drop column family",
        act: drop_family,
        ..PLAIN
    },
    Phase {
        name: "ingest by copy",
        ready: |run| outside(run, "c"),
        act: |run| ingest(run, "c", false),
        ..PLAIN
    },
    Phase {
        name: "ingest by move, with a flush",
        ready: |run| {
            outside(run, "b");
            run.put("default", "b02", 90);
        },
        act: |run| ingest(run, "b", true),
        ..PLAIN
    },
    Phase {
        name: "checkpoint",
        ready: write_some,
        act: |run| checkpoint(run, true),
        then: check_checkpoint,
        ..PLAIN
    },
    Phase {
        name: "checkpoint with its log",
        ready: write_some,
        act: |run| checkpoint(run, false),
        then: check_checkpoint,
        ..PLAIN
    },
    Phase {
        name: "delete files in range",
        before: apart,
        act: delete_files,
        ..PLAIN
    },
    Phase {
        name: "delete obsolete files",
        before: overlapping,
        ready: |run| {
            run.db().disable_file_deletions().expect("no fault yet");
            write_some(run);
            run.flush();
            compact(run);
        },
        act: |run| {
            let done = run.db().enable_file_deletions();
            run.tell("enable_file_deletions", done);
        },
        ..PLAIN
    },
    Phase {
        name: "resume",
        ready: stop,
        act: |run| {
            let done = run.db().resume();
            if run.tell("resume", done).is_some() {
                run.history.forget_failed();
            }
        },
        ..PLAIN
    },
    Phase {
        name: "close",
        kind: Kind::Closes,
        ready: write_some,
        act: Run::close,
        ..PLAIN
    },
    Phase {
        name: "close, with unlogged writes",
        kind: Kind::Closes,
        ready: |run| {
            let mut how = WriteOptions::default();
            how.disable_wal(true);
            for (family, key) in [("default", "u00"), ("one", "u01")] {
                run.write(vec![entry(family, key, 50)], &how, false);
            }
        },
        act: Run::close,
        ..PLAIN
    },
    Phase {
        name: "get",
        kind: Kind::Reads,
        act: get,
        ..PLAIN
    },
    Phase {
        name: "get, with blob files",
        kind: Kind::Reads,
        with: with_blobs,
        act: get,
        then: check_blobs,
        ..PLAIN
    },
    Phase {
        name: "iterate",
        kind: Kind::Reads,
        act: iterate,
        ..PLAIN
    },
    Phase {
        name: "read updates",
        kind: Kind::Reads,
        ready: write_some,
        act: read_updates,
        ..PLAIN
    },
];
