//! The merge operator.

use whitewater_storage::Result;

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
/// `InvalidArgument` without an operator, `Corruption` when it fails (RocksDB's kinds).
pub(crate) fn full_merge(
    operator: Option<&dyn MergeOperator>,
    key: &[u8],
    existing: Option<&[u8]>,
    operands: &[&[u8]],
) -> Result<Vec<u8>> {
    let _ = (operator, key, existing, operands);
    todo!()
}
