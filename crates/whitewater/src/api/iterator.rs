//! Iterators.

use super::column_family::ColumnFamilyHandle;
use super::db::{DB, DBAccess};
use super::iterator_handle::IteratorHandle;
use super::options::ReadOptions;
use crate::entry::columns::WideColumn;
use crate::read::db_iter::DbIter;
use crate::txn::indexed_batch::cursor::BatchCursor;
use whitewater_storage::Error;
use whitewater_storage::key::UserComparator;

const DEFAULT_CF: u32 = 0;

/// A raw iterator of [`DB`].
pub type DBRawIterator<'a> = DBRawIteratorWithThreadMode<'a, DB>;

/// A cursor over the keys of a column family that hands out borrowed keys and
/// values. It sees the database as it was when it was made (or at the snapshot
/// of its read options), and stands nowhere until a `seek` is called. Only a
/// [tailing](ReadOptions::set_tailing) one sees what is written later.
///
/// ```
/// # fn main() -> Result<(), whitewater::Error> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path();
/// let db = whitewater::DB::open_default(path)?;
/// for key in ["a", "b", "c"] {
///     db.put(key, key.to_uppercase())?;
/// }
///
/// let mut it = db.raw_iterator();
/// it.seek("b");
/// while it.valid() {
///     println!("{:?} = {:?}", it.key(), it.value());
///     it.next();
/// }
/// it.status()?; // the end, not a failure
///
/// it.seek_for_prev("bb");
/// assert_eq!(it.item(), Some((&b"b"[..], &b"B"[..])));
/// # Ok(())
/// # }
/// ```
///
/// It cannot outlive the database:
///
/// ```compile_fail
/// # let dir = tempfile::tempdir().unwrap();
/// let db = whitewater::DB::open_default(dir.path()).unwrap();
/// let it = db.raw_iterator();
/// drop(db);
/// drop(it);
/// ```
pub struct DBRawIteratorWithThreadMode<'a, D: DBAccess> {
    inner: IteratorHandle,
    readopts: ReadOptions,
    /// `None` is the default column family.
    cf: Option<ColumnFamilyHandle>,
    db: &'a D,
    /// Where a tailing iterator stood; kept for its memory.
    last: Vec<u8>,
    /// After what keeps files.
    _end: End<'a, D>,
}

/// Has the files deleted that only an iterator kept. As it does so when it is dropped, the borrow
/// of the database lasts until then.
struct End<'a, D: DBAccess> {
    db: &'a D,
    background_purge: bool,
}

impl<'a, D: DBAccess> End<'a, D> {
    fn of(db: &'a D, readopts: &ReadOptions) -> Self {
        End {
            db,
            background_purge: readopts.spec.background_purge,
        }
    }
}

impl<D: DBAccess> Drop for End<'_, D> {
    fn drop(&mut self) {
        self.db.iterator_is_gone(self.background_purge);
    }
}

impl<'a, D: DBAccess> DBRawIteratorWithThreadMode<'a, D> {
    pub(crate) fn new(db: &'a D, mut readopts: ReadOptions) -> Self {
        readopts.settle();
        DBRawIteratorWithThreadMode {
            inner: db.create_iterator(&readopts),
            _end: End::of(db, &readopts),
            readopts,
            cf: None,
            db,
            last: Vec::new(),
        }
    }

    pub(crate) fn new_cf(db: &'a D, cf: &ColumnFamilyHandle, mut readopts: ReadOptions) -> Self {
        readopts.settle();
        DBRawIteratorWithThreadMode {
            inner: db.create_iterator_cf(cf, &readopts),
            _end: End::of(db, &readopts),
            readopts,
            cf: Some(cf.clone()),
            db,
            last: Vec::new(),
        }
    }

    /// The same iterator with a batch applied, over which `cursor` makes a cursor for the column
    /// family with this id and comparator.
    pub(crate) fn with_batch(
        self,
        cursor: impl FnOnce(u32, &UserComparator) -> Result<BatchCursor, Error>,
    ) -> Self {
        let id = self.cf.as_ref().map_or(DEFAULT_CF, ColumnFamilyHandle::id);
        let cursor = |comparator: &UserComparator| match self.readopts.spec.iter_start_ts {
            None => cursor(id, comparator),
            Some(_) => Err(Error::not_supported(
                "iter_start_ts with a batch, whose writes have no timestamps yet",
            )),
        };
        DBRawIteratorWithThreadMode {
            inner: self.inner.with_batch(cursor),
            ..self
        }
    }

    /// Looks at the database as it is now; returns how it looked before.
    fn look_again(&mut self) -> Option<DbIter> {
        let now = match &self.cf {
            None => self.db.create_iterator(&self.readopts),
            Some(cf) => self.db.create_iterator_cf(cf, &self.readopts),
        };
        self.inner.replace(now)
    }

    fn look_again_if_tailing(&mut self) {
        if self.readopts.spec.tailing {
            self.look_again();
        }
    }

    /// Moves on, and looks again at the end.
    fn next_tailing(&mut self) {
        if !self.valid() {
            return;
        }
        self.last.clear();
        self.last
            .extend_from_slice(self.inner.key().unwrap_or_default());
        self.inner.next();
        if !self.valid() && self.status().is_ok() {
            let before = self.look_again();
            self.inner.go_on_after(&self.last, before);
        }
    }

    /// Whether the iterator stands on an entry. `false` past either end and
    /// after a failure; [`status`](Self::status) tells the two apart.
    pub fn valid(&self) -> bool {
        self.inner.valid()
    }

    /// The failure that ended the iteration, if one did.
    ///
    /// # Errors
    /// That failure.
    pub fn status(&self) -> Result<(), Error> {
        self.inner.status()
    }

    /// Makes the iterator see the database as it is now, also when it was made
    /// with a snapshot. It stands nowhere afterwards.
    ///
    /// # Errors
    /// When the database cannot be read.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = whitewater::DB::open_default(dir.path())?;
    /// db.put("a", "1")?;
    /// let mut iterator = db.raw_iterator();
    /// iterator.seek_to_last();
    /// db.put("b", "2")?;
    /// iterator.refresh()?; // of this moment, and to be sent somewhere again
    /// iterator.seek_to_last();
    /// assert_eq!(iterator.key(), Some(&b"b"[..]));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn refresh(&mut self) -> Result<(), Error> {
        self.readopts.clear_snapshot();
        self.look_again();
        self.status()
    }

    /// Moves to the first key within bounds.
    pub fn seek_to_first(&mut self) {
        self.look_again_if_tailing();
        self.inner.seek_to_first();
    }

    /// Moves to the last key within bounds.
    pub fn seek_to_last(&mut self) {
        self.look_again_if_tailing();
        self.inner.seek_to_last();
    }

    /// Moves to the first key at or after `key`.
    pub fn seek<K: AsRef<[u8]>>(&mut self, key: K) {
        self.look_again_if_tailing();
        self.inner.seek(key.as_ref());
    }

    /// Moves to the last key at or before `key`.
    pub fn seek_for_prev<K: AsRef<[u8]>>(&mut self, key: K) {
        self.look_again_if_tailing();
        self.inner.seek_for_prev(key.as_ref());
    }

    /// Moves to the next key; no effect when not [`valid`](Self::valid).
    pub fn next(&mut self) {
        if self.readopts.spec.tailing {
            return self.next_tailing();
        }
        self.inner.next();
    }

    /// Moves to the key before; no effect when not [`valid`](Self::valid).
    pub fn prev(&mut self) {
        self.inner.prev();
    }

    /// The key, when valid.
    pub fn key(&self) -> Option<&[u8]> {
        self.inner.key()
    }

    /// The columns, when valid, in the order of their names. A plain value is one column, the
    /// default one. Not in the `rocksdb` crate.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = whitewater::DB::open_default(dir.path())?;
    /// use whitewater::WideColumn;
    ///
    /// db.put_entity("7", [("name", "ada"), ("", "row 7")])?;
    /// let mut iterator = db.raw_iterator();
    /// iterator.seek_to_first();
    /// assert_eq!(iterator.value(), Some(&b"row 7"[..]));
    /// let columns = iterator.columns().expect("it stands on a key");
    /// assert_eq!(columns[1], WideColumn::new("name", "ada"));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn columns(&self) -> Option<Vec<WideColumn<'_>>> {
        self.inner.columns()
    }

    /// The value, when valid; of an entity, the default column.
    pub fn value(&self) -> Option<&[u8]> {
        self.inner.value()
    }

    /// The timestamp of the version, when valid; empty where keys have none.
    pub fn timestamp(&self) -> Option<&[u8]> {
        let inner = &self.inner;
        inner.timestamp().or_else(|| inner.valid().then_some(&[]))
    }

    /// Key and value, when valid.
    pub fn item(&self) -> Option<(&[u8], &[u8])> {
        self.inner.item()
    }
}

/// An iterator of [`DB`].
pub type DBIterator<'a> = DBIteratorWithThreadMode<'a, DB>;

/// A standard iterator over the keys of a column family that copies keys and
/// values out. It sees the database as it was when it was made (or at the
/// snapshot of its read options).
///
/// ```
/// use whitewater::{DB, Direction, IteratorMode};
///
/// # fn main() -> Result<(), whitewater::Error> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path();
/// let db = DB::open_default(path)?;
/// for key in ["a", "b", "c"] {
///     db.put(key, b"")?;
/// }
/// let keys = |mode| {
///     db.iterator(mode)
///         .map(|item| item.map(|(key, _value)| key[0] as char))
///         .collect::<Result<String, _>>()
/// };
/// assert_eq!(keys(IteratorMode::Start)?, "abc");
/// assert_eq!(keys(IteratorMode::End)?, "cba");
/// assert_eq!(keys(IteratorMode::From(b"b", Direction::Forward))?, "bc");
/// assert_eq!(keys(IteratorMode::From(b"bb", Direction::Reverse))?, "ba");
/// # Ok(())
/// # }
/// ```
pub struct DBIteratorWithThreadMode<'a, D: DBAccess> {
    raw: DBRawIteratorWithThreadMode<'a, D>,
    direction: Direction,
    /// Whether `raw` stands on the entry that was returned last. It moves on when the next one is
    /// wanted: many iterators are dropped after a few entries.
    is_returned: bool,
    done: bool,
}

/// Which way an iterator goes.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub enum Direction {
    /// Towards greater keys.
    Forward,
    /// Towards smaller keys.
    Reverse,
}

/// A key and its value.
pub type KVBytes = (Box<[u8]>, Box<[u8]>);

/// Where an iterator begins and which way it goes.
#[derive(Debug, Copy, Clone)]
pub enum IteratorMode<'a> {
    /// From the first key on.
    Start,
    /// From the last key backwards.
    End,
    /// From this key on, or from the nearest one in the direction.
    From(&'a [u8], Direction),
}

impl<'a, D: DBAccess> DBIteratorWithThreadMode<'a, D> {
    pub(crate) fn new(raw: DBRawIteratorWithThreadMode<'a, D>, mode: IteratorMode<'_>) -> Self {
        let mut iterator = DBIteratorWithThreadMode {
            raw,
            direction: Direction::Forward,
            is_returned: false,
            done: false,
        };
        iterator.set_mode(mode);
        iterator
    }

    /// Begins again at `mode`.
    pub fn set_mode(&mut self, mode: IteratorMode<'_>) {
        (self.is_returned, self.done) = (false, false);
        self.direction = match mode {
            IteratorMode::Start => {
                self.raw.seek_to_first();
                Direction::Forward
            }
            IteratorMode::End => {
                self.raw.seek_to_last();
                Direction::Reverse
            }
            IteratorMode::From(key, Direction::Forward) => {
                self.raw.seek(key);
                Direction::Forward
            }
            IteratorMode::From(key, Direction::Reverse) => {
                self.raw.seek_for_prev(key);
                Direction::Reverse
            }
        };
    }

    /// Makes the iterator see the database as it is now and begins again at
    /// `mode`.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn refresh(&mut self, mode: IteratorMode<'_>) -> Result<(), Error> {
        self.raw.refresh()?;
        self.set_mode(mode);
        Ok(())
    }

    /// Moves to the entry that is to be returned next.
    fn move_on(&mut self) {
        if !std::mem::take(&mut self.is_returned) {
            return;
        }
        match self.direction {
            Direction::Forward => self.raw.next(),
            Direction::Reverse => self.raw.prev(),
        }
    }
}

impl<D: DBAccess> Iterator for DBIteratorWithThreadMode<'_, D> {
    type Item = Result<KVBytes, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        self.move_on();
        let Some((key, value)) = self.raw.item() else {
            self.done = true;
            return self.raw.status().err().map(Err);
        };
        self.is_returned = true;
        Some(Ok((Box::from(key), Box::from(value))))
    }
}

impl<D: DBAccess> std::iter::FusedIterator for DBIteratorWithThreadMode<'_, D> {}

impl<'a, D: DBAccess> From<DBIteratorWithThreadMode<'a, D>> for DBRawIteratorWithThreadMode<'a, D> {
    fn from(mut iterator: DBIteratorWithThreadMode<'a, D>) -> Self {
        iterator.move_on();
        iterator.raw
    }
}
