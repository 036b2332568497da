//! Functions that are there to be linked, and refuse by their own names. docs/c-api-absent.tsv says
//! why.

use super::indexed_batches::rocksdb_writebatch_wi_t;
use crate::border::{Bytes, ErrPtr, List, Nothing, error, exports};
use crate::families::rocksdb_column_family_handle_t;
use whitewater::{Error, ErrorKind};

type Handle<'a> = Option<&'a rocksdb_column_family_handle_t>;

fn refusal(function: &str) -> Error {
    error(ErrorKind::NotSupported, function)
}

pub(super) fn refuse<R: Nothing>(function: &str, errptr: ErrPtr) -> R {
    errptr.run(|| Err(refusal(function)))
}

/// Refuses where C is told of no errors: on standard error, as there is no other place.
pub(super) fn refuse_aloud(function: &str) {
    eprintln!("{}", refusal(function));
}

/// Declares functions that refuse aloud.
macro_rules! refused {
    ($($name:ident($($arg:ident: $ty:ty),*) $(-> $ret:ty)?;)*) => {
        $crate::border::exports! {$(
            fn $name($($arg: $ty),*) $(-> $ret)? {
                $crate::exports::refused::refuse_aloud(stringify!($name));
                $crate::border::Nothing::nothing()
            }
        )*}
    };
}
pub(super) use refused;

exports! {
    fn rocksdb_writebatch_wi_create_from(
        _data: Bytes, _len: usize,
    ) -> Option<Box<rocksdb_writebatch_wi_t>> {
        refuse_aloud("rocksdb_writebatch_wi_create_from");
        None
    }
    // RocksDB refuses these four too: an index has no ranges.
    fn rocksdb_writebatch_wi_delete_range(
        _batch: Option<&rocksdb_writebatch_wi_t>, _start: Bytes, _start_len: usize, _end: Bytes,
        _end_len: usize,
    ) {
        refuse_aloud("rocksdb_writebatch_wi_delete_range");
    }
    fn rocksdb_writebatch_wi_delete_range_cf(
        _batch: Option<&rocksdb_writebatch_wi_t>, _handle: Handle<'_>, _start: Bytes,
        _start_len: usize, _end: Bytes, _end_len: usize,
    ) {
        refuse_aloud("rocksdb_writebatch_wi_delete_range_cf");
    }
    fn rocksdb_writebatch_wi_delete_rangev(
        _batch: Option<&rocksdb_writebatch_wi_t>, _num: i32, _starts: List<Bytes>,
        _start_lengths: List<usize>, _ends: List<Bytes>, _end_lengths: List<usize>,
    ) {
        refuse_aloud("rocksdb_writebatch_wi_delete_rangev");
    }
    fn rocksdb_writebatch_wi_delete_rangev_cf(
        _batch: Option<&rocksdb_writebatch_wi_t>, _handle: Handle<'_>, _num: i32,
        _starts: List<Bytes>, _start_lengths: List<usize>, _ends: List<Bytes>,
        _end_lengths: List<usize>,
    ) {
        refuse_aloud("rocksdb_writebatch_wi_delete_rangev_cf");
    }
}
