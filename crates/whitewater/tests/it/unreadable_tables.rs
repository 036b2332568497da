//! Tables that cannot be opened right after they were written.
//!
//! They are not recorded, and what they were made of stays: memtables with their log, or tables.
//! Their files do not stay.

use crate::harness::{DIR, Db, open_all, tiny_on};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use whitewater::fs::Fs;
use whitewater::fs::fault::{Fault, FaultFs, FaultOp, OpSet, PathMatch, Rule, When};
use whitewater::fs::mem::MemFs;
use whitewater::{Error, ErrorKind, Options, Severity, WriteOptions};

const EVERYTHING: Option<&[u8]> = None;

struct Setup {
    mem: MemFs,
    faulty: FaultFs,
    options: Options,
    /// Tables with larger numbers are damaged when they are opened.
    intact_to: Arc<AtomicU64>,
}

impl Setup {
    fn new() -> Self {
        let mem = MemFs::new();
        let faulty = FaultFs::new(Arc::new(mem.clone()));
        let mut options = tiny_on(faulty.clone());
        options.set_disable_auto_compactions(true);
        let intact_to = Arc::new(AtomicU64::new(u64::MAX));
        let (newest, files) = (intact_to.clone(), mem.clone());
        faulty.set_observer(Arc::new(move |op, path: &Path| {
            let number = table_number(path).unwrap_or(0);
            if op == FaultOp::OpenRandom && number > newest.load(Ordering::Relaxed) {
                files.truncate(path, 20).expect("truncates");
            }
        }));
        Setup {
            mem,
            faulty,
            options,
            intact_to,
        }
    }

    fn damage_above(&self, number: u64) {
        self.intact_to.store(number, Ordering::Relaxed);
    }

    fn open(&self) -> Db {
        open_all(&self.options, Path::new(DIR)).expect("opens")
    }

    fn fail(&self, op: FaultOp, end: &str) {
        self.faulty.add_rule(Rule {
            ops: OpSet::of(&[op]),
            path: PathMatch::EndsWith(end.into()),
            when: When::Nth(1),
            fault: Fault::Eio,
            sticky: true,
        });
    }

    /// The names of the files that end with `end`.
    fn files(&self, end: &str) -> BTreeSet<String> {
        let mut names = self.mem.list(Path::new(DIR)).expect("lists");
        names.retain(|name| name.ends_with(end));
        names.into_iter().collect()
    }

    /// The numbers of the tables that there are.
    fn tables(&self) -> BTreeSet<u64> {
        let names = self.files(".sst");
        let numbers = names.iter().map(|name| table_number(Path::new(name)));
        numbers.flatten().collect()
    }
}

fn table_number(path: &Path) -> Option<u64> {
    let stem = path.to_str()?.strip_suffix(".sst")?;
    stem.rsplit('/').next()?.parse().ok()
}

fn compact(db: &Db) -> Result<(), Error> {
    db.try_compact_range_opt(EVERYTHING, EVERYTHING, &Default::default())
}

fn assert_holds(db: &Db, value: &[u8]) {
    assert_eq!(db.get(b"a").expect("reads").as_deref(), Some(value));
}

#[test]
fn a_table_that_cannot_be_opened_is_not_recorded() {
    let setup = Setup::new();
    let db = setup.open();
    let fail_to_open = |work: &dyn Fn() -> Result<(), Error>| {
        setup.fail(FaultOp::OpenRandom, ".sst");
        let failed = work();
        setup.faulty.clear_rules();
        assert_eq!(failed.unwrap_err().kind(), ErrorKind::IOError);
        db.resume().unwrap();
    };
    db.put(b"a", b"1").unwrap();
    fail_to_open(&|| db.flush());
    assert_holds(&db, b"1");
    db.put(b"a", b"2").unwrap();
    db.flush().unwrap();
    let before = db.live_files().unwrap().len();
    assert_eq!(setup.tables().len(), before);
    fail_to_open(&|| compact(&db));
    assert_eq!(db.live_files().unwrap().len(), before);
    assert_eq!(setup.tables().len(), before);
    compact(&db).unwrap();
    assert_holds(&db, b"2");
}

#[test]
fn a_resumption_that_cannot_open_its_tables_keeps_the_logs() {
    let setup = Setup::new();
    let db = setup.open();
    db.put(b"a", b"1").unwrap();
    setup.fail(FaultOp::Sync, ".log");
    let mut sync = WriteOptions::default();
    sync.set_sync(true);
    db.put_opt(b"a", b"2", &sync).unwrap_err();
    let refused = db.put(b"a", b"2").unwrap_err();
    assert_eq!(refused.severity(), Severity::HardError);
    setup.faulty.clear_rules();
    let logs = setup.files(".log");
    setup.fail(FaultOp::OpenRandom, ".sst");
    for _ in 0..2 {
        assert_eq!(db.resume().unwrap_err().kind(), ErrorKind::IOError);
        assert!(setup.tables().is_empty());
        assert_eq!(setup.files(".log"), logs);
        assert_holds(&db, b"1");
    }
    setup.faulty.clear_rules();
    db.resume().unwrap();
    assert_eq!(setup.tables().len(), 1);
    assert_ne!(setup.files(".log"), logs);
    assert_holds(&db, b"1");
    drop(db);
    let db = setup.open();
    assert_holds(&db, b"1");
    db.put(b"a", b"3").unwrap();
    assert_holds(&db, b"3");
}

/// Damage is not tried again.
#[test]
fn a_resumption_whose_table_is_damaged_keeps_the_logs() {
    let setup = Setup::new();
    let db = setup.open();
    db.put(b"a", b"1").unwrap();
    setup.fail(FaultOp::Append, ".log");
    db.put(b"a", vec![0; 10_000]).unwrap_err();
    setup.faulty.clear_rules();
    let logs = setup.files(".log");
    setup.damage_above(0);
    assert_eq!(db.resume().unwrap_err().kind(), ErrorKind::Corruption);
    setup.damage_above(u64::MAX);
    let refused = db.put(b"a", b"2").unwrap_err();
    assert_eq!(refused.severity(), Severity::UnrecoverableError);
    assert!(setup.tables().is_empty());
    assert_eq!(setup.files(".log"), logs);
    drop(db);
    assert_holds(&setup.open(), b"1");
}

#[test]
fn an_opening_that_cannot_open_its_tables_leaves_the_log() {
    let setup = Setup::new();
    let db = setup.open();
    db.put(b"a", b"1").unwrap();
    drop(db);
    setup.fail(FaultOp::OpenRandom, ".sst");
    for _ in 0..2 {
        let failed = open_all(&setup.options, Path::new(DIR)).unwrap_err();
        assert_eq!(failed.kind(), ErrorKind::IOError);
    }
    setup.faulty.clear_rules();
    let db = setup.open();
    assert_holds(&db, b"1");
    assert_eq!(setup.tables().len(), 1);
    db.put(b"a", b"2").unwrap();
    drop(db);
    let newest = setup.tables().last().copied().unwrap_or(0);
    setup.damage_above(newest);
    let failed = open_all(&setup.options, Path::new(DIR)).unwrap_err();
    assert_eq!(failed.kind(), ErrorKind::Corruption, "{failed}");
    setup.damage_above(u64::MAX);
    assert_holds(&setup.open(), b"2");
    assert_eq!(setup.tables().len(), 2);
}

/// Damage is not retried: it stops writes until the database is opened again.
#[test]
fn what_a_damaged_table_was_made_of_is_there_at_the_next_open() {
    let setup = Setup::new();
    let fail_with_damage = |db: Db, work: &dyn Fn(&Db) -> Result<(), Error>, value| {
        let known = setup.tables();
        setup.damage_above(known.last().copied().unwrap_or(0));
        let failed = work(&db).unwrap_err();
        assert_eq!(failed.kind(), ErrorKind::Corruption, "{failed}");
        assert!(failed.to_string().contains(".sst"), "{failed}");
        setup.damage_above(u64::MAX);
        let refused = db.put(b"a", b"refused").unwrap_err();
        assert_eq!(refused.severity(), Severity::UnrecoverableError);
        db.resume().unwrap_err();
        assert_eq!(setup.tables(), known);
        assert_holds(&db, value);
        drop(db);
        let db = setup.open();
        assert_holds(&db, value);
        db
    };
    let db = setup.open();
    db.put(b"a", b"1").unwrap();
    let db = fail_with_damage(db, &|db| db.flush(), b"1");
    db.put(b"a", b"2").unwrap();
    db.flush().unwrap();
    let db = fail_with_damage(db, &compact, b"2");
    assert!(setup.tables().len() > 1);
    compact(&db).unwrap();
    assert_holds(&db, b"2");
    // A flush thread may be deleting what the compaction has left.
    db.wait_for_compact(&Default::default()).unwrap();
    assert_eq!(setup.tables().len(), 1);
}
