//! `skl`: a lock-free skip list in one arena, made for memtables.
//!
//! In release 0.22.17, an insert in random order takes time in proportion to the length
//! of the list: 2 us among 1,000 entries, more than 100 us among 16,000. This is the same
//! with and without its free list, and with and without versions. Larger runs skip this
//! structure, and say so.

use skl::dynamic::Builder;
use skl::dynamic::unique::Map;
use skl::dynamic::unique::sync::SkipMap;
use skl::options::Freelist;
use skl::{Arena, Options};

use crate::structure::{Direction, Entry, Handle, Operation, Shape, Structure};

/// The space for the node around each entry, including links and padding.
const OVERHEAD: usize = 128;

/// The number of entries beyond which a run would not end in reasonable time.
const MOST: usize = 10_000;

/// The crate's map without versions, in memory that is reserved for the run.
pub(super) struct Skl(SkipMap);

pub(super) struct Way<'a>(&'a SkipMap);

impl Structure for Skl {
    const NAME: &'static str = "skl";
    const ABOUT: &'static str = "skl's arena skip list";
    type Handle<'a> = Way<'a>;

    fn refuses(shape: &Shape, _: Operation) -> Option<&'static str> {
        if shape.entries > MOST {
            Some("over 10,000 entries its inserts take too long")
        } else if u32::try_from(capacity(shape)).is_err() {
            Some("its arena ends at 4 GiB")
        } else {
            None
        }
    }

    fn new(shape: &Shape) -> Self {
        let capacity = u32::try_from(capacity(shape)).unwrap_or(u32::MAX);
        let list = Builder::new()
            .with_options(
                Options::new()
                    .with_capacity(capacity)
                    .with_freelist(Freelist::None),
            )
            .alloc()
            .expect("an arena of this size");
        Skl(list)
    }

    fn handle(&self) -> Way<'_> {
        Way(&self.0)
    }

    fn own_bytes(&self) -> Option<usize> {
        Some(self.0.allocated())
    }
}

fn capacity(shape: &Shape) -> usize {
    shape.bytes_with(OVERHEAD) + (1 << 20)
}

impl Handle for Way<'_> {
    fn insert(&mut self, entry: Entry<'_>) -> bool {
        matches!(self.0.insert(entry.key, entry.value), Ok(None))
    }

    map_reads!();
}
