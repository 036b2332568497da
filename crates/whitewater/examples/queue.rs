//! A durable queue: producers append, a consumer takes from the front.
//!
//! ```sh
//! cargo run -p whitewater --example queue
//! ```
//!
//! Keys are big-endian numbers, so that they sort by age. The consumer remembers how far
//! it is and begins there: an iterator that began at the first key would pass over the
//! deletions of all items taken before, until compactions have removed them.

use std::error::Error;
use std::sync::{Mutex, PoisonError};
use std::thread;
use whitewater::{DB, Direction, IteratorMode, WriteBatch};

struct Queue {
    db: DB,
    /// The number of the next item. Locked until that item is written: otherwise an item
    /// could appear behind a newer one, where the consumer has passed already.
    next: Mutex<u64>,
}

impl Queue {
    /// The queue of the database `db`, which may hold items of an earlier run.
    fn new(db: DB) -> Result<Self, whitewater::Error> {
        let last = db.iterator(IteratorMode::End).next().transpose()?;
        let next = last.map_or(0, |(key, _)| number(&key) + 1);
        Ok(Queue {
            db,
            next: Mutex::new(next),
        })
    }

    fn push(&self, item: &str) -> Result<(), whitewater::Error> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        self.db.put(next.to_be_bytes(), item)?;
        *next += 1;
        Ok(())
    }

    /// Takes up to `most` items from `from` on, and returns them with where to go on.
    fn take(&self, from: u64, most: usize) -> Result<(Vec<String>, u64), whitewater::Error> {
        let (mut items, mut next) = (Vec::new(), from);
        let mut taken = WriteBatch::default();
        let front = from.to_be_bytes();
        let front = IteratorMode::From(&front, Direction::Forward);
        for entry in self.db.iterator(front).take(most) {
            let (key, value) = entry?;
            items.push(String::from_utf8_lossy(&value).into_owned());
            // Each key is put once, so its deletion need not outlive the two.
            taken.single_delete(&key);
            next = number(&key) + 1;
        }
        self.db.write(taken)?;
        Ok((items, next))
    }
}

fn number(key: &[u8]) -> u64 {
    u64::from_be_bytes(key.try_into().expect("only `push` makes keys"))
}

fn main() -> Result<(), Box<dyn Error>> {
    const PRODUCERS: u64 = 3;
    const ITEMS: u64 = 100;
    let dir = tempfile::tempdir()?;
    let queue = Queue::new(DB::open_default(dir.path())?)?;

    thread::scope(|scope| {
        let producers: Vec<_> = (0..PRODUCERS)
            .map(|producer| {
                let queue = &queue;
                scope.spawn(move || {
                    (0..ITEMS).try_for_each(|item| queue.push(&format!("{producer}:{item}")))
                })
            })
            .collect();
        producers
            .into_iter()
            .try_for_each(|producer| producer.join().expect("producers do not panic"))
    })?;

    // Half of the items, and after a restart the others.
    let half = (PRODUCERS * ITEMS / 2) as usize;
    let (mut items, _) = queue.take(0, half)?;
    assert_eq!(items.len(), half);
    drop(queue);
    let queue = Queue::new(DB::open_default(dir.path())?)?;
    let mut from = 0;
    loop {
        let (more, next) = queue.take(from, 16)?;
        if more.is_empty() {
            break;
        }
        items.extend(more);
        from = next;
    }

    // Nothing is lost, nothing comes twice, and each producer's items are in order.
    println!("{} items", items.len());
    for producer in 0..PRODUCERS {
        let prefix = format!("{producer}:");
        let of_this = items.iter().filter_map(|item| item.strip_prefix(&prefix));
        let expected: Vec<_> = (0..ITEMS).map(|item| item.to_string()).collect();
        assert!(of_this.eq(expected.iter()));
    }
    Ok(())
}
