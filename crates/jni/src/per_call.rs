//! Options of reads, writes, flushes and compactions.

use crate::border::{Result, natives, not_implemented};
use crate::handles::{find, find_given, give_back, make};
use arc_swap::ArcSwap;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use whitewater::{
    BottommostLevelCompaction, CompactOptions, FlushOptions, ReadOptions, ReadTier, WriteOptions,
};

/// Options that calls read and setters exchange.
pub(crate) struct Exchanged<T>(ArcSwap<T>, Mutex<()>);

pub(crate) type Reads = Exchanged<Read>;
pub(crate) type Writes = Exchanged<Write>;
pub(crate) type Flushes = Exchanged<Flush>;
pub(crate) type Compactions = Exchanged<Compact>;

/// What was set, by Java's name of the getter.
type Given = BTreeMap<&'static str, i64>;

#[derive(Default)]
pub(crate) struct Read {
    pub(crate) options: ReadOptions,
    /// The number of the snapshot, or 0.
    pub(crate) snapshot: i64,
    /// The slices of Java that are bounds, or 0: their numbers, their bytes.
    bounds: [(i64, Option<Vec<u8>>); 2],
    given: Given,
}

#[derive(Clone, Default)]
pub(crate) struct Write {
    pub(crate) options: WriteOptions,
    given: Given,
}

#[derive(Clone, Default)]
pub(crate) struct Flush {
    pub(crate) options: FlushOptions,
    given: Given,
}

#[derive(Clone, Default)]
pub(crate) struct Compact {
    pub(crate) options: CompactOptions,
    given: Given,
}

impl Clone for Read {
    fn clone(&self) -> Self {
        Read {
            options: self.options.duplicate(),
            snapshot: self.snapshot,
            bounds: self.bounds.clone(),
            given: self.given.clone(),
        }
    }
}

impl<T: Clone> Exchanged<T> {
    pub(crate) fn new(options: T) -> Self {
        Exchanged(ArcSwap::from_pointee(options), Mutex::new(()))
    }

    /// What the options are now.
    pub(crate) fn now(&self) -> arc_swap::Guard<Arc<T>> {
        self.0.load()
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut T)) {
        let _one_at_a_time = self.1.lock().unwrap_or_else(PoisonError::into_inner);
        let mut options = T::clone(&self.0.load());
        change(&mut options);
        self.0.store(Arc::new(options));
    }
}

/// A value of Java.
trait Value: Copy {
    fn to_i64(self) -> i64;
    fn of_i64(number: i64) -> Self;
}

macro_rules! values {
    ($($ty:ty: $name:ident => $of:expr;)*) => {$(
        impl Value for $ty {
            fn to_i64(self) -> i64 {
                i64::from(self)
            }
            fn of_i64($name: i64) -> Self {
                $of
            }
        }
    )*};
}
values! {
    bool: number => number != 0;
    i8: number => number as i8;
    i32: number => number as i32;
    i64: number => number;
}

/// Declares setters and getters.
macro_rules! fields {
    ($kind:ty { $(
        $name:literal: $ty:ty = $default:expr, |$options:ident, $value:ident| $apply:expr,
        $set:ident, $get:ident;
    )* }) => {
        natives! {$(
            fn $set<'l>(_env, handle: i64, value: $ty) -> () {
                find::<Exchanged<$kind>>(handle)?.change(|all| {
                    all.given.insert($name, value.to_i64());
                    let ($options, $value) = (&mut all.options, value);
                    let () = $apply;
                });
                Ok(())
            }
            fn $get<'l>(_env, handle: i64) -> $ty {
                let options = find::<Exchanged<$kind>>(handle)?.now();
                Ok(options.given.get($name).map_or($default, |number| <$ty>::of_i64(*number)))
            }
        )*}
    };
}

fn tier(number: i8) -> ReadTier {
    match number {
        1 => ReadTier::BlockCache,
        2 => ReadTier::Persisted,
        3 => ReadTier::Memtable,
        _ => ReadTier::All,
    }
}

#[expect(deprecated, reason = "Java has the option")]
fn ignore_range_deletions(options: &mut ReadOptions, ignore: bool) {
    options.set_ignore_range_deletions(ignore);
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

fields! { Read {
    "verifyChecksums": bool = true, |o, v| o.set_verify_checksums(v),
        Java_org_rocksdb_ReadOptions_setVerifyChecksums,
        Java_org_rocksdb_ReadOptions_verifyChecksums;
    "fillCache": bool = true, |o, v| o.fill_cache(v),
        Java_org_rocksdb_ReadOptions_setFillCache, Java_org_rocksdb_ReadOptions_fillCache;
    "readTier": i8 = 0, |o, v| o.set_read_tier(tier(v)),
        Java_org_rocksdb_ReadOptions_setReadTier, Java_org_rocksdb_ReadOptions_readTier;
    "tailing": bool = false, |o, v| o.set_tailing(v),
        Java_org_rocksdb_ReadOptions_setTailing, Java_org_rocksdb_ReadOptions_tailing;
    "readaheadSize": i64 = 0, |o, v| o.set_readahead_size(unsigned(v) as usize),
        Java_org_rocksdb_ReadOptions_setReadaheadSize, Java_org_rocksdb_ReadOptions_readaheadSize;
    "prefixSameAsStart": bool = false, |o, v| o.set_prefix_same_as_start(v),
        Java_org_rocksdb_ReadOptions_setPrefixSameAsStart,
        Java_org_rocksdb_ReadOptions_prefixSameAsStart;
    "pinData": bool = false, |o, v| o.set_pin_data(v),
        Java_org_rocksdb_ReadOptions_setPinData, Java_org_rocksdb_ReadOptions_pinData;
    "totalOrderSeek": bool = false, |o, v| o.set_total_order_seek(v),
        Java_org_rocksdb_ReadOptions_setTotalOrderSeek,
        Java_org_rocksdb_ReadOptions_totalOrderSeek;
    "maxSkippableInternalKeys": i64 = 0, |o, v| o.set_max_skippable_internal_keys(unsigned(v)),
        Java_org_rocksdb_ReadOptions_setMaxSkippableInternalKeys,
        Java_org_rocksdb_ReadOptions_maxSkippableInternalKeys;
    "backgroundPurgeOnIteratorCleanup": bool = false,
        |o, v| o.set_background_purge_on_iterator_cleanup(v),
        Java_org_rocksdb_ReadOptions_setBackgroundPurgeOnIteratorCleanup,
        Java_org_rocksdb_ReadOptions_backgroundPurgeOnIteratorCleanup;
    "ignoreRangeDeletions": bool = false, |o, v| ignore_range_deletions(o, v),
        Java_org_rocksdb_ReadOptions_setIgnoreRangeDeletions,
        Java_org_rocksdb_ReadOptions_ignoreRangeDeletions;
    "deadline": i64 = 0, |o, v| o.set_deadline(unsigned(v)),
        Java_org_rocksdb_ReadOptions_setDeadline, Java_org_rocksdb_ReadOptions_deadline;
    "ioTimeout": i64 = 0, |o, v| o.set_io_timeout(unsigned(v)),
        Java_org_rocksdb_ReadOptions_setIoTimeout, Java_org_rocksdb_ReadOptions_ioTimeout;
    "asyncIo": bool = false, |o, v| o.set_async_io(v),
        Java_org_rocksdb_ReadOptions_setAsyncIo, Java_org_rocksdb_ReadOptions_asyncIo;
    // Without effect in RocksDB since 4.12.
    "managed": bool = false, |_o, _v| (),
        Java_org_rocksdb_ReadOptions_setManaged, Java_org_rocksdb_ReadOptions_managed;
}}

fields! { Write {
    "sync": bool = false, |o, v| o.set_sync(v),
        Java_org_rocksdb_WriteOptions_setSync, Java_org_rocksdb_WriteOptions_sync;
    "disableWAL": bool = false, |o, v| o.disable_wal(v),
        Java_org_rocksdb_WriteOptions_setDisableWAL, Java_org_rocksdb_WriteOptions_disableWAL;
    "ignoreMissingColumnFamilies": bool = false, |o, v| o.set_ignore_missing_column_families(v),
        Java_org_rocksdb_WriteOptions_setIgnoreMissingColumnFamilies,
        Java_org_rocksdb_WriteOptions_ignoreMissingColumnFamilies;
    "noSlowdown": bool = false, |o, v| o.set_no_slowdown(v),
        Java_org_rocksdb_WriteOptions_setNoSlowdown, Java_org_rocksdb_WriteOptions_noSlowdown;
    "lowPri": bool = false, |o, v| o.set_low_pri(v),
        Java_org_rocksdb_WriteOptions_setLowPri, Java_org_rocksdb_WriteOptions_lowPri;
    "memtableInsertHintPerBatch": bool = false, |o, v| o.set_memtable_insert_hint_per_batch(v),
        Java_org_rocksdb_WriteOptions_setMemtableInsertHintPerBatch,
        Java_org_rocksdb_WriteOptions_memtableInsertHintPerBatch;
}}

fields! { Flush {
    "waitForFlush": bool = true, |o, v| o.set_wait(v),
        Java_org_rocksdb_FlushOptions_setWaitForFlush, Java_org_rocksdb_FlushOptions_waitForFlush;
    // A hint: here a flush holds no writer back.
    "allowWriteStall": bool = false, |_o, _v| (),
        Java_org_rocksdb_FlushOptions_setAllowWriteStall,
        Java_org_rocksdb_FlushOptions_allowWriteStall;
}}

fn bottommost(number: i32) -> BottommostLevelCompaction {
    match number {
        0 => BottommostLevelCompaction::Skip,
        2 => BottommostLevelCompaction::Force,
        3 => BottommostLevelCompaction::ForceOptimized,
        _ => BottommostLevelCompaction::IfHaveCompactionFilter,
    }
}

fields! { Compact {
    "exclusiveManualCompaction": bool = false, |o, v| o.set_exclusive_manual_compaction(v),
        Java_org_rocksdb_CompactRangeOptions_setExclusiveManualCompaction,
        Java_org_rocksdb_CompactRangeOptions_exclusiveManualCompaction;
    "bottommostLevelCompaction": i32 = 1, |o, v| o.set_bottommost_level_compaction(bottommost(v)),
        Java_org_rocksdb_CompactRangeOptions_setBottommostLevelCompaction,
        Java_org_rocksdb_CompactRangeOptions_bottommostLevelCompaction;
    "changeLevel": bool = false, |o, v| o.set_change_level(v),
        Java_org_rocksdb_CompactRangeOptions_setChangeLevel,
        Java_org_rocksdb_CompactRangeOptions_changeLevel;
    "targetLevel": i32 = -1, |o, v| o.set_target_level(v),
        Java_org_rocksdb_CompactRangeOptions_setTargetLevel,
        Java_org_rocksdb_CompactRangeOptions_targetLevel;
    "targetPathId": i32 = 0, |o, v| o.set_target_path_id(u32::try_from(v).unwrap_or(u32::MAX)),
        Java_org_rocksdb_CompactRangeOptions_setTargetPathId,
        Java_org_rocksdb_CompactRangeOptions_targetPathId;
    // Hints: parts are as many as the database's option says, and a flush that a compaction begins
    // with holds no writer back.
    "allowWriteStall": bool = false, |_o, _v| (),
        Java_org_rocksdb_CompactRangeOptions_setAllowWriteStall,
        Java_org_rocksdb_CompactRangeOptions_allowWriteStall;
    "maxSubcompactions": i32 = 0, |_o, _v| (),
        Java_org_rocksdb_CompactRangeOptions_setMaxSubcompactions,
        Java_org_rocksdb_CompactRangeOptions_maxSubcompactions;
}}

/// Has iterators keep to the slice of the number, from it (0) or below it (1).
fn bound(options: i64, which: usize, slice: i64) -> Result<()> {
    let bytes = find_given::<Vec<u8>>(slice)?.map(|bytes| bytes.to_vec());
    find::<Reads>(options)?.change(|reads| {
        reads.bounds[which] = (slice, bytes);
        let [(_, lower), (_, upper)] = reads.bounds.clone();
        reads.options.reset_bounds(lower, upper);
    });
    Ok(())
}

natives! {
    fn Java_org_rocksdb_ReadOptions_newReadOptions__<'l>(_env) -> i64 {
        make(Reads::new(Read::default()))
    }
    fn Java_org_rocksdb_ReadOptions_newReadOptions__ZZ<'l>(_env, verify: bool, fill: bool) -> i64 {
        let mut reads = Read::default();
        reads.options.set_verify_checksums(verify);
        reads.options.fill_cache(fill);
        reads.given.insert("verifyChecksums", verify.into());
        reads.given.insert("fillCache", fill.into());
        make(Reads::new(reads))
    }
    fn Java_org_rocksdb_ReadOptions_copyReadOptions<'l>(_env, options: i64) -> i64 {
        make(Reads::new(Read::clone(&find::<Reads>(options)?.now())))
    }
    fn Java_org_rocksdb_ReadOptions_setIterateLowerBound<'l>(_env, options: i64, slice: i64) -> () {
        bound(options, 0, slice)
    }
    fn Java_org_rocksdb_ReadOptions_setIterateUpperBound<'l>(_env, options: i64, slice: i64) -> () {
        bound(options, 1, slice)
    }
    fn Java_org_rocksdb_ReadOptions_iterateLowerBound<'l>(_env, options: i64) -> i64 {
        Ok(find::<Reads>(options)?.now().bounds[0].0)
    }
    fn Java_org_rocksdb_ReadOptions_iterateUpperBound<'l>(_env, options: i64) -> i64 {
        Ok(find::<Reads>(options)?.now().bounds[1].0)
    }
    fn Java_org_rocksdb_ReadOptions_snapshot<'l>(_env, options: i64) -> i64 {
        Ok(find::<Reads>(options)?.now().snapshot)
    }
    fn Java_org_rocksdb_WriteOptions_newWriteOptions<'l>(_env) -> i64 {
        make(Writes::new(Write::default()))
    }
    fn Java_org_rocksdb_WriteOptions_copyWriteOptions<'l>(_env, options: i64) -> i64 {
        make(Writes::new(Write::clone(&find::<Writes>(options)?.now())))
    }
    fn Java_org_rocksdb_FlushOptions_newFlushOptions<'l>(_env) -> i64 {
        make(Flushes::new(Flush::default()))
    }
    fn Java_org_rocksdb_CompactRangeOptions_newCompactRangeOptions<'l>(_env) -> i64 {
        make(Compactions::new(Compact::default()))
    }
    // A compaction that runs is canceled with all others, by the database.
    fn Java_org_rocksdb_CompactRangeOptions_setCanceled<'l>(
        _env, _options: i64, canceled: bool,
    ) -> () {
        if canceled {
            return Err(not_implemented("CompactRangeOptions.setCanceled"));
        }
        Ok(())
    }
    fn Java_org_rocksdb_CompactRangeOptions_canceled<'l>(_env, _options: i64) -> bool {
        Ok(false)
    }
    fn Java_org_rocksdb_ReadOptions_disposeInternalJni
        Java_org_rocksdb_ReadOptions_disposeInternal
        Java_org_rocksdb_WriteOptions_disposeInternalJni
        Java_org_rocksdb_WriteOptions_disposeInternal
        Java_org_rocksdb_FlushOptions_disposeInternalJni
        Java_org_rocksdb_FlushOptions_disposeInternal
        Java_org_rocksdb_CompactRangeOptions_disposeInternalJni
        Java_org_rocksdb_CompactRangeOptions_disposeInternal<'l>(_env, options: i64) -> ()
    {
        give_back(options);
        Ok(())
    }
}

natives! {
    fn Java_org_rocksdb_Slice_createNewSlice0<'l>(
        env, data: jni::objects::JByteArray<'l>, offset: i32,
    ) -> i64 {
        let mut bytes = crate::border::bytes(env, &data)?;
        bytes.drain(..usize::try_from(offset).unwrap_or(0).min(bytes.len()));
        make(bytes)
    }
    fn Java_org_rocksdb_Slice_createNewSlice1<'l>(
        env, data: jni::objects::JByteArray<'l>,
    ) -> i64 {
        make(crate::border::bytes(env, &data)?)
    }
    fn Java_org_rocksdb_AbstractSlice_createNewSliceFromString<'l>(
        env, text: jni::objects::JString<'l>,
    ) -> i64 {
        make(crate::border::text(env, &text)?.into_bytes())
    }
    fn Java_org_rocksdb_Slice_data0<'l>(
        env, slice: i64,
    ) -> jni::objects::JByteArray<'l> {
        Ok(env.byte_array_from_slice(&find::<Vec<u8>>(slice)?)?)
    }
    fn Java_org_rocksdb_AbstractSlice_size0<'l>(_env, slice: i64) -> i32 {
        crate::border::int(find::<Vec<u8>>(slice)?.len())
    }
    fn Java_org_rocksdb_AbstractSlice_empty0<'l>(_env, slice: i64) -> bool {
        Ok(find::<Vec<u8>>(slice)?.is_empty())
    }
    fn Java_org_rocksdb_AbstractSlice_compare0<'l>(_env, one: i64, other: i64) -> i32 {
        Ok(find::<Vec<u8>>(one)?.cmp(&*find::<Vec<u8>>(other)?) as i32)
    }
    fn Java_org_rocksdb_AbstractSlice_startsWith0<'l>(_env, slice: i64, prefix: i64) -> bool {
        Ok(find::<Vec<u8>>(slice)?.starts_with(&find::<Vec<u8>>(prefix)?))
    }
    fn Java_org_rocksdb_AbstractSlice_disposeInternalJni
        Java_org_rocksdb_AbstractSlice_disposeInternal<'l>(_env, slice: i64) -> () {
        give_back(slice);
        Ok(())
    }
    fn Java_org_rocksdb_Slice_disposeInternalBuf<'l>(_env, _slice: i64, _offset: i64) -> () {
        // The bytes are the slice's own.
        Ok(())
    }
}
