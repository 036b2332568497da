//! Compaction filters: functions that remove or change values while they are
//! compacted.
//!
//! ```
//! use whitewater::compaction_filter::Decision;
//! use whitewater::{DB, Options};
//!
//! # fn main() -> Result<(), whitewater::Error> {
//! # let dir = tempfile::tempdir().unwrap();
//! # let path = dir.path();
//! let mut opts = Options::default();
//! opts.create_if_missing(true);
//! opts.set_compaction_filter("drop_temporary", |_level, key, _value| {
//!     if key.starts_with(b"tmp/") {
//!         Decision::Remove
//!     } else {
//!         Decision::Keep
//!     }
//! });
//! let db = DB::open(&opts, path)?;
//! db.put(b"tmp/1", b"x")?;
//! db.put(b"user/1", b"y")?;
//! db.compact_range(None::<&[u8]>, None::<&[u8]>);
//! assert_eq!(db.get(b"tmp/1")?, None);
//! assert_eq!(db.get(b"user/1")?.as_deref(), Some(&b"y"[..]));
//! # Ok(())
//! # }
//! ```
//!
//! Which entries are asked about:
//! * the newest entry of a key among those that are compacted together, if it
//!   is a plain value or a wide-column entity. Entities are kept, unless
//!   [`filter_entity`](CompactionFilter::filter_entity) is written. Merge operands
//!   are kept; what they are merged to is asked about the next time it is
//!   compacted;
//! * **snapshots do not hold a filter back**: it may remove or change a value
//!   that a snapshot still reads;
//! * flushes do not ask, so a key is seen once it is compacted out of level 0,
//!   and not each time its table is only moved down a level.
//!
//! # Filters that use the database
//!
//! A filter may read and write the database, but must not wait for the end of its
//! own compaction: that is what
//! [`wait_for_compact`](crate::DBCommon::wait_for_compact), `compact_range` over
//! what is being compacted, and a write while writes are stopped
//! ([`set_level_zero_stop_writes_trigger`](crate::Options::set_level_zero_stop_writes_trigger),
//! for instance) would do. Functions set by
//! [`set_compaction_filter`](crate::Options::set_compaction_filter) are called one
//! at a time, so a wait for any other compaction with the same one is such a wait,
//! too. A filter may drop the last handle of the database: another thread closes
//! it then.
//!
//! # Filters that panic
//!
//! A filter, or a factory, that panics fails its compaction with an error of
//! kind `Aborted` that has the filter's name and the panic's message. Nothing is
//! lost: the compaction's inputs stay, and its outputs are deleted. As the
//! filter would meet the same entries again, the failure is a
//! [`FatalError`](crate::Severity::FatalError), for background compactions and
//! those on request alike, which return it, too: reads go on; writes, flushes and
//! compactions are refused with it, also after
//! [`resume`](crate::DBCommon::resume), until the database is reopened. It can
//! be at once; with the same filter it will fail again as soon as the entries are
//! compacted.

#[doc(hidden)]
pub use crate::operators::compaction_filter::OwnedDecision;
pub use crate::operators::compaction_filter::{Decision, EntityDecision};

use crate::operators::compaction_filter::{
    CompactionFilterContext, EntryFilter, FilterSource, Verdict,
};
use std::ffi::{CStr, CString};
use whitewater_concurrent::system::Mutex;
use whitewater_storage::entity::WideColumn;

/// Decides about values while they are compacted; see the
/// [module](self)'s documentation, also for what a panic of it does. Made by a
/// [`CompactionFilterFactory`](crate::compaction_filter_factory::CompactionFilterFactory).
pub trait CompactionFilter {
    /// What to do with the value of `key`, which is compacted from `level`.
    fn filter(&mut self, level: u32, key: &[u8], value: &[u8]) -> Decision;

    /// What to do with the wide-column entity of `key`, whose columns are in the order of their
    /// names: kept by default, as RocksDB's `FilterV3` does. Not in the `rocksdb` crate.
    fn filter_entity(
        &mut self,
        _level: u32,
        _key: &[u8],
        _columns: &[WideColumn<'_>],
    ) -> EntityDecision {
        EntityDecision::Keep
    }

    /// Decides about a value as [`filter`](Self::filter) does, which is then not asked, with a
    /// new value that is given away. For interfaces to other languages.
    #[doc(hidden)]
    fn filter_owned(&mut self, _level: u32, _key: &[u8], _value: &[u8]) -> Option<OwnedDecision> {
        None
    }

    /// The filter's name.
    fn name(&self) -> &CStr;
}

/// A function that decides about the value of a key: level, key, value.
pub trait CompactionFilterFn: FnMut(u32, &[u8], &[u8]) -> Decision {}
impl<F> CompactionFilterFn for F where F: FnMut(u32, &[u8], &[u8]) -> Decision + Send + 'static {}

/// A function as a [`CompactionFilter`].
pub struct CompactionFilterCallback<F>
where
    F: CompactionFilterFn,
{
    /// The filter's name.
    pub name: CString,
    /// What decides.
    pub filter_fn: F,
}

impl<F> CompactionFilter for CompactionFilterCallback<F>
where
    F: CompactionFilterFn,
{
    fn filter(&mut self, level: u32, key: &[u8], value: &[u8]) -> Decision {
        (self.filter_fn)(level, key, value)
    }

    fn name(&self) -> &CStr {
        &self.name
    }
}

/// One filter for all jobs of all threads, which take turns.
pub(crate) struct SharedFilter<C> {
    pub name: String,
    pub filter: Mutex<C>,
}

impl<C: CompactionFilter + Send> FilterSource for SharedFilter<C> {
    fn name(&self) -> String {
        self.name.clone()
    }
    fn start<'a>(&'a self, _: CompactionFilterContext) -> Box<dyn EntryFilter + 'a> {
        Box::new(&self.filter)
    }
}

impl<C: CompactionFilter> EntryFilter for &Mutex<C> {
    fn filter(&mut self, level: u32, key: &[u8], value: &[u8]) -> Verdict {
        self.lock().filter(level, key, value).into()
    }
    fn filter_entity(
        &mut self,
        level: u32,
        key: &[u8],
        columns: &[WideColumn<'_>],
    ) -> EntityDecision {
        self.lock().filter_entity(level, key, columns)
    }
}
