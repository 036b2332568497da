//! Work on whole databases.

use std::fs;
use std::path::Path;

use super::{fails, made, output, prints, run_with};
use whitewater::{DB, FileChecksum, Options};

#[test]
fn column_families_come_and_go() {
    let dir = made();
    let db = dir.path();
    assert_eq!(prints(db, "list_column_families {db}"), "default\norders\n");
    assert_eq!(prints(db, "--db={db} create_column_family users"), "OK\n");
    prints(db, "--db {db} --cf users put ada 1");
    assert_eq!(
        prints(db, "--db {db} --column_family=users scan"),
        "ada ==> 1\n"
    );
    fails(db, "--db {db} create-column-family users", 3);
    assert_eq!(prints(db, "--db {db} drop_column_family users"), "OK\n");
    fails(db, "--db {db} drop-column-family users", 1);
    assert_eq!(
        prints(db, "--db {db} list-column-families"),
        "default\norders\n"
    );
}

#[test]
fn tables_are_made_and_ingested() {
    let dir = made();
    let db = dir.path();
    let write = "write-sst {db}/new.sst";
    let made = output(write, &run_with(db, write, b"a ==> 1\nz ==> 2\n"));
    assert!(made.contains("new.sst: 2 keys, "), "{made}");
    assert!(prints(db, "sst-dump {db}/new.sst --command verify").ends_with("OK\n"));
    assert_eq!(
        prints(db, "--db {db} --cf orders ingest_extern_sst {db}/new.sst"),
        "OK\n"
    );
    assert_eq!(prints(db, "--db {db} --cf orders get z"), "2\n");
    assert_eq!(prints(db, "checkconsistency {db} --checksums"), "OK\n");
    let descending = run_with(db, "write_extern_sst {db}/bad.sst", b"b ==> 1\na ==> 2\n");
    assert_eq!(descending.status.code(), Some(2));
    let message = String::from_utf8_lossy(&descending.stderr);
    assert!(message.contains("line 2: "), "{message}");
    assert!(!db.join("bad.sst").exists());
}

#[test]
fn compactions_leave_what_is_live() {
    let dir = made();
    let db = dir.path();
    let before = prints(db, "--db {db} scan");
    let told = prints(db, "--db {db} compact --bottommost force");
    assert!(
        told.contains(" files, ") && told.contains(" -> 1 files, "),
        "{told}"
    );
    assert_eq!(prints(db, "--db {db} scan"), before);
    let files = prints(db, "live-files {db}");
    let row = files
        .lines()
        .find(|line| line.contains("default"))
        .expect("a table");
    let cells: Vec<_> = row.split_whitespace().collect();
    assert_eq!(cells[4..], ["100", "0", "key000", "late"], "{files}");
    assert_ne!(cells[2], "0", "{files}");
    assert_eq!(prints(db, "--db {db} approxsize --from x --to y"), "0\n");
    let size = prints(db, "--db {db} approxsize --from a --to z");
    assert!(
        size.trim_end().parse::<u64>().is_ok_and(|size| size > 0),
        "{size}"
    );
}

#[test]
fn checksums_of_tables_are_those_of_the_manifest() {
    let dir = made();
    let db = dir.path();
    let mut options = Options::default();
    options.set_file_checksum(FileChecksum::Crc32c);
    let open = DB::open_cf(&options, db, ["default", "orders"]).expect("opens");
    open.put("more", "1").expect("written");
    open.flush().expect("flushed");
    let sums = open.get_live_files_checksum_info();
    drop(open);
    let dump = prints(db, "file_checksum_dump {db}");
    let lines: Vec<_> = dump.lines().skip(1).collect();
    assert_eq!(lines.len(), sums.len(), "{dump}");
    for (line, sum) in lines.iter().zip(&sums) {
        let cells: Vec<_> = line.split_whitespace().collect();
        assert_eq!(cells[0], sum.file_number.to_string());
        let digits = sum.checksum.iter().map(|byte| format!("{byte:02X}"));
        let digits: String = digits.collect();
        match digits.is_empty() {
            true => assert_eq!(cells[1..], ["null", "null"], "{dump}"),
            false => assert_eq!(
                cells[1..],
                ["FileChecksumCrc32c", &format!("0x{digits}")],
                "{dump}"
            ),
        }
    }
    let with = sums.iter().filter(|sum| !sum.checksum.is_empty());
    assert!((1..sums.len()).contains(&with.count()), "{dump}");
}

#[test]
fn properties_are_shown_by_name() {
    let dir = made();
    let db = dir.path();
    let all = prints(db, "--db {db} properties");
    assert!(all.contains("rocksdb.num-files-at-level0: 1\n"), "{all}");
    assert_eq!(
        prints(
            db,
            "--db {db} --cf orders get_property rocksdb.estimate-num-keys"
        ),
        "rocksdb.estimate-num-keys: 100\n"
    );
    assert!(prints(db, "--db {db} properties stats").starts_with("rocksdb.stats:\n"));
    fails(db, "--db {db} properties nonsense", 1);
}

#[test]
fn checkpoints_and_repairs_hold_everything() {
    let dir = made();
    let db = dir.path();
    let before = prints(db, "--db {db} scan");
    let copies = tempfile::tempdir().expect("temporary directory");
    let copy = copies.path().join("copy");
    prints(db, &format!("--db {{db}} checkpoint {}", copy.display()));
    assert_eq!(prints(&copy, "--db {db} scan"), before);
    let again = format!("--db {{db}} checkpoint {}", copy.display());
    fails(db, &again, 3);

    fs::remove_file(copy.join("CURRENT")).expect("removed");
    fails(&copy, "--db {db} scan", 3);
    assert_eq!(prints(&copy, "repair {db} --quiet"), "OK\n");
    assert_eq!(prints(&copy, "--db {db} scan"), before);
    assert_eq!(
        prints(&copy, "--db {db} --cf orders scan --count-only"),
        "100\n"
    );
}

/// The options file of a copy may name a directory of logs that is not there any
/// more, or that has none of its logs.
#[test]
fn a_copy_is_written_to_with_the_logs_that_are_with_it() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let (original, logs) = (dir.path().join("original"), dir.path().join("logs"));
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_wal_dir(&logs);
    let db = DB::open(&options, &original).expect("opens");
    db.put("key", "in a log").expect("written");
    drop(db);
    let copied = |from: &Path, to: &Path| {
        for entry in fs::read_dir(from).expect("a directory") {
            let from = entry.expect("an entry").path();
            let name = from.file_name().expect("it has a name");
            fs::copy(&from, to.join(name)).expect("copied");
        }
    };
    let copies = ["beside", "alone"].map(|name| dir.path().join(name));
    for copy in &copies {
        fs::create_dir(copy).expect("created");
        copied(&original, copy);
        copied(&logs, copy);
    }
    fs::remove_dir_all(&logs).expect("removed");
    for copy in copies {
        // Beside an empty directory first, then without it.
        if copy.ends_with("beside") {
            fs::create_dir(&logs).expect("created")
        } else {
            fs::remove_dir(&logs).expect("still empty")
        }
        prints(&copy, "--db {db} put other value");
        let all = prints(&copy, "--db {db} scan");
        assert_eq!(all, "key ==> in a log\nother ==> value\n");
    }
    assert!(!logs.exists());
}
