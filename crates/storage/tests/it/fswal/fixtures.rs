//! Databases that RocksDB wrote.

use super::{content, read_log};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use whitewater_storage::batch;
use whitewater_storage::filename::{self, FileType};
use whitewater_storage::fs::Fs;
use whitewater_storage::fs::os::OsFs;
use whitewater_storage::manifest::{FileMetaData, ManifestReader, VersionEdit, read_current};

/// The fixtures' directories.
fn fixtures() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/rocksdb");
    let entries = std::fs::read_dir(&root).expect("the fixtures");
    let mut dirs: Vec<PathBuf> = entries
        .map(|e| e.unwrap().path())
        .filter(|p| p.is_dir())
        .collect();
    dirs.sort();
    assert!(!dirs.is_empty(), "{} is empty", root.display());
    dirs
}

/// The files of `dir` of one kind, by number.
fn files(dir: &Path, number: impl Fn(FileType) -> Option<u64>) -> BTreeMap<u64, PathBuf> {
    OsFs.list(dir)
        .unwrap()
        .iter()
        .filter_map(|name| Some((number(filename::parse(name)?)?, dir.join(name))))
        .collect()
}

fn edits(dir: &Path) -> Vec<Vec<VersionEdit>> {
    let path = read_current(&OsFs, dir).unwrap();
    let mut reader = ManifestReader::open(&OsFs, &path).unwrap();
    let mut groups = Vec::new();
    while let Some(group) = reader.next().unwrap() {
        groups.push(group);
    }
    assert_eq!(reader.offset(), OsFs.file_size(&path).unwrap());
    groups
}

#[test]
fn manifests_give_the_live_files() {
    let mut saw_group = false;
    for dir in fixtures() {
        let mut live: BTreeMap<(u32, u64), (u32, FileMetaData)> = BTreeMap::new();
        let mut families = BTreeMap::from([(0, "default".to_owned())]);
        let (mut next_file, mut sequence) = (None, None);
        for group in edits(&dir) {
            saw_group |= group.len() > 1;
            for edit in group {
                let cf = edit.column_family;
                next_file = edit.next_file_number.or(next_file);
                sequence = edit.last_sequence.or(sequence);
                if let Some(name) = edit.column_family_add {
                    families.insert(cf, name);
                }
                if edit.column_family_drop {
                    families.remove(&cf);
                    live.retain(|(of, _), _| *of != cf);
                }
                assert!(families.contains_key(&cf) || edit.column_family_drop);
                for (level, number) in edit.deleted_files {
                    let (was, _) = live.remove(&(cf, number)).expect("deleted file is live");
                    assert_eq!(was, level);
                }
                for (level, file) in edit.new_files {
                    assert!(file.smallest_seqno <= file.largest_seqno);
                    live.insert((cf, file.number), (level, file));
                }
            }
        }
        let next_file = next_file.expect("next file number");
        assert!(sequence.is_some());
        let tables = files(&dir, |t| match t {
            FileType::Table(n) => Some(n),
            _ => None,
        });
        let numbers: Vec<u64> = {
            let mut numbers: Vec<u64> = live.keys().map(|(_, n)| *n).collect();
            numbers.sort_unstable();
            numbers
        };
        assert_eq!(
            numbers,
            tables.keys().copied().collect::<Vec<_>>(),
            "{dir:?}"
        );
        for (_, file) in live.values() {
            assert_eq!(file.size, OsFs.file_size(&tables[&file.number]).unwrap());
            assert!(file.number < next_file);
        }
        let expected = std::fs::read_to_string(dir.with_extension("json")).unwrap();
        let expected: serde_json::Value = serde_json::from_str(&expected).unwrap();
        for name in expected["column_families"].as_object().unwrap().keys() {
            assert!(families.values().any(|f| f == name), "{dir:?}: {name}");
        }
    }
    assert!(saw_group, "multi_cf has an atomic group");
}

#[test]
fn edits_encode_to_what_decodes_the_same() {
    for dir in fixtures() {
        for mut edit in edits(&dir).concat() {
            if !edit.blob_files.is_empty() {
                assert!(dir.ends_with("wide_blob_ingest"), "{dir:?}");
            }
            for (_, file) in &mut edit.new_files {
                // These are read but not written.
                file.file_checksum.clear();
                file.file_checksum_func_name.clear();
                file.unique_id = None;
            }
            assert_eq!(
                VersionEdit::decode(&edit.encode()).unwrap(),
                edit,
                "{dir:?}"
            );
        }
    }
}

#[test]
fn logs_hold_whole_batches_in_sequence() {
    let mut batches = 0;
    for dir in fixtures() {
        let logs = files(&dir, |t| match t {
            FileType::Wal(n) => Some(n),
            _ => None,
        });
        for (number, path) in logs {
            let back = read_log(&OsFs, &path, number);
            assert!(back.corrupt.is_empty() && back.torn.is_none(), "{path:?}");
            let empty = content(&OsFs, &path).is_empty();
            assert_eq!(back.all.is_empty(), empty, "{path:?}");
            let mut next = 0;
            for record in &back.all {
                batch::check(record).unwrap();
                let sequence = batch::sequence(record);
                assert!(sequence >= next, "{path:?}");
                next = sequence + u64::from(batch::count(record));
                batches += 1;
            }
        }
    }
    assert!(batches > 100, "{batches}");
}
