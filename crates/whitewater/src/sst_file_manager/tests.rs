use super::files::{TrackedFs, remove_trash};
use super::*;
use std::time::Duration;
use whitewater_concurrent::system::{self, simulation};
use whitewater_storage::fs::mem::MemFs;

fn table(n: u64) -> PathBuf {
    PathBuf::from(format!("/db/{n:06}.sst"))
}

/// A database's files, of which a manager with this rate knows.
fn files(fs: &MemFs, rate: i64, chunk: u64) -> (Arc<Manager>, TrackedFs) {
    fs.create_dir_all(Path::new("/db")).unwrap();
    let manager = Arc::new(Manager::new(rate, 1.0, chunk));
    let inner: Arc<dyn Fs> = Arc::new(fs.clone());
    let files = TrackedFs::new(inner, Path::new("/db"), manager.clone(), None);
    (manager, files)
}

fn write(files: &TrackedFs, path: &Path, size: usize) {
    let mut file = files.create(path).unwrap();
    file.append(&vec![1; size]).unwrap();
    file.sync().unwrap();
}

#[test]
fn files_are_tracked_by_their_present_names() {
    let fs = MemFs::new();
    let (manager, files) = files(&fs, 0, 0);
    write(&files, &table(1), 100);
    write(&files, Path::new("/db/000002.blob"), 50);
    write(&files, Path::new("/db/000003.log"), 1000);
    assert_eq!(manager.total_size(), 150);
    files.link(&table(1), Path::new("/copy.sst")).unwrap();
    files.link(Path::new("/copy.sst"), &table(4)).unwrap();
    assert_eq!(manager.total_size(), 250);
    files.rename(&table(4), &table(5)).unwrap();
    assert_eq!(manager.tracked_files().get(&table(5)), Some(&100));
    files.remove(&table(1)).unwrap();
    assert_eq!(manager.total_size(), 150);
    assert!(files.remove(&table(1)).is_err());
    drop(files);
    assert_eq!(
        (manager.total_size(), manager.tracked_files().len()),
        (0, 0)
    );
    // What an opening finds.
    let inner: Arc<dyn Fs> = Arc::new(fs);
    let files = TrackedFs::new(inner, Path::new("/db"), manager.clone(), None);
    assert_eq!(manager.total_size(), 150);
    drop(files);
}

#[test]
fn trash_goes_piece_by_piece_at_the_rate() {
    simulation::run(1, || {
        let fs = MemFs::new();
        let (manager, files) = files(&fs, 1000, 300);
        for n in 1..=3 {
            write(&files, &table(n), 1000);
        }
        let start = system::now();
        for n in 1..=3 {
            files.remove(&table(n)).unwrap();
        }
        let mut sizes = Vec::new();
        while manager.trash_size() > 0 {
            if sizes.last() != Some(&manager.trash_size()) {
                sizes.push(manager.trash_size());
            }
            system::sleep(Duration::from_millis(10));
        }
        assert!(sizes.len() >= 9, "in pieces: {sizes:?}");
        manager.wait_for_empty_trash();
        let took = system::since(start);
        // By the clock of the simulation: 3000 bytes, of which the last piece is not waited for.
        assert!(took >= Duration::from_millis(2700), "{took:?}");
        assert!(took <= Duration::from_millis(3300), "{took:?}");
        assert_eq!(manager.total_size(), 0);
        assert_eq!(fs.list(Path::new("/db")).unwrap(), [""; 0]);
    });
}

#[test]
fn too_much_trash_is_deleted_at_once() {
    let fs = MemFs::new();
    let (manager, files) = files(&fs, 1, 0);
    manager.set_max_trash_ratio(0.5);
    for n in 1..=4 {
        write(&files, &table(n), 1000);
    }
    // The first is deleted whatever the rate is; then the thread waits.
    for n in 1..=4 {
        files.remove(&table(n)).unwrap();
    }
    let names = fs.list(Path::new("/db")).unwrap();
    assert!(
        names.iter().all(|name| name.ends_with(".sst.trash")),
        "{names:?}"
    );
    assert!(names.len() < 4, "{names:?}");
}

#[test]
fn a_file_with_another_name_is_not_cut() {
    let fs = MemFs::new();
    let (manager, files) = files(&fs, 1 << 40, 100);
    write(&files, &table(1), 1000);
    files.link(&table(1), Path::new("/copy")).unwrap();
    files.remove(&table(1)).unwrap();
    manager.wait_for_empty_trash();
    assert_eq!(fs.file_size(Path::new("/copy")), Ok(1000));
    assert_eq!(fs.list(Path::new("/db")).unwrap(), [""; 0]);
}

#[test]
fn trash_that_is_left_is_found() {
    let fs = MemFs::new();
    fs.create_dir_all(Path::new("/db")).unwrap();
    for name in ["000001.sst.trash", "000001.sst0.trash", "000007.blob.trash"] {
        let mut file = fs.create(&Path::new("/db").join(name)).unwrap();
        file.append(b"old").unwrap();
    }
    let copy = fs.after_kill();
    let (manager, _files) = files(&fs, 1 << 40, 0);
    manager.wait_for_empty_trash();
    assert_eq!(fs.list(Path::new("/db")).unwrap(), [""; 0]);
    remove_trash(&copy, Path::new("/db"));
    assert_eq!(copy.list(Path::new("/db")).unwrap(), [""; 0]);
}

#[test]
fn compactions_share_what_is_allowed() {
    let fs = MemFs::new();
    let (manager, files) = files(&fs, 0, 0);
    write(&files, &table(1), 100);
    manager.set_max_allowed_space(300);
    let first = manager.reserve(100, None, 0).expect("room");
    assert!(!manager.is_full_with_compactions());
    let second = manager.reserve(100, None, 0).expect("just enough");
    assert!(manager.is_full_with_compactions() && !manager.is_full());
    assert!(manager.reserve(1, None, 0).is_none());
    drop((first, second));
    manager.set_compaction_buffer(150);
    assert!(manager.reserve(100, None, 0).is_none());
    manager.set_max_allowed_space(0);
    assert!(manager.reserve(100, None, 0).is_some());
    // The disk counts when it is asked for: the room, what the compaction writes, the buffer.
    assert!(manager.reserve(100, Some(349), 0).is_none());
    manager.set_compaction_buffer(0);
    assert!(manager.reserve(100, Some(249), 50).is_none());
    assert!(manager.reserve(100, Some(250), 50).is_some());
}
