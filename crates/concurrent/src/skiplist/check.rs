//! Consistency checks, for tests and for debugging a key order.

use super::node::Node;
use super::{EntryLayout, KeyOrder, SkipList};

impl<O: KeyOrder, L: EntryLayout> SkipList<O, L> {
    /// Checks that every level is sorted and that every node of a level is also in the
    /// level below. Returns the number of entries. It reads the whole list, and no insert
    /// may be in flight.
    ///
    /// # Errors
    /// A description of what is wrong, and in which level.
    #[doc(hidden)]
    pub fn check(&self) -> Result<usize, String> {
        let mut below = self.level(0)?;
        let count = below.len();
        for level in 1..self.height() {
            let nodes = self.level(level)?;
            let mut rest = below.iter();
            if !nodes.iter().all(|node| rest.any(|other| other == node)) {
                return Err(format!(
                    "level {level} has nodes that are not in the level below"
                ));
            }
            below = nodes;
        }
        Ok(count)
    }

    /// The nodes of one level (below the height), which must be sorted.
    fn level(&self, level: usize) -> Result<Vec<Node>, String> {
        let mut nodes: Vec<Node> = Vec::new();
        // SAFETY: the head has every level.
        let mut at = unsafe { self.head.next(level) };
        while let Some(node) = at {
            if let Some(&last) = nodes.last() {
                // SAFETY: reached through a link, so not the head.
                let key = unsafe { node.key_as::<L>() };
                // SAFETY: reached through a link, so not the head.
                if unsafe { self.compare(last, key) }.is_ge() {
                    return Err(format!("level {level} is not sorted"));
                }
            }
            nodes.push(node);
            // SAFETY: reached in this level.
            at = unsafe { node.next(level) };
        }
        Ok(nodes)
    }
}
