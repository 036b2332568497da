//! The content that a database should have, and an iterator to compare with it.

use crate::harness::walk::{Content, RawIter};
use crate::harness::{Db, show};
use rand::Rng;
use rand::rngs::StdRng;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use whitewater::{ReadOptions, WriteBatch};

/// The order of keys.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Order {
    Bytewise,
    Reverse,
    /// Like `Reverse`, by a function.
    OwnReverse,
}

impl Order {
    /// The two in this order.
    pub fn sort(self, a: Vec<u8>, b: Vec<u8>) -> (Vec<u8>, Vec<u8>) {
        if (a <= b) == (self == Order::Bytewise) {
            (a, b)
        } else {
            (b, a)
        }
    }

    /// Whether `a` comes before `b`.
    pub fn before(self, a: &[u8], b: &[u8]) -> bool {
        match self {
            Order::Bytewise => a < b,
            _ => b < a,
        }
    }
}

/// Column families that scripts use; "default" always exists.
pub const FAMILIES: [&str; 4] = ["default", "one", "two", "three"];

/// The name of a family in a script.
pub fn family(cf: u8) -> &'static str {
    FAMILIES[usize::from(cf) % FAMILIES.len()]
}

/// What the database should hold, by column family.
pub type State = BTreeMap<&'static str, Content>;

/// One change of one key or range.
#[derive(Debug, Clone)]
pub enum Change {
    Put(u8, Vec<u8>, Vec<u8>),
    /// A wide-column entity with this default column, and with one more: [`entity`].
    PutEntity(u8, Vec<u8>, Vec<u8>),
    Delete(u8, Vec<u8>),
    /// A key in the "s" part of the key space, to which a put and a single delete are applied in
    /// turn, and nothing else.
    SingleDelete(u8, Vec<u8>),
    Merge(u8, Vec<u8>, Vec<u8>),
    /// From the one that is first in the order of keys to before the other.
    DeleteRange(u8, Vec<u8>, Vec<u8>),
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::Put(cf, k, v) => write!(f, "put({}, {}, {})", family(*cf), show(k), show(v)),
            Change::PutEntity(cf, k, v) => {
                write!(f, "put_entity({}, {}, {})", family(*cf), show(k), show(v))
            }
            Change::Delete(cf, k) => write!(f, "delete({}, {})", family(*cf), show(k)),
            Change::SingleDelete(cf, k) => write!(f, "single_delete({}, {})", family(*cf), show(k)),
            Change::Merge(cf, k, v) => {
                write!(f, "merge({}, {}, {})", family(*cf), show(k), show(v))
            }
            Change::DeleteRange(cf, a, b) => {
                write!(f, "delete_range({}, {}, {})", family(*cf), show(a), show(b))
            }
        }
    }
}

impl Change {
    pub fn family(&self) -> u8 {
        let (Change::Put(cf, ..)
        | Change::PutEntity(cf, ..)
        | Change::Delete(cf, _)
        | Change::SingleDelete(cf, _)
        | Change::Merge(cf, ..)
        | Change::DeleteRange(cf, ..)) = self;
        *cf
    }

    /// Changes `state`. `None` if that is not allowed now.
    pub fn apply(&self, order: Order, state: &mut State) -> Option<()> {
        let content = state.get_mut(family(self.family()))?;
        match self {
            Change::Put(_, k, v) => {
                if k.first() == Some(&b's') && content.contains_key(k) {
                    return None;
                }
                content.insert(k.clone(), v.clone());
            }
            Change::PutEntity(_, k, v) => _ = content.insert(k.clone(), v.clone()),
            Change::Delete(_, k) => _ = content.remove(k),
            Change::SingleDelete(_, k) => _ = content.remove(k)?,
            Change::Merge(_, k, v) => match content.get_mut(k) {
                None => _ = content.insert(k.clone(), v.clone()),
                Some(old) => {
                    old.push(b',');
                    old.extend_from_slice(v);
                }
            },
            Change::DeleteRange(_, a, b) => {
                content.retain(|k, _| order.before(k, a) || !order.before(k, b));
            }
        }
        Some(())
    }

    pub fn push(&self, db: &Db, batch: &mut WriteBatch) {
        let cf = db.cf_handle(family(self.family())).expect("a live family");
        match self {
            Change::Put(_, k, v) => batch.put_cf(&cf, k, v),
            Change::PutEntity(_, k, v) => batch.put_entity_cf(&cf, k, entity(k, v)),
            Change::Delete(_, k) => batch.delete_cf(&cf, k),
            Change::SingleDelete(_, k) => batch.single_delete_cf(&cf, k),
            Change::Merge(_, k, v) => batch.merge_cf(&cf, k, v),
            Change::DeleteRange(_, a, b) => batch.delete_range_cf(&cf, a, b),
        }
    }
}

/// The columns of an entity: the default one, which merges change, and one that stays.
pub fn entity<'a>(key: &'a [u8], value: &'a [u8]) -> [(&'a [u8], &'a [u8]); 2] {
    [(b"of", key), (b"", value)]
}

/// Bounds of an iterator in the order of keys: lower inclusive, upper exclusive.
#[derive(Debug, Clone, Default)]
pub struct Bounds {
    pub lower: Option<Vec<u8>>,
    pub upper: Option<Vec<u8>>,
}

impl Bounds {
    /// Whether `key` is within them.
    pub fn hold(&self, order: Order, key: &[u8]) -> bool {
        self.lower.as_ref().is_none_or(|l| !order.before(key, l))
            && self.upper.as_ref().is_none_or(|u| order.before(key, u))
    }

    pub fn read_options(&self) -> ReadOptions {
        let mut o = ReadOptions::default();
        o.set_total_order_seek(true);
        // As they come, with it and without.
        o.set_async_io(self.upper.is_some());
        if let Some(key) = &self.lower {
            o.set_iterate_lower_bound(key.clone());
        }
        if let Some(key) = &self.upper {
            o.set_iterate_upper_bound(key.clone());
        }
        o
    }
}

/// Whether compactions may have dropped `key` at any time, because of a filter.
pub fn loose(filter: bool, key: &[u8]) -> bool {
    filter && key.first() == Some(&b'f')
}

/// An iterator, the rows that it must show, and the position that it must have.
pub struct Cursor<'a> {
    pub iter: RawIter<'a>,
    rows: Vec<(Vec<u8>, Vec<u8>)>,
    /// Rows that may be missing.
    loose: Content,
    order: Order,
    at: Option<usize>,
}

type Outcome = Result<(), String>;

impl<'a> Cursor<'a> {
    pub fn new(
        iter: RawIter<'a>,
        content: &Content,
        bounds: &Bounds,
        order: Order,
        filter: bool,
    ) -> Self {
        let inside = content.iter().filter(|(k, _)| bounds.hold(order, k));
        let (mut rows, mut dropped) = (Vec::new(), Content::new());
        for (k, v) in inside {
            if loose(filter, k) {
                dropped.insert(k.clone(), v.clone());
            } else {
                rows.push((k.clone(), v.clone()));
            }
        }
        if order != Order::Bytewise {
            rows.reverse();
        }
        Cursor {
            iter,
            rows,
            loose: dropped,
            order,
            at: None,
        }
    }

    /// Compares the position after `step`, skipping rows that may be missing.
    fn expect(&mut self, step: &str, want: Option<usize>, forward: bool) -> Outcome {
        let got = loop {
            let status = self.iter.status();
            status.map_err(|e| format!("{step}: iterator failed: {e}"))?;
            match self.iter.item() {
                Some((k, v)) if self.loose.get(k).is_some_and(|l| l == v) => {}
                other => break other,
            }
            match forward {
                true => self.iter.next(),
                false => self.iter.prev(),
            }
        };
        let wanted = want.map(|i| (&self.rows[i].0[..], &self.rows[i].1[..]));
        if got != wanted {
            let text = |item: Option<(&[u8], &[u8])>| match item {
                None => "the end".to_owned(),
                Some((k, v)) => format!("{} = {}", show(k), show(v)),
            };
            let (got, wanted) = (text(got), text(wanted));
            return Err(format!("{step}: iterator at {got}, should be at {wanted}"));
        }
        self.at = want;
        Ok(())
    }

    fn row(&self, at: usize) -> Option<usize> {
        (at < self.rows.len()).then_some(at)
    }

    /// One random step; `key` makes keys to seek.
    pub fn step(&mut self, rng: &mut StdRng, key: &dyn Fn(&mut StdRng) -> Vec<u8>) -> Outcome {
        let order = self.order;
        let kind = match self.at {
            None => rng.random_range(0..4),
            Some(_) => rng.random_range(0..20),
        };
        let at = self.at.unwrap_or_default();
        match kind {
            0 => {
                let k = key(rng);
                self.iter.seek(&k);
                let want = self.rows.partition_point(|row| order.before(&row.0, &k));
                self.expect(&format!("seek {}", show(&k)), self.row(want), true)
            }
            1 => {
                let k = key(rng);
                self.iter.seek_for_prev(&k);
                let want = self.rows.partition_point(|row| !order.before(&k, &row.0));
                let step = format!("seek_for_prev {}", show(&k));
                self.expect(&step, want.checked_sub(1), false)
            }
            2 => {
                self.iter.seek_to_first();
                self.expect("seek_to_first", self.row(0), true)
            }
            3 => {
                self.iter.seek_to_last();
                self.expect("seek_to_last", self.rows.len().checked_sub(1), false)
            }
            4..=12 => {
                self.iter.next();
                let step = format!("next from {}", show(&self.rows[at].0));
                self.expect(&step, self.row(at + 1), true)
            }
            _ => {
                self.iter.prev();
                let step = format!("prev from {}", show(&self.rows[at].0));
                self.expect(&step, at.checked_sub(1), false)
            }
        }
    }

    /// The rows of `range` and no more, only forward, from a seek to `key`.
    pub fn ahead(&mut self, key: &[u8], range: Range<usize>) -> Outcome {
        self.iter.seek(key);
        for at in range.map(Some).chain([None]) {
            self.expect(&format!("prefix scan from {}", show(key)), at, true)?;
            if at.is_some() {
                self.iter.next();
            }
        }
        Ok(())
    }

    /// The rows that begin with the first `length` bytes of `key`, from `key` on.
    pub fn with_prefix(&mut self, key: &[u8], length: usize) -> Outcome {
        let from = (self.rows).partition_point(|row| self.order.before(&row.0, key));
        let same = |row: &(Vec<u8>, Vec<u8>)| row.0.starts_with(&key[..length]);
        let count = self.rows[from..].iter().take_while(|row| same(row)).count();
        self.ahead(key, from..from + count)
    }

    /// Everything, in both directions.
    pub fn scan(&mut self) -> Outcome {
        self.iter.seek_to_first();
        for at in (0..self.rows.len()).map(Some).chain([None]) {
            self.expect("forward scan", at, true)?;
            if at.is_some() {
                self.iter.next();
            }
        }
        self.iter.seek_to_last();
        for at in (0..self.rows.len()).rev().map(Some).chain([None]) {
            self.expect("backward scan", at, false)?;
            if at.is_some() {
                self.iter.prev();
            }
        }
        Ok(())
    }
}
