//! Which logs are kept for sections, and until when.

use super::{PROTOCOLS, await_purges, commit, id_of, logs, open_two, options, prepare, roll_back};
use crate::db::Engine;
use crate::options::read::WriteSpec;
use crate::{CommitProtocol, DB};
use whitewater_storage::batch::Batch;
use whitewater_storage::fs::mem::MemFs;
use whitewater_storage::key::ValueType;

/// The logs that are left once flushes are done.
pub(super) fn kept(fs: &MemFs, engine: &Engine) -> Vec<u64> {
    await_purges(engine);
    logs(fs)
}

/// The log with an outstanding section stays over many switches and flushes, and so do the
/// logs after it. It goes when the section is decided, and its entries are in tables.
#[test]
fn the_log_of_an_outstanding_section_stays() {
    for protocol in PROTOCOLS {
        let fs = MemFs::new();
        let db = DB::open(&options(&fs, protocol), "/db").unwrap();
        let engine = db.engine();
        db.put("before", "1").unwrap();
        let x = prepare(engine, "x", &["a"]);
        let y = prepare(engine, "y", &["b"]);
        let first = kept(&fs, engine);
        assert_eq!(first.len(), 1, "{protocol}");
        for n in 0..5 {
            db.put("k", n.to_string()).unwrap();
            db.flush().unwrap();
            // Others in the same log are decided meanwhile.
            let z = prepare(engine, "z", &["c"]);
            commit(engine, &z);
        }
        let now = kept(&fs, engine);
        assert!(now.starts_with(&first), "{protocol}: {now:?}");
        assert_eq!(now.len(), 6, "{protocol}: a suffix");
        assert_eq!(engine.files.versions.min_log_number_to_keep(), first[0]);
        roll_back(engine, &y);
        db.put("k", "6").unwrap();
        db.flush().unwrap();
        assert!(
            kept(&fs, engine).starts_with(&first),
            "{protocol}: x is left"
        );
        commit(engine, &x);
        assert!(
            kept(&fs, engine).starts_with(&first),
            "{protocol}: not in a table"
        );
        db.flush().unwrap();
        assert_eq!(kept(&fs, engine).len(), 1, "{protocol}");
        assert!(kept(&fs, engine)[0] > first[0], "{protocol}");
        assert_eq!(db.get("a"), Ok(Some(b"a".into())));
        assert_eq!(db.get("b"), Ok(None));
    }
}

/// A committed section's log is needed as long as a memtable of any family that it was
/// inserted into is not flushed.
#[test]
fn the_log_of_a_committed_section_stays_until_all_its_memtables_are_flushed() {
    for protocol in PROTOCOLS {
        let fs = MemFs::new();
        let db = open_two(&options(&fs, protocol));
        let other = db.cf_handle("other").unwrap();
        let engine = db.engine();
        let mut batch = Batch::default();
        batch.push(0, ValueType::Value, b"a", b"1");
        batch.push(id_of(engine, "other"), ValueType::Value, b"b", b"2");
        let spec = WriteSpec::default();
        let x = engine.prepare_section(b"x", &batch, &spec).unwrap();
        let first = *kept(&fs, engine).last().unwrap();
        // Both families move on to the next log.
        db.put("moves", "on").unwrap();
        db.flush().unwrap();
        db.put_cf(&other, "moves", "on").unwrap();
        db.flush_cf(&other).unwrap();
        assert_eq!(kept(&fs, engine)[0], first, "{protocol}");
        commit(engine, &x);
        db.flush().unwrap();
        assert_eq!(kept(&fs, engine)[0], first, "{protocol}: the other family");
        db.flush_cf(&other).unwrap();
        assert!(kept(&fs, engine)[0] > first, "{protocol}");
    }
}

/// `max_total_wal_size` does not flush again and again while a section keeps the oldest
/// log.
#[test]
fn the_limit_on_logs_gives_up_while_a_section_keeps_the_oldest() {
    let fs = MemFs::new();
    let mut options = options(&fs, CommitProtocol::Ordered);
    options.set_max_total_wal_size(64 << 10);
    options.set_disable_auto_compactions(true);
    let db = DB::open(&options, "/db").unwrap();
    let engine = db.engine();
    let x = prepare(engine, "x", &["a"]);
    let write = |n: usize| {
        for key in 0..n {
            db.put(format!("{key}"), [7; 1_000]).unwrap();
        }
    };
    write(300);
    db.flush().unwrap();
    let now = kept(&fs, engine);
    let tables = db.live_files().unwrap().len();
    assert!(tables <= 3, "{tables}: once, and the flush above");
    write(500);
    assert_eq!(db.live_files().unwrap().len(), tables);
    assert_eq!(kept(&fs, engine)[0], now[0]);
    roll_back(engine, &x);
    // The logs are over the limit, so memtables that keep the oldest are flushed.
    write(100);
    db.flush().unwrap();
    write(1);
    assert!(kept(&fs, engine)[0] > now[0]);
}
