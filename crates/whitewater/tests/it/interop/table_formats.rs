//! Plain and cuckoo tables, from RocksDB and for RocksDB.

use super::java;
use crate::content::{self, Content};
use std::path::Path;
use whitewater::{DB, Options};

/// A column family: its name, and its options as RocksDB takes them from a string.
type Family = (&'static str, &'static str);

const MIXED: [Family; 4] = [
    (
        "default",
        "table_factory={id=PlainTable;hash_table_ratio=0}",
    ),
    (
        "prefix",
        "table_factory={id=PlainTable;encoding_type=kPrefix;index_sparseness=5};\
         prefix_extractor=fixed:4",
    ),
    (
        "stored",
        "table_factory={id=PlainTable;store_index_in_file=true;encoding_type=kPrefix};\
         prefix_extractor=fixed:4;bloom_locality=1",
    ),
    (
        "total",
        "table_factory={id=PlainTable;hash_table_ratio=0;store_index_in_file=true}",
    ),
];

const FIXED: [Family; 5] = [
    ("default", "table_factory={id=CuckooTable}"),
    (
        "identity",
        "table_factory={id=CuckooTable;identity_as_first_hash=true;use_module_hash=false}",
    ),
    (
        "full",
        "table_factory={id=CuckooTable;hash_table_ratio=0.97;cuckoo_block_size=2}",
    ),
    (
        "plain",
        "table_factory={id=PlainTable;user_key_len=8;store_index_in_file=true};\
         prefix_extractor=fixed:4",
    ),
    (
        "prefix",
        "table_factory={id=PlainTable;user_key_len=8;encoding_type=kPrefix};\
         prefix_extractor=fixed:4",
    ),
];

fn options(families: &[Family], name: &str) -> Options {
    let family = families.iter().find(|(known, _)| *known == name);
    let (_, text) = family.expect("one of the families");
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options.set_disable_auto_compactions(true);
    options
        .get_options_from_string(text)
        .expect("valid options")
}

fn open(dir: &Path, families: &[Family]) -> DB {
    let descriptors = families
        .iter()
        .map(|(name, _)| whitewater::ColumnFamilyDescriptor::new(*name, options(families, name)));
    DB::open_cf_descriptors(&options(families, "default"), dir, descriptors).expect("opens")
}

/// Compacts every family, then writes and flushes more of it.
fn go_on(db: &DB, content: &mut Content, mixed: bool) {
    for (name, pairs) in content {
        content::compact(db, name, true).expect("compacts");
        let cf = content::cf(db, name);
        for n in 0..120u8 {
            let key = format!("{:04}{:04}", n / 11, u32::from(n) * 13).into_bytes();
            if n % 5 == 0 {
                db.delete_cf(&cf, &key).expect("writes");
                pairs.remove(&key);
                continue;
            }
            let value = vec![n; if mixed { usize::from(n) * 9 } else { 16 }];
            db.put_cf(&cf, &key, &value).expect("writes");
            pairs.insert(key, value);
        }
        db.flush_cf(&cf).expect("flushes");
    }
}

#[test]
fn plain_and_cuckoo_tables_go_to_rocksdb_and_back() {
    let Some(jar) = java::jar() else {
        return;
    };
    for (families, keys) in [(&MIXED[..], "mixed"), (&FIXED[..], "fixed")] {
        let dir = tempfile::tempdir().expect("a directory");
        let mut content = java::write_tables(&jar, dir.path(), 11, keys, families);
        let db = open(dir.path(), families);
        content::check(&db, &content, "as RocksDB left it");
        go_on(&db, &mut content, keys == "mixed");
        content::check(&db, &content, "written on");
        drop(db);
        // RocksDB finds every key by its own index.
        let found = java::read_tables(&jar, dir.path(), keys, families);
        assert!(found == content, "{keys}: RocksDB reads something else");
        content::check(&open(dir.path(), families), &content, "back again");
    }
}
