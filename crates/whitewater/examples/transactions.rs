//! A bank: transfers by pessimistic and by optimistic transactions, and a payment that is
//! prepared, survives the end of the process, and is committed later.
//!
//! ```sh
//! cargo run -p whitewater --example transactions
//! ```
//!
//! Both kinds of transaction can fail because of others, so both are begun again until they
//! succeed. The crate's guide on transactions says which kind suits what.

use std::error::Error as StdError;
use std::path::Path;
use std::thread;
use whitewater::{
    Error, ErrorKind, OptimisticTransactionDB, Options, Transaction, TransactionDB,
    TransactionDBOptions, TransactionOptions, WriteOptions,
};

const ACCOUNTS: u64 = 8;
const START: u64 = 1000;
const THREADS: u64 = 4;
const TRANSFERS: u64 = 200;

fn main() -> Result<(), Box<dyn StdError>> {
    let dir = tempfile::tempdir()?;
    pessimistic(&dir.path().join("pessimistic"))?;
    optimistic(&dir.path().join("optimistic"))?;
    prepared(&dir.path().join("prepared"))?;
    Ok(())
}

fn pessimistic(path: &Path) -> Result<(), Error> {
    let db: TransactionDB = TransactionDB::open_default(path)?;
    for account in 0..ACCOUNTS {
        db.put(key(account), START.to_le_bytes())?;
    }
    // Two transfers in opposite directions lock their accounts in opposite orders. The one that
    // closes the circle fails at once, instead of waiting until a timeout is over.
    let mut options = TransactionOptions::default();
    options.set_deadlock_detect(true);
    let retries = in_threads(|from, to, amount| {
        let transaction = db.transaction_opt(&WriteOptions::default(), &options);
        transfer(&transaction, from, to, amount)?;
        transaction.commit()
    })?;
    let mut sum = 0;
    for account in 0..ACCOUNTS {
        sum += balance(db.get(key(account))?);
    }
    assert_eq!(sum, ACCOUNTS * START);
    println!(
        "pessimistic: {} transfers, {retries} retries",
        THREADS * TRANSFERS
    );
    Ok(())
}

fn optimistic(path: &Path) -> Result<(), Error> {
    let db: OptimisticTransactionDB = OptimisticTransactionDB::open_default(path)?;
    for account in 0..ACCOUNTS {
        db.put(key(account), START.to_le_bytes())?;
    }
    let retries = in_threads(|from, to, amount| {
        let transaction = db.transaction();
        transfer(&transaction, from, to, amount)?;
        transaction.commit()
    })?;
    let mut sum = 0;
    for account in 0..ACCOUNTS {
        sum += balance(db.get(key(account))?);
    }
    assert_eq!(sum, ACCOUNTS * START);
    println!(
        "optimistic: {} transfers, {retries} retries",
        THREADS * TRANSFERS
    );
    Ok(())
}

/// The same for both kinds: what differs is whether this fails because of others, or the commit.
fn transfer<D>(
    transaction: &Transaction<'_, D>,
    from: u64,
    to: u64,
    amount: u64,
) -> Result<(), Error> {
    // A plain `get` would lose updates: somebody else could change the balance in between.
    let payer = balance(transaction.get_for_update(key(from), true)?);
    let payee = balance(transaction.get_for_update(key(to), true)?);
    let amount = amount.min(payer);
    transaction.put(key(from), (payer - amount).to_le_bytes())?;
    transaction.put(key(to), (payee + amount).to_le_bytes())
}

/// Makes transfers in several threads. Returns how many attempts were in vain.
fn in_threads(attempt: impl Fn(u64, u64, u64) -> Result<(), Error> + Sync) -> Result<u64, Error> {
    let work = |thread: u64| {
        let mut retries = 0;
        for n in 0..TRANSFERS {
            let from = (thread + n) % ACCOUNTS;
            let to = (from + 1 + n % (ACCOUNTS - 1)) % ACCOUNTS;
            while let Err(e) = attempt(from, to, n % 10) {
                if !is_conflict(&e) {
                    return Err(e);
                }
                retries += 1;
            }
        }
        Ok(retries)
    };
    thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = (0..THREADS)
            .map(|id| scope.spawn(move || work(id)))
            .collect();
        let joined = threads
            .into_iter()
            .map(|t| t.join().expect("a transfer panicked"));
        joined.sum()
    })
}

/// Whether the same transaction, begun again, may succeed.
fn is_conflict(e: &Error) -> bool {
    matches!(
        e.kind(),
        ErrorKind::Busy | ErrorKind::TimedOut | ErrorKind::TryAgain
    )
}

/// Two-phase commit. A coordinator outside of this program knows what is to become of a payment
/// that it has asked for; the database keeps its promise until it is told.
fn prepared(path: &Path) -> Result<(), Error> {
    let mut options = Options::default();
    options.create_if_missing(true);
    let of_transactions = TransactionDBOptions::default();
    let mut synced = WriteOptions::default();
    synced.set_sync(true); // what is promised holds after a power failure
    {
        let db: TransactionDB = TransactionDB::open(&options, &of_transactions, path)?;
        for name in ["payment 7", "payment 8"] {
            let transaction = db.transaction_opt(&synced, &TransactionOptions::default());
            transaction.set_name(name.as_bytes())?;
            transaction.put(name, "paid")?;
            transaction.prepare()?;
        }
        assert_eq!(db.get("payment 7")?, None);
    } // the process ends before it is told

    let db: TransactionDB = TransactionDB::open(&options, &of_transactions, path)?;
    for transaction in db.prepared_transactions() {
        match transaction.get_name().as_deref() {
            Some(b"payment 7") => transaction.commit()?,
            _ => transaction.rollback()?,
        }
    }
    assert_eq!(db.get("payment 7")?.as_deref(), Some(&b"paid"[..]));
    assert_eq!(db.get("payment 8")?, None);
    println!("prepared: one payment was committed after a reopen, one rolled back");
    Ok(())
}

fn key(account: u64) -> Vec<u8> {
    format!("account/{account}").into_bytes()
}

fn balance(stored: Option<Vec<u8>>) -> u64 {
    let bytes = stored.and_then(|bytes| bytes.try_into().ok());
    bytes.map_or(0, u64::from_le_bytes)
}
