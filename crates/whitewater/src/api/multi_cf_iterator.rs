//! Iterators over several column families at once.
//!
//! Each column family has an iterator of its own. All of them stand at their first key at or after
//! the current one (or last at or before it, when moving backward), or at their ends.

use super::column_family::ColumnFamilyHandle;
use super::db::DBAccess;
use super::iterator::DBRawIteratorWithThreadMode;
use super::wide_columns::AttributeGroup;
use crate::entry::columns::WideColumn;
use std::cmp::Ordering;
use std::fmt;
use whitewater_storage::key::UserComparator;
use whitewater_storage::{Error, Result};

/// What one column family shows.
pub(crate) struct Member<'a, D: DBAccess> {
    pub cf: ColumnFamilyHandle,
    pub iterator: DBRawIteratorWithThreadMode<'a, D>,
}

impl<D: DBAccess> Member<'_, D> {
    fn columns(&self) -> Vec<WideColumn<'_>> {
        self.iterator.columns().unwrap_or_default()
    }
}

/// The iterators of column families of one order, moved together.
pub(crate) struct Members<'a, D: DBAccess> {
    all: Vec<Member<'a, D>>,
    order: UserComparator,
    forward: bool,
    /// Which stand at the current key, ascending; none if there is no current key.
    here: Vec<usize>,
    failure: Option<Error>,
}

impl<'a, D: DBAccess> Members<'a, D> {
    /// Iterators that stand nowhere yet.
    ///
    /// # Errors
    /// `InvalidArgument` if there is none, or their orders differ.
    pub fn new(all: Vec<Member<'a, D>>) -> Result<Self> {
        let orders: Vec<_> = all.iter().map(|m| &m.cf.data().comparator.user).collect();
        let Some((&order, others)) = orders.split_first() else {
            return Err(Error::invalid("No Column Family was provided"));
        };
        if others.iter().any(|other| other.name() != order.name()) {
            return Err(Error::invalid(
                "Different comparators are being used across CFs",
            ));
        }
        Ok(Members {
            order: order.clone(),
            all,
            forward: true,
            here: Vec::new(),
            failure: None,
        })
    }

    fn position(&mut self, forward: bool, seek: impl Fn(&mut DBRawIteratorWithThreadMode<'a, D>)) {
        self.forward = forward;
        self.failure = None;
        self.all.iter_mut().for_each(|m| seek(&mut m.iterator));
        self.look();
    }

    /// Finds the current key.
    fn look(&mut self) {
        self.here.clear();
        for (i, member) in self.all.iter().enumerate() {
            let Some(key) = member.iterator.key() else {
                if let Err(e) = member.iterator.status() {
                    self.failure = Some(e);
                    self.here.clear();
                    return;
                }
                continue;
            };
            let best = self
                .here
                .first()
                .and_then(|at| self.all[*at].iterator.key());
            let order = best.map(|best| self.order.compare_bounds(key, best));
            let order = order.map(|o| if self.forward { o } else { o.reverse() });
            match order {
                None | Some(Ordering::Less) => self.here = vec![i],
                Some(Ordering::Equal) => self.here.push(i),
                Some(Ordering::Greater) => {}
            }
        }
    }

    fn step(&mut self, forward: bool) {
        let Some(key) = self.key() else {
            return;
        };
        if forward != self.forward {
            let key = key.to_vec();
            for (i, member) in self.all.iter_mut().enumerate() {
                if self.here.contains(&i) {
                    continue;
                }
                if forward {
                    member.iterator.seek(&key);
                } else {
                    member.iterator.seek_for_prev(&key);
                }
            }
            self.forward = forward;
        }
        for at in &self.here {
            let iterator = &mut self.all[*at].iterator;
            if forward {
                iterator.next();
            } else {
                iterator.prev();
            }
        }
        self.look();
    }

    fn key(&self) -> Option<&[u8]> {
        self.here().next()?.iterator.key()
    }

    /// Those that stand at the current key.
    fn here(&self) -> impl DoubleEndedIterator<Item = &Member<'a, D>> {
        self.here.iter().map(|at| &self.all[*at])
    }

    fn status(&self) -> Result<()> {
        self.failure.clone().map_or(Ok(()), Err)
    }
}

/// The methods that both kinds of iterators have.
macro_rules! moves {
    ($name:ident) => {
        impl<'a, D: DBAccess> $name<'a, D> {
            pub(crate) fn new(members: Members<'a, D>) -> Self {
                $name { members }
            }

            /// Whether the iterator stands on a key. `false` past either end and after a failure;
            /// [`status`](Self::status) tells the two apart.
            pub fn valid(&self) -> bool {
                self.members.key().is_some()
            }

            /// The failure that ended the iteration, if one did.
            ///
            /// # Errors
            /// That failure, of any of the column families.
            pub fn status(&self) -> Result<()> {
                self.members.status()
            }

            /// Moves to the first key within bounds.
            pub fn seek_to_first(&mut self) {
                self.members.position(true, |i| i.seek_to_first());
            }

            /// Moves to the last key within bounds.
            pub fn seek_to_last(&mut self) {
                self.members.position(false, |i| i.seek_to_last());
            }

            /// Moves to the first key at or after `key`.
            pub fn seek<K: AsRef<[u8]>>(&mut self, key: K) {
                self.members.position(true, |i| i.seek(key.as_ref()));
            }

            /// Moves to the last key at or before `key`.
            pub fn seek_for_prev<K: AsRef<[u8]>>(&mut self, key: K) {
                self.members
                    .position(false, |i| i.seek_for_prev(key.as_ref()));
            }

            /// Moves to the next key; no effect when not [`valid`](Self::valid).
            pub fn next(&mut self) {
                self.members.step(true);
            }

            /// Moves to the key before; no effect when not [`valid`](Self::valid).
            pub fn prev(&mut self) {
                self.members.step(false);
            }

            /// The key, when valid.
            pub fn key(&self) -> Option<&[u8]> {
                self.members.key()
            }
        }

        impl<D: DBAccess> fmt::Debug for $name<'_, D> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name))
                    .field("valid", &self.valid())
                    .finish_non_exhaustive()
            }
        }
    };
}

/// A cursor over the keys of several column families that shows each key once, with the columns
/// that it has in any of them. Of columns of one name, that of the column family shows which was
/// named last. It stands nowhere until a `seek` is called. Made by
/// [`coalescing_iterator`](crate::DBCommon::coalescing_iterator).
pub struct CoalescingIterator<'a, D: DBAccess> {
    members: Members<'a, D>,
}

moves!(CoalescingIterator);

impl<D: DBAccess> CoalescingIterator<'_, D> {
    /// The columns, when valid, in the order of their names.
    pub fn columns(&self) -> Option<Vec<WideColumn<'_>>> {
        self.members.key()?;
        let mut all: Vec<WideColumn<'_>> = Vec::new();
        for column in self.members.here().flat_map(Member::columns) {
            match all.binary_search_by(|other| other.name.cmp(column.name)) {
                Ok(at) => all[at] = column,
                Err(at) => all.insert(at, column),
            }
        }
        Some(all)
    }

    /// The default column, when valid; empty if there is none. A plain value is one.
    pub fn value(&self) -> Option<&[u8]> {
        self.members.key()?;
        let found = self.members.here().rev().find_map(|member| {
            let columns = member.columns().into_iter();
            columns
                .map(|column| (column.name, column.value))
                .find(|(name, _)| name.is_empty())
        });
        Some(found.map_or(&[], |(_, value)| value))
    }

    /// Key and value, when valid.
    pub fn item(&self) -> Option<(&[u8], &[u8])> {
        Some((self.key()?, self.value()?))
    }
}

/// A cursor over the keys of several column families that shows each key once, with the columns of
/// each column family that has it. It stands nowhere until a `seek` is called. Made by
/// [`attribute_group_iterator`](crate::DBCommon::attribute_group_iterator).
pub struct AttributeGroupIterator<'a, D: DBAccess> {
    members: Members<'a, D>,
}

moves!(AttributeGroupIterator);

impl<D: DBAccess> AttributeGroupIterator<'_, D> {
    /// The columns of the key by column family, when valid, in the order in which the column
    /// families were named. Those without the key are left out.
    pub fn attribute_groups(&self) -> Option<Vec<AttributeGroup<'_>>> {
        self.members.key()?;
        let groups = self.members.here().map(|member| AttributeGroup {
            cf: member.cf.clone(),
            columns: member.columns(),
        });
        Some(groups.collect())
    }
}
