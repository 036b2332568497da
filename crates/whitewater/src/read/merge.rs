//! The merge operator.
//!
//! Everything here calls user code behind [`catch_unwind`]: a panic of the
//! operator fails the one read or job that ran it, nothing else. This module
//! does not decide which operands belong together; look-ups, iterators and
//! compaction do.

use crate::perf::{self, PerfMetric};
use std::panic::{AssertUnwindSafe, catch_unwind};
use whitewater_storage::{Error, Result};

/// Combines operands with a value. User code: panics are caught at the edge.
pub(crate) trait MergeOperator: Send + Sync {
    /// The name recorded in tables.
    fn name(&self) -> &str;
    /// `existing` with all `operands` (oldest first) applied; `None` is failure.
    fn full_merge(
        &self,
        key: &[u8],
        existing: Option<&[u8]>,
        operands: &[&[u8]],
    ) -> Option<Vec<u8>>;
    /// Adjacent `operands` (oldest first) as one operand; `None` when they
    /// cannot be combined yet.
    fn partial_merge(&self, key: &[u8], operands: &[&[u8]]) -> Option<Vec<u8>>;
}

/// Applies `operands` (oldest first) to `existing`.
///
/// # Errors
/// `InvalidArgument` without an operator, `Corruption` when it fails (RocksDB's
/// kinds) or panics.
pub(crate) fn full_merge(
    operator: Option<&dyn MergeOperator>,
    key: &[u8],
    existing: Option<&[u8]>,
    operands: &[&[u8]],
) -> Result<Vec<u8>> {
    let Some(operator) = operator else {
        return Err(Error::invalid("merge operator is not properly initialized"));
    };
    perf::count(PerfMetric::InternalMergeCount, operands.len() as u64);
    let _timer = perf::timer(PerfMetric::MergeOperatorTimeNanos);
    match catch_unwind(AssertUnwindSafe(|| {
        operator.full_merge(key, existing, operands)
    })) {
        Ok(Some(value)) => Ok(value),
        Ok(None) => Err(Error::corruption("Error: Could not perform merge.")),
        Err(_) => Err(panicked(operator)),
    }
}

/// Combines a run of adjacent `operands` (oldest first) into one operand.
/// `None` when there is nothing to combine or the operator cannot: the
/// operands then stay as they are.
///
/// # Errors
/// `Corruption` when the operator panics.
pub(crate) fn partial_merge(
    operator: &dyn MergeOperator,
    key: &[u8],
    operands: &[&[u8]],
) -> Result<Option<Vec<u8>>> {
    if operands.len() < 2 {
        return Ok(None);
    }
    catch_unwind(AssertUnwindSafe(|| operator.partial_merge(key, operands)))
        .map_err(|_| panicked(operator))
}

fn panicked(operator: &dyn MergeOperator) -> Error {
    // The name comes from user code as well.
    let name = catch_unwind(AssertUnwindSafe(|| operator.name().to_owned()))
        .unwrap_or_else(|_| "?".to_owned());
    Error::corruption(format_args!(
        "Error: Could not perform merge. (the merge operator {name} panicked)"
    ))
}

/// Merge operands copied from cursors that move on. One buffer, reused from
/// key to key.
#[derive(Debug, Default)]
pub(crate) struct Operands {
    bytes: Vec<u8>,
    /// End of each operand in `bytes`, in the order they were pushed.
    ends: Vec<usize>,
}

impl Operands {
    /// Forgets all operands, keeping the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }
    /// Copies one operand.
    pub fn push(&mut self, operand: &[u8]) {
        self.bytes.extend_from_slice(operand);
        self.ends.push(self.bytes.len());
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
    /// The operands in the order they were pushed.
    pub fn in_order(&self) -> Vec<&[u8]> {
        let mut start = 0;
        let slice = |&end: &usize| &self.bytes[std::mem::replace(&mut start, end)..end];
        self.ends.iter().map(slice).collect()
    }
    /// The operands, last pushed first.
    pub fn reversed(&self) -> Vec<&[u8]> {
        let mut operands = self.in_order();
        operands.reverse();
        operands
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::testing::{Append, quietly};
    use whitewater_storage::ErrorKind;

    /// Panics whatever it is asked.
    struct Panics;
    impl MergeOperator for Panics {
        fn name(&self) -> &str {
            panic!("name")
        }
        fn full_merge(&self, _: &[u8], _: Option<&[u8]>, _: &[&[u8]]) -> Option<Vec<u8>> {
            panic!("full")
        }
        fn partial_merge(&self, _: &[u8], _: &[&[u8]]) -> Option<Vec<u8>> {
            panic!("partial")
        }
    }

    #[test]
    fn operands_are_applied_oldest_first() {
        let merged = full_merge(Some(&Append), b"k", Some(b"v"), &[b"a", b"b"]).unwrap();
        assert_eq!(merged, b"v,a,b");
        let merged = full_merge(Some(&Append), b"k", None, &[b"a"]).unwrap();
        assert_eq!(merged, b"a");
    }

    #[test]
    fn failures_have_the_kinds_callers_know() {
        let e = full_merge(None, b"k", None, &[b"a"]).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::InvalidArgument);
        assert!(
            e.to_string()
                .contains("merge operator is not properly initialized")
        );
        let e = full_merge(Some(&Append), b"k", None, &[b"FAIL"]).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Corruption);
        assert!(e.to_string().contains("Error: Could not perform merge."));
    }

    #[test]
    fn panics_become_errors() {
        let (full, partial) = quietly(|| {
            (
                full_merge(Some(&Panics), b"k", None, &[b"a"]).unwrap_err(),
                partial_merge(&Panics, b"k", &[b"a", b"b"]).unwrap_err(),
            )
        });
        assert_eq!(full.kind(), ErrorKind::Corruption);
        assert_eq!(partial.kind(), ErrorKind::Corruption);
    }

    #[test]
    fn runs_of_operands_are_combined_only_when_there_is_a_run() {
        assert_eq!(partial_merge(&Append, b"k", &[]), Ok(None));
        assert_eq!(partial_merge(&Append, b"k", &[b"a"]), Ok(None));
        assert_eq!(
            partial_merge(&Append, b"k", &[b"a", b"b", b"c"]),
            Ok(Some(b"a,b,c".to_vec()))
        );
        assert_eq!(partial_merge(&Append, b"k", &[b"a", b"FAIL"]), Ok(None));
    }

    #[test]
    fn operands_come_back_in_both_orders() {
        let mut operands = Operands::default();
        assert!(operands.is_empty());
        for o in [&b"one"[..], b"", b"three"] {
            operands.push(o);
        }
        assert_eq!(operands.in_order(), [&b"one"[..], b"", b"three"]);
        assert_eq!(operands.reversed(), [&b"three"[..], b"", b"one"]);
        operands.clear();
        assert!(operands.is_empty() && operands.in_order().is_empty());
    }
}
