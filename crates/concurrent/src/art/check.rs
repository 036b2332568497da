//! Consistency checks, for tests.

use super::Art;
use super::children::{NO_CHILDREN, WINDOWS};
use super::leaf::Link;
use super::node::{Kind, Node, Ref};
use super::versions::Versions;

impl Art {
    /// Checks the whole tree and returns the number of its entries, or describes what is
    /// wrong. For tests; no insert may be in flight.
    #[doc(hidden)]
    pub fn check(&self) -> Result<usize, String> {
        let mut entries = 0;
        let mut waiting = vec![(self.root(), Vec::new())];
        while let Some((at, path)) = waiting.pop() {
            if at.is_none() {
                continue;
            }
            if at.is_leaf() {
                entries += self.check_leaf(at, &path)?;
                continue;
            }
            let node = self.node(at);
            let lock = node.lock().ok_or("an obsolete node is reachable")?;
            let parts = node.parts(&lock);
            drop(lock);
            let terminal = usize::from(!parts.terminal.is_none());
            if parts.children.len() + terminal < 2 {
                return Err(format!(
                    "a node with fewer than two children (terminal included) under {path:x?}"
                ));
            }
            if parts.kind != Kind::N256 && parts.children.iter().any(|(_, c)| c.is_none()) {
                return Err(format!("a byte without a child under {path:x?}"));
            }
            if parts.kind == Kind::N256 {
                let listed = |window| node.window(window, 0, &mut NO_CHILDREN.clone()).0;
                if (0..WINDOWS).map(listed).sum::<usize>() != parts.children.len() + terminal {
                    return Err(format!("a child without its bit under {path:x?}"));
                }
            }
            self.check_prefix(node, at, path.len())?;
            let mut path = path;
            let any = self.any_leaf(at)?;
            let end = path.len() + parts.prefix.len as usize;
            let key = self.leaf(any).key();
            let rest = key
                .get(path.len()..end)
                .ok_or("a key shorter than its path")?;
            path.extend_from_slice(rest);
            if !parts.terminal.is_none() && self.leaf(parts.terminal).key() != path {
                return Err(format!("a terminal with another key than {path:x?}"));
            }
            waiting.push((parts.terminal, path.clone()));
            for (byte, child) in parts.children {
                let mut path = path.clone();
                path.push(byte);
                waiting.push((child, path));
            }
        }
        Ok(entries)
    }

    /// The number of steps from the newest version of a key to the newest one at or below
    /// `tag`. Each step reads at most two other versions. For tests.
    #[doc(hidden)]
    pub fn version_steps(&self, user_key: &[u8], tag: u64) -> usize {
        self.find(user_key)
            .map_or(0, |leaf| Versions::new(&self.memory, leaf).steps(tag))
    }

    /// Checks that the prefix agrees with some key below.
    fn check_prefix(&self, node: Node<'_>, at: Ref, depth: usize) -> Result<(), String> {
        let prefix = node.prefix();
        let key = self.leaf(self.any_leaf(at)?).key();
        if prefix.common(&self.memory, key, depth) != prefix.len as usize {
            return Err(format!("a prefix unlike the key {key:x?} at {depth}"));
        }
        Ok(())
    }

    fn any_leaf(&self, mut at: Ref) -> Result<Ref, String> {
        while !at.is_leaf() {
            let node = self.node(at);
            let lock = node.lock().ok_or("an obsolete node is reachable")?;
            let parts = node.parts(&lock);
            let first = parts.children.first().map(|(_, child)| *child);
            at = first.ok_or("a node without children")?;
        }
        Ok(at)
    }

    /// Checks a leaf's key and versions. Returns how many versions there are.
    fn check_leaf(&self, leaf: Ref, path: &[u8]) -> Result<usize, String> {
        let leaf = self.leaf(leaf);
        if !leaf.key().starts_with(path) {
            return Err(format!("key {:x?} under {path:x?}", leaf.key()));
        }
        let versions = Versions::new(&self.memory, leaf);
        let mut at = versions.newest();
        let mut count = 0;
        let mut last = None;
        while at != Link::END {
            let tag = versions.tag(at);
            if last.is_some_and(|last| last <= tag) {
                return Err(format!("tags rise under {:x?}", leaf.key()));
            }
            last = Some(tag);
            count += 1;
            at = versions.older(at);
        }
        Ok(count)
    }
}
