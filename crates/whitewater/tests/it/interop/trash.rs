//! Trash of slow deletions, which whoever opens the database next deletes.

use super::tools::{self, ldb};
use std::path::Path;
use whitewater::{DB, Options, SstFileManager};

/// The names of trash in `dir`.
fn trash(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".trash")).collect()
}

#[test]
fn rocksdb_deletes_what_is_left() {
    if !tools::available() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    {
        let manager = SstFileManager::with_deletion(1, 1.0, 0);
        let mut o = Options::default();
        o.create_if_missing(true);
        o.set_disable_auto_compactions(true);
        o.set_sst_file_manager(&manager);
        let db = DB::open(&o, dir.path()).unwrap();
        for n in 0..4_u8 {
            db.put(b"key", [b'0' + n]).unwrap();
            db.flush().unwrap();
        }
        db.compact_range(None::<&[u8]>, None::<&[u8]>);
    }
    assert!(!trash(dir.path()).is_empty());
    assert!(ldb(dir.path(), &["get", "key"]).contains('3'));
    ldb(dir.path(), &["put", "other", "value"]);
    assert_eq!(trash(dir.path()), [""; 0]);
    let db = DB::open_default(dir.path()).unwrap();
    assert_eq!(db.get("key").unwrap().as_deref(), Some(&b"3"[..]));
    assert_eq!(db.get("other").unwrap().as_deref(), Some(&b"value"[..]));
}
