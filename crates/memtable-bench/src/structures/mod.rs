//! The structures, one file each. To add one: implement [`Structure`] in a
//! file of its own and put it into [`ALL`].
//!
//! [`Structure`]: crate::structure::Structure

use std::ops::Bound;

use crate::structure::Kind;

mod art;
mod btree;
#[cfg(target_pointer_width = "64")]
mod congee;
mod crossbeam;
mod scc;
mod skip_list;
mod skl;

/// Every structure of this build: this project's first.
pub const ALL: &[Kind] = &[
    Kind::of::<skip_list::InlineSkipList>(),
    Kind::of::<art::RadixTree>(),
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
