//! Merge operators: user functions that combine a value with operands.
//!
//! ```
//! use whitewater::{DB, MergeOperands, Options};
//!
//! fn concatenate(
//!     _key: &[u8],
//!     existing: Option<&[u8]>,
//!     operands: &MergeOperands,
//! ) -> Option<Vec<u8>> {
//!     let mut value = existing.unwrap_or_default().to_vec();
//!     operands.iter().for_each(|operand| value.extend_from_slice(operand));
//!     Some(value)
//! }
//!
//! # fn main() -> Result<(), whitewater::Error> {
//! # let dir = tempfile::tempdir().unwrap();
//! # let path = dir.path();
//! let mut opts = Options::default();
//! opts.create_if_missing(true);
//! opts.set_merge_operator_associative("concatenate", concatenate);
//! let db = DB::open(&opts, path)?;
//! db.put(b"k", b"a")?;
//! db.merge(b"k", b"b")?;
//! db.merge(b"k", b"cd")?;
//! assert_eq!(db.get(b"k")?.as_deref(), Some(&b"abcd"[..]));
//! # Ok(())
//! # }
//! ```
//!
//! A column family that is opened without an operator refuses merges, for nobody
//! could read them. Operands that are there from before stay: flushes and
//! compactions keep them, and reads of their keys and scans over them fail, until it
//! is opened with the operator again.

use crate::operators::merge::MergeOperator;

/// A merge function: key, existing value (`None` when there is none, and
/// always in partial merges) and operands, oldest first. `None` is failure:
/// the read, flush or compaction that needed the value reports `Corruption`
/// (`Merge operator failed`); a partial merge just leaves the operands as they are.
pub trait MergeFn:
    Fn(&[u8], Option<&[u8]>, &MergeOperands<'_>) -> Option<Vec<u8>> + Send + Sync + 'static
{
}
impl<F> MergeFn for F where
    F: Fn(&[u8], Option<&[u8]>, &MergeOperands<'_>) -> Option<Vec<u8>> + Send + Sync + 'static
{
}

/// The operands of one merge, oldest first.
#[derive(Debug, Clone, Copy)]
pub struct MergeOperands<'a> {
    operands: &'a [&'a [u8]],
}

impl<'a> MergeOperands<'a> {
    /// Number of operands.
    pub fn len(&self) -> usize {
        self.operands.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.operands.is_empty()
    }

    /// The operands, oldest first.
    pub fn iter(&self) -> MergeOperandsIter<'a> {
        MergeOperandsIter {
            rest: self.operands.iter(),
        }
    }
}

impl<'a> IntoIterator for &MergeOperands<'a> {
    type Item = &'a [u8];
    type IntoIter = MergeOperandsIter<'a>;

    fn into_iter(self) -> MergeOperandsIter<'a> {
        self.iter()
    }
}

/// Iterates over operands.
#[derive(Debug, Clone)]
pub struct MergeOperandsIter<'a> {
    rest: std::slice::Iter<'a, &'a [u8]>,
}

impl<'a> Iterator for MergeOperandsIter<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        self.rest.next().copied()
    }
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.rest.size_hint()
    }
}

impl ExactSizeIterator for MergeOperandsIter<'_> {}

/// Two user functions as the engine's operator.
pub(crate) struct MergeFunctions<F, PF> {
    pub name: String,
    pub full: F,
    pub partial: PF,
}

impl<F: MergeFn, PF: MergeFn> MergeOperator for MergeFunctions<F, PF> {
    fn name(&self) -> &str {
        &self.name
    }
    fn full_merge(
        &self,
        key: &[u8],
        existing: Option<&[u8]>,
        operands: &[&[u8]],
    ) -> Option<Vec<u8>> {
        (self.full)(key, existing, &MergeOperands { operands })
    }
    fn partial_merge(&self, key: &[u8], operands: &[&[u8]]) -> Option<Vec<u8>> {
        (self.partial)(key, None, &MergeOperands { operands })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_see_operands_oldest_first() {
        let join = |key: &[u8], existing: Option<&[u8]>, operands: &MergeOperands| {
            assert_eq!(operands.len(), operands.iter().len());
            assert!(!operands.is_empty());
            let mut out = key.to_vec();
            out.extend_from_slice(existing.unwrap_or(b"-"));
            for operand in operands {
                out.extend_from_slice(operand);
            }
            Some(out)
        };
        let op = MergeFunctions {
            name: "join".into(),
            full: join,
            partial: |_: &[u8], existing: Option<&[u8]>, _: &MergeOperands| {
                assert_eq!(existing, None);
                None
            },
        };
        assert_eq!(op.name(), "join");
        assert_eq!(
            op.full_merge(b"k", Some(b"v"), &[b"1", b"2"]).unwrap(),
            b"kv12"
        );
        assert_eq!(op.full_merge(b"k", None, &[b"1"]).unwrap(), b"k-1");
        assert_eq!(op.partial_merge(b"k", &[b"1", b"2"]), None);
    }
}
