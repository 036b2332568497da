//! Which public types may be sent to and shared between threads.

use super::*;
use crate::{Error, ErrorKind};

fn is_send<T: Send>() {}
fn is_sync<T: Sync>() {}

#[test]
fn types_that_are_send() {
    is_send::<DB>();
    is_send::<DBWithThreadMode<SingleThreaded>>();
    is_send::<DBWithThreadMode<MultiThreaded>>();
    is_send::<DBIterator<'_>>();
    is_send::<DBRawIterator<'_>>();
    is_send::<Snapshot<'_>>();
    is_send::<DBPinnableSlice<'_>>();
    is_send::<Options>();
    is_send::<ReadOptions>();
    is_send::<WriteOptions>();
    is_send::<FlushOptions>();
    is_send::<CompactOptions>();
    is_send::<BlockBasedOptions>();
    is_send::<LruCacheOptions>();
    is_send::<ColumnFamilyDescriptor>();
    is_send::<ColumnFamily>();
    is_send::<BoundColumnFamily<'_>>();
    is_send::<WriteBatch>();
    is_send::<WriteBatchWithTransaction<true>>();
    is_send::<Cache>();
    is_send::<Error>();
    is_send::<ErrorKind>();
}

#[test]
fn types_that_are_sync() {
    is_sync::<DB>();
    is_sync::<DBWithThreadMode<SingleThreaded>>();
    is_sync::<DBWithThreadMode<MultiThreaded>>();
    is_sync::<DBIterator<'_>>();
    is_sync::<DBRawIterator<'_>>();
    is_sync::<Snapshot<'_>>();
    is_sync::<DBPinnableSlice<'_>>();
    is_sync::<Options>();
    is_sync::<ReadOptions>();
    is_sync::<WriteOptions>();
    is_sync::<FlushOptions>();
    is_sync::<CompactOptions>();
    is_sync::<BlockBasedOptions>();
    is_sync::<LruCacheOptions>();
    is_sync::<ColumnFamilyDescriptor>();
    is_sync::<ColumnFamily>();
    is_sync::<BoundColumnFamily<'_>>();
    is_sync::<Cache>();
    is_sync::<Error>();
    is_sync::<ErrorKind>();
}
