//! What an iterator that shows more than the database needs of the one beneath it.

use super::prefix::PrefixLimit;
use super::{DbIter, set_target, upto};
use crate::operators::merge::MergeOperator;
use std::sync::Arc;
use whitewater_storage::bounds::Bounds;
use whitewater_storage::key::{SEEK_TYPE, UserComparator};

/// How an iterator orders, limits and merges what it shows.
pub(crate) struct Manner {
    pub comparator: UserComparator,
    pub bounds: Bounds,
    pub prefix: PrefixLimit,
    pub operator: Option<Arc<dyn MergeOperator>>,
    /// The name of the column family, for errors.
    pub family: Arc<str>,
    /// Whether stored values end with the time at which they were written.
    pub values_have_times: bool,
    /// Whether keys are compared, or their prefixes extracted, by the user's code.
    pub runs_user_code: bool,
}

impl DbIter {
    /// The order of the keys.
    pub fn comparator(&self) -> &UserComparator {
        &self.comparator
    }

    /// Puts this iterator beneath another one, which shows more than the database. That one also
    /// decides which prefix to keep to from an end: what is first or last here may be hidden there.
    pub fn put_beneath(&mut self) -> Manner {
        Manner {
            comparator: self.comparator.clone(),
            bounds: self.bounds.share(),
            prefix: self.prefix.give_ends_away(),
            operator: self.operator.clone(),
            family: self.view().mem.family_owned(),
            values_have_times: self.hidden_suffix > 0,
            runs_user_code: self.runs_user_code,
        }
    }

    /// Moves to the first key at or after `key`, or backward to the last one at or before it. `key`
    /// is within the bounds, and the iterator continues to keep to the prefix that it keeps to.
    pub fn seek_from(&mut self, key: &[u8], forward: bool) {
        self.measured(|it| {
            it.error = None;
            it.skips.begin();
            if forward {
                let upto = upto(&it.versions);
                set_target(&mut it.target, key, upto, it.sequence, SEEK_TYPE);
                it.go_to_target();
            } else {
                it.go_to_before(key);
            }
        });
    }
}
