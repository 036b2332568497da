//! A merge operator: counters that threads add to without reading them first.
//!
//! ```sh
//! cargo run -p whitewater --example merge_counter
//! ```

use std::error::Error;
use std::thread;
use whitewater::{DB, MergeOperands, Options};

/// Adds little-endian numbers. Sums of operands are operands, so one function serves
/// full and partial merges. `None` is a failure, which the reader of the key gets.
fn add(_key: &[u8], existing: Option<&[u8]>, operands: &MergeOperands) -> Option<Vec<u8>> {
    let mut sum = 0_u64;
    for bytes in existing.into_iter().chain(operands) {
        sum = sum.wrapping_add(u64::from_le_bytes(bytes.try_into().ok()?));
    }
    Some(sum.to_le_bytes().to_vec())
}

fn count(db: &DB, key: &str) -> Result<u64, Box<dyn Error>> {
    let bytes = db.get(key)?.unwrap_or_else(|| vec![0; 8]);
    Ok(u64::from_le_bytes(bytes.as_slice().try_into()?))
}

fn main() -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let mut options = Options::default();
    options.create_if_missing(true);
    // Every opening must name the operator: operands cannot be read without it.
    options.set_merge_operator_associative("add", add);
    let db = DB::open(&options, dir.path())?;

    // Reading, adding and writing would lose counts here. Merging does not.
    const THREADS: u64 = 4;
    const VISITS: u64 = 1_000;
    thread::scope(|scope| {
        let visitors: Vec<_> = (0..THREADS)
            .map(|_| {
                scope
                    .spawn(|| (0..VISITS).try_for_each(|_| db.merge("visits", 1_u64.to_le_bytes())))
            })
            .collect();
        visitors
            .into_iter()
            .try_for_each(|visitor| visitor.join().expect("visitors do not panic"))
    })?;
    println!("{} visits", count(&db, "visits")?);
    assert_eq!(count(&db, "visits")?, THREADS * VISITS);

    // A put sets a new beginning.
    db.put("visits", 10_u64.to_le_bytes())?;
    db.merge("visits", 5_u64.to_le_bytes())?;
    assert_eq!(count(&db, "visits")?, 15);
    Ok(())
}
