//! Timestamps that the keys of a batch are given after they were added.

use crate::entry::check_lengths;
use whitewater_storage::batch::{Batch, Mark, Op};
use whitewater_storage::key::ValueType;
use whitewater_storage::{Error, Result};

/// Which operations of a batch have a timestamp, by their numbers.
#[derive(Debug, Clone, Default)]
pub(super) struct StampedAt {
    /// All before this one have: the batch was made of bytes.
    below: u32,
    /// These have, too; in order.
    numbers: Vec<u32>,
}

impl StampedAt {
    /// The first `count` operations.
    pub fn first(count: u32) -> Self {
        StampedAt {
            below: count,
            numbers: Vec::new(),
        }
    }

    /// Notes the operation `number`, which is the last one.
    pub fn note(&mut self, number: u32) {
        self.numbers.push(number);
    }

    /// Forgets all but the first `count` operations.
    pub fn truncate(&mut self, count: u32) {
        self.below = self.below.min(count);
        let kept = self.numbers.partition_point(|number| *number < count);
        self.numbers.truncate(kept);
    }

    fn has(&self, number: u32) -> bool {
        number < self.below || self.numbers.binary_search(&number).is_ok()
    }
}

/// Column families, each with its number of operations that have a timestamp.
pub(super) type Counts = Vec<(u32, u32)>;

/// A batch whose keys have been given a timestamp.
#[derive(Debug, Default)]
pub(super) struct Restamped {
    pub batch: Batch,
    pub at: StampedAt,
    pub counts: Counts,
    /// Where the marks of the old batch are in this one, and the counts there.
    pub marks: Vec<(Mark, Counts)>,
}

impl Restamped {
    fn count(&mut self, cf: u32) {
        match self.counts.iter_mut().find(|(id, _)| *id == cf) {
            Some((_, count)) => *count += 1,
            None => self.counts.push((cf, 1)),
        }
    }
}

/// `batch` with the timestamp `ts` behind the keys of column families with timestamps: `size_of`
/// returns their size. Those operations that `at` names have one, which is replaced. `marks` are
/// the savepoints of the batch, in order.
///
/// # Errors
/// `InvalidArgument` if `ts` has another size, for a key that is shorter than its timestamp, and
/// for a key and value that are too long with it; `Corruption` if the batch is damaged.
pub(super) fn restamped(
    batch: &Batch,
    at: &StampedAt,
    marks: &[Mark],
    ts: &[u8],
    mut size_of: impl FnMut(u32) -> usize,
) -> Result<Restamped> {
    batch.verify()?;
    let mut again = Restamped {
        batch: batch.empty_like(),
        at: StampedAt::first(at.below),
        ..Restamped::default()
    };
    // The batch as it is up to here, to find the marks.
    let mut same = batch.empty_like();
    let find = |again: &mut Restamped, same: &Batch| {
        while marks.get(again.marks.len()) == Some(&same.mark()) {
            let counts = again.counts.clone();
            again.marks.push((again.batch.mark(), counts));
        }
    };
    find(&mut again, &same);
    let mut number = 0;
    for op in batch.ops() {
        let op = op?;
        match op {
            Op::Entry { cf, ty, key, value } => {
                let (size, has) = (size_of(cf), at.has(number));
                if size > 0 {
                    let key = with_timestamp(cf, key, has, (ts, size))?;
                    let end = match ty {
                        ValueType::RangeDeletion => with_timestamp(cf, value, has, (ts, size))?,
                        _ => value.to_vec(),
                    };
                    check_lengths(&key, &end)?;
                    again.batch.push(cf, ty, &key, &end);
                    again.count(cf);
                } else {
                    again.batch.push_op(&op);
                }
                if number >= at.below && (has || size > 0) {
                    again.at.note(number);
                }
                number += 1;
            }
            op => again.batch.push_op(&op),
        }
        if !marks.is_empty() {
            same.push_op(&op);
            find(&mut again, &same);
        }
    }
    Ok(again)
}

/// `key` of the column family `cf`, which `has` a timestamp or not, with the timestamp `ts` of
/// `size` bytes.
fn with_timestamp(cf: u32, key: &[u8], has: bool, (ts, size): (&[u8], usize)) -> Result<Vec<u8>> {
    if ts.len() != size {
        return Err(Error::invalid(format_args!(
            "timestamp of {} bytes for column family {cf}, which has timestamps of {size}",
            ts.len()
        )));
    }
    let len = if has {
        key.len().checked_sub(size).ok_or_else(|| {
            Error::invalid(format_args!(
                "a key of {} bytes in column family {cf}, which has timestamps of {size}",
                key.len()
            ))
        })?
    } else {
        key.len()
    };
    Ok([&key[..len], ts].concat())
}
