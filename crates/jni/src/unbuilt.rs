//! Objects that can be made, and of which open refuses the option that they are for: Java makes
//! many that no database gets.

use crate::border::natives;
use crate::handles::{give_back, make};
use jni::objects::JString;

/// What stands for such an object.
struct Unbuilt;

natives! {
    fn Java_org_rocksdb_AbstractWalFilter_createNewWalFilter
        Java_org_rocksdb_CompactionOptionsFIFO_newCompactionOptionsFIFO
        Java_org_rocksdb_CompactionOptionsUniversal_newCompactionOptionsUniversal
        Java_org_rocksdb_ComparatorOptions_newComparatorOptions
        Java_org_rocksdb_CompressionOptions_newCompressionOptions
        <'l>(_env) -> i64
    {
        make(Unbuilt)
    }
    fn Java_org_rocksdb_AbstractComparator_createNewComparator
        Java_org_rocksdb_AbstractEventListener_createNewEventListener
        Java_org_rocksdb_Logger_newLogger
        Java_org_rocksdb_SstPartitionerFixedPrefixFactory_newSstPartitionerFixedPrefixFactory0
        <'l>(_env, _with: i64) -> i64
    {
        make(Unbuilt)
    }
    fn Java_org_rocksdb_ConcurrentTaskLimiterImpl_newConcurrentTaskLimiterImpl0<'l>(
        _env, _name: JString<'l>, _limit: i32,
    ) -> i64 {
        make(Unbuilt)
    }
    fn Java_org_rocksdb_SstFileManager_newSstFileManager<'l>(
        _env, _env_handle: i64, _logger: i64, _rate: i64, _ratio: f64, _chunk: i64,
    ) -> i64 {
        make(Unbuilt)
    }
    fn Java_org_rocksdb_AbstractEventListener_disposeInternal
        Java_org_rocksdb_CompactionOptionsFIFO_disposeInternal
        Java_org_rocksdb_CompactionOptionsFIFO_disposeInternalJni
        Java_org_rocksdb_CompactionOptionsUniversal_disposeInternal
        Java_org_rocksdb_CompactionOptionsUniversal_disposeInternalJni
        Java_org_rocksdb_ComparatorOptions_disposeInternal
        Java_org_rocksdb_ComparatorOptions_disposeInternalJni
        Java_org_rocksdb_CompressionOptions_disposeInternal
        Java_org_rocksdb_CompressionOptions_disposeInternalJni
        Java_org_rocksdb_ConcurrentTaskLimiterImpl_disposeInternal
        Java_org_rocksdb_ConcurrentTaskLimiterImpl_disposeInternalJni
        Java_org_rocksdb_Logger_disposeInternal
        Java_org_rocksdb_RocksCallbackObject_disposeInternal
        Java_org_rocksdb_SstFileManager_disposeInternal
        Java_org_rocksdb_SstFileManager_disposeInternalJni
        Java_org_rocksdb_SstPartitionerFixedPrefixFactory_disposeInternal
        Java_org_rocksdb_SstPartitionerFixedPrefixFactory_disposeInternalJni
        <'l>(_env, object: i64) -> ()
    {
        give_back(object);
        Ok(())
    }
}
