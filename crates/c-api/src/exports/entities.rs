//! Wide columns: functions that rocksdict's fork adds to RocksDB's.

use super::batches::rocksdb_writebatch_t;
use super::reads::read_options;
use super::writes::write_options;
use crate::border::strings;
use crate::border::{Bytes, ErrPtr, List, Out, Result, error, exports, given, invalid, lent};
use crate::db::{Db, on_db, open, rocksdb_t};
use crate::families::{family, rocksdb_column_family_handle_t};
use crate::held::Held;
use crate::iterator::rocksdb_iterator_t;
use crate::options::{rocksdb_readoptions_t, rocksdb_writeoptions_t};
use libc::c_char;
use std::sync::Arc;
use whitewater::{ErrorKind, WideColumn};

/// Columns, in the order of their names, beside the memory that they are in.
type Columns = Held<Vec<WideColumn<'static>>>;

/// The columns of a key, not copied. They keep the database open.
pub struct rocksdb_pinnablewidecolumns_t(Columns);

/// A copy of an iterator's columns. RocksDB's are valid until the iterator moves.
pub struct rocksdb_widecolumns_t(Columns);

type Handle<'a> = Option<&'a rocksdb_column_family_handle_t>;

/// The name of the column `n`; null if there is none.
fn name(columns: Option<&Columns>, n: usize, len: Out<usize>) -> *const c_char {
    let column = columns.and_then(|columns| columns.get().get(n));
    lent(column.map(|column| column.name), len)
}

/// The value of the column `n`; null if there is none.
fn value(columns: Option<&Columns>, n: usize, len: Out<usize>) -> *const c_char {
    let column = columns.and_then(|columns| columns.get().get(n));
    lent(column.map(|column| column.value), len)
}

fn count(columns: Option<&Columns>) -> usize {
    columns.map_or(0, |columns| columns.get().len())
}

/// Lists of names and of values.
#[derive(Clone, Copy)]
struct Lists {
    names: (List<Bytes>, List<usize>),
    values: (List<Bytes>, List<usize>),
    len: usize,
}

impl Lists {
    /// The columns, in the order of their names.
    ///
    /// # Errors
    /// `InvalidArgument` for a list that is null, `Corruption` for two columns of one name.
    fn columns<'a>(self) -> Result<Vec<WideColumn<'a>>> {
        let names = strings(self.names.0, self.names.1, self.len);
        let pairs = names.zip(strings(self.values.0, self.values.1, self.len));
        if pairs.len() != self.len {
            return Err(invalid("a list of columns is null"));
        }
        let mut columns: Vec<_> = pairs
            .map(|(name, value)| WideColumn { name, value })
            .collect();
        columns.sort_unstable_by_key(|column| column.name);
        if columns.windows(2).any(|pair| pair[0].name == pair[1].name) {
            return Err(error(ErrorKind::Corruption, "Wide columns out of order"));
        }
        Ok(columns)
    }
}

/// The columns of a key.
#[expect(
    clippy::arc_with_non_send_sync,
    reason = "a `Held` wants an `Arc`; what is found stays with one handle"
)]
fn find(
    db: Option<&rocksdb_t>,
    options: Option<&rocksdb_readoptions_t>,
    handle: Handle<'_>,
    key: &[u8],
) -> Result<Columns> {
    let (db, options, family) = (open(db)?, read_options(options)?, family(handle)?);
    let found = Held::try_new(&*db, |db: &'static Db| {
        let found = on_db!(&db, db => db.get_pinned_entity_cf_opt(family, key, options))?;
        found.ok_or_else(|| error(ErrorKind::NotFound, ""))
    })?;
    Ok(Held::new(&Arc::new(found), |found| {
        found.get().iter().collect()
    }))
}

/// Copies columns.
fn copied(columns: &[WideColumn<'_>]) -> Columns {
    let parts: Vec<_> = columns.iter().flat_map(|c| [c.name, c.value]).collect();
    Held::new(&Arc::new(parts.concat()), |bytes| {
        let mut rest = &bytes[..];
        let mut part = |len| rest.split_off(..len).unwrap_or_default();
        let copy = columns.iter().map(|column| WideColumn {
            name: part(column.name.len()),
            value: part(column.value.len()),
        });
        copy.collect()
    })
}

exports! {
    fn rocksdb_put_entity_cf(
        db: Option<&rocksdb_t>, options: Option<&rocksdb_writeoptions_t>, handle: Handle<'_>,
        key: Bytes, keylen: usize, num_columns: usize, names: List<Bytes>,
        name_lengths: List<usize>, values: List<Bytes>, value_lengths: List<usize>,
        errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let (db, options, family) = (open(db)?, write_options(options)?, family(handle)?);
            let (names, values) = ((names, name_lengths), (values, value_lengths));
            let columns = Lists { names, values, len: num_columns }.columns()?;
            on_db!(db, db => db.put_entity_cf_opt(family, key.of(keylen), columns, options))
        });
    }
    // A column family whose keys have timestamps is refused when the batch is written.
    fn rocksdb_writebatch_put_entity_cf(
        batch: Option<&mut rocksdb_writebatch_t>, handle: Handle<'_>, key: Bytes, keylen: usize,
        num_columns: usize, names: List<Bytes>, name_lengths: List<usize>, values: List<Bytes>,
        value_lengths: List<usize>, errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let (batch, family) = (given(batch)?, family(handle)?);
            let (names, values) = ((names, name_lengths), (values, value_lengths));
            let columns = Lists { names, values, len: num_columns }.columns()?;
            batch.0.put_entity_cf(family, key.of(keylen), columns);
            batch.checked().map(drop)
        });
    }
    // A key that is not there is an error, as in the fork, and null.
    fn rocksdb_get_entity_cf(
        db: Option<&rocksdb_t>, options: Option<&rocksdb_readoptions_t>, handle: Handle<'_>,
        key: Bytes, keylen: usize, errptr: ErrPtr,
    ) -> Option<Box<rocksdb_pinnablewidecolumns_t>> {
        errptr.run(|| {
            let columns = find(db, options, handle, key.of(keylen))?;
            Ok(Some(Box::new(rocksdb_pinnablewidecolumns_t(columns))))
        })
    }
    fn rocksdb_iter_columns(
        iter: Option<&rocksdb_iterator_t>,
    ) -> Option<Box<rocksdb_widecolumns_t>> {
        let columns = iter?.0.get().columns()?;
        Some(Box::new(rocksdb_widecolumns_t(copied(&columns))))
    }
    fn rocksdb_pinnablewidecolumns_destroy(
        _columns: Option<Box<rocksdb_pinnablewidecolumns_t>>,
    ) {}
    fn rocksdb_pinnablewidecolumns_size(
        columns: Option<&rocksdb_pinnablewidecolumns_t>,
    ) -> usize {
        count(columns.map(|columns| &columns.0))
    }
    fn rocksdb_pinnablewidecolumns_name(
        columns: Option<&rocksdb_pinnablewidecolumns_t>, n: usize, len: Out<usize>,
    ) -> *const c_char {
        name(columns.map(|columns| &columns.0), n, len)
    }
    fn rocksdb_pinnablewidecolumns_value(
        columns: Option<&rocksdb_pinnablewidecolumns_t>, n: usize, len: Out<usize>,
    ) -> *const c_char {
        value(columns.map(|columns| &columns.0), n, len)
    }
    fn rocksdb_widecolumns_destroy(_columns: Option<Box<rocksdb_widecolumns_t>>) {}
    fn rocksdb_widecolumns_size(columns: Option<&rocksdb_widecolumns_t>) -> usize {
        count(columns.map(|columns| &columns.0))
    }
    fn rocksdb_widecolumns_name(
        columns: Option<&rocksdb_widecolumns_t>, n: usize, len: Out<usize>,
    ) -> *const c_char {
        name(columns.map(|columns| &columns.0), n, len)
    }
    fn rocksdb_widecolumns_value(
        columns: Option<&rocksdb_widecolumns_t>, n: usize, len: Out<usize>,
    ) -> *const c_char {
        value(columns.map(|columns| &columns.0), n, len)
    }
}
