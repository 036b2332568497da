use super::*;
use crate::version::testing::file_meta;
use whitewater_storage::ErrorKind;
use whitewater_storage::fs::fault::{Fault, FaultFs, FaultOp, OpSet, Rule};
use whitewater_storage::fs::mem::MemFs;
use whitewater_storage::key::UserComparator;
use whitewater_storage::manifest::{FileMetaData, ManifestReader, read_current};
use whitewater_storage::timestamp::BytewiseWithU64Timestamp;

const DIR: &str = "/db";

/// Takes the numbers of obsolete tables.
fn taken(obsolete: &ObsoleteFiles) -> Vec<u64> {
    obsolete.take().iter().map(|file| file.number).collect()
}

fn new_database() -> Arc<dyn Fs> {
    let fs: Arc<dyn Fs> = Arc::new(MemFs::new());
    fs.create_dir_all(Path::new(DIR)).unwrap();
    VersionSet::create_database(&fs, Path::new(DIR), "some-id").unwrap();
    fs
}

fn open_limited(fs: &Arc<dyn Fs>, limit: u64) -> Result<(VersionSet, Recovered)> {
    let options_of = |_: &str| Some(Arc::new(CfOptions::default()));
    VersionSet::recover(fs.clone(), DIR.into(), limit, Arc::default(), &options_of)
}

fn open(fs: &Arc<dyn Fs>) -> (VersionSet, Recovered) {
    open_limited(fs, 1 << 30).unwrap()
}

fn meta(number: u64, range: &str, epoch: u64) -> FileMetaData {
    FileMetaData {
        epoch_number: epoch,
        ..file_meta(number, range, 10, 5)
    }
}

fn add(cf: u32, level: u32, meta: FileMetaData) -> VersionEdit {
    VersionEdit {
        column_family: cf,
        new_files: vec![(level, meta)],
        ..VersionEdit::default()
    }
}

fn apply(set: &VersionSet, edits: Vec<VersionEdit>, last: u64) -> Result<Vec<CfVersion>> {
    let mut installed = Vec::new();
    let adds = edits.iter().filter(|edit| edit.column_family_add.is_some());
    let options: Vec<_> = adds.map(|_| Arc::new(CfOptions::default())).collect();
    set.log_and_apply(edits, last, &options, &mut |changed| {
        installed = changed.to_vec()
    })?;
    Ok(installed)
}

fn create_family(set: &VersionSet, name: &str, log: u64) -> Result<u32> {
    let id = set.new_column_family_id()?;
    let edit = VersionEdit {
        column_family: id,
        column_family_add: Some(name.to_owned()),
        log_number: Some(log),
        ..VersionEdit::default()
    };
    apply(set, vec![edit], 0)?;
    Ok(id)
}

fn files(v: &Version) -> Vec<(usize, u64)> {
    let level = |(l, files): (usize, &Vec<Arc<crate::version::TableFile>>)| {
        files
            .iter()
            .map(move |f| (l, f.meta.number))
            .collect::<Vec<_>>()
    };
    v.levels.iter().enumerate().flat_map(level).collect()
}

fn names(fs: &Arc<dyn Fs>) -> Vec<String> {
    let mut names = fs.list(Path::new(DIR)).unwrap();
    names.sort();
    names
}

#[test]
fn a_new_database_is_empty_and_has_its_id() {
    let fs = new_database();
    assert_eq!(names(&fs), ["CURRENT", "MANIFEST-000001"]);
    let (set, recovered) = open(&fs);
    assert_eq!(recovered.db_id.as_deref(), Some("some-id"));
    assert_eq!(
        (recovered.last_sequence, recovered.min_log_number_to_keep),
        (0, 0)
    );
    let default = &recovered.column_families[&0];
    assert_eq!(
        (default.name.as_str(), default.current.levels.len()),
        ("default", 7)
    );
    assert_eq!((set.manifest_number(), set.new_file_number()), (1, 2));
    assert_eq!(
        list_column_families(&*fs, Path::new(DIR)).unwrap(),
        ["default"]
    );
}

#[test]
fn what_is_applied_is_there_after_reopening() {
    let fs = new_database();
    let (set, _) = open(&fs);
    let (a, b) = (set.new_file_number(), set.new_file_number());
    let mut edit = add(0, 0, meta(a, "a-c", set.new_epoch_number(0)));
    edit.log_number = Some(20);
    edit.min_log_number_to_keep = Some(20);
    let installed = apply(&set, vec![edit], 77).unwrap();
    assert_eq!(files(&installed[0].current), [(0, a)]);
    assert_eq!(
        (installed[0].log_number, set.min_log_number_to_keep()),
        (20, 20)
    );
    let other = create_family(&set, "other", 20).unwrap();
    let group = vec![
        add(0, 1, meta(b, "x-z", 1)),
        add(other, 0, meta(90, "a-c", set.new_epoch_number(other))),
    ];
    let installed = apply(&set, group, 80).unwrap();
    assert_eq!(installed.len(), 2);

    let reopen = || {
        let (set, recovered) = open(&fs);
        assert_eq!(
            (recovered.last_sequence, recovered.min_log_number_to_keep),
            (80, 20)
        );
        let cfs = &recovered.column_families;
        assert_eq!(files(&cfs[&0].current), [(0, a), (1, b)]);
        assert_eq!(
            (files(&cfs[&other].current), cfs[&other].log_number),
            (vec![(0, 90)], 20)
        );
        assert_eq!(set.max_column_family(), other);
        assert!(set.new_file_number() > 90);
        assert_eq!(
            (set.new_epoch_number(0), set.new_epoch_number(other)),
            (2, 2)
        );
        set
    };
    let set = reopen();
    // The first write after open starts a manifest with the same content.
    let before = set.manifest_number();
    apply(&set, Vec::new(), 0).unwrap();
    assert!(set.manifest_number() > before);
    assert!(
        !fs.exists(&filename::manifest(Path::new(DIR), before))
            .unwrap()
    );
    assert_eq!(names(&fs).len(), 2);
    drop(set);
    reopen();
}

#[test]
fn column_families_come_and_go() {
    let fs = new_database();
    let (set, _) = open(&fs);
    let one = create_family(&set, "one", 4).unwrap();
    let two = create_family(&set, "two", 9).unwrap();
    assert_eq!(
        list_column_families(&*fs, Path::new(DIR)).unwrap(),
        ["default", "one", "two"]
    );
    let e = create_family(&set, "two", 9).unwrap_err();
    assert!(e.to_string().contains("already exists"), "{e}");
    let drop_edit = |id| VersionEdit {
        column_family: id,
        column_family_drop: true,
        ..VersionEdit::default()
    };
    assert!(apply(&set, vec![drop_edit(one)], 0).unwrap().is_empty());
    for (edit, kind) in [
        (drop_edit(one), ErrorKind::ColumnFamilyDropped),
        (drop_edit(0), ErrorKind::InvalidArgument),
        (
            add(one, 0, meta(50, "a-b", 1)),
            ErrorKind::ColumnFamilyDropped,
        ),
    ] {
        assert_eq!(apply(&set, vec![edit], 0).unwrap_err().kind(), kind);
    }
    drop(set);
    let (set, recovered) = open(&fs);
    let found: Vec<u32> = recovered.column_families.keys().copied().collect();
    assert_eq!(found, [0, two]);
    // Ids are not reused, not even after the family with the largest one was dropped.
    apply(&set, vec![drop_edit(two)], 0).unwrap();
    assert!(open(&fs).0.new_column_family_id().unwrap() > two);
}

#[test]
fn openers_must_know_all_families_and_their_order() {
    let fs = new_database();
    let (set, _) = open(&fs);
    for name in ["one", "two", "three"] {
        create_family(&set, name, 4).unwrap();
    }
    let recover = |options_of: &dyn Fn(&str) -> Option<Arc<CfOptions>>| {
        VersionSet::recover(fs.clone(), DIR.into(), 1 << 30, Arc::default(), options_of)
            .unwrap_err()
            .to_string()
    };
    let listed = |name: &str| matches!(name, "default" | "two").then(Arc::default);
    assert_eq!(
        recover(&listed),
        "Invalid argument: Column families not opened: one, three"
    );
    let reversed = |reversed: &str, name: &str| {
        let mut options = CfOptions::default();
        if name == reversed {
            options.comparator = UserComparator::ReverseBytewise;
        }
        Some(Arc::new(options))
    };
    let text = "Invalid argument: rocksdb.ReverseBytewiseComparator: does not match existing \
                comparator leveldb.BytewiseComparator";
    assert_eq!(
        recover(&|name| reversed("two", name)),
        format!("{text} of column family two")
    );
    assert_eq!(recover(&|name| reversed("default", name)), text);
}

#[test]
fn the_manifest_rolls_over_when_it_has_grown() {
    let fs = new_database();
    let (set, _) = open_limited(&fs, 1000).unwrap();
    let mut numbers = std::collections::BTreeSet::new();
    let mut live = None;
    for i in 0..200 {
        let number = set.new_file_number();
        let mut edit = add(0, 1, meta(number, "a-b", i + 1));
        edit.deleted_files.extend(live.map(|n| (1, n)));
        apply(&set, vec![edit], i).unwrap();
        live = Some(number);
        numbers.insert(set.manifest_number());
        let path = filename::manifest(Path::new(DIR), set.manifest_number());
        assert!(fs.file_size(&path).unwrap() < 1200);
    }
    assert!((5..100).contains(&numbers.len()), "{}", numbers.len());
    assert_eq!(names(&fs).len(), 2);
    let (_, recovered) = open(&fs);
    assert_eq!(
        files(&recovered.column_families[&0].current),
        [(1, live.unwrap())]
    );
    assert_eq!(recovered.last_sequence, 199);
}

/// A set whose file system fails by rules, and its queue of obsolete files.
fn faulty() -> (Arc<FaultFs>, VersionSet, Arc<ObsoleteFiles>) {
    let fs = new_database();
    let faulty = Arc::new(FaultFs::new(fs));
    let obsolete = Arc::new(ObsoleteFiles::default());
    let (set, _) = VersionSet::recover(
        faulty.clone(),
        DIR.into(),
        1 << 30,
        obsolete.clone(),
        &|_| Some(Arc::new(CfOptions::default())),
    )
    .unwrap();
    apply(&set, vec![add(0, 1, meta(50, "a-b", 1))], 5).unwrap();
    (faulty, set, obsolete)
}

#[test]
fn a_failed_write_changes_nothing_and_starts_a_new_manifest() {
    for op in [FaultOp::Append, FaultOp::Sync] {
        let (fs, set, obsolete) = faulty();
        let before = set.manifest_number();
        let rule = fs.add_rule(Rule::nth(OpSet::of(&[op]), 1));
        let e = apply(&set, vec![add(0, 1, meta(51, "c-d", 2))], 9).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::IOError, "{op:?}");
        fs.remove_rule(rule);
        // The failed record may be on disk, so its table must stay for now.
        assert!(obsolete.take().is_empty(), "{op:?}");
        assert_eq!(set.manifest_number(), before);
        let installed = apply(&set, vec![add(0, 1, meta(52, "e-f", 3))], 7).unwrap();
        assert_eq!(files(&installed[0].current), [(1, 50), (1, 52)]);
        assert!(set.manifest_number() > before);
        assert_eq!(taken(&obsolete), [51]);
        let fs: Arc<dyn Fs> = fs;
        let (_, recovered) = open(&fs);
        assert_eq!(
            files(&recovered.column_families[&0].current),
            [(1, 50), (1, 52)]
        );
        assert_eq!(names(&fs).len(), 2, "{:?}", names(&fs));
    }
}

#[test]
fn every_failure_point_of_a_rollover_leaves_a_database() {
    for op in [
        FaultOp::Create,
        FaultOp::Append,
        FaultOp::Sync,
        FaultOp::Rename,
        FaultOp::SyncDir,
    ] {
        for n in 1..6 {
            let fs = new_database();
            let faulty = Arc::new(FaultFs::new(fs.clone()));
            let (set, _) = open(&(faulty.clone() as Arc<dyn Fs>));
            let mut rule = Rule::nth(OpSet::of(&[op]), n);
            rule.fault = Fault::Enospc;
            faulty.add_rule(rule);
            let failed = apply(&set, vec![add(0, 1, meta(51, "c-d", 2))], 9).is_err();
            faulty.clear_rules();
            // Whichever manifest CURRENT names now can be read.
            let (_, recovered) = open(&fs);
            let found = files(&recovered.column_families[&0].current);
            assert!(found.is_empty() || found == [(1, 51)], "{op:?} {n}");
            assert!(failed || found == [(1, 51)], "{op:?} {n}");
            let expected = if failed {
                vec![(1, 52)]
            } else {
                vec![(1, 51), (1, 52)]
            };
            apply(&set, vec![add(0, 1, meta(52, "e-f", 3))], 7).unwrap();
            let (_, recovered) = open(&fs);
            assert_eq!(
                files(&recovered.column_families[&0].current),
                expected,
                "{op:?} {n}"
            );
            let manifests = names(&fs)
                .iter()
                .filter(|n| n.starts_with("MANIFEST"))
                .count();
            assert_eq!(manifests, 1, "{op:?} {n}");
        }
    }
}

#[test]
fn a_refused_edit_gives_its_tables_back() {
    let (_, set, obsolete) = faulty();
    let e = apply(&set, vec![add(0, 1, meta(51, "b-d", 2))], 9).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Corruption);
    assert_eq!(taken(&obsolete), [51]);
    let e = apply(&set, vec![add(7, 1, meta(52, "b-d", 2))], 9).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::ColumnFamilyDropped);
    assert_eq!(taken(&obsolete), [52]);
}

#[test]
fn numbers_never_go_down() {
    let fs = new_database();
    let (set, _) = open(&fs);
    let log = |n| VersionEdit {
        log_number: Some(n),
        min_log_number_to_keep: Some(n),
        ..VersionEdit::default()
    };
    apply(&set, vec![log(9)], 40).unwrap();
    let installed = apply(&set, vec![log(4)], 30).unwrap();
    assert_eq!(
        (installed[0].log_number, set.min_log_number_to_keep()),
        (9, 9)
    );
    set.mark_file_number_used(1000);
    assert_eq!(set.new_file_number(), 1001);
    set.mark_file_number_used(5);
    assert_eq!(set.new_file_number(), 1002);
    let (_, recovered) = open(&fs);
    assert_eq!(
        (recovered.last_sequence, recovered.min_log_number_to_keep),
        (40, 9)
    );
}

/// Writes a manifest of `edits` as the manifest of a database, and returns the file system with
/// it.
fn manifest_of(edits: &[VersionEdit]) -> Result<Arc<dyn Fs>> {
    let fs = new_database();
    let path = filename::manifest(Path::new(DIR), 1);
    let mut writer = LogWriter::new(fs.create(&path)?, 0, false);
    for edit in edits {
        writer.add_record(&[&edit.encode()])?;
    }
    writer.sync()?;
    Ok(fs)
}

fn recover_from(edits: &[VersionEdit]) -> Result<(VersionSet, Recovered)> {
    open_limited(&manifest_of(edits)?, 1 << 30)
}

// Long: a table of manifests.
#[test]
fn incomplete_and_impossible_manifests_are_corruption() {
    let start = VersionEdit {
        log_number: Some(0),
        next_file_number: Some(2),
        last_sequence: Some(0),
        ..VersionEdit::default()
    };
    let family = |id, name: &str| VersionEdit {
        column_family: id,
        column_family_add: Some(name.to_owned()),
        ..VersionEdit::default()
    };
    let drop_edit = VersionEdit {
        column_family: 4,
        column_family_drop: true,
        ..VersionEdit::default()
    };
    for (edits, expected) in [
        (
            vec![],
            "no log_file_number, next_file_number, last_sequence entry in MANIFEST",
        ),
        (
            vec![VersionEdit {
                next_file_number: None,
                ..start.clone()
            }],
            "no next_file_number entry in MANIFEST",
        ),
        (
            vec![start.clone(), add(3, 0, meta(9, "a-b", 1))],
            "unknown column family 3",
        ),
        (
            vec![start.clone(), family(4, "x"), family(4, "x")],
            "adds column family x (4) twice",
        ),
        (vec![start.clone(), drop_edit], "drops column family 4"),
        (
            vec![
                start.clone(),
                add(0, 1, meta(9, "a-c", 1)),
                add(0, 1, meta(10, "b-d", 1)),
            ],
            "table files #9 and #10 on level 1 overlap",
        ),
    ] {
        let e = recover_from(&edits).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Corruption);
        assert!(e.to_string().contains(expected), "{e}");
        assert!(e.to_string().contains("MANIFEST-000001"), "{e}");
    }
    // Numbers read from disk do not overflow.
    let huge = add(0, 0, meta(u64::MAX, "a-b", 1));
    let e = recover_from(&[start.clone(), huge]).unwrap_err();
    assert!(e.to_string().contains("out of range"), "{e}");
    let sequence = VersionEdit {
        last_sequence: Some(u64::MAX),
        ..VersionEdit::default()
    };
    let e = recover_from(&[start.clone(), sequence]).unwrap_err();
    assert!(e.to_string().contains("out of range"), "{e}");
    let epoch = add(0, 0, meta(9, "a-b", u64::MAX));
    let (set, _) = recover_from(&[start, epoch]).unwrap();
    assert_eq!(
        (set.new_epoch_number(0), set.new_epoch_number(0)),
        (u64::MAX, u64::MAX)
    );
}

/// RocksDB also marks tables as stripped whose keys never had timestamps.
#[test]
fn tables_that_lack_the_timestamps_of_their_keys_are_not_supported() {
    let stripped = FileMetaData {
        timestamps_stripped: true,
        ..meta(9, "a-b", 1)
    };
    let timestamped = UserComparator::Custom(Arc::new(BytewiseWithU64Timestamp));
    for (comparator, refused) in [(UserComparator::default(), false), (timestamped, true)] {
        let start = VersionEdit {
            comparator: Some(comparator.name().to_owned()),
            log_number: Some(0),
            next_file_number: Some(20),
            last_sequence: Some(5),
            ..VersionEdit::default()
        };
        let fs = manifest_of(&[start, add(0, 1, stripped.clone())]).unwrap();
        let options = Arc::new(CfOptions {
            comparator,
            ..CfOptions::default()
        });
        let options_of = |_: &str| Some(options.clone());
        let set = VersionSet::recover(fs, DIR.into(), 1 << 30, Arc::default(), &options_of);
        if !refused {
            set.unwrap();
            continue;
        }
        let e = set.map(|_| ()).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::NotSupported, "{e}");
        assert!(e.to_string().contains("table file #9"), "{e}");
    }
}

#[test]
fn groups_are_recorded_as_groups() {
    let fs = new_database();
    let (set, _) = open(&fs);
    let edits = (0..3).map(|i| {
        let range = ["a-b", "c-d", "e-f"][i];
        add(0, 1, meta(60 + i as u64, range, 1))
    });
    apply(&set, edits.collect(), 9).unwrap();
    let path = read_current(&*fs, Path::new(DIR)).unwrap();
    let mut reader = ManifestReader::open(&*fs, &path).unwrap();
    let mut groups = Vec::new();
    while let Some(group) = reader.next().unwrap() {
        groups.push(group);
    }
    let last = groups.last().unwrap();
    let remaining: Vec<_> = last.iter().map(|e| e.remaining_in_group).collect();
    assert_eq!(remaining, [Some(2), Some(1), Some(0)]);
    for edit in last {
        assert_eq!(
            (edit.prev_log_number, edit.last_sequence),
            (Some(0), Some(9))
        );
        assert!(edit.next_file_number > Some(1));
    }
}

#[test]
fn a_power_cut_at_any_sync_keeps_what_was_acknowledged() {
    for keep in [0.0, 0.5, 1.0] {
        let mem = MemFs::new();
        let fs: Arc<dyn Fs> = Arc::new(mem.clone());
        fs.create_dir_all(Path::new(DIR)).unwrap();
        fs.sync_dir(Path::new("/")).unwrap();
        VersionSet::create_database(&fs, Path::new(DIR), "some-id").unwrap();
        let (set, _) = open_limited(&fs, 400).unwrap();
        // The number of acknowledged edits, and the state of the disk at every sync.
        let acknowledged = Arc::new(AtomicU64::new(0));
        let cuts = Arc::new(Mutex::new(Vec::new()));
        let (counter, found, disk) = (acknowledged.clone(), cuts.clone(), mem.clone());
        mem.set_sync_hook(Arc::new(move |point| {
            let cut = disk.crash_clone(keep, point.index);
            found.lock().push((counter.load(Relaxed), cut));
        }));
        for i in 0..40 {
            let range = format!("{i:02}-{i:02}");
            apply(&set, vec![add(0, 1, meta(1000 + i, &range, i + 1))], i).unwrap();
            acknowledged.fetch_add(1, Relaxed);
        }
        mem.clear_sync_hook();
        let cuts = std::mem::take(&mut *cuts.lock());
        assert!(cuts.len() > 100, "{}", cuts.len());
        for (done, disk) in cuts {
            let disk: Arc<dyn Fs> = Arc::new(disk);
            let (_, recovered) = open(&disk);
            let found = files(&recovered.column_families[&0].current);
            let count = found.len() as u64;
            assert!(count == done || count == done + 1, "{count} of {done}");
            assert!(
                found
                    .iter()
                    .zip(1000..)
                    .all(|((_, n), expected)| *n == expected)
            );
        }
    }
}

#[test]
fn there_is_an_end_to_the_ids_of_column_families() {
    let last = VersionEdit {
        max_column_family: Some(u32::MAX - 1),
        log_number: Some(0),
        next_file_number: Some(2),
        last_sequence: Some(0),
        ..VersionEdit::default()
    };
    let (set, _) = recover_from(&[last]).unwrap();
    assert_eq!(set.new_column_family_id(), Ok(u32::MAX));
    let e = set.new_column_family_id().unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Aborted);
    assert_eq!(set.max_column_family(), u32::MAX);
}
