//! What the range tombstones of an iterator's sources delete at the iterator's position.
//!
//! Each source has its own tombstones ([`HeldTombstones`]), in the fragments that its memtable
//! or table keeps for all iterators. A sorted level's tombstones are those of the table that
//! the walk is in. The table is opened for them when a key within its bounds is asked about,
//! which is when a walk has come to it anyway.
//!
//! A range tombstone counts only within its file's bounds. Outside of them, the file's
//! neighbours have their own copy, which may be gone together with what it deleted.
//!
//! Invariants:
//! * I1: between `start` and `end` the answer is the one for the key that was asked about last.
//! * I2: what a source holds of a key is newer than what older sources hold of it. So a
//!   tombstone deletes all that older sources hold under its keys, and they can be moved past
//!   it without looking at what is there. Look-ups rely on the same.

use super::level::{ends_exclusively, is_past, starts_after};
use crate::entry::range_tombstones::{Around, FragmentedTombstones, Upto};
use crate::version::{TableFile, Version};
use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;
use whitewater_storage::Result;
use whitewater_storage::key::{self, SequenceNumber, UserComparator};
use whitewater_storage::manifest::FileMetaData;

/// The range tombstones of one table or memtable, if it has any.
pub(crate) type Tombstones = Option<Arc<FragmentedTombstones>>;

/// Returns the range tombstones of a table, which it opens for that.
pub(crate) type FindTombstones = Box<dyn Fn(&TableFile) -> Result<Tombstones> + Send + Sync>;

/// The range tombstones of all sources of an iterator.
pub(crate) struct Cover {
    /// The sources, newest first.
    sources: Vec<HeldTombstones>,
    comparator: UserComparator,
    /// Tombstones with a larger sequence number are not visible.
    upto: SequenceNumber,
    /// Tombstones with a newer timestamp are not visible, if keys have timestamps.
    time: Option<Vec<u8>>,
    /// Whether `start`, `end`, `seq` and `newest` are valid.
    known: bool,
    start: Bound<Vec<u8>>,
    end: Bound<Vec<u8>>,
    /// The newest tombstone between `start` and `end`, or 0.
    seq: SequenceNumber,
    /// The index in `sources` of the newest source with a tombstone there.
    newest: usize,
}

impl Cover {
    /// The cover of `sources`, which are in the order of the iterator's sources.
    pub fn new(
        sources: Vec<HeldTombstones>,
        comparator: UserComparator,
        upto: SequenceNumber,
        time: Option<Vec<u8>>,
    ) -> Self {
        Cover {
            sources,
            comparator,
            upto,
            time,
            known: false,
            start: Bound::Unbounded,
            end: Bound::Unbounded,
            seq: 0,
            newest: 0,
        }
    }

    /// Whether there are no tombstones, as far as is known without opening a table.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// The sequence number of the newest tombstone over `user_key`, or 0. Older entries are
    /// deleted.
    ///
    /// # Errors
    /// Errors of opening a table.
    #[inline]
    pub fn at(&mut self, user_key: &[u8]) -> Result<SequenceNumber> {
        if self.sources.is_empty() {
            return Ok(0);
        }
        let (start, end) = (as_slice(&self.start), as_slice(&self.end));
        if !self.known || !is_within(&self.comparator, user_key, start, end) {
            self.look(user_key)?;
        }
        Ok(self.seq)
    }

    #[cold]
    fn look(&mut self, user_key: &[u8]) -> Result<()> {
        self.known = false;
        let mut seq = 0;
        let mut start = Bound::Unbounded;
        let mut end = Bound::Unbounded;
        let upto = upto(self.upto, self.time.as_deref());
        for (i, source) in self.sources.iter_mut().enumerate() {
            let around = source.around(&self.comparator, user_key, upto)?;
            start = later_start(&self.comparator, start, around.start);
            end = earlier_end(&self.comparator, end, around.end);
            if around.seq > 0 {
                // Entries of older sources are older (I2), so those sources need not be opened.
                (seq, self.newest) = (around.seq, i);
                break;
            }
        }
        self.start = start.map(<[u8]>::to_vec);
        self.end = end.map(<[u8]>::to_vec);
        (self.seq, self.known) = (seq, true); // upholds I1
        Ok(())
    }

    /// The place of the newest source with a tombstone over the key asked about last. Whatever
    /// older sources hold there is deleted (I2).
    #[inline]
    pub fn newest_source(&self) -> Option<usize> {
        (self.known && self.seq > 0).then(|| self.sources[self.newest].place)
    }

    /// The end of the range of keys that have the same answer as the key asked about last, in the
    /// direction `forward` or backward.
    pub fn end(&self, forward: bool) -> Bound<&[u8]> {
        as_slice(if forward { &self.end } else { &self.start })
    }

    /// The end of the covered keys of [`Cover::newest_source`] around the key asked about last, in
    /// the direction `forward` or backward.
    pub fn stretch(&self, forward: bool) -> Bound<&[u8]> {
        let source = &self.sources[self.newest];
        let upto = upto(self.upto, self.time.as_deref());
        source.stretch(&self.comparator, upto, forward)
    }
}

fn upto(seq: SequenceNumber, time: Option<&[u8]>) -> Upto<'_> {
    Upto {
        seq,
        time: time.map_or(Bound::Unbounded, Bound::Included),
    }
}

/// The range tombstones of one source of an iterator.
pub(crate) struct HeldTombstones {
    /// The place of the source among the iterator's sources, newest first.
    place: usize,
    from: From,
}

enum From {
    /// A memtable, or a table of level 0 with the version that has its bounds.
    One(Held, Option<Arc<Version>>),
    Level(LevelTombstones),
}

/// The fragments of a memtable or table, and the iterator's position in them.
struct Held {
    /// The place of the table in its level.
    index: usize,
    fragments: Tombstones,
    /// The position at which [`FragmentedTombstones::around`] left it.
    hint: usize,
    /// Whether the key asked about last is covered.
    covers: bool,
}

impl Held {
    fn new(index: usize, fragments: Tombstones) -> Self {
        Held {
            index,
            fragments,
            hint: 0,
            covers: false,
        }
    }

    fn around(
        &mut self,
        comparator: &UserComparator,
        user_key: &[u8],
        upto: Upto<'_>,
    ) -> Around<'_> {
        let around = match &self.fragments {
            Some(fragments) => fragments.around(comparator, user_key, upto, &mut self.hint),
            None => NOTHING,
        };
        self.covers = around.seq > 0;
        around
    }

    fn stretch(&self, comparator: &UserComparator, upto: Upto<'_>, forward: bool) -> Bound<&[u8]> {
        let Some(fragments) = &self.fragments else {
            return Bound::Unbounded;
        };
        let (end, bound): (_, fn(_) -> _) = if forward {
            (
                fragments.stretch_end(comparator, self.hint, upto),
                Bound::Excluded,
            )
        } else {
            (
                fragments.stretch_start(comparator, self.hint, upto),
                Bound::Included,
            )
        };
        end.map_or(Bound::Unbounded, bound)
    }
}

/// The answer when there are no tombstones at all.
const NOTHING: Around<'static> = Around {
    seq: 0,
    start: Bound::Unbounded,
    end: Bound::Unbounded,
};

/// The range tombstones of a sorted level: those of the table that the iterator is in.
struct LevelTombstones {
    version: Arc<Version>,
    level: usize,
    find: FindTombstones,
    /// The first table that does not end before the key asked about last.
    first: usize,
    /// The tables that the key lies in: one, or more where they share it.
    held: Vec<Held>,
}

impl HeldTombstones {
    /// The tombstones of a memtable.
    pub fn of_memtable(place: usize, fragments: Arc<FragmentedTombstones>) -> Self {
        HeldTombstones {
            place,
            from: From::One(Held::new(0, Some(fragments)), None),
        }
    }

    /// The tombstones of the table `index` of level 0.
    pub fn of_table(
        place: usize,
        version: &Arc<Version>,
        index: usize,
        fragments: Arc<FragmentedTombstones>,
    ) -> Self {
        let held = Held::new(index, Some(fragments));
        HeldTombstones {
            place,
            from: From::One(held, Some(version.clone())),
        }
    }

    /// The tombstones of a sorted level.
    pub fn of_level(
        place: usize,
        version: &Arc<Version>,
        level: usize,
        find: FindTombstones,
    ) -> Self {
        HeldTombstones {
            place,
            from: From::Level(LevelTombstones {
                version: version.clone(),
                level,
                find,
                first: 0,
                held: Vec::new(),
            }),
        }
    }

    fn around(
        &mut self,
        comparator: &UserComparator,
        user_key: &[u8],
        upto: Upto<'_>,
    ) -> Result<Around<'_>> {
        match &mut self.from {
            From::One(held, None) => Ok(held.around(comparator, user_key, upto)),
            From::One(held, Some(version)) => {
                let meta = &version.levels[0][held.index].meta;
                if !is_past(meta, comparator, user_key) && !starts_after(meta, comparator, user_key)
                {
                    let around = held.around(comparator, user_key, upto);
                    return Ok(within(meta, comparator, around));
                }
                held.covers = false;
                Ok(if starts_after(meta, comparator, user_key) {
                    Around {
                        end: Bound::Excluded(key::user_key(&meta.smallest)),
                        ..NOTHING
                    }
                } else {
                    Around {
                        start: behind(meta),
                        ..NOTHING
                    }
                })
            }
            From::Level(level) => level.around(comparator, user_key, upto),
        }
    }

    fn stretch(&self, comparator: &UserComparator, upto: Upto<'_>, forward: bool) -> Bound<&[u8]> {
        let (held, meta) = match &self.from {
            From::One(held, None) => return held.stretch(comparator, upto, forward),
            From::One(held, Some(version)) => (held, &version.levels[0][held.index].meta),
            From::Level(level) => {
                let Some(held) = level.held.iter().find(|held| held.covers) else {
                    return Bound::Unbounded;
                };
                (held, &level.files()[held.index].meta)
            }
        };
        let end = held.stretch(comparator, upto, forward);
        if forward {
            earlier_end(comparator, end, last(meta))
        } else {
            later_start(comparator, end, first(meta))
        }
    }
}

impl LevelTombstones {
    fn files(&self) -> &[Arc<TableFile>] {
        &self.version.levels[self.level]
    }

    fn around(
        &mut self,
        comparator: &UserComparator,
        user_key: &[u8],
        upto: Upto<'_>,
    ) -> Result<Around<'_>> {
        self.hold(comparator, user_key)?;
        let files = &self.version.levels[self.level];
        let after = self.first + self.held.len();
        let mut whole = NOTHING;
        if let Some(before) = self.first.checked_sub(1) {
            // The table before may end with the key that the next one starts with.
            whole.start = behind(&files[before].meta);
        }
        if let Some(next) = files.get(after) {
            whole.end = Bound::Excluded(key::user_key(&next.meta.smallest));
        }
        for held in &mut self.held {
            let meta = &files[held.index].meta;
            let around = within(meta, comparator, held.around(comparator, user_key, upto));
            whole.seq = whole.seq.max(around.seq);
            whole.start = later_start(comparator, whole.start, around.start);
            whole.end = earlier_end(comparator, whole.end, around.end);
        }
        Ok(whole)
    }

    /// Holds the tombstones of the tables that `user_key` lies in, and no others.
    fn hold(&mut self, comparator: &UserComparator, user_key: &[u8]) -> Result<()> {
        let files = &self.version.levels[self.level];
        let past = |f: &TableFile| is_past(&f.meta, comparator, user_key);
        let is_first = |index: usize| {
            (index == 0 || files.get(index - 1).is_some_and(|f| past(f)))
                && files.get(index).is_none_or(|f| !past(f))
        };
        if !is_first(self.first) {
            self.first = if is_first(self.first + 1) {
                self.first + 1
            } else {
                files.partition_point(|f| past(f))
            };
        }
        let here = files[self.first..].iter();
        let here = here.take_while(|f| !starts_after(&f.meta, comparator, user_key));
        let here = self.first..self.first + here.count();
        self.held.retain(|held| here.contains(&held.index));
        if self.held.len() < here.len() {
            self.held.clear();
            for index in here {
                let found = (self.find)(&files[index]);
                let found = found.inspect_err(|_| self.held.clear())?;
                self.held.push(Held::new(index, found));
            }
        }
        Ok(())
    }
}

/// The first user key of a table.
fn first(meta: &FileMetaData) -> Bound<&[u8]> {
    Bound::Included(key::user_key(&meta.smallest))
}

/// The last user key of a table, or the end of its last range tombstone.
fn last(meta: &FileMetaData) -> Bound<&[u8]> {
    let largest = key::user_key(&meta.largest);
    if ends_exclusively(meta) {
        Bound::Excluded(largest)
    } else {
        Bound::Included(largest)
    }
}

/// The start of the keys that lie behind a table.
fn behind(meta: &FileMetaData) -> Bound<&[u8]> {
    match last(meta) {
        Bound::Excluded(end) => Bound::Included(end),
        Bound::Included(end) => Bound::Excluded(end),
        Bound::Unbounded => Bound::Unbounded,
    }
}

/// The answer of a table, restricted to the table's own bounds.
fn within<'a>(
    meta: &'a FileMetaData,
    comparator: &UserComparator,
    around: Around<'a>,
) -> Around<'a> {
    Around {
        seq: around.seq,
        start: later_start(comparator, around.start, first(meta)),
        end: earlier_end(comparator, around.end, last(meta)),
    }
}

fn as_slice(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    bound.as_ref().map(Vec::as_slice)
}

/// Whether `key` lies between `start` and `end`.
#[inline]
pub(crate) fn is_within(
    comparator: &UserComparator,
    key: &[u8],
    start: Bound<&[u8]>,
    end: Bound<&[u8]>,
) -> bool {
    (match end {
        Bound::Unbounded => true,
        Bound::Excluded(end) => comparator.compare(key, end).is_lt(),
        Bound::Included(end) => comparator.compare(key, end).is_le(),
    }) && match start {
        Bound::Unbounded => true,
        Bound::Included(start) => comparator.compare(start, key).is_le(),
        Bound::Excluded(start) => comparator.compare(start, key).is_lt(),
    }
}

/// The later of two starts: where the intersection begins.
fn later_start<'a>(
    comparator: &UserComparator,
    a: Bound<&'a [u8]>,
    b: Bound<&'a [u8]>,
) -> Bound<&'a [u8]> {
    narrower(comparator, a, b, Ordering::Greater)
}

/// The earlier of two ends: where the intersection ends.
fn earlier_end<'a>(
    comparator: &UserComparator,
    a: Bound<&'a [u8]>,
    b: Bound<&'a [u8]>,
) -> Bound<&'a [u8]> {
    narrower(comparator, a, b, Ordering::Less)
}

/// The bound whose key compares as `narrower` with the other's; of two bounds with equal keys,
/// an exclusive one.
fn narrower<'a>(
    comparator: &UserComparator,
    a: Bound<&'a [u8]>,
    b: Bound<&'a [u8]>,
    narrower: Ordering,
) -> Bound<&'a [u8]> {
    let (Bound::Included(x) | Bound::Excluded(x)) = a else {
        return b;
    };
    let (Bound::Included(y) | Bound::Excluded(y)) = b else {
        return a;
    };
    match comparator.compare(x, y) {
        Ordering::Equal if matches!(b, Bound::Excluded(_)) => b,
        Ordering::Equal => a,
        order if order == narrower => a,
        _ => b,
    }
}

#[cfg(test)]
mod tests;
