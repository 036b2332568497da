//! Prepared transactions: what is listed, and what a decision leaves.

use super::{fails, prints, run};
use tempfile::TempDir;
use whitewater::{DB, Options, TransactionDB, TransactionDBOptions};

/// The name of a transaction that is not text.
const ODD: &[u8] = b"odd\0\xFF";

/// A database with three prepared transactions, and others that are decided.
fn made() -> TempDir {
    let dir = tempfile::tempdir().expect("temporary directory");
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    let how = TransactionDBOptions::default();
    let families = ["default", "gone", "orders"];
    let db: TransactionDB =
        TransactionDB::open_cf(&options, &how, dir.path(), families).expect("opens");
    let orders = db.cf_handle("orders").expect("opened above");
    let gone = db.cf_handle("gone").expect("opened above");
    for (name, key) in [
        (&b"one"[..], "a"),
        (b"two", "b"),
        (b"3", "c"),
        (b"4", "d"),
        (ODD, "e"),
    ] {
        let txn = db.transaction();
        txn.set_name(name).expect("named");
        txn.put(key, name).expect("written");
        if name == b"two" {
            txn.put_cf(&orders, key, "order").expect("written");
            txn.delete_cf(&orders, "other").expect("written");
        }
        if name == ODD {
            txn.put_cf(&gone, key, "lost").expect("written");
        }
        txn.prepare().expect("prepared");
        match name {
            b"3" => txn.commit().expect("committed"),
            b"4" => txn.rollback().expect("rolled back"),
            _ => {}
        }
    }
    // What is prepared is in a log that no column family needs.
    db.flush().expect("flushed");
    let mut db = db;
    db.drop_cf("gone").expect("dropped");
    dir
}

#[test]
fn prepared_transactions_are_listed_beside_a_writer() {
    let dir = made();
    let db = dir.path();
    let names = DB::list_cf(&Options::default(), db).expect("listed");
    let how = TransactionDBOptions::default();
    let writer: TransactionDB =
        TransactionDB::open_cf(&Options::default(), &how, db, names).expect("opens");
    let listed = prints(db, "prepared {db}");
    let expected = "\
name         operations  column families
odd\\x00\\xff           2  default, 1 (dropped)
one                   1  default
two                   3  default, orders
";
    assert_eq!(listed, expected);
    let hex = prints(db, "--db {db} prepared --hex");
    assert!(hex.contains("\n0x6F646400FF "), "{hex}");
    let json = prints(db, "prepared {db} --json");
    let lines: Vec<serde_json::Value> = json
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(lines.len(), 3, "{json}");
    assert_eq!(lines[0]["name_hex"], "0x6F646400FF");
    assert_eq!(lines[2]["name"], "two");
    assert_eq!(lines[2]["operations"], 3);
    assert_eq!(lines[2]["column_families"][1], "orders");
    // A decision takes the lock.
    fails(db, "prepared {db} --commit one", 3);
    drop(writer);
    assert_eq!(prints(db, "prepared {db}"), listed);
}

#[test]
fn a_prepared_transaction_is_committed_or_rolled_back_by_its_name() {
    let dir = made();
    let db = dir.path();
    // Other commands that write leave them prepared, or refuse the database.
    let listed = prints(db, "prepared {db}");
    let message = fails(db, "--db {db} --try-load-options=false put z 1", 3);
    assert!(message.contains("prepared transactions"), "{message}");
    assert_eq!(prints(db, "--db {db} put z 1"), "OK\n");
    assert_eq!(prints(db, "prepared {db}"), listed);
    assert_eq!(prints(db, "prepared {db} --commit two"), "OK\n");
    assert_eq!(
        prints(db, "prepared {db} --rollback one --txn-policy=0"),
        "OK\n"
    );
    // As it is listed.
    assert_eq!(prints(db, "prepared {db} --commit odd\\x00\\xff"), "OK\n");
    assert_eq!(
        prints(db, "prepared {db}"),
        "name  operations  column families\n"
    );
    assert_eq!(prints(db, "prepared {db} --json"), "");
    // Now it opens without transactions.
    let put = "--db {db} --try-load-options=false put z 2";
    assert_eq!(prints(db, put), "OK\n");
    let all = prints(db, "--db {db} scan --value-hex");
    assert_eq!(
        all,
        "b ==> 0x74776F\nc ==> 0x33\ne ==> 0x6F646400FF\nz ==> 0x32\n"
    );
    assert_eq!(prints(db, "--db {db} --cf orders scan"), "b ==> order\n");
}

#[test]
fn a_name_may_be_given_in_hexadecimal_digits() {
    let dir = made();
    let db = dir.path();
    assert_eq!(
        prints(db, "prepared {db} --hex --rollback 0x6F646400FF"),
        "OK\n"
    );
    assert_eq!(
        prints(db, "prepared {db} --key-hex --commit 6F6E65"),
        "OK\n"
    );
    let listed = prints(db, "prepared {db}");
    assert_eq!(listed.lines().count(), 2, "{listed}");
    assert!(listed.contains("\ntwo "), "{listed}");
    let all = prints(db, "--db {db} prepared --commit two");
    assert_eq!(all, "OK\n");
    assert_eq!(
        prints(db, "--db {db} scan"),
        "a ==> one\nb ==> two\nc ==> 3\n"
    );
}

#[test]
fn a_wrong_decision_says_why_and_changes_nothing() {
    let dir = made();
    let db = dir.path();
    let listed = prints(db, "prepared {db}");
    let message = fails(db, "prepared {db} --commit nobody", 1);
    assert!(
        message.contains("no prepared transaction 'nobody'"),
        "{message}"
    );
    fails(db, "prepared {db} --rollback 3", 1);
    fails(db, "prepared {db} --hex --commit 0x6F6", 2);
    fails(db, "prepared {db} --commit one --rollback two", 2);
    fails(db, "prepared {db} --txn-policy 3", 2);
    fails(db, "prepared {db} --txn-policy 1", 2);
    // Not the policy of its logs.
    let message = fails(db, "prepared {db} --commit one --txn-policy 1", 3);
    assert!(message.contains("WritePolicy"), "{message}");
    fails(db, "prepared {db} --ttl", 2);
    fails(db, "prepared {db} --secondary-path {db}/second", 2);
    fails(db, "prepared {db} --db {db}", 2);
    fails(db, "prepared {db}/nothing", 3);
    fails(db, "prepared {db}/nothing --commit one", 3);
    assert_eq!(prints(db, "prepared {db}"), listed);
    assert_eq!(run(db, "prepared").status.code(), Some(2));
}
