//! Functions in C that databases call: comparators, merge operators, compaction filters, prefix
//! extractors. They are called by any thread, several at once.

use crate::border::{Bytes, Malloced, Text, exports};
use libc::{c_char, c_int, c_void};
use std::cmp::Ordering;
use std::ffi::{CStr, CString};
use std::ptr;
use std::sync::Arc;
use whitewater::compaction_filter::{CompactionFilter, OwnedDecision};
use whitewater::compaction_filter_factory::{CompactionFilterContext, CompactionFilterFactory};
use whitewater::{
    CompactionDecision, Error, MergeOperands, Options, SliceTransform, WriteBatchHandler,
    WriteBatchIterator, WriteBatchIteratorCf,
};

pub(crate) type Destructor = Option<extern "C" fn(State)>;
type Name = Option<extern "C" fn(State) -> Text>;

/// What C passes to its functions.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct State(*mut c_void);

// SAFETY: nothing here looks at what it points to, and by the contract of `rocksdb/c.h` the
// functions that do may be called by any thread.
unsafe impl Send for State {}
// SAFETY: as above.
unsafe impl Sync for State {}

/// The state of a set of functions. Its destructor runs once, when nothing calls them any longer.
pub(crate) struct Owned {
    state: State,
    destructor: Destructor,
}

impl Drop for Owned {
    fn drop(&mut self) {
        if let Some(destructor) = self.destructor {
            destructor(self.state);
        }
    }
}

impl Owned {
    pub(crate) fn new(state: State, destructor: Destructor) -> Self {
        Owned { state, destructor }
    }

    pub(crate) fn state(&self) -> State {
        self.state
    }

    fn name(&self, name: Name) -> CString {
        let text = name.map_or_else(Vec::new, |name| name(self.state).bytes().to_vec());
        CString::new(text).unwrap_or_default()
    }
}

type Compare = extern "C" fn(State, *const c_char, usize, *const c_char, usize) -> c_int;
type CompareWithoutTs =
    extern "C" fn(State, *const c_char, usize, u8, *const c_char, usize, u8) -> c_int;

struct Order {
    owned: Owned,
    compare: Compare,
    timestamps: Option<(Compare, CompareWithoutTs, usize)>,
}

impl Order {
    fn compare(&self, with: Compare, a: &[u8], b: &[u8]) -> Ordering {
        let order = with(
            self.owned.state,
            Bytes::to_c(a),
            a.len(),
            Bytes::to_c(b),
            b.len(),
        );
        order.cmp(&0)
    }

    fn compare_without(
        &self,
        with: CompareWithoutTs,
        a: (&[u8], bool),
        b: (&[u8], bool),
    ) -> Ordering {
        let (state, a, a_has, b, b_has) = (self.owned.state, a.0, a.1, b.0, b.1);
        let order = with(
            state,
            Bytes::to_c(a),
            a.len(),
            a_has.into(),
            Bytes::to_c(b),
            b.len(),
            b_has.into(),
        );
        order.cmp(&0)
    }
}

/// A comparator; destroying the handle leaves it to the databases that use it.
pub struct rocksdb_comparator_t {
    name: CString,
    order: Option<Arc<Order>>,
}

impl rocksdb_comparator_t {
    pub(crate) fn set(&self, options: &mut Options) {
        let Some(order) = self.order.clone() else {
            return options.set_comparator(self.name.as_c_str(), Box::new(|a, b| a.cmp(b)));
        };
        let name = self.name.as_c_str();
        let Some((compare_ts, without_ts, size)) = order.timestamps else {
            let compare = move |a: &[u8], b: &[u8]| order.compare(order.compare, a, b);
            return options.set_comparator(name, Box::new(compare));
        };
        let (for_ts, for_keys) = (order.clone(), order.clone());
        options.set_comparator_with_ts(
            name,
            size,
            Box::new(move |a, b| order.compare(order.compare, a, b)),
            Box::new(move |a, b| for_ts.compare(compare_ts, a, b)),
            Box::new(move |a, a_has, b, b_has| {
                for_keys.compare_without(without_ts, (a, a_has), (b, b_has))
            }),
        );
    }
}

type FullMerge = extern "C" fn(
    State,
    *const c_char,
    usize,
    *const c_char,
    usize,
    *const *const c_char,
    *const usize,
    c_int,
    *mut u8,
    *mut usize,
) -> *mut c_char;
type PartialMerge = extern "C" fn(
    State,
    *const c_char,
    usize,
    *const *const c_char,
    *const usize,
    c_int,
    *mut u8,
    *mut usize,
) -> *mut c_char;
type DeleteValue = extern "C" fn(State, *const c_char, usize);

/// An array of texts.
type Texts = *const *const c_char;

struct Merge {
    owned: Owned,
    full: Option<FullMerge>,
    partial: Option<PartialMerge>,
    delete_value: Option<DeleteValue>,
}

impl Merge {
    /// The result of `call`, which gets the operands and places for success and length.
    fn result(
        &self,
        operands: &MergeOperands<'_>,
        call: impl FnOnce(Texts, *const usize, c_int, *mut u8, *mut usize) -> *mut c_char,
    ) -> Option<Vec<u8>> {
        let texts: Vec<_> = operands.iter().map(Bytes::to_c).collect();
        let lengths: Vec<_> = operands.iter().map(<[u8]>::len).collect();
        let (mut success, mut len) = (0u8, 0usize);
        let number = c_int::try_from(texts.len()).ok()?;
        let value = call(
            texts.as_ptr(),
            lengths.as_ptr(),
            number,
            &mut success,
            &mut len,
        );
        let result = (success != 0).then(|| Value(value).to_vec(len));
        match self.delete_value {
            Some(delete) => delete(self.owned.state, value, len),
            None => Value(value).malloced().free(),
        }
        result
    }
}

/// A value that a function in C has returned.
struct Value(*mut c_char);

impl Value {
    fn to_vec(&self, len: usize) -> Vec<u8> {
        if self.0.is_null() {
            return Vec::new();
        }
        // SAFETY: by the contract of `rocksdb/c.h` the function returned `len` bytes.
        unsafe { std::slice::from_raw_parts(self.0.cast::<u8>(), len) }.to_vec()
    }

    fn malloced(&self) -> Malloced {
        Malloced::new(self.0.cast())
    }
}

/// A merge operator, which the options take over.
pub struct rocksdb_mergeoperator_t {
    name: CString,
    merge: Arc<Merge>,
}

impl rocksdb_mergeoperator_t {
    pub(crate) fn set(&self, options: &mut Options) {
        let (full, partial) = (self.merge.clone(), self.merge.clone());
        options.set_merge_operator(
            self.name.as_c_str(),
            move |key: &[u8], existing: Option<&[u8]>, operands: &MergeOperands<'_>| {
                let merge = full.full?;
                let old = existing.map_or(ptr::null(), Bytes::to_c);
                let old_len = existing.map_or(0, <[u8]>::len);
                full.result(operands, |texts, lengths, number, success, len| {
                    merge(
                        full.owned.state,
                        Bytes::to_c(key),
                        key.len(),
                        old,
                        old_len,
                        texts,
                        lengths,
                        number,
                        success,
                        len,
                    )
                })
            },
            move |key: &[u8], _: Option<&[u8]>, operands: &MergeOperands<'_>| {
                let merge = partial.partial?;
                partial.result(operands, |texts, lengths, number, success, len| {
                    merge(
                        partial.owned.state,
                        Bytes::to_c(key),
                        key.len(),
                        texts,
                        lengths,
                        number,
                        success,
                        len,
                    )
                })
            },
        );
    }
}

type Filter = extern "C" fn(
    State,
    c_int,
    *const c_char,
    usize,
    *const c_char,
    usize,
    *mut *mut c_char,
    *mut usize,
    *mut u8,
) -> u8;

struct FilterFns {
    owned: Owned,
    filter: Option<Filter>,
}

/// A compaction filter; destroying the handle leaves it to the databases that use it.
#[derive(Clone)]
pub struct rocksdb_compactionfilter_t {
    name: CString,
    fns: Arc<FilterFns>,
}

impl CompactionFilter for rocksdb_compactionfilter_t {
    fn filter(&mut self, _: u32, _: &[u8], _: &[u8]) -> CompactionDecision {
        CompactionDecision::Keep // not asked
    }

    fn filter_owned(&mut self, level: u32, key: &[u8], value: &[u8]) -> Option<OwnedDecision> {
        let filter = self.fns.filter?;
        let (mut new, mut new_len, mut changed) = (ptr::null_mut(), 0usize, 0u8);
        let level = c_int::try_from(level).unwrap_or(c_int::MAX);
        let removed = filter(
            self.fns.owned.state,
            level,
            Bytes::to_c(key),
            key.len(),
            Bytes::to_c(value),
            value.len(),
            &mut new,
            &mut new_len,
            &mut changed,
        );
        Some(match (removed, changed) {
            (0, 0) => OwnedDecision::Keep,
            (0, _) => OwnedDecision::Change(Value(new).to_vec(new_len)),
            _ => OwnedDecision::Remove,
        })
    }

    fn name(&self) -> &CStr {
        &self.name
    }
}

/// One filter for all compactions.
impl CompactionFilterFactory for rocksdb_compactionfilter_t {
    type Filter = Self;

    fn create(&mut self, _: CompactionFilterContext) -> Self {
        self.clone()
    }
    fn name(&self) -> &CStr {
        &self.name
    }
}

pub struct rocksdb_compactionfiltercontext_t(CompactionFilterContext);

type CreateFilter = extern "C" fn(
    State,
    &rocksdb_compactionfiltercontext_t,
) -> Option<Box<rocksdb_compactionfilter_t>>;

struct FactoryFns {
    owned: Owned,
    create: Option<CreateFilter>,
}

/// A factory of compaction filters, which the options take over.
#[derive(Clone)]
pub struct rocksdb_compactionfilterfactory_t {
    name: CString,
    fns: Arc<FactoryFns>,
}

impl CompactionFilterFactory for rocksdb_compactionfilterfactory_t {
    type Filter = rocksdb_compactionfilter_t;

    fn create(&mut self, context: CompactionFilterContext) -> rocksdb_compactionfilter_t {
        let context = rocksdb_compactionfiltercontext_t(context);
        let made = (self.fns.create).and_then(|create| create(self.fns.owned.state, &context));
        made.map_or_else(keeps_all, |filter| *filter)
    }
    fn name(&self) -> &CStr {
        &self.name
    }
}

/// The filter of a factory that made none.
fn keeps_all() -> rocksdb_compactionfilter_t {
    let owned = Owned::new(State(ptr::null_mut()), None);
    rocksdb_compactionfilter_t {
        name: CString::default(),
        fns: Arc::new(FilterFns {
            owned,
            filter: None,
        }),
    }
}

type Transform = extern "C" fn(State, *const c_char, usize, *mut usize) -> *mut c_char;
type InDomain = extern "C" fn(State, *const c_char, usize) -> u8;

struct PrefixFns {
    owned: Owned,
    transform: Transform,
    in_domain: Option<InDomain>,
}

/// A prefix extractor, which the options take over.
pub struct rocksdb_slicetransform_t(pub(crate) Prefix);

pub(crate) enum Prefix {
    Fixed(usize),
    Noop,
    Made(SliceTransform),
}

impl rocksdb_slicetransform_t {
    pub(crate) fn set(self, options: &mut Options) {
        options.set_prefix_extractor(match self.0 {
            Prefix::Fixed(len) => SliceTransform::create_fixed_prefix(len),
            Prefix::Noop => SliceTransform::create_noop(),
            Prefix::Made(transform) => transform,
        });
    }
}

impl PrefixFns {
    /// The length of a key's prefix. What is not a beginning of the key counts as none.
    fn length(&self, key: &[u8]) -> Option<usize> {
        let (state, text, len) = (self.owned.state, Bytes::to_c(key), key.len());
        if self
            .in_domain
            .is_some_and(|in_domain| in_domain(state, text, len) == 0)
        {
            return None;
        }
        let mut prefix_len = 0usize;
        let prefix = (self.transform)(state, text, len, &mut prefix_len);
        (prefix.cast_const() == text && prefix_len <= len).then_some(prefix_len)
    }
}

fn prefix_of(
    owned: Owned,
    transform: Option<Transform>,
    in_domain: Option<InDomain>,
    name: Name,
) -> Option<Box<rocksdb_slicetransform_t>> {
    let name = owned.name(name).to_string_lossy().into_owned();
    let transform = transform?;
    let fns = PrefixFns {
        owned,
        transform,
        in_domain,
    };
    let made = SliceTransform::with_length(name, move |key| fns.length(key));
    Some(Box::new(rocksdb_slicetransform_t(Prefix::Made(made))))
}

#[cfg(not(feature = "abi-11"))]
exports! {
    fn rocksdb_slicetransform_create(
        state: State, destructor: Destructor, transform: Option<Transform>,
        in_domain: Option<InDomain>, _in_range: Option<InDomain>, name: Name,
    ) -> Option<Box<rocksdb_slicetransform_t>> {
        prefix_of(Owned::new(state, destructor), transform, in_domain, name)
    }
}

#[cfg(feature = "abi-11")]
exports! {
    fn rocksdb_slicetransform_create(
        state: State, destructor: Destructor, transform: Option<Transform>,
        in_domain: Option<InDomain>, name: Name,
    ) -> Option<Box<rocksdb_slicetransform_t>> {
        prefix_of(Owned::new(state, destructor), transform, in_domain, name)
    }
}

exports! {
    fn rocksdb_comparator_create(
        state: State, destructor: Destructor, compare: Option<Compare>, name: Name,
    ) -> Option<Box<rocksdb_comparator_t>> {
        let owned = Owned::new(state, destructor);
        let name = owned.name(name);
        let order = compare.map(|compare| Arc::new(Order { owned, compare, timestamps: None }));
        Some(Box::new(rocksdb_comparator_t { name, order }))
    }
    fn rocksdb_comparator_with_ts_create(
        state: State, destructor: Destructor, compare: Option<Compare>,
        compare_ts: Option<Compare>, without_ts: Option<CompareWithoutTs>, name: Name,
        timestamp_size: usize,
    ) -> Option<Box<rocksdb_comparator_t>> {
        let owned = Owned::new(state, destructor);
        let name = owned.name(name);
        let timestamps = (compare_ts.zip(without_ts)).map(|(ts, keys)| (ts, keys, timestamp_size));
        let order = compare.map(|compare| Arc::new(Order { owned, compare, timestamps }));
        Some(Box::new(rocksdb_comparator_t { name, order }))
    }
    fn rocksdb_comparator_destroy(_comparator: Option<Box<rocksdb_comparator_t>>) {}

    fn rocksdb_mergeoperator_create(
        state: State, destructor: Destructor, full: Option<FullMerge>,
        partial: Option<PartialMerge>, delete_value: Option<DeleteValue>, name: Name,
    ) -> Option<Box<rocksdb_mergeoperator_t>> {
        let owned = Owned::new(state, destructor);
        let name = owned.name(name);
        let merge = Arc::new(Merge { owned, full, partial, delete_value });
        Some(Box::new(rocksdb_mergeoperator_t { name, merge }))
    }
    fn rocksdb_mergeoperator_destroy(_operator: Option<Box<rocksdb_mergeoperator_t>>) {}

    fn rocksdb_compactionfilter_create(
        state: State, destructor: Destructor, filter: Option<Filter>, name: Name,
    ) -> Option<Box<rocksdb_compactionfilter_t>> {
        let owned = Owned::new(state, destructor);
        let name = owned.name(name);
        let fns = Arc::new(FilterFns { owned, filter });
        Some(Box::new(rocksdb_compactionfilter_t { name, fns }))
    }
    // Snapshots never hold a filter back, as in RocksDB since 6.0.
    fn rocksdb_compactionfilter_set_ignore_snapshots(
        _filter: Option<&rocksdb_compactionfilter_t>, _ignore: u8,
    ) {}
    fn rocksdb_compactionfilter_destroy(_filter: Option<Box<rocksdb_compactionfilter_t>>) {}
    fn rocksdb_compactionfiltercontext_is_full_compaction(
        context: Option<&rocksdb_compactionfiltercontext_t>,
    ) -> u8 {
        context.is_some_and(|context| context.0.is_full_compaction).into()
    }
    fn rocksdb_compactionfiltercontext_is_manual_compaction(
        context: Option<&rocksdb_compactionfiltercontext_t>,
    ) -> u8 {
        context.is_some_and(|context| context.0.is_manual_compaction).into()
    }
    fn rocksdb_compactionfilterfactory_create(
        state: State, destructor: Destructor, create: Option<CreateFilter>, name: Name,
    ) -> Option<Box<rocksdb_compactionfilterfactory_t>> {
        let owned = Owned::new(state, destructor);
        let name = owned.name(name);
        let fns = Arc::new(FactoryFns { owned, create });
        Some(Box::new(rocksdb_compactionfilterfactory_t { name, fns }))
    }
    fn rocksdb_compactionfilterfactory_destroy(
        _factory: Option<Box<rocksdb_compactionfilterfactory_t>>,
    ) {}

    fn rocksdb_slicetransform_create_fixed_prefix(
        len: usize,
    ) -> Option<Box<rocksdb_slicetransform_t>> {
        Some(Box::new(rocksdb_slicetransform_t(Prefix::Fixed(len))))
    }
    fn rocksdb_slicetransform_create_noop() -> Option<Box<rocksdb_slicetransform_t>> {
        Some(Box::new(rocksdb_slicetransform_t(Prefix::Noop)))
    }
    fn rocksdb_slicetransform_destroy(_transform: Option<Box<rocksdb_slicetransform_t>>) {}
}

pub(crate) type Put = extern "C" fn(State, *const c_char, usize, *const c_char, usize);
pub(crate) type Deleted = extern "C" fn(State, *const c_char, usize);

/// Functions that are called with the operations of a batch.
pub(crate) struct Visit {
    pub state: State,
    pub put: Put,
    pub deleted: Deleted,
}

impl WriteBatchIterator for Visit {
    fn put(&mut self, key: &[u8], value: &[u8]) {
        let (text, value_text) = (Bytes::to_c(key), Bytes::to_c(value));
        (self.put)(self.state, text, key.len(), value_text, value.len());
    }
    fn delete(&mut self, key: &[u8]) {
        (self.deleted)(self.state, Bytes::to_c(key), key.len());
    }
}

/// [`Visit`], with data for the log, too. What RocksDB's handler has no function for ends it, as in
/// RocksDB.
pub(crate) struct VisitLogged {
    pub visit: Visit,
    pub log_data: Option<Deleted>,
}

fn log_data(state: State, log_data: Option<Deleted>, blob: &[u8]) {
    if let Some(log_data) = log_data {
        log_data(state, Bytes::to_c(blob), blob.len());
    }
}

/// The error that ends an iteration, which C is not told of.
fn not_visited() -> Error {
    Error::invalid("the batch has an operation that is not handled")
}

/// Ends an iteration unless the column family is the default one.
fn in_default(family: u32) -> Result<(), Error> {
    if family == 0 {
        Ok(())
    } else {
        Err(not_visited())
    }
}

impl WriteBatchHandler for VisitLogged {
    fn put_cf(&mut self, family: u32, key: &[u8], value: &[u8]) -> Result<(), Error> {
        in_default(family)?;
        self.visit.put(key, value);
        Ok(())
    }
    fn delete_cf(&mut self, family: u32, key: &[u8]) -> Result<(), Error> {
        in_default(family)?;
        self.visit.delete(key);
        Ok(())
    }
    fn single_delete_cf(&mut self, family: u32, _key: &[u8]) -> Result<(), Error> {
        in_default(family)
    }
    fn merge_cf(&mut self, family: u32, _key: &[u8], _value: &[u8]) -> Result<(), Error> {
        in_default(family)
    }
    fn log_data(&mut self, blob: &[u8]) {
        log_data(self.visit.state, self.log_data, blob);
    }
}

/// Returns the size of a column family's timestamps.
pub(crate) type TimestampSize = extern "C" fn(State, u32) -> usize;

pub(crate) type PutCf = extern "C" fn(State, u32, *const c_char, usize, *const c_char, usize);
pub(crate) type DeletedCf = extern "C" fn(State, u32, *const c_char, usize);

/// [`Visit`] with column families.
pub(crate) struct VisitCf {
    pub state: State,
    pub put: PutCf,
    pub deleted: DeletedCf,
    pub merge: PutCf,
}

impl WriteBatchIteratorCf for VisitCf {
    fn put_cf(&mut self, family: u32, key: &[u8], value: &[u8]) {
        let (text, value_text) = (Bytes::to_c(key), Bytes::to_c(value));
        (self.put)(self.state, family, text, key.len(), value_text, value.len());
    }
    fn delete_cf(&mut self, family: u32, key: &[u8]) {
        (self.deleted)(self.state, family, Bytes::to_c(key), key.len());
    }
    fn merge_cf(&mut self, family: u32, key: &[u8], value: &[u8]) {
        let (text, value_text) = (Bytes::to_c(key), Bytes::to_c(value));
        (self.merge)(self.state, family, text, key.len(), value_text, value.len());
    }
}

/// [`VisitLogged`] with column families.
pub(crate) struct VisitLoggedCf {
    pub visit: VisitCf,
    pub log_data: Option<Deleted>,
}

impl WriteBatchHandler for VisitLoggedCf {
    fn put_cf(&mut self, family: u32, key: &[u8], value: &[u8]) -> Result<(), Error> {
        self.visit.put_cf(family, key, value);
        Ok(())
    }
    fn delete_cf(&mut self, family: u32, key: &[u8]) -> Result<(), Error> {
        self.visit.delete_cf(family, key);
        Ok(())
    }
    fn single_delete_cf(&mut self, family: u32, _key: &[u8]) -> Result<(), Error> {
        in_default(family)
    }
    fn merge_cf(&mut self, family: u32, key: &[u8], value: &[u8]) -> Result<(), Error> {
        self.visit.merge_cf(family, key, value);
        Ok(())
    }
    fn log_data(&mut self, blob: &[u8]) {
        log_data(self.visit.state, self.log_data, blob);
    }
}

#[cfg(test)]
impl State {
    pub(crate) fn testing() -> Self {
        State(ptr::null_mut())
    }
}
