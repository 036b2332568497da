//! Walks over several families at once.

use super::{Outcome, Session};
use crate::harness::{Db, show};
use crate::metamorphic::model::loose;
use crate::metamorphic::script::{check_bounds, key};
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use whitewater::{AttributeGroupIterator, CoalescingIterator, WideColumn};

/// An iterator of either kind.
enum Walk<'a> {
    Coalescing(CoalescingIterator<'a, Db>),
    Groups(AttributeGroupIterator<'a, Db>),
}

macro_rules! both {
    ($walk:expr, $it:ident => $call:expr) => {
        match $walk {
            Walk::Coalescing($it) => $call,
            Walk::Groups($it) => $call,
        }
    };
}

/// A key, and its value in each family that has it, in the order of the iterator.
type Row = (Vec<u8>, Vec<(&'static str, Vec<u8>)>);

/// Checks the columns of a key.
fn check_columns(key: &[u8], value: &[u8], columns: &[WideColumn<'_>]) -> Outcome {
    let wanted = [WideColumn::new("", value), WideColumn::new("of", key)];
    match columns == &wanted[..columns.len().clamp(1, 2)] {
        true => Ok(()),
        false => Err(format!("{} has {columns:?}", show(key))),
    }
}

impl Walk<'_> {
    /// Compares what the iterator shows with the row that it should be at.
    fn check(&self, row: Option<&Row>) -> Outcome {
        both!(self, it => it.status()).map_err(|e| format!("walk over families: {e}"))?;
        let at = both!(self, it => it.key());
        if at != row.map(|(key, _)| &key[..]) {
            let text = |key: Option<&[u8]>| key.map_or("the end".to_owned(), show);
            let wanted = text(row.map(|(key, _)| &key[..]));
            return Err(format!("families at {}, should be at {wanted}", text(at)));
        }
        let Some((key, values)) = row else {
            return Ok(());
        };
        match self {
            Walk::Coalescing(it) => {
                let (_, last) = values.last().expect("a family has the key");
                check_columns(key, last, &it.columns().unwrap_or_default())
            }
            Walk::Groups(it) => {
                let groups = it.attribute_groups().unwrap_or_default();
                let names = groups.iter().map(|group| group.column_family_name());
                if !names.eq(values.iter().map(|(name, _)| *name)) {
                    return Err(format!(
                        "groups of {}: {groups:?}, not {values:?}",
                        show(key)
                    ));
                }
                let mut both = groups.iter().zip(values);
                both.try_for_each(|(group, (_, value))| check_columns(key, value, group.columns()))
            }
        }
    }
}

impl Session<'_> {
    pub(super) fn walk_families(&mut self, view: Option<u8>, seed: u64) -> Outcome {
        let rng = &mut StdRng::seed_from_u64(seed);
        let (nature, bounds) = (&self.case.nature, check_bounds(rng));
        let mut names = self.live();
        names.shuffle(rng);
        names.truncate(rng.random_range(1..=names.len()));
        let mut options = bounds.read_options();
        let mut by_key: BTreeMap<Vec<u8>, Vec<(&'static str, Vec<u8>)>> = BTreeMap::new();
        let mut handles = Vec::new();
        for name in names {
            // Families that are younger than the snapshot are left out.
            let Some((content, of)) = self.view(name, view, bounds.read_options()) else {
                continue;
            };
            options = of;
            handles.push(self.db.cf_handle(name).expect("a live family"));
            for (key, value) in content
                .into_iter()
                .filter(|(key, _)| bounds.hold(nature.order, key))
            {
                by_key.entry(key).or_default().push((name, value));
            }
        }
        let handles: Vec<_> = handles.iter().collect();
        if handles.is_empty() {
            return Ok(());
        }
        let mut rows: Vec<Row> = by_key.into_iter().collect();
        if nature.order != crate::metamorphic::model::Order::Bytewise {
            rows.reverse();
        }
        rows.retain(|(key, _)| !loose(nature.filter, key));
        let made = if rng.random() {
            let it = self.db.coalescing_iterator_opt(&handles, options);
            it.map(Walk::Coalescing)
        } else {
            let it = self.db.attribute_group_iterator_opt(&handles, options);
            it.map(Walk::Groups)
        };
        let mut walk = made.map_err(|e| format!("iterator over families: {e}"))?;
        let (filter, order) = (nature.filter, nature.order);
        // One more than the index; 0 and one above the number of rows are the ends.
        let mut at = 0;
        for _ in 0..rng.random_range(3..40) {
            let target = key(rng);
            let inside = at > 0 && at <= rows.len();
            let forward = match rng.random_range(0..14) {
                0 => {
                    both!(&mut walk, it => it.seek_to_first());
                    at = 1;
                    true
                }
                1 => {
                    both!(&mut walk, it => it.seek_to_last());
                    at = rows.len();
                    false
                }
                2 => {
                    both!(&mut walk, it => it.seek(&target));
                    at = 1 + rows.partition_point(|(key, _)| order.before(key, &target));
                    true
                }
                3 => {
                    both!(&mut walk, it => it.seek_for_prev(&target));
                    at = rows.partition_point(|(key, _)| !order.before(&target, key));
                    false
                }
                4..=9 if inside => {
                    both!(&mut walk, it => it.next());
                    at += 1;
                    true
                }
                10.. if inside => {
                    both!(&mut walk, it => it.prev());
                    at -= 1;
                    false
                }
                _ => continue,
            };
            // Keys that a compaction filter may have dropped.
            while both!(&walk, it => it.key()).is_some_and(|key| loose(filter, key)) {
                both!(&mut walk, it => if forward { it.next() } else { it.prev() });
            }
            walk.check(at.checked_sub(1).and_then(|at| rows.get(at)))?;
        }
        Ok(())
    }
}
