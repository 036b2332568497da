//! The in-memory file system and its model of crashes.

use super::{content, fs_with, p};
use parking_lot::Mutex;
use std::sync::Arc;
use whitewater_storage::ErrorKind;
use whitewater_storage::fs::Fs;
use whitewater_storage::fs::mem::MemFs;

#[test]
fn bytes_are_durable_after_sync_and_names_after_sync_dir() {
    let fs = MemFs::new();
    fs.create_dir_all(p("/db")).unwrap();
    let mut a = fs.create(p("/db/a")).unwrap();
    a.append(b"one").unwrap();
    a.sync().unwrap();
    assert!(!fs.crash_clone(0.0, 1).exists(p("/db/a")).unwrap());
    fs.sync_dir(p("/db")).unwrap();
    a.append(b"two").unwrap();
    let crashed = fs.crash_clone(0.0, 1);
    assert_eq!(content(&crashed, p("/db/a")), b"one");
    assert_eq!(content(&fs.crash_clone(1.0, 1), p("/db/a")), b"onetwo");
    // The original goes on, and the clone is a file system of its own.
    a.append(b"three").unwrap();
    crashed.remove(p("/db/a")).unwrap();
    assert_eq!(content(&fs, p("/db/a")), b"onetwothree");

    fs.create(p("/db/b")).unwrap();
    fs.sync_dir(p("/db")).unwrap();
    assert_eq!(content(&fs.crash_clone(0.0, 1), p("/db/b")), b"");
}

#[test]
fn renames_and_removals_are_durable_after_sync_dir() {
    let fs = fs_with(p("/a"), b"a");
    fs.open_append(p("/a")).unwrap().sync().unwrap();
    fs.create(p("/c")).unwrap();
    fs.sync_dir(p("/")).unwrap();
    fs.rename(p("/a"), p("/b")).unwrap();
    fs.remove(p("/c")).unwrap();
    fs.link(p("/b"), p("/d")).unwrap();
    let before = fs.crash_clone(0.0, 1);
    assert_eq!(before.list(p("/")).unwrap(), ["a", "c"]);
    assert_eq!(fs.crash_clone(1.0, 1).list(p("/")).unwrap(), ["b", "d"]);
    fs.sync_dir(p("/")).unwrap();
    let after = fs.crash_clone(0.0, 1);
    assert_eq!(after.list(p("/")).unwrap(), ["b", "d"]);
    // Links are still links in the clone.
    after.open_append(p("/b")).unwrap().append(b"!").unwrap();
    assert_eq!(content(&after, p("/d")), b"a!");
}

#[test]
fn directory_operations_are_kept_one_by_one() {
    let fs = MemFs::new();
    for i in 0..40 {
        fs.create(p(&format!("/{i:02}"))).unwrap();
    }
    let names = fs.crash_clone(0.5, 3).list(p("/")).unwrap();
    assert!((5..35).contains(&names.len()), "{names:?}");
    assert_eq!(names, fs.crash_clone(0.5, 3).list(p("/")).unwrap());
    assert_ne!(names, fs.crash_clone(0.5, 4).list(p("/")).unwrap());
}

#[test]
fn unsynced_blocks_are_kept_or_lost_and_torn_at_sectors() {
    let fs = MemFs::new();
    let mut f = fs.create(p("/f")).unwrap();
    fs.sync_dir(p("/")).unwrap();
    f.append(&[1; 4096 * 3 + 100]).unwrap();
    f.sync().unwrap();
    f.append(&[2; 4096 * 40]).unwrap();
    let (mut lost, mut kept, mut torn, mut lengths) = (0, 0, 0, std::collections::BTreeSet::new());
    for seed in 0..50 {
        let data = content(&fs.crash_clone(0.5, seed), p("/f"));
        let synced = 4096 * 3 + 100;
        assert_eq!(data[..synced], [1; 4096 * 3 + 100]);
        assert!(data.len() <= synced + 4096 * 40);
        lengths.insert(data.len());
        for block in data.chunks(4096).skip(4).filter(|b| b.len() == 4096) {
            let sectors: Vec<u8> = block.chunks(512).map(|s| s[0]).collect();
            assert!(block.chunks(512).all(|s| s == [0; 512] || s == [2; 512]));
            match sectors.iter().filter(|&&s| s == 2).count() {
                0 => lost += 1,
                8 => kept += 1,
                _ => torn += 1,
            }
        }
    }
    assert!(
        lost > 100 && kept > 100 && torn > 20,
        "{lost} {kept} {torn}"
    );
    assert!(lengths.len() > 5);
}

#[test]
fn overwritten_and_cut_files_may_come_back_old_or_new() {
    let fs = fs_with(p("/f"), &[1; 8192]);
    let mut f = fs.open_append(p("/f")).unwrap();
    f.sync().unwrap();
    fs.sync_dir(p("/")).unwrap();
    let mut f = fs.create(p("/f")).unwrap();
    f.append(&[2; 100]).unwrap();
    assert_eq!(content(&fs, p("/f")), [2; 100]);
    assert_eq!(content(&fs.crash_clone(0.0, 1), p("/f")), [1; 8192]);
    assert_eq!(content(&fs.crash_clone(1.0, 1), p("/f")), [2; 100]);
    f.sync().unwrap();
    assert_eq!(content(&fs.crash_clone(0.0, 1), p("/f")), [2; 100]);
    // Reuse overwrites from the start and leaves the rest.
    let mut g = fs.reuse(p("/f"), p("/g")).unwrap();
    g.append(&[3; 10]).unwrap();
    assert_eq!(content(&fs, p("/g"))[8..12], [3, 3, 2, 2]);
    assert!(!fs.exists(p("/f")).unwrap());
    g.truncate_to_len().unwrap();
    assert_eq!(content(&fs, p("/g")), [3; 10]);
}

#[test]
fn a_failed_sync_loses_bytes_for_good() {
    let fs = MemFs::new();
    let mut f = fs.create(p("/f")).unwrap();
    fs.sync_dir(p("/")).unwrap();
    f.append(&[1; 4096]).unwrap();
    f.forget_unsynced();
    f.append(&[2; 4096]).unwrap();
    f.sync().unwrap();
    assert_eq!(content(&fs, p("/f"))[..4096], [1; 4096], "still readable");
    let left = content(&fs.crash_clone(1.0, 1), p("/f"));
    assert_eq!(left[..4096], [0; 4096], "but not on the disk");
    assert_eq!(left[4096..], [2; 4096]);
    // The death of the process alone loses nothing.
    let killed = fs.after_kill();
    assert_eq!(content(&killed, p("/f")), content(&fs, p("/f")));
    assert_eq!(content(&killed.crash_clone(0.0, 1), p("/f")).len(), 8192);
}

#[test]
fn the_hook_sees_every_sync_before_and_after() {
    let fs = MemFs::new();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (in_hook, clones) = (fs.clone(), seen.clone());
    fs.set_sync_hook(Arc::new(move |point| {
        let left = in_hook.crash_clone(0.0, 0);
        let len = left.file_size(p("/f")).ok();
        clones
            .lock()
            .push((point.index, point.is_dir, point.done, len));
    }));
    let mut f = fs.create(p("/f")).unwrap();
    fs.sync_dir(p("/")).unwrap();
    f.append(b"abc").unwrap();
    f.sync().unwrap();
    let expected = [
        (1, true, false, None),
        (1, true, true, Some(0)),
        (2, false, false, Some(0)),
        (2, false, true, Some(3)),
    ];
    assert_eq!(*seen.lock(), expected);
    assert_eq!(fs.sync_count(), 2);
    fs.clear_sync_hook();
    f.sync().unwrap();
    assert_eq!(seen.lock().len(), 4);
}

#[test]
fn locks_exclude_until_dropped_and_do_not_survive_a_crash() {
    let fs = MemFs::new();
    let lock = fs.lock(p("/LOCK")).unwrap();
    let e = fs.clone().lock(p("/./LOCK")).unwrap_err();
    assert!(
        e.to_string().contains("lock hold by current process"),
        "{e}"
    );
    fs.crash_clone(1.0, 0).lock(p("/LOCK")).unwrap();
    drop(lock);
    fs.lock(p("/LOCK")).unwrap();
}

#[test]
fn missing_files_and_misuse_are_errors() {
    let fs = fs_with(p("/f"), b"abc");
    let missing = [
        fs.open_random(p("/x")).map(drop),
        fs.open_sequential(p("/x")).map(drop),
        fs.file_size(p("/x")).map(drop),
        fs.remove(p("/x")),
        fs.remove_dir(p("/x")),
        fs.rename(p("/x"), p("/y")),
        fs.link(p("/x"), p("/y")),
        fs.list(p("/x")).map(drop),
        fs.sync_dir(p("/x")),
        fs.create(p("/no/dir")).map(drop),
    ];
    for result in missing {
        let e = result.unwrap_err();
        assert!(e.is_missing_file(), "{e}");
        assert_eq!(e.kind(), ErrorKind::IOError);
    }
    fs.create_dir_all(p("/d/e")).unwrap();
    assert!(fs.remove_dir(p("/d")).is_err());
    fs.remove_dir(p("/d/e")).unwrap();
    fs.remove_dir(p("/d")).unwrap();
    assert!(!fs.exists(p("/d")).unwrap());
    assert!(fs.create_dir_all(p("/f/x")).is_err());
    assert!(fs.link(p("/f"), p("/f")).is_err());
    let f = fs.open_random(p("/f")).unwrap();
    assert_eq!(f.read_at(1, 2).unwrap(), "bc");
    for (offset, len) in [(0, 4), (3, 1), (u64::MAX, 1), (1, usize::MAX)] {
        let e = f.read_at(offset, len).unwrap_err();
        assert_eq!(
            (e.kind(), e.offset()),
            (ErrorKind::Corruption, Some(offset))
        );
    }
    // Removed files stay readable through open handles.
    fs.remove(p("/f")).unwrap();
    assert_eq!(f.read_at(0, 3).unwrap(), "abc");
}

#[test]
fn directories_can_be_renamed() {
    let fs = MemFs::new();
    fs.create_dir_all(p("/tmp/x")).unwrap();
    fs.create(p("/tmp/x/f")).unwrap();
    fs.sync_dir(p("/tmp/x")).unwrap();
    fs.rename(p("/tmp/x"), p("/y")).unwrap();
    assert_eq!(fs.list(p("/y")).unwrap(), ["f"]);
    assert!(fs.crash_clone(0.0, 1).exists(p("/tmp/x/f")).unwrap());
    fs.sync_dir(p("/")).unwrap();
    let left = fs.crash_clone(0.0, 1);
    assert_eq!(left.list(p("/y")).unwrap(), ["f"]);
    assert!(!left.exists(p("/tmp/x")).unwrap());
}
