//! Column families that are created at once.

use crate::harness::{DIR, Db, open_all, tiny_on};
use crate::interop::tools::{self, ldb};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use whitewater::fs::fault::{Fault, FaultFs, FaultOp, FileKind, OpSet, PathMatch, Rule};
use whitewater::fs::mem::MemFs;
use whitewater::{ErrorKind, Options};

const FAMILIES: usize = 8;

fn names() -> Vec<String> {
    (0..FAMILIES).map(|n| format!("family-{n:02}")).collect()
}

fn write_each(db: &Db) {
    for name in names() {
        let cf = db.cf_handle(&name).unwrap();
        db.put_cf(&cf, "key", &name).unwrap();
    }
}

fn check_each(db: &Db) {
    for name in names() {
        let cf = db.cf_handle(&name).unwrap();
        let found = db.get_cf(&cf, "key").unwrap();
        assert_eq!(found.as_deref(), Some(name.as_bytes()));
    }
}

#[test]
fn many_column_families_take_the_syncs_of_one() {
    let mem = MemFs::new();
    let faults = Arc::new(FaultFs::new(Arc::new(mem.clone())));
    let mut o = tiny_on(mem);
    o.set_fs(faults.clone());
    let db = open_all(&o, Path::new(DIR)).unwrap();
    let syncs_of = |create: &dyn Fn()| {
        let syncs = OpSet::of(&[FaultOp::Sync, FaultOp::SyncDir]);
        let before = faults.count_all(syncs);
        create();
        faults.count_all(syncs) - before
    };
    let one = syncs_of(&|| db.create_cf("one", &o).unwrap());
    let many = syncs_of(&|| db.create_cfs(names(), &o).unwrap());
    assert_eq!(many, one);
    write_each(&db);
    check_each(&db);
    drop(db);
    check_each(&open_all(&o, Path::new(DIR)).unwrap());
}

/// The directory was listed once for each column family.
#[test]
fn opening_many_column_families_lists_directories_as_often_as_for_one() {
    let listings_of_opening = |names: &[String]| {
        let mem = MemFs::new();
        let mut o = tiny_on(mem.clone());
        let db = open_all(&o, Path::new(DIR)).unwrap();
        db.create_cfs(names, &o).unwrap();
        drop(db);
        let faults = Arc::new(FaultFs::new(Arc::new(mem)));
        o.set_fs(faults.clone());
        drop(open_all(&o, Path::new(DIR)).unwrap());
        faults.count(FaultOp::List)
    };
    let all = names();
    assert_eq!(listings_of_opening(&all), listings_of_opening(&all[..1]));
}

#[test]
fn a_name_that_is_taken_or_comes_twice_creates_none() {
    let o = tiny_on(MemFs::new());
    let db = open_all(&o, Path::new(DIR)).unwrap();
    for (names, what) in [
        (["new", "default"], "Column family already exists"),
        (["new", "new"], "Column family already exists"),
        (["new", ""], "the name of a column family cannot be empty"),
    ] {
        let e = db.create_cfs(names, &o).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::InvalidArgument);
        assert!(e.to_string().contains(what), "{e}");
        assert!(db.cf_handle("new").is_none());
    }
    db.create_cfs(Vec::<String>::new(), &o).unwrap();
    assert_eq!(Db::list_cf(&o, DIR).unwrap(), ["default"]);
    db.create_cfs(["new", "newer"], &o).unwrap();
    assert_eq!(Db::list_cf(&o, DIR).unwrap(), ["default", "new", "newer"]);
}

/// Everything fails from one operation on that a creation makes on files of a kind, then the power
/// goes. Returns whether one was to fail, and how many column families are found.
fn fail_from(n: u64, kind: FileKind) -> (bool, usize) {
    let mem = MemFs::new();
    let faults = Arc::new(FaultFs::new(Arc::new(mem.clone())));
    let mut o = tiny_on(mem.clone());
    o.set_fs(faults.clone());
    let db = open_all(&o, Path::new(DIR)).unwrap();
    faults.add_rule(Rule {
        path: PathMatch::Kind(kind),
        fault: Fault::Eio,
        sticky: true,
        ..Rule::nth(OpSet::WRITES, n)
    });
    let created = db.create_cfs(names(), &o);
    let failed = !faults.injected().is_empty();
    let killed = mem.crash_clone(0.5, n);
    drop(db);
    o.set_fs(Arc::new(killed));
    let found = Db::list_cf(&o, DIR).unwrap().len() - 1;
    assert!(
        created.is_err() || found == FAMILIES,
        "{kind:?}: lost after {n}"
    );
    let db = open_all(&o, Path::new(DIR)).unwrap();
    if found == 0 {
        db.create_cfs(names(), &o).unwrap();
    }
    write_each(&db);
    check_each(&db);
    (failed, found)
}

#[test]
fn a_failure_anywhere_leaves_all_of_them_or_none() {
    use FileKind::{Directory, Manifest, Options, Temporary};
    let mut outcomes = BTreeSet::new();
    for kind in [Manifest, Options, Temporary, Directory] {
        for n in 1.. {
            let (failed, found) = fail_from(n, kind);
            outcomes.insert((failed, found));
            if !failed {
                break;
            }
        }
    }
    assert!(outcomes.contains(&(true, 0)), "no failure took any back");
    assert!(outcomes.contains(&(false, FAMILIES)), "{outcomes:?}");
}

#[test]
fn rocksdb_reads_column_families_that_were_created_at_once() {
    if !tools::available() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut o = Options::default();
    o.create_if_missing(true);
    let db = Db::open(&o, dir.path()).unwrap();
    db.create_cfs(names(), &o).unwrap();
    write_each(&db);
    db.flush().unwrap();
    drop(db);
    let copy = tools::copied(dir.path());
    let listed = ldb(copy.path(), &["list_column_families"]);
    for name in names() {
        assert!(listed.contains(&name), "{name} in {listed}");
        let flag = format!("--column_family={name}");
        let value = ldb(copy.path(), &["get", "key", &flag]);
        assert!(value.contains(&name), "{value}");
    }
}
