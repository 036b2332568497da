//! Factories of compaction filters: a filter of its own for each compaction,
//! and for each part of one that runs in parallel.
//!
//! ```
//! use std::ffi::CStr;
//! use whitewater::compaction_filter::{CompactionFilter, Decision};
//! use whitewater::compaction_filter_factory::{
//!     CompactionFilterContext, CompactionFilterFactory,
//! };
//! use whitewater::{DB, Options};
//!
//! /// Removes empty values, in compactions that a caller asked for.
//! struct Empty {
//!     manual: bool,
//! }
//!
//! impl CompactionFilter for Empty {
//!     fn filter(&mut self, _level: u32, _key: &[u8], value: &[u8]) -> Decision {
//!         if self.manual && value.is_empty() {
//!             Decision::Remove
//!         } else {
//!             Decision::Keep
//!         }
//!     }
//!     fn name(&self) -> &CStr {
//!         c"empty"
//!     }
//! }
//!
//! struct EmptyFactory;
//!
//! impl CompactionFilterFactory for EmptyFactory {
//!     type Filter = Empty;
//!     fn create(&mut self, context: CompactionFilterContext) -> Empty {
//!         Empty { manual: context.is_manual_compaction }
//!     }
//!     fn name(&self) -> &CStr {
//!         c"empty_factory"
//!     }
//! }
//!
//! # fn main() -> Result<(), whitewater::Error> {
//! # let dir = tempfile::tempdir().unwrap();
//! let mut opts = Options::default();
//! opts.create_if_missing(true);
//! opts.set_compaction_filter_factory(EmptyFactory);
//! let db = DB::open(&opts, dir.path())?;
//! db.put(b"k", b"")?;
//! db.compact_range(None::<&[u8]>, None::<&[u8]>);
//! assert_eq!(db.get(b"k")?, None);
//! # Ok(())
//! # }
//! ```

pub use crate::operators::compaction_filter::CompactionFilterContext;

use crate::api::compaction_filter::CompactionFilter;
use crate::operators::compaction_filter::{EntityDecision, EntryFilter, FilterSource, Verdict};
use std::ffi::CStr;
use whitewater_concurrent::system::Mutex;
use whitewater_storage::entity::WideColumn;

/// Makes compaction filters. Threads that compact at the same time take turns
/// in asking for one; each filter is used by one thread.
pub trait CompactionFilterFactory {
    /// What it makes.
    type Filter: CompactionFilter;

    /// The filter of a compaction, or of a part of one.
    fn create(&mut self, context: CompactionFilterContext) -> Self::Filter;

    /// The factory's name.
    fn name(&self) -> &CStr;
}

/// A factory as the engine's source of filters.
pub(crate) struct SharedFactory<F> {
    pub name: String,
    pub factory: Mutex<F>,
}

impl<F: CompactionFilterFactory + Send> FilterSource for SharedFactory<F> {
    fn name(&self) -> String {
        self.name.clone()
    }
    fn start<'a>(&'a self, context: CompactionFilterContext) -> Box<dyn EntryFilter + 'a> {
        Box::new(Made(self.factory.lock().create(context)))
    }
}

/// A filter that was made.
struct Made<C>(C);

impl<C: CompactionFilter> EntryFilter for Made<C> {
    fn filter(&mut self, level: u32, key: &[u8], value: &[u8]) -> Verdict {
        match self.0.filter_owned(level, key, value) {
            Some(decision) => decision.into(),
            None => self.0.filter(level, key, value).into(),
        }
    }
    fn filter_entity(
        &mut self,
        level: u32,
        key: &[u8],
        columns: &[WideColumn<'_>],
    ) -> EntityDecision {
        self.0.filter_entity(level, key, columns)
    }
}
