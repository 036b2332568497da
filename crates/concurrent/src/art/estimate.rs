//! About how many keys are before one, from the nodes on its path.
//!
//! The number of keys below a node is estimated by a random path down: the product of the
//! numbers of children on it is right on average. Which path is taken follows from the node
//! alone, so that two estimates have the same error where their paths are the same, and it
//! vanishes in the difference.

use std::cmp::Ordering;

use super::Art;
use super::children::{Children, NO_CHILDREN, WINDOWS};
use super::frame::place_of;
use super::node::{Node, Ref};

/// Random paths for each estimate of the keys below a node.
const PATHS: u64 = 4;

/// The most children of a node that are estimated; of more, these stand for all.
const MOST: usize = 16;

/// Keys on both sides of a position.
#[derive(Debug, Default)]
struct Sides {
    before: f64,
    after: f64,
}

impl Art {
    /// About which share of the keys is before `user_key` in bytewise order, from 0 to 1. Takes
    /// time proportional to the depth of the tree.
    pub fn estimate_share_before(&self, user_key: &[u8]) -> f64 {
        let sides = self.estimate_sides(user_key);
        let all = sides.before + sides.after;
        if all > 0.0 { sides.before / all } else { 0.0 }
    }

    fn estimate_sides(&self, key: &[u8]) -> Sides {
        let mut sides = Sides::default();
        let (mut at, mut depth) = (self.root(), 0);
        while !at.is_none() {
            if at.is_leaf() {
                let before = self.leaf(at).key() < key;
                *if before {
                    &mut sides.before
                } else {
                    &mut sides.after
                } += 1.0;
                break;
            }
            let node = self.node(at);
            let prefix = node.prefix();
            match prefix.compare(&self.memory, key, depth) {
                Ordering::Less => {
                    sides.before += self.estimate_keys(at);
                    break;
                }
                Ordering::Greater => {
                    sides.after += self.estimate_keys(at);
                    break;
                }
                Ordering::Equal => depth += prefix.len as usize,
            }
            let Some(&byte) = key.get(depth) else {
                // The key ends here: its own place is the first.
                sides.after += self.estimate_keys(at);
                break;
            };
            let (before, after) = self.beside(node, byte);
            sides.before += before;
            sides.after += after;
            at = node.child(byte);
            depth += 1;
        }
        sides
    }

    /// About how many keys are below the children of `node` on both sides of that of `byte`.
    fn beside(&self, node: Node<'_>, byte: u8) -> (f64, f64) {
        let place = place_of(byte);
        let is_there = !node.child(byte).is_none();
        let (mut lower, mut upper) = (Vec::new(), Vec::new());
        for_each_list(node, place, |children, before| {
            lower.extend_from_slice(&children[..before]);
            upper.extend_from_slice(&children[before..]);
        });
        // The child of the byte itself comes first of what is not before it.
        let upper = if is_there && !upper.is_empty() {
            &upper[1..]
        } else {
            &upper[..]
        };
        (self.estimate_all(&lower), self.estimate_all(upper))
    }

    fn estimate_all(&self, children: &[Ref]) -> f64 {
        if children.is_empty() {
            return 0.0;
        }
        let step = children.len().div_ceil(MOST);
        let some = children.iter().step_by(step);
        let count = some.len() as f64;
        let sum: f64 = some.map(|child| self.estimate_keys(*child)).sum();
        sum * children.len() as f64 / count
    }

    /// About how many keys are below `at`.
    fn estimate_keys(&self, at: Ref) -> f64 {
        if at.is_leaf() {
            return 1.0;
        }
        let path = |n| self.keys_by_path(at, mix(u64::from(at.0) * PATHS + n));
        (0..PATHS).map(path).sum::<f64>() / PATHS as f64
    }

    /// The product of the numbers of children on a path down from `at`, which `random` chooses.
    fn keys_by_path(&self, mut at: Ref, mut random: u64) -> f64 {
        let mut product = 1.0;
        while !at.is_leaf() {
            let mut all = Vec::new();
            for_each_list(self.node(at), 0, |children, _| {
                all.extend_from_slice(children);
            });
            if all.is_empty() {
                break;
            }
            product *= all.len() as f64;
            at = all[(random % all.len() as u64) as usize];
            random = mix(random);
        }
        product
    }
}

/// Passes the children of `node` in order, in one list or several, and how many of each list are
/// at places before `mark`.
fn for_each_list(node: Node<'_>, mark: usize, mut visit: impl FnMut(&[Ref], usize)) {
    let mut children: Children = NO_CHILDREN;
    if !node.is_wide() {
        let (len, before) = node.sorted(mark, &mut children);
        return visit(&children[..len], before);
    }
    for window in 0..WINDOWS {
        let (len, before) = node.window(window, mark, &mut children);
        visit(&children[..len], before);
    }
}

/// A number that looks random (SplitMix64's last step).
fn mix(n: u64) -> u64 {
    let n = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::super::Options;
    use super::*;

    fn tree(keys: impl IntoIterator<Item = Vec<u8>>) -> Art {
        let tree = Art::new(Options {
            capacity: 1 << 20,
            ..Options::default()
        });
        for key in keys {
            tree.insert(&key, 1, b"");
        }
        tree
    }

    #[test]
    fn an_empty_tree_and_single_keys_have_exact_shares() {
        assert_eq!(tree([]).estimate_share_before(b"k"), 0.0);
        let one = tree([b"km".to_vec()]);
        for (key, share) in [
            ("km", 0.0),
            ("kn", 1.0),
            ("k", 0.0),
            ("kmm", 1.0),
            ("", 0.0),
        ] {
            assert_eq!(one.estimate_share_before(key.as_bytes()), share, "{key}");
        }
        let three = tree([
            b"prefix".to_vec(),
            b"prefix1".to_vec(),
            b"prefix2x".to_vec(),
        ]);
        for (key, before) in [("pre", 0.0), ("prefix1", 1.0), ("prefix2", 2.0), ("q", 3.0)] {
            let share = three.estimate_share_before(key.as_bytes());
            assert!((share - before / 3.0).abs() < 1e-9, "{key}: {share}");
        }
    }

    /// Evenly spread keys, few keys beside many, and many nodes of 256 children.
    #[test]
    fn shares_of_many_keys_are_about_right() {
        let decimal = |n: u32| format!("{n:06}").into_bytes();
        let even = tree((0..20_000).map(decimal));
        let wide = tree((0..50_000u32).map(|n| n.to_be_bytes().to_vec()));
        let lopsided = tree((0..10).map(|n| vec![b'a', n]).chain((0..20_000).map(|n| {
            let mut key = vec![b'b'];
            key.extend(decimal(n));
            key
        })));
        for (tree, key, share) in [
            (&even, decimal(5_000), 0.25),
            (&even, decimal(12_345), 0.617),
            (&wide, 25_000u32.to_be_bytes().to_vec(), 0.5),
            (&wide, 49_000u32.to_be_bytes().to_vec(), 0.98),
            (&lopsided, b"b".to_vec(), 0.0005),
            (&lopsided, b"b010000".to_vec(), 0.5),
        ] {
            let found = tree.estimate_share_before(&key);
            assert!(
                (found - share).abs() < 0.15,
                "{key:x?}: {found}, not {share}"
            );
        }
    }

    #[test]
    fn a_later_key_beside_the_first_has_no_smaller_share() {
        let tree = tree((0..5_000u32).map(|n| n.to_be_bytes().to_vec()));
        let share = |n: u32| tree.estimate_share_before(&n.to_be_bytes());
        for n in 0..200 {
            assert!(share(n) <= share(n + 1) + 1e-9, "{n}");
        }
    }
}
