//! Deletions in place of single deletions.

use super::{Batch, Op, tags};
use crate::error::Result;
use crate::key::ValueType;
use crate::protection::KvSum;

impl Batch {
    /// Makes each single deletion a deletion, which deletes the same and more. Everything else,
    /// checksums and marks included, stays as it is.
    ///
    /// # Errors
    /// `Corruption` if the bytes are not a batch.
    pub fn delete_for_good(&mut self) -> Result<()> {
        let mut found = Vec::new();
        let mut ops = self.ops();
        let (mut at, mut entries) = (ops.offset(), 0);
        while let Some(op) = ops.next() {
            if let Op::Entry { cf, ty, .. } = op? {
                if ty == ValueType::SingleDeletion {
                    found.push((at, entries, cf));
                }
                entries += 1;
            }
            at = ops.offset();
        }
        for (at, entry, cf) in found {
            self.rep[at] = match self.rep[at] {
                tags::CF_SINGLE_DELETION => tags::CF_DELETION,
                _ => ValueType::Deletion as u8,
            };
            if let Some(sum) = self.sums.as_mut().and_then(|sums| sums.get_mut(entry)) {
                let of_key = KvSum::from_batch(*sum, cf, ValueType::SingleDeletion);
                *sum = of_key.in_batch(cf, ValueType::Deletion);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_deletions_become_deletions_where_they_stand() {
        let batch = |single| {
            let mut batch = Batch::default();
            batch.protect().unwrap();
            batch.push(0, ValueType::Value, b"a", b"1");
            batch.push(0, single, b"b", b"");
            batch.push_log_data(b"data");
            batch.push(300, single, b"c", b"");
            batch.push(0, ValueType::Merge, b"d", b"2");
            batch
        };
        let mut changed = batch(ValueType::SingleDeletion);
        changed.delete_for_good().unwrap();
        assert_eq!(changed, batch(ValueType::Deletion));
        changed.verify().unwrap();
        changed.delete_for_good().unwrap();
        assert_eq!(changed, batch(ValueType::Deletion));
    }

    #[test]
    fn damage_is_told() {
        let mut batch = Batch::default();
        batch.push(0, ValueType::SingleDeletion, b"b", b"");
        batch.rep.pop();
        assert!(batch.delete_for_good().is_err());
    }
}
