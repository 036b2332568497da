//! Keys read and written.

use std::io::Read;
use std::process::{Command, Stdio};

use whitewater::{DB, Options};

use super::{fails, made, output, prints, run, run_with};

#[test]
fn single_keys_are_written_read_and_deleted() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let db = dir.path().join("new");
    let put = "--db {db} put k1 v1 --create_if_missing";
    assert_eq!(prints(&db, put), "OK\n");
    assert_eq!(prints(&db, "--db {db} get k1"), "v1\n");
    let json = "get --json --db={db} k1";
    assert_eq!(prints(&db, json), "{\"key\":\"k1\",\"value\":\"v1\"}\n");
    assert_eq!(prints(&db, "--db {db} delete k1"), "OK\n");
    fails(&db, "--db {db} get k1", 1);
}

#[test]
fn hexadecimal_keys_and_values_go_in_and_out() {
    let dir = made();
    let db = dir.path();
    prints(db, "--db {db} put --hex 0x00FF 0x0A");
    assert_eq!(prints(db, "--db {db} get --hex 00ff"), "0x0A\n");
    assert_eq!(prints(db, "--db {db} get --key-hex 0x00FF"), "\n\n");
    assert_eq!(
        prints(db, "--db {db} scan --json --max-keys 1"),
        "{\"key_hex\":\"0x00FF\",\"value\":\"\\n\"}\n"
    );
    let message = fails(db, "--db {db} get --hex 0x0", 2);
    assert!(message.contains("'0x0' is not an even number"), "{message}");
}

#[test]
fn wide_columns_are_written_read_and_scanned() {
    let dir = made();
    let db = dir.path();
    let put = "--db {db} put_entity k1 name:ada :default time:12:30";
    assert_eq!(prints(db, put), "OK\n");
    let shown = ":default name:ada time:12:30";
    assert_eq!(prints(db, "--db {db} get-entity k1"), format!("{shown}\n"));
    assert_eq!(prints(db, "--db {db} get k1"), "default\n");
    prints(db, "--db {db} put-entity --hex 0x6B32 0x6E:0x76 :");
    assert_eq!(
        prints(db, "--db {db} get-entity --hex 0x6B32"),
        ": 0x6E:0x76\n"
    );
    prints(db, "--db {db} put k3 v3");
    assert_eq!(prints(db, "--db {db} get_entity k3"), ":v3\n");
    let scan = "--db {db} scan --from k1 --to k4";
    let lines = format!("k1 ==> {shown}\nk2 ==> : n:v\nk3 ==> v3\n");
    assert_eq!(prints(db, scan), lines);
    let dump = prints(db, "--db {db} dump --from k1 --to k4");
    assert_eq!(dump, format!("{lines}Keys in range: 3\n"));
    assert_eq!(
        prints(db, "--db {db} get-entity --json k2"),
        "{\"columns\":[{\"name\":\"\",\"value\":\"\"},\
         {\"name\":\"n\",\"value\":\"v\"}],\"key\":\"k2\"}\n"
    );
    let message = fails(db, "--db {db} put-entity k1 name", 2);
    assert!(
        message.contains("'name' is no column NAME:VALUE"),
        "{message}"
    );
    let message = fails(db, "--db {db} put-entity k1 a:1 a:2", 3);
    assert!(message.contains("Wide columns out of order"), "{message}");
    fails(db, "--db {db} get-entity none", 1);
}

#[test]
fn batches_deletions_and_merges_are_written() {
    let dir = made();
    let db = dir.path();
    prints(db, "--db {db} batchput a 1 b 2 c 3");
    prints(db, "--db {db} delete a");
    prints(db, "--db {db} deleterange key000 key098");
    prints(
        db,
        "--db {db} merge --merge-operator stringappend b x --sync",
    );
    let scan = "--db {db} --merge_operator=stringappend scan";
    assert_eq!(
        prints(db, scan),
        "b ==> 2,x\nc ==> 3\nkey098 ==> value98\nkey099 ==> value99\nlate ==> in the log\n"
    );
    // The options file names the operator from then on.
    assert_eq!(prints(db, "--db {db} get b"), "2,x\n");
    fails(db, "--db {db} batchput a 1 b", 2);
}

#[test]
fn ranges_are_scanned_either_way() {
    let dir = made();
    let db = dir.path();
    let keys = |line: &str| {
        let text = prints(db, &format!("--db {{db}} scan --no-value {line}"));
        text.lines().map(String::from).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(keys("--from key005 --to key009"), "key005 key006 key008");
    assert_eq!(keys("--from key005 --max_keys=2 --reverse"), "late key099");
    assert_eq!(keys("--prefix key09 --limit 2"), "key090 key091");
    assert_eq!(keys("--prefix key09 --limit 2 --reverse"), "key099 key098");
    assert_eq!(keys("--prefix nothing"), "");
    assert_eq!(prints(db, "--db {db} scan --count-only"), "100\n");
    assert_eq!(
        prints(db, "--db {db} scan --cf orders --count-only --json"),
        "{\"count\":100}\n"
    );
    fails(db, "--db {db} scan --prefix a --from b", 2);
}

#[test]
fn prefixes_of_descending_column_families_are_scanned() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_reverse_bytewise_comparator();
    let db = DB::open(&options, dir.path()).expect("opens");
    for key in ["a", "b1", "b2", "c"] {
        db.put(key, "").expect("written");
    }
    drop(db);
    let scan = |line: &str| prints(dir.path(), &format!("--db {{db}} scan --no-value {line}"));
    assert_eq!(scan("--prefix b"), "b2\nb1\n");
    assert_eq!(scan("--prefix b --reverse"), "b1\nb2\n");
    assert_eq!(
        prints(dir.path(), "idump --db {db} --to b1 --count-only"),
        "Internal keys in range: 2\n"
    );
}

#[test]
fn exit_codes_tell_what_happened() {
    let dir = made();
    let db = dir.path();
    assert!(fails(db, "--db {db} get nobody", 1).contains("key not found: nobody"));
    let message = fails(db, "--db {db} --column-family none scan", 1);
    assert!(message.contains("no column family 'none'"), "{message}");
    assert!(fails(db, "get key000", 2).contains("--db PATH"));
    assert!(fails(db, "--db {db} nonsense", 2).contains("nonsense"));
    assert!(fails(db, "--db {db} files {db}", 2).contains("named twice"));
    assert!(fails(db, "--db {db}/none scan", 3).contains("there is no database"));
    // What cannot be looked at may be there. (A file in the way stands for a permission
    // that is missing, which nothing is to who runs this as root.)
    for line in [
        "--db {db}/CURRENT/none scan",
        "--db {db}/CURRENT/none put k v",
    ] {
        let message = fails(db, line, 3);
        assert!(!message.contains("there is no database"), "{message}");
        assert!(message.contains("Not a directory"), "{message}");
    }
    let help = run(db, "--help");
    let text = String::from_utf8_lossy(&help.stdout);
    assert_eq!(help.status.code(), Some(0));
    assert!(
        text.contains("Exit codes:") && text.contains("manifest_dump"),
        "{text}"
    );
    assert!(prints(db, "scan --help").contains("--db /data/db scan --count-only"));
}

#[test]
fn reading_works_beside_a_writer_and_writing_does_not() {
    let dir = made();
    let db = dir.path();
    let writer = DB::open_cf(&Options::default(), db, ["default", "orders"]).expect("opens");
    writer.put("live", "yes").expect("written");
    assert_eq!(prints(db, "--db {db} get live"), "yes\n");
    let own = tempfile::tempdir().expect("temporary directory");
    let secondary = format!(
        "--db {{db}} get live --secondary_path={}",
        own.path().display()
    );
    assert_eq!(prints(db, &secondary), "yes\n");
    for line in ["put a b", "compact", "checkpoint {db}/copy"] {
        let message = fails(db, &format!("--db {{db}} {line}"), 3);
        assert!(message.contains("open for writing elsewhere"), "{message}");
    }
    assert_eq!(prints(db, "checkconsistency {db}"), "OK\n");
}

#[test]
fn commands_that_read_leave_the_directory_alone() {
    let dir = made();
    let listed = || {
        let entries = std::fs::read_dir(dir.path()).expect("directory");
        let entries = entries.map(|entry| {
            let entry = entry.expect("entry");
            let modified = entry
                .metadata()
                .expect("metadata")
                .modified()
                .expect("a time");
            (entry.file_name(), modified)
        });
        entries.collect::<std::collections::BTreeMap<_, _>>()
    };
    let before = listed();
    for line in [
        "get key000",
        "scan",
        "dump",
        "idump",
        "live-files",
        "properties",
        "files",
        "options",
        "checkconsistency --checksums",
        "manifest-dump",
        "wal-dump",
        "sst-dump",
        "list_column_families",
        "approxsize --from a --to z",
    ] {
        prints(dir.path(), &format!("--db {{db}} {line}"));
    }
    assert_eq!(listed(), before);
}

#[test]
fn values_with_times_lose_and_show_them() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let db = dir.path();
    prints(db, "--db {db} --ttl put k v --create-if-missing");
    assert_eq!(prints(db, "--db {db} --ttl get k"), "v\n");
    let raw = prints(db, "--db {db} get k --value-hex");
    assert_eq!(raw.trim_end().len(), "0x76".len() + 8, "{raw}");
    let timed = prints(db, "--db {db} --ttl scan --timestamp");
    assert!(
        timed.starts_with("20") && timed.ends_with(" k ==> v\n"),
        "{timed}"
    );
    fails(db, "--db {db} scan --timestamp", 2);
    prints(db, "--db {db} put bare v");
    assert!(fails(db, "--db {db} --ttl get bare", 3).contains("has no time"));
}

#[test]
fn dumps_load_into_other_databases() {
    let dir = made();
    let db = dir.path();
    let dump = run(db, "--db {db} dump --hex").stdout;
    assert!(dump.ends_with(b"Keys in range: 100\n"));
    let copy = tempfile::tempdir().expect("temporary directory");
    let copy = copy.path().join("copy");
    let load = "--db {db} load --hex --create-if-missing --disable_wal --compact";
    let loaded = run_with(&copy, load, &dump);
    assert_eq!(output(load, &loaded), "100 keys loaded\n");
    assert_eq!(
        prints(&copy, "--db {db} scan"),
        prints(db, "--db {db} scan")
    );
    assert_eq!(
        prints(db, "--db {db} dump --from key098 --count_only"),
        "Keys in range: 3\n"
    );

    let cut: Vec<u8> = dump
        .split_inclusive(|&b| b == b'\n')
        .skip(1)
        .flatten()
        .copied()
        .collect();
    let refused = run_with(&copy, load, &cut);
    assert_eq!(refused.status.code(), Some(2));
    let message = String::from_utf8_lossy(&refused.stderr);
    assert!(
        message.contains("line 100: 99 keys came before it"),
        "{message}"
    );
    let refused = run_with(&copy, "--db {db} load", b"k ==> v\nnonsense\n");
    assert_eq!(refused.status.code(), Some(2));
    let message = String::from_utf8_lossy(&refused.stderr);
    assert!(
        message.contains("line 2: is not 'key ==> value'"),
        "{message}"
    );

    prints(db, "--db {db} put --value-hex broken 0x610A62");
    assert!(fails(db, "--db {db} dump", 2).contains("use --hex"));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let db = dir.path().join("big");
    // More than a pipe holds.
    let lines: String = (0..20_000)
        .map(|n| format!("{n:08} ==> {n:0100}\n"))
        .collect();
    output(
        "load",
        &run_with(&db, "--db {db} load --create-if-missing", lines.as_bytes()),
    );
    let mut child = Command::new(env!("CARGO_BIN_EXE_ww"))
        .args(["--db", db.to_str().expect("text"), "scan"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("ww starts");
    let mut stdout = child.stdout.take().expect("a pipe");
    let mut some = [0; 10];
    stdout.read_exact(&mut some).expect("output");
    drop(stdout);
    let ended = child.wait_with_output().expect("ww ends");
    assert_eq!(ended.status.code(), Some(0));
    assert!(
        ended.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&ended.stderr)
    );
}
