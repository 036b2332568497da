//! What readers hold last.

use super::threads::comes_to_an_end;
use crate::{BlockBasedOptions, Cache, DB, Options};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use whitewater_storage::filename;
use whitewater_storage::fs::Fs;
use whitewater_storage::fs::mem::MemFs;

fn tables(fs: &MemFs) -> Vec<u64> {
    let names = fs.list(Path::new("/db")).unwrap();
    let numbers = names
        .iter()
        .filter_map(|name| match filename::parse(name)? {
            filename::FileType::Table(number) => Some(number),
            _ => None,
        });
    numbers.collect()
}

/// A look-up that was under way while a compaction ended was the last to hold the tables that the
/// compaction had read. They stayed on disk, and their blocks in the cache, until another job
/// ended, or an iterator.
#[test]
fn tables_that_a_lookup_was_the_last_to_hold_are_deleted() {
    let (fs, cache) = (MemFs::new(), Cache::new_lru_cache(1 << 20));
    let mut table = BlockBasedOptions::default();
    table.set_block_cache(&cache);
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_fs(Arc::new(fs.clone()));
    options.set_block_based_table_factory(&table);
    let db = DB::open(&options, "/db").unwrap();
    for value in ["a", "b"] {
        db.put("key", value).unwrap();
        db.flush().unwrap();
    }
    assert_eq!(db.get("key").unwrap().unwrap(), b"b");
    let cached = cache.get_usage();
    let before = tables(&fs);
    // As a look-up does.
    let pinned = db.engine().default_cf().pin_owned();
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    let held = tables(&fs);
    assert!(before.iter().all(|number| held.contains(number)));
    // The compaction has cached the block that it wrote.
    let written = cache.get_usage() - cached;
    assert!(cached > 0 && written > 0);
    drop(pinned);
    comes_to_an_end(move || {
        let gone = |fs| !tables(fs).iter().any(|number| before.contains(number));
        while !gone(&fs) || cache.get_usage() > written {
            thread::sleep(Duration::from_millis(1));
        }
        drop(db);
    });
}
