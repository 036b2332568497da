//! Large batches are inserted one at a time.

use crate::{CommitProtocol, DB, Options, Point};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::Duration;
use whitewater_storage::fs::mem::MemFs;

/// A radix tree may have no room for the memory of more than one large batch.
#[test]
fn one_large_batch_at_a_time_is_being_inserted() {
    for protocol in [
        CommitProtocol::Ordered,
        CommitProtocol::Grouped,
        CommitProtocol::Pipelined,
        CommitProtocol::Unordered,
    ] {
        let (inside, most) = (AtomicU64::new(0), Arc::new(AtomicU64::new(0)));
        let seen = most.clone();
        let mut options = Options::default();
        options.create_if_missing(true);
        options.set_fs(Arc::new(MemFs::new()));
        options.set_commit_protocol(protocol);
        options.set_failpoints(move |point, _| match point {
            Point::Reserved => {
                seen.fetch_max(inside.fetch_add(1, SeqCst) + 1, SeqCst);
                // Gives others time to get to where they wait.
                thread::sleep(Duration::from_millis(20));
            }
            Point::Inserted => {
                thread::sleep(Duration::from_millis(20));
                inside.fetch_sub(1, SeqCst);
            }
            _ => {}
        });
        let db = DB::open(&options, "/db").unwrap();
        thread::scope(|s| {
            for t in 0..4 {
                let db = &db;
                s.spawn(move || db.put([t], vec![t; 3 << 20]).unwrap());
            }
        });
        assert_eq!(most.load(SeqCst), 1, "{protocol}");
        for t in 0..4 {
            assert_eq!(db.get([t]), Ok(Some(vec![t; 3 << 20])));
        }
    }
}
