//! Write batches: several changes, all or none, and how durable they are.
//!
//! ```sh
//! cargo run -p whitewater --example batches
//! ```

use std::error::Error;
use whitewater::{DB, WriteBatch, WriteOptions};

/// Moves `amount` between two accounts. Both balances change, or neither does,
/// whatever happens to the process meanwhile.
fn transfer(db: &DB, from: &str, to: &str, amount: u64) -> Result<(), Box<dyn Error>> {
    let left = balance(db, from)?
        .checked_sub(amount)
        .ok_or("not enough in the account")?;
    let mut batch = WriteBatch::default();
    batch.put(from, left.to_be_bytes());
    batch.put(to, (balance(db, to)? + amount).to_be_bytes());

    // Without a sync, an acknowledged write survives the death of the process, but a
    // power failure may take it. With one, it survives that as well.
    let mut synced = WriteOptions::default();
    synced.set_sync(true);
    db.write_opt(batch, &synced)?;
    Ok(())
}

fn balance(db: &DB, account: &str) -> Result<u64, Box<dyn Error>> {
    match db.get(account)? {
        Some(bytes) => Ok(u64::from_be_bytes(bytes.as_slice().try_into()?)),
        None => Ok(0),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let db = DB::open_default(dir.path())?;
    db.put("ada", 100_u64.to_be_bytes())?;

    transfer(&db, "ada", "grace", 30)?;
    assert!(transfer(&db, "grace", "ada", 1_000).is_err());
    assert_eq!((balance(&db, "ada")?, balance(&db, "grace")?), (70, 30));

    // Later changes of a batch count after earlier ones, also for the same key.
    let mut batch = WriteBatch::default();
    for day in 1..=31 {
        batch.put(format!("2026-05-{day:02}"), "dry");
    }
    batch.delete_range("2026-05-10", "2026-05-20");
    batch.put("2026-05-15", "rain");
    println!("{} changes, {} bytes", batch.len(), batch.size_in_bytes());
    db.write(batch)?;
    assert_eq!(db.get("2026-05-10")?, None);
    assert_eq!(db.get("2026-05-15")?.as_deref(), Some(&b"rain"[..]));
    assert_eq!(db.get("2026-05-20")?.as_deref(), Some(&b"dry"[..]));
    Ok(())
}
