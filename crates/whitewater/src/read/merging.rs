//! Many sorted sources as one.

use whitewater_storage::iter::BoxedIterator;
use whitewater_storage::key::InternalComparator;

/// An `InternalIterator` over the union of `children`, in internal order.
pub(crate) fn merging_iterator(
    comparator: InternalComparator,
    children: Vec<BoxedIterator>,
) -> BoxedIterator {
    let _ = (comparator, children);
    todo!()
}
