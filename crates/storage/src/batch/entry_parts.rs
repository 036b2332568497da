//! An entry as a batch has it, in parts: for a log record that need not be copied together.

use super::{has_value, tag_of};
use crate::key::ValueType;

/// The most bytes of a varint32.
const MAX_VARINT32: usize = 5;

/// The most bytes of [`EntryParts::head`].
pub const MAX_HEAD_SIZE: usize = 1 + 2 * MAX_VARINT32;

/// The bytes that [`Batch::push`](super::Batch::push) would add, in parts.
#[derive(Debug)]
pub struct EntryParts<'a> {
    head: Short<MAX_HEAD_SIZE>,
    key: &'a [u8],
    value_len: Short<MAX_VARINT32>,
    value: &'a [u8],
}

impl<'a> EntryParts<'a> {
    /// The parts of an entry; `value` is ignored for deletions.
    ///
    /// # Panics
    /// If the key or the value is longer than `u32::MAX` bytes. Callers check sizes before.
    #[inline(always)]
    pub fn new(cf: u32, ty: ValueType, key: &'a [u8], value: &'a [u8]) -> Self {
        let mut parts = EntryParts {
            head: Short::default(),
            key,
            value_len: Short::default(),
            value: &[],
        };
        parts.head.push(tag_of(cf, ty));
        if cf != 0 {
            parts.head.push_varint32(cf);
        }
        parts.head.push_varint32(length(key));
        if has_value(ty) {
            parts.value_len.push_varint32(length(value));
            parts.value = value;
        }
        parts
    }

    /// What is before the key, as the front of an array, and how many bytes of it count.
    #[inline]
    pub fn head(&self) -> (&[u8; MAX_HEAD_SIZE], usize) {
        (&self.head.bytes, self.head.len)
    }

    /// The parts after the head.
    #[inline]
    pub fn rest(&self) -> [&[u8]; 3] {
        [self.key, self.value_len.as_slice(), self.value]
    }
}

#[inline]
fn length(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).expect("callers bound sizes below 4 GiB")
}

/// Up to `N` bytes.
#[derive(Debug)]
struct Short<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Default for Short<N> {
    #[inline]
    fn default() -> Self {
        Short {
            bytes: [0; N],
            len: 0,
        }
    }
}

impl<const N: usize> Short<N> {
    #[inline]
    fn push(&mut self, byte: u8) {
        self.bytes[self.len] = byte;
        self.len += 1;
    }

    #[inline]
    fn push_varint32(&mut self, mut v: u32) {
        while v >= 0x80 {
            self.push(v as u8 | 0x80);
            v >>= 7;
        }
        self.push(v as u8);
    }

    #[inline]
    fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::super::Batch;
    use super::*;

    #[test]
    fn the_parts_of_an_entry_are_what_a_batch_has() {
        let (key, value) = ([7; 130], vec![8; 20_000]);
        for ty in [
            ValueType::Value,
            ValueType::Deletion,
            ValueType::SingleDeletion,
            ValueType::Merge,
            ValueType::RangeDeletion,
            ValueType::WideColumnEntity,
        ] {
            for (cf, key, value) in [
                (0, &key[..0], &value[..]),
                (1, &key[..], &value[..0]),
                (128, &key[..127], &value[..128]),
                (u32::MAX, &key[..128], &value[..127]),
            ] {
                let mut batch = Batch::default();
                batch.push(cf, ty, key, value);
                let parts = EntryParts::new(cf, ty, key, value);
                let (head, len) = parts.head();
                let all = [&head[..len], &parts.rest().concat()].concat();
                assert_eq!(all, batch.body(), "{ty:?} in {cf}");
            }
        }
    }
}
