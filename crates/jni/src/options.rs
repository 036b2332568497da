//! Options of databases and column families. Most of them are one value: `build.rs` makes their
//! natives of [`set`] and [`get`]. An option that cannot be honoured is refused at open, by name.

use crate::border::{Result, bytes, invalid, natives, not_implemented, text};
use crate::handles::{find, find_given, give_back, make};
use crate::statistics::Statistics;
use crate::table_options::{Cache, Table, WriteBuffers};
use jni::objects::{JByteArray, JIntArray, JString};
use std::sync::{Mutex, MutexGuard, PoisonError};
use whitewater::{
    BlockBasedIndexType, BlockBasedOptions, Env, Error, MemtableFactory, MergeOperands, Options,
    RateLimiterMode, SliceTransform, WriteBufferManager,
};
use whitewater_c_api::options::rocksdb_options_t;
use whitewater_c_api::options::values::{Form, Number};

/// Java's numbers of compressions.
pub(crate) const COMPRESSION: &[(i64, &str)] = &[
    (0, "kNoCompression"),
    (1, "kSnappyCompression"),
    (2, "kZlibCompression"),
    (3, "kBZip2Compression"),
    (4, "kLZ4Compression"),
    (5, "kLZ4HCCompression"),
    (6, "kXpressCompression"),
    (7, "kZSTD"),
    (0x7f, "kDisableCompressionOption"),
];

/// Options of a database, of a column family or of both.
#[derive(Clone, Default)]
pub(crate) struct Set {
    options: rocksdb_options_t,
    /// The number of the statistics, or 0.
    statistics: i64,
}

/// Options that objects of Java share.
#[derive(Default)]
pub(crate) struct Shared(Mutex<Set>);

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Set> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn copied(&self) -> Self {
        Shared(Mutex::new(self.lock().clone()))
    }

    /// The options as they are now.
    pub(crate) fn options(&self) -> Options {
        self.lock().options.options.clone()
    }

    fn change(&self, change: impl FnOnce(&mut Options)) {
        self.lock().options.change(change);
    }
}

/// Changes the options of a number.
pub(crate) fn change(handle: i64, change: impl FnOnce(&mut Options)) -> Result<()> {
    find::<Shared>(handle)?.change(change);
    Ok(())
}

/// Sets the option `name`.
pub(crate) fn set(handle: i64, name: &'static str, form: Form, value: impl Number) -> Result<()> {
    find::<Shared>(handle)?
        .lock()
        .options
        .set(name, form.print(value));
    Ok(())
}

/// The value of the option `name`.
pub(crate) fn get<N: Number>(handle: i64, name: &'static str, form: Form) -> Result<N> {
    let text = find::<Shared>(handle)?.lock().options.get(name);
    let value = text.and_then(|text| form.read(&text));
    value.ok_or_else(|| not_implemented(&format!("the option {name}")))
}

/// Has open refuse what the setter `method` of Java is for.
pub(crate) fn refuse(handle: i64, method: &'static str) -> Result<()> {
    change(handle, |options| {
        let error = Error::not_supported(format_args!("Not implemented: Options.{method}"));
        options.refuse_by_name(method, error);
    })
}

/// The text of the option `name`, empty where nothing was set.
fn text_of(handle: i64, name: &str) -> Result<String> {
    Ok(find::<Shared>(handle)?
        .lock()
        .options
        .get(name)
        .unwrap_or_default())
}

/// A text of Java as an option.
fn set_text(handle: i64, name: &'static str, value: String) -> Result<()> {
    find::<Shared>(handle)?.lock().options.set(name, value);
    Ok(())
}

fn size(bytes: i64) -> Result<usize> {
    usize::try_from(bytes).map_err(|_| invalid("a size is negative"))
}

natives! {
    fn Java_org_rocksdb_Options_newOptions__ Java_org_rocksdb_DBOptions_newDBOptions
        Java_org_rocksdb_ColumnFamilyOptions_newColumnFamilyOptions<'l>(_env) -> i64
    {
        make(Shared::default())
    }
    fn Java_org_rocksdb_Options_copyOptions Java_org_rocksdb_DBOptions_copyDBOptions
        Java_org_rocksdb_ColumnFamilyOptions_copyColumnFamilyOptions
        Java_org_rocksdb_DBOptions_newDBOptionsFromOptions
        Java_org_rocksdb_ColumnFamilyOptions_newColumnFamilyOptionsFromOptions<'l>(
        _env, options: i64,
    ) -> i64 {
        make(find::<Shared>(options)?.copied())
    }
    fn Java_org_rocksdb_Options_disposeInternalJni
        Java_org_rocksdb_Options_disposeInternal
        Java_org_rocksdb_DBOptions_disposeInternalJni
        Java_org_rocksdb_DBOptions_disposeInternal
        Java_org_rocksdb_ColumnFamilyOptions_disposeInternalJni
        Java_org_rocksdb_ColumnFamilyOptions_disposeInternal<'l>(_env, options: i64) -> ()
    {
        give_back(options);
        Ok(())
    }
    fn Java_org_rocksdb_Options_setIncreaseParallelism
        Java_org_rocksdb_DBOptions_setIncreaseParallelism<'l>(
        _env, options: i64, threads: i32,
    ) -> () {
        change(options, |options| options.increase_parallelism(threads))
    }
    fn Java_org_rocksdb_DBOptions_optimizeForSmallDb<'l>(_env, options: i64) -> () {
        change(options, |options| small_database(options, None))
    }
    fn Java_org_rocksdb_ColumnFamilyOptions_optimizeForSmallDb__J<'l>(_env, options: i64) -> () {
        change(options, |options| small_family(options, None))
    }
    fn Java_org_rocksdb_ColumnFamilyOptions_optimizeForSmallDb__JJ<'l>(
        _env, options: i64, cache: i64,
    ) -> () {
        let cache = find::<Cache>(cache)?;
        change(options, |options| small_family(options, Some(&cache.0)))
    }
    fn Java_org_rocksdb_Options_optimizeForSmallDb__J<'l>(_env, options: i64) -> () {
        change(options, |options| {
            small_database(options, None);
            small_family(options, None);
        })
    }
    fn Java_org_rocksdb_Options_optimizeForSmallDb__JJ<'l>(_env, options: i64, cache: i64) -> () {
        let cache = find::<Cache>(cache)?;
        change(options, |options| {
            small_database(options, Some(&cache.0));
            small_family(options, Some(&cache.0));
        })
    }
    fn Java_org_rocksdb_Options_setRateLimiter Java_org_rocksdb_DBOptions_setRateLimiter<'l>(
        _env, options: i64, limiter: i64,
    ) -> () {
        let Limiter { rate, period_us, fairness, mode, auto_tuned } = *find::<Limiter>(limiter)?;
        let Some(mode) = RateLimiterMode::from_number(mode.into()) else {
            let error = Error::invalid(format_args!("option rate_limiter: mode {mode}"));
            return change(options, |options| options.refuse_by_name("rate_limiter", error));
        };
        change(options, |options| {
            options.set_ratelimiter_with_mode(rate, period_us, fairness, mode, auto_tuned);
        })
    }
    fn Java_org_rocksdb_RateLimiter_newRateLimiterHandle<'l>(
        _env, rate: i64, period_us: i64, fairness: i32, mode: i8, auto_tuned: bool,
    ) -> i64 {
        make(Limiter { rate, period_us, fairness, mode, auto_tuned })
    }
    fn Java_org_rocksdb_RateLimiter_disposeInternal
        Java_org_rocksdb_RateLimiter_disposeInternalJni<'l>(_env, limiter: i64) -> ()
    {
        give_back(limiter);
        Ok(())
    }
    fn Java_org_rocksdb_Options_prepareForBulkLoad<'l>(_env, options: i64) -> () {
        change(options, Options::prepare_for_bulk_load)
    }
    fn Java_org_rocksdb_Options_optimizeForPointLookup
        Java_org_rocksdb_ColumnFamilyOptions_optimizeForPointLookup<'l>(
        _env, options: i64, cache_mb: i64,
    ) -> () {
        let cache_mb = size(cache_mb)? as u64;
        change(options, |options| options.optimize_for_point_lookup(cache_mb))
    }
    fn Java_org_rocksdb_Options_optimizeLevelStyleCompaction
        Java_org_rocksdb_ColumnFamilyOptions_optimizeLevelStyleCompaction<'l>(
        _env, options: i64, budget: i64,
    ) -> () {
        let budget = size(budget)?;
        change(options, |options| options.optimize_level_style_compaction(budget))
    }
    fn Java_org_rocksdb_Options_optimizeUniversalStyleCompaction
        Java_org_rocksdb_ColumnFamilyOptions_optimizeUniversalStyleCompaction<'l>(
        _env, options: i64, budget: i64,
    ) -> () {
        let budget = size(budget)?;
        change(options, |options| options.optimize_universal_style_compaction(budget))
    }
    fn Java_org_rocksdb_Options_setWalDir Java_org_rocksdb_DBOptions_setWalDir<'l>(
        env, options: i64, path: JString<'l>,
    ) -> () {
        let path = text(env, &path)?;
        change(options, |options| options.set_wal_dir(path))
    }
    fn Java_org_rocksdb_Options_setDbLogDir Java_org_rocksdb_DBOptions_setDbLogDir<'l>(
        env, options: i64, path: JString<'l>,
    ) -> () {
        let path = text(env, &path)?;
        change(options, |options| options.set_db_log_dir(path))
    }
    fn Java_org_rocksdb_Options_walDir Java_org_rocksdb_DBOptions_walDir<'l>(
        env, options: i64,
    ) -> JString<'l> {
        Ok(env.new_string(text_of(options, "wal_dir")?)?)
    }
    fn Java_org_rocksdb_Options_dbLogDir Java_org_rocksdb_DBOptions_dbLogDir<'l>(
        env, options: i64,
    ) -> JString<'l> {
        Ok(env.new_string(text_of(options, "db_log_dir")?)?)
    }
    fn Java_org_rocksdb_Options_compressionPerLevel
        Java_org_rocksdb_ColumnFamilyOptions_compressionPerLevel<'l>(
        env, options: i64,
    ) -> JByteArray<'l> {
        let text = text_of(options, "compression_per_level")?;
        let levels = text.split(':').filter(|level| !level.is_empty());
        let numbers = levels.map(|level| Form::Enum(COMPRESSION).read(level).map(|n: i8| n as u8));
        let numbers: Option<Vec<_>> = numbers.collect();
        let unknown = || invalid(&format!("the option compression_per_level is {text}"));
        Ok(env.byte_array_from_slice(&numbers.ok_or_else(unknown)?)?)
    }
    fn Java_org_rocksdb_Options_setCompressionPerLevel
        Java_org_rocksdb_ColumnFamilyOptions_setCompressionPerLevel<'l>(
        env, options: i64, levels: JByteArray<'l>,
    ) -> () {
        let levels = bytes(env, &levels)?.into_iter();
        let names = levels.map(|level| Form::Enum(COMPRESSION).print(level));
        set_text(options, "compression_per_level", names.collect::<Vec<_>>().join(":"))
    }
    fn Java_org_rocksdb_Options_setMaxBytesForLevelMultiplierAdditional
        Java_org_rocksdb_ColumnFamilyOptions_setMaxBytesForLevelMultiplierAdditional<'l>(
        env, options: i64, factors: JIntArray<'l>,
    ) -> () {
        let mut numbers = vec![0; factors.len(env)?];
        factors.get_region(env, 0, &mut numbers)?;
        let texts = numbers.iter().map(i32::to_string).collect::<Vec<_>>();
        set_text(options, "max_bytes_for_level_multiplier_additional", texts.join(":"))
    }
    // The other natives of the name are for comparators in Java.
    fn Java_org_rocksdb_Options_setComparatorHandle__JI
        Java_org_rocksdb_ColumnFamilyOptions_setComparatorHandle__JI<'l>(
        _env, options: i64, builtin: i32,
    ) -> () {
        let name = match builtin {
            0 => "leveldb.BytewiseComparator",
            1 => "rocksdb.ReverseBytewiseComparator",
            _ => return Err(invalid("there is no such builtin comparator")),
        };
        set_text(options, "comparator", name.to_owned())
    }
    fn Java_org_rocksdb_Options_useFixedLengthPrefixExtractor
        Java_org_rocksdb_ColumnFamilyOptions_useFixedLengthPrefixExtractor<'l>(
        _env, options: i64, len: i32,
    ) -> () {
        let len = size(len.into())?;
        change(options, |options| {
            options.set_prefix_extractor(SliceTransform::create_fixed_prefix(len));
        })
    }
}

/// A rate limiter. What it does is the database's.
struct Limiter {
    rate: i64,
    period_us: i64,
    fairness: i32,
    mode: i8,
    auto_tuned: bool,
}

/// RocksDB's preset for databases of less than 1 GB. Memtables are charged to the cache.
fn small_database(options: &mut Options, cache: Option<&whitewater::Cache>) {
    options.set_by_name("max_file_opening_threads", "1");
    options.set_by_name("max_open_files", "5000");
    if let Some(cache) = cache {
        let cache = cache.clone();
        let manager = WriteBufferManager::new_write_buffer_manager_with_cache(0, false, cache);
        options.set_write_buffer_manager(&manager);
    }
}

/// The same preset for their column families. Without a cache it makes one of 8 MiB.
fn small_family(options: &mut Options, cache: Option<&whitewater::Cache>) {
    for (name, value) in [
        ("write_buffer_size", "2097152"),
        ("target_file_size_base", "2097152"),
        ("max_bytes_for_level_base", "10485760"),
        ("soft_pending_compaction_bytes_limit", "268435456"),
        ("hard_pending_compaction_bytes_limit", "1073741824"),
    ] {
        options.set_by_name(name, value);
    }
    let own = cache
        .cloned()
        .unwrap_or_else(|| whitewater::Cache::new_lru_cache(8 << 20));
    let mut table = BlockBasedOptions::default();
    table.set_block_cache(&own);
    table.set_cache_index_and_filter_blocks(true);
    table.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
    options.set_block_based_table_factory(&table);
}

/// What merge operators of RocksDB do that Java can name.
fn operator(options: &mut Options, name: &str, separator: Vec<u8>) -> Result<()> {
    match name {
        "uint64add" | "UInt64AddOperator" => {
            options.set_merge_operator_associative("UInt64AddOperator", add);
        }
        "stringappend" | "StringAppendOperator" => {
            appending(options, "StringAppendOperator", separator)
        }
        "stringappendtest" | "StringAppendTESTOperator" => {
            appending(options, "StringAppendTESTOperator", separator);
        }
        other => {
            let error = Error::not_supported(format_args!("merge_operator {other}"));
            options.refuse_by_name("merge_operator", error);
        }
    }
    Ok(())
}

/// Numbers of 64 bits, little-endian, that are added up.
fn add(_: &[u8], existing: Option<&[u8]>, operands: &MergeOperands<'_>) -> Option<Vec<u8>> {
    let number = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
    let first = existing.map_or(0, number);
    let sum = operands.iter().map(number).fold(first, u64::wrapping_add);
    Some(sum.to_le_bytes().to_vec())
}

/// Texts that are put one behind the other, with `separator` between them.
fn appending(options: &mut Options, name: &str, separator: Vec<u8>) {
    options.set_merge_operator_associative(
        name,
        move |_: &[u8], existing: Option<&[u8]>, operands: &MergeOperands<'_>| {
            let texts: Vec<_> = existing.into_iter().chain(operands.iter()).collect();
            Some(texts.join(&*separator))
        },
    );
}

/// A merge operator that Java has made: its name and what stands between texts.
struct Operator(&'static str, Vec<u8>);

natives! {
    fn Java_org_rocksdb_StringAppendOperator_newSharedStringAppendOperator__C<'l>(
        _env, separator: u16,
    ) -> i64 {
        let separator = u8::try_from(separator).map_err(|_| invalid("the delimiter is no byte"))?;
        make(Operator("stringappend", vec![separator]))
    }
    fn Java_org_rocksdb_StringAppendOperator_newSharedStringAppendOperator__Ljava_lang_String_2<'l>(
        env, separator: JString<'l>,
    ) -> i64 {
        make(Operator("stringappend", text(env, &separator)?.into_bytes()))
    }
    fn Java_org_rocksdb_UInt64AddOperator_newSharedUInt64AddOperator<'l>(_env) -> i64 {
        make(Operator("uint64add", Vec::new()))
    }
    fn Java_org_rocksdb_StringAppendOperator_disposeInternalJni
        Java_org_rocksdb_StringAppendOperator_disposeInternal
        Java_org_rocksdb_UInt64AddOperator_disposeInternalJni
        Java_org_rocksdb_UInt64AddOperator_disposeInternal<'l>(_env, operator: i64) -> ()
    {
        give_back(operator);
        Ok(())
    }
    fn Java_org_rocksdb_Options_setMergeOperator
        Java_org_rocksdb_ColumnFamilyOptions_setMergeOperator<'l>(
        _env, options: i64, handle: i64,
    ) -> () {
        let (options, made) = (find::<Shared>(options)?, find::<Operator>(handle)?);
        let mut set = options.lock();
        operator(&mut set.options.options, made.0, made.1.clone())
    }
    fn Java_org_rocksdb_Options_setMergeOperatorName
        Java_org_rocksdb_ColumnFamilyOptions_setMergeOperatorName<'l>(
        env, options: i64, name: JString<'l>,
    ) -> () {
        let (options, name) = (find::<Shared>(options)?, text(env, &name)?);
        let mut set = options.lock();
        operator(&mut set.options.options, &name, b",".to_vec())
    }
}

/// RocksDB's memtables by the number of the factory.
struct Memtable(MemtableFactory);
/// The one environment that there is.
struct DefaultEnv;

natives! {
    fn Java_org_rocksdb_Options_setTableFactory
        Java_org_rocksdb_ColumnFamilyOptions_setTableFactory<'l>(
        _env, options: i64, table: i64,
    ) -> () {
        let (options, factory) = (find::<Shared>(options)?, find::<Table>(table)?);
        options.change(|options| factory.set(options));
        give_back(table);
        Ok(())
    }
    fn Java_org_rocksdb_Options_setMemTableFactory
        Java_org_rocksdb_ColumnFamilyOptions_setMemTableFactory<'l>(
        _env, options: i64, memtable: i64,
    ) -> () {
        let options = find::<Shared>(options)?;
        let factory = find::<Memtable>(memtable)?.0;
        options.change(|options| options.set_memtable_factory(factory));
        give_back(memtable);
        Ok(())
    }
    fn Java_org_rocksdb_VectorMemTableConfig_newMemTableFactoryHandle<'l>(
        _env, _reserved: i64,
    ) -> i64 {
        make(Memtable(MemtableFactory::Vector))
    }
    fn Java_org_rocksdb_HashSkipListMemTableConfig_newMemTableFactoryHandle<'l>(
        _env, buckets: i64, height: i32, branching: i32,
    ) -> i64 {
        let bucket_count = size(buckets)?;
        let branching_factor = branching;
        make(Memtable(MemtableFactory::HashSkipList { bucket_count, height, branching_factor }))
    }
    fn Java_org_rocksdb_Options_setStatistics Java_org_rocksdb_DBOptions_setStatistics<'l>(
        _env, options: i64, statistics: i64,
    ) -> () {
        let options = find::<Shared>(options)?;
        let given = find_given::<Statistics>(statistics)?;
        let mut set = options.lock();
        set.statistics = statistics;
        let shared = given.as_ref().map(|given| &given.options);
        set.options.options.share_statistics(shared);
        Ok(())
    }
    fn Java_org_rocksdb_Options_statistics Java_org_rocksdb_DBOptions_statistics<'l>(
        _env, options: i64,
    ) -> i64 {
        Ok(find::<Shared>(options)?.lock().statistics)
    }
    fn Java_org_rocksdb_Options_setRowCache Java_org_rocksdb_DBOptions_setRowCache<'l>(
        _env, options: i64, cache: i64,
    ) -> () {
        let cache = find::<Cache>(cache)?;
        change(options, |options| options.set_row_cache(&cache.0))
    }
    fn Java_org_rocksdb_Options_setWriteBufferManager
        Java_org_rocksdb_DBOptions_setWriteBufferManager<'l>(
        _env, options: i64, manager: i64,
    ) -> () {
        let manager = find::<WriteBuffers>(manager)?;
        change(options, |options| options.set_write_buffer_manager(&manager.0))
    }
    fn Java_org_rocksdb_Env_getDefaultEnvInternal<'l>(_env) -> i64 {
        make(DefaultEnv)
    }
    fn Java_org_rocksdb_Options_setEnv Java_org_rocksdb_DBOptions_setEnv<'l>(
        _env, options: i64, env: i64,
    ) -> () {
        find::<DefaultEnv>(env)?;
        find::<Shared>(options).map(drop)
    }
    fn Java_org_rocksdb_Env_setBackgroundThreads<'l>(
        _env, env: i64, threads: i32, priority: i8,
    ) -> () {
        find::<DefaultEnv>(env)?;
        let mut env = Env::new()?;
        match priority {
            0 => env.set_bottom_priority_background_threads(threads),
            1 => env.set_low_priority_background_threads(threads),
            2 => env.set_high_priority_background_threads(threads),
            _ => return Err(invalid("there is no such priority")),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// An option that a setter names and the engine does not know makes every open fail.
    #[test]
    fn options_are_set_by_names_that_the_engine_knows() {
        let natives = include_str!(concat!(env!("OUT_DIR"), "/natives.rs"));
        let calls = natives.split("options::set(a0, \"").skip(1);
        let names: BTreeSet<_> = calls.filter_map(|call| call.split('"').next()).collect();
        assert!(names.len() > 100, "{names:?}");
        for name in names {
            let set = Options::default().get_options_from_string(format!("{name}=1"));
            let unknown = set.is_err_and(|e| e.to_string().contains("unknown option"));
            assert!(!unknown, "{name}");
        }
    }
}
