//! Scans over several column families at once.

use rand::Rng;
use rand::seq::SliceRandom;
use whitewater::{AttributeGroupIterator, CoalescingIterator, Error};

use super::super::key_model::{Shape, Slot};
use super::super::store::{Db, Family, total};
use super::Worker;

/// A scan that shows each key once.
enum Merged<'a> {
    /// With the columns that it has in any column family.
    Coalescing(CoalescingIterator<'a, Db>),
    /// With the columns that it has in each.
    Groups(AttributeGroupIterator<'a, Db>),
}

/// Slots of one key, and the values that a scan shows in them.
type Shown = Vec<(Slot, Option<Vec<u8>>)>;

impl Merged<'_> {
    fn seek(&mut self, key: &[u8], forward: bool) {
        match (self, forward) {
            (Merged::Coalescing(it), true) => it.seek(key),
            (Merged::Coalescing(it), false) => it.seek_for_prev(key),
            (Merged::Groups(it), true) => it.seek(key),
            (Merged::Groups(it), false) => it.seek_for_prev(key),
        }
    }

    fn step(&mut self, forward: bool) {
        match (self, forward) {
            (Merged::Coalescing(it), true) => it.next(),
            (Merged::Coalescing(it), false) => it.prev(),
            (Merged::Groups(it), true) => it.next(),
            (Merged::Groups(it), false) => it.prev(),
        }
    }

    fn key(&self) -> Option<&[u8]> {
        match self {
            Merged::Coalescing(it) => it.key(),
            Merged::Groups(it) => it.key(),
        }
    }

    fn status(&self) -> Result<(), Error> {
        match self {
            Merged::Coalescing(it) => it.status(),
            Merged::Groups(it) => it.status(),
        }
    }

    /// What the scan shows of `key` in those of `families` that it tells about. All columns
    /// were written to it.
    fn shown(&self, shape: Shape, families: &[Family<'_>], key: u32) -> Result<Shown, String> {
        let slot = |family: &Family<'_>| Slot {
            family: family.number,
            key,
        };
        let it = match self {
            Merged::Groups(it) => {
                let groups = it.attribute_groups().unwrap_or_default();
                let mut shown = Vec::new();
                for family in families {
                    let name = Shape::family_name(family.number);
                    let mut groups = groups.iter();
                    let group = groups.find(|group| group.column_family_name() == name);
                    let columns = group.map(|group| group.columns()).unwrap_or_default();
                    if group.is_some() {
                        shape.check_columns(slot(family), columns)?;
                    }
                    let value = columns.first().map(|default| default.value.to_vec());
                    shown.push((slot(family), value));
                }
                return Ok(shown);
            }
            Merged::Coalescing(it) => it,
        };
        let of = |value| {
            let number = Shape::family_of(value);
            families.iter().position(|f| Some(f.number) == number)
        };
        for column in it.columns().unwrap_or_default() {
            let at = of(column.value).ok_or_else(|| format!("{key}: {column:?} is of none"))?;
            shape.version(slot(&families[at]), column.value)?;
        }
        // The column family that was named last decides; the ones before it may have the key.
        let value = it.value().unwrap_or_default();
        let at = of(value).ok_or_else(|| format!("{key}: {value:02x?} is of none"))?;
        let after = families[at + 1..].iter();
        let mut shown: Vec<_> = after.map(|family| (slot(family), None)).collect();
        shown.push((slot(&families[at]), Some(value.to_vec())));
        Ok(shown)
    }
}

impl Worker<'_> {
    /// Scans a few keys of column families of one order: none of the thread's own may be
    /// missing in any of them.
    pub(super) fn scan_families(&mut self) -> Result<(), String> {
        let from = self.slot();
        let shape = self.context.shape;
        let order = shape.order(from.family);
        let mut families = self.families.clone();
        families.retain(|family| shape.order(family.number) == order);
        families.shuffle(&mut self.rng);
        families.truncate(self.rng.random_range(1..=families.len()));
        let handles: Vec<_> = families.iter().map(|family| &family.handle).collect();
        let mut read = total();
        order.read_at(&mut read, None);
        let db = self.context.db;
        let made = if self.rng.random() {
            db.coalescing_iterator_opt(&handles, read)
                .map(Merged::Coalescing)
        } else {
            db.attribute_group_iterator_opt(&handles, read)
                .map(Merged::Groups)
        };
        let mut it = match made {
            Ok(it) => it,
            Err(e) => return self.failed("scan of families", &e),
        };
        let mut forward = self.rng.random();
        it.seek(&shape.key(from), forward);
        let mut at = from.key;
        for _ in 0..self.rng.random_range(1..20) {
            let Some(next) = self.look(&it, &families, at, forward)? else {
                return Ok(());
            };
            if self.rng.random_bool(0.1) {
                forward = !forward;
            }
            it.step(forward);
            at = step(next, forward);
        }
        Ok(())
    }

    /// Checks the keys from `at` to the one that the scan stands on, which is returned; `None`
    /// at the end.
    fn look(
        &self,
        it: &Merged<'_>,
        families: &[Family<'_>],
        mut at: u32,
        forward: bool,
    ) -> Result<Option<u32>, String> {
        let shape = self.context.shape;
        let found = it.key().map(|key| shape.slot(families[0].number, key));
        let found = found.transpose()?.map(|slot| slot.key);
        if found.is_none()
            && let Err(e) = it.status()
        {
            return self.failed("scan of families", &e).map(|()| None);
        }
        let how = match it {
            Merged::Coalescing(_) => "coalescing scan",
            Merged::Groups(_) => "scan of attribute groups",
        };
        while at < shape.keys && Some(at) != found {
            for family in families.iter().map(|family| family.number) {
                self.judge(Slot { family, key: at }, None, how)?;
            }
            at = step(at, forward);
        }
        let Some(key) = found else { return Ok(None) };
        if at != key {
            return Err(format!("{how}: at {key}, which is not on the way"));
        }
        for (slot, value) in it.shown(shape, families, key)? {
            self.judge(slot, value.as_deref(), how)?;
        }
        Ok(Some(key))
    }
}

/// The key after this one in the direction of the scan.
fn step(key: u32, forward: bool) -> u32 {
    if forward {
        key + 1
    } else {
        key.wrapping_sub(1)
    }
}
