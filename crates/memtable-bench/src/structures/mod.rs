//! The structures, one file each. To add one: implement [`Structure`] in a
//! file of its own and put it into [`ALL`].
//!
//! [`Structure`]: crate::structure::Structure

use std::ops::Bound;

use whitewater_concurrent::skiplist::{Indirect, Inline};

use crate::structure::Kind;

/// Passes the entries from `key` on to `visit`, by one of this project's
/// cursors. They are alike, and have no trait in common.
macro_rules! seek {
    ($cursor:expr, $key:expr, $visit:expr) => {{
        let cursor = $cursor;
        cursor.seek($key, u64::MAX);
        while cursor.valid() && $visit(super::user_key(cursor.key()), cursor.value()) {
            cursor.next();
        }
    }};
}

/// Passes all entries to `visit`, by one of this project's cursors.
macro_rules! walk {
    ($cursor:expr, $direction:expr, $visit:expr) => {{
        let cursor = $cursor;
        match $direction {
            Direction::Forward => cursor.seek_to_first(),
            Direction::Backward => cursor.seek_to_last(),
        }
        while cursor.valid() {
            $visit(super::user_key(cursor.key()), cursor.value());
            match $direction {
                Direction::Forward => cursor.next(),
                Direction::Backward => cursor.prev(),
            }
        }
    }};
}

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

/// The user key of one of this project's internal keys, which a tag of 8 bytes
/// ends.
fn user_key(internal_key: &[u8]) -> &[u8] {
    &internal_key[..internal_key.len() - 8]
}

/// All keys at or after `key`.
fn from(key: &[u8]) -> (Bound<&[u8]>, Bound<&[u8]>) {
    (Bound::Included(key), Bound::Unbounded)
}
