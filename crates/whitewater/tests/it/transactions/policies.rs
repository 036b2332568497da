//! What a write policy can be combined with, and how a database says which one it has.

use super::{DIR, TxnDb, begin, impatient, options, options_on, text, value};
use std::path::Path;
use std::sync::Arc;
use whitewater::fs::mem::MemFs;
use whitewater::fs::read_file;
use whitewater::{CommitProtocol, Error, Options, TransactionDBOptions, WritePolicy};

/// The policies whose prepared transactions are in memtables.
const UNDECIDED: [WritePolicy; 2] = [WritePolicy::WritePrepared, WritePolicy::WriteUnprepared];

fn of_policy(policy: WritePolicy) -> TransactionDBOptions {
    let mut o = impatient();
    o.set_write_policy(policy);
    o
}

fn open(options: &Options, policy: WritePolicy) -> Result<TxnDb, Error> {
    TxnDb::open(options, &of_policy(policy), DIR)
}

#[test]
fn only_write_prepared_goes_with_unordered_writes() {
    let mut by_name = Options::default(); // no protocol that the environment names
    by_name.create_if_missing(true);
    by_name.set_fs(Arc::new(MemFs::new()));
    by_name.set_unordered_write(true);
    let mut by_protocol = options();
    by_protocol.set_commit_protocol(CommitProtocol::Unordered);
    for o in [by_name, by_protocol] {
        assert_eq!(
            text(open(&o, WritePolicy::WriteCommitted)),
            "Not implemented: WRITE_COMMITTED is incompatible with unordered_writes"
        );
        assert_eq!(
            text(open(&o, WritePolicy::WriteUnprepared)),
            "Not implemented: WRITE_UNPREPARED is currently incompatible with unordered_writes"
        );
        assert!(TxnDb::list_cf(&o, DIR).is_err(), "nothing was created");
        // RocksDB demands two_write_queues.
        let db = open(&o, WritePolicy::WritePrepared).unwrap();
        db.put("a", "1").unwrap();
        assert_eq!(value(&db, "a").as_deref(), Some("1"));
    }
}

#[test]
fn transactions_are_not_written_in_parts() {
    for policy in UNDECIDED {
        let mut in_parts = of_policy(policy);
        in_parts.set_default_write_batch_flush_threshold(1);
        assert_eq!(
            text(TxnDb::open(&options(), &in_parts, DIR)),
            "Not implemented: default_write_batch_flush_threshold > 0: transactions are not \
             written in parts"
        );
        in_parts.set_default_write_batch_flush_threshold(0);
        let db = TxnDb::open(&options(), &in_parts, DIR).unwrap();
        let txn = begin(&db, |o| o.set_write_batch_flush_threshold(1));
        assert_eq!(
            text(txn.put("a", "1")),
            "Not implemented: write_batch_flush_threshold > 0: transactions are not written in \
             parts"
        );
        assert!(db.lock_status().is_empty());
        for threshold in [-1, 0] {
            let txn = begin(&db, |o| o.set_write_batch_flush_threshold(threshold));
            txn.put("a", "1").unwrap();
            txn.commit().unwrap();
        }
    }
}

#[test]
fn families_that_do_not_keep_versions_are_refused() {
    let with = |set: fn(&mut Options)| {
        let mut o = options();
        set(&mut o);
        o
    };
    let in_place = with(|o| {
        o.set_inplace_update_support(true);
        o.set_allow_concurrent_memtable_write(false);
        o.set_commit_protocol(CommitProtocol::Grouped);
    });
    let folded = with(|o| o.set_max_successive_merges(1));
    let stamped = with(|o| o.set_u64_timestamp_comparator());
    for policy in UNDECIDED {
        let refused = [
            (
                &in_place,
                format!("inplace_update_support is incompatible with {policy}"),
            ),
            (
                &folded,
                format!("max_successive_merges > 0 is incompatible with {policy}"),
            ),
            (
                &stamped,
                "Only WriteCommittedTxn supports timestamp".to_owned(),
            ),
        ];
        for (o, says) in refused {
            let says = format!("Not implemented: {says}");
            assert_eq!(text(open(o, policy)), says);
            let db = open(
                &with(|o| o.set_allow_concurrent_memtable_write(false)),
                policy,
            );
            let db = db.unwrap();
            assert_eq!(text(db.create_cf("other", o)), says);
            assert!(db.cf_handle("other").is_none());
        }
    }
    for o in [in_place, folded, stamped] {
        open(&o, WritePolicy::WriteCommitted).unwrap();
    }
}

#[test]
fn the_info_log_names_the_policy() {
    for (policy, number) in [
        (WritePolicy::WriteCommitted, 0),
        (WritePolicy::WritePrepared, 1),
        (WritePolicy::WriteUnprepared, 2),
    ] {
        let fs = MemFs::new();
        drop(open(&options_on(fs.clone()), policy).unwrap());
        let log = read_file(&fs, &Path::new(DIR).join("LOG"), 1 << 20).unwrap();
        let log = String::from_utf8(log).unwrap();
        let line = format!("Transaction write_policy is {number}");
        assert_eq!(log.matches(&line).count(), 1, "{log}");
    }
}

/// Tests that are about `WRITE_COMMITTED`.
const OF_ONE_POLICY: [&str; 2] = [
    "a_family_that_updates_in_place_cannot_be_validated",
    "a_transaction_that_rocksdb_prepared_is_had_by_its_name",
];

/// Files whose tests are about one policy, or open each that they are about.
const OF_ALL_POLICIES: [&str; 10] = [
    "inserted_early.rs",
    "isolation.rs",
    "kept_undecided.rs",
    "mod.rs",
    "policies.rs",
    "purged.rs",
    "retention.rs",
    "stamps.rs",
    "undecided.rs",
    "unordered.rs",
];

#[test]
fn every_test_runs_with_each_policy() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/transactions");
    let mut forgotten = Vec::new();
    for entry in std::fs::read_dir(here).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if entry.path().is_dir() || OF_ALL_POLICIES.contains(&&name[..]) {
            continue;
        }
        let text = std::fs::read_to_string(entry.path()).unwrap();
        let (tests, again) = text
            .split_once("with_write_prepared!(")
            .unwrap_or((&text, ""));
        let tests = tests.split("#[test]\n").skip(1);
        let named = tests.filter_map(|test| test.split_once("fn ")?.1.split_once('('));
        let again: Vec<_> = again
            .split(|c: char| c != '_' && !c.is_ascii_alphanumeric())
            .collect();
        let missing =
            named.filter(|(test, _)| !again.contains(test) && !OF_ONE_POLICY.contains(test));
        forgotten.extend(missing.map(|(test, _)| format!("{name}: {test}")));
    }
    assert!(forgotten.is_empty(), "{forgotten:?}");
}
