//! Databases with blob files, and databases whose tables are in several directories.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use whitewater::{BottommostLevelCompaction, CompactOptions, DB, DBPath, FileChecksum, Options};

use super::{fails, prints};

fn options() -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_disable_auto_compactions(true);
    options.set_enable_blob_files(true);
    options.set_min_blob_size(100);
    options.set_file_checksum(FileChecksum::Crc32c);
    options
}

fn value(n: u32) -> Vec<u8> {
    vec![b'a' + (n % 26) as u8; 200]
}

/// A database with two blob files, one of which has garbage.
fn with_blobs() -> TempDir {
    let dir = tempfile::tempdir().expect("temporary directory");
    let db = DB::open(&options(), dir.path()).expect("opens");
    for n in 0..20 {
        db.put(format!("key{n:02}"), value(n)).expect("written");
        db.put(format!("small{n:02}"), "in the table")
            .expect("written");
    }
    db.flush().expect("flushed");
    db.put("key03", value(9)).expect("written");
    db.delete("key04").expect("deleted");
    db.flush().expect("flushed");
    let mut compact = CompactOptions::default();
    compact.set_bottommost_level_compaction(BottommostLevelCompaction::Force);
    db.compact_range_opt(None::<&[u8]>, None::<&[u8]>, &compact);
    dir
}

fn blob_files(db: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(db).expect("listed");
    let paths = entries.map(|entry| entry.expect("listed").path());
    let mut found: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|e| e == "blob"))
        .collect();
    found.sort();
    found
}

#[test]
fn blob_files_are_listed_and_checked() {
    let dir = with_blobs();
    let db = dir.path();
    let blobs = blob_files(db);
    assert_eq!(blobs.len(), 2, "{blobs:?}");
    assert_eq!(prints(db, "checkconsistency {db}"), "OK\n");
    assert_eq!(prints(db, "checkconsistency {db} --checksums"), "OK\n");
    let files = prints(db, "files {db}");
    assert!(
        files.contains("live: default, 2 of 20 values are garbage"),
        "{files}"
    );
    assert!(
        files.contains("live: default, 0 of 1 values are garbage"),
        "{files}"
    );
    let manifest = prints(db, "manifest-dump {db}");
    assert!(
        manifest.contains("[20 values][garbage: 2 values, "),
        "{manifest}"
    );
    let sums = prints(db, "file-checksum-dump {db}");
    assert_eq!(sums.matches("FileChecksumCrc32c").count(), 3, "{sums}");
    let number: u64 = (blobs[0].file_stem().and_then(|stem| stem.to_str()))
        .and_then(|stem| stem.parse().ok())
        .expect("a number");
    let told = format!("type:17 => [blob ref] file:{number} offset:");
    for line in ["--db {db} idump", "sst-dump {db}"] {
        let decoded = prints(db, &format!("{line} --decode_blob_index"));
        assert_eq!(decoded.matches(&told).count(), 18, "{decoded}");
        assert!(
            decoded.contains("size:200 compression: NoCompression"),
            "{decoded}"
        );
        assert!(!prints(db, line).contains("[blob ref]"));
    }
}

#[test]
fn damaged_and_missing_blob_files_are_named() {
    let dir = with_blobs();
    let db = dir.path();
    let path = blob_files(db).remove(0);
    let whole = fs::read(&path).expect("read");
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .expect("text");
    let with = |bytes: &[u8], line: &str| {
        fs::write(&path, bytes).expect("written");
        let output = super::run(db, line);
        assert_eq!(output.status.code(), Some(1), "{line}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let flipped = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        bytes
    };
    // A value is only read if it is asked for.
    fs::write(&path, flipped(150)).expect("written");
    assert_eq!(prints(db, "checkconsistency {db}"), "OK\n");
    let found = with(&flipped(150), "checkconsistency {db} --checksums");
    assert!(
        found.contains(name) && found.contains("checksum"),
        "{found}"
    );
    // The header's column family, and the footer.
    let found = with(&flipped(8), "checkconsistency {db}");
    assert!(
        found.contains(name) && found.contains("of column family 1"),
        "{found}"
    );
    let found = with(&flipped(whole.len() - 1), "checkconsistency {db}");
    assert!(
        found.contains(name) && found.contains("bad footer"),
        "{found}"
    );
    let found = with(&whole[1..], "checkconsistency {db}");
    assert!(
        found.contains(name) && found.contains("the manifest says"),
        "{found}"
    );
    fs::remove_file(&path).expect("removed");
    assert!(fails(db, "checkconsistency {db}", 1).contains("1 problem"));
    assert!(fails(db, "files {db}", 1).contains("1 tables or blob files are missing"));
    assert!(fails(db, "checkconsistency {db} --checksums", 1).contains("2 problems"));
}

#[test]
fn tables_are_found_in_the_directories_that_are_named() {
    let home = tempfile::tempdir().expect("temporary directory");
    let [db, flash, disk] = ["db", "flash", "disk"].map(|name| home.path().join(name));
    let mut options = options();
    let paths = [&flash, &disk].map(|dir| DBPath::new(dir, 1 << 30).expect("a path"));
    options.set_db_paths(&paths);
    let open = DB::open(&options, &db).expect("opens");
    for n in 0..20 {
        open.put(format!("key{n:02}"), value(n)).expect("written");
    }
    open.flush().expect("flushed");
    drop(open);
    let named = format!("--db-paths {},{}", flash.display(), disk.display());
    let prints = |line: &str| prints(&db, &format!("{line} {named}"));
    assert!(fails(&db, "checkconsistency {db}", 1).contains("2 problems"));
    assert_eq!(prints("checkconsistency {db} --checksums"), "OK\n");
    assert_eq!(prints("--db {db} scan").lines().count(), 20);
    assert_eq!(
        prints("--db {db} idump --count-only"),
        "Internal keys in range: 20\n"
    );
    assert_eq!(prints("--db {db} sst-dump").lines().count(), 20);
    let files = prints("files {db}");
    assert!(files.contains("live: default level 0"), "{files}");
    assert!(files.contains("live: default, 0 of 20 values"), "{files}");
    let of_family = format!(
        "--cf-path default={0} --cf-path default={0}",
        flash.display()
    );
    let line = format!("checkconsistency {{db}} {of_family}");
    assert_eq!(super::prints(&db, &line), "OK\n");
    fails(&db, "checkconsistency {db} --cf-path default", 2);
    assert_eq!(prints("--db {db} put more 1"), "OK\n");
    fs::remove_file(db.join("CURRENT")).expect("removed");
    assert_eq!(prints("repair {db} --quiet"), "OK\n");
    assert_eq!(prints("--db {db} scan").lines().count(), 21);
}
