//! Reading and writing several keys as if nobody else were there.
//!
//! # Which kind
//!
//! | | take it | how it treats others |
//! |---|---|---|
//! | [`WriteBatch`](crate::WriteBatch) of a [`DB`](crate::DB) | if what is written does not depend on what was read | all of it is visible at once; two batches do not notice each other |
//! | transaction of a [`TransactionDB`](crate::TransactionDB), *pessimistic* | if others often want the same keys, if it is expensive to begin again, or for two-phase commit | it locks the keys that it uses; others wait |
//! | transaction of an [`OptimisticTransactionDB`](crate::OptimisticTransactionDB) | if others rarely want the same keys | it locks nothing; its commit fails if others have changed the keys that it used |
//!
//! The kind is chosen when the database is opened. The files are the same, so the next opening may
//! choose another one, or a plain `DB`, unless a
//! [prepared transaction](#two-phase-commit) is undecided.
//!
//! Writes outside of transactions, such as [`put`](crate::TransactionDB::put) of the database, take
//! part: with pessimistic transactions they lock their keys for the time that they take, and with
//! optimistic ones they are noticed. Nothing is written before the commit, and a transaction that
//! is dropped has written nothing, unless it is prepared. It sees its own writes. A commit is
//! visible to others as a whole. It is as durable as the [`WriteOptions`](crate::WriteOptions) of
//! the transaction say (see [`durability`](super::durability)).
//!
//! # What is guaranteed
//!
//! That depends on how a transaction reads. Both kinds guarantee the same.
//!
//! | reads | isolation | what may still happen |
//! |---|---|---|
//! | [`get`](crate::Transaction::get), iterators | read committed: never what was not committed | two reads show different states; a value is changed between the read and a write that depends on it (*lost update*) |
//! | at [`snapshot`](crate::Transaction::snapshot), with [`set_snapshot`](crate::TransactionOptions::set_snapshot) | snapshot isolation: all reads show one state, and of two transactions that write a key at the same time one fails | two transactions read the same keys and each writes another of them, which neither would have done after the other (*write skew*) |
//! | [`get_for_update`](crate::Transaction::get_for_update) for every key that a write depends on | serializable for these keys: as if the transactions had run one after another | a key that was not asked for appears in a range that an iterator went over (*phantom*) |
//!
//! Without `set_snapshot` a key must not change from its first write or read for update on; with
//! it, not from the snapshot on. `set_snapshot` alone does not change what `get` shows, which is
//! always the newest state. Iterators lock nothing: to guard a range, read one key for update
//! that everybody who changes the range reads for update, too.
//!
//! ```
//! use whitewater::{ErrorKind, TransactionDB, TransactionOptions, WriteOptions};
//!
//! # fn main() -> Result<(), whitewater::Error> {
//! # let dir = tempfile::tempdir().unwrap();
//! let db: TransactionDB = TransactionDB::open_default(dir.path())?;
//! db.put("seats", "1")?;
//!
//! let mut options = TransactionOptions::default();
//! options.set_snapshot(true);
//! let booking = db.transaction_opt(&WriteOptions::default(), &options);
//! db.put("seats", "0")?; // somebody else is faster
//!
//! assert_eq!(booking.snapshot().get("seats")?.as_deref(), Some(&b"1"[..]));
//! assert_eq!(booking.get("seats")?.as_deref(), Some(&b"0"[..]));
//! let conflict = booking.put("seats", "0").unwrap_err();
//! assert_eq!(conflict.kind(), ErrorKind::Busy);
//! # Ok(())
//! # }
//! ```
//!
//! # Trying again
//!
//! A conflict is an error of the call that meets it. Drop the transaction and begin again, with
//! all reads:
//!
//! | [kind](crate::ErrorKind) | pessimistic | optimistic |
//! |---|---|---|
//! | `Busy` | a key has changed since the snapshot, or a deadlock | from `commit`: a key has changed |
//! | `TimedOut` | somebody else had a key locked for too long | - |
//! | `Expired` | the [expiration](#deadlocks-timeouts-expiration) was over | - |
//! | `TryAgain` | - | never here; RocksDB returns it when its memtables do not reach back far enough |
//!
//! After a `TimedOut` or `Busy` a pessimistic transaction can also be used on: the call that failed
//! has done nothing, and earlier locks are still held.
//!
//! ```
//! use whitewater::{Error, ErrorKind, TransactionDB, TransactionOptions, WriteOptions};
//!
//! fn visit(db: &TransactionDB, page: &str) -> Result<u64, Error> {
//!     let mut options = TransactionOptions::default();
//!     options.set_deadlock_detect(true);
//!     let attempt = || -> Result<u64, Error> {
//!         let transaction = db.transaction_opt(&WriteOptions::default(), &options);
//!         let stored = transaction.get_for_update(page, true)?;
//!         let visits = stored.map_or(0, |v| u64::from_le_bytes(v.try_into().unwrap())) + 1;
//!         transaction.put(page, visits.to_le_bytes())?;
//!         transaction.commit()?;
//!         Ok(visits)
//!     };
//!     loop {
//!         match attempt() {
//!             Err(e) if matches!(e.kind(), ErrorKind::Busy | ErrorKind::TimedOut) => {}
//!             done => return done,
//!         }
//!     }
//! }
//!
//! # fn main() -> Result<(), whitewater::Error> {
//! # let dir = tempfile::tempdir().unwrap();
//! let db: TransactionDB = TransactionDB::open_default(dir.path())?;
//! std::thread::scope(|scope| {
//!     for _ in 0..2 {
//!         scope.spawn(|| (0..10).for_each(|_| assert!(visit(&db, "home").is_ok())));
//!     }
//! });
//! assert_eq!(visit(&db, "home")?, 21);
//! # Ok(())
//! # }
//! ```
//!
//! The same with an optimistic transaction. Only its commit fails because of others. Whatever it
//! does outside of the database before that may have been in vain.
//!
//! ```
//! use whitewater::{Error, ErrorKind, OptimisticTransactionDB};
//!
//! fn take_one(db: &OptimisticTransactionDB) -> Result<bool, Error> {
//!     loop {
//!         let transaction = db.transaction();
//!         let stock = transaction.get_for_update("stock", true)?.map_or(0, |v| v[0]);
//!         if stock == 0 {
//!             return Ok(false);
//!         }
//!         transaction.put("stock", [stock - 1])?;
//!         match transaction.commit() {
//!             Ok(()) => return Ok(true),
//!             Err(e) if matches!(e.kind(), ErrorKind::Busy | ErrorKind::TryAgain) => {}
//!             Err(e) => return Err(e),
//!         }
//!     }
//! }
//!
//! # fn main() -> Result<(), whitewater::Error> {
//! # let dir = tempfile::tempdir().unwrap();
//! let db: OptimisticTransactionDB = OptimisticTransactionDB::open_default(dir.path())?;
//! db.put("stock", [1])?;
//! assert!(take_one(&db)?);
//! assert!(!take_one(&db)?);
//! # Ok(())
//! # }
//! ```
//!
//! # Deadlocks, timeouts, expiration
//!
//! Two pessimistic transactions that lock the same keys in different orders can wait for each
//! other. Lock keys in one order everywhere, for example sorted, and this does not happen. A batch
//! outside of transactions does so by itself. Otherwise there are two ways out:
//!
//! * The *timeout* ends every wait: one second, unless
//!   [the database](crate::TransactionDBOptions::set_txn_lock_timeout) or
//!   [the transaction](crate::TransactionOptions::set_lock_timeout) says otherwise. In a circle in
//!   which no other has a shorter timeout it ends at once, with `TimedOut` as well.
//! * With [`set_deadlock_detect`](crate::TransactionOptions::set_deadlock_detect) the transaction
//!   that closes a circle fails with `Busy` soon, and the others go on. All transactions that can
//!   be part of a circle should have it set.
//!   [`deadlocks`](crate::TransactionDB::deadlocks) returns the last five circles, with keys.
//!
//! A transaction with an [expiration](crate::TransactionOptions::set_expiration) loses its locks
//! after that time to whoever wants them. It then cannot be committed, so nobody overwrites what
//! the new holder has read. It guards against transactions that were forgotten. Without one, a lock
//! is held until its transaction has ended.
//!
//! A shared lock ([`get_for_update`](crate::Transaction::get_for_update) with `exclusive` false)
//! lets others read for update, too. Two that both want to write the key afterwards are a deadlock:
//! take it exclusively if a write is likely to follow.
//!
//! # Savepoints
//!
//! [`rollback_to_savepoint`](crate::Transaction::rollback_to_savepoint) takes back what was done
//! since [`set_savepoint`](crate::Transaction::set_savepoint), with the locks of keys that were
//! used since then only, and brings the snapshot of that time back. Savepoints can be nested.
//!
//! # Two-phase commit
//!
//! A transaction over several databases, or a database and something else, needs a moment at which
//! all of them can still commit and all of them can still roll back. A pessimistic transaction has
//! it between [`prepare`](crate::Transaction::prepare) and its decision:
//!
//! 1. give it a [name](crate::Transaction::set_name), by which it is found after a crash, and
//!    make it with [`set_sync`](crate::WriteOptions::set_sync), so that it survives a power
//!    failure;
//! 2. `prepare` everywhere;
//! 3. note in one place that it is to be committed, and make that durable: before the first
//!    `commit`, since from then on there is no way back;
//! 4. `commit` or `rollback` everywhere.
//!
//! After a crash, open all databases and decide on every prepared transaction before others write:
//! commit it if there is such a note, or else roll it back. Keep the note until all have committed.
//!
//! ```
//! use whitewater::{Options, TransactionDB, TransactionDBOptions};
//! use whitewater::{TransactionOptions, WriteOptions};
//!
//! # fn main() -> Result<(), whitewater::Error> {
//! # let dir = tempfile::tempdir().unwrap();
//! # let path = dir.path();
//! let mut synced = WriteOptions::default();
//! synced.set_sync(true);
//! let db: TransactionDB = TransactionDB::open_default(path)?;
//! let transaction = db.transaction_opt(&synced, &TransactionOptions::default());
//! transaction.set_name(b"payment 7")?;
//! transaction.put("paid", "7")?;
//! transaction.prepare()?;
//! drop(transaction); // it stays prepared,
//! drop(db); // beyond the end of the process
//!
//! let options = Options::default();
//! assert!(whitewater::DB::open(&options, path).is_err()); // it would be lost
//! let db: TransactionDB =
//!     TransactionDB::open(&options, &TransactionDBOptions::default(), path)?;
//! for transaction in db.prepared_transactions() {
//!     match transaction.get_name().as_deref() {
//!         Some(b"payment 7") => transaction.commit()?, // as the decision says
//!         _ => transaction.rollback()?,
//!     }
//! }
//! assert_eq!(db.get("paid")?.as_deref(), Some(&b"7"[..]));
//! # Ok(())
//! # }
//! ```
//!
//! | the process dies | the next opening finds it |
//! |---|---|
//! | before `prepare` has returned | prepared, or without a trace |
//! | after that | prepared, in [`prepared_transactions`](crate::TransactionDB::prepared_transactions) |
//! | before `commit` or `rollback` has returned | prepared, or committed or rolled back, as a whole |
//! | after that | committed or rolled back |
//!
//! Power failures are the same for transactions with `set_sync`; others may be lost, with all later
//! writes. If the *commit* of a prepared transaction fails, it is prepared as before, and
//! [`prepared_transactions`](crate::TransactionDB::prepared_transactions) hands it out again.
//!
//! A prepared transaction **keeps its locks** until it is decided: when it is dropped, when its
//! commit has failed, and after the next opening, which locks the keys that it writes. Until then
//! others cannot write them, and wait. It does not expire, and keeps the log, too, so decide on
//! every one. Prepare and decision are logged even if the transaction was made with
//! [`disable_wal`](crate::WriteOptions::disable_wal).
//!
//! # Write policies
//!
//! [`set_write_policy`](crate::TransactionDBOptions::set_write_policy) says when the writes of a
//! prepared transaction get into memtables. What transactions and readers see, and what survives
//! which failure, is the same.
//!
//! | | `WriteCommitted`, the default | `WritePrepared` |
//! |---|---|---|
//! | [`prepare`](crate::Transaction::prepare) | writes the log | writes the log and memtables; readers pass over that |
//! | [`commit`](crate::Transaction::commit) of a prepared one | as long as the transaction is large | a few bytes of log, however large it is |
//! | [`rollback`](crate::Transaction::rollback) of a prepared one | a few bytes of log | reads each key, and writes its value back |
//! | commit without prepare | one write | one write |
//! | reads while something is prepared | as ever | one look more for each version |
//! | [`CommitProtocol::Unordered`](crate::CommitProtocol::Unordered) | refused | allowed; snapshots do not change, and batches are seen whole |
//! | timestamps, [`inplace_update_support`](crate::Options::set_inplace_update_support), [`max_successive_merges`](crate::Options::set_max_successive_merges) | see [below](#limits) | refused when the database is opened |
//!
//! Take `WritePrepared` if transactions are large, and prepared, and others wait for their commits.
//! `WriteUnprepared` is the same here. With it RocksDB writes large transactions in parts, before
//! they are prepared, and an opening rolls such ones back if they were not prepared; here
//! [parts](crate::TransactionDBOptions::set_default_write_batch_flush_threshold) are refused.
//!
//! Another policy may open the database when all transactions are decided, everything is flushed
//! ([`flush`](crate::TransactionDB::flush) of each column family), and so nothing is left in the
//! log. Otherwise it refuses.
//!
//! ```
//! use whitewater::{Options, TransactionDB, TransactionDBOptions, WritePolicy};
//!
//! # fn main() -> Result<(), whitewater::Error> {
//! # let dir = tempfile::tempdir().unwrap();
//! # let path = dir.path();
//! let mut options = Options::default();
//! options.create_if_missing(true);
//! let mut of_transactions = TransactionDBOptions::default();
//! of_transactions.set_write_policy(WritePolicy::WritePrepared);
//! let db: TransactionDB = TransactionDB::open(&options, &of_transactions, path)?;
//! let import = db.transaction();
//! import.set_name(b"import 12")?;
//! for row in 0..1000u32 {
//!     import.put(row.to_be_bytes(), "...")?;
//! }
//! import.prepare()?; // the work is done here
//! let before = db.snapshot();
//! assert_eq!(db.get(7u32.to_be_bytes())?, None);
//! import.commit()?;
//! assert!(db.get(7u32.to_be_bytes())?.is_some());
//! assert_eq!(before.get(7u32.to_be_bytes())?, None);
//! # Ok(())
//! # }
//! ```
//!
//! # Limits
//!
//! * Transactions have no range deletions. With pessimistic transactions there are none outside
//!   of them, either, as ranges cannot be locked. With optimistic ones a range deletion or an
//!   ingestion waits for all commits that are under way.
//! * In column families with [timestamps](crate::Options::set_u64_timestamp_comparator) of 64 bits,
//!   transactions write keys without them; the commit gives them
//!   [its own](crate::Transaction::set_commit_timestamp), before or after they are prepared. Single
//!   deletions are refused there, and so are other write policies and optimistic transactions.
//! * Column families with
//!   [`set_inplace_update_support`](crate::Options::set_inplace_update_support) have no optimistic
//!   transactions, and no pessimistic ones with a snapshot.
//! * [`CommitProtocol::Unordered`](crate::CommitProtocol::Unordered) is refused when the database
//!   is opened, unless the [write policy](#write-policies) is `WritePrepared`. It shows writes
//!   before they are all there.
//! * Locks go by the bytes of keys, not by the comparator.
//! * All writes of a transaction are in memory until its commit.
//!   [`set_max_write_batch_size`](crate::TransactionOptions::set_max_write_batch_size) limits them.
//!
//! # Differences from RocksDB
//!
//! * Optimistic transactions are validated against tables, too: they keep no memtables in
//!   memory, and never fail with `TryAgain`. They notice plain writes and ingested tables between
//!   validation and insert, which RocksDB can miss.
//! * Opening a plain `DB` is refused in every case while a prepared transaction is undecided.
//!   RocksDB 7.8 loses it if all column families were flushed since.
//! * Prepared transactions are safe with
//!   [`CommitProtocol::Pipelined`](crate::CommitProtocol::Pipelined). In RocksDB a flush can lose
//!   them with pipelined writes.
//! * With the policy `WritePrepared`, reads never fail with `TryAgain`, and snapshots cost nothing
//!   that grows with the number of commits. A rollback undoes merges, too; RocksDB's does so with
//!   `rollback_merge_operands`. Single deletions are written as deletions: a rollback leaves more
//!   values of a key than one of them would meet. Pipelined commit is allowed, and unordered commit
//!   needs no [`set_two_write_queues`](crate::Options::set_two_write_queues).
//! * A prepared transaction takes no more writes. RocksDB accepts them, and loses them in a crash.
//! * A batch outside of transactions locks keys of single deletions as well.
//! * Waiting for a lock is in order of arrival, but for upgrades from shared to exclusive. A lock
//!   that two transactions share counts once against
//!   [`set_max_num_locks`](crate::TransactionDBOptions::set_max_num_locks).
//! * [`Transaction::snapshot`](crate::Transaction::snapshot) without a snapshot shows the newest
//!   state, and has a sequence number.
