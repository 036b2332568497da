//! A store that sometimes breaks its promises, to see that it is noticed.

use super::history::Slots;
use super::store::{Manner, Store, View};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// What goes wrong once in a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A get returns what was in its slot some writes ago.
    StaleGet,
    /// A write is acknowledged and dropped.
    LostWrite,
    /// A write is acknowledged, and happens when the next one is made.
    LateWrite,
    /// A batch is written in two halves.
    TornBatch,
    /// A snapshot shows what is there when it is read.
    MovingSnapshot,
}

pub const FAULTS: [Fault; 5] = [
    Fault::StaleGet,
    Fault::LostWrite,
    Fault::LateWrite,
    Fault::TornBatch,
    Fault::MovingSnapshot,
];

/// How many writes of its slot a stale value is old.
const AGE: usize = 8;

/// `store`, in which one call in `one_in` of the fault's kind goes wrong.
pub struct Faulty<S> {
    store: S,
    fault: Fault,
    one_in: u64,
    slots: usize,
    /// Calls of the fault's kind, counted by all threads. Publishes nothing.
    calls: AtomicU64,
    /// What was written, by slot.
    written: Mutex<Vec<Vec<u32>>>,
    late: Mutex<Option<(Slots, Manner)>>,
}

impl<S: Store> Faulty<S> {
    pub fn new(store: S, slots: usize, fault: Fault, one_in: u64) -> Self {
        Faulty {
            store,
            fault,
            one_in,
            slots,
            calls: AtomicU64::new(0),
            written: Mutex::new(vec![Vec::new(); slots]),
            late: Mutex::new(None),
        }
    }

    fn strikes(&self, fault: Fault) -> bool {
        let turn = || self.calls.fetch_add(1, Ordering::Relaxed) % self.one_in;
        self.fault == fault && turn() == self.one_in - 1
    }
}

fn pause() {
    thread::sleep(Duration::from_micros(100));
}

impl<S: Store> Store for Faulty<S> {
    fn write(&self, slots: &Slots, manner: Manner) {
        let late = self.late.lock().expect("no panic under it").take();
        if let Some((slots, manner)) = late {
            self.store.write(&slots, manner);
        }
        if self.strikes(Fault::LostWrite) {
            return;
        }
        if self.strikes(Fault::LateWrite) {
            let earlier = self
                .late
                .lock()
                .expect("no panic under it")
                .replace((slots.clone(), manner));
            if let Some((slots, manner)) = earlier {
                self.store.write(&slots, manner);
            }
            return;
        }
        if slots.len() > 1 && self.strikes(Fault::TornBatch) {
            let (one, two) = slots.split_at(slots.len() / 2);
            self.store.write(&one.to_vec(), manner);
            pause();
            self.store.write(&two.to_vec(), manner);
            return;
        }
        self.store.write(slots, manner);
        let mut written = self.written.lock().expect("no panic under it");
        for (slot, value) in slots {
            written[*slot].push(*value);
        }
    }

    fn get(&self, slot: usize) -> u32 {
        if self.strikes(Fault::StaleGet) {
            let written = self.written.lock().expect("no panic under it");
            if let Some(old) = written[slot].iter().rev().nth(AGE) {
                return *old;
            }
        }
        self.store.get(slot)
    }

    fn multi_get(&self, slots: &[usize]) -> Slots {
        self.store.multi_get(slots)
    }

    fn snapshot(&self) -> Box<dyn View + '_> {
        let inner = self.store.snapshot();
        if self.strikes(Fault::MovingSnapshot) {
            return Box::new(Moving { of: self, inner });
        }
        inner
    }

    fn iterator(&self, family: usize) -> Box<dyn View + '_> {
        self.store.iterator(family)
    }

    fn latest_sequence(&self) -> u64 {
        self.store.latest_sequence()
    }

    fn flush(&self) {
        self.store.flush();
    }

    fn compact(&self) {
        self.store.compact();
    }
}

struct Moving<'a, S> {
    of: &'a Faulty<S>,
    inner: Box<dyn View + 'a>,
}

impl<S: Store> View for Moving<'_, S> {
    fn sequence(&self) -> Option<u64> {
        self.inner.sequence()
    }

    fn read(&mut self, _way: usize) -> (&'static str, Slots) {
        pause();
        let all: Vec<usize> = (0..self.of.slots).collect();
        ("moving snapshot", self.of.store.multi_get(&all))
    }
}
