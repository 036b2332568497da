//! Filters of compactions, and factories of them that are written in Java.

use crate::border::natives;
use crate::callbacks::Callee;
use crate::handles::{find, give_back, make};
use crate::options::change;
use jni::objects::{JString, JValue};
use jni::{jni_sig, jni_str};
use std::ffi::{CStr, CString};
use std::sync::Arc;
use whitewater::compaction_filter::{CompactionFilter, Decision, OwnedDecision};
use whitewater::compaction_filter_factory::{CompactionFilterContext, CompactionFilterFactory};

/// A filter of Java. Each compaction gets one of its own.
#[derive(Clone)]
pub(crate) struct Filter {
    pub(crate) name: &'static CStr,
    pub(crate) start: Arc<dyn Fn() -> Box<dyn CompactionFilter> + Send + Sync>,
}

/// The filter of one compaction.
pub(crate) struct Started(Box<dyn CompactionFilter>);

impl CompactionFilter for Started {
    fn filter(&mut self, level: u32, key: &[u8], value: &[u8]) -> Decision {
        self.0.filter(level, key, value)
    }
    fn filter_owned(&mut self, level: u32, key: &[u8], value: &[u8]) -> Option<OwnedDecision> {
        self.0.filter_owned(level, key, value)
    }
    fn name(&self) -> &CStr {
        self.0.name()
    }
}

impl CompactionFilterFactory for Filter {
    type Filter = Started;

    fn create(&mut self, _context: CompactionFilterContext) -> Started {
        Started((self.start)())
    }
    fn name(&self) -> &CStr {
        self.name
    }
}

/// Removes values without bytes.
struct RemoveEmpty;

const REMOVE_EMPTY: &CStr = c"RemoveEmptyValueCompactionFilter";

impl CompactionFilter for RemoveEmpty {
    fn filter(&mut self, _level: u32, _key: &[u8], value: &[u8]) -> Decision {
        match value {
            [] => Decision::Remove,
            _ => Decision::Keep,
        }
    }
    fn name(&self) -> &CStr {
        REMOVE_EMPTY
    }
}

/// Keeps everything: what a compaction gets whose factory throws, as in RocksDB.
struct KeepAll;

impl CompactionFilter for KeepAll {
    fn filter(&mut self, _level: u32, _key: &[u8], _value: &[u8]) -> Decision {
        Decision::Keep
    }
    fn name(&self) -> &CStr {
        c"KeepAll"
    }
}

/// A factory that is written in Java.
#[derive(Clone)]
struct Factory {
    object: Arc<Callee>,
    name: CString,
}

impl Factory {
    /// Asks Java for the filter of a compaction, which then is this library's.
    fn ask(&self, context: CompactionFilterContext) -> Option<Filter> {
        let number = self.object.call(|env, factory| {
            let flags = [
                JValue::Bool(context.is_full_compaction),
                JValue::Bool(context.is_manual_compaction),
            ];
            let name = jni_str!("createCompactionFilter");
            env.call_method(factory, name, jni_sig!("(ZZ)J"), &flags)?
                .j()
        })?;
        let filter = find::<Filter>(number).ok().map(|filter| filter.clone());
        give_back(number);
        filter
    }
}

impl CompactionFilterFactory for Factory {
    type Filter = Started;

    fn create(&mut self, context: CompactionFilterContext) -> Started {
        let asked = self.ask(context).map(|filter| (filter.start)());
        Started(asked.unwrap_or_else(|| Box::new(KeepAll)))
    }
    fn name(&self) -> &CStr {
        &self.name
    }
}

natives! {
    fn Java_org_rocksdb_RemoveEmptyValueCompactionFilter_createNewRemoveEmptyValueCompactionFilter0
        <'l>(_env) -> i64
    {
        make(Filter { name: REMOVE_EMPTY, start: Arc::new(|| Box::new(RemoveEmpty)) })
    }
    fn Java_org_rocksdb_AbstractCompactionFilterFactory_createNewCompactionFilterFactory0<'l>(
        env @ this,
    ) -> i64 {
        let sig = jni_sig!("()Ljava/lang/String;");
        let name = env.call_method(&this, jni_str!("name"), sig, &[])?.l()?;
        let name = env.cast_local::<JString<'_>>(name)?.try_to_string(env)?;
        let name = CString::new(name).unwrap_or_default();
        make(Factory { object: Arc::new(Callee::new(env, &this)?), name })
    }
    fn Java_org_rocksdb_AbstractCompactionFilter_disposeInternal
        Java_org_rocksdb_AbstractCompactionFilterFactory_disposeInternal<'l>(
        _env, object: i64,
    ) -> () {
        give_back(object);
        Ok(())
    }
    fn Java_org_rocksdb_Options_setCompactionFilterHandle
        Java_org_rocksdb_ColumnFamilyOptions_setCompactionFilterHandle<'l>(
        _env, options: i64, filter: i64,
    ) -> () {
        let filter = find::<Filter>(filter)?.clone();
        change(options, |options| options.set_compaction_filter_factory(filter))
    }
    fn Java_org_rocksdb_Options_setCompactionFilterFactoryHandle
        Java_org_rocksdb_ColumnFamilyOptions_setCompactionFilterFactoryHandle<'l>(
        _env, options: i64, factory: i64,
    ) -> () {
        let factory = find::<Factory>(factory)?.clone();
        change(options, |options| options.set_compaction_filter_factory(factory))
    }
}
