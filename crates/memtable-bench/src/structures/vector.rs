//! This project's vector, which is appended to, and sorted for a scan.

use whitewater_concurrent::append_list::AppendList;
use whitewater_concurrent::skiplist::Bytewise;

use crate::structure::{Direction, Entry, Handle, Operation, Shape, Structure};

/// The number of entries beyond which reads, each of which looks at all entries, would
/// not end in reasonable time.
const MOST: usize = 10_000;

/// The list before it is sealed, as it is while it is being written to.
pub(super) struct Vector(AppendList<Bytewise>);

pub(super) struct Way<'a>(&'a AppendList<Bytewise>);

impl Structure for Vector {
    const NAME: &'static str = "vector";
    const ABOUT: &'static str = "this project's vector; a scan sorts it first";
    const COUNTS_RMW: bool = true;
    type Handle<'a> = Way<'a>;

    fn refuses(shape: &Shape, operation: Operation) -> Option<&'static str> {
        match operation {
            Operation::Get if shape.entries > MOST => {
                Some("over 10,000 entries its reads, which look at each, take too long")
            }
            Operation::Seek => Some("a seek sorts it first"),
            _ => None,
        }
    }

    fn new(shape: &Shape) -> Self {
        Vector(AppendList::new(Bytewise, super::arena(shape)))
    }

    fn handle(&self) -> Way<'_> {
        Way(&self.0)
    }

    fn own_bytes(&self) -> Option<usize> {
        Some(self.0.used_bytes())
    }
}

impl Handle for Way<'_> {
    #[inline]
    fn insert(&mut self, entry: Entry<'_>) -> bool {
        self.0.extend([(entry.key, entry.tag, entry.value)]);
        true
    }

    fn insert_batch(&mut self, entries: &[Entry<'_>]) -> usize {
        self.0
            .extend(entries.iter().map(|e| (e.key, e.tag, e.value)));
        entries.len()
    }

    fn get(&mut self, key: &[u8], visit: &mut impl FnMut(&[u8])) -> bool {
        let mut found = false;
        self.0.get(key, u64::MAX, &mut |_, value| {
            found = true;
            visit(value);
            false
        });
        found
    }

    fn seek(&mut self, _: &[u8], _: &mut impl FnMut(&[u8], &[u8]) -> bool) {
        unreachable!("refused");
    }

    fn scan(&mut self, direction: Direction, visit: &mut impl FnMut(&[u8], &[u8])) {
        walk!(&mut self.0.iter(), direction, visit);
    }
}
