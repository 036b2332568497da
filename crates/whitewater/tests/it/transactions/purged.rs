//! Transactions whose writes are purged in memory (`experimental_mempurge_threshold`).

use super::two_phase::{names, prepared};
use super::{DIR, TxnDb, impatient, options_on, value};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use whitewater::fs::mem::MemFs;
use whitewater::{ColumnFamilyDescriptor, Options, Point, WritePolicy};

/// A database with the column families `default` and `other`, and the number of its purges.
fn open(fs: &MemFs, policy: WritePolicy) -> (TxnDb, Arc<AtomicUsize>) {
    let mut o = options_on(fs.clone());
    o.set_experimental_mempurge_threshold(1.0);
    o.set_max_write_buffer_number(4);
    o.set_disable_auto_compactions(true);
    let purges = Arc::new(AtomicUsize::new(0));
    let counted = purges.clone();
    o.set_failpoints(move |point, _| {
        if point == Point::Purged {
            counted.fetch_add(1, Ordering::SeqCst);
        }
    });
    (open_with(&o, policy), purges)
}

fn open_with(o: &Options, policy: WritePolicy) -> TxnDb {
    let mut of_transactions = impatient();
    of_transactions.set_write_policy(policy);
    let families = ["default", "other"].map(|f| ColumnFamilyDescriptor::new(f, o.clone()));
    TxnDb::open_cf_descriptors(o, &of_transactions, DIR, families).unwrap()
}

/// What the next process finds if this one dies now.
fn killed(fs: &MemFs, policy: WritePolicy) -> TxnDb {
    open_with(&options_on(fs.crash_clone(1.0, 0)), policy)
}

/// Overwrites until memtables were purged twice more.
fn purge(db: &TxnDb, purges: &AtomicUsize) {
    let goal = purges.load(Ordering::SeqCst) + 2;
    let begun = std::time::Instant::now();
    while purges.load(Ordering::SeqCst) < goal {
        assert!(begun.elapsed().as_secs() < 60, "no purge");
        for n in 0..10u8 {
            db.put([b'h', b'o', b't', n], [n; 1_000]).unwrap();
        }
    }
}

/// Lets go of the logs that nothing needs.
fn flush_other(db: &TxnDb) {
    let other = db.cf_handle("other").unwrap();
    for n in ["1", "2"] {
        db.put_cf(&other, "n", n).unwrap();
        db.flush_cf(&other).unwrap();
    }
}

const POLICIES: [WritePolicy; 2] = [WritePolicy::WriteCommitted, WritePolicy::WritePrepared];

#[test]
fn a_prepared_transaction_outlives_purges_and_is_decided_after_them() {
    for policy in POLICIES {
        for commits in [true, false] {
            let fs = MemFs::new();
            let (db, purges) = open(&fs, policy);
            db.put("a", "old").unwrap();
            let txn = prepared(&db, "x", &["a", "b"]);
            purge(&db, &purges);
            flush_other(&db);
            let seen = |db: &TxnDb| [value(db, "a"), value(db, "b")];
            let old = [Some("old".to_owned()), None];
            assert_eq!(seen(&db), old);
            let next = killed(&fs, policy);
            assert_eq!(
                (names(&next), seen(&next)),
                (vec!["x".to_owned()], old.clone())
            );
            drop(next);
            if commits {
                txn.commit().unwrap();
            } else {
                txn.rollback().unwrap();
            }
            let after = match commits {
                true => ["a", "b"].map(|_| Some("1".to_owned())),
                false => old,
            };
            purge(&db, &purges);
            assert_eq!(seen(&db), after, "{policy:?}");
            flush_other(&db);
            // The section of the commit is in an older log than the commit.
            let next = killed(&fs, policy);
            assert_eq!(
                (names(&next), seen(&next)),
                (Vec::new(), after),
                "{policy:?}"
            );
        }
    }
}

/// The purge after a snapshot keeps what only the snapshot sees, whatever was decided since.
#[test]
fn a_snapshot_does_not_see_what_was_undecided() {
    let fs = MemFs::new();
    let (db, purges) = open(&fs, WritePolicy::WritePrepared);
    db.put("a", "old").unwrap();
    let txn = prepared(&db, "x", &["a"]);
    let snapshot = db.snapshot();
    txn.commit().unwrap();
    purge(&db, &purges);
    assert_eq!(snapshot.get("a").unwrap(), Some(b"old".to_vec()));
    assert_eq!(value(&db, "a").as_deref(), Some("1"));
}
