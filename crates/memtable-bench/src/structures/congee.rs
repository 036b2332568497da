//! `congee`: an adaptive radix tree of machine words, with optimistic locks.

use congee::Congee;

use crate::structure::{Direction, Entry, Handle, Operation, Shape, Structure};

const WORD: usize = size_of::<usize>();
/// The number of entries that seeks and scans fetch at a time, because it fills a buffer.
const PIECE: usize = 256;

/// The tree, whose keys and values are numbers.
pub(super) struct CongeeTree {
    tree: Congee<usize, usize>,
    value_size: usize,
}

pub(super) struct Way<'a> {
    of: &'a CongeeTree,
    buffer: Vec<(usize, usize)>,
}

impl Structure for CongeeTree {
    const NAME: &'static str = "congee";
    const ABOUT: &'static str = "congee's radix tree: 8-byte keys, values of up to 8 bytes";
    type Handle<'a> = Way<'a>;

    fn refuses(shape: &Shape, operation: Operation) -> Option<&'static str> {
        if shape.key_size != WORD {
            Some("its keys have 8 bytes")
        } else if shape.value_size > WORD {
            Some("its values have at most 8 bytes")
        } else if operation == Operation::Scan(Direction::Backward) {
            Some("it does not walk backwards")
        } else {
            None
        }
    }

    fn new(shape: &Shape) -> Self {
        CongeeTree {
            tree: Congee::default(),
            value_size: shape.value_size,
        }
    }

    fn handle(&self) -> Way<'_> {
        Way {
            of: self,
            buffer: vec![(0, 0); PIECE],
        }
    }
}

/// Bytes, at most a word of them, as a number that sorts in the same way.
fn number(bytes: &[u8]) -> usize {
    let mut word = [0; WORD];
    word[WORD - bytes.len()..].copy_from_slice(bytes);
    usize::from_be_bytes(word)
}

impl Way<'_> {
    /// Passes entries from `start` onwards to `visit`, `piece` at a time.
    fn walk(
        &mut self,
        mut start: usize,
        mut piece: usize,
        visit: &mut impl FnMut(&[u8], &[u8]) -> bool,
    ) {
        let tree = &self.of.tree;
        let guard = tree.pin();
        loop {
            // The end of a range is exclusive, so the greatest key is handled last.
            let buffer = &mut self.buffer[..piece];
            let count = tree.range(&start, &usize::MAX, buffer, &guard);
            let mut last = None;
            for (key, value) in &buffer[..count] {
                let value = value.to_be_bytes();
                let value = &value[WORD - self.of.value_size..];
                if !visit(&key.to_be_bytes(), value) {
                    return;
                }
                last = Some(*key);
            }
            match last {
                Some(last) if count == piece => start = last + 1,
                _ => break,
            }
            piece = PIECE;
        }
        if let Some(value) = tree.get(&usize::MAX, &guard) {
            let value = value.to_be_bytes();
            let value = &value[WORD - self.of.value_size..];
            visit(&usize::MAX.to_be_bytes(), value);
        }
    }
}

impl Handle for Way<'_> {
    fn insert(&mut self, entry: Entry<'_>) -> bool {
        let guard = self.of.tree.pin();
        let (key, value) = (number(entry.key), number(entry.value));
        matches!(self.of.tree.insert(key, value, &guard), Ok(None))
    }

    fn get(&mut self, key: &[u8], visit: &mut impl FnMut(&[u8])) -> bool {
        let guard = self.of.tree.pin();
        let value = self.of.tree.get(&number(key), &guard);
        let value = value.map(usize::to_be_bytes);
        let visited = value.map(|value| visit(&value[WORD - self.of.value_size..]));
        visited.is_some()
    }

    fn seek(&mut self, key: &[u8], visit: &mut impl FnMut(&[u8], &[u8]) -> bool) {
        self.walk(number(key), 1, visit);
    }

    fn scan(&mut self, _: Direction, visit: &mut impl FnMut(&[u8], &[u8])) {
        self.walk(0, PIECE, &mut |key, value| {
            visit(key, value);
            true
        });
    }
}
