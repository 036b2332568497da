//! Iterators.

use super::reads::read_options;
use crate::border::{Bytes, ErrPtr, List, Out, Result, exports, given, lent};
use crate::db::{Db, on_db, open, rocksdb_t};
use crate::families::{family, rocksdb_column_family_handle_t};
use crate::held::Held;
use crate::iterator::{Cursor, rocksdb_iterator_t};
use crate::options::rocksdb_readoptions_t;
use libc::c_char;

type Handle<'a> = Option<&'a rocksdb_column_family_handle_t>;
type Iter<'a> = Option<&'a mut rocksdb_iterator_t>;

pub(crate) fn iterator(cursor: Held<Box<dyn Cursor>>) -> Box<rocksdb_iterator_t> {
    Box::new(rocksdb_iterator_t(cursor))
}

/// An iterator over a column family, the default one if `handle` is `None`.
fn create(
    db: Option<&rocksdb_t>,
    options: Option<&rocksdb_readoptions_t>,
    handle: Option<Handle<'_>>,
) -> Result<Option<Box<rocksdb_iterator_t>>> {
    let (db, options) = (open(db)?, read_options(options)?.duplicate());
    let family = handle.map(family).transpose()?;
    let cursor = Held::new(&*db, |db: &'static Db| {
        on_db!(&db, db => {
            let cursor: Box<dyn Cursor> = match family {
                None => Box::new(db.raw_iterator_opt(options)),
                Some(family) => Box::new(db.raw_iterator_cf_opt(family, options)),
            };
            cursor
        })
    });
    Ok(Some(iterator(cursor)))
}

exports! {
    fn rocksdb_create_iterator(
        db: Option<&rocksdb_t>, options: Option<&rocksdb_readoptions_t>,
    ) -> Option<Box<rocksdb_iterator_t>> {
        create(db, options, None).ok().flatten()
    }
    fn rocksdb_create_iterator_cf(
        db: Option<&rocksdb_t>, options: Option<&rocksdb_readoptions_t>, handle: Handle<'_>,
    ) -> Option<Box<rocksdb_iterator_t>> {
        create(db, options, Some(handle)).ok().flatten()
    }
    fn rocksdb_create_iterators(
        db: Option<&rocksdb_t>, options: Option<&rocksdb_readoptions_t>,
        handles: List<Handle<'static>>, iterators: Out<Option<Box<rocksdb_iterator_t>>>,
        len: usize, errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let made = handles.of(len).iter().map(|handle| create(db, options, Some(*handle)));
            // None is left there if one of them fails.
            let made = made.collect::<Result<Vec<_>>>()?;
            for (at, iterator) in made.into_iter().enumerate() {
                iterators.set_at(at, iterator);
            }
            Ok(())
        });
    }
    fn rocksdb_iter_destroy(_iter: Option<Box<rocksdb_iterator_t>>) {}
    fn rocksdb_iter_valid(iter: Option<&rocksdb_iterator_t>) -> u8 {
        iter.is_some_and(|iter| iter.0.get().valid()).into()
    }
    fn rocksdb_iter_seek_to_first(iter: Iter<'_>) {
        if let Some(iter) = iter {
            iter.0.get_mut().seek_to_first();
        }
    }
    fn rocksdb_iter_seek_to_last(iter: Iter<'_>) {
        if let Some(iter) = iter {
            iter.0.get_mut().seek_to_last();
        }
    }
    fn rocksdb_iter_seek(iter: Iter<'_>, key: Bytes, len: usize) {
        if let Some(iter) = iter {
            iter.0.get_mut().seek(key.of(len));
        }
    }
    fn rocksdb_iter_seek_for_prev(iter: Iter<'_>, key: Bytes, len: usize) {
        if let Some(iter) = iter {
            iter.0.get_mut().seek_for_prev(key.of(len));
        }
    }
    fn rocksdb_iter_next(iter: Iter<'_>) {
        if let Some(iter) = iter {
            iter.0.get_mut().next();
        }
    }
    fn rocksdb_iter_prev(iter: Iter<'_>) {
        if let Some(iter) = iter {
            iter.0.get_mut().prev();
        }
    }
    fn rocksdb_iter_key(iter: Option<&rocksdb_iterator_t>, len: Out<usize>) -> *const c_char {
        lent(iter.and_then(|iter| iter.0.get().key()), len)
    }
    fn rocksdb_iter_value(iter: Option<&rocksdb_iterator_t>, len: Out<usize>) -> *const c_char {
        lent(iter.and_then(|iter| iter.0.get().value()), len)
    }
    fn rocksdb_iter_timestamp(
        iter: Option<&rocksdb_iterator_t>, len: Out<usize>,
    ) -> *const c_char {
        lent(iter.and_then(|iter| iter.0.get().timestamp()), len)
    }
    fn rocksdb_iter_get_error(iter: Option<&rocksdb_iterator_t>, errptr: ErrPtr) {
        errptr.run(|| given(iter)?.0.get().status());
    }
    fn rocksdb_iter_refresh(iter: Iter<'_>, errptr: ErrPtr) {
        errptr.run(|| given(iter)?.0.get_mut().refresh());
    }
}
