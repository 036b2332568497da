//! Size classes.

/// Pieces have more bytes than this.
pub const LEAST: usize = 1 << LEAST_BITS;
/// The most bytes of a piece.
pub const MOST: usize = 1 << MOST_BITS;

const LEAST_BITS: u32 = 10;
const MOST_BITS: u32 = 16;
/// Classes per power of two.
const STEPS: usize = 16;
/// The number of size classes.
pub(super) const CLASSES: usize = (MOST_BITS - LEAST_BITS) as usize * STEPS;

/// The bytes of a slab of smaller pieces, and of one of larger pieces. They have 7 to 60 pieces, so
/// that less than a tenth of a slab is left over at its end.
pub(super) const SLABS: [usize; 2] = [64 << 10, 512 << 10];
/// The most bytes of a smaller piece.
const SMALLER: usize = 8 << 10;

/// A size class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SizeClass {
    pub number: usize,
    /// The bytes of a piece.
    pub size: usize,
    /// The size of its slabs: `SLABS[kind]`.
    pub kind: usize,
}

/// The memory that a block of `len` bytes takes, in bytes: a thirty-second more on average.
pub const fn class(len: usize) -> usize {
    let len = if len == 0 { 1 } else { len };
    let step = len.next_power_of_two() / (2 * STEPS);
    len.next_multiple_of(if step < 16 { 16 } else { step })
}

/// The size class of `len` bytes, if there is one.
pub(super) fn class_of(len: usize) -> Option<SizeClass> {
    if len <= LEAST || len > MOST {
        return None;
    }
    let size = class(len);
    let bits = (len - 1).ilog2();
    let step = 1 << (bits - STEPS.ilog2());
    Some(SizeClass {
        number: (bits - LEAST_BITS) as usize * STEPS + (size - (1 << bits)) / step - 1,
        size,
        kind: usize::from(size > SMALLER),
    })
}
