//! What an iterator leaves for the next one.
//!
//! Making the cursors of all sources takes as long as a short scan, and counts their references in
//! memory that all threads write to. So the cursors stay with the super version that they read
//! ([`SuperVersion::idle`](crate::column_family::SuperVersion)), and the next iterator over it uses
//! them again. They have let go of all blocks by then.

use super::DbIter;
use crate::column_family::IterBuffers;
use std::mem;
use whitewater_concurrent::object_pool::ObjectPool;

/// The capacity up to which buffers are kept. Bytes.
const MOST_KEPT: usize = 4 << 10;

impl DbIter {
    /// Leaves the source and the buffers to the next iterator, if they may be used again.
    pub(super) fn leave_to_the_next(&mut self) {
        // Cursors that have met long keys have as long buffers.
        let met_long_keys = self.key.capacity().max(self.target.capacity()) > MOST_KEPT;
        if self.error.is_some() || met_long_keys || !self.source.release() {
            return;
        }
        let Some(mut base) = self.base.take() else {
            return;
        };
        base.idle = Some((self.source.take(), self.take_buffers()));
        drop(ObjectPool::give_back(base, |base| &base.view.idle));
    }

    fn take_buffers(&mut self) -> IterBuffers {
        let [key, target, value] = [&mut self.key, &mut self.target, &mut self.buffer].map(emptied);
        let [first, last] = self.walked.buffers().map(emptied);
        IterBuffers {
            key,
            target,
            value,
            first,
            last,
        }
    }
}

/// The memory of `buffer`, unless it is large.
fn emptied(buffer: &mut Vec<u8>) -> Vec<u8> {
    let mut buffer = mem::take(buffer);
    if buffer.capacity() > MOST_KEPT {
        return Vec::new();
    }
    buffer.clear();
    buffer
}
