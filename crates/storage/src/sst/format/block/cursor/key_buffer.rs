//! The key of an entry that shares a part of it with the entry before.
//!
//! A step of a scan puts one together. So its memory stays initialized up to its largest length,
//! and short parts are copied without a call.

use crate::coding::copy_short;
use std::ops::Deref;

/// A key that is changed from its end.
#[derive(Debug, Default)]
pub(super) struct KeyBuffer {
    /// The key, and behind it what longer keys have left.
    bytes: Vec<u8>,
    len: usize,
}

impl KeyBuffer {
    /// An empty key in this memory.
    pub fn in_memory(bytes: Vec<u8>) -> Self {
        KeyBuffer { bytes, len: 0 }
    }

    pub fn into_memory(self) -> Vec<u8> {
        self.bytes
    }

    /// Makes it a key of two parts.
    #[inline(always)]
    pub fn set(&mut self, first: &[u8], second: &[u8]) {
        self.len = 0;
        self.replace_from(0, first);
        self.replace_from(first.len(), second);
    }

    /// Makes it a key of its first `kept` bytes and `rest`. It must have as many bytes, as callers
    /// check: else it would get what a longer key has left.
    #[inline(always)]
    pub fn replace_from(&mut self, kept: usize, rest: &[u8]) {
        debug_assert!(kept <= self.len);
        let len = kept + rest.len();
        if self.bytes.len() < len {
            self.grow(len);
        }
        copy_short(&mut self.bytes[kept..len], rest);
        self.len = len;
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, len: usize) {
        self.bytes.resize(len.next_multiple_of(32), 0);
    }
}

impl Deref for KeyBuffer {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_key_is_what_it_was_set_to(
            first in prop::collection::vec(any::<u8>(), 0..50),
            second in prop::collection::vec(any::<u8>(), 0..50),
            steps in prop::collection::vec(
                (0_usize..100, prop::collection::vec(any::<u8>(), 0..70)),
                0..20,
            ),
        ) {
            let mut key = KeyBuffer::in_memory(vec![1, 2, 3]);
            prop_assert!(key.is_empty());
            key.set(&first, &second);
            let mut expected = [first, second].concat();
            prop_assert_eq!(&key[..], &expected);
            for (kept, rest) in steps {
                let kept = kept.min(expected.len());
                key.replace_from(kept, &rest);
                expected.truncate(kept);
                expected.extend_from_slice(&rest);
                prop_assert_eq!(&key[..], &expected);
            }
        }
    }
}
