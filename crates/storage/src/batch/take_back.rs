//! Taking back the last operations of a batch.

use super::{Batch, HEADER_SIZE, sequence};

/// The end of a batch at one moment, to which it can be taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    len: usize,
    count: u32,
}

impl Batch {
    /// An empty batch with the same sequence number, protected if this one is.
    pub fn empty_like(&self) -> Batch {
        let mut empty = Batch {
            sums: self.sums.as_ref().map(|_| Vec::new()),
            ..Batch::default()
        };
        let first = sequence(&self.rep);
        if first != 0 {
            empty.with_header()[..8].copy_from_slice(&first.to_le_bytes());
        }
        empty
    }

    /// The present end of the batch.
    #[inline]
    pub fn mark(&self) -> Mark {
        Mark {
            len: self.bytes().len(),
            count: self.count(),
        }
    }

    /// Removes what was added since `mark` was made. A mark of operations that are no longer in the
    /// batch does nothing.
    pub fn take_back(&mut self, mark: Mark) {
        if mark.len > self.rep.len() || mark.len < HEADER_SIZE {
            return;
        }
        self.rep.truncate(mark.len);
        self.rep[8..HEADER_SIZE].copy_from_slice(&mark.count.to_le_bytes());
        if let Some(sums) = &mut self.sums {
            sums.truncate(mark.count as usize);
        }
    }
}
