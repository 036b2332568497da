//! The search in a data block whose user keys are in bytewise order.
//!
//! The scan after a restart point does not build keys. It knows how many bytes of the target's user
//! key the entry before agrees with. An entry that shares more bytes than that with the entry
//! before differs from the target where that one does, so it is less, too. Any other entry begins
//! as the target does, and only its own bytes are compared. The entry that ends the scan is one of
//! these, and its key is put together from the target's bytes and its own.

use super::{Cursor, Header, Span, header};
use crate::coding::common_prefix;
use crate::key::{TAG_SIZE, tag, user_key};
use crate::sst::format::block::Block;
use std::cmp::Ordering;
use std::ops::Range;

/// How a scan ended.
enum Scan {
    /// The cursor stands where it should, or has no entry, or has failed.
    Done,
    /// An entry shares a part of its tag, as versions of one key do. Such keys are compared as a
    /// whole.
    SharedTag,
}

/// An entry that is less than the target, the one before the entry that a search looks at; or the
/// start of a block.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct KnownLess {
    /// Where the entry behind it begins; 0 before the first entry.
    pub(crate) behind: usize,
    /// The length of its user key; 0 before the first entry.
    pub(crate) user_len: usize,
    /// How many bytes of its user key and of the target's are the same.
    pub(crate) matched: usize,
}

impl Cursor {
    /// [`Cursor::seek_between`] for the internal key `target` in a block of internal keys with
    /// bytewise user keys, each of which counts with its own tag.
    #[inline]
    pub(crate) fn seek_bytewise(&mut self, block: &Block, candidates: Range<usize>, target: &[u8]) {
        self.clear();
        let mut compare = |key: &[u8]| compare(key, target);
        let Some((restart, _)) = self.find_restart(block, candidates.clone(), &mut compare) else {
            return;
        };
        block.expect_interval(restart);
        let behind = block.restart(restart);
        let before = KnownLess {
            behind,
            ..KnownLess::default()
        };
        match self.scan(block, before, target) {
            Scan::Done => {}
            Scan::SharedTag => self.seek_between(block, candidates, compare),
        }
    }

    /// Moves to the first entry that is not less than the internal key `target`, in the same
    /// blocks, for a caller that knows an entry whose user key is less, or begins at the start.
    #[inline]
    pub(crate) fn seek_behind(&mut self, block: &Block, before: KnownLess, target: &[u8]) {
        self.clear();
        match self.scan(block, before, target) {
            Scan::Done => {}
            Scan::SharedTag => self.seek(block, |key| compare(key, target)),
        }
    }

    /// Moves from the entry behind `before` to the first one that is not less than `target`.
    #[inline]
    fn scan(&mut self, block: &Block, mut before: KnownLess, target: &[u8]) -> Scan {
        let entries = block.entries();
        let wanted = user_key(target);
        let mut at = before.behind;
        self.enter(at);
        while at < entries.len() {
            let Some(h) = header(entries, at, true) else {
                self.fail("bad entry in block");
                return Scan::Done;
            };
            let left = entries.len() - h.suffix;
            if h.non_shared > left || h.value_len > left - h.non_shared {
                self.fail("entry runs past its block");
                return Scan::Done;
            }
            let end = h.suffix + h.non_shared;
            let Some(user_len) = (h.shared + h.non_shared).checked_sub(TAG_SIZE) else {
                self.fail("bad key in block");
                return Scan::Done;
            };
            if h.shared > before.user_len.min(user_len) {
                return Scan::SharedTag;
            }
            if h.shared <= before.matched {
                let own = &entries[h.suffix..end];
                let (order, matched) = order(own, h.shared, target, wanted);
                if order != Ordering::Less {
                    self.stop(entries, at, h, target);
                    return Scan::Done;
                }
                before.matched = matched;
            }
            before.user_len = user_len;
            at = end + h.value_len;
        }
        self.next = at;
        Scan::Done
    }

    /// Puts the cursor on the entry at `at`, whose key begins with `h.shared` bytes of `target`.
    #[inline]
    fn stop(&mut self, entries: &[u8], at: usize, h: Header, target: &[u8]) {
        let end = h.suffix + h.non_shared;
        if h.shared == 0 {
            self.key = Span {
                start: h.suffix,
                end,
            };
        } else {
            self.buf.set(&target[..h.shared], &entries[h.suffix..end]);
            self.in_block = false;
        }
        self.entry = at;
        self.value = Span {
            start: end,
            end: end + h.value_len,
        };
        self.next = self.value.end;
        self.valid = true;
    }
}

/// Orders two internal keys with bytewise user keys.
#[inline]
fn compare(key: &[u8], target: &[u8]) -> Ordering {
    user_key(key)
        .cmp(user_key(target))
        .then_with(|| tag(target).cmp(&tag(key)))
}

/// Orders a key that agrees with `target` in `shared` bytes, and continues with `own`, against
/// `target`, whose user key is `wanted`. Also returns how many bytes of the user keys are the same.
#[inline]
fn order(own: &[u8], shared: usize, target: &[u8], wanted: &[u8]) -> (Ordering, usize) {
    let (own, own_tag) = own.split_at(own.len() - TAG_SIZE);
    let wanted = &wanted[shared..];
    // What differs usually does so in its first byte.
    if let (Some(own), Some(wanted)) = (own.first(), wanted.first())
        && own != wanted
    {
        return (own.cmp(wanted), shared);
    }
    let same = common_prefix(own, wanted);
    let order = match (own.get(same), wanted.get(same)) {
        (None, None) => tag(target).cmp(&tag(own_tag)),
        (own, wanted) => own.cmp(&wanted),
    };
    (order, shared + same)
}
