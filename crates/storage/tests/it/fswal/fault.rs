//! Injected failures and the latch.

use super::{content, p};
use std::sync::Arc;
use whitewater_storage::fs::fault::{
    Fault, FaultFs, FaultOp, FileKind, OpSet, PathMatch, Rule, When,
};
use whitewater_storage::fs::latch::LatchFs;
use whitewater_storage::fs::mem::MemFs;
use whitewater_storage::fs::{Fs, SharedOptions, write_file_atomically};
use whitewater_storage::{ErrorKind, Result};

fn faulty() -> FaultFs {
    FaultFs::new(Arc::new(MemFs::new()))
}

/// A little of everything.
fn workload(fs: &dyn Fs) -> Result<()> {
    fs.create_dir_all(p("/db"))?;
    let _lock = fs.lock(p("/db/LOCK"))?;
    write_file_atomically(fs, p("/db/tmp"), p("/db/f"), b"content")?;
    fs.link(p("/db/f"), p("/db/g"))?;
    let mut file = fs.open_append(p("/db/g"))?;
    file.append(b"!")?;
    file.flush()?;
    file.truncate_to_len()?;
    let mut file = fs.reuse(p("/db/g"), p("/db/h"))?;
    file.append(b"C")?;
    let shared = fs.open_shared(p("/db/s"), None, SharedOptions::default())?;
    shared.extend(100)?;
    shared.write_at(50, b"here")?;
    shared.sync()?;
    shared.truncate(54)?;
    drop(fs.open_shared(p("/db/t"), Some(p("/db/s")), SharedOptions::default())?);
    let random = fs.open_random(p("/db/f"))?;
    assert_eq!(random.len()?, 8);
    assert_eq!(random.read_at(0, 8)?, "Content!");
    assert_eq!(fs.open_sequential(p("/db/f"))?.read(&mut [0; 100])?, 8);
    assert!(fs.exists(p("/db/h"))?);
    assert_eq!(fs.list(p("/db"))?, ["LOCK", "f", "h", "t"]);
    assert_eq!(fs.file_size(p("/db/h"))?, 8);
    fs.remove(p("/db/h"))?;
    fs.create_dir_all(p("/db/d"))?;
    fs.remove_dir(p("/db/d"))
}

#[test]
fn a_sweep_fails_every_operation_once() {
    let fs = faulty();
    workload(&fs).unwrap();
    let total = fs.count_all(OpSet::ALL);
    let mut kinds = std::collections::HashSet::new();
    for n in 1..=total + 1 {
        let fs = faulty();
        fs.add_rule(Rule::nth(OpSet::ALL, n));
        let result = workload(&fs);
        let injected = fs.injected();
        assert_eq!(result.is_err(), n <= total, "{n}");
        assert_eq!(injected.len(), usize::from(n <= total));
        if let Err(e) = result {
            assert_eq!(fs.count_all(OpSet::ALL), n);
            assert_eq!(e.kind(), ErrorKind::IOError);
            assert_eq!(e.file(), Some(&*injected[0].path));
            assert!(e.to_string().contains("injected"), "{e}");
            kinds.insert(injected[0].op);
        }
    }
    assert_eq!(kinds.len(), 22, "the workload does everything: {kinds:?}");
    assert_eq!(
        fs.count_all(OpSet::READS) + fs.count_all(OpSet::WRITES) + fs.count(FaultOp::Lock),
        total
    );
}

#[test]
fn rules_pick_by_kind_path_and_turn() {
    let fs = faulty();
    let rule = |path: PathMatch, when: When, sticky: bool| Rule {
        ops: OpSet::of(&[FaultOp::Create]),
        path,
        when,
        fault: Fault::Enospc,
        sticky,
    };
    let sst = || PathMatch::EndsWith(".sst".into());
    let id = fs.add_rule(rule(sst(), When::Nth(2), false));
    let fails = |name: &str| fs.create(p(name)).is_err();
    assert!(!fails("/1.sst") && !fails("/1.log"));
    let e = fs.create(p("/2.sst")).unwrap_err();
    assert_eq!(e.io_kind(), Some(std::io::ErrorKind::StorageFull));
    assert!(!fails("/2.sst"), "once");
    fs.remove_rule(id);

    let id = fs.add_rule(rule(PathMatch::Contains("log".into()), When::Nth(1), true));
    assert!(
        fails("/1.log") && fails("/2.log") && !fails("/1.sst"),
        "sticky"
    );
    fs.remove_rule(id);
    assert!(!fails("/1.log"));

    let chance = When::Chance {
        probability: 0.3,
        seed: 5,
    };
    let run = || {
        fs.clear_rules();
        fs.add_rule(rule(PathMatch::Any, chance, false));
        (0..100).map(|_| fails("/x")).collect::<Vec<_>>()
    };
    let failed = run();
    let count = failed.iter().filter(|f| **f).count();
    assert!((15..45).contains(&count), "{count}");
    assert_eq!(run(), failed, "same seed, same failures");
}

#[test]
fn short_writes_leave_half_and_failed_syncs_lose_bytes() {
    let mem = MemFs::new();
    let fs = FaultFs::new(Arc::new(mem.clone()));
    let mut f = fs.create(p("/f")).unwrap();
    fs.sync_dir(p("/")).unwrap();
    let once = |op, fault| {
        fs.add_rule(Rule {
            fault,
            ..Rule::nth(OpSet::of(&[op]), 1)
        })
    };
    once(FaultOp::Append, Fault::ShortWrite);
    assert!(f.append(b"12345678").is_err());
    assert_eq!(content(&mem, p("/f")), b"1234");
    once(FaultOp::Sync, Fault::Eio);
    assert!(f.sync().is_err());
    f.sync().unwrap();
    assert_eq!(content(&mem.crash_clone(0.0, 1), p("/f")), [0; 4]);
}

#[test]
fn the_first_failure_latches_and_reads_go_on() {
    for op in [
        FaultOp::Create,
        FaultOp::Append,
        FaultOp::Flush,
        FaultOp::Sync,
        FaultOp::Rename,
        FaultOp::SyncDir,
    ] {
        let fault = faulty();
        let fs = LatchFs::new(Arc::new(fault.clone()));
        let mut file = fs.create(p("/f")).unwrap();
        file.append(b"abc").unwrap();
        assert!(fs.failure().is_none());
        fault.add_rule(Rule::nth(OpSet::of(&[op]), 1));
        let first = match op {
            FaultOp::Create => fs.create(p("/g")).map(drop),
            FaultOp::Append => file.append(b"d"),
            FaultOp::Flush => file.flush(),
            FaultOp::Sync => file.sync(),
            FaultOp::Rename => fs.rename(p("/f"), p("/g")),
            _ => fs.sync_dir(p("/")),
        }
        .unwrap_err();
        assert_eq!(fs.failure(), Some(first.clone()), "{op:?}");
        let before = fault.count_all(OpSet::WRITES);
        let later = [
            file.append(b"x"),
            file.flush(),
            file.sync(),
            file.truncate_to_len(),
            fs.create(p("/h")).map(drop),
            fs.open_append(p("/f")).map(drop),
            fs.reuse(p("/f"), p("/h")).map(drop),
            fs.create_dir_all(p("/d")),
            fs.remove(p("/f")),
            fs.remove_dir(p("/d")),
            fs.rename(p("/f"), p("/h")),
            fs.link(p("/f"), p("/h")),
            fs.sync_dir(p("/")),
        ];
        for result in later {
            let text = result.unwrap_err().to_string();
            assert_eq!(text, format!("IO error: previous I/O failed: {first}"));
        }
        assert_eq!(
            fault.count_all(OpSet::WRITES),
            before,
            "nothing reached the disk"
        );
        assert_eq!(content(&fs, p("/f")), b"abc");
        assert_eq!(fs.open_random(p("/f")).unwrap().len().unwrap(), 3);
        assert_eq!(fs.list(p("/")).unwrap(), ["f"]);
    }
}

#[test]
fn harmless_failures_do_not_latch() {
    let fs = LatchFs::new(Arc::new(MemFs::new()));
    assert!(fs.remove(p("/none")).is_err());
    assert!(fs.link(p("/none"), p("/x")).is_err());
    assert!(fs.open_random(p("/none")).is_err());
    assert!(fs.failure().is_none());
    fs.create(p("/f")).unwrap();
}

#[test]
fn operations_are_recorded_in_order_with_failed_ones() {
    let fault = faulty();
    fault.create(p("/000001.log")).unwrap();
    fault.start_recording();
    fault.add_rule(Rule {
        path: PathMatch::Kind(FileKind::Log),
        ..Rule::nth(OpSet::of(&[FaultOp::Create]), 1)
    });
    fault.create(p("/000002.sst")).unwrap();
    fault.create(p("/000003.log")).unwrap_err();
    fault.sync_dir(p("/")).unwrap();
    let recorded = fault.end_recording();
    let seen: Vec<_> = (recorded.iter())
        .map(|o| (o.op, FileKind::of(&o.path), o.path.to_str().unwrap()))
        .collect();
    assert_eq!(
        seen,
        [
            (FaultOp::Create, FileKind::Table, "/000002.sst"),
            (FaultOp::Create, FileKind::Log, "/000003.log"),
            (FaultOp::SyncDir, FileKind::Directory, "/"),
        ]
    );
    fault.sync_dir(p("/")).unwrap();
    assert_eq!(fault.end_recording(), []);
}
