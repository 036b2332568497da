//! Backups of databases with transactions, and of what is not quite a database.

use super::{BACKUPS, RESTORED, engine_on, engine_options, env};
use crate::harness::{DIR, Db, open_all, tiny_on};
use std::path::Path;
use whitewater::backup::{BackupEngine, CreateBackupOptions, RestoreOptions};
use whitewater::fs::Fs;
use whitewater::fs::mem::MemFs;
use whitewater::{
    ErrorKind, MultiThreaded, OptimisticTransactionDB, Options, TransactionDB,
    TransactionDBOptions, TransactionOptions, WriteOptions, WritePolicy,
};

type TxnDb = TransactionDB<MultiThreaded>;

fn open(options: &Options, policy: WritePolicy, dir: &str) -> TxnDb {
    let mut of_transactions = TransactionDBOptions::default();
    of_transactions.set_write_policy(policy);
    TxnDb::open(options, &of_transactions, dir).unwrap()
}

/// What was prepared is prepared in the restored database, and can be decided there.
#[test]
fn prepared_transactions_are_in_a_backup() {
    for policy in [WritePolicy::WriteCommitted, WritePolicy::WritePrepared] {
        for flush in [false, true] {
            let fs = MemFs::new();
            let options = tiny_on(fs.clone());
            let db = open(&options, policy, DIR);
            db.put("plain", "1").unwrap();
            let begin = |name: &str| {
                let txn = db.transaction_opt(&WriteOptions::default(), &TransactionOptions::new());
                txn.set_name(name.as_bytes()).unwrap();
                txn.put(name, "2").unwrap();
                txn
            };
            let (commit, rollback, open_one) = (begin("commit"), begin("rollback"), begin("open"));
            commit.prepare().unwrap();
            rollback.prepare().unwrap();
            let mut engine = engine_on(&fs);
            let mut how = CreateBackupOptions::default();
            how.set_flush_before_backup(flush);
            assert_eq!(engine.create_new_backup_opt(&how, &db).unwrap(), 1);
            commit.commit().unwrap();
            rollback.rollback().unwrap();
            open_one.commit().unwrap();
            engine
                .restore_from_latest_backup(RESTORED, RESTORED, &RestoreOptions::default())
                .unwrap();
            let restored = open(&options, policy, RESTORED);
            let get = |key: &str| restored.get(key).unwrap();
            assert_eq!(get("plain").as_deref(), Some(&b"1"[..]));
            assert_eq!(get("commit"), None);
            let prepared = restored.prepared_transactions();
            assert_eq!(prepared.len(), 2, "{policy:?}, flush {flush}");
            for txn in prepared {
                match txn.get_name().as_deref() {
                    Some(b"commit") => txn.commit().unwrap(),
                    _ => txn.rollback().unwrap(),
                }
            }
            assert_eq!(get("commit").as_deref(), Some(&b"2"[..]));
            assert_eq!(get("rollback"), None);
            assert_eq!(get("open"), None);
        }
    }
}

#[test]
fn an_optimistic_database_is_backed_up_as_any_other() {
    let fs = MemFs::new();
    let options = tiny_on(fs.clone());
    let db: OptimisticTransactionDB<MultiThreaded> =
        OptimisticTransactionDB::open(&options, DIR).unwrap();
    let txn = db.transaction();
    txn.put("committed", "1").unwrap();
    txn.commit().unwrap();
    let txn = db.transaction();
    txn.put("not", "1").unwrap();
    let mut engine = engine_on(&fs);
    engine.create_new_backup(&db).unwrap();
    txn.commit().unwrap();
    engine
        .restore_from_latest_backup(RESTORED, RESTORED, &RestoreOptions::default())
        .unwrap();
    let restored: OptimisticTransactionDB<MultiThreaded> =
        OptimisticTransactionDB::open(&options, RESTORED).unwrap();
    assert!(restored.get("committed").unwrap().is_some());
    assert!(restored.get("not").unwrap().is_none());
}

/// What does not write cannot say which of its files are needed at a moment.
#[test]
fn databases_that_are_read_only_are_not_backed_up() {
    let fs = MemFs::new();
    let options = tiny_on(fs.clone());
    let db = open_all(&options, Path::new(DIR)).unwrap();
    db.put("a", "1").unwrap();
    drop(db);
    let db = Db::open_for_read_only(&options, DIR, false).unwrap();
    let mut engine = engine_on(&fs);
    let e = engine.create_new_backup(&db).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::NotSupported, "{e}");
    assert!(engine.get_backup_info().is_empty());
}

#[test]
fn a_read_only_engine_reads_and_writes_nothing() {
    let fs = MemFs::new();
    let options = tiny_on(fs.clone());
    let db = open_all(&options, Path::new(DIR)).unwrap();
    let e = BackupEngine::open_read_only(&engine_options(), &env(&fs)).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::IOError, "{e}");
    assert!(!fs.exists(Path::new(BACKUPS)).unwrap());
    for n in 0..4 {
        db.put("n", [n]).unwrap();
        engine_on(&fs).create_new_backup(&db).unwrap();
    }
    // Half of a backup, which another engine may be making.
    let half = Path::new(BACKUPS).join("private/5");
    fs.create_dir_all(&half).unwrap();
    fs.create(&half.join("CURRENT")).unwrap();
    let before = super::files_in(&fs, BACKUPS);
    let mut of_engine = engine_options();
    of_engine.set_max_valid_backups_to_open(2);
    let mut engine = BackupEngine::open_read_only(&of_engine, &env(&fs)).unwrap();
    let ids: Vec<u32> = engine
        .get_backup_info()
        .iter()
        .map(|i| i.backup_id)
        .collect();
    assert_eq!(ids, [3, 4]);
    for e in [
        engine.create_new_backup(&db).unwrap_err(),
        engine.delete_backup(4).unwrap_err(),
        engine.purge_old_backups(1).unwrap_err(),
        engine.garbage_collect().unwrap_err(),
    ] {
        assert_eq!(e.kind(), ErrorKind::NotSupported, "{e}");
    }
    engine.verify_backup_with_checksum(4).unwrap();
    assert_eq!(
        super::restored(&mut engine, &fs, 3)
            .values()
            .next()
            .unwrap(),
        &[2]
    );
    assert_eq!(super::files_in(&fs, BACKUPS), before);
}
