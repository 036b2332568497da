//! Single deletions: each one meets the one value for which it was written.

use super::CompactionIter;
use whitewater_storage::Result;
use whitewater_storage::key::ValueType;

impl CompactionIter<'_> {
    /// Decides about a single deletion and what it meets in its stripe: it cancels out with a value
    /// right below. That does not settle the stripe, since an older tombstone in it may hide what
    /// older stripes hold. One that is `asked_for` stays, without its value (I3): it hides what an
    /// overwritten value would, and those that it meets later are older still.
    pub(super) fn single_delete(&mut self, stripe: usize, asked_for: bool) -> Result<()> {
        let mut key = self.source.key().to_vec();
        let mut given = asked_for;
        if given {
            self.give(key.clone(), Vec::new());
        }
        loop {
            self.consume();
            match self.same_stripe(stripe)? {
                // What is pinned may still be what it was written for (I5).
                None if self.is_above_pinned()? => {
                    if !given {
                        self.give(key, Vec::new());
                    }
                    break;
                }
                // An operand below it is undefined by contract. The operand is hidden, and what
                // waits for the tombstone can only be in deeper levels.
                None | Some((ValueType::Merge | ValueType::DeletionWithTimestamp, false)) => {
                    match given {
                        true => {}
                        false if self.rules.nothing_below(self.current_key()) => {
                            self.forget_tombstone(key, stripe);
                        }
                        false => self.give(key, Vec::new()),
                    }
                    break;
                }
                Some((_, true)) => self.drops.range_deleted += 1,
                Some((ValueType::SingleDeletion, _)) => {
                    self.drops.obsolete += u64::from(!given);
                    given = false;
                    key.clear();
                    key.extend_from_slice(self.source.key());
                }
                // The older tombstone deletes the same, and more.
                Some((ValueType::Deletion, _)) => {
                    self.drops.obsolete += u64::from(!given);
                    return Ok(());
                }
                Some(_) => {
                    self.drops.obsolete += u64::from(!given);
                    return self.skip_values(stripe);
                }
            }
        }
        self.settled = Some(stripe);
        Ok(())
    }

    /// Skips the values and operands of a stripe up to its next tombstone or something pinned,
    /// because they were deleted or overwritten.
    fn skip_values(&mut self, stripe: usize) -> Result<()> {
        use ValueType::{Deletion, DeletionWithTimestamp, SingleDeletion};
        loop {
            match self.same_stripe(stripe)? {
                None | Some((Deletion | SingleDeletion | DeletionWithTimestamp, false)) => {
                    return Ok(());
                }
                Some((_, covered)) => {
                    if covered {
                        self.drops.range_deleted += 1
                    } else {
                        self.drops.obsolete += 1
                    }
                    self.consume();
                }
            }
        }
    }
}
