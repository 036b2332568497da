//! Garbage collection of blob files: values move out of old ones.

use super::CompactionIter;
use crate::entry::columns::in_place;
use crate::stats::Ticker;
use whitewater_storage::Result;
use whitewater_storage::blob::{for_each_reference, may_refer};
use whitewater_storage::key::{ValueType, user_key};

impl CompactionIter<'_> {
    /// The type and bytes of the source's entry, of type `ty`, with its values in place, if one of
    /// them is to leave its blob file. The table writer may put a plain value into a new one.
    ///
    /// # Errors
    /// `Corruption` and `NotSupported` for references that cannot be read; errors of reading.
    pub(super) fn moved_out(&self, ty: ValueType) -> Result<Option<(ValueType, Vec<u8>)>> {
        let below = self.rules.inline_below;
        let Some(blobs) = self.rules.blobs.filter(|_| below > 0) else {
            return Ok(None);
        };
        if !may_refer(ty as u8) {
            return Ok(None);
        }
        let stored = self.source.value();
        let (mut count, mut bytes) = (0, 0);
        for_each_reference(ty as u8, stored, &mut |place| {
            if place.file < below {
                (count, bytes) = (count + 1, bytes + place.size);
            }
        })?;
        if count == 0 {
            return Ok(None);
        }
        if let Some(statistics) = self.rules.statistics {
            statistics.add(Ticker::BlobDbGcNumKeysRelocated, count);
            statistics.add(Ticker::BlobDbGcBytesRelocated, bytes);
        }
        let key = user_key(self.source.key());
        Ok(Some(if ty == ValueType::BlobIndex {
            (ValueType::Value, blobs.read(key, stored)?.into())
        } else {
            (ty, in_place(key, stored, blobs)?)
        }))
    }
}
