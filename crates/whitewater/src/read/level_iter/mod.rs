//! One sorted run as one source: a level below level 0, or a file of level 0.
//!
//! The files of the run do not overlap and are ordered, so their cursors are concatenated.
//! One file is open at a time, and only once the walk reaches it.

use crate::version::{TableFile, Version};
use std::ops::Range;
use std::sync::Arc;
use whitewater_storage::bounds::Bounds;
use whitewater_storage::internal_iterator::{BoxedIterator, InternalIterator, Moved};
use whitewater_storage::key::{InternalComparator, UserComparator, user_key};
use whitewater_storage::manifest::FileMetaData;
use whitewater_storage::planted;
use whitewater_storage::sst::BlockRun;
use whitewater_storage::{Error, Result};

/// Whether the whole file lies outside the bounds.
pub(crate) fn is_outside(
    bounds: &Bounds,
    file: &FileMetaData,
    comparator: &UserComparator,
) -> bool {
    start_after(bounds, file, comparator) || !end_after_start_of(bounds, file, comparator)
}

/// Whether the bounds start behind the whole file.
fn start_after(bounds: &Bounds, file: &FileMetaData, comparator: &UserComparator) -> bool {
    let largest = user_key(&file.largest);
    (bounds.lower()).is_some_and(|lower| comparator.compare(largest, lower).is_lt())
}

/// Whether the file starts before the bounds end.
fn end_after_start_of(bounds: &Bounds, file: &FileMetaData, comparator: &UserComparator) -> bool {
    let smallest = user_key(&file.smallest);
    (bounds.upper()).is_none_or(|upper| comparator.compare(smallest, upper).is_lt())
}

/// Opens a cursor over the points of one file.
pub(crate) trait OpenCursor: Send + Sync {
    /// Returns a cursor over a file of the version that is not positioned yet. It may be `used`,
    /// one over another file that is no longer needed.
    ///
    /// # Errors
    /// Errors of opening the file.
    fn open_cursor(
        &self,
        version: &Version,
        file: &TableFile,
        used: Option<BoxedIterator>,
    ) -> Result<BoxedIterator>;

    /// Whether the user key `a` has a prefix, and `b` has another one or none.
    fn differ_in_prefix(&self, _version: &Version, _a: &[u8], _b: &[u8]) -> bool {
        false
    }
}

/// The entries of some files of one level, which do not overlap, in order.
pub(crate) struct LevelIterator<O> {
    version: Arc<Version>,
    level: usize,
    /// The places of the files in the level.
    places: Range<usize>,
    comparator: InternalComparator,
    opener: O,
    /// The file entered last and its cursor. Kept, past the ends of the run as well, for the next
    /// positioning.
    current: Option<(usize, BoxedIterator)>,
    /// Whether that cursor is released: the walk is past an end of the run, or the whole iterator
    /// was released.
    is_released: bool,
    /// Whether to look at nothing outside the prefix of the key sought.
    keeps_to_prefix: bool,
    /// The walk ends before it would enter a file outside the bounds.
    bounds: Bounds,
    /// The error of entering the last file.
    error: Option<Error>,
}

impl<O: OpenCursor> LevelIterator<O> {
    /// An iterator over `version.levels[level][places]`. More than one file only below level 0.
    pub fn new(
        version: Arc<Version>,
        level: usize,
        places: Range<usize>,
        comparator: InternalComparator,
        opener: O,
    ) -> Self {
        LevelIterator {
            version,
            level,
            places,
            comparator,
            opener,
            current: None,
            is_released: false,
            keeps_to_prefix: false,
            bounds: Bounds::default(),
            error: None,
        }
    }

    /// Gives the iterator the cursor of its first file, which is not positioned yet.
    #[must_use]
    pub fn in_first_file(mut self, cursor: BoxedIterator) -> Self {
        self.current = Some((0, cursor));
        self
    }

    /// Whether file `index` and those behind it start after the bounds.
    fn starts_beyond(&self, index: usize) -> bool {
        let file = self.files().get(index);
        file.is_some_and(|file| !self.starts_within(&file.meta))
    }

    fn starts_within(&self, file: &FileMetaData) -> bool {
        end_after_start_of(&self.bounds, file, &self.comparator.user)
    }

    /// Whether file `index` and those before it end before the bounds.
    fn ends_before(&self, index: usize) -> bool {
        let file = self.files().get(index);
        file.is_some_and(|file| start_after(&self.bounds, &file.meta, &self.comparator.user))
    }

    /// The first file that may have an entry at or after the internal key `target`.
    fn file_for(&self, target: &[u8]) -> usize {
        let before = |f: &Arc<TableFile>| self.comparator.compare(&f.meta.largest, target).is_lt();
        self.files().partition_point(before)
    }

    /// Enters a file while moving to greater keys; see [`enter`](Self::enter).
    fn enter_forward(&mut self, index: usize) -> Option<&mut BoxedIterator> {
        let index = (!self.starts_beyond(index)).then_some(index);
        self.enter(index)
    }

    /// Enters a file while moving to smaller keys; see [`enter`](Self::enter).
    fn enter_backward(&mut self, index: Option<usize>) -> Option<&mut BoxedIterator> {
        let index = index.filter(|index| !self.ends_before(*index));
        self.enter(index)
    }

    fn files(&self) -> &[Arc<TableFile>] {
        &self.version.levels[self.level][self.places.clone()]
    }

    /// The cursor of file `index`; `None` past the ends of the run or after a failure.
    fn enter(&mut self, index: Option<usize>) -> Option<&mut BoxedIterator> {
        self.error = None;
        let files = &self.version.levels[self.level][self.places.clone()];
        let file = index.and_then(|i| Some((i, files.get(i)?)));
        let Some((index, file)) = file else {
            self.release_current();
            return None;
        };
        if self.current.as_ref().is_none_or(|(at, _)| *at != index) {
            let used = self.current.take().map(|(_, cursor)| cursor);
            self.current = match self.opener.open_cursor(&self.version, file, used) {
                Ok(cursor) => Some((index, cursor)),
                Err(e) => {
                    self.error = Some(e);
                    None
                }
            };
        }
        self.is_released = false;
        let (_, cursor) = self.current.as_mut()?;
        if self.keeps_to_prefix {
            // New cursors do not yet, and those that were released no longer.
            cursor.keep_to_prefix(true);
        }
        Some(cursor)
    }

    /// Lets the current cursor go of what it has read, or drops it if it cannot do that.
    fn release_current(&mut self) {
        self.is_released = true;
        let current = self.current.as_mut();
        if current.is_some_and(|(_, cursor)| !cursor.release()) {
            self.current = None;
        }
    }

    /// The current file, if its cursor has reached its end without failing, and is not released.
    fn exhausted(&self) -> Option<usize> {
        let (index, cursor) = self.current.as_ref().filter(|_| !self.is_released)?;
        (!cursor.valid() && cursor.status().is_ok()).then_some(*index)
    }

    /// Whether a walk that keeps to the prefix of `target` has nothing to find in file `index` and
    /// behind it, because the `nearest` key there has another prefix.
    fn prefix_ends_before(
        &self,
        index: Option<usize>,
        target: &[u8],
        nearest: impl FnOnce(&FileMetaData) -> &Vec<u8>,
    ) -> bool {
        let file = index.and_then(|i| self.files().get(i));
        self.keeps_to_prefix
            && file.is_some_and(|f| {
                let nearest = user_key(nearest(&f.meta));
                (self.opener).differ_in_prefix(&self.version, user_key(target), nearest)
            })
    }

    /// Moves on to the following files as long as the current one is exhausted.
    fn skip_forward(&mut self) {
        while let Some(index) = self.exhausted() {
            if let Some(cursor) = self.enter_forward(index + 1) {
                cursor.seek_to_first();
            }
        }
    }

    /// Moves on to the preceding files as long as the current one is exhausted.
    fn skip_backward(&mut self) {
        while let Some(index) = self.exhausted() {
            if let Some(cursor) = self.enter_backward(index.checked_sub(1)) {
                cursor.seek_to_last();
            }
        }
    }
}

impl<O: OpenCursor> InternalIterator for LevelIterator<O> {
    fn valid(&self) -> bool {
        !self.is_released && self.current.as_ref().is_some_and(|(_, c)| c.valid())
    }
    fn seek_to_first(&mut self) {
        if let Some(cursor) = self.enter_forward(0) {
            cursor.seek_to_first();
        }
        self.skip_forward();
    }
    fn seek_to_last(&mut self) {
        let files = self.files();
        let last = files.partition_point(|f| self.starts_within(&f.meta));
        if let Some(cursor) = self.enter_backward(last.checked_sub(1)) {
            cursor.seek_to_last();
        }
        self.skip_backward();
    }
    fn seek(&mut self, target: &[u8]) {
        let index = self.file_for(target);
        if let Some(cursor) = self.enter_forward(index) {
            cursor.seek(target);
        }
        let ends = self.prefix_ends_before(index.checked_add(1), target, |meta| &meta.smallest);
        planted!(LevelEndsEarly => return);
        if !ends {
            self.skip_forward();
        }
    }
    fn expect_seek(&mut self, target: &[u8]) {
        let index = self.file_for(target);
        if let Some(cursor) = self.enter_forward(index) {
            cursor.expect_seek(target);
        }
    }
    fn expect_further(&mut self, target: &[u8]) {
        if let Some((_, cursor)) = self.current.as_mut().filter(|_| !self.is_released) {
            cursor.expect_further(target);
        }
    }
    fn seek_for_prev(&mut self, target: &[u8]) {
        // A file that starts at the end of the bounds has nothing to show.
        let upto = |f: &Arc<TableFile>| {
            self.comparator.compare(&f.meta.smallest, target).is_le() && self.starts_within(&f.meta)
        };
        let index = self.files().partition_point(upto).checked_sub(1);
        if let Some(cursor) = self.enter_backward(index) {
            cursor.seek_for_prev(target);
        }
        let before = index.and_then(|i| i.checked_sub(1));
        if !self.prefix_ends_before(before, target, |meta| &meta.largest) {
            self.skip_backward();
        }
    }
    fn keep_to_prefix(&mut self, on: bool) {
        self.keeps_to_prefix = on;
        if let Some((_, cursor)) = self.current.as_mut().filter(|_| !self.is_released) {
            cursor.keep_to_prefix(on);
        }
    }
    fn keep_within(&mut self, bounds: &Bounds) {
        self.bounds = bounds.share();
    }
    fn lend(&mut self) -> Option<BlockRun> {
        self.current.as_mut()?.1.lend()
    }
    fn block_ends_before(&self, limit: &[u8]) -> bool {
        let current = self.current.as_ref();
        current.is_some_and(|(_, cursor)| cursor.block_ends_before(limit))
    }
    fn take_back(&mut self, run: BlockRun) {
        if let Some((_, cursor)) = &mut self.current {
            cursor.take_back(run);
        }
    }
    fn is_cached(&self) -> bool {
        let current = self.current.as_ref();
        current.is_some_and(|(_, cursor)| cursor.is_cached())
    }
    fn release(&mut self) -> bool {
        self.error = None;
        self.keeps_to_prefix = false;
        let bounds = std::mem::take(&mut self.bounds);
        planted!(IdleKeepsBounds => self.bounds = bounds.share());
        drop(bounds);
        self.release_current();
        true
    }
    fn next(&mut self) {
        self.advance();
    }
    fn advance(&mut self) -> Moved {
        let Some((_, cursor)) = self.current.as_mut().filter(|_| !self.is_released) else {
            return Moved::Ended;
        };
        let moved = cursor.advance();
        if moved != Moved::Ended {
            return moved;
        }
        self.skip_forward();
        Moved::to_entry(self.valid())
    }
    fn prev(&mut self) {
        if let Some((_, cursor)) = self.current.as_mut().filter(|_| !self.is_released) {
            cursor.prev();
            if !cursor.valid() {
                self.skip_backward();
            }
        }
    }
    fn key(&self) -> &[u8] {
        self.current.as_ref().map_or(&[], |(_, c)| c.key())
    }
    fn value(&self) -> &[u8] {
        self.current.as_ref().map_or(&[], |(_, c)| c.value())
    }
    fn status(&self) -> Result<()> {
        match (&self.error, &self.current) {
            (Some(e), _) => Err(e.clone()),
            (None, Some((_, cursor))) => cursor.status(),
            (None, None) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
