//! The bytes of one in-memory file, now and after a crash.

use parking_lot::RwLock;
use rand::{Rng, rngs::StdRng};
use std::collections::BTreeSet;
use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};
use whitewater_concurrent::system;

/// The unit that is written back, or lost, as a whole, in bytes.
const BLOCK: usize = 4096;

/// The unit that the device writes atomically, in bytes.
const SECTOR: usize = 512;

/// A file's content; its names are in [`super::tree`].
#[derive(Default)]
pub(super) struct MemFile {
    pub content: RwLock<Content>,
}

impl fmt::Debug for MemFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemFile")
    }
}

/// The content as written, and the durable content.
#[derive(Default)]
pub(super) struct Content {
    pub data: Vec<u8>,
    synced: Vec<u8>,
    /// Blocks of `data` that the next sync makes durable.
    dirty: BTreeSet<usize>,
    /// The file was cut to this length since the last sync.
    cut_to: Option<usize>,
    /// The time of the last write.
    modified: Option<SystemTime>,
}

impl Content {
    /// Content that is durable.
    pub fn durable(data: Vec<u8>) -> Self {
        Content {
            synced: data.clone(),
            data,
            ..Content::default()
        }
    }

    /// Writes `bytes` at `pos`, extending the file with zeros to there.
    pub fn write(&mut self, pos: usize, bytes: &[u8]) {
        let end = pos + bytes.len();
        self.modified = Some(system::wall_clock());
        if end > self.data.len() {
            self.data.resize(end, 0);
        }
        self.data[pos..end].copy_from_slice(bytes);
        if !bytes.is_empty() {
            self.dirty.extend(pos / BLOCK..=(end - 1) / BLOCK);
        }
    }

    /// Makes the file at least `len` bytes long. New bytes read as zeros.
    pub fn extend(&mut self, len: usize) {
        if len > self.data.len() {
            self.data.resize(len, 0);
        }
    }

    /// Cuts the file at `len` bytes if it is longer.
    pub fn truncate(&mut self, len: usize) {
        if len < self.data.len() {
            self.data.truncate(len);
            self.dirty.retain(|b| b * BLOCK < len);
            self.cut_to = Some(self.cut_to.map_or(len, |cut| cut.min(len)));
        }
    }

    /// The time of the last write in seconds since 1970; 0 for never.
    pub fn modified(&self) -> u64 {
        let since = |t: SystemTime| t.duration_since(UNIX_EPOCH).ok();
        self.modified.and_then(since).map_or(0, |d| d.as_secs())
    }

    /// Forgets which bytes are unsynced, so that no sync makes them durable.
    pub fn forget_unsynced(&mut self) {
        self.dirty.clear();
    }

    /// Makes unsynced bytes, and the length, durable.
    pub fn sync(&mut self) {
        if let Some(len) = self.cut_to.take() {
            self.synced.truncate(len);
        }
        self.synced.resize(self.data.len(), 0);
        for block in std::mem::take(&mut self.dirty) {
            let range = block_range(block, self.data.len());
            self.synced[range.clone()].copy_from_slice(&self.data[range]);
        }
    }

    /// The content after a crash, with each unsynced part kept with probability `keep`.
    pub fn after_crash(&self, keep: f64, rng: &mut StdRng) -> Content {
        Content {
            modified: self.modified,
            ..Content::durable(self.bytes_after_crash(keep, rng))
        }
    }

    fn bytes_after_crash(&self, keep: f64, rng: &mut StdRng) -> Vec<u8> {
        let mut left = self.synced.clone();
        if let Some(len) = self.cut_to
            && rng.random_bool(keep)
        {
            left.truncate(len);
        }
        for &block in &self.dirty {
            let range = block_range(block, self.data.len());
            let kept = rng.random_bool(keep);
            // Unless everything or nothing is kept, a quarter of the blocks is torn.
            let torn = keep > 0.0 && keep < 1.0 && rng.random_bool(0.25);
            let mut sector = range.start;
            while sector < range.end {
                let end = (sector + SECTOR).min(range.end);
                let kept = if torn { rng.random_bool(keep) } else { kept };
                if kept {
                    if left.len() < end {
                        left.resize(end, 0);
                    }
                    left[sector..end].copy_from_slice(&self.data[sector..end]);
                }
                sector = end;
            }
        }
        // The length can be written back without the bytes.
        if left.len() < self.data.len() && rng.random_bool(keep) {
            left.resize(self.data.len(), 0);
        }
        left
    }
}

fn block_range(block: usize, len: usize) -> std::ops::Range<usize> {
    let start = (block * BLOCK).min(len);
    start..(start + BLOCK).min(len)
}
