//! Tables made outside of databases.

use crate::border::{Bytes, ErrPtr, Out, Text, exports, given};
use crate::callbacks::rocksdb_comparator_t;
use crate::held::Held;
use crate::options::{rocksdb_envoptions_t, rocksdb_options_t};
use std::sync::Arc;
use whitewater::{Options, SstFileWriter};

/// Writes a table.
pub struct rocksdb_sstfilewriter_t(Held<SstFileWriter<'static>>);

type Writer<'a> = Option<&'a mut rocksdb_sstfilewriter_t>;

fn create(options: Options) -> Option<Box<rocksdb_sstfilewriter_t>> {
    let writer = Held::new(&Arc::new(options), SstFileWriter::create);
    Some(Box::new(rocksdb_sstfilewriter_t(writer)))
}

exports! {
    fn rocksdb_sstfilewriter_create(
        _env: Option<&rocksdb_envoptions_t>, options: Option<&rocksdb_options_t>,
    ) -> Option<Box<rocksdb_sstfilewriter_t>> {
        create(options?.options.clone())
    }
    fn rocksdb_sstfilewriter_create_with_comparator(
        _env: Option<&rocksdb_envoptions_t>, options: Option<&rocksdb_options_t>,
        comparator: Option<&rocksdb_comparator_t>,
    ) -> Option<Box<rocksdb_sstfilewriter_t>> {
        let mut options = options?.options.clone();
        if let Some(comparator) = comparator {
            comparator.set(&mut options);
        }
        create(options)
    }
    fn rocksdb_sstfilewriter_destroy(_writer: Option<Box<rocksdb_sstfilewriter_t>>) {}
    fn rocksdb_sstfilewriter_open(
        writer: Option<&rocksdb_sstfilewriter_t>, path: Text, errptr: ErrPtr,
    ) {
        errptr.run(|| given(writer)?.0.get().open(path.path()));
    }
    fn rocksdb_sstfilewriter_put(
        writer: Writer<'_>, key: Bytes, keylen: usize, value: Bytes, len: usize, errptr: ErrPtr,
    ) {
        errptr.run(|| given(writer)?.0.get_mut().put(key.of(keylen), value.of(len)));
    }
    fn rocksdb_sstfilewriter_add(
        writer: Writer<'_>, key: Bytes, keylen: usize, value: Bytes, len: usize, errptr: ErrPtr,
    ) {
        rocksdb_sstfilewriter_put(writer, key, keylen, value, len, errptr);
    }
    fn rocksdb_sstfilewriter_put_with_ts(
        writer: Writer<'_>, key: Bytes, keylen: usize, ts: Bytes, tslen: usize, value: Bytes,
        len: usize, errptr: ErrPtr,
    ) {
        errptr.run(|| {
            let writer = given(writer)?.0.get_mut();
            writer.put_with_ts(key.of(keylen), ts.of(tslen), value.of(len))
        });
    }
    fn rocksdb_sstfilewriter_merge(
        writer: Writer<'_>, key: Bytes, keylen: usize, value: Bytes, len: usize, errptr: ErrPtr,
    ) {
        errptr.run(|| given(writer)?.0.get_mut().merge(key.of(keylen), value.of(len)));
    }
    fn rocksdb_sstfilewriter_delete(
        writer: Writer<'_>, key: Bytes, keylen: usize, errptr: ErrPtr,
    ) {
        errptr.run(|| given(writer)?.0.get_mut().delete(key.of(keylen)));
    }
    fn rocksdb_sstfilewriter_delete_with_ts(
        writer: Writer<'_>, key: Bytes, keylen: usize, ts: Bytes, tslen: usize, errptr: ErrPtr,
    ) {
        errptr.run(|| {
            given(writer)?.0.get_mut().delete_with_ts(key.of(keylen), ts.of(tslen))
        });
    }
    fn rocksdb_sstfilewriter_delete_range(
        writer: Writer<'_>, start: Bytes, start_len: usize, end: Bytes, end_len: usize,
        errptr: ErrPtr,
    ) {
        errptr.run(|| {
            given(writer)?.0.get_mut().delete_range(start.of(start_len), end.of(end_len))
        });
    }
    fn rocksdb_sstfilewriter_finish(writer: Writer<'_>, errptr: ErrPtr) {
        errptr.run(|| given(writer)?.0.get_mut().finish());
    }
    fn rocksdb_sstfilewriter_file_size(
        writer: Option<&rocksdb_sstfilewriter_t>, size: Out<u64>,
    ) {
        size.set(writer.map_or(0, |writer| writer.0.get().file_size()));
    }
}
