//! The read-ahead of iterators whose caller has chosen no size.

/// How iterators read ahead that find blocks in order, if their caller has chosen no size
/// ([`TableReadOptions::readahead`](super::read_options::TableReadOptions::readahead)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AutoReadahead {
    /// The size of the first read-ahead in bytes; each further one is twice as large. More than
    /// `max` counts as `max`; 0 reads nothing ahead. Default 8 KiB.
    pub initial: usize,
    /// The size of the largest read-ahead in bytes; 0 reads nothing ahead. Default 256 KiB.
    pub max: usize,
    /// How many blocks are read in a row, in either direction, before reading ahead begins.
    /// Default 2.
    pub after: u64,
}

impl Default for AutoReadahead {
    fn default() -> Self {
        AutoReadahead {
            initial: 8 << 10,
            max: 256 << 10,
            after: 2,
        }
    }
}

impl AutoReadahead {
    /// The size to read now, if `last` bytes were read ahead last; 0 is never.
    pub(crate) fn next(self, last: usize) -> usize {
        let size = match last {
            0 => self.initial,
            _ => last.saturating_mul(2),
        };
        size.min(self.max)
    }
}
