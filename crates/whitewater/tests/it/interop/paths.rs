//! Databases with tables in several directories, written by both engines in turn.

use super::python::printed;
use super::workload::Workload;
use super::written::compare;
use super::{java, tools};
use crate::content::{self, Content};
use std::path::{Path, PathBuf};
use whitewater::{ColumnFamilyDescriptor, CompactOptions, DB, DBCompactionStyle, DBPath, Options};

/// The directories of a database: its own, the two of all column families, and one of the column
/// family "own".
struct Dirs {
    db: PathBuf,
    data: [PathBuf; 3],
}

impl Dirs {
    fn in_dir(dir: &Path) -> Dirs {
        Dirs {
            db: dir.join("db"),
            data: ["first", "second", "own"].map(|name| dir.join(name)),
        }
    }

    /// RocksDB's part of `scripts/InteropPaths.java`: its content, and the number of tables in
    /// each of the directories.
    fn rocksdb(&self, jar: &str, seed: u64) -> (Content, Vec<usize>) {
        let seed = seed.to_string();
        let mut arguments = vec![tools::path(&self.db), &seed];
        arguments.extend(self.data.iter().map(|dir| tools::path(dir)));
        let out = java::run_java(jar, "InteropPaths", &arguments);
        let (content, counts) = out.trim_end().rsplit_once('\n').expect("two lines");
        let counts = counts.split(' ').map(|n| n.parse().expect("a number"));
        (printed(content), counts.collect())
    }

    fn options(&self, name: &str) -> Options {
        let mut o = Options::default();
        o.create_if_missing(true);
        o.create_missing_column_families(true);
        o.set_write_buffer_size(64 << 10);
        o.set_target_file_size_base(16 << 10);
        o.set_max_bytes_for_level_base(48 << 10);
        o.set_max_bytes_for_level_multiplier(3.0);
        o.set_level_zero_file_num_compaction_trigger(2);
        let [first, second, own] = &self.data;
        let path = |path, size| DBPath::new(path, size).expect("a path");
        o.set_db_paths(&[path(first, 100 << 10), path(second, 1 << 40)]);
        if name == "own" {
            o.set_cf_paths(&[path(own, 60 << 10), path(second, 0)]);
            o.set_compaction_style(DBCompactionStyle::Universal);
        }
        o
    }

    fn open(&self) -> DB {
        let families = ["default", "own"];
        let family = |name| ColumnFamilyDescriptor::new(name, self.options(name));
        DB::open_cf_descriptors(&self.options("default"), &self.db, families.map(family))
            .expect("opens")
    }

    /// The number of live tables in each of the directories.
    fn counts(&self, db: &DB) -> Vec<usize> {
        let files = db.live_files().expect("can be listed");
        let in_dir = |dir: &PathBuf| files.iter().filter(|file| file.db_path == *dir).count();
        let counts: Vec<usize> = self.data.iter().map(in_dir).collect();
        assert_eq!(counts.iter().sum::<usize>(), files.len());
        counts
    }
}

#[test]
fn rocksdb_reads_and_writes_our_paths_and_we_its() {
    let Some(jar) = java::jar() else { return };
    let dir = tempfile::tempdir().expect("a temporary directory");
    let dirs = Dirs::in_dir(dir.path());
    let mut work = Workload::new(91, &["default", "own"], 3_000);
    let db = dirs.open();
    for _ in 0..4 {
        work.run(&db, 4_000);
        for name in ["default", "own"] {
            db.flush_cf(&content::cf(&db, name)).expect("flushes");
        }
        db.wait_for_compact(&Default::default()).expect("compacts");
    }
    work.run(&db, 20);
    let counts = dirs.counts(&db);
    assert!(counts[0] > 0 && counts[1] > 0, "{counts:?}");
    drop(db);
    let (read, _) = dirs.rocksdb(&jar, 0);
    compare(&read, &work.model, "by RocksDB");
    let (model, counts) = dirs.rocksdb(&jar, 7);
    assert!(counts[0] > 0 && counts[1] > 0, "{counts:?}");
    let db = dirs.open();
    content::check(&db, &model, "written by RocksDB");
    for id in [1, 0] {
        let mut to = CompactOptions::default();
        to.set_target_path_id(id);
        to.set_bottommost_level_compaction(whitewater::BottommostLevelCompaction::Force);
        db.try_compact_range_opt(None::<&[u8]>, None::<&[u8]>, &to)
            .expect("compacts");
        content::check(&db, &model, "and compacted here");
    }
    drop(db);
    compare(&dirs.rocksdb(&jar, 0).0, &model, "and back");
}

/// The directories that a database of ours and one of RocksDB's have, level by level.
#[test]
fn levels_are_where_rocksdb_puts_them() {
    let Some(jar) = java::jar() else { return };
    let dir = tempfile::tempdir().expect("a temporary directory");
    let dirs = Dirs::in_dir(dir.path());
    let (model, _) = dirs.rocksdb(&jar, 3);
    let db = dirs.open();
    content::check(&db, &model, "written by RocksDB");
    for file in db.live_files().expect("can be listed") {
        if file.column_family_name == "default" {
            let wanted = &dirs.data[usize::from(file.level > 1)];
            assert_eq!(&file.db_path, wanted, "level {}", file.level);
        }
    }
}
