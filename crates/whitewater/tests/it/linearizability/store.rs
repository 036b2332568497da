//! The store whose histories are recorded: numbered slots over a database's public API, or a
//! wrapper that breaks it on purpose.

use super::history::Slots;
use crate::harness::Db;
use std::sync::Arc;
use whitewater::{
    BoundColumnFamily, CompactOptions, DBAccess, DBRawIteratorWithThreadMode, ReadOptions,
    SnapshotWithThreadMode, WriteBatchWithTransaction, WriteOptions,
};

/// The column families over which slots are distributed in turn.
pub const FAMILIES: [&str; 3] = ["default", "a", "b"];

/// How a batch is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Manner {
    pub sync: bool,
    pub disable_wal: bool,
    /// Bytes of each value, at least 8.
    pub value_len: usize,
    /// Each slot first gets a value that the batch itself replaces.
    pub decoys: bool,
}

/// A store that several threads use at once. Absent values are 0.
pub trait Store: Sync {
    /// Writes `slots` as one batch, or a single slot by a call of its own.
    fn write(&self, slots: &Slots, manner: Manner);
    fn get(&self, slot: usize) -> u32;
    /// `slots` at one moment.
    fn multi_get(&self, slots: &[usize]) -> Slots;
    /// All slots at this moment, to be read later.
    fn snapshot(&self) -> Box<dyn View + '_>;
    /// The slots of one column family at this moment, to be read later.
    fn iterator(&self, family: usize) -> Box<dyn View + '_>;
    fn latest_sequence(&self) -> u64;
    fn flush(&self);
    fn compact(&self);
}

/// Some slots at the moment at which the view was made.
pub trait View {
    /// The snapshot's number.
    fn sequence(&self) -> Option<u64>;
    /// Reads everything in the way with this number, modulo the number of ways. Returns the name of
    /// the way, too.
    fn read(&mut self, way: usize) -> (&'static str, Slots);
}

/// Where the slots are.
pub struct Places<'a> {
    pub cfs: Vec<Arc<BoundColumnFamily<'a>>>,
    slots: usize,
}

impl<'a> Places<'a> {
    /// `slots` slots in [`FAMILIES`], which `cf` opens.
    pub fn new(
        slots: usize,
        cf: impl Fn(&'static str) -> Option<Arc<BoundColumnFamily<'a>>>,
    ) -> Self {
        let cfs = FAMILIES.map(|f| cf(f).expect("opened")).into();
        Places { cfs, slots }
    }

    pub fn place(&self, slot: usize) -> (&Arc<BoundColumnFamily<'a>>, String) {
        (&self.cfs[slot % FAMILIES.len()], key(slot))
    }

    pub fn slots_of(&self, family: usize) -> impl DoubleEndedIterator<Item = usize> {
        (0..self.slots).filter(move |slot| slot % FAMILIES.len() == family)
    }

    /// What a batch writes.
    pub fn batch<const TRANSACTION: bool>(
        &self,
        slots: &Slots,
        manner: Manner,
    ) -> WriteBatchWithTransaction<TRANSACTION> {
        let mut batch = WriteBatchWithTransaction::default();
        if manner.decoys {
            for (slot, number) in slots {
                let (cf, key) = self.place(*slot);
                batch.put_cf(cf, key, encode(*slot, number | DECOY, 8));
            }
        }
        for (slot, number) in slots {
            let (cf, key) = self.place(*slot);
            match number {
                0 => batch.delete_cf(cf, key),
                n => batch.put_cf(cf, key, encode(*slot, *n, manner.value_len)),
            }
        }
        batch
    }
}

/// A database with slots.
pub struct DbStore<'a> {
    db: &'a Db,
    places: Places<'a>,
}

impl<'a> DbStore<'a> {
    pub fn new(db: &'a Db, slots: usize) -> Self {
        let places = Places::new(slots, |name| db.cf_handle(name));
        DbStore { db, places }
    }
}

/// How `manner` writes.
pub fn write_options(manner: Manner) -> WriteOptions {
    let mut options = WriteOptions::default();
    options.set_sync(manner.sync);
    options.disable_wal(manner.disable_wal);
    options
}

/// Reads of all keys, whatever their prefixes.
pub fn everything() -> ReadOptions {
    let mut options = ReadOptions::default();
    options.set_total_order_seek(true);
    options
}

fn key(slot: usize) -> String {
    format!("k{slot:02}")
}

/// Number, slot, length, and bytes that follow from them.
pub fn encode(slot: usize, number: u32, len: usize) -> Vec<u8> {
    let mut bytes = number.to_le_bytes().to_vec();
    bytes.extend([slot as u8, 0xa5]);
    bytes.extend((len as u16).to_le_bytes());
    bytes.resize(len.max(8), number as u8);
    bytes
}

/// The number of a value that is whole, or `u32::MAX`.
pub fn decode(slot: usize, bytes: Option<&[u8]>) -> u32 {
    let Some(bytes) = bytes else { return 0 };
    let number = bytes.first_chunk().map(|first| u32::from_le_bytes(*first));
    match number {
        Some(number) if encode(slot, number, bytes.len()) == bytes => number,
        _ => u32::MAX,
    }
}

/// Numbers of decoys, which no read may see.
const DECOY: u32 = 1 << 31;

impl Store for DbStore<'_> {
    fn write(&self, slots: &Slots, manner: Manner) {
        let options = write_options(manner);
        let written = if let ([(slot, number)], false) = (slots.as_slice(), manner.decoys) {
            let (cf, key) = self.places.place(*slot);
            match number {
                0 => self.db.delete_cf_opt(cf, key, &options),
                n => self
                    .db
                    .put_cf_opt(cf, key, encode(*slot, *n, manner.value_len), &options),
            }
        } else {
            self.db
                .write_opt(self.places.batch(slots, manner), &options)
        };
        written.expect("nothing fails here");
    }

    fn get(&self, slot: usize) -> u32 {
        let (cf, key) = self.places.place(slot);
        decode(slot, self.db.get_cf(cf, key).expect("readable").as_deref())
    }

    fn multi_get(&self, slots: &[usize]) -> Slots {
        let found = self
            .db
            .multi_get_cf(slots.iter().map(|slot| self.places.place(*slot)));
        let found = found.into_iter().map(|f| f.expect("readable"));
        slots
            .iter()
            .zip(found)
            .map(|(slot, f)| (*slot, decode(*slot, f.as_deref())))
            .collect()
    }

    fn snapshot(&self) -> Box<dyn View + '_> {
        let snapshot = self.db.snapshot();
        Box::new(DbSnapshot {
            sequence: Some(snapshot.sequence_number()),
            snapshot,
            places: &self.places,
        })
    }

    fn iterator(&self, family: usize) -> Box<dyn View + '_> {
        let cf = &self.places.cfs[family];
        Box::new(DbIterator {
            iter: self.db.raw_iterator_cf_opt(cf, everything()),
            slots: self.places.slots_of(family).collect(),
        })
    }

    fn latest_sequence(&self) -> u64 {
        self.db.latest_sequence_number()
    }

    fn flush(&self) {
        for cf in &self.places.cfs {
            self.db.flush_cf(cf).expect("flushes");
        }
    }

    fn compact(&self) {
        for cf in &self.places.cfs {
            let all = None::<&[u8]>;
            let compacted =
                self.db
                    .try_compact_range_cf_opt(cf, all, all, &CompactOptions::default());
            compacted.expect("compacts");
        }
    }
}

/// The content of `slots` that an iterator shows. It may show no other slots.
fn scan<D: DBAccess>(
    iter: &mut DBRawIteratorWithThreadMode<'_, D>,
    slots: &[usize],
    backward: bool,
) -> Slots {
    let mut found: Slots = slots.iter().map(|slot| (*slot, 0)).collect();
    let mut next = 0;
    if backward {
        found.reverse();
        iter.seek_to_last();
    } else {
        iter.seek_to_first();
    }
    while let Some((at, value)) = iter.item() {
        while next < found.len() && key(found[next].0).as_bytes() != at {
            next += 1;
        }
        assert!(
            next < found.len(),
            "an iterator shows {} out of order",
            at.escape_ascii()
        );
        found[next].1 = decode(found[next].0, Some(value));
        next += 1;
        if backward { iter.prev() } else { iter.next() }
    }
    iter.status().expect("readable");
    found.sort_unstable();
    found
}

pub struct DbSnapshot<'a, D: DBAccess> {
    pub snapshot: SnapshotWithThreadMode<'a, D>,
    pub places: &'a Places<'a>,
    /// Its number, where snapshots of one number show the same.
    pub sequence: Option<u64>,
}

impl<D: DBAccess> View for DbSnapshot<'_, D> {
    fn sequence(&self) -> Option<u64> {
        self.sequence
    }

    fn read(&mut self, way: usize) -> (&'static str, Slots) {
        let slots = 0..self.places.slots;
        let place = |slot| self.places.place(slot);
        match way % 4 {
            0 => {
                let found = slots.map(|slot| {
                    let (cf, key) = place(slot);
                    let found = self.snapshot.get_cf(cf, key).expect("readable");
                    (slot, decode(slot, found.as_deref()))
                });
                ("snapshot get", found.collect())
            }
            1 => {
                let found = self.snapshot.multi_get_cf(slots.clone().map(place));
                let found = found.into_iter().map(|f| f.expect("readable"));
                let found = slots
                    .zip(found)
                    .map(|(slot, f)| (slot, decode(slot, f.as_deref())));
                ("snapshot multi_get", found.collect())
            }
            other => {
                let mut found = Slots::new();
                for (family, cf) in self.places.cfs.iter().enumerate() {
                    let mut iter = self.snapshot.raw_iterator_cf_opt(cf, everything());
                    let of_family: Vec<_> = self.places.slots_of(family).collect();
                    found.extend(scan(&mut iter, &of_family, other == 3));
                }
                found.sort_unstable();
                let way = ["snapshot scan", "snapshot scan backward"][other - 2];
                (way, found)
            }
        }
    }
}

pub struct DbIterator<'a, D: DBAccess> {
    pub iter: DBRawIteratorWithThreadMode<'a, D>,
    pub slots: Vec<usize>,
}

impl<D: DBAccess> View for DbIterator<'_, D> {
    fn sequence(&self) -> Option<u64> {
        None
    }

    fn read(&mut self, way: usize) -> (&'static str, Slots) {
        let backward = way % 2 == 1;
        let name = if backward {
            "iterator backward"
        } else {
            "iterator"
        };
        (name, scan(&mut self.iter, &self.slots, backward))
    }
}
