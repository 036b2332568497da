//! The structures, one file each. To add one: implement [`Structure`] in a
//! file of its own and put it into [`ALL`].
//!
//! [`Structure`]: crate::structure::Structure

use std::ops::Bound;

use whitewater_concurrent::skiplist::{Indirect, Inline, KeyOrder};
use whitewater_concurrent::sorted::SortedIter;

use crate::structure::{Direction, Kind};

mod art;
mod btree;
#[cfg(target_pointer_width = "64")]
mod congee;
mod crossbeam;
mod hash_lists;
mod scc;
mod skip_list;
mod skl;
mod vector;

/// Every structure of this build: this project's first.
pub const ALL: &[Kind] = &[
    Kind::of::<skip_list::List<Inline>>(),
    Kind::of::<skip_list::List<Indirect>>(),
    Kind::of::<art::RadixTree>(),
    Kind::of::<vector::Vector>(),
    Kind::of::<hash_lists::SkipLists>(),
    Kind::of::<hash_lists::LinkedLists>(),
    Kind::of::<crossbeam::CrossbeamSkipMap>(),
    Kind::of::<skl::Skl>(),
    Kind::of::<scc::SccTreeIndex>(),
    #[cfg(target_pointer_width = "64")]
    Kind::of::<congee::CongeeTree>(),
    Kind::of::<btree::LockedBTree>(),
];

/// The structure called `name`.
pub fn find(name: &str) -> Option<&'static Kind> {
    ALL.iter().find(|kind| kind.name == name)
}

/// Bytes of the tag that follows the user key in this project's keys.
const TAG: usize = 8;

/// All keys at or after `key`.
fn from(key: &[u8]) -> (Bound<&[u8]>, Bound<&[u8]>) {
    (Bound::Included(key), Bound::Unbounded)
}

/// Passes what a sorted snapshot holds to `visit`.
fn walk<O: KeyOrder>(
    mut cursor: SortedIter<O>,
    direction: Direction,
    visit: &mut impl FnMut(&[u8], &[u8]),
) {
    match direction {
        Direction::Forward => cursor.seek_to_first(),
        Direction::Backward => cursor.seek_to_last(),
    }
    while cursor.valid() {
        let there = cursor.key();
        visit(&there[..there.len() - TAG], cursor.value());
        match direction {
            Direction::Forward => cursor.next(),
            Direction::Backward => cursor.prev(),
        }
    }
}
