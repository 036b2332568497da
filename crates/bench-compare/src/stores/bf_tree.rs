//! bf-tree.
//!
//! *Settings*: a circular buffer of the given size, rounded down to a power of two, over a file;
//! *no log*, because a write with its log waits for the disk (in groups), so that the end of the
//! process loses what is in the buffer. This favours bf-tree. Reads copy the value, as its API
//! has it. It has no compression. A pop scans one record from the first key and deletes it; there
//! is none from the end, since scans go forwards only.
//! Settling does nothing: there is no such call without snapshots.

use std::cell::RefCell;
use std::path::Path;

use bf_tree::{Config, LeafInsertResult, LeafReadResult, ScanReturnField};

use super::{End, Settings, Store};
use crate::{Result, fail};

/// How it is set up.
pub const SETUP: &str = "no log (lost when the process ends); no compression";

/// The largest record, in bytes.
const RECORD: usize = 1900;

thread_local! {
    /// What reads copy to.
    static BUFFER: RefCell<[u8; 4096]> = const { RefCell::new([0; 4096]) };
}

/// A tree.
pub struct BfTree {
    tree: bf_tree::BfTree,
}

impl BfTree {
    fn read(&self, from: &[u8], count: usize, mut see: impl FnMut(&[u8], &[u8])) -> Result<usize> {
        let scan = self
            .tree
            .scan_with_count(from, count, ScanReturnField::KeyAndValue);
        let mut scan = match scan {
            Ok(scan) => scan,
            Err(error) => return fail(format!("bf-tree does not scan: {error:?}")),
        };
        BUFFER.with_borrow_mut(|buffer| {
            let mut seen = 0;
            while let Some((key, value)) = scan.next(&mut buffer[..]) {
                see(&buffer[..key], &buffer[key..key + value]);
                seen += 1;
            }
            Ok(seen)
        })
    }
}

impl Store for BfTree {
    const BACKWARDS: bool = false;

    fn open(directory: &Path, settings: &Settings) -> Result<Self> {
        let bytes = 1 << settings.cache_bytes.max(1 << 20).ilog2();
        let mut config = Config::new(directory.join("bf-tree"), bytes);
        config.cb_max_record_size(RECORD).cb_min_record_size(8);
        match bf_tree::BfTree::with_config(config, None) {
            Ok(tree) => Ok(Self { tree }),
            Err(error) => fail(format!("bf-tree does not open: {error:?}")),
        }
    }

    fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        match self.tree.insert(key, value) {
            LeafInsertResult::Success => Ok(()),
            LeafInsertResult::InvalidKV(why) => fail(format!("bf-tree refuses a record: {why}")),
        }
    }

    fn get(&self, key: &[u8], see: impl FnOnce(&[u8])) -> Result<bool> {
        BUFFER.with_borrow_mut(|buffer| match self.tree.read(key, &mut buffer[..]) {
            LeafReadResult::Found(length) => {
                see(&buffer[..length as usize]);
                Ok(true)
            }
            LeafReadResult::Deleted | LeafReadResult::NotFound => Ok(false),
            LeafReadResult::InvalidKey => fail("bf-tree refuses a key"),
        })
    }

    fn scan(&self, from: &[u8], count: usize, see: impl FnMut(&[u8], &[u8])) -> Result<usize> {
        self.read(from, count, see)
    }

    fn pop(&self, end: End, mut see: impl FnMut(&[u8], &[u8])) -> Result<bool> {
        if end == End::Last {
            return fail("bf-tree does not read backwards");
        }
        let mut first = Vec::new();
        self.read(&[0], 1, |key, value| {
            see(key, value);
            first.extend_from_slice(key);
        })?;
        if first.is_empty() {
            return Ok(false);
        }
        self.tree.delete(&first);
        Ok(true)
    }

    fn settle(&self) -> Result<()> {
        Ok(())
    }
}
