//! The two blocks that the index type `HashSearch` adds to an index: which data blocks hold
//! which prefix.

use crate::coding::put_varint32;
use crate::sst::filter::PrefixTransform;
use std::sync::Arc;

/// Collects the prefixes of a table.
#[derive(Debug)]
pub(crate) struct HashIndexBuilder {
    transform: Arc<dyn PrefixTransform>,
    /// The prefixes, concatenated.
    prefixes: Vec<u8>,
    /// For each prefix: its length, its first data block, its number of data blocks.
    metadata: Vec<u8>,
    pending: Option<PrefixRun>,
    /// Whether a key had no prefix, so that readers could not find it through the index.
    incomplete: bool,
}

/// The prefix whose keys are being added.
#[derive(Debug)]
struct PrefixRun {
    prefix: Vec<u8>,
    first: u32,
    blocks: u32,
}

impl HashIndexBuilder {
    pub(crate) fn new(transform: Arc<dyn PrefixTransform>) -> Self {
        HashIndexBuilder {
            transform,
            prefixes: Vec::new(),
            metadata: Vec::new(),
            pending: None,
            incomplete: false,
        }
    }

    /// Adds a key, in ascending order, which goes into data block number `block`.
    pub(crate) fn add(&mut self, user_key: &[u8], block: u32) {
        let transform = self.transform.clone();
        let Some(prefix) = transform.prefix(user_key) else {
            self.incomplete = true;
            return;
        };
        match &mut self.pending {
            Some(pending) if pending.prefix == prefix => {
                pending.blocks = block - pending.first + 1;
            }
            _ => {
                self.flush();
                self.pending = Some(PrefixRun {
                    prefix: prefix.to_vec(),
                    first: block,
                    blocks: 1,
                });
            }
        }
    }

    fn flush(&mut self) {
        if let Some(pending) = self.pending.take() {
            self.prefixes.extend_from_slice(&pending.prefix);
            let len = pending.prefix.len() as u32;
            for number in [len, pending.first, pending.blocks] {
                put_varint32(&mut self.metadata, number);
            }
        }
    }

    /// The two blocks, prefixes first; `None` if some key had no prefix.
    pub(crate) fn finish(mut self) -> Option<(Vec<u8>, Vec<u8>)> {
        self.flush();
        (!self.incomplete).then_some((self.prefixes, self.metadata))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct First2;

    impl PrefixTransform for First2 {
        fn name(&self) -> String {
            "First2".to_owned()
        }
        fn prefix<'a>(&self, user_key: &'a [u8]) -> Option<&'a [u8]> {
            user_key.get(..2)
        }
    }

    #[test]
    fn each_prefix_has_its_blocks() {
        let mut b = HashIndexBuilder::new(Arc::new(First2));
        for (key, block) in [
            ("aa1", 0),
            ("aa2", 0),
            ("ab1", 0),
            ("ab2", 1),
            ("ab3", 3),
            ("b1", 3),
        ] {
            b.add(key.as_bytes(), block);
        }
        let (prefixes, metadata) = b.finish().expect("complete");
        assert_eq!(prefixes, b"aaabb1");
        assert_eq!(metadata, [2, 0, 1, 2, 0, 4, 2, 3, 1]);
    }

    #[test]
    fn a_key_without_prefix_makes_it_incomplete() {
        let mut b = HashIndexBuilder::new(Arc::new(First2));
        b.add(b"a", 0);
        b.add(b"ab", 0);
        assert_eq!(b.finish(), None);
    }
}
