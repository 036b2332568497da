//! Files taken apart: manifests, logs, tables, options, and their damage.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{fails, made, prints};

/// The file in `dir` whose name is the greatest of those that contain `part`.
fn newest(dir: &Path, part: &str) -> PathBuf {
    let entries = fs::read_dir(dir).expect("directory");
    let paths = entries.map(|entry| entry.expect("entry").path());
    let named = |path: &PathBuf| {
        let name = path.file_name().expect("a name");
        name.to_string_lossy().contains(part)
    };
    paths.filter(named).max().expect("a file")
}

fn json_lines(text: &str) -> Vec<Value> {
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

#[test]
fn manifests_are_shown_as_edits_and_as_a_whole() {
    let dir = made();
    let db = dir.path();
    let text = prints(db, "manifest-dump {db}");
    for part in [
        "Column family \"default\"  (ID 0)",
        "Column family \"orders\"  (ID 1)",
        "comparator: leveldb.BytewiseComparator",
        "--- level 0 ---",
        "['key000' seq:1, type:1 .. 'key099' seq:199, type:1]",
        "last_sequence ",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let lines = json_lines(&prints(db, "--db {db} manifest_dump --edits --json"));
    let (whole, edits) = lines.split_last().expect("lines");
    assert_eq!(whole["column_families"][1]["name"], "orders");
    assert_eq!(whole["edits"].as_u64(), u64::try_from(edits.len()).ok());
    let adds = |edit: &&Value| !edit["edit"]["new_files"].is_null();
    let added = edits.iter().find(adds).expect("a table was flushed");
    assert_eq!(
        added["edit"]["new_files"][0]["smallest"],
        "'key000' seq:1, type:1"
    );
    let edits = prints(db, "manifest-dump {db} -v");
    assert!(edits.contains("column_family_add=orders"), "{edits}");
    fails(db, "manifest-dump {db}/MANIFEST-999999", 3);
}

#[test]
fn logs_are_shown_batch_by_batch() {
    let dir = made();
    let db = dir.path();
    let text = prints(db, "wal-dump {db} --header --print-value");
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[0], "Sequence,Count,ByteSize,Physical Offset,Key(s)");
    assert!(
        lines
            .iter()
            .any(|line| line.ends_with(",DELETE(0) : 0x6B6579303037 ")),
        "{text}"
    );
    let put = ",PUT(0) : 0x6C617465 : 0x696E20746865206C6F67 ";
    assert!(lines.iter().any(|line| line.ends_with(put)), "{text}");
    let batches = json_lines(&prints(db, "dump_wal {db} --json --print-values"));
    let last = &batches.last().expect("a batch")["operations"][0];
    assert_eq!(last["type"], "PUT");
    assert_eq!(last["key"], "late");
    assert_eq!(last["value"], "in the log");

    // One byte of the first of two records is another.
    let path = newest(db, ".log");
    let mut bytes = fs::read(&path).expect("a log");
    bytes[10] ^= 1;
    fs::write(&path, bytes).expect("written");
    assert!(fails(db, "wal-dump {db}", 1).contains("the logs are damaged in"));
    fails(db, "checkconsistency {db}", 1);
}

#[test]
fn tables_are_shown_and_damage_is_found() {
    let dir = made();
    let db = dir.path();
    let scan = prints(db, "--db {db} sst-dump --from key003 --to key005");
    let default = "'key003' seq:7, type:1 => value3\n'key004' seq:9, type:1 => value4\n";
    assert!(scan.contains(default), "{scan}");
    let hex = prints(db, "sst_dump --file={db} --hex --read_num=1");
    assert!(
        hex.contains("'6B6579303030' seq:1, type:1 => 76616C756530\n"),
        "{hex}"
    );
    let raw = prints(db, "sst-dump {db} --command raw");
    for part in [
        "checksum XXH3",
        "block at 0: data, ",
        ": index, ",
        " rocksdb.properties\n",
    ] {
        assert!(raw.contains(part), "{part} in {raw}");
    }
    let properties = prints(db, "sst-dump {db} --command=properties --json");
    let properties = json_lines(&properties);
    assert_eq!(properties[0]["properties"]["rocksdb.num.entries"], 100);
    assert!(prints(db, "sst-dump {db} --command check").contains("OK, 100 entries"));
    assert_eq!(
        prints(db, "sst-dump {db} --command verify")
            .matches(": OK\n")
            .count(),
        2
    );
    assert_eq!(prints(db, "checkconsistency {db} --checksums"), "OK\n");

    let path = newest(db, ".sst");
    let mut bytes = fs::read(&path).expect("a table");
    bytes[30] ^= 1;
    fs::write(&path, &bytes).expect("written");
    let message = fails(db, "sst-dump {db} --command verify", 1);
    assert!(message.contains("1 of 2 tables are damaged"), "{message}");
    assert!(message.contains("checksum mismatch"), "{message}");
    fails(db, "checkconsistency {db} --checksums", 1);
    bytes.pop();
    fs::write(&path, &bytes).expect("written");
    assert!(fails(db, "checkconsistency {db}", 1).contains("1 problem"));
    fs::remove_file(&path).expect("removed");
    assert!(fails(db, "files {db}", 1).contains("1 tables or blob files are missing"));
    fails(db, "sst-dump {db}/000001.sst", 3);
}

#[test]
fn every_version_of_a_key_is_shown() {
    let dir = made();
    let db = dir.path();
    prints(db, "--db {db} deleterange key008 key010");
    let text = prints(db, "--db {db} idump --from key007 --to key009");
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 5, "{text}");
    assert_eq!(lines[0], "'key007' seq:201, type:0 => ");
    assert_eq!(lines[1], "'key007' seq:15, type:1 => value7");
    assert_eq!(lines[2], "'key008' seq:203, type:15 => key010");
    assert_eq!(lines[3], "'key008' seq:17, type:1 => value8");
    assert_eq!(lines[4], "Internal keys in range: 4");
    // From a table, too.
    prints(db, "--db {db} put key008 again");
    assert_eq!(
        prints(db, "--db {db} idump --count-only"),
        "Internal keys in range: 104\n"
    );
}

#[test]
fn files_are_told_apart() {
    let dir = made();
    let db = dir.path();
    fs::write(db.join("notes.txt"), "mine").expect("written");
    fs::write(db.join("000999.sst"), "").expect("written");
    let text = prints(db, "files {db}");
    for part in [
        "live: default level 0",
        "live: orders level 0",
        "names the manifest",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let line = |name: &str| {
        text.lines()
            .find(|line| line.starts_with(name))
            .expect("a line")
    };
    assert!(line("notes.txt").ends_with("not of the database"));
    assert!(line("000999.sst").ends_with("obsolete"));
    assert!(line("MANIFEST-").ends_with("current"));
}

#[test]
fn options_are_shown_and_compared() {
    let dir = made();
    let db = dir.path();
    let text = prints(db, "options {db} --name comparator");
    let expected = "[CFOptions \"default\"]\n  comparator=leveldb.BytewiseComparator\n";
    assert!(text.contains(expected), "{text}");
    prints(db, "options {db} {db}");
    let file = newest(db, "OPTIONS-");
    let changed = fs::read_to_string(&file).expect("text");
    let changed = changed.replacen("max_open_files=-1", "max_open_files=7", 1);
    fs::write(db.join("changed"), changed).expect("written");
    let difference = "[DBOptions] max_open_files: -1 -> 7\n";
    let output = super::run(db, "options {db} {db}/changed");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&output.stdout), difference);
    // What cannot be honoured is told, and does not stand in the way.
    let broken = fs::read_to_string(&file).expect("text");
    let broken = broken.replacen("max_open_files=", "of_tomorrow=1\n  max_open_files=", 1);
    fs::write(&file, broken).expect("written");
    let output = super::run(db, "--db {db} get key000");
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.stdout, b"value0\n");
    assert!(
        message.contains("passed over: ") && message.contains("of_tomorrow"),
        "{message}"
    );
    let quiet = super::run(db, "--db {db} --try_load_options=false get key000");
    assert!(quiet.stderr.is_empty());
}
