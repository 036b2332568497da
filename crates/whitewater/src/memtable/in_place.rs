//! Values that are updated in place (`inplace_update_support`).
//!
//! As the value of such an entry, the representation stores a *handle*: where in
//! [`Values`] the bytes are. Representations never change what they hold. The bytes that
//! change are in stripes, each behind a lock, and are copied out under it.
//!
//! If the newest entry of a key is a value, a put of a value that is not longer stores its
//! bytes there; its sequence number is in the log alone. So a key that is put again and
//! again has one entry, and its earlier values cannot be read.
//!
//! Invariants:
//! * U1: one thread at a time inserts, so no entry is added between reading a key's newest
//!   entry and updating it. Options that let several threads insert are refused.
//! * U2: a handle is in the representation only once its bytes are stored here.
//! * U3: entries of type `Value` have handles, all others have none. With checksums, the
//!   bytes end with the checksum of the entry as it is now.

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

/// Where a value is: its stripe, and its index there.
pub(super) type Handle = [u8; 8];

/// Bytes that a value takes beside its own: its slot in the stripe, and the overhead of an
/// allocation.
const SLOT: usize = size_of::<Vec<u8>>() + 16;

/// The values of a memtable.
#[derive(Debug)]
pub(super) struct Values {
    /// Chosen by the hash of the key. A lock is held to copy one value out or in, and
    /// nothing is locked inside.
    stripes: Box<[RwLock<Vec<Vec<u8>>>]>,
    /// Bytes that the values take. Written by: the writer. Read by: threads that ask for
    /// the memtable's size. Publishes nothing, so relaxed.
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

    /// Stores `bytes` for an entry of `user_key` that is about to be inserted.
    pub fn store(&self, user_key: &[u8], bytes: &[u8]) -> Handle {
        let stripe = XxHash3_64::oneshot(user_key) % self.stripes.len() as u64;
        let mut values = self.stripes[stripe as usize].write();
        // A write buffer has no room for so many.
        let index = u32::try_from(values.len()).expect("fewer values than 2^32");
        values.push(bytes.to_vec());
        drop(values);
        self.bytes.fetch_add(bytes.len() + SLOT, Ordering::Relaxed);
        (u64::from(index) << 32 | stripe).to_le_bytes()
    }

    /// Replaces the bytes at `handle` by `bytes`, unless these are longer.
    fn overwrite(&self, handle: Handle, bytes: &[u8]) -> bool {
        let (stripe, index) = self.find(handle);
        let mut values = stripe.write();
        let value = &mut values[index];
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
        let (stripe, index) = self.find(handle);
        stripe.read()[index].clone()
    }

    fn find(&self, handle: Handle) -> (&RwLock<Vec<Vec<u8>>>, usize) {
        let packed = u64::from_le_bytes(handle);
        let (stripe, index) = (packed as u32, packed >> 32);
        (&self.stripes[stripe as usize], index as usize)
    }

    /// Bytes that the values take. As in RocksDB, the locks are not counted: they would
    /// fill small memtables.
    pub fn memory_bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }
}

/// Whether an entry with this tag has a handle (U3).
pub(super) fn has_handle(tag: u64) -> bool {
    tag as u8 == ValueType::Value as u8
}

impl Memtable {
    /// Stores `value` in the newest entry of `user_key`, if that is a value at least as
    /// long and no range tombstone hides it. `sum` is the checksum of the entry in its
    /// batch, if it had one. `seq` is the number of the write; no entry has a higher one.
    pub(super) fn overwrite(
        &self,
        values: &Values,
        user_key: &[u8],
        value: &[u8],
        sum: Option<KvSum>,
        seq: SequenceNumber,
    ) -> bool {
        // The entry keeps its key, which its checksum covers, and which may have other
        // bytes than this one.
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

    /// Whether a range tombstone may hide the entry of `user_key` with the number `entry`
    /// from a reader at `seq`.
    fn hides(&self, user_key: &[u8], entry: SequenceNumber, seq: SequenceNumber) -> bool {
        match self.tombstones() {
            Ok(None) => false,
            Ok(Some(t)) => t.max_covering(&self.comparator, user_key, seq) > entry,
            Err(_) => true,
        }
    }
}

/// A memtable's cursor that shows the values behind handles. Each is a copy, made when it
/// is first needed and kept until the cursor moves.
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

    /// The inner cursor, for a move.
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
