//! The way to a key.

use super::Art;
use super::leaf::Leaf;

impl Art {
    /// The leaf of a key, if there is one; it may have no versions yet.
    ///
    /// Prefixes are not looked at on the way down: if they do not fit, the
    /// leaf at the end has another key.
    #[inline]
    pub(super) fn find(&self, key: &[u8]) -> Option<Leaf<'_>> {
        let mut at = self.root();
        let mut depth = 0;
        while !at.is_none() {
            if at.is_leaf() {
                let leaf = self.leaf(at);
                return leaf.is_of(key).then_some(leaf);
            }
            let node = self.node(at);
            depth = node.prefix().end(depth);
            at = match key.get(depth) {
                Some(&byte) => node.child(byte),
                None if depth == key.len() => node.terminal(),
                None => return None,
            };
            depth += 1;
        }
        None
    }
}
