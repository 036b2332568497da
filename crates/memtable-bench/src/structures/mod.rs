//! The structures, one file each. To add a structure, implement [`Structure`] in a file of
//! its own and add it to [`ALL`].
//!
//! [`Structure`]: crate::structure::Structure

use std::ops::Bound;

use whitewater_concurrent::arena::ArenaOptions;

use crate::structure::{Kind, Shape};

/// Passes the entries from `key` onwards to `visit`, with one of this project's cursors.
/// The cursors are alike, but have no trait in common.
macro_rules! seek {
    ($cursor:expr, $key:expr, $visit:expr) => {{
        let cursor = $cursor;
        cursor.seek($key, u64::MAX);
        while cursor.valid() && $visit(super::user_key(cursor.key()), cursor.value()) {
            cursor.next();
        }
    }};
}

/// Passes all entries to `visit`, with one of this project's cursors.
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

/// The methods `seek` and `scan` of a handle with one of this project's cursors.
macro_rules! cursor_reads {
    () => {
        #[inline]
        fn seek(&mut self, key: &[u8], visit: &mut impl FnMut(&[u8], &[u8]) -> bool) {
            seek!(&mut self.cursor, key, visit);
        }

        fn scan(&mut self, direction: Direction, visit: &mut impl FnMut(&[u8], &[u8])) {
            walk!(&mut self.cursor, direction, visit);
        }
    };
}

/// The methods `get`, `seek` and `scan` of a handle that holds a map with entries.
macro_rules! map_reads {
    () => {
        fn get(&mut self, key: &[u8], visit: &mut impl FnMut(&[u8])) -> bool {
            let entry = self.0.get(key);
            entry.map(|entry| visit(entry.value())).is_some()
        }

        fn seek(&mut self, key: &[u8], visit: &mut impl FnMut(&[u8], &[u8]) -> bool) {
            for entry in self.0.range::<[u8], _>(super::from(key)) {
                if !visit(entry.key(), entry.value()) {
                    return;
                }
            }
        }

        fn scan(&mut self, direction: Direction, visit: &mut impl FnMut(&[u8], &[u8])) {
            let all = self.0.iter();
            match direction {
                Direction::Forward => all.for_each(|entry| visit(entry.key(), entry.value())),
                Direction::Backward => all
                    .rev()
                    .for_each(|entry| visit(entry.key(), entry.value())),
            }
        }
    };
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

/// Every structure of this build, with this project's first.
pub const ALL: &[Kind] = &[
    Kind::of::<skip_list::List<skip_list::InlineEntries>>(),
    Kind::of::<skip_list::List<skip_list::IndirectEntries>>(),
    Kind::of::<skip_list::List<skip_list::PlainDescent>>(),
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

/// The user key of one of this project's internal keys, which end with a tag of 8 bytes.
fn user_key(internal_key: &[u8]) -> &[u8] {
    &internal_key[..internal_key.len() - 8]
}

/// The options of the arena of this project's structures: blocks of 1 MiB.
fn arena(shape: &Shape) -> ArenaOptions {
    ArenaOptions {
        block_size: 1 << 20,
        pages: shape.pages,
    }
}

/// The range of all keys at or after `key`.
fn from(key: &[u8]) -> (Bound<&[u8]>, Bound<&[u8]>) {
    (Bound::Included(key), Bound::Unbounded)
}
