//! The merge operator.
//!
//! Everything here calls user code behind [`catch_unwind`]: a panic of the operator fails only
//! the read or job that ran it. This module does not decide which operands belong together;
//! look-ups, iterators and compactions do.

use crate::perf_context::{self, PerfMetric};
use std::panic::{AssertUnwindSafe, catch_unwind};
use whitewater_storage::{Error, Result};

/// Combines operands with a value. It is user code: panics are caught where it is called.
pub(crate) trait MergeOperator: Send + Sync {
    /// The operator's name, which is recorded in tables.
    fn name(&self) -> &str;
    /// Returns `existing` with all `operands` (oldest first) applied; `None` is a failure.
    fn full_merge(
        &self,
        key: &[u8],
        existing: Option<&[u8]>,
        operands: &[&[u8]],
    ) -> Option<Vec<u8>>;
    /// Returns adjacent `operands` (oldest first) as one operand; `None` if they cannot be combined
    /// yet.
    fn partial_merge(&self, key: &[u8], operands: &[&[u8]]) -> Option<Vec<u8>>;
}

/// What merges in one column family need.
#[derive(Clone, Copy)]
pub(crate) struct Merger<'a> {
    pub operator: Option<&'a dyn MergeOperator>,
    /// The name of the column family, for errors.
    pub family: &'a str,
    /// Whether the caller has named the key and the column family, so that an error of the operator
    /// need not.
    pub asked_for_key: bool,
}

/// Applies `operands` (oldest first) to `existing`.
///
/// # Errors
/// `InvalidArgument` if there is no operator; `Corruption` if the operator fails (with
/// RocksDB's kinds and first words) or panics.
pub(crate) fn full_merge(
    merger: Merger<'_>,
    key: &[u8],
    existing: Option<&[u8]>,
    operands: &[&[u8]],
) -> Result<Vec<u8>> {
    let Some(operator) = merger.operator else {
        return Err(no_operator(merger.family, key));
    };
    perf_context::count(PerfMetric::InternalMergeCount, operands.len() as u64);
    let _timer = perf_context::timer(PerfMetric::MergeOperatorTimeNanos);
    match catch_unwind(AssertUnwindSafe(|| {
        operator.full_merge(key, existing, operands)
    })) {
        Ok(Some(value)) => Ok(value),
        Ok(None) if merger.asked_for_key => Err(Error::corruption(FAILED)),
        Ok(None) => Err(failed(merger.family, operator, key, "returned nothing for")),
        Err(_) => Err(failed(merger.family, operator, key, "panicked at")),
    }
}

/// Combines a run of adjacent `operands` (oldest first) into one operand. Returns `None` if
/// there is nothing to combine, or if the operator cannot combine them: the operands then stay
/// as they are.
///
/// # Errors
/// `Corruption` if the operator panics.
pub(crate) fn partial_merge(
    family: &str,
    operator: &dyn MergeOperator,
    key: &[u8],
    operands: &[&[u8]],
) -> Result<Option<Vec<u8>>> {
    if operands.len() < 2 {
        return Ok(None);
    }
    catch_unwind(AssertUnwindSafe(|| operator.partial_merge(key, operands)))
        .map_err(|_| failed(family, operator, key, "panicked at"))
}

/// RocksDB's message when an operator fails.
const FAILED: &str = "Merge operator failed";

/// The error for a key at which `operator` did `what`.
fn failed(family: &str, operator: &dyn MergeOperator, key: &[u8], what: &str) -> Error {
    // The name comes from user code, too.
    let name = catch_unwind(AssertUnwindSafe(|| operator.name().to_owned()))
        .unwrap_or_else(|_| "?".to_owned());
    Error::corruption(format_args!(
        "{FAILED}: operator {name} {what} the key {} of column family {family}",
        shown(key)
    ))
}

/// The error for a key that has operands while there is no operator. It begins with RocksDB's
/// words.
#[cold]
fn no_operator(family: &str, key: &[u8]) -> Error {
    Error::invalid(format_args!(
        "merge_operator is not properly initialized: the key {} of column family {family} has \
         merge operands; open the column family with the merge_operator they were written for",
        shown(key)
    ))
}

/// A user key for an error: its first bytes, as ASCII.
fn shown(key: &[u8]) -> String {
    const MOST: usize = 64;
    let dots = if key.len() > MOST { ".." } else { "" };
    format!("`{}{dots}`", key[..key.len().min(MOST)].escape_ascii())
}

/// Merge operands copied from cursors that move on. All are in one buffer, which is reused from
/// key to key.
#[derive(Debug, Default)]
pub(crate) struct Operands {
    bytes: Vec<u8>,
    /// The end of each operand in `bytes`, in the order in which they were pushed.
    ends: Vec<usize>,
}

impl Operands {
    /// Removes all operands, but keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }
    /// Copies one operand.
    pub fn push(&mut self, operand: &[u8]) {
        self.bytes.extend_from_slice(operand);
        self.ends.push(self.bytes.len());
    }
    /// Whether there are no operands.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
    /// The operands in the order in which they were pushed.
    pub fn in_order(&self) -> Vec<&[u8]> {
        let mut start = 0;
        let slice = |&end: &usize| &self.bytes[std::mem::replace(&mut start, end)..end];
        self.ends.iter().map(slice).collect()
    }
    /// The operands, the last one pushed first.
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

    /// Panics in every method.
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

    fn by(operator: &dyn MergeOperator) -> Merger<'_> {
        Merger {
            operator: Some(operator),
            family: "f",
            asked_for_key: false,
        }
    }

    #[test]
    fn operands_are_applied_oldest_first() {
        let merged = full_merge(by(&Append), b"k", Some(b"v"), &[b"a", b"b"]).unwrap();
        assert_eq!(merged, b"v,a,b");
        let merged = full_merge(by(&Append), b"k", None, &[b"a"]).unwrap();
        assert_eq!(merged, b"a");
    }

    #[test]
    fn failures_have_the_kinds_callers_know() {
        let nobody = Merger {
            operator: None,
            ..by(&Append)
        };
        let e = full_merge(nobody, b"k\0", None, &[b"a"]).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::InvalidArgument);
        let text = e.to_string();
        for part in [
            "merge_operator is not properly initialized",
            "the key `k\\x00` of column family f ",
            "open the column family with the merge_operator",
        ] {
            assert!(text.contains(part), "{text}");
        }
        let e = full_merge(by(&Append), b"k", None, &[b"FAIL"]).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Corruption);
        assert_eq!(
            e.to_string(),
            "Corruption: Merge operator failed: operator append returned nothing for the key `k` \
             of column family f"
        );
        let asked = Merger {
            asked_for_key: true,
            ..by(&Append)
        };
        let e = full_merge(asked, b"k", None, &[b"FAIL"]).unwrap_err();
        assert_eq!(e.to_string(), "Corruption: Merge operator failed");
    }

    #[test]
    fn panics_become_errors() {
        let (full, partial) = quietly(|| {
            (
                full_merge(by(&Panics), b"k", None, &[b"a"]).unwrap_err(),
                partial_merge("f", &Panics, b"k", &[b"a", b"b"]).unwrap_err(),
            )
        });
        assert_eq!(full.kind(), ErrorKind::Corruption);
        assert_eq!(partial.kind(), ErrorKind::Corruption);
    }

    #[test]
    fn runs_of_operands_are_combined_only_when_there_is_a_run() {
        assert_eq!(partial_merge("f", &Append, b"k", &[]), Ok(None));
        assert_eq!(partial_merge("f", &Append, b"k", &[b"a"]), Ok(None));
        assert_eq!(
            partial_merge("f", &Append, b"k", &[b"a", b"b", b"c"]),
            Ok(Some(b"a,b,c".to_vec()))
        );
        assert_eq!(
            partial_merge("f", &Append, b"k", &[b"a", b"FAIL"]),
            Ok(None)
        );
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
