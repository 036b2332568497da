//! The phases of a database's life, each with its script.

use super::history::{Change, Entry, History, State, Told};
use super::run::{Run, entry, state_of};
use crate::harness::walk::Content;
use crate::harness::{DIR, Db, open_named};
use std::path::Path;
use whitewater::checkpoint::Checkpoint;
use whitewater::fs::Fs;
use whitewater::fs::fault::{Fault, FaultOp, FileKind, Injected, OpSet, PathMatch, Rule, When};
use whitewater::{CompactOptions, Error, IngestExternalFileOptions, Options, SstFileWriter, WriteOptions};

/// What a phase does with the database as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It works with an open one.
    Works,
    /// It opens one.
    Opens,
    /// It opens one, to read alone.
    OpensToRead,
    /// It reads, and writes nothing.
    Reads,
    /// It closes one.
    Closes,
}

/// A piece of a database's life.
#[derive(Debug, Clone, Copy)]
pub struct Phase {
    pub name: &'static str,
    pub kind: Kind,
    /// Options that differ from [`options`](super::run::options).
    pub with: fn(&mut Options),
    /// Makes the database that every run begins with, and may leave it open.
    pub before: fn(&mut Run),
    /// What each run does first, without faults; the database is open, unless
    /// the phase opens it.
    pub ready: fn(&mut Run),
    /// What each run does with a fault.
    pub act: fn(&mut Run),
    /// What must hold then in the same process, which fault there ever was.
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

/// All of them, in the order of the document.
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
        act: checkpoint,
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
        name: "iterate",
        kind: Kind::Reads,
        act: iterate,
        ..PLAIN
    },
];

fn large_buffer(o: &mut Options) {
    o.set_write_buffer_size(1 << 20);
}

/// Memtables are switched, and not flushed.
fn many_buffers(o: &mut Options) {
    o.set_min_write_buffer_number_to_merge(3);
    o.set_max_write_buffer_number(6);
}

fn two_levels(o: &mut Options) {
    o.set_level_compaction_dynamic_level_bytes(false);
    o.set_level_zero_file_num_compaction_trigger(2);
    o.set_num_levels(3);
}

/// An empty database with two column families.
fn fresh(run: &mut Run) {
    let two = ["default", "one"].map(|n| (n.to_owned(), Default::default()));
    let state = State::from(two);
    run.history = History::since(state);
    run.open();
}

/// A closed database with tables on two levels and two column families, all of
/// which is in tables.
fn filled(run: &mut Run) {
    fresh(run);
    for i in 0..20 {
        run.put("default", &format!("a{i:02}"), 500);
    }
    run.put("one", "k0", 50);
    run.flush();
    compact(run);
    for i in 3..6 {
        run.put("default", &format!("a{i:02}"), 300);
        run.put("default", &format!("b{i:02}"), 200);
    }
    let gone = ("default".to_owned(), b"a01".to_vec(), None);
    run.write(vec![gone], &WriteOptions::default(), true);
    run.put("one", "k1", 60);
    run.flush();
    run.close();
}

/// The same, with writes that are in logs only: two logs, one unclosed.
fn with_logs(run: &mut Run) {
    filled(run);
    run.open();
    write_some(run);
    let one = run.db().cf_handle("one").expect("there");
    let flushed = run.db().flush_cf(&one);
    drop(one);
    run.tell("flush", flushed);
    for i in 0..3 {
        run.put("default", &format!("l{i}"), 100);
        run.put("one", &format!("l{i}"), 100);
    }
}

/// Several tables on level 0 that overlap each other and those below.
fn overlapping(run: &mut Run) {
    filled(run);
    run.open();
    for round in 0..2 {
        for i in 0..20 {
            run.put("default", &format!("a{i:02}"), 400 + round);
        }
        run.put("default", &format!("z{round}"), 400);
        run.flush();
    }
    run.close();
}

/// Level 2 has a part of the keys; tables of level 0 have these and others.
fn levels(run: &mut Run) {
    fresh(run);
    for i in 0..10 {
        run.put("default", &format!("a{i:02}"), 800);
    }
    run.flush();
    let mut down = CompactOptions::default();
    down.set_change_level(true);
    down.set_target_level(2);
    let none = None::<&[u8]>;
    let done = run.db().try_compact_range_opt(none, none, &down);
    run.tell("compaction", done);
    for round in 0..2 {
        for i in 0..30 {
            run.put("default", &format!("a{i:02}"), 700 + round);
        }
        run.flush();
    }
    run.close();
}

/// A few writes to each column family, in the log alone.
fn write_some(run: &mut Run) {
    for i in 0..3 {
        run.put("default", &format!("w{i}"), 150);
        run.put("one", &format!("w{i}"), 120);
    }
}

fn create(run: &mut Run) {
    let names = ["default".to_owned(), "one".to_owned()];
    run.history = History::since(State::from([(
        "default".to_owned(),
        Default::default(),
    )]));
    let opened = open_named(&run.options, Path::new(DIR), &names);
    run.db = run.tell("open", opened);
    let told = match run.db {
        Some(_) => Told::Done,
        None => Told::Failed,
    };
    run.history.note(Change::Create("one".to_owned()), told);
    if run.db.is_some() {
        run.history.all_durable();
    }
}

fn open_read_only(run: &mut Run) {
    let names = run.history.visible().into_keys();
    let opened = Db::open_cf_for_read_only(&run.options, DIR, names, false);
    run.db = run.tell("open read-only", opened);
}

fn write(run: &mut Run) {
    for (i, len) in [100, 200, 40_000, 100_000, 100].into_iter().enumerate() {
        run.put("default", &format!("w{i}"), len);
    }
}

fn write_synced(run: &mut Run) {
    run.put("default", "w0", 100);
    run.put_synced("default", "w1", 100);
    run.put("one", "w2", 100);
    let done = run.db().flush_wal(true);
    if run.tell("flush_wal", done).is_some() && !run.history.has_failed() {
        run.history.all_durable();
    }
    run.put_synced("default", "w3", 70_000);
}

fn switch(run: &mut Run) {
    for i in 0..10 {
        run.put("default", &format!("w{i}"), 8_000);
    }
}

fn compact(run: &mut Run) {
    let none = None::<&[u8]>;
    let done = (run.db()).try_compact_range_opt(none, none, &Default::default());
    run.tell("compaction", done);
}

fn compact_automatically(run: &mut Run) {
    let change = [("disable_auto_compactions", "false")];
    let done = run.db().set_options(&change);
    run.tell("set_options", done);
    let done = run.db().wait_for_compact(&Default::default());
    run.tell("wait_for_compact", done);
}

/// A change of column families.
fn note_family(run: &mut Run, change: Change, done: Result<(), Error>) {
    let told = match &done {
        Ok(()) => Told::Done,
        Err(_) => Told::Failed,
    };
    run.history.note(change, told);
    if run.tell("column family", done).is_some() {
        run.history.all_durable();
    }
}

fn create_family(run: &mut Run) {
    let done = run.db().create_cf("two", &run.options);
    note_family(run, Change::Create("two".to_owned()), done);
}

fn drop_family(run: &mut Run) {
    let done = run.db().drop_cf("one");
    note_family(run, Change::Drop("one".to_owned()), done);
}

const OUTSIDE: &str = "/data/outside.sst";

/// Makes a table to be ingested, of keys that begin with `prefix`.
fn outside(run: &mut Run, prefix: &str) {
    let mut writer = SstFileWriter::create(&run.options);
    writer.open(OUTSIDE).expect("no fault yet");
    for (_, key, value) in ingested(prefix) {
        writer.put(key, value.expect("a put")).expect("no fault yet");
    }
    writer.finish().expect("no fault yet");
}

fn ingested(prefix: &str) -> Vec<Entry> {
    (0..5)
        .map(|i| entry("default", &format!("{prefix}{i:02}"), 77))
        .collect()
}

fn ingest(run: &mut Run, prefix: &str, by_move: bool) {
    let mut how = IngestExternalFileOptions::default();
    how.set_move_files(by_move);
    let done = run.db().ingest_external_file_opts(&how, vec![OUTSIDE]);
    let change = Change::Write(ingested(prefix));
    let told = match &done {
        Ok(()) => Told::Done,
        Err(_) => Told::Failed,
    };
    run.history.note(change, told);
    if run.tell("ingestion", done).is_some() {
        run.history.all_durable();
    }
}

const CHECKPOINT: &str = "/data/checkpoint";

fn checkpoint(run: &mut Run) {
    let done = Checkpoint::new(run.db()).and_then(|c| c.create_checkpoint(CHECKPOINT));
    run.tell("checkpoint", done);
}

/// A checkpoint that was made holds everything; one that failed is not there,
/// and can be made again.
fn check_checkpoint(run: &Run, fault: Option<&Injected>) -> Result<(), String> {
    let dir = Path::new(CHECKPOINT);
    let there = run.memory.exists(dir).map_err(|e| e.to_string())?;
    if !run.errors.is_empty() {
        let last_sync = fault.is_some_and(|f| f.op == FaultOp::SyncDir);
        if there && !last_sync {
            return Err("a failed checkpoint is there".to_owned());
        }
        let again = Checkpoint::new(run.db())
            .and_then(|c| c.create_checkpoint("/data/checkpoint2"))
            .map_err(|e| format!("the next checkpoint: {e}"));
        // Once its directory could not be synced, a database syncs it no more.
        return again.or_else(|e| match last_sync {
            true => Ok(()),
            false => Err(e),
        });
    }
    let wanted = run.history.visible();
    let names: Vec<String> = wanted.keys().cloned().collect();
    let opened = open_named(&run.options, dir, &names);
    let db = opened.map_err(|e| format!("the checkpoint does not open: {e}"))?;
    match state_of(&db, names.iter())? == wanted {
        true => Ok(()),
        false => Err("the checkpoint holds something else".to_owned()),
    }
}

/// Two tables on the last level that do not overlap.
fn apart(run: &mut Run) {
    fresh(run);
    for letter in ["g", "h"] {
        for i in 0..4 {
            run.put("default", &format!("{letter}{i}"), 100);
        }
        run.flush();
        compact(run);
    }
    run.close();
}

fn delete_files(run: &mut Run) {
    let done = run.db().delete_file_in_range("g", "g~");
    let gone = (0..4).map(|i| ("default".to_owned(), format!("g{i}").into_bytes(), None));
    let told = match &done {
        Ok(()) => Told::Done,
        Err(_) => Told::Failed,
    };
    run.history.note(Change::Write(gone.collect()), told);
    if run.tell("delete_file_in_range", done).is_some() {
        run.history.all_durable();
    }
}

/// Writes are refused since one has failed.
fn stop(run: &mut Run) {
    run.put("default", "s0", 100);
    let rule = run.faults.add_rule(Rule {
        ops: OpSet::of(&[FaultOp::Append]),
        path: PathMatch::Kind(FileKind::Log),
        when: When::Nth(1),
        fault: Fault::Eio,
        sticky: false,
    });
    run.put("default", "s1", 100);
    run.faults.remove_rule(rule);
    assert_eq!(run.errors.drain(..).count(), 1);
}

/// Gets everything; what is read is right.
fn get(run: &mut Run) {
    let (mut errors, mut wrong) = (Vec::new(), Vec::new());
    for (family, content) in run.history.visible() {
        let cf = run.db().cf_handle(&family).expect("there");
        for (key, value) in content {
            match run.db().get_cf(&cf, &key) {
                Ok(found) if found.as_ref() == Some(&value) => {}
                Ok(_) => wrong.push(format!("get of {family} {key:?}")),
                Err(e) => errors.push(("get".to_owned(), e)),
            }
        }
    }
    run.errors.extend(errors);
    run.wrong.extend(wrong);
}

/// Goes over everything, in both directions; what is read to the end is right.
fn iterate(run: &mut Run) {
    let (mut errors, mut wrong) = (Vec::new(), Vec::new());
    for (family, content) in run.history.visible() {
        let cf = run.db().cf_handle(&family).expect("there");
        for forward in [true, false] {
            let mut iter = run.db().raw_iterator_cf(&cf);
            match forward {
                true => iter.seek_to_first(),
                false => iter.seek_to_last(),
            }
            let mut found = Content::new();
            while let Some((key, value)) = iter.item() {
                found.insert(key.to_vec(), value.to_vec());
                match forward {
                    true => iter.next(),
                    false => iter.prev(),
                }
            }
            match iter.status() {
                Err(e) => errors.push(("iteration".to_owned(), e)),
                Ok(()) if found == content => {}
                Ok(()) => wrong.push(format!("iteration over {family}, forward: {forward}")),
            }
        }
    }
    run.errors.extend(errors);
    run.wrong.extend(wrong);
}
