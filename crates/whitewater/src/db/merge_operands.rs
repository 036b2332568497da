//! The merge operands of a key, before they are merged.

use super::Engine;
use super::reads::runs_user_code;
use super::ttl::unstamped;
use crate::column_family::{ColumnFamilyData, SuperVersion};
use crate::entry::get_context::{GetContext, WantsMore};
use crate::options::read::ReadSpec;
use crate::panics::{Guarded, caught};
use crate::read::blob::BorrowedBlobs;
use crate::slow_operations::Call;
use crate::snapshots::ReadAt;
use crate::stats::{Activity, Histogram};
use bytes::Bytes;
use std::sync::Arc;
use whitewater_storage::{Error, ErrorKind, Result};

/// Which operands of a key are wanted.
#[derive(Clone, Copy)]
pub(crate) struct OperandsWanted<'a> {
    /// The most that are returned.
    pub most: usize,
    /// If it is unset, all are wanted.
    pub wants_more: Option<WantsMore<'a>>,
}

impl Engine {
    /// Returns the merge operands of `key` that are visible to `spec`, oldest first, with the value
    /// that they apply to before them, if there is one; nothing if there is no key.
    ///
    /// # Errors
    /// `Incomplete` if there are more than are wanted; errors of [`get`](Self::get).
    pub fn merge_operands(
        &self,
        cf: &Arc<ColumnFamilyData>,
        key: &[u8],
        spec: &ReadSpec,
        wanted: OperandsWanted<'_>,
    ) -> Result<Vec<Bytes>> {
        let _timer = self.time_call(Call::Get, Histogram::DbGet);
        let _activity = self.reads_for(Activity::Get);
        let (view, point) = self.view::<Arc<_>>(cf, spec);
        self.check_spec(cf, &view, spec)?;
        let look_up = || self.operands_in(cf, &view, key, point.at(), spec, wanted);
        let found = match runs_user_code(&view) || wanted.wants_more.is_some() {
            true => caught(Guarded::Comparator("a read"), look_up),
            false => look_up(),
        }?;
        if found.len() > wanted.most {
            return Err(Error::new(
                ErrorKind::Incomplete,
                format_args!(
                    "{} merge operands, of which {} were expected",
                    found.len(),
                    wanted.most
                ),
            ));
        }
        Ok(found)
    }

    fn operands_in(
        &self,
        cf: &ColumnFamilyData,
        view: &SuperVersion,
        key: &[u8],
        at: ReadAt<'_>,
        spec: &ReadSpec,
        wanted: OperandsWanted<'_>,
    ) -> Result<Vec<Bytes>> {
        let mut ctx = GetContext::new(key, view.options.merge_operator.as_deref())
            .of_family(&cf.name)
            .ignoring_tombstones(spec.ignore_range_deletions)
            .passing_over(at.undecided);
        if let Some(wants_more) = wanted.wants_more {
            ctx = ctx.while_wanted(wants_more);
        }
        self.gather_in(cf, view, key, at.sequence, spec, &mut ctx)?;
        let blobs = BorrowedBlobs {
            version: &view.version,
            tables: &self.files.tables,
            reads: spec.blobs(),
            ahead: None,
        };
        let found = ctx.finish_operands(&blobs)?.into_iter();
        let found = found.map(|operand| unstamped(&view.options, Some(operand)));
        found.filter_map(Result::transpose).collect()
    }
}
