//! Files that many threads write at once: one contract, three kinds of file.

use super::{content, p};
use crate::skip::skip;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use whitewater_storage::ErrorKind;
use whitewater_storage::fs::fault::{Fault, FaultFs, FaultOp, OpSet, Rule};
use whitewater_storage::fs::latch::LatchFs;
use whitewater_storage::fs::mem::MemFs;
use whitewater_storage::fs::os::OsFs;
use whitewater_storage::fs::{Fs, SharedAccess, SharedFile, SharedOptions};

/// A file system, a way to open files in it, and a directory.
struct Kind {
    name: &'static str,
    fs: Arc<dyn Fs>,
    options: SharedOptions,
    dir: PathBuf,
    _temporary: Option<tempfile::TempDir>,
}

impl Kind {
    fn os(name: &'static str, access: SharedAccess, initialize: bool) -> Kind {
        let temporary = tempfile::tempdir().unwrap();
        Kind {
            name,
            fs: Arc::new(OsFs),
            options: SharedOptions { access, initialize },
            dir: temporary.path().to_path_buf(),
            _temporary: Some(temporary),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    fn open(&self, name: &str, from: Option<&Path>) -> Box<dyn SharedFile> {
        self.fs
            .open_shared(&self.path(name), from, self.options)
            .unwrap()
    }
}

fn kinds() -> Vec<Kind> {
    let mut kinds = vec![
        Kind::os("positioned", SharedAccess::Positioned, false),
        Kind::os("positioned, zeros", SharedAccess::Positioned, true),
        Kind::os("auto", SharedAccess::Auto, false),
        Kind {
            name: "memory",
            fs: Arc::new(MemFs::new()),
            options: SharedOptions::default(),
            dir: PathBuf::from("/"),
            _temporary: None,
        },
    ];
    let mapped = Kind::os("mapped", SharedAccess::Mapped, false);
    match mapped
        .fs
        .open_shared(&mapped.path("probe"), None, mapped.options)
    {
        Ok(_) => {
            kinds.push(mapped);
            kinds.push(Kind::os("mapped, zeros", SharedAccess::Mapped, true));
        }
        Err(e) => {
            assert_eq!(e.kind(), ErrorKind::NotSupported);
            skip(&format!("no mapped files here ({e})"));
        }
    }
    kinds
}

/// The byte that thread `t` writes at `offset`; never zero.
fn byte(t: usize, offset: u64) -> u8 {
    1 + (t as u64 * 29 + offset * 7 % 211) as u8 % 250
}

#[test]
fn parallel_writes_to_disjoint_places_all_arrive() {
    const THREADS: usize = 8;
    const LEN: u64 = 1 << 20;
    for kind in kinds() {
        let file = kind.open("f", None);
        file.extend(LEN).unwrap();
        // Pieces of 1 to 40 bytes dealt out in turn: neighbours share words.
        let mut pieces = vec![Vec::new(); THREADS];
        let (mut at, mut n) = (3u64, 0usize);
        while at + 40 < LEN {
            let len = 1 + n * 17 % 40;
            pieces[n % THREADS].push((at, len));
            at += len as u64;
            n += 1;
        }
        let end = at;
        std::thread::scope(|s| {
            for (t, pieces) in pieces.iter().enumerate() {
                let file = &file;
                s.spawn(move || {
                    for &(at, len) in pieces {
                        let data: Vec<u8> = (at..at + len as u64).map(|o| byte(t, o)).collect();
                        file.write_at(at, &data).unwrap();
                    }
                });
            }
        });
        file.sync().unwrap();
        let mut expected = vec![0; LEN as usize];
        for (t, pieces) in pieces.iter().enumerate() {
            for &(at, len) in pieces {
                for o in at..at + len as u64 {
                    expected[o as usize] = byte(t, o);
                }
            }
        }
        assert_eq!(expected[..3], [0; 3]);
        let got = content(&*kind.fs, &kind.path("f"));
        assert!(got == expected, "{}: up to {end}", kind.name);
    }
}

#[test]
fn overlapping_writes_leave_somebodys_bytes_and_touch_no_others() {
    for kind in kinds() {
        let file = kind.open("f", None);
        file.extend(4096).unwrap();
        std::thread::scope(|s| {
            for t in 1..=4u8 {
                let file = &file;
                s.spawn(move || {
                    for i in 0..500u64 {
                        file.write_at(100 + i % 5, &[t; 50]).unwrap();
                    }
                });
            }
        });
        let got = content(&*kind.fs, &kind.path("f"));
        assert!(got[100..154].iter().all(|b| (1..=4).contains(b)));
        assert!(got[..100].iter().chain(&got[154..]).all(|b| *b == 0));
    }
}

#[test]
fn every_alignment_and_length_is_written_exactly() {
    for kind in kinds() {
        let file = kind.open("f", None);
        file.extend(8192).unwrap();
        let mut expected = vec![0u8; 8192];
        let mut turn = 0u8;
        for at in 0..24usize {
            for len in 0..40usize {
                turn = turn.wrapping_add(1);
                let data = vec![turn; len];
                file.write_at(4080 + at as u64, &data).unwrap();
                expected[4080 + at..4080 + at + len].copy_from_slice(&data);
            }
            let got = content(&*kind.fs, &kind.path("f"));
            assert!(got == expected, "{} at {at}", kind.name);
        }
    }
}

#[test]
fn extension_goes_on_beside_writers() {
    const STEP: u64 = 64 << 10;
    for kind in kinds() {
        let file = kind.open("f", None);
        file.extend(STEP).unwrap();
        let done = AtomicBool::new(false);
        let steps = if kind.options.initialize { 20 } else { 100 };
        std::thread::scope(|s| {
            for t in 0..4u64 {
                let (file, done) = (&file, &done);
                s.spawn(move || {
                    // Each thread writes to its own 16 bytes of each 64 below the end.
                    let mut at = t * 16;
                    loop {
                        let last = done.load(Ordering::Acquire);
                        let end = file.allocated();
                        while at + 16 <= end {
                            file.write_at(at, &[t as u8 + 1; 16]).unwrap();
                            at += 64;
                        }
                        if last {
                            break;
                        }
                    }
                });
            }
            for n in 2..=steps {
                file.extend(n * STEP).unwrap();
                assert_eq!(file.allocated(), n * STEP);
            }
            done.store(true, Ordering::Release);
        });
        let got = content(&*kind.fs, &kind.path("f"));
        assert_eq!(got.len() as u64, steps * STEP);
        assert!(
            got.chunks(16)
                .enumerate()
                .all(|(i, c)| c == [i as u8 % 4 + 1; 16]),
            "{}",
            kind.name
        );
    }
}

#[test]
fn writes_beyond_what_is_allocated_are_refused() {
    for kind in kinds() {
        let file = kind.open("f", None);
        assert_eq!(file.allocated(), 0);
        let refused = |offset, len| {
            let e = file.write_at(offset, &vec![1; len]).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::InvalidArgument, "{}", kind.name);
            assert_eq!(e.file(), Some(&*kind.path("f")));
        };
        refused(0, 1);
        file.write_at(0, b"").unwrap();
        file.extend(1000).unwrap();
        file.extend(10).unwrap();
        assert_eq!(file.allocated(), 1000);
        refused(1000, 1);
        refused(999, 2);
        refused(u64::MAX, 2);
        file.write_at(999, b"x").unwrap();
        let mut expected = vec![0; 1000];
        expected[999] = b'x';
        assert_eq!(content(&*kind.fs, &kind.path("f")), expected);
    }
}

#[test]
fn windows_of_a_mapping_join() {
    const WINDOW: u64 = 64 << 20;
    for kind in kinds() {
        if kind.name == "memory" || kind.options.initialize {
            continue;
        }
        let file = kind.open("f", None);
        file.extend(4096).unwrap();
        file.extend(WINDOW + 8192).unwrap();
        let data: Vec<u8> = (0..100).collect();
        file.write_at(WINDOW - 51, &data).unwrap();
        file.write_at(WINDOW - 2000, &data).unwrap();
        let read = kind.fs.open_random(&kind.path("f")).unwrap();
        assert_eq!(read.read_at(WINDOW - 51, 100).unwrap(), data);
        assert_eq!(read.read_at(WINDOW - 2000, 100).unwrap(), data);
        assert_eq!(read.len().unwrap(), WINDOW + 8192);
    }
}

#[test]
fn reuse_keeps_the_old_bytes_and_the_length() {
    for kind in kinds() {
        let file = kind.open("old", None);
        file.extend(20_000).unwrap();
        file.write_at(0, &[7; 20_000]).unwrap();
        drop(file);
        let file = kind.open("new", Some(&kind.path("old")));
        assert!(!kind.fs.exists(&kind.path("old")).unwrap());
        assert_eq!(file.allocated(), 20_000, "{}", kind.name);
        file.write_at(5, b"123").unwrap();
        // Gets memory ready and changes nothing.
        file.extend(8_192).unwrap();
        file.write_at(19_999, b"9").unwrap();
        file.extend(30_000).unwrap();
        let mut expected = vec![7; 20_000];
        expected[5..8].copy_from_slice(b"123");
        expected[19_999] = b'9';
        expected.resize(30_000, 0);
        assert!(content(&*kind.fs, &kind.path("new")) == expected);
        // An empty one, and one that is not there.
        drop(kind.open("empty", None));
        let file = kind.open("again", Some(&kind.path("empty")));
        assert_eq!(file.allocated(), 0);
        let missing = kind
            .fs
            .open_shared(&kind.path("x"), Some(&kind.path("none")), kind.options)
            .unwrap_err();
        assert!(missing.is_missing_file(), "{missing}");
        // Opening without an old file empties what is there.
        assert_eq!(kind.open("new", None).allocated(), 0);
        assert_eq!(kind.fs.file_size(&kind.path("new")).unwrap(), 0);
    }
}

#[test]
fn a_file_is_cut_where_its_owner_says() {
    for kind in kinds() {
        let file = kind.open("f", None);
        file.extend(100_000).unwrap();
        file.write_at(0, &[1; 300]).unwrap();
        file.truncate(200_000).unwrap();
        assert_eq!(file.allocated(), 100_000);
        file.truncate(250).unwrap();
        assert_eq!(file.allocated(), 250);
        assert_eq!(kind.fs.file_size(&kind.path("f")).unwrap(), 250);
        assert!(file.write_at(250, b"x").is_err());
        file.extend(300).unwrap();
        let mut expected = vec![1; 250];
        expected.resize(300, 0);
        assert_eq!(content(&*kind.fs, &kind.path("f")), expected);
        drop(file);
    }
}

#[test]
fn space_is_really_allocated() {
    use std::os::unix::fs::MetadataExt;
    for kind in kinds().iter().filter(|k| k.name != "memory") {
        let file = kind.open("f", None);
        file.extend(1 << 20).unwrap();
        let blocks = std::fs::metadata(kind.path("f")).unwrap().blocks();
        assert!(blocks * 512 >= 1 << 20, "{}: {blocks}", kind.name);
        // Gaps in an old file are filled.
        let old = std::fs::File::create(kind.path("gaps")).unwrap();
        old.set_len(1 << 20).unwrap();
        let file = kind.open("g", Some(&kind.path("gaps")));
        assert_eq!(file.allocated(), 1 << 20);
        let blocks = std::fs::metadata(kind.path("g")).unwrap().blocks();
        assert!(blocks * 512 >= 1 << 20, "{}: {blocks}", kind.name);
    }
}

/// A file system of two megabytes, unmounted on drop.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount() -> Option<SmallDisk> {
        let dir = tempfile::tempdir().unwrap();
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=2m", "tmpfs"])
            .arg(dir.path())
            .output()
            .is_ok_and(|o| o.status.success());
        mounted.then_some(SmallDisk(dir))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount")
            .arg(self.0.path())
            .output();
    }
}

#[test]
fn a_full_disk_is_an_error_of_extend() {
    let Some(disk) = SmallDisk::mount() else {
        skip("no right to mount a small file system");
        return;
    };
    for kind in kinds().iter().filter(|k| k.name != "memory") {
        let path = disk.0.path().join("f");
        let file = OsFs.open_shared(&path, None, kind.options).unwrap();
        file.extend(1 << 20).unwrap();
        let e = file.extend(3 << 20).unwrap_err();
        assert_eq!(e.io_kind(), Some(std::io::ErrorKind::StorageFull), "{e}");
        assert_eq!(e.file(), Some(&*path));
        // Existing content is unchanged.
        assert_eq!(file.allocated(), 1 << 20);
        file.write_at((1 << 20) - 10, &[5; 10]).unwrap();
        file.write_at(0, &[5; 10]).unwrap();
        file.sync().unwrap();
        assert!(file.write_at(1 << 20, b"x").is_err());
        // Once there is room again, the file can grow.
        file.truncate(1 << 20).unwrap();
        file.extend(3 << 19).unwrap();
        file.write_at((3 << 19) - 1, b"x").unwrap();
        drop(file);
        OsFs.remove(&path).unwrap();
    }
}

#[test]
fn mapping_what_cannot_be_mapped_is_refused_by_name() {
    let null = Path::new("/dev/null");
    let e = OsFs
        .open_shared(null, None, SharedAccess::Mapped.into())
        .unwrap_err();
    assert_eq!(e.kind(), ErrorKind::NotSupported, "{e}");
    assert_eq!(e.file(), Some(null));
    OsFs.open_shared(null, None, SharedAccess::Auto.into())
        .unwrap();
}

#[test]
fn a_failed_sync_is_final() {
    let mem = MemFs::new();
    let fault = FaultFs::new(Arc::new(mem.clone()));
    let file = fault
        .open_shared(p("/f"), None, SharedOptions::default())
        .unwrap();
    mem.sync_dir(p("/")).unwrap();
    file.extend(4096).unwrap();
    file.write_at(0, b"lost").unwrap();
    fault.add_rule(Rule::nth(OpSet::of(&[FaultOp::Sync]), 1));
    let first = file.sync().unwrap_err();
    assert_eq!(file.sync().unwrap_err(), first);
    assert_eq!(file.write_at(0, b"x").unwrap_err(), first);
    assert_eq!(file.extend(8192).unwrap_err(), first);
    assert_eq!(file.truncate(1).unwrap_err(), first);
    assert_eq!(fault.injected().len(), 1);
    assert_eq!(content(&mem, p("/f"))[..4], *b"lost");
    assert!(
        content(&mem.crash_clone(1.0, 1), p("/f"))
            .iter()
            .all(|b| *b == 0)
    );
}

#[test]
fn injected_failures_hit_writes_and_extensions() {
    let mem = MemFs::new();
    let fault = FaultFs::new(Arc::new(mem.clone()));
    let once = |op, kind| {
        fault.add_rule(Rule {
            fault: kind,
            ..Rule::nth(OpSet::of(&[op]), 1)
        })
    };
    let open = || fault.open_shared(p("/f"), None, SharedOptions::default());
    once(FaultOp::Create, Fault::Eio);
    assert!(open().is_err());
    let file = open().unwrap();
    once(FaultOp::Extend, Fault::Enospc);
    let e = file.extend(100).unwrap_err();
    assert_eq!(e.io_kind(), Some(std::io::ErrorKind::StorageFull));
    assert_eq!(file.allocated(), 0);
    file.extend(100).unwrap();
    once(FaultOp::Append, Fault::ShortWrite);
    assert!(file.write_at(10, b"12345678").is_err());
    assert_eq!(content(&mem, p("/f"))[10..18], *b"1234\0\0\0\0");
    once(FaultOp::Truncate, Fault::Eio);
    assert!(file.truncate(10).is_err());
    once(FaultOp::Reuse, Fault::Eio);
    let renamed = fault.open_shared(p("/g"), Some(p("/f")), SharedOptions::default());
    assert!(renamed.is_err());
    assert_eq!(fault.injected().len(), 5);
}

#[test]
fn write_failures_latch_and_extensions_do_not() {
    let fault = FaultFs::new(Arc::new(MemFs::new()));
    let fs = LatchFs::new(Arc::new(fault.clone()));
    let file = fs
        .open_shared(p("/f"), None, SharedOptions::default())
        .unwrap();
    fault.add_rule(Rule::nth(OpSet::of(&[FaultOp::Extend]), 1));
    assert!(file.extend(100).is_err());
    assert!(file.write_at(0, b"x").is_err(), "nothing is allocated");
    assert!(fs.failure().is_none());
    file.extend(100).unwrap();
    file.write_at(0, b"x").unwrap();
    fault.add_rule(Rule::nth(OpSet::of(&[FaultOp::Append]), 1));
    let first = file.write_at(1, b"y").unwrap_err();
    assert_eq!(fs.failure(), Some(first.clone()));
    for result in [
        file.write_at(2, b"z"),
        file.extend(200),
        file.sync(),
        file.truncate(0),
        fs.open_shared(p("/g"), None, SharedOptions::default())
            .map(drop),
    ] {
        let text = result.unwrap_err().to_string();
        assert_eq!(text, format!("IO error: previous I/O failed: {first}"));
    }
    assert_eq!(file.allocated(), 100);
}

#[test]
fn a_power_cut_keeps_what_was_synced_and_any_of_the_rest() {
    let fs = MemFs::new();
    let file = fs
        .open_shared(p("/f"), None, SharedOptions::default())
        .unwrap();
    fs.sync_dir(p("/")).unwrap();
    file.extend(64 << 10).unwrap();
    // Space is durable only after a sync.
    assert_eq!(fs.crash_clone(0.0, 1).file_size(p("/f")).unwrap(), 0);
    file.write_at(100, &[1; 1000]).unwrap();
    file.sync().unwrap();
    for block in 1..16 {
        file.write_at(block * 4096, &[2; 4096]).unwrap();
    }
    let (mut lost, mut kept, mut torn) = (0, 0, 0);
    for seed in 0..40 {
        let left = content(&fs.crash_clone(0.5, seed), p("/f"));
        assert_eq!(left.len(), 64 << 10);
        assert_eq!(left[100..1100], [1; 1000]);
        for block in left.chunks(4096).skip(1) {
            assert!(block.chunks(512).all(|s| s == [0; 512] || s == [2; 512]));
            match block.iter().step_by(512).filter(|b| **b == 2).count() {
                0 => lost += 1,
                8 => kept += 1,
                _ => torn += 1,
            }
        }
    }
    assert!(lost > 50 && kept > 50 && torn > 20, "{lost} {kept} {torn}");
    let all = content(&fs.crash_clone(1.0, 1), p("/f"));
    assert_eq!(all, content(&fs, p("/f")), "the death of the process alone");
}

#[test]
fn auto_maps_where_it_is_safe_to() {
    let shm = Path::new("/dev/shm");
    let (Ok(dir), true) = (tempfile::tempdir_in(shm), cfg!(target_os = "linux")) else {
        skip(&format!("no memory file system at {}", shm.display()));
        return;
    };
    for (access, mapped) in [
        (SharedAccess::Auto, true),
        (SharedAccess::Mapped, true),
        (SharedAccess::Positioned, false),
    ] {
        let path = dir.path().join(format!("{access:?}"));
        let file = OsFs.open_shared(&path, None, access.into()).unwrap();
        assert_eq!(OsFs.file_size(&path).unwrap(), 0, "probing leaves nothing");
        file.extend(10_000).unwrap();
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        assert_eq!(maps.contains(path.to_str().unwrap()), mapped, "{access:?}");
        drop(file);
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        assert!(!maps.contains(path.to_str().unwrap()));
    }
}
