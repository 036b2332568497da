//! The Bloom filter that plain tables may have in the file.

use crate::sst::filter::LINE;
use crate::sst::format::hash64::hash32;

const SEED: u32 = 397;
const PROBES: u32 = 6;

/// The hash of a key or of a prefix.
pub(crate) fn plain_hash(key: &[u8]) -> u32 {
    hash32(key, SEED)
}

/// The layout of a filter: bits anywhere, or all bits of a key in one of some cache lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    Anywhere { bits: u32 },
    Lines { lines: u32, line: u32 },
}

impl Layout {
    /// The layout of a filter of `len` bytes with this number of `lines`, 0 if it has none; `None`
    /// if there is no such filter.
    pub(super) fn of(len: usize, lines: u32) -> Option<Layout> {
        let bits = u32::try_from(len.checked_mul(8)?).ok()?;
        if lines == 0 {
            return (bits > 0).then_some(Layout::Anywhere { bits });
        }
        let line = len as u32 / lines;
        let exact = line.checked_mul(lines) == Some(len as u32);
        (exact && line.is_power_of_two()).then_some(Layout::Lines { lines, line })
    }

    /// The bits of an entry.
    fn bits(self, hash: u32) -> impl Iterator<Item = usize> {
        let delta = hash.rotate_right(17);
        let first = match self {
            Layout::Anywhere { .. } => 0,
            Layout::Lines { lines, line } => {
                (hash.rotate_right(11) % lines) as usize * line as usize * 8
            }
        };
        let mut hash = hash;
        (0..PROBES).map(move |_| {
            let bit = match self {
                Layout::Anywhere { bits } => hash % bits,
                Layout::Lines { line, .. } => hash % (line * 8),
            };
            if let Layout::Lines { line, .. } = self {
                hash = hash.rotate_right((line * 8).trailing_zeros());
            }
            hash = hash.wrapping_add(delta);
            first + bit as usize
        })
    }
}

/// Whether the entry of this hash may have been added to the filter `data`.
pub(super) fn may_match(layout: Layout, data: &[u8], hash: u32) -> bool {
    (layout.bits(hash)).all(|bit| {
        data.get(bit / 8)
            .is_none_or(|byte| byte >> (bit % 8) & 1 == 1)
    })
}

/// A filter of about `total_bits` for entries of these `hashes`, in cache lines if `local`, and the
/// number of its lines. `None` without any bits.
pub(crate) fn build(total_bits: u32, local: bool, hashes: &[u32]) -> Option<(Vec<u8>, u32)> {
    let (len, lines) = if local {
        // An odd number of lines involves more bits of the hash.
        let lines = (total_bits as usize).div_ceil(LINE * 8) | 1;
        (lines * LINE, lines as u32)
    } else {
        ((total_bits as usize).div_ceil(8), 0)
    };
    let layout = Layout::of(len, lines)?;
    let mut data = vec![0; len];
    for &hash in hashes {
        for bit in layout.bits(hash) {
            data[bit / 8] |= 1 << (bit % 8);
        }
    }
    Some((data, lines))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_layouts_hold_what_was_added_and_little_else() {
        let hashes: Vec<u32> = (0..1000u32).map(|n| plain_hash(&n.to_le_bytes())).collect();
        let (added, others) = hashes.split_at(500);
        for local in [false, true] {
            let (data, lines) = build(5000, local, added).expect("some bits");
            assert_eq!(lines, if local { 11 } else { 0 });
            let layout = Layout::of(data.len(), lines).expect("a layout");
            assert!(added.iter().all(|&hash| may_match(layout, &data, hash)));
            let passed = others
                .iter()
                .filter(|&&h| may_match(layout, &data, h))
                .count();
            assert!(passed < 40, "{passed} of 500 pass");
        }
        assert_eq!(build(0, false, added), None);
        assert_eq!(Layout::of(64, 3), None);
        assert_eq!(Layout::of(0, 0), None);
        assert_eq!(Layout::of(0, 1), None);
    }
}
