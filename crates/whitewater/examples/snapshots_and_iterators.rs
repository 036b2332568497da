//! Snapshots and iterators: reading one moment while others write.
//!
//! ```sh
//! cargo run -p whitewater --example snapshots_and_iterators
//! ```

use std::error::Error;
use std::thread;
use whitewater::{DB, Direction, IteratorMode, PrefixRange, ReadOptions, WriteBatch};

fn number(bytes: &[u8]) -> Result<i64, Box<dyn Error>> {
    Ok(std::str::from_utf8(bytes)?.parse()?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let db = DB::open_default(dir.path())?;
    for shelf in 0..10 {
        db.put(format!("stock/{shelf}"), "100")?;
    }
    db.put("visitors", "0")?;

    // A writer moves stock between shelves. Its batches never change the sum.
    let sums = thread::scope(|scope| {
        let writer = scope.spawn(|| {
            (1..100_i64).try_for_each(|moved| {
                let mut batch = WriteBatch::default();
                batch.put("stock/3", (100 - moved).to_string());
                batch.put("stock/7", (100 + moved).to_string());
                db.write(batch)
            })
        });
        let mut sums = Vec::new();
        for _ in 0..20 {
            // Everything read through a snapshot is of one moment, and a batch is in
            // it as a whole or not at all. While it lives, compactions keep what it
            // shows: do not hold one for long.
            let snapshot = db.snapshot();
            let mut stock = ReadOptions::default();
            stock.set_iterate_range(PrefixRange("stock/"));
            let mut sum = 0;
            for entry in snapshot.iterator_opt(IteratorMode::Start, stock) {
                sum += number(&entry?.1)?;
            }
            sums.push(sum);
        }
        writer.join().expect("the writer does not panic")?;
        Ok::<_, Box<dyn Error>>(sums)
    })?;
    println!("sums: {sums:?}");
    assert!(sums.iter().all(|sum| *sum == 1_000));

    // Backwards from the last key that is not greater than the one given.
    let back = IteratorMode::From(b"stock/4x", Direction::Reverse);
    let keys = db.iterator(back).map(|entry| entry.map(|(key, _)| key));
    let keys = keys.collect::<Result<Vec<_>, _>>()?;
    assert_eq!(keys.first().map(|key| &**key), Some(&b"stock/4"[..]));
    assert_eq!(keys.len(), 5);

    // A raw iterator does not copy, and moves both ways. When it is not valid, its
    // status tells the end from a failure.
    let mut iterator = db.raw_iterator();
    iterator.seek("stock/8");
    iterator.next();
    assert_eq!(iterator.key(), Some(&b"stock/9"[..]));
    iterator.prev();
    assert_eq!(iterator.key(), Some(&b"stock/8"[..]));
    iterator.seek("zebra");
    assert!(!iterator.valid());
    iterator.status()?;
    Ok(())
}
