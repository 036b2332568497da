//! Values that are overwritten in place (`inplace_update_support`).
//!
//! The representation keeps, as the value of such an entry, a *handle*: where
//! in [`Values`] the bytes are. Representations stay as they are, and never
//! change what they hold; the bytes that change are behind locks, a stripe of
//! them each, and are copied out under the lock. Nobody gets a reference.
//!
//! A put whose value is not longer than what the newest entry of its key has
//! now, and that finds a value there, takes that entry's bytes over, and its
//! sequence number is in the log alone. So there is one entry of a key that is
//! put again and again, and no way to read what it held before.
//!
//! Invariants:
//! * U1: one thread at a time inserts: between looking at a key's newest entry
//!   and overwriting it nothing gets on top. Options that let several insert
//!   are refused.
//! * U2: a handle is in the representation only once its bytes are here.
//! * U3: entries of type `Value` have handles, all others have not. With
//!   checksums, the bytes end with the one of the entry as it is now.

use super::rep::Entry;
use super::{Memtable, ValueType};
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use twox_hash::XxHash3_64;
use whitewater_concurrent::system::RwLock;
use whitewater_storage::Result;
use whitewater_storage::internal_iterator::{BoxedIterator, InternalIterator};
use whitewater_storage::key::{SEEK_TYPE, SequenceNumber, pack_tag, tag};
use whitewater_storage::protection::KvSum;

/// Where a value is: its stripe, and its place there.
pub(super) type Handle = [u8; 8];

/// Bytes that a value takes beside its own: its place in the stripe, and what
/// an allocation costs.
const PLACE: usize = size_of::<Vec<u8>>() + 16;

/// The values of a memtable.
#[derive(Debug)]
pub(super) struct Values {
    /// Chosen by the hash of the key. Readers hold a lock while they copy one
    /// value, the writer while it copies one in; nothing is locked inside.
    stripes: Box<[RwLock<Vec<Vec<u8>>>]>,
    /// What the values take. Written by: the writer. Read by: whoever asks for
    /// a memtable's size. Publishes nothing, so relaxed.
    bytes: AtomicUsize,
}

impl Values {
    /// No values, behind `locks` locks, at least 1.
    pub fn new(locks: usize) -> Self {
        Values {
            stripes: (0..locks.max(1)).map(|_| RwLock::default()).collect(),
            bytes: AtomicUsize::new(0),
        }
    }

    /// Keeps `bytes` for an entry of `user_key` that is about to be inserted.
    pub fn store(&self, user_key: &[u8], bytes: &[u8]) -> Handle {
        let stripe = XxHash3_64::oneshot(user_key) % self.stripes.len() as u64;
        let mut values = self.stripes[stripe as usize].write();
        // A write buffer has no room for so many.
        let place = u32::try_from(values.len()).expect("fewer values than 2^32");
        values.push(bytes.to_vec());
        drop(values);
        self.bytes.fetch_add(bytes.len() + PLACE, Ordering::Relaxed);
        (u64::from(place) << 32 | stripe).to_le_bytes()
    }

    /// Puts `bytes` in the place of those at `handle`, unless they are longer.
    fn overwrite(&self, handle: Handle, bytes: &[u8]) -> bool {
        let (stripe, place) = self.locate(handle);
        let mut values = stripe.write();
        let value = &mut values[place];
        if bytes.len() > value.len() {
            return false;
        }
        value.clear();
        value.extend_from_slice(bytes);
        true
    }

    /// A copy of the bytes at `handle`, which is a stored value.
    pub fn copy(&self, handle: &[u8]) -> Vec<u8> {
        let handle = handle.try_into().expect("a handle");
        let (stripe, place) = self.locate(handle);
        stripe.read()[place].clone()
    }

    fn locate(&self, handle: Handle) -> (&RwLock<Vec<Vec<u8>>>, usize) {
        let packed = u64::from_le_bytes(handle);
        let (stripe, place) = (packed as u32, packed >> 32);
        (&self.stripes[stripe as usize], place as usize)
    }

    /// Bytes that the values take. The locks are not counted, as in RocksDB:
    /// small memtables would be full of them.
    pub fn memory_bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }
}

/// Whether an entry with this tag has a handle (U3).
pub(super) fn has_handle(tag: u64) -> bool {
    tag as u8 == ValueType::Value as u8
}

impl Memtable {
    /// Lets the newest entry of `user_key` have `value`, if it is a value that
    /// is not shorter, and no range tombstone hides it. `sum` is the checksum
    /// that came with it, if one did; `seq` is the number of the write; nothing with a higher one
    /// is there.
    pub(super) fn overwrite(
        &self,
        values: &Values,
        user_key: &[u8],
        value: &[u8],
        sum: Option<KvSum>,
        seq: SequenceNumber,
    ) -> bool {
        // The entry keeps its key, which its checksum covers: that may have
        // other bytes than this one.
        if self.protection.is_on() && !self.comparator.is_builtin() {
            return false;
        }
        let mut newest = None;
        self.rep
            .get(user_key, pack_tag(seq, SEEK_TYPE), &mut |tag, stored| {
                if has_handle(tag) {
                    newest = stored.try_into().ok().map(|handle| (tag, handle));
                }
                false
            });
        let Some((tag, handle)) = newest else {
            return false;
        };
        if self.hides(user_key, tag >> 8, seq) {
            return false;
        }
        if !self.protection.is_on() {
            return values.overwrite(handle, value);
        }
        let entry = Entry {
            user_key,
            tag,
            value,
        };
        let mut protected = Vec::new();
        self.protection.append(&entry, sum, &mut protected);
        values.overwrite(handle, &protected)
    }

    /// Whether a range tombstone hides the entry of `user_key` with the number
    /// `entry` from who reads at `seq`. If that cannot be told, it may.
    fn hides(&self, user_key: &[u8], entry: SequenceNumber, seq: SequenceNumber) -> bool {
        match self.tombstones() {
            Ok(None) => false,
            Ok(Some(t)) => t.max_covering(&self.comparator, user_key, seq) > entry,
            Err(_) => true,
        }
    }
}

/// A memtable's cursor that shows the values behind handles: each a copy, made
/// when it is first asked for and kept until the cursor moves.
pub(super) struct Copying {
    inner: BoxedIterator,
    values: Arc<Values>,
    copy: OnceLock<Vec<u8>>,
}

impl Copying {
    pub fn new(inner: BoxedIterator, values: Arc<Values>) -> Self {
        Copying {
            inner,
            values,
            copy: OnceLock::new(),
        }
    }

    /// The inner cursor, to be moved.
    fn moved(&mut self) -> &mut BoxedIterator {
        self.copy.take();
        &mut self.inner
    }
}

impl InternalIterator for Copying {
    fn valid(&self) -> bool {
        self.inner.valid()
    }
    fn seek_to_first(&mut self) {
        self.moved().seek_to_first();
    }
    fn seek_to_last(&mut self) {
        self.moved().seek_to_last();
    }
    fn seek(&mut self, target: &[u8]) {
        self.moved().seek(target);
    }
    fn seek_for_prev(&mut self, target: &[u8]) {
        self.moved().seek_for_prev(target);
    }
    fn next(&mut self) {
        self.moved().next();
    }
    fn prev(&mut self) {
        self.moved().prev();
    }
    fn key(&self) -> &[u8] {
        self.inner.key()
    }
    fn value(&self) -> &[u8] {
        if !has_handle(tag(self.inner.key())) {
            return self.inner.value();
        }
        self.copy
            .get_or_init(|| self.values.copy(self.inner.value()))
    }
    fn keep_to_prefix(&mut self, on: bool) {
        self.inner.keep_to_prefix(on);
    }
    fn status(&self) -> Result<()> {
        self.inner.status()
    }
}
