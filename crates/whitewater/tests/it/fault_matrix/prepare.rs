//! What phases begin with: options, databases, first steps.

use super::acts::{OUTSIDE, compact, ingested};
use super::history::{History, State};
use super::run::Run;
use crate::harness::DIR;
use std::path::Path;
use whitewater::fs::Fs;
use whitewater::fs::fault::{Fault, FaultOp, FileKind, OpSet, PathMatch, Rule, When};
use whitewater::{CompactOptions, Options, SstFileWriter, WriteOptions};

pub fn large_buffer(o: &mut Options) {
    o.set_write_buffer_size(1 << 20);
}

/// Memtables are switched but not flushed.
pub fn many_buffers(o: &mut Options) {
    o.set_min_write_buffer_number_to_merge(3);
    o.set_max_write_buffer_number(6);
}

/// Most values are in blob files, and leave old ones when they are compacted.
pub fn with_blobs(o: &mut Options) {
    o.set_enable_blob_files(true);
    o.set_min_blob_size(100);
    o.set_enable_blob_gc(true);
    o.set_blob_gc_age_cutoff(1.0);
}

pub fn two_levels(o: &mut Options) {
    o.set_level_compaction_dynamic_level_bytes(false);
    o.set_level_zero_file_num_compaction_trigger(2);
    o.set_num_levels(3);
    o.set_max_bytes_for_level_base(8 << 10);
}

/// An empty database with two column families.
pub fn fresh(run: &mut Run) {
    let two = ["default", "one"].map(|n| (n.to_owned(), Default::default()));
    let state = State::from(two);
    run.history = History::since(state);
    run.open();
}

/// A closed database with tables on two levels and two column families. Everything is in tables.
pub fn filled(run: &mut Run) {
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

/// The same, with writes that are only in logs: two logs, one of which was not closed.
pub fn with_logs(run: &mut Run) {
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

/// [`with_logs`] as the death of the process leaves it, and without CURRENT.
pub fn without_current(run: &mut Run) {
    with_logs(run);
    run.memory = run.memory.after_kill();
    run.close();
    let current = Path::new(DIR).join("CURRENT");
    run.memory.remove(&current).expect("it is there");
}

/// Several tables on level 0 that overlap each other and those below.
pub fn overlapping(run: &mut Run) {
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

/// Level 2 has a part of the keys. Tables of level 0 have these and others.
pub fn levels(run: &mut Run) {
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

/// A few writes to each column family, only in the log.
pub fn write_some(run: &mut Run) {
    for i in 0..3 {
        run.put("default", &format!("w{i}"), 150);
        run.put("one", &format!("w{i}"), 120);
    }
}

/// Makes a table to be ingested, of keys that begin with `prefix`.
pub fn outside(run: &mut Run, prefix: &str) {
    let mut writer = SstFileWriter::create(&run.options);
    writer.open(OUTSIDE).expect("no fault yet");
    for (_, key, value) in ingested(prefix) {
        writer
            .put(key, value.expect("a put"))
            .expect("no fault yet");
    }
    writer.finish().expect("no fault yet");
}

/// Two tables on the last level that do not overlap.
pub fn apart(run: &mut Run) {
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

/// Writes are refused because one has failed.
pub fn stop(run: &mut Run) {
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
