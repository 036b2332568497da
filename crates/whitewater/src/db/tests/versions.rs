//! Many versions of one key in a memtable.

use crate::{CommitProtocol, DB, Options, WriteOptions};
use std::sync::Arc;
use whitewater_storage::fs::mem::MemFs;

/// However a key is written (one thread after another, side by side or synced), its
/// versions are searched in a number of steps that grows with the logarithm of their
/// number.
#[test]
fn versions_of_a_key_are_searched_quickly_however_they_were_written() {
    const EACH: u64 = 500;
    for protocol in [CommitProtocol::Ordered, CommitProtocol::Grouped] {
        let mut options = Options::default();
        options.create_if_missing(true);
        options.set_commit_protocol(protocol);
        options.set_fs(Arc::new(MemFs::new()));
        let db = DB::open(&options, "/db").unwrap();
        std::thread::scope(|scope| {
            for t in 0..8 {
                let db = &db;
                scope.spawn(move || {
                    let mut how = WriteOptions::default();
                    how.set_sync(t == 0);
                    how.disable_wal(t % 2 == 1);
                    for i in 0..EACH {
                        db.put_opt(b"hot", format!("{t}-{i}"), &how).unwrap();
                    }
                });
            }
        });
        let memtable = db.engine().state.lock().cfs[&0].mem.clone();
        let last = 8 * EACH;
        assert_eq!(
            (memtable.num_entries(), db.latest_sequence_number()),
            (last, last)
        );
        let steps = (1..=last).filter_map(|seq| memtable.version_steps(b"hot", seq));
        let most = steps.max().unwrap();
        // The bound of the tree alone, plus eight versions whose skip pointers may come
        // late.
        let bound = last.ilog2() as usize * (4 + 8);
        assert!(
            (2..=bound).contains(&most),
            "{most} steps of {bound}, {protocol}"
        );
    }
}
