//! Finds the blobs that an entry of a table refers to.

use super::{BlobIndex, BlobPlace};
use crate::entity::{self, ColumnValue};
use crate::error::Result;
use crate::key::ValueType;

/// The version of entities that cannot refer to blobs.
const ENTITY_IN_PLACE: u8 = 1;

/// Whether entries of the type stored as `ty` can refer to blobs.
#[inline]
pub fn may_refer(ty: u8) -> bool {
    ty == ValueType::BlobIndex as u8 || ty == ValueType::WideColumnEntity as u8
}

/// Calls `found` for every blob that the entry of type `ty` with the bytes
/// `stored` refers to.
///
/// # Errors
/// `Corruption` for bytes that do not fit the type, `NotSupported` for values
/// with an expiration time and newer layouts.
pub fn for_each_reference(ty: u8, stored: &[u8], found: &mut dyn FnMut(BlobPlace)) -> Result<()> {
    if ty == ValueType::BlobIndex as u8 {
        found(BlobIndex::place(stored)?);
    } else if ty == ValueType::WideColumnEntity as u8 && stored.first() != Some(&ENTITY_IN_PLACE) {
        for column in entity::columns(stored)? {
            if let ColumnValue::Blob(range) = column.value {
                found(BlobIndex::place(&stored[range])?);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(ty: ValueType, stored: &[u8]) -> Vec<u64> {
        let mut files = Vec::new();
        for_each_reference(ty as u8, stored, &mut |place| files.push(place.file)).unwrap();
        files
    }

    #[test]
    fn values_and_columns_refer_to_blobs() {
        let index = |file| {
            let place = BlobPlace {
                file,
                offset: 90,
                size: 5,
                compression: 0,
            };
            let mut bytes = Vec::new();
            place.encode(&mut bytes);
            bytes
        };
        assert_eq!(files(ValueType::BlobIndex, &index(7)), [7]);
        assert_eq!(files(ValueType::Value, &index(7)), [0; 0]);
        let plain = entity::encode(&[(b"", b"v")]);
        assert_eq!(files(ValueType::WideColumnEntity, &plain), [0; 0]);
        // Version 2: "" and "a" in blobs, "b" in place.
        let (first, second) = (index(8), index(9));
        let mut wide = vec![2, 3, 3, 3, 2, 0x11, 0x11, 1, 0, 1, 1];
        wide.extend([first.len() as u8, second.len() as u8, 1]);
        wide.extend(b"ab");
        wide.extend([first, second, b"v".to_vec()].concat());
        assert_eq!(files(ValueType::WideColumnEntity, &wide), [8, 9]);
        assert!(may_refer(0x11) && may_refer(0x16) && !may_refer(0x01));
    }
}
